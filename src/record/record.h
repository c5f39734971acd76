/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --record: what a run comes to, in a file from which all that the run could have printed can be
 * printed later (replay.h), on any machine. docs/record.md has the format. It is an output beside
 * that of the run: the records of output/output.h go into blocks of a file, each of which is
 * written by one write() and depends on none that comes later.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "output/output.h"

struct error;
struct record;
struct target;

/* How the run was asked for, and what its output needs to know of its times. */
struct record_facts {
	const char *version; /* of place-probe */
	const char *machine; /* "Linux 6.1.0-18-amd64 x86_64" */
	uint32_t cpus;
	enum mode mode;
	enum latency_by by;
	bool stacks; /* hits have them */
	struct hist_range linear;
	uint64_t slow_ns;
	uint64_t interval_ns;
	uint64_t start_ns;
	int64_t wall_offset_ns;
	int64_t zone_s;
	const char *const *patterns;
	size_t pattern_count;
};

/*
 * Make file @options->record_path, or make it anew, for a run whose output is @output, and have
 * that run's records go to it too. -errno with @err set.
 */
int record_create(struct record **record, const struct options *options, struct output *output,
		  struct error *err);

/* Hits count from now on: output->start_ns. */
void record_start(struct record *record);

/* Which process it is, and what it has mapped, as far as that was not told before. */
void record_target(struct record *record, struct target *target);

/*
 * What comes from @begin to @end are totals, of the run so far: they are not in its output, and
 * take the place of those before them.
 */
void record_totals_begin(struct record *record);
void record_totals_end(struct record *record);

/* The output of totals. */
struct output *record_output(struct record *record);

/* Is it time to write what is there: totals, and then by record_flush() all of it? */
bool record_is_due(const struct record *record);
void record_flush(struct record *record);

/*
 * The end of the run: write the rest. @record may be NULL. -errno with @err set if there is
 * something that could not be written, which was said when it happened.
 */
int record_close(struct record *record, struct error *err);

#endif
