/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What timing a call costs it, measured on this machine before a run: the same programs are
 * attached, by the same means, to functions of our own that do nothing, and those are called with
 * and without.
 */
#ifndef LATENCY_CALIBRATE_H
#define LATENCY_CALIBRATE_H

#include <stdbool.h>

#include "probe/programs.h"
#include "probe/uprobes.h"
#include "plan/timed.h"

struct error;

/* Only kinds that a run may have: this takes debug registers, and single steps are slow. */
struct calibration {
	struct programs_latency latency; /* how durations are kept */
	enum uprobe_means means;
	bool any_kind; /* what comes later may have any kind of probe */
	bool wanted[PROBE_KINDS];
};

/* The kinds of probes that calls may come by, of @plan or of what is followed later. */
void calibration_want(struct calibration *calibration, const struct plan *plan);

/*
 * Measure them, in well under 300 ms. -errno with @err set if a kind could not be measured; those
 * that could are in @costs nevertheless. Probes this process only, and this thread's debug
 * registers.
 */
int calibrate(const struct calibration *calibration, struct probe_cost costs[PROBE_KINDS],
	      struct error *err);

#endif
