/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all events of hits have: how they begin, and whether their reader is woken. And which hits
 * have none, but are counted and no more, as the user wants it: decided before the stack is walked,
 * for all CPUs together. Samples are of each site, rates of each method.
 */
#ifndef BPF_SEND_BPF_H
#define BPF_SEND_BPF_H

const volatile __u64 sample_hits; /* report one hit in so many; 0: each */
const volatile __u32 max_rate;	  /* report at most so many in each second; 0: no limit */

enum {
	NS_PER_SECOND = 1000000000,
	RATE_TRIES = 8, /* to be the one that counts, among many CPUs */
};

SHARED_ARRAY(shed_sites, 1 /* set to the number of sites */, struct shed_site);

/* Is there still room in this second, for the method of @site? Exactly so many are told so. */
static __noinline bool take_of_second(__u32 number)
{
	struct shed_site *site = bpf_map_lookup_elem(&shed_sites, &number);
	__u32 second = bpf_ktime_get_ns() / NS_PER_SECOND, first = site ? site->first_site : 0;

	if (first != number)
		site = bpf_map_lookup_elem(&shed_sites, &first);
	if (!site)
		return true;

	for (int i = 0; i < RATE_TRIES; i++) {
		__u64 was = *(volatile __u64 *)&site->second, next = was + 1;

		/* Another CPU may be in the next one already. */
		if ((__s32)(second - (__u32)(was >> 32)) > 0)
			next = (__u64)second << 32 | 1;
		else if ((__u32)was >= max_rate)
			return false;
		if (__sync_val_compare_and_swap(&site->second, was, next) == was)
			return true;
	}
	return false;
}

/* Is the hit, which has been counted, not to be reported? Which it is not is counted, too. */
static __noinline int shed_hit(__u32 number)
{
	struct shed_site *site = bpf_map_lookup_elem(&shed_sites, &number);
	struct site_counters *count = counters_of(number);

	if (!site || !count)
		return 0;
	if (sample_hits && __sync_fetch_and_add(&site->hits, 1) % sample_hits) {
		__sync_fetch_and_add(&count->sampled_out, 1);
		return 1;
	}
	if (max_rate && !take_of_second(number)) {
		__sync_fetch_and_add(&count->shed, 1);
		return 1;
	}
	return 0;
}

struct moves_now v8_moves; /* note_moves() counts */

/* What JavaScript frames are named by does not stay for long, and who has all hits is to end. */
static __always_inline bool is_urgent(void)
{
	return v8_moves.count.all || (max_hits && hits_taken >= max_hits);
}

/*
 * To wake the reader costs the target more than all the rest. So who finds that enough is waiting
 * does so, and nobody after that until the reader has read it all and says that it sleeps again;
 * it looks every 50 ms anyway.
 */
static __always_inline __u64 wakeup_flags(void)
{
	if (!reader_waits ||
	    (!is_urgent() && bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < wakeup_bytes))
		return BPF_RB_NO_WAKEUP;
	return __sync_val_compare_and_swap(&reader_waits, 1, 0) ? BPF_RB_FORCE_WAKEUP :
								  BPF_RB_NO_WAKEUP;
}

/* False: there is no room. What is not there wakes nobody. */
static __always_inline bool put_out(const void *record, __u64 bytes)
{
	__u64 flags = wakeup_flags();

	if (!bpf_ringbuf_output(&events, (void *)record, bytes, flags))
		return true;
	if (flags == BPF_RB_FORCE_WAKEUP)
		reader_waits = 1;
	return false;
}

static __always_inline void fill_all_but_time(struct hit_event *event, __u32 site, __u32 tgid,
					      __u32 tid)
{
	event->tgid = tgid;
	event->tid = tid;
	event->site = site;
	event->frame_count = 0;
	event->moves = v8_moves.count;
	event->isolate = 0;
	event->merged = 0;
	event->codes = 0;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

static __always_inline void fill_hit(struct hit_event *event, __u32 site, __u32 tgid, __u32 tid)
{
	event->time_ns = bpf_ktime_get_ns();
	fill_all_but_time(event, site, tgid, tid);
}

#endif
