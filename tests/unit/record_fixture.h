/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small record, for the programs that damage it, and what is left of it. */
#ifndef RECORD_FIXTURE_H
#define RECORD_FIXTURE_H

#include "unit.h"

#include <string.h>

#include "base/error.h"
#include "output/ops.h"
#include "record/reader.h"
#include "record/record.h"
#include "stack/stack.h"

enum { BLOCKS_OF_HITS = 4, HITS_OF_BLOCK = 3 };

/* At @path a block with the facts of a run, BLOCKS_OF_HITS with hits, and one with its end. */
static inline void make_record(const char *path)
{
	static const struct options options = { .mode = MODE_HITS };
	struct frame frame = { .kind = FRAME_NATIVE, .name = "outer", .module = "m.so" };
	const struct stack stack = { .frames = &frame, .count = 1 };
	const struct output_loss none = { 0 };
	const char *const no_bounds[] = { NULL };
	struct options asked = options;
	struct record *record;
	struct output output;
	char comm[16];

	asked.record_path = path;
	asked.output_path = "/dev/null";
	assert_int_equal(output_open(&output, &asked, NULL), 0);
	assert_int_equal(record_create(&record, &asked, &output, NULL), 0);
	for (int i = 0; i < BLOCKS_OF_HITS * HITS_OF_BLOCK; i++) {
		snprintf(comm, sizeof(comm), "thread %d", i);
		output_hit(&output, &(struct hit){ .time_ns = output.start_ns + (uint64_t)i,
						   .pid = 1,
						   .tid = i,
						   .comm = comm,
						   .method = "A::b",
						   .tier = "r2r",
						   .stack = &stack });
		if (i % HITS_OF_BLOCK == HITS_OF_BLOCK - 1)
			record_flush(record);
	}
	output_summary(&output, &(struct output_summary){ .hits = BLOCKS_OF_HITS * HITS_OF_BLOCK,
							  .losses = &none,
							  .lower_bound = no_bounds });
	assert_int_equal(output_close(&output, NULL), 0);
	assert_int_equal(record_close(record, NULL), 0);
}

/* What came out of a record. */
struct seen {
	size_t hits;
	size_t summaries;
	struct record_end end;
	struct error err;
};

static inline void see_hit(struct output *output, const struct hit *hit)
{
	struct seen *seen = output->state;
	char comm[16];

	/* In the order they came, and whole. */
	snprintf(comm, sizeof(comm), "thread %zu", seen->hits);
	assert_string_equal(hit->comm, comm);
	assert_string_equal(hit->method, "A::b");
	assert_int_equal(hit->tid, seen->hits);
	assert_int_equal(hit->stack->count, 1);
	assert_string_equal(hit->stack->frames[0].name, "outer");
	seen->hits++;
}

static inline void see_summary(struct output *output, const struct output_summary *summary)
{
	struct seen *seen = output->state;

	assert_int_equal(summary->hits, BLOCKS_OF_HITS * HITS_OF_BLOCK);
	seen->summaries++;
}

/* Read the @size bytes as a record of make_record(). */
static inline int see(const void *bytes, size_t size, struct seen *seen)
{
	static const struct output_ops ops = { .hit = see_hit, .summary = see_summary };
	struct output output = { .ops = &ops, .state = seen };
	struct record_reader *reader;
	struct record_view view;
	FILE *from = size ? fmemopen((void *)bytes, size, "r") : fopen("/dev/null", "re");
	int result;

	*seen = (struct seen){ .err = { .text = "" } };
	assert_non_null(from);
	result = record_take(&reader, from, &seen->err);
	if (result)
		return result;
	view = record_view_whole(record_facts(reader));
	result = record_read(reader, &view, &output, &seen->end, &seen->err);
	record_reader_close(reader);
	return result;
}

#endif
