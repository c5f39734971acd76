/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places that move from a breakpoint to a uprobe while they are hit: for a while they have both,
 * and a thread comes by the breakpoint and then, at once, by the uprobe. The uprobe counts, if it
 * is there when the breakpoint looks for it. If it comes just after that look, the breakpoint has
 * counted and left a mark, which the uprobe takes. Of a call that ends there the breakpoint leaves
 * the time to the uprobe, which is later by what a breakpoint takes.
 *
 * Before the first uprobe comes, all threads have left the moment between a breakpoint that knew
 * nothing of this and what is behind it: else a thread that was just there would count twice.
 *
 * A mark that the breakpoint has counted may also stay since no uprobe has come then. The thread's
 * next hit of a breakpoint takes it; and when all threads are known to have left the moment between
 * the two, capture/moving.c drops all marks, before the first breakpoint goes. One that gives its
 * register to another body earlier is told as such: "no-debug-register".
 */
#ifndef BPF_MOVING_BPF_H
#define BPF_MOVING_BPF_H

/* There are marks, or may be. */
__u32 moving;

ARRAY_MAP(moving_sites, 1 /* set to the number of sites, if sites can move */,
	  __u32 /* 1: it has uprobes, or is about to */);

/* Where a thread has come by a breakpoint last, and when; 0: it was counted. */
struct moving_mark {
	__u64 address;
	__u64 time_ns;
};

MAP(moving_marks, HASH, 1 /* set to MOVING_THREADS likewise */, __u64, struct moving_mark);

/* At a breakpoint, hit at @now_ns: is it for the uprobe to count? */
static __noinline bool is_uprobes(__u32 site, __u64 address, __u64 now_ns)
{
	__u32 *moves = bpf_map_lookup_elem(&moving_sites, &site);
	__u64 thread = bpf_get_current_pid_tgid();
	struct moving_mark mark = { .address = address };

	if (!moves || !*moves)
		return false;
	if (uprobe_is_at(address))
		mark.time_ns = now_ns;
	if (moving)
		bpf_map_update_elem(&moving_marks, &thread, &mark, BPF_ANY);
	return mark.time_ns;
}

#define MOVING_COUNTED (~0ULL)

/*
 * At a uprobe: when the breakpoint there was hit just before; MOVING_COUNTED: and has counted it.
 * 0: it was not, or there is none.
 */
static __noinline __u64 breakpoint_hit_ns(__u64 address)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct moving_mark *mark = bpf_map_lookup_elem(&moving_marks, &thread);
	__u64 hit_ns;

	if (!mark || mark->address != address)
		return 0;
	hit_ns = mark->time_ns ? mark->time_ns : MOVING_COUNTED;
	bpf_map_delete_elem(&moving_marks, &thread);
	return hit_ns;
}

static __always_inline bool was_breakpoints(__u64 address)
{
	return moving && breakpoint_hit_ns(address) == MOVING_COUNTED;
}

#endif
