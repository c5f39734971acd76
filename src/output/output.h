/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that goes to standard output (or to -o FILE): the same calls write text for
 * people or JSON lines for programs (docs/json.md). Talk goes to standard error, elsewhere.
 */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf/event.h"
#include "stack/stack.h"
#include "cli/options.h"
#include "plan/plan.h"

struct error;
struct folded;
struct json_object;
struct resolution;

struct output {
	FILE *to;
	int problem; /* the first time that something could not be written: -errno */
	bool json;
	bool wall_clock;
	bool verbose;
	enum stack_mode stack;
	enum time_unit unit;
	struct hist_range linear;
	uint64_t start_ns;	    /* CLOCK_MONOTONIC at the start */
	int64_t wall_offset_ns;	    /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	struct json_object *record; /* being put together */
	struct folded *folded;	    /* --folded: what hits are merged into */
};

/* Why hits are missing from the output, or may be. */
struct output_loss {
	const char *reason; /* code, as in JSON */
	uint64_t count;
};

/* Open @options->output_path or standard output. */
int output_open(struct output *output, const struct options *options, struct error *err);

/* Write what is buffered. -EPIPE once nobody reads any more, or another errno. */
int output_flush(struct output *output);
int output_close(struct output *output, struct error *err);

/* Write a name or path that someone else chose: control characters become '?'. */
void output_printable(const struct output *output, const char *s);

/* --list. */
void output_plan(struct output *output, const struct plan *plan, struct resolution *resolution);

/* --dry-run: commands for perf, text only. */
void output_dry_run(struct output *output, const struct plan *plan,
		    const struct resolution *resolution);

/* A hit. With --folded it is kept. */
void output_hit(struct output *output, const struct hit *hit);

/* --folded: the stacks since the last time. */
void output_folded(struct output *output);

/* Why a method's count may be below the truth: a bit for each reason, along the plan's sites. */
struct output_bounds {
	const uint32_t *of_sites;
	unsigned int reasons;
	const char *(*code)(unsigned int reason); /* two reasons next to each other may share one */
};

enum { OUTPUT_CODES_MAX = 32 };

/* The reasons' codes of the method whose sites begin at @first in plan->by_method; ends with NULL. */
void output_bound_codes(const struct plan *plan, size_t first, const struct output_bounds *bounds,
			const char *codes[OUTPUT_CODES_MAX + 1]);

/*
 * Calls of each method since the last time, body by body. @calls runs along the plan's sites.
 * @bounds is NULL as long as that is not known.
 */
void output_counts(struct output *output, const struct plan *plan, const uint64_t *calls,
		   const struct output_bounds *bounds);

/* "Method: 12 r2r, 30 tier1" for each method with several bodies that were called, to @say. */
void output_tiers(const struct plan *plan, const uint64_t *calls, bool all,
		  void (*say)(const char *fmt, ...));

/* How the stacks were that have been printed. */
struct output_stacks {
	uint64_t ends[STACK_ENDS]; /* by enum stack_end */
	uint64_t
		guessed; /* frames that were found by a frame pointer, for want of anything better */
};

/*
 * The last line of JSON output. @losses and @lower_bounds (reason codes: why counts may be
 * below the truth) end with a NULL reason. @stacks: NULL if none were asked for.
 */
void output_summary(struct output *output, uint64_t hits, const struct output_loss *losses,
		    const char *const *lower_bounds, const struct output_stacks *stacks);

#endif
