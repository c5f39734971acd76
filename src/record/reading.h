/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a reader share: reader.c, read_tables.c, read_records.c. */
#ifndef RECORD_READING_H
#define RECORD_READING_H

#include "image/cursor.h"
#include "record/blocks.h"
#include "record/format.h"
#include "record/reader.h"

struct read_string {
	char *is;
	char *printable; /* NULL: it is that itself */
};

struct read_stack {
	struct stack is;
	struct rendering rendering;
	bool renders; /* what is made of it may be kept */
};

struct read_thread {
	pid_t pid, tid;
	const char *comm;
};

struct read_kind {
	struct output_kind *is; /* NULL: there was no room in the output */
	bool used;
	uint64_t stack_guessed;
	enum stack_end stack_end;
	bool has_stack;
};

/* What is known by a number, from 1. */
struct read_tables {
	struct read_string *strings;
	size_t string_count, string_capacity, string_bytes;
	struct frame *frames;
	size_t frame_count, frame_capacity;
	struct read_stack *stacks;
	size_t stack_count, stack_capacity, stack_frames;
	size_t rendering_bytes; /* that may be kept, about */
	struct read_thread *threads;
	size_t thread_count, thread_capacity;
	bool no_memory;
};

void read_tables_deinit(struct read_tables *tables);

/* The next number of @c as what it is of; a bad cursor if there is no such, and no 0. */
const char *read_string(struct read_tables *tables, struct cursor *c);
const char *read_printable(struct read_tables *tables, struct cursor *c);
/* The same, but 0 is NULL. */
const char *read_string_or_null(struct read_tables *tables, struct cursor *c);
const char *read_printable_or_null(struct read_tables *tables, struct cursor *c);
struct read_stack *read_stack_or_null(struct read_tables *tables, struct cursor *c);
const struct read_thread *read_thread(struct read_tables *tables, struct cursor *c);

/* A list of strings, which ends with NULL, for the caller to free; NULL: there is none. */
const char **read_strings(struct read_tables *tables, struct cursor *c, bool printable);

/*
 * A list of @count items of @size, each of which has a byte at least, with one more behind them;
 * all 0, for the caller to free. NULL: no memory, or a bad cursor.
 */
void *read_list(struct read_tables *tables, struct cursor *c, uint64_t count, size_t size);

/* A list of a summary, likewise. */
struct output_unshown *read_unshown(struct read_tables *tables, struct cursor *c);

/* The body of a record that puts something into the tables. */
void read_table_record(struct read_tables *tables, enum record_tag tag, struct cursor *c,
		       bool managed);

/* Counts of methods that have been read and not given to the output. */
struct read_counts {
	struct output_count *list;
	size_t count, capacity;
};

void read_counts_clear(struct read_counts *counts);

struct record_reader {
	struct block_reader blocks;
	struct span block; /* what is left of it */
	uint64_t records;
	bool ended;
	struct record_facts facts;
	struct read_tables tables;
	struct record_process process; /* its strings, and those of the facts, are its own */
	void (*tell_mapping)(void *ctx, const struct record_mapping *mapping);
	void *tell_ctx;

	/* While it is read: */
	const struct record_view *view;
	struct output *output;
	struct record_end *end;
	uint64_t last_ns;
	uint64_t left_out; /* when losses were told */
	bool judged;	   /* they were */
	struct read_kind *kinds;
	size_t kind_count, kind_capacity;
	struct read_counts counts;
	struct text totals, fresh_totals; /* records, as they are in the file */
	bool in_totals, playing_totals;
	bool kept;		     /* something may wait for output_kept() */
	struct output_stacks stacks; /* of what was given to the output */
};

/* Are there no hits in what is shown? */
static inline bool read_is_counting(const struct record_view *view)
{
	return view->mode == MODE_COUNT || (view->mode == MODE_HIST && !view->slow_ns);
}

/* The body of a record, of @tag, but those of read_table_record(). */
void read_record(struct record_reader *reader, enum record_tag tag, struct cursor *c);

/* What is left of kinds at the end. */
void read_release_kinds(struct record_reader *reader);

/* What was kept of totals goes to the output. False: it makes no sense. */
bool read_play_totals(struct record_reader *reader);

/* The facts of the run, which come first. */
void read_facts(struct record_reader *reader, struct cursor *c);
void read_target(struct record_reader *reader, struct cursor *c);
void read_run(struct record_reader *reader, struct cursor *c);
void read_mapping(struct record_reader *reader, struct cursor *c);

/* One record of the block @c: its tag, and a cursor over its body. False: it is over, or bad. */
bool read_next(struct cursor *c, enum record_tag *tag, struct cursor *body);

#endif
