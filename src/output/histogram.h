/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --hist: durations as text, in the look of bcc's funclatency, and as JSON. */
#ifndef OUTPUT_HISTOGRAM_H
#define OUTPUT_HISTOGRAM_H

#include "latency/latency.h"
#include "output/output.h"

/* What the durations are of. */
struct histogram_label {
	const char *method;
	enum latency_by by;
	const char *caller; /* by caller: its name */
	uint64_t tid;	    /* by thread */
};

/* The percentiles that are printed. */
enum { HISTOGRAM_SHARES = 4 };

struct histogram_share {
	const char *name;
	const char *key; /* in JSON */
	double share;
};

extern const struct histogram_share histogram_shares[HISTOGRAM_SHARES];

/* @bounds: reason codes, why there may be more calls; ends with NULL. Itself NULL: not known yet. */
void output_histogram(struct output *output, const struct histogram_label *label,
		      const struct histogram *histogram, const char *const *bounds);

#endif
