// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the plan's sites to records of them, on their way to src/output/: all that formats may want
 * to know becomes text and numbers here.
 */
#include "session/sites.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "output/output.h"
#include "session/resolve.h"

/* What a record borrows. */
struct site_record {
	struct output_site is;
	const char *names_from[NAME_SOURCES_MAX + 1];
	struct method_inliners inliners;
	bool calls_native;
	struct text function;
};

static void name_sources(struct site_record *record, const struct site *site,
			 const struct resolution *resolution)
{
	size_t count = 0;

	for (unsigned int bit = 0; bit < NAME_SOURCES_MAX; bit++) {
		if (site->sources >> bit & 1)
			record->names_from[count++] = resolution_source_name(resolution, bit);
	}
	record->names_from[count] = NULL;
	record->is.names_from = record->names_from;
}

/* What takes long to find out; it is alike in all bodies and instantiations of a method. */
static int describe_method(struct site_record *record, const struct site *site,
			   struct resolution *resolution, size_t inliners)
{
	int result;

	method_inliners_deinit(&record->inliners);
	text_clear(&record->function);
	result = runtimes_inliners(&resolution->runtimes, &record->inliners, &site->id, inliners);
	record->calls_native =
		result == 0 &&
		runtimes_native_function(&resolution->runtimes, &site->id, &record->function);
	return result;
}

static void describe_file(struct output_site *is, const struct site *site,
			  const struct resolution *resolution)
{
	const struct target_file *file;

	if (site_is_remapped(site)) {
		is->file = "memfd:doublemapper";
		return;
	}
	file = target_file(resolution->target, site->file);
	if (!file)
		return;
	is->file = file->path;
	is->file_has_path = file->user_path != NULL;
	is->file_is_here = file->user_path && strcmp(file->user_path, file->path) == 0;
}

static void describe(struct site_record *record, const struct site *site,
		     const struct resolution *resolution)
{
	record->is = (struct output_site){
		.pid = resolution->target->process.pid,
		.method = site->method,
		.made_from = site->made_from,
		.image = site->image,
		.tier = tier_name(site->tier),
		.state = body_state_name(site->state),
		.placed = site->mechanism != MECHANISM_NONE,
		.mechanism = mechanism_name(site->mechanism),
		.by_address = site->mechanism == MECHANISM_BREAKPOINT,
		.remapped = site_is_remapped(site),
		.by_stub = site->stub || site->shares_probe,
		.reason = reason_code(site->reason),
		.reason_text = reason_text(site->reason),
		.reason_next = reason_next(site->reason),
		.file_offset = site->offset.value,
		.address = site->address.value,
		.size = site->size,
	};
	if (site->mechanism == MECHANISM_UPROBE)
		record->is.cost = site->cost == INSN_EMULATED ?
					  "emulated (cheap)" :
					  "single-stepped (several times dearer)";
	record->is.inlined_into = (const char *const *)record->inliners.names;
	record->is.inlined_count = record->inliners.count;
	record->is.inlined_whole = record->inliners.whole;
	if (record->calls_native)
		record->is.native_function = text_chars(&record->function);
	describe_file(&record->is, site, resolution);
	name_sources(record, site, resolution);
}

int sites_write(struct output *output, const struct plan *plan, struct resolution *resolution,
		bool commands, struct error *err)
{
	struct site_record record = { 0 };
	size_t inliners = output_inliners(output);
	const struct site *before = NULL;
	int result = 0;

	for (size_t i = 0; i < plan->count && result == 0; i++) {
		const struct site *site = commands ? &plan->sites[i] : plan->by_method[i];

		if (!commands &&
		    (!before || method_id_definition_order(&before->id, &site->id) != 0))
			result = describe_method(&record, site, resolution, inliners);
		describe(&record, site, resolution);
		record.is.first = !before || strcmp(before->method, site->method) != 0;
		if (result == 0)
			output_site(output, &record.is);
		before = site;
	}
	method_inliners_deinit(&record.inliners);
	text_deinit(&record.function);
	return result ? error_set(err, result, "no memory for what has inlined methods") : 0;
}
