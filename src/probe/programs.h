/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs are told before they are loaded, for a run and for calibration alike: which
 * process they look at, and how durations are kept.
 */
#ifndef PROBE_PROGRAMS_H
#define PROBE_PROGRAMS_H

#include <stdint.h>

#include "bpf/latency.h"

struct place_probe_bpf;
struct process;

struct programs_latency {
	enum latency_by by;
	uint64_t slow_ns;	 /* calls that take so long are reported; 0: none is */
	uint64_t linear_min_ns;	 /* where linear buckets begin, */
	uint64_t linear_step_ns; /* how wide they are; 0: there are none */
	uint64_t linear_count;	 /* and the number of the last, which has all that is longer */
};

void programs_set_target(struct place_probe_bpf *bpf, const struct process *process);
void programs_set_latency(struct place_probe_bpf *bpf, const struct programs_latency *latency);

#endif
