/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a writer share: writer.c, tables.c, mappings.c. */
#ifndef RECORD_WRITER_H
#define RECORD_WRITER_H

#include "output/interned.h"
#include "record/blocks.h"
#include "record/format.h"
#include "record/record.h"

struct output_kind;

/*
 * What a record has once and knows by a number from then on: strings, frames, stacks, threads. What
 * is new is added to the block before the record that needs it.
 */
struct tables {
	struct text *block; /* where what is new goes */
	struct interned strings, frames, stacks, threads;
	size_t string_bytes, stack_frames;
	size_t room;
	uint32_t generation;		  /* goes up with each reset */
	bool failed;			  /* there was no room, or no memory */
	struct text frame, stack, thread; /* what is put together */
};

/* Append a record of @tag with @body to @block. */
void tables_put(struct text *block, enum record_tag tag, const char *body, size_t length);

void tables_init(struct tables *tables, struct text *block);
void tables_deinit(struct tables *tables);

/* Is it time to begin anew, so that a reader's memory is bounded too? And do so. */
bool tables_are_full(const struct tables *tables);
void tables_reset(struct tables *tables);

/* Numbers count from 1; 0 is NULL, and if ->failed means nothing. */
uint32_t tables_string(struct tables *tables, const char *s);
uint32_t tables_stack(struct tables *tables, const struct stack *stack);
uint32_t tables_thread(struct tables *tables, const struct hit *hit);

enum { RECORD_MAPPED_BYTES = 16 << 20 /* for knowing which mappings are there */ };

struct record {
	const char *path;
	struct output output;
	const struct output *of; /* the run's */
	struct block_writer blocks;
	struct tables tables;
	struct text block; /* not written yet */
	struct text body;  /* of the record that is put together */
	uint64_t flushed_ns;
	uint64_t last_ns; /* of the last hit */
	int problem;	  /* why nothing is written any more; 0 */
	bool in_totals;
	struct output_kind **kinds; /* by number; NULL where there is none */
	size_t kind_count;
	size_t kind_capacity;
	uint32_t *free_kinds;
	size_t free_kind_count;
	size_t free_kind_capacity;
	struct interned mapped; /* what was told of mappings */
	size_t mapped_room;
	bool has_target;
	uint64_t target_version; /* as it was told last */
};

/* Begin a record: its body, empty. Then put it into the block. */
struct text *record_begin(struct record *record);
void record_put(struct record *record, enum record_tag tag);

/* Append to the body how many strings there are, and each; 0: there is no list. */
void record_add_strings(struct record *record, const char *const *list);

/* As struct output_ops has it. */
void record_write_run(struct output *output, const struct output_run *run);

#endif
