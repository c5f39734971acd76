/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs are told before they are loaded, for a run and for calibration alike: which
 * process they look at, how durations are kept, and how large their maps are. And loading them,
 * which the broker does for a process without privileges.
 */
#ifndef PROBE_PROGRAMS_H
#define PROBE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/latency.h"

struct bpf_object_skeleton;
struct bpf_program;
struct place_probe_bpf;
struct process;
struct programs;
struct request_load;

/* Those that there are. */
enum programs_object {
	PROGRAMS_PLACE_PROBE,
	PROGRAMS_IN_FLIGHT,
};

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

/* Where a task's thread pointer is, by the kernel's description of itself; 0: not known. */
uint32_t programs_thread_pointer_at(void);

/*
 * Is what a mmap() is to replace (MAP_FIXED) still there if it fails for want of memory? Before
 * Linux 6.12 it may be gone. False also where the kernel does not describe itself.
 */
bool programs_keep_replaced(void);

/* Does what libbpf says go to standard error? Else nobody is told. */
void programs_tell(bool tell);

/* How they are loaded. */
struct programs_how {
	enum programs_object object;
	bool ourselves; /* they look at us, and not at the target */
	bool quiet;	/* nobody is told what libbpf says */
	bool verbose;
};

/*
 * Load an object that was opened. Its maps have descriptors and its variables are shared with the
 * programs then, as libbpf does it; for descriptors of programs ask @out. -errno.
 */
int programs_load(struct programs **out, struct bpf_object_skeleton *skeleton,
		  const struct programs_how *how);
void programs_destroy(struct programs *programs);

/* -1: it is not loaded. */
int programs_fd(const struct programs *programs, const struct bpf_program *program);

/* The broker's part: load one of our own objects as @request says, for @process. */
struct programs_loaded {
	struct bpf_object_skeleton *skeleton;
	void *opened; /* place_probe_bpf or in_flight_bpf */
	enum programs_object object;
};

int programs_load_for(struct programs_loaded *loaded, const struct request_load *request,
		      const void *constants, const struct process *process);
void programs_unload(struct programs_loaded *loaded);

#endif
