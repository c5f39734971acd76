// SPDX-License-Identifier: GPL-2.0-or-later
/* Native code as a runtime: the table of runtime/runtime.h, filled from the other files here. */
#include "runtime/native/native.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/tree.h"
#include "debuginfod/debuginfod.h"
#include "image/elf.h"
#include "method/pattern.h"
#include "runtime/native/find.h"
#include "runtime/native/functions.h"
#include "runtime/native/signature.h"
#include "runtime/native/symbols.h"
#include "value/value.h"
#include "target/target.h"

/* Functions of files --------------------------------------------------------------------------- */

struct file_functions {
	uint64_t file; /* its number; first: base/sorted.h */
	struct target_functions functions;
	bool lines_read;
	struct target_lines lines;
	uint64_t fetched; /* debuginfod_version() when they were read */
};

static uint64_t fetched(const struct native *native)
{
	struct debuginfod *debuginfod = native->target->debuginfod;

	return debuginfod ? debuginfod_version(debuginfod) : 0;
}

/* What was being fetched when they were read may be there by now. */
static bool forget_outdated(const struct native *native, struct file_functions *found)
{
	if ((!found->functions.awaited && !found->lines.awaited) ||
	    found->fetched == fetched(native))
		return false;
	target_lines_deinit(&found->lines);
	target_functions_deinit(&found->functions);
	found->lines_read = false;
	return true;
}

static struct file_functions *functions_of(struct native *native, const struct target_file *file)
{
	bool is_new;
	struct file_functions *found =
		tree_take(&native->functions, file->number, sizeof(*found), &is_new);

	if (!found)
		return NULL;
	if (!is_new)
		is_new = forget_outdated(native, found);
	if (is_new) {
		target_functions_read(&found->functions, &native->target->process,
				      native->target->debuginfod, file->path, file->bytes);
		if (found->functions.symbols && !found->functions.debug.start)
			native_symbols_read_by(found->functions.symbols, file->fd);
		found->fetched = fetched(native);
	}
	return found;
}

struct native_symbols *native_functions(struct native *native, const struct target_file *file)
{
	struct file_functions *found = functions_of(native, file);

	return found ? found->functions.symbols : NULL;
}

/* Whether or not lines are asked for. */
static struct native_lines *debug_information(struct native *native, const struct target_file *file)
{
	struct file_functions *found = functions_of(native, file);

	if (found && !found->lines_read)
		target_lines_read(&found->lines, &found->functions, &native->target->process,
				  native->target->debuginfod, file->path, file->bytes);
	if (found)
		found->lines_read = true;
	return found ? found->lines.lines : NULL;
}

struct native_lines *native_file_lines(struct native *native, const struct target_file *file)
{
	return native->others->lines == LINES_NONE ? NULL : debug_information(native, file);
}

static void forget_functions(void *node)
{
	struct file_functions *functions = node;

	target_lines_deinit(&functions->lines);
	target_functions_deinit(&functions->functions);
	free(functions);
}

/* Which files ---------------------------------------------------------------------------------- */

/*
 * May @pattern mean functions of @file? Where a managed image goes by the same name, as the program
 * of a host or of a single-file executable does, that is meant by all that may be a method's name.
 */
static bool wants_file(const struct native *native, const struct pattern *pattern,
		       const struct target_file *file, struct elf *elf)
{
	if (!mapping_is_file_code(&file->mapping) ||
	    !pattern_wants_native_image(pattern, file->name) || !elf_init(elf, file->bytes))
		return false;
	return pattern_native_only(pattern) || !runtimes_have_host(native->others, file);
}

static bool has_file(const struct runtime *runtime, const struct pattern *pattern)
{
	const struct native *native = (const struct native *)runtime;
	const struct target *target = native->target;
	struct elf elf;

	for (size_t i = 0; i < target->files.count; i++) {
		if (wants_file(native, pattern, &target->files.files[i], &elf))
			return true;
	}
	return false;
}

/* As struct runtime --------------------------------------------------------------------------- */

static struct address address_of(const void *ctx, size_t file, struct file_offset offset)
{
	const struct target *target = ctx;

	return target_address(target, target_file(target, file), offset);
}

static int find(struct runtime *runtime, const struct body_query *query, body_fn fn, void *ctx,
		struct error *err)
{
	struct native *native = (struct native *)runtime;
	const struct target *target = native->target;
	struct native_search search = {
		.pattern = query->pattern,
		.timed = query->timed,
		.address = address_of,
		.address_ctx = target,
		.fn = fn,
		.ctx = ctx,
	};
	int result = 0;

	for (size_t i = 0; i < target->files.count && result == 0; i++) {
		const struct target_file *file = &target->files.files[i];

		progress_tell("reading images", i, target->files.count);
		if (file->number < query->known_count && query->known[file->number])
			continue;
		if (!wants_file(native, query->pattern, file, &search.elf))
			continue;
		search.image = file->name;
		search.file = file->number;
		search.place = target_file_place(file->device, file->inode);
		search.symbols = native_functions(native, file);
		result = native_search_run(&search, err);
	}
	native_search_deinit(&search);
	return result;
}

/* Where it will be in memory is not known yet; that it will be in code is. */
static struct address somewhere(const void *ctx, size_t file, struct file_offset offset)
{
	(void)ctx;
	(void)file;
	(void)offset;
	return (struct address){ 1 };
}

static int find_in_file(const struct file_query *query, body_fn fn, void *ctx)
{
	struct native_search search = {
		.image = query->name,
		.place = query->place,
		.address = somewhere,
		.timed = query->timed,
		.fn = fn,
		.ctx = ctx,
	};
	struct target_functions functions;
	int result = 0;

	if (!elf_init(&search.elf, query->bytes))
		return 0;
	/* Whoever asks waits for no server. */
	target_functions_read(&functions, query->process, NULL, query->path, query->bytes);
	search.symbols = functions.symbols;
	for (size_t i = 0; i < query->count && result != -ENOMEM; i++) {
		size_t before = search.matched;

		if (!query->patterns[i])
			continue;
		search.pattern = query->patterns[i];
		/* Where a regex runs away nothing more is found by it. */
		result = native_search_run(&search, NULL);
		query->matched[i] |= search.matched > before;
	}
	native_search_deinit(&search);
	target_functions_deinit(&functions);
	return result == -ENOMEM ? result : 0;
}

/* The file whose functions are of @module; NULL: it is not mapped any more. */
static const struct target_file *file_of_module(const struct native *native, uint64_t module)
{
	const struct target *target = native->target;
	struct elf elf;

	for (size_t i = 0; module && i < target->files.count; i++) {
		const struct target_file *file = &target->files.files[i];

		if (mapping_is_file_code(&file->mapping) && elf_init(&elf, file->bytes) &&
		    native_module(&elf, target_file_place(file->device, file->inode)) == module)
			return file;
	}
	return NULL;
}

static int signature(struct runtime *runtime, const struct method_id *id, uint64_t method_desc,
		     const char *name, struct value_types *types, struct value_signature *out)
{
	struct native *native = (struct native *)runtime;
	const struct target_file *file = file_of_module(native, id->module);
	struct native_symbols *symbols = file ? native_functions(native, file) : NULL;
	const struct native_symbol *symbol =
		symbols ? native_symbols_find(symbols, id->token) : NULL;

	int result;

	(void)method_desc;
	(void)name;
	result = native_signature(file ? debug_information(native, file) : NULL, id->token,
				  symbol ? symbol->name : NULL, types, out);
	/* It was probed before it is mapped. */
	out->incomplete = !file;
	return result;
}

static bool has_function(struct runtime *runtime, const struct target_file *file, const char *name)
{
	return target_functions_have(native_functions((struct native *)runtime, file), name);
}

static void destroy(struct runtime *runtime)
{
	struct native *native = (struct native *)runtime;

	tdestroy(native->functions, forget_functions);
	free(native);
}

static int create(struct runtime **out, struct target *target, const struct runtimes *others,
		  struct error *err)
{
	struct native *native = calloc(1, sizeof(*native));

	if (!native)
		return error_set(err, -ENOMEM, "no memory to look for native functions");
	native->runtime.ops = &native_ops;
	native->target = target;
	native->others = others;
	*out = &native->runtime;
	return 0;
}

const struct runtime_ops native_ops = {
	.id = RUNTIME_NATIVE,
	.create = create,
	.destroy = destroy,
	.has_file = has_file,
	.find = find,
	.find_in_file = find_in_file,
	.has_function = has_function,
	.signature = signature,
	.ranges = native_ranges,
	.frame_namer = native_frame_namer,
};
