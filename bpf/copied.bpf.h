/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of code that have uprobes are copies of what the runtime writes, so it must not write there
 * any more (docs/safety.md). Where the JIT has just compiled something, what it is to be put in is
 * looked up here: if that is such a page, the thread waits until all probes are gone and the pages
 * are shared again, so that it is not the old code that is run. The flow: session/remap.c names the
 * pages before they get probes; compile_ended() asks; session_check_private() sees the answer.
 */
#ifndef BPF_COPIED_BPF_H
#define BPF_COPIED_BPF_H

#include "bpf/hold.bpf.h"
#include "bpf/runtime.bpf.h"

enum {
	COPIED_PAGE_BITS = 12,
	COPIED_PAGES_OF_BODY = 16, /* of a longer one these, and the last */
	COPIED_WAIT_MS = 250,	   /* whatever --hold says: it is the target that is at stake */
};

MAP(copied_pages, HASH, 1 /* set to COPIED_PAGES, if there may be some */,
    __u64 /* the number of the page */, __u32, NO_PREALLOC);

static __noinline bool is_copied(__u64 page)
{
	return bpf_map_lookup_elem(&copied_pages, &page);
}

static __noinline bool lies_on_copies(__u64 begin, __u64 end)
{
	__u64 first = begin >> COPIED_PAGE_BITS, last = (end - 1) >> COPIED_PAGE_BITS;

	for (int i = 0; i < COPIED_PAGES_OF_BODY && first + i < last; i++) {
		if (is_copied(first + i))
			return true;
	}
	return is_copied(last);
}

/* What was compiled to @code is to be put there, with what goes with it. Note if it must not. */
static __noinline bool overwrites_copies(__u64 code, __u64 size, __u64 jit_info)
{
	__u64 header = code - CODE_HEADER_BYTES, all = size + CODE_HEADER_BYTES;

	if (user_u64(jit_info + follow.layout.jit_code_header) == header)
		all = (__u32)user_u64(jit_info + follow.layout.jit_code_size);
	if (code == UNREADABLE || all < size || !lies_on_copies(header, header + all))
		return false;
	__sync_val_compare_and_swap(&follow.overwritten, 0, code);
	return true;
}

struct undoing {
	__u64 until_ns;
	__u64 stack_pointer;
};

static long undoing_turn(__u32 i, struct undoing *undoing)
{
	__u64 unused, now = bpf_ktime_get_ns();

	if (!*(volatile __u32 *)&follow.copied || now > undoing->until_ns)
		return 1;
	bpf_copy_from_user_task(&unused, sizeof(unused), (void *)undoing->stack_pointer,
				bpf_get_current_task_btf(), 0);
	return 0;
}

/* Wait until there are no copies any more, if the program may sleep. */
static __noinline int wait_for_undoing(__u64 stack_pointer, __u32 sleeps)
{
	struct undoing undoing = {
		.until_ns = bpf_ktime_get_ns() + COPIED_WAIT_MS * 1000000ULL,
		.stack_pointer = stack_pointer,
	};

	if (sleeps)
		bpf_loop(HOLD_TURNS_MAX, undoing_turn, &undoing, 0);
	if (*(volatile __u32 *)&follow.copied)
		ADD(follow.overwritten_late, 1);
	return 0;
}

#endif
