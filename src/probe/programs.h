/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs are told before they are loaded, for a run and for calibration alike: which
 * process they look at, how durations are kept, and how large their maps are.
 */
#ifndef PROBE_PROGRAMS_H
#define PROBE_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/latency.h"

struct bpf_map;
struct place_probe_bpf;
struct process;

struct programs_latency {
	enum latency_by by;
	uint64_t slow_ns;	 /* calls that take so long are reported; 0: none is */
	uint64_t linear_min_ns;	 /* where linear buckets begin, */
	uint64_t linear_step_ns; /* how wide they are; 0: there are none */
	uint64_t linear_count;	 /* and the number of the last, which has all that is longer */
};

/* How many entries a map is to have. */
struct programs_map {
	struct bpf_map *map;
	size_t entries;
};

void programs_set_target(struct place_probe_bpf *bpf, const struct process *process);
void programs_set_latency(struct place_probe_bpf *bpf, const struct programs_latency *latency);

/* -errno. */
int programs_size_maps(const struct programs_map *maps, size_t count);

#endif
