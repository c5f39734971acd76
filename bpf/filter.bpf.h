/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --if, at the entry of a call, before anything else is done for it: the machine of watch.bpf.h
 * runs the filter of the method, in a scratch of the CPU. Those that it does not ask for are
 * counted, and no more.
 */
#ifndef BPF_FILTER_BPF_H
#define BPF_FILTER_BPF_H

/* Set before loading. */
const volatile bool watch_filters; /* calls that no filter accepts are no hits */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to FILTER_SCRATCHES for each CPU */
	__type(key, __u32);
	__type(value, struct watch_slot);
} filter_slots SEC(".maps");

/* Programs can be preempted, and breakpoints come at any time: none has the scratch of another. */
static __always_inline struct watch_slot *filter_claim(void)
{
	__u32 first = bpf_get_smp_processor_id() * FILTER_SCRATCHES;

	for (__u32 i = 0; i < FILTER_SCRATCHES; i++) {
		__u32 key = first + i;
		struct watch_slot *slot = bpf_map_lookup_elem(&filter_slots, &key);

		if (slot && __sync_val_compare_and_swap(&slot->use, WATCH_FREE, WATCH_CLAIMED) ==
				    WATCH_FREE)
			return slot;
	}
	return NULL;
}

static __always_inline void filter_release(struct watch_slot *slot)
{
	__sync_lock_test_and_set(&slot->use, WATCH_FREE);
}

static __always_inline void count_verdict(__u32 site, __u32 verdict)
{
	struct site_counters *count = bpf_map_lookup_elem(&counters, &site);

	if (count && verdict == WATCH_REJECT)
		__sync_fetch_and_add(&count->filtered, 1);
	else if (count && verdict != WATCH_ACCEPT)
		__sync_fetch_and_add(&count->undecided, 1);
}

/*
 * What the filter says of a call of @site that begins: WATCH_ACCEPT, or it has been counted. A
 * site without a program, of which nothing is known, is undecided.
 */
static __noinline __u32 filter_call(const bpf_user_pt_regs_t *ctx, __u32 site)
{
	struct watch_slot *slot = filter_claim();
	__u32 verdict = WATCH_UNDECIDED;

	if (slot) {
		watch_begin(slot, ctx, site);
		watch_prepare(slot, slot->program.first, slot->program.filter_count);
		slot->verdict = WATCH_UNDECIDED;
		watch_run(slot);
		verdict = slot->verdict;
		filter_release(slot);
	}
	count_verdict(site, verdict);
	return verdict;
}

#endif
