/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long calls take: what the programs that pair entries with exits keep, and what place-probe
 * reads of it at the end. Durations are in nanoseconds.
 */
#ifndef BPF_LATENCY_H
#define BPF_LATENCY_H

#include <linux/types.h>

#include "bpf/cookie.h"

enum {
	LATENCY_DEPTH =
		128, /* timed calls under way in a thread, one within the other; a power of two */
	LATENCY_THREADS = 4096, /* with timed calls under way, of a target that has none yet */

	/*
	 * Buckets: one for each duration below LATENCY_SUBS ns, and so many for each power of two
	 * above: the middle of one is at most 1/64 away from what is in it.
	 */
	LATENCY_SUB_BITS = 5,
	LATENCY_SUBS = 1 << LATENCY_SUB_BITS,
};

/* Set in the number of a bucket of --hist=linear. */
#define LATENCY_LINEAR (1U << 31)

/* What latencies are kept apart by, beside the site. */
enum latency_by {
	LATENCY_BY_SITE,
	LATENCY_BY_TID,
	LATENCY_BY_CALLER, /* where the call returns to */
	LATENCY_BY_VALUE,  /* a number of bpf/by.h */
};

/* By site; set from outside. */
struct timed_site {
	__u32 method; /* the same for all bodies of one method */
	__u32 ready;  /* 0: some exits have no probe; else a new number each time all get one */
	/*
	 * What the probes themselves take: between the two readings of the clock for one call, and
	 * in all of the calls around it, for an entry and for an exit.
	 */
	__u32 within_ns;
	__u32 entry_ns;
	__u32 exit_ns;
	__u32 emulated_exit_ns;
	__u32 keeps_count; /* 1: of the calls under way, for the debug-register scheduler */
	__u32 under_way;
	__u32 closed; /* 1: calls that begin do not count any more; those under way may end */
	/*
	 * 0, or what is instead of .ready once it has uprobes at its entry and its exits for good:
	 * LATENCY_UPROBES, with what .ready was as they were there, since calls under way go on.
	 */
	__u32 uprobes;
	__u32 root; /* 1: --trace begins at its calls */
	__u32 reserved;
};

#define LATENCY_UPROBES (1U << 31)

/* The number that calls of @timed begin with now; 0: they are not timed. */
static inline __u32 latency_ready(const struct timed_site *timed)
{
	__u32 uprobes = *(const volatile __u32 *)&timed->uprobes;

	return uprobes ? uprobes : *(const volatile __u32 *)&timed->ready;
}

/* Have the exits of @timed had their probes since a call began, which was at @ready? */
static inline int latency_is_ready(const struct timed_site *timed, __u32 ready)
{
	__u32 now = latency_ready(timed);

	return now == ready || (now & LATENCY_UPROBES && (now ^ ready) == LATENCY_UPROBES);
}

/* A call under way. */
struct timed_call {
	__u64 stack_pointer; /* at its entry, and again at its exits */
	__u64 entered_ns;
	__u64 overhead_ns; /* what probes took meanwhile, those of this call left out */
	__u64 by;	   /* what it is kept apart by; if it is watched, its slot, or 0 */
	__u64 filter;	   /* of --if: what its end is to decide, or 0: it is a hit */
	__u32 site;
	__u32 ready; /* of the site at the entry; the call is timed if it is so at its end */
};

/* Of a trace: the calls within one of a root, which is told of last and counts as well. */
struct trace_counts {
	__u32 number; /* of the trace in its thread, from 1 on */
	__u32 ended;  /* calls */
	__u32 missed; /* calls that were not followed: too deep, or their exits had no probes */
	__u32 reserved;
};

/* Those of a thread, the outermost first: further in, the stack pointer is lower. */
struct timed_thread {
	__u64 depth;
	struct trace_counts trace; /* --trace: of the one under way */
	struct timed_call calls[LATENCY_DEPTH];
};

struct latency_key {
	__u64 by; /* 0 with LATENCY_BY_SITE */
	__u32 site;
	__u32 bucket; /* of totals: 0 */
};

/* Per CPU. */
struct latency_totals {
	__u64 returned;
	__u64 unwound; /* left otherwise: by an exception, longjmp() and the like */
	__u64 untimed; /* not followed to the end: too deep, or exits had no probes */
	__u64 sum_ns;
	__u64 max_ns;
	__u64 min_inverted_ns; /* ~ of the shortest: 0 is that there was none */
};

/* What could not be told; all 0 if nothing. */
struct latency_losses {
	__u64 orphans;	 /* exits of calls that had begun before */
	__u64 untimed;	 /* counted calls whose end is not known; see struct latency_totals */
	__u64 durations; /* that there was no room for */
};

_Static_assert(sizeof(struct timed_site) == 48, "an array that is mapped has no gaps");
_Static_assert(sizeof(struct timed_call) == 48, "layout is shared");
_Static_assert(sizeof(struct latency_key) == 16, "layout is shared");

#endif
