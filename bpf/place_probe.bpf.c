// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The handlers behind the probes, for uprobes and for hardware breakpoints: one of each
 * pair is loaded. count_* only counts, report_* also sends an event with the stack. A
 * uprobe's site is its cookie; a breakpoint's is found by the address, because a breakpoint
 * moves. All look at nobody but the target. No kernel types are used, so one object runs on
 * every kernel that has the helpers (5.19 and later).
 */
#include <stdbool.h>

#include <linux/ptrace.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include "bpf/event.h"

#include "bpf/follow.h"
#include "bpf/registers_x86.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before loading; the verifier prunes what they switch off. */
const volatile __u32 target_tgid;
const volatile __u32 target_tid;	/* 0: every thread */
const volatile __u64 target_pid_ns_dev; /* 0: ids as the kernel has them */
const volatile __u64 target_pid_ns_inode;
const volatile __u32 max_frames;   /* 0: no stack */
const volatile __u64 max_hits;	   /* 0: no limit */
const volatile __u64 wakeup_bytes; /* wake the reader once this much is waiting */

/* All probes begin and end at one moment, however long attaching and detaching takes. */
__u32 active;
__u64 hits_taken;

/* Of breakpoints where no site is known to be: runs for anyone, and hits of the target. */
__u64 unknown_runs;
__u64 unknown_hits;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set to the number of sites */
	__type(key, __u32);
	__type(value, struct site_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1); /* set to the size asked for */
} events SEC(".maps");

/*
 * Where breakpoints are or have been. An entry is there before its breakpoint is armed and stays
 * when it has moved on, so that a hit that comes late still finds its site.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set to what capture expects */
	__type(key, __u64);
	__type(value, struct breakpoint_site);
} breakpoint_sites SEC(".maps");

/* The ids of the running thread; false if it is not one of the target. */
static __always_inline bool is_target_process(__u32 *tgid, __u32 *tid)
{
	if (target_pid_ns_dev) {
		struct bpf_pidns_info ids;

		if (bpf_get_ns_current_pid_tgid(target_pid_ns_dev, target_pid_ns_inode, &ids,
						sizeof(ids)))
			return false;
		*tgid = ids.tgid;
		*tid = ids.pid;
	} else {
		__u64 ids = bpf_get_current_pid_tgid();

		*tgid = ids >> 32;
		*tid = (__u32)ids;
	}
	return *tgid == target_tgid;
}

/* Likewise; false if it is not one that was asked for. */
static __always_inline bool is_target(__u32 *tgid, __u32 *tid)
{
	return is_target_process(tgid, tid) && (!target_tid || *tid == target_tid);
}

#include "bpf/follow.bpf.h"

/* Is this a hit to report? With a limit, exactly so many are. */
static __always_inline bool take_hit(__u32 *tgid, __u32 *tid)
{
	if (!active || !is_target(tgid, tid))
		return false;
	return !max_hits || __sync_fetch_and_add(&hits_taken, 1) < max_hits;
}

#include "bpf/unwind_x86.bpf.h"

/* Waking the reader for every event would cost more than everything else together. */
static __always_inline __u64 wakeup_flags(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP :
									       BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_hit(struct hit_event *event, __u32 site, __u32 tgid, __u32 tid)
{
	event->time_ns = bpf_ktime_get_ns();
	event->tgid = tgid;
	event->tid = tid;
	event->site = site;
	event->frame_count = 0;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

static __always_inline bool send_without_stack(__u32 site, __u32 tgid, __u32 tid, __u32 why)
{
	struct hit_event *event = bpf_ringbuf_reserve(&events, HIT_EVENT_HEADER_BYTES, 0);

	if (!event)
		return false;
	fill_hit(event, site, tgid, tid);
	event->stack_end = why;
	bpf_ringbuf_submit(event, wakeup_flags());
	return true;
}

static __always_inline bool send_with_stack(struct walk *walk, struct registers *regs, __u32 site,
					    __u32 tgid, __u32 tid)
{
	__u32 count;

	fill_hit(&walk->event, site, tgid, tid);
	walk_stack(walk, regs);
	count = walk->event.frame_count;
	return count <= EVENT_MAX_FRAMES &&
	       !bpf_ringbuf_output(&events, &walk->event,
				   HIT_EVENT_HEADER_BYTES + count * sizeof(walk->event.frames[0]),
				   wakeup_flags());
}

static __always_inline void report(__u32 site, struct site_counters *count, struct registers *regs,
				   __u32 tgid, __u32 tid)
{
	struct walk *walk = max_frames ? walk_claim() : NULL;
	bool sent;

	if (count)
		__sync_fetch_and_add(&count->hits, 1);
	if (walk) {
		sent = send_with_stack(walk, regs, site, tgid, tid);
		walk_release(walk);
	} else {
		sent = send_without_stack(site, tgid, tid,
					  max_frames ? STACK_BUSY : STACK_TRUNCATED);
	}
	if (!sent && count)
		__sync_fetch_and_add(&count->lost, 1);
}

/* Uprobes --------------------------------------------------------------------------------- */

SEC("uprobe")
int count_hit(struct pt_regs *ctx)
{
	__u32 tgid, tid, site;
	struct site_counters *count;

	if (!take_hit(&tgid, &tid))
		return 0;
	site = (__u32)bpf_get_attach_cookie(ctx);
	count = bpf_map_lookup_elem(&counters, &site);
	if (count)
		__sync_fetch_and_add(&count->hits, 1);
	return 0;
}

SEC("uprobe")
int report_hit(struct pt_regs *ctx)
{
	struct registers regs = registers_of(ctx);
	__u32 tgid, tid, site;

	if (!take_hit(&tgid, &tid))
		return 0;
	site = (__u32)bpf_get_attach_cookie(ctx);
	report(site, bpf_map_lookup_elem(&counters, &site), &regs, tgid, tid);
	return 0;
}

#include "bpf/stray_x86.bpf.h"

/* Hardware breakpoints -------------------------------------------------------------------- */

/* Count the run, and find the site of the breakpoint at @address. False if there is none. */
static __always_inline bool find_breakpoint(__u64 address, __u32 *site,
					    struct site_counters **count)
{
	struct breakpoint_site *found = bpf_map_lookup_elem(&breakpoint_sites, &address);
	__u32 tgid, tid;

	*count = found ? bpf_map_lookup_elem(&counters, &found->site) : NULL;
	if (!found || !*count) {
		__sync_fetch_and_add(&unknown_runs, 1);
		if (active && is_target(&tgid, &tid))
			__sync_fetch_and_add(&unknown_hits, 1);
		return false;
	}
	__sync_fetch_and_add(&(*count)->runs, 1);
	*site = found->site;
	/* Just when a body was last in use decides whether its register may be given away. */
	follow.last_hit_ns[found->slot & (FOLLOW_REGISTERS - 1)] = bpf_ktime_get_ns();
	return true;
}

SEC("perf_event")
int count_break(struct bpf_perf_event_data *ctx)
{
	struct registers regs = registers_of(&ctx->regs);
	struct site_counters *count;
	__u32 tgid, tid, site;

	if (find_breakpoint(regs.instruction_pointer, &site, &count) && take_hit(&tgid, &tid))
		__sync_fetch_and_add(&count->hits, 1);
	return 0;
}

SEC("perf_event")
int report_break(struct bpf_perf_event_data *ctx)
{
	struct registers regs = registers_of(&ctx->regs);
	struct site_counters *count;
	__u32 tgid, tid, site;

	if (find_breakpoint(regs.instruction_pointer, &site, &count) && take_hit(&tgid, &tid))
		report(site, count, &regs, tgid, tid);
	return 0;
}
