/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting equal stacks, for --folded: the ring buffer carries each once, and the rest is an
 * addition. A stack is known by a hash of 128 bits, with a secret of this run in it: that two
 * stacks have the same is less likely than one in 2^90, whatever the target does. So there is no
 * need to keep its frames here and to compare them at each hit, which would cost as much as the
 * walk.
 *
 * What has the same frames must have the same names, however late it is counted:
 *  - of a method's code the hash has the MethodDesc, and how often code was compiled that begins
 *    where that does. Code that is freed has no frame, and other code in its place was compiled;
 *  - it has how often files were mapped, for the code in these;
 *  - of what else there is, such as V8's code, stubs, or code that nothing is known of, each hit is
 *    sent, as ever.
 */
#ifndef BPF_MERGE_BPF_H
#define BPF_MERGE_BPF_H

#include "bpf/merge.h"

const volatile bool merge_stacks;
const volatile bool merge_by_tid;
const volatile bool merge_frame_pointers; /* frames are told apart by them: --stack=managed */
const volatile bool note_codes;		  /* count compilations, in code_versions */
const volatile __u64 merge_secret[2];

struct merge_control merge;
__u32 code_versions[MERGE_CODES];

SHARED_ARRAY(merged, 1 /* set to all slots of all tables */, struct merge_slot);

/* Is what a stack is known by made frame by frame? Else it takes to know the whole stack. */
static __always_inline bool merges_as_it_goes(void)
{
	return merge_stacks && !merge_frame_pointers;
}

static __always_inline void note_mapping(void)
{
	__sync_fetch_and_add(&merge.mapped, 1);
}

/* Code was compiled that begins at @start; 0: anywhere. */
static __always_inline void note_code(__u64 start)
{
	if (!note_codes)
		return;
	if (start)
		__sync_fetch_and_add(&code_versions[merge_code(start)], 1);
	else
		note_mapping();
}

#endif
