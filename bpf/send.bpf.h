/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all events of hits have: how they begin, and whether their reader is woken. */
#ifndef BPF_SEND_BPF_H
#define BPF_SEND_BPF_H

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
