/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Durations of calls as they are counted: by site, and by what else they are kept apart by. */
#ifndef BPF_LATENCY_TOTALS_BPF_H
#define BPF_LATENCY_TOTALS_BPF_H

#include "bpf/latency.h"

/* Set before loading. */
const volatile __u32 latency_by; /* enum latency_by */
const volatile __u64
	slow_ns; /* report calls that took so long at least, and nothing else; 0: do not */
const volatile __u64 linear_min_ns;
const volatile __u64 linear_step_ns; /* 0: no linear buckets */
const volatile __u64 linear_count;   /* the last one has all that is longer */

struct latency_losses latency_losses;

/* With LATENCY_BY_SITE; otherwise they are in the next one. */
MAP(site_totals, PERCPU_ARRAY, 1 /* set to the number of sites */, __u32, struct latency_totals);

MAP(latency_totals, PERCPU_HASH, 1 /* set to what there is room for */, struct latency_key,
    struct latency_totals);

MAP(latency_buckets, PERCPU_HASH, 1 /* likewise */, struct latency_key, __u64);

static const struct latency_totals no_totals;
static const __u64 no_count;

static __always_inline struct latency_totals *totals_of(__u32 site, __u64 by)
{
	struct latency_key key = { .by = by, .site = site };
	struct latency_totals *totals;

	if (latency_by == LATENCY_BY_SITE)
		return bpf_map_lookup_elem(&site_totals, &site);
	totals = find_or_add(&latency_totals, &key, &no_totals);
	if (!totals)
		__sync_fetch_and_add(&latency_losses.durations, 1);
	return totals;
}

/* A program can be preempted by another on its CPU. */
static __always_inline void raise_to(__u64 *highest, __u64 value)
{
	for (int i = 0; i < 8; i++) {
		__u64 had = *(volatile __u64 *)highest;

		if (had >= value || __sync_val_compare_and_swap(highest, had, value) == had)
			break;
	}
}

/* The number of the bucket for a duration; see LATENCY_SUBS. */
static __always_inline __u32 latency_bucket(__u64 ns)
{
	__u64 rest = ns;
	__u32 power = 0;

	if (ns < LATENCY_SUBS)
		return (__u32)ns;
	for (__u32 bits = 32; bits; bits /= 2) {
		if (rest >> bits) {
			rest >>= bits;
			power += bits;
		}
	}
	return (power - LATENCY_SUB_BITS + 1) * LATENCY_SUBS +
	       ((ns >> (power - LATENCY_SUB_BITS)) & (LATENCY_SUBS - 1));
}

static __always_inline void count_bucket(__u32 site, __u64 by, __u32 bucket)
{
	struct latency_key key = { .by = by, .site = site, .bucket = bucket };
	__u64 *count = find_or_add(&latency_buckets, &key, &no_count);

	if (count)
		__sync_fetch_and_add(count, 1);
	else
		__sync_fetch_and_add(&latency_losses.durations, 1);
}

__noinline int count_linear(__u32 site, __u64 by, __u64 ns)
{
	__u64 number = ns < linear_min_ns ? 0 : (ns - linear_min_ns) / linear_step_ns + 1;

	number = number < linear_count ? number : linear_count;
	count_bucket(site, by, LATENCY_LINEAR | (__u32)number);
	return 0;
}

/* Functions of their own: a frame of 64 bytes and more would be shared, see test_bpf.c. */
__noinline int count_unwound(__u32 site, __u64 by)
{
	struct latency_totals *totals = totals_of(site, by);

	if (totals)
		__sync_fetch_and_add(&totals->unwound, 1);
	return 0;
}

__noinline int count_untimed(__u32 site, __u64 by)
{
	struct latency_totals *totals = totals_of(site, by);

	__sync_fetch_and_add(&latency_losses.untimed, 1);
	if (totals)
		__sync_fetch_and_add(&totals->untimed, 1);
	return 0;
}

__noinline int count_duration(__u32 site, __u64 by, __u64 ns)
{
	struct latency_totals *totals = totals_of(site, by);

	if (!totals)
		return 0;
	__sync_fetch_and_add(&totals->returned, 1);
	__sync_fetch_and_add(&totals->sum_ns, ns);
	raise_to(&totals->max_ns, ns);
	raise_to(&totals->min_inverted_ns, ~ns);
	count_bucket(site, by, latency_bucket(ns));
	if (linear_step_ns)
		count_linear(site, by, ns);
	return 0;
}

#endif
