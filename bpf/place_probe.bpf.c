// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The handlers behind the probes, for uprobes and for hardware breakpoints: one of each
 * pair is loaded. count_* only counts, report_* also sends an event with the stack. A
 * uprobe's site is its cookie; a breakpoint's is found by the address, because a breakpoint
 * moves. All look at nobody but the target. No kernel types are used, so one object runs on
 * every kernel that has the helpers (5.19 and later).
 */
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include "bpf/arch/arch.bpf.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before loading; the verifier prunes what they switch off. */
const volatile __u32 target_tgid;
const volatile __u32 target_tid;	/* 0: every thread */
const volatile __u64 target_pid_ns_dev; /* 0: ids as the kernel has them */
const volatile __u64 target_pid_ns_inode;
const volatile __u32 max_frames;   /* 0: no stack */
const volatile bool walk_only;	   /* what a walk takes is measured: it is all that is done */
const volatile __u64 max_hits;	   /* 0: no limit */
const volatile __u64 wakeup_bytes; /* wake the reader once this much is waiting */
/* Each of the first CPUs has so many counters; what others count is the first one's. */
const volatile __u32 counters_cpus;
const volatile __u32 counters_of_cpu;
/* Where a task's thread pointer is in the kernel's structure of it; 0: not known. */
const volatile __u32 thread_pointer_at;

/* All probes begin and end at one moment, however long attaching and detaching takes. */
__u32 active;
__u64 hits_taken;

/* The reader is going to sleep, and nobody has woken it since: see src/capture/ring.c. */
__u32 reader_waits;

/* Of breakpoints where no site is known to be: runs for anyone, and hits of the target. */
__u64 unknown_runs;
__u64 unknown_hits;

/*
 * Of each CPU by itself, all sites' one behind the other. For a map that is by CPU the kernel would
 * allocate each value for itself, which takes some 2 us, and reading it would be a call each.
 */
SHARED_ARRAY(counters, 1 /* set to the number of sites, times that of CPUs */,
	     struct site_counters);

static __always_inline struct site_counters *counters_of(__u32 site)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 key = cpu < counters_cpus ? cpu * counters_of_cpu + site : site;

	return bpf_map_lookup_elem(&counters, &key);
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1); /* set to the size asked for */
} events SEC(".maps");

/*
 * Where breakpoints are or have been. An entry is there before its breakpoint is armed and stays
 * when it has moved on, so that a hit that comes late still finds its site.
 */
MAP(breakpoint_sites, HASH, 1 /* set to what capture expects */, __u64, struct breakpoint_site);

/*
 * The ids of the running thread in the target's namespace; 0 if it is in another. Wherever
 * place-probe runs that is right; in the initial namespace the kernel's own ids are compared.
 */
static __noinline __u64 ids_in_namespace(void)
{
	struct bpf_pidns_info ids;

	return bpf_get_ns_current_pid_tgid(target_pid_ns_dev, target_pid_ns_inode, &ids,
					   sizeof(ids)) ?
		       0 :
		       (__u64)ids.tgid << 32 | ids.pid;
}

/*
 * The ids of the running thread, its process' above its own; 0 if it is not one of the target.
 * @own: as the kernel has them.
 */
static __always_inline __u64 process_ids(__u64 own)
{
	__u64 ids = target_pid_ns_dev ? ids_in_namespace() : own;

	return ids >> 32 == target_tgid ? ids : 0;
}

/* Likewise; 0 if it is not one that was asked for. */
static __always_inline __u64 target_ids(__u64 own)
{
	__u64 ids = process_ids(own);

	return !target_tid || (__u32)ids == target_tid ? ids : 0;
}

static __always_inline bool is_target_process(void)
{
	return process_ids(bpf_get_current_pid_tgid());
}

static __always_inline bool is_target(__u32 *tgid, __u32 *tid)
{
	__u64 ids = target_ids(bpf_get_current_pid_tgid());

	*tgid = ids >> 32;
	*tid = (__u32)ids;
	return ids;
}

#include "bpf/merge.bpf.h"

#include "bpf/follow.bpf.h"
#include "bpf/follow_files.bpf.h"

static __always_inline void count_call(struct site_counters *count)
{
	if (count)
		__sync_fetch_and_add(&count->hits, 1);
}

#include "bpf/send.bpf.h"
#include "bpf/watch.bpf.h"
#include "bpf/watch_slots.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/by.bpf.h"
#include "bpf/latency.bpf.h"
#include "bpf/async.bpf.h"
#include "bpf/trace.bpf.h"
#include "bpf/moving.bpf.h"
#include "bpf/unwind.bpf.h"

/* Is this a hit to report? With a limit, exactly so many are. */
static __always_inline bool take_hit(const bpf_user_pt_regs_t *ctx, __u32 site, __u32 *tgid,
				     __u32 *tid)
{
	if (!active || !is_target(tgid, tid))
		return false;
	if (watch_filters && filter_call(ctx, site) != WATCH_ACCEPT)
		return false;
	return !max_hits || __sync_fetch_and_add(&hits_taken, 1) < max_hits;
}

/* A function of its own: its callers' frames stay below the limit in tests/unit/test_bpf.c. */
static __noinline bool send_without_stack(__u32 site, __u32 tgid, __u32 tid, __u64 took_ns,
					  __u32 why)
{
	struct hit_event *event = bpf_ringbuf_reserve(&events, HIT_EVENT_HEADER_BYTES, 0);

	if (!event)
		return false;
	fill_hit(event, site, tgid, tid);
	event->duration_ns = took_ns;
	event->stack_end = why;
	bpf_ringbuf_submit(event, wakeup_flags());
	return true;
}

static __always_inline bool send_walk(struct walk *walk)
{
	__u32 count = walk->event.frame_count;

	return count <= EVENT_SLOTS &&
	       put_out(&walk->event,
		       HIT_EVENT_HEADER_BYTES + count * sizeof(walk->event.frames[0]));
}

/* Send the stack, or count it; false: it is lost. */
static __always_inline bool send_or_count(struct walk *walk)
{
	int told = merge_stacks && merge_key(walk) ? merge_count(walk) : 0;
	bool sent;

	if (walk_only)
		return true;
	if (merge_stacks && told != 1)
		walk->event.time_ns = bpf_ktime_get_ns();
	sent = told == 1 || send_walk(walk);
	if (told == 2)
		merge_told(walk, sent);
	/* What is counted is not lost, if it is known by the end what it is. */
	return sent || told;
}

static __always_inline bool send_with_stack(struct walk *walk, struct registers *regs, __u32 site,
					    __u32 tgid, __u32 tid)
{
	/* When it was is told of what is sent: the clock takes as long as two frames. */
	if (merge_stacks) {
		fill_all_but_time(&walk->event, site, tgid, tid);
		walk->key = (struct stack_key){ merge_secret[0], merge_secret[1] };
		walk->hashed = 0;
	} else {
		fill_hit(&walk->event, site, tgid, tid);
	}
	walk_stack(walk, regs);
	return send_or_count(walk);
}

/* @took_ns: of a call that ends; 0 of one that begins. */
static __always_inline void report(__u32 site, struct site_counters *count, struct registers *regs,
				   __u32 tgid, __u32 tid, __u64 took_ns)
{
	struct walk *walk = max_frames ? walk_claim() : NULL;
	bool sent;

	if (walk) {
		walk->event.duration_ns = took_ns;
		sent = send_with_stack(walk, regs, site, tgid, tid);
		walk_release(walk);
	} else {
		sent = send_without_stack(site, tgid, tid, took_ns,
					  max_frames ? STACK_BUSY : STACK_TRUNCATED);
	}
	if (!sent && count)
		__sync_fetch_and_add(&count->lost, 1);
}

/*
 * A call at the end of which it is known that it is to be reported. At an exit the stack is as it
 * was at the entry, but for a frame that is still there: its walk is that of the call's beginning.
 */
static __noinline int report_slow(__u32 site, struct registers *regs, __u64 ids, __u64 took_ns)
{
	report(site, counters_of(site), regs, ids >> 32, (__u32)ids, took_ns);
	return 0;
}

#include "bpf/watch_report.bpf.h"
#include "bpf/thrown.bpf.h"

/* A call that was asked for, by its value too. */
static __always_inline void count_hit_of(const bpf_user_pt_regs_t *ctx, __u32 site)
{
	count_call(counters_of(site));
	if (by_when)
		count_by_value(ctx, site);
}

static __always_inline void time_exit(__u64 cookie, __u64 thread, __u64 now_ns,
				      struct registers *regs, __u64 ids,
				      const bpf_user_pt_regs_t *ctx)
{
	__u64 took_ns = end_call(thread, ctx, now_ns, cookie);

	regs->framed = cookie >> LATENCY_TAKEN_DOWN_SHIFT || cookie & LATENCY_EXIT_FROM_FRAME;
	if (watch_values) {
		if (took_ns != LATENCY_NONE)
			watch_returned(took_ns, regs, ctx, cookie & LATENCY_EXIT_JUMPS);
		return;
	}
	if (slow_ns && took_ns != LATENCY_NONE && took_ns >= slow_ns)
		report_slow((__u32)cookie, regs, ids, took_ns);
}

/* Uprobes --------------------------------------------------------------------------------- */

SEC("uprobe")
int count_hit(bpf_user_pt_regs_t *ctx)
{
	__u32 tgid, tid, site = (__u32)bpf_get_attach_cookie(ctx);

	if (was_breakpoints(instruction_pointer_of(ctx)) || !take_hit(ctx, site, &tgid, &tid))
		return 0;
	count_hit_of(ctx, site);
	return 0;
}

SEC("uprobe")
int report_hit(bpf_user_pt_regs_t *ctx)
{
	struct registers regs = registers_of(ctx);
	struct site_counters *count;
	__u32 tgid, tid, site = (__u32)bpf_get_attach_cookie(ctx);

	if (was_breakpoints(regs.instruction_pointer) || !take_hit(ctx, site, &tgid, &tid))
		return 0;
	count = counters_of(site);
	count_call(count);
	if ((sample_hits || max_rate) && shed_hit(site))
		return 0;
	report(site, count, &regs, tgid, tid, 0);
	return 0;
}

/*
 * At an entry or an exit of a body; the cookie says at which. @now_ns: at an exit. What is asked of
 * @ctx is asked late: @regs are what all need.
 */
static __always_inline void time_hit_at(__u64 cookie, __u64 now_ns, struct registers *regs,
					const bpf_user_pt_regs_t *ctx)
{
	__u32 condition = cookie >> LATENCY_CONDITION_SHIFT & LATENCY_CONDITION_MASK;
	__u64 thread = bpf_get_current_pid_tgid(), ids = active ? target_ids(thread) : 0;
	__u32 whole;

	if (!ids)
		return;
	if (!(cookie & LATENCY_EXIT)) {
		whole = begin_call(thread, regs, (__u32)cookie, (__u32)ids, ctx);
		if (watch_values && whole)
			watch_entered(whole, regs);
	}
	if (cookie & LATENCY_ENTRY_AND_EXIT)
		now_ns = bpf_ktime_get_ns();
	if (cookie & (LATENCY_EXIT | LATENCY_ENTRY_AND_EXIT) &&
	    (!condition || branch_taken(flags_of(ctx), condition - 1)))
		time_exit(cookie, thread, now_ns, regs, ids, ctx);
}

SEC("uprobe")
int time_hit(bpf_user_pt_regs_t *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u64 now_ns = cookie & LATENCY_EXIT ? bpf_ktime_get_ns() : 0;
	struct registers regs = registers_of(ctx);

	if (moving) {
		__u64 hit_ns = breakpoint_hit_ns(regs.instruction_pointer);

		if (hit_ns == MOVING_COUNTED)
			return 0;
		now_ns = hit_ns ? hit_ns : now_ns;
	}
	time_hit_at(cookie, now_ns, &regs, ctx);
	return 0;
}

/*
 * In the target, where V8's collector begins or ends to move objects; the cookie says which, see
 * enum v8_move. Nothing is sent: who reads an event looks at the counts.
 */
SEC("uprobe")
int note_moves(bpf_user_pt_regs_t *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (!is_target_process())
		return 0;
	__sync_fetch_and_add(&v8_moves.count.all, 1);
	if (cookie == V8_MOVE_OLD || (cookie == V8_MOVE_END && argument_of(ctx, 2)))
		__sync_fetch_and_add(&v8_moves.count.old, 1);
	if (cookie == V8_MOVE_ANY)
		__sync_fetch_and_add(&v8_moves.running, 1);
	/* The beginning of one may not have been seen. */
	else if (cookie == V8_MOVE_END && v8_moves.running)
		__sync_fetch_and_sub(&v8_moves.running, 1);
	return 0;
}

/* Hardware breakpoints -------------------------------------------------------------------- */

/*
 * Spurious debug exceptions. A hypervisor can lose what a breakpoint's hit was (see
 * debug_registers_are_virtual()); the kernel then sends the thread SIGTRAP. Nothing here can keep
 * the target from what it does then, so that at least the reason is known.
 */
__u64 spurious_traps;

/* (signal, siginfo, task, ...); where the kernel sends a trap, in the thread that it is for. */
SEC("raw_tp/signal_generate")
int note_spurious_trap(struct bpf_raw_tracepoint_args *ctx)
{
	const struct siginfo *info = (const void *)ctx->args[1];
	const bpf_user_pt_regs_t *regs;
	__u64 address;
	int code;

	if (ctx->args[0] != SIGTRAP || !is_target_process() ||
	    bpf_probe_read_kernel(&code, sizeof(code), &info->si_code) || code != TRAP_BRKPT)
		return 0;
	regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (read_instruction_pointer(regs, &address) &&
	    bpf_map_lookup_elem(&breakpoint_sites, &address))
		__sync_fetch_and_add(&spurious_traps, 1);
	return 0;
}

/* What no cookie is. */
#define NO_SITE (~0ULL)

/*
 * The site of the P/Invoke @desc, which goes by the stub at @address, or of all that are not asked
 * for there; NO_SITE: nobody asks.
 */
static __noinline __u64 site_of_stub(__u64 address, __u64 desc)
{
	struct stub_key key = { .address = address };
	__u64 head = user_u64(desc), chunk;
	__u32 *site;

	if (head == UNREADABLE) {
		ADD(follow.unreadable, 1);
		return NO_SITE;
	}
	chunk = chunk_of(desc, head);
	key.watch = watch_of(module_of(chunk), rid_of(chunk, head));
	site = bpf_map_lookup_elem(&stub_sites, &key);
	if (!site && key.watch) {
		key.watch = 0;
		site = bpf_map_lookup_elem(&stub_sites, &key);
	}
	return site ? *site : NO_SITE;
}

/*
 * Count the run, and find what the breakpoint is for: the cookie, or NO_SITE if there is nothing.
 * @callee: as stub_callee_of() has it.
 */
static __always_inline __u64 find_breakpoint(__u64 address, __u64 callee, __u64 now_ns,
					     struct site_counters **count)
{
	struct breakpoint_site *found = bpf_map_lookup_elem(&breakpoint_sites, &address);
	__u32 tgid, tid, site = found ? (__u32)found->cookie : 0;
	__u64 cookie;

	*count = found ? counters_of(site) : NULL;
	if (!found || !*count) {
		__sync_fetch_and_add(&unknown_runs, 1);
		if (active && is_target(&tgid, &tid))
			__sync_fetch_and_add(&unknown_hits, 1);
		return NO_SITE;
	}
	__sync_fetch_and_add(&(*count)->runs, 1);
	/* Just when a body was last in use decides whether its register may be given away. */
	follow.last_hit_ns[found->slot & (DEBUG_REGISTERS - 1)] = now_ns;
	if (!(found->cookie & BREAKPOINT_STUB))
		return is_uprobes(site, address, now_ns) ? NO_SITE : found->cookie;
	if (!active || !is_target(&tgid, &tid))
		return NO_SITE;
	cookie = site_of_stub(address, callee);
	site = (__u32)cookie;
	*count = cookie == NO_SITE ? NULL : counters_of(site);
	return cookie;
}

SEC("perf_event")
int count_break(struct bpf_perf_event_data *ctx)
{
	struct site_counters *count;
	__u64 cookie = find_breakpoint(instruction_pointer_of(&ctx->regs),
				       stub_callee_of(&ctx->regs), bpf_ktime_get_ns(), &count);
	__u32 tgid, tid;

	if (cookie != NO_SITE && take_hit(&ctx->regs, (__u32)cookie, &tgid, &tid))
		count_hit_of(&ctx->regs, (__u32)cookie);
	return 0;
}

SEC("perf_event")
int report_break(struct bpf_perf_event_data *ctx)
{
	struct registers regs = registers_of(&ctx->regs);
	struct site_counters *count;
	__u64 cookie = find_breakpoint(regs.instruction_pointer, stub_callee_of(&ctx->regs),
				       bpf_ktime_get_ns(), &count);
	__u32 tgid, tid;

	if (cookie == NO_SITE || !take_hit(&ctx->regs, (__u32)cookie, &tgid, &tid))
		return 0;
	count_call(count);
	if ((sample_hits || max_rate) && shed_hit((__u32)cookie))
		return 0;
	report((__u32)cookie, count, &regs, tgid, tid, 0);
	return 0;
}

SEC("perf_event")
int time_break(struct bpf_perf_event_data *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct registers regs = registers_of(&ctx->regs);
	struct site_counters *count;
	__u64 cookie = find_breakpoint(regs.instruction_pointer, stub_callee_of(&ctx->regs), now_ns,
				       &count);

	if (cookie != NO_SITE)
		time_hit_at(cookie, now_ns, &regs, &ctx->regs);
	return 0;
}
