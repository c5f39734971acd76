/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last phase: what was seen, what was lost, and how far the counts can be trusted; for people
 * on standard error, for programs as the last line of the output.
 */
#ifndef SESSION_REPORT_H
#define SESSION_REPORT_H

#include <stdint.h>

#include "capture/capture.h"
#include "session/session.h"

struct error;
struct followed;
struct options;
struct output;
struct count_bounds;
struct output_stacks;
struct pattern;
struct plan;
struct last_snapshot;
struct site_counters;

struct report_input {
	const struct options *options;
	struct last_snapshot *snapshot; /* see verdict.h */
	const struct followed *followed;
	const struct plan *plan;
	struct pattern **patterns;
	const struct site_counters *counters; /* by site */
	const struct capture *capture;
	struct output *output;
	/* Write what was counted since the last time; @bounds: what may be too low. -errno. */
	int (*print)(void *ctx, const struct count_bounds *bounds, struct error *err);
	void *ctx;
	uint64_t shown;			    /* hits that were printed */
	const struct output_stacks *stacks; /* NULL: none were asked for */
	enum capture_end end;
	uint64_t took_ns;
};

/* EXIT_STATUS_OK, or with @err set EXIT_STATUS_LOST or EXIT_STATUS_ERROR. */
enum exit_status report_run(const struct report_input *input, struct error *err);

#endif
