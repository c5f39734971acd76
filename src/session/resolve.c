// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Between the steps of a run and the runtimes: which there are, what they know of the target (for
 * planning.c and target.c), the bodies that match a pattern, which go to plan/, and the names of
 * frames, for which stack/ asks.
 */
#include "session/resolve.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "code/insn.h"
#include "method/pattern.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/native/native.h"
#include "runtime/v8/v8.h"
#include "stack/symbols.h"
#include "target/memory.h"

enum { CODE_MAX_BYTES = 1 << 24 /* of one body */ };

/* Runtimes ------------------------------------------------------------------------------------ */

/* Native code comes last, as others lie in its files: see runtimes_create(). */
const struct runtime_ops *const resolution_runtimes[] = { &dotnet_ops, &v8_ops, &native_ops, NULL };

int resolution_begin(struct resolution *resolution, struct target *target, struct error *err)
{
	*resolution = (struct resolution){ .target = target };
	return runtimes_create(&resolution->runtimes, resolution_runtimes, target, err);
}

static int read_runtimes(struct resolution *resolution, struct error *err)
{
	int result = runtimes_read(&resolution->runtimes, err);

	resolution->managed = runtimes_are_present(&resolution->runtimes);
	/* A managed runtime has tried, and goes without: precompiled code can still be probed. */
	return result || resolution->managed ? result : target_open_memory(resolution->target, err);
}

int resolution_require_runtime(const struct resolution *resolution, struct error *err)
{
	const struct process *process = &resolution->target->process;

	if (resolution->managed)
		return 0;
	if (runtimes_host(&resolution->runtimes))
		return error_set(
			err, -ENOTSUP,
			"process %d (%s) runs JavaScript, whose functions cannot be probed yet, and is not a .NET process; ask for native functions as 'Image!function', such as '%s!uv_fs_open': their stacks show the JavaScript",
			process->pid, process->comm, runtimes_host(&resolution->runtimes));
	return error_set(
		err, -ENOTSUP,
		"process %d (%s) is not a .NET process: it has no libcoreclr.so, and its program is no single-file .NET executable; give the PID of one, or ask for native functions as 'Image!function', such as 'libc.so.6!malloc'",
		process->pid, process->comm);
}

static int read_target(struct resolution *resolution, struct error *err)
{
	const struct target_files *files = &resolution->target->files;
	int result = target_look(resolution->target, err);

	if (result < 0)
		return result;
	resolution->looked = resolution->target->version;
	if (files->count == 0 && files->first_error)
		return error_set(err, -EACCES, "%s", files->first_error->text);
	return read_runtimes(resolution, err);
}

int resolution_init(struct resolution *resolution, struct target *target, struct error *err)
{
	int result = resolution_begin(resolution, target, err);

	if (result == 0)
		result = read_target(resolution, err);
	if (result)
		resolution_deinit(resolution);
	return result;
}

void resolution_deinit(struct resolution *resolution)
{
	runtimes_destroy(&resolution->runtimes);
	*resolution = (struct resolution){ 0 };
}

int resolution_refresh(struct resolution *resolution, struct error *err)
{
	struct target *target = resolution->target;
	int look = target_look(target, err), result = 0;
	/* Others may have looked at it, too. */
	bool mapped = resolution->looked != target->version;

	resolution->looked = target->version;
	/* What could be looked at is known, also if not all could. */
	if (look != -ESRCH)
		result = runtimes_refresh(&resolution->runtimes, mapped, err);
	resolution->version += mapped || result > 0;
	if (look < 0 || result < 0)
		return look < 0 ? look : result;
	return mapped || result;
}

const char *resolution_source_name(const struct resolution *resolution, unsigned int source)
{
	if (source == NAME_SOURCE_METADATA)
		return "metadata";
	if (source == NAME_SOURCE_PERF_MAP)
		return "perf map";
	if (source == NAME_SOURCE_SYMBOLS)
		return "symbols";
	return runtimes_map_name(&resolution->runtimes, source - NAME_SOURCE_FIRST_MAP);
}

/* Planning ------------------------------------------------------------------------------------ */

bool resolution_asks_native(const struct resolution *resolution, const struct pattern *pattern)
{
	/* Without a runtime there is nothing else that it may be. */
	if (pattern_native_only(pattern) || (!resolution->managed && pattern_has_image(pattern)))
		return true;
	return !runtimes_have_image(&resolution->runtimes, pattern) &&
	       runtimes_have_file(&resolution->runtimes, pattern);
}

/* Is the site's body what it was when it was matched? */
static bool is_unchanged(const struct resolution *resolution, const struct site *site)
{
	/* A method without code may as well be of an image that is in no file. */
	if (site->file != BODY_NO_FILE || site->tier == TIER_R2R || site->state == STATE_NO_BODY)
		return true;
	return runtimes_is_unchanged(&resolution->runtimes, &site->id, site->address, site->method,
				     site->stub);
}

int resolution_drop_changed(struct resolution *resolution, struct plan *plan, size_t *dropped,
			    struct error *err)
{
	size_t kept = 0;
	int result = runtimes_recheck_begin(&resolution->runtimes, err);

	*dropped = 0;
	if (result)
		return result;
	for (size_t i = 0; i < plan->count; i++) {
		if (is_unchanged(resolution, &plan->sites[i]))
			plan->sites[kept++] = plan->sites[i];
		else
			site_deinit(&plan->sites[i]);
	}
	*dropped = plan->count - kept;
	plan->count = kept;
	return 0;
}

int resolution_plan(struct resolution *resolution, const struct resolution_query *query,
		    struct plan *plan, size_t *dropped, struct error *err)
{
	int result = 0;

	*dropped = 0;
	for (size_t i = 0; i < query->count && result == 0; i++) {
		const struct body_query bodies = {
			.pattern = query->patterns[i],
			.nested = query->nested,
			.timed = plan->timed,
			.known = query->known,
			.known_count = query->known_count,
		};
		struct plan_search search = {
			.plan = plan,
			.err = err,
			.root = i < query->roots,
		};

		result =
			runtimes_find(&resolution->runtimes, &bodies, plan_add_found, &search, err);
		if (query->matched)
			query->matched[i] = search.found != 0;
	}
	if (result == 0)
		result = resolution_drop_changed(resolution, plan, dropped, err);
	return result ? result : plan_finish(plan, query->registers, err);
}

bool resolution_jumps_to_entry(const struct resolution *resolution, struct address start,
			       uint32_t size)
{
	_cleanup_free_ uint8_t *bytes =
		size <= CODE_MAX_BYTES ?
			memory_read_once(resolution->target->memory, start.value, size) :
			NULL;

	return bytes && insn_jumps_to_entry((struct span){ bytes, size }, 0);
}

/* The runtime writes its code through one mapping of a memfd and runs it through another. */
static bool is_shared_code(const struct mapping *row)
{
	return row->executable && row->shared && row->inode != 0;
}

int resolution_use_uprobes(struct resolution *resolution, struct plan *plan, struct error *err)
{
	struct target *target = resolution->target;
	int result = target_files_add(&target->files, &target->process, target_maps(target),
				      is_shared_code, err);

	for (size_t i = 0; i < plan->count && result == 0; i++) {
		struct site *site = &plan->sites[i];
		const struct mapping *row = maps_find(target_maps(target), site->address);
		const struct target_file *file;

		if (site->file != BODY_NO_FILE || !row || !is_shared_code(row))
			continue;
		file = target_find_file(target, row);
		if (file)
			site_use_uprobe(site, file->number, mapping_offset(row, site->address));
	}
	return result;
}

/* Frames -------------------------------------------------------------------------------------- */

static bool refresh_from(void *ctx)
{
	return resolution_refresh(ctx, NULL) > 0;
}

int frame_names_create(struct symbols **symbols, struct resolution *resolution,
		       enum source_lines lines, const struct symbol_directories *directories,
		       struct error *err)
{
	const struct runtimes *runtimes = &resolution->runtimes;
	struct symbol_sources sources = {
		.target = resolution->target,
		.refresh = refresh_from,
		.version = &resolution->version,
		.ctx = resolution,
	};
	struct frame_namer *namers = sources.namers;
	int result = 0;

	resolution->runtimes.lines = lines;
	if (directories)
		resolution->runtimes.symbols = *directories;
	for (size_t i = 0; i < runtimes->count && result == 0; i++) {
		struct runtime *runtime = runtimes->list[i];

		result = runtime->ops->frame_namer(runtime, &namers[sources.namer_count], err);
		sources.namer_count += result == 0;
	}
	if (result == 0)
		return symbols_create(symbols, &sources, err);
	while (sources.namer_count) {
		const struct frame_namer *namer = &namers[--sources.namer_count];

		namer->destroy(namer->ctx);
	}
	return result;
}
