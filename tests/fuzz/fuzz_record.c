// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a record: behind a first byte of 0xff as the whole file, else as the content of a
 * block, which chance would never give its checksum. The first byte says how the run was asked for,
 * and what its records are given to: each of the formats, or a managed stack of each.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "base/error.h"
#include "record/blocks.h"
#include "record/format.h"
#include "record/numbers.h"
#include "record/reader.h"

enum { WHOLE_FILE = 0xff, MEMORY_BYTES = 1 << 20 };

static const struct options ways[] = {
	{ .mode = MODE_HITS },
	{ .mode = MODE_HITS, .format = FORMAT_JSON, .stack = STACK_MODE_MANAGED },
	{ .mode = MODE_HITS, .format = FORMAT_PERF_SCRIPT, .wall_clock = true },
	{ .mode = MODE_HITS, .format = FORMAT_SPEEDSCOPE },
	{ .mode = MODE_HITS, .format = FORMAT_TRACE_EVENT },
	{ .mode = MODE_HITS, .format = FORMAT_PPROF },
	{ .mode = MODE_FOLDED, .interval_ns = 1 },
	{ .mode = MODE_FOLDED, .format = FORMAT_JSON },
	{ .mode = MODE_COUNT, .interval_ns = 1 },
	{ .mode = MODE_COUNT, .format = FORMAT_JSON },
	{ .mode = MODE_COUNT, .format = FORMAT_OPENMETRICS },
	{ .mode = MODE_HIST, .linear = { 0, 4, 1 } },
	{ .mode = MODE_HIST, .linear = { 0, 4, 1 }, .format = FORMAT_JSON },
	{ .mode = MODE_HIST, .slow_ns = 2 },
	{ .mode = MODE_LIST },
	{ .mode = MODE_LIST, .format = FORMAT_JSON },
	{ .mode = MODE_DRY_RUN },
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Two strings and the facts of a run. */
static void add_facts(struct text *block, const struct options *options)
{
	const uint64_t numbers[] = { 1,
				     2,
				     1,
				     options->mode,
				     0,
				     1,
				     options->linear.min_ns,
				     options->linear.max_ns,
				     options->linear.step_ns,
				     options->slow_ns,
				     options->interval_ns,
				     0,
				     0,
				     0,
				     0 };
	struct text body = { 0 };

	text_add_bytes(block, (const char[]){ RECORD_STRING, 1, 'v', RECORD_STRING, 1, 'm' }, 6);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		number_add(&body, numbers[i]);
	text_add_char(block, RECORD_FACTS);
	number_add(block, body.length);
	text_add_bytes(block, text_chars(&body), body.length);
	text_deinit(&body);
}

static FILE *frame(const struct options *options, const uint8_t *data, size_t size)
{
	struct block_writer blocks;
	struct text facts = { 0 };
	char path[32];
	int fd = memfd_create("record", MFD_CLOEXEC);

	check(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(blocks_create(&blocks, path, NULL) == 0);
	add_facts(&facts, options);
	check(blocks_write(&blocks, text_chars(&facts), facts.length) == 0);
	check(blocks_write(&blocks, (const char *)data, size) == 0);
	check(blocks_close(&blocks) == 0);
	text_deinit(&facts);
	return fdopen(fd, "r");
}

static void try(const struct options *way, FILE *from)
{
	struct options options = *way;
	struct record_reader *reader;
	struct record_view view;
	struct record_end end;
	struct error err = { .text = "" };
	struct output output;
	int result;

	check(from);
	if (record_take(&reader, from, &err)) {
		check(err.text[0]);
		return;
	}
	view = record_view_whole(record_facts(reader));
	/* Of a whole file the way of another run: that it is not held is found out before. */
	if (!record_holds(record_facts(reader), options.mode))
		options = (struct options){ .mode = view.mode };
	view.mode = options.mode;
	view.managed = options.stack == STACK_MODE_MANAGED;
	options.memory_bytes = MEMORY_BYTES;
	options.output_path = options.format == FORMAT_OPENMETRICS ? NULL : "/dev/null";
	check(output_open(&output, &options, NULL) == 0);
	if (output.to == stdout)
		check((output.to = fopen("/dev/null", "we")));
	record_set_times(record_facts(reader), &output);
	output.linear = record_facts(reader)->linear;
	result = record_read(reader, &view, &output, &end, &err);
	check(result == 0 || (err.text[0] && !end.whole));
	check(output_close(&output, NULL) == 0);
	record_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] == WHOLE_FILE)
		try(&ways[0], fmemopen((void *)(data + 1), size - 1, "r"));
	else
		try(&ways[data[0] % WAYS], frame(&ways[data[0] % WAYS], data + 1, size - 1));
	return 0;
}
