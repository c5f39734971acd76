/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites that move from a breakpoint to a uprobe at the same address while they are hit: for a while
 * they have both, and each call goes by the breakpoint and then, at once, by the uprobe. The uprobe
 * counts, if it is there when the breakpoint looks for it. If it comes just after that look, the
 * breakpoint has counted and left a mark, which the uprobe takes.
 *
 * A mark may also stay since no uprobe has come then. The thread's next hit of a breakpoint takes
 * it; and when all threads are known to have left the moment between the two, capture/moving.c
 * drops all marks, before the first breakpoint goes.
 */
#ifndef BPF_MOVING_BPF_H
#define BPF_MOVING_BPF_H

/* There are marks, or may be. */
__u32 moving;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to the number of sites, if sites can move */
	__type(key, __u32);
	__type(value, __u32); /* 1: it has a uprobe, or is about to */
} moving_sites SEC(".maps");

/* By thread: the site that its last hit of a breakpoint was counted for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set to MOVING_THREADS likewise */
	__type(key, __u64);
	__type(value, __u32);
} moving_marks SEC(".maps");

/* At a breakpoint: is this call the uprobe's? */
static __noinline bool is_uprobes(__u32 site, __u64 address)
{
	__u32 *moves = bpf_map_lookup_elem(&moving_sites, &site);
	__u64 thread = bpf_get_current_pid_tgid();

	if (!moves || !*moves)
		return false;
	if (uprobe_is_at(address)) {
		if (moving)
			bpf_map_delete_elem(&moving_marks, &thread);
		return true;
	}
	if (moving)
		bpf_map_update_elem(&moving_marks, &thread, &site, BPF_ANY);
	return false;
}

/* At a uprobe: has the breakpoint counted this call? */
static __noinline bool was_breakpoints(__u32 site)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 *mark = bpf_map_lookup_elem(&moving_marks, &thread);

	if (!mark || *mark != site)
		return false;
	bpf_map_delete_elem(&moving_marks, &thread);
	return true;
}

#endif
