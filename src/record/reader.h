/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in a record (docs/record.md), given to an output as the run has given it to its own. For
 * replay.c, and for whoever makes something else of it: with an output whose struct output_ops are
 * his own, each of them is called with what the run has seen. Files are hostile: what makes no
 * sense ends the reading, with all before it done.
 */
#ifndef RECORD_READER_H
#define RECORD_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "record/record.h"

struct error;
struct record_reader;

/* Which of it, and how. */
struct record_view {
	enum mode mode;	  /* one of those that record_holds() */
	bool stacks;	  /* hits have their stacks, if the record has them */
	bool managed;	  /* as STACK_FRAMES_MANAGED has them */
	bool linear;	  /* histograms have their linear part */
	bool intervals;	  /* what came after each; else all of the run at the end */
	uint64_t slow_ns; /* of calls, only those that took so long */
};

/* What the process was, as far as the record tells by now. */
struct record_process {
	pid_t pid; /* 0: it does not tell */
	const char *comm;
	const char *command_line; /* its words end with a NUL each */
	size_t command_line_bytes;
	size_t mappings;
};

struct record_mapping {
	uint64_t start, end, file_offset;
	const char *path;
	bool deleted;
	const uint8_t *build_id;
	size_t build_id_bytes; /* 0: none is known */
};

/* How the reading ended. */
struct record_end {
	uint64_t hits;	 /* that were given to the output */
	bool summarized; /* the run has gone well, and it was told so */
	bool whole;	 /* nothing is missing at the end of the file */
	bool lossy;	 /* the run has lost something, or a count is a lower bound */
	char lost[256];	 /* what and how much, or "nothing"; with @summarized */
};

/* Open the record at @path ("-": standard input), of which nothing is read. NULL with @err set. */
FILE *record_file(const char *path, struct error *err);

/*
 * Take @from, which is closed in any case, and read how its run was asked for. Or with @err set:
 * -EINVAL, it is something else; -EPROTONOSUPPORT, of a newer format; -EBADMSG, damaged; -ENODATA,
 * it ends before that; or another errno. record_reader_close() ends it; NULL is fine.
 */
int record_take(struct record_reader **reader, FILE *from, struct error *err);
void record_reader_close(struct record_reader *reader);

/* These are valid until it is closed. */
const struct record_facts *record_facts(const struct record_reader *reader);
struct record_process record_process(const struct record_reader *reader);

/* Tell @tell of each mapping that comes while it is read. */
void record_on_mapping(struct record_reader *reader,
		       void (*tell)(void *ctx, const struct record_mapping *mapping), void *ctx);

/* Can what @mode prints be had of it? */
bool record_holds(const struct record_facts *facts, enum mode mode);

/* The view that shows all, as the run was asked for. */
struct record_view record_view_whole(const struct record_facts *facts);

/* Have @output take its times from the run. */
void record_set_times(const struct record_facts *facts, struct output *output);

/*
 * Give what comes to @output, once, to the end. What is not there for want of room (left_out) is
 * told as if it had happened in the run. 0, or as record_open(): then what could be read was given,
 * and totals of the run as far as they were known then.
 */
int record_read(struct record_reader *reader, const struct record_view *view, struct output *output,
		struct record_end *end, struct error *err);

#endif
