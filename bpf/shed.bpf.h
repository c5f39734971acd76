/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which calls are reported where not all are to be. It is decided before the stack is walked, so
 * that the others cost no more than to be counted. For place_probe.bpf.c.
 */
#ifndef BPF_SHED_BPF_H
#define BPF_SHED_BPF_H

const volatile __u32 sample_every; /* one call in so many, of each site and CPU; 0: all */
const volatile __u32 rate_max;	   /* calls a second, of each method; 0: any number */

enum { RATE_TRIES = 8 /* before others are taken to have had the rest of it */ };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to the number of sites, if there is a rate */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct method_rate);
} method_rates SEC(".maps");

/*
 * One in each row of sample_every calls, not always the same one: what the target does in turns
 * would be seen in part only. @before: how many calls there have been.
 */
static __always_inline bool is_sample(__u64 before)
{
	/* Any odd number with many bits. */
	__u32 of_row = before / sample_every * 0x9e3779b97f4a7c15ULL >> 32;

	return before % sample_every == of_row % sample_every;
}

/* Of one method, by what is kept of it: its second above, and the calls in it below. */
static __noinline bool take_rate(__u32 site)
{
	struct method_rate *rate = bpf_map_lookup_elem(&method_rates, &site);
	__u32 second = bpf_ktime_get_ns() / 1000000000ULL;
	__u32 first = rate ? rate->first_site : 0;

	if (first != site)
		rate = bpf_map_lookup_elem(&method_rates, &first);
	if (!rate)
		return true;
	for (int i = 0; i < RATE_TRIES; i++) {
		__u64 seen = *(volatile __u64 *)&rate->taken, taken = seen;

		/* Another CPU may be in the next second already. */
		if ((__s32)(second - (__u32)(seen >> 32)) > 0)
			taken = (__u64)second << 32;
		if ((__u32)taken >= rate_max)
			return false;
		if (__sync_val_compare_and_swap(&rate->taken, seen, taken + 1) == seen)
			return true;
	}
	return false;
}

/* Is this call counted only? @before: how many were counted before it, on this CPU. */
static __always_inline bool is_shed(__u32 site, struct site_counters *count, __u64 before)
{
	if (!count)
		return false;
	if (sample_every && !is_sample(before)) {
		__sync_fetch_and_add(&count->sampled_out, 1);
		return true;
	}
	if (rate_max && !take_rate(site)) {
		__sync_fetch_and_add(&count->over_rate, 1);
		return true;
	}
	return false;
}

#endif
