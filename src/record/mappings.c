// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which process a record is of, how it was traced, and what it had mapped: with build IDs, that is
 * found elsewhere.
 */
#include <stdlib.h>

#include "image/elf.h"
#include "record/numbers.h"
#include "record/writer.h"
#include "target/target.h"

enum { COMMAND_LINE_MAX_BYTES = 64 << 10 };

static void put_target(struct record *record, struct process *process)
{
	struct text *body = record_begin(record);
	char *line = NULL;
	size_t length = 0;

	if (process_read_file(process, "cmdline", COMMAND_LINE_MAX_BYTES, &line, &length, NULL))
		length = 0;
	number_add(body, (uint64_t)process->pid);
	number_add(body, tables_string(&record->tables, process->comm));
	number_add(body, length);
	text_add_bytes(body, line ? line : "", length);
	free(line);
	record_put(record, RECORD_TARGET);
}

static struct span id_of(const struct target *target, const struct mapping *row)
{
	const struct target_file *file = row->inode ? target_find_file(target, row) : NULL;
	struct elf elf;

	return file && elf_init(&elf, file->bytes) ? build_id_of(&elf) : (struct span){ 0 };
}

static void put_mapping(struct record *record, const struct target *target,
			const struct mapping *row)
{
	struct text *body = record_begin(record);
	size_t known = record->mapped.count;
	struct span id;

	number_add(body, row->start.value);
	number_add(body, row->end.value - row->start.value);
	number_add(body, row->offset.value);
	number_add(body, tables_string(&record->tables, row->path));
	number_add(body, row->deleted);
	/* What was told before; without room it is told again. */
	if (interned_add(&record->mapped, text_chars(body), body->length, &record->mapped_room) !=
		    INTERNED_NONE &&
	    record->mapped.count == known)
		return;
	id = id_of(target, row);
	number_add(body, id.size);
	text_add_bytes(body, id.size ? (const char *)id.start : "", id.size);
	record_put(record, RECORD_MAPPING);
}

void record_target(struct record *record, struct target *target)
{
	const struct maps *maps = target_maps(target);

	if (record->has_target && record->target_version == target->version)
		return;
	if (!record->has_target)
		put_target(record, &target->process);
	record->has_target = true;
	record->target_version = target->version;
	for (size_t i = 0; i < maps->count; i++) {
		if (maps->rows[i].executable)
			put_mapping(record, target, &maps->rows[i]);
	}
}

/* But for the patterns, which are facts. */
void record_write_run(struct output *output, const struct output_run *run)
{
	struct record *record = output->state;
	struct tables *tables = &record->tables;
	struct text *body = record_begin(record);
	size_t tiers = 0;

	number_add(body, (uint64_t)run->pid);
	number_add(body, tables_string(tables, run->name));
	record_add_strings(record, (const char *const *)run->command);
	number_add(body, run->duration_ns);
	while (run->tiers && run->tiers[tiers].tier)
		tiers++;
	number_add(body, tiers);
	for (size_t i = 0; i < tiers; i++) {
		number_add(body, tables_string(tables, run->tiers[i].tier));
		number_add(body, run->tiers[i].bodies);
		number_add(body, run->tiers[i].probed);
		number_add(body, run->tiers[i].calls);
	}
	record_put(record, RECORD_RUN);
}
