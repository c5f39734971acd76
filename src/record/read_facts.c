// SPDX-License-Identifier: GPL-2.0-or-later
/* What a record says of its run and of the process, beside what was seen of it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "record/numbers.h"
#include "record/reading.h"

enum { MODES = MODE_DRY_RUN + 1 };

static char *copy_of(struct record_reader *reader, const char *s)
{
	char *copy = strdup(s);

	reader->tables.no_memory |= !copy;
	return copy;
}

void read_facts(struct record_reader *reader, struct cursor *c)
{
	struct record_facts *facts = &reader->facts;
	uint64_t mode, by, count;
	const char **patterns;

	facts->version = copy_of(reader, read_printable(&reader->tables, c));
	facts->machine = copy_of(reader, read_printable(&reader->tables, c));
	facts->cpus = (uint32_t)number_take(c);
	mode = number_take(c);
	by = number_take(c);
	facts->stacks = number_take(c) != 0;
	facts->linear.min_ns = number_take(c);
	facts->linear.max_ns = number_take(c);
	facts->linear.step_ns = number_take(c);
	facts->slow_ns = number_take(c);
	facts->interval_ns = number_take(c);
	facts->start_ns = number_take(c);
	facts->wall_offset_ns = number_take_signed(c);
	facts->zone_s = number_take_signed(c);
	count = number_take(c);
	c->bad |= mode >= MODES || mode == MODE_WATCH || mode == MODE_TRACE ||
		  by > LATENCY_BY_CALLER || facts->linear.max_ns < facts->linear.min_ns ||
		  (facts->linear.step_ns &&
		   (facts->linear.max_ns - facts->linear.min_ns) / facts->linear.step_ns >
			   RECORD_LIST_MAX);
	patterns = read_list(&reader->tables, c, count, sizeof(*patterns));
	facts->patterns = patterns;
	if (!cursor_ok(c))
		return;
	facts->mode = (enum mode)mode;
	facts->by = (enum latency_by)by;
	for (size_t i = 0; patterns && i < count; i++) {
		char *pattern = copy_of(reader, read_printable(&reader->tables, c));

		if (pattern)
			patterns[facts->pattern_count++] = pattern;
	}
	reader->last_ns = facts->start_ns;
}

void read_target(struct record_reader *reader, struct cursor *c)
{
	pid_t pid = (pid_t)number_take(c);
	const char *comm = read_string(&reader->tables, c);
	struct span line = cursor_take(c, (size_t)number_take(c));
	char *bytes;

	if (!cursor_ok(c))
		return;
	bytes = malloc(line.size + 1);
	reader->tables.no_memory |= !bytes;
	if (!bytes)
		return;
	memcpy(bytes, line.size ? line.start : (const uint8_t *)"", line.size);
	bytes[line.size] = '\0';
	free((char *)reader->process.comm);
	free((char *)reader->process.command_line);
	reader->process.pid = pid;
	reader->process.comm = copy_of(reader, comm);
	reader->process.command_line = bytes;
	reader->process.command_line_bytes = line.size;
}

void read_run(struct record_reader *reader, struct cursor *c)
{
	struct output_run run = { .pid = (pid_t)number_take(c),
				  .patterns = (char *const *)reader->facts.patterns,
				  .pattern_count = reader->facts.pattern_count };
	_cleanup_free_ struct output_tier *tiers = NULL;
	_cleanup_free_ const char **command = NULL;
	uint64_t count;

	run.name = read_string(&reader->tables, c);
	command = read_strings(&reader->tables, c, false);
	run.command = (char *const *)command;
	run.duration_ns = number_take(c);
	count = number_take(c);
	tiers = read_list(&reader->tables, c, count, sizeof(*tiers));
	for (size_t i = 0; tiers && i < count; i++) {
		tiers[i].tier = read_printable(&reader->tables, c);
		tiers[i].bodies = number_take(c);
		tiers[i].probed = number_take(c);
		tiers[i].calls = number_take(c);
	}
	run.tiers = tiers;
	if (cursor_ok(c) && !reader->tables.no_memory)
		output_run(reader->output, &run);
}

void read_mapping(struct record_reader *reader, struct cursor *c)
{
	struct record_mapping mapping = { .start = number_take(c) };
	struct span id;

	mapping.end = mapping.start + number_take(c);
	mapping.file_offset = number_take(c);
	mapping.path = read_string(&reader->tables, c);
	mapping.deleted = number_take(c) != 0;
	id = cursor_take(c, (size_t)number_take(c));
	mapping.build_id = id.start;
	mapping.build_id_bytes = id.size;
	if (!cursor_ok(c))
		return;
	reader->process.mappings++;
	if (reader->tell_mapping)
		reader->tell_mapping(reader->tell_ctx, &mapping);
}
