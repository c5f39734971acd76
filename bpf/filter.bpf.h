/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --if, at the entry of a call, before anything else is done for it, and at its end, if that is
 * asked for: the machine of watch.bpf.h runs the filter of the method, in a scratch of the CPU.
 * Calls that it does not ask for are counted, and no more.
 */
#ifndef BPF_FILTER_BPF_H
#define BPF_FILTER_BPF_H

/* Set before loading. */
const volatile bool watch_filters;  /* calls that no filter accepts are no hits */
const volatile bool filters_at_end; /* filters ask for what is known only then */

/* A verdict that the end is to bring; below it, what the entry has found out. */
#define FILTER_LATER (1ULL << 63)

enum { FILTER_TESTS = 8 };

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

/* What is open is undecided, until it is decided. */
static __always_inline void count_verdict(__u32 site, __u64 verdict)
{
	struct site_counters *count = bpf_map_lookup_elem(&counters, &site);

	if (count && verdict == WATCH_REJECT)
		__sync_fetch_and_add(&count->filtered, 1);
	else if (count && verdict != WATCH_ACCEPT)
		__sync_fetch_and_add(&count->undecided, 1);
}

static __always_inline void count_decided(__u32 site, __u32 verdict)
{
	struct site_counters *count = bpf_map_lookup_elem(&counters, &site);

	if (!count || (verdict != WATCH_ACCEPT && verdict != WATCH_REJECT))
		return;
	__sync_fetch_and_add(&count->undecided, -1);
	__sync_fetch_and_add(verdict == WATCH_ACCEPT ? &count->hits : &count->filtered, 1);
}

/* A register as a call begins. Each is read on its own: ctx is read at constant places only. */
#define FILTER_ARGUMENT(n)                        \
	case WATCH_ARGUMENT_0 + (n):              \
		word = argument_of(ctx, (n) + 1); \
		asm volatile("" : "+r"(word));    \
		break

static __always_inline bool filter_word(const bpf_user_pt_regs_t *ctx, __u32 source, __u64 *to)
{
	__u64 word;

	switch (source) {
		FILTER_ARGUMENT(0);
		FILTER_ARGUMENT(1);
		FILTER_ARGUMENT(2);
		FILTER_ARGUMENT(3);
		FILTER_ARGUMENT(4);
		FILTER_ARGUMENT(5);
	default:
		return false;
	}
	*to = word;
	return true;
}

/*
 * What the filter of a call that begins says, if all that it comes to are registers, and no more of
 * them than FILTER_TESTS: so most need no scratch. WATCH_CODES: that is not so.
 */
static __noinline __u32 filter_by_registers(const bpf_user_pt_regs_t *ctx, __u32 site)
{
	const struct watch_program *program = bpf_map_lookup_elem(&watch_programs, &site);
	__u32 first = program ? program->first : 0, next = first;

	for (int i = 0; i <= FILTER_TESTS; i++) {
		const struct watch_op *op = bpf_map_lookup_elem(&watch_ops, &next);
		__u64 word;

		if (!op || !first)
			break;
		if (op->code >= WATCH_ACCEPT && op->code != WATCH_LATER)
			return op->code;
		if (op->code != WATCH_TEST_WORD || !filter_word(ctx, op->source, &word))
			break;
		next = watch_is_otherwise(op->src, watch_tested(op, word), op->immediate) ?
			       first + op->otherwise :
			       next + 1 + op->more;
	}
	return WATCH_CODES;
}

/* What is not told in the end is undecided. */
static __always_inline __u32 filter_run(struct watch_slot *slot, __u32 first, __u32 count)
{
	watch_prepare(slot, first, count);
	slot->verdict = WATCH_UNDECIDED;
	watch_run(slot);
	return slot->verdict;
}

/*
 * What the filter says of a call of @site that begins: WATCH_ACCEPT; FILTER_LATER with what is
 * known by now; or anything else, and it has been counted. A site without a program, of which
 * nothing is known, is undecided.
 */
static __noinline __u64 filter_call(const bpf_user_pt_regs_t *ctx, __u32 site)
{
	__u64 verdict = filter_by_registers(ctx, site);
	struct watch_slot *slot = verdict == WATCH_CODES ? filter_claim() : NULL;

	if (verdict == WATCH_CODES)
		verdict = WATCH_UNDECIDED;
	if (slot) {
		watch_begin(slot, ctx, site);
		verdict = filter_run(slot, slot->program.first, slot->program.filter_count);
		if (filters_at_end && verdict == WATCH_LATER)
			verdict = FILTER_LATER | (__u32)slot->cells[WATCH_BITS_CELL];
		filter_release(slot);
	}
	count_verdict(site, verdict);
	return verdict;
}

/* What is known of a call that ends now; without @ctx it was left otherwise. */
static __noinline int filter_fill(struct watch_slot *slot, const bpf_user_pt_regs_t *ctx,
				  __u64 filter, __u64 took_ns)
{
	slot->words[WATCH_DECIDED] = (__u32)filter;
	slot->words[WATCH_TOOK] = took_ns;
	slot->words[WATCH_HAS_RESULT] = ctx != NULL;
	if (ctx) {
		slot->words[WATCH_RESULT_0] = result_of(ctx);
		slot->words[WATCH_RESULT_1] = second_result_of(ctx);
		slot->words[WATCH_STACK] = stack_pointer_of(ctx);
	}
	return 0;
}

/* What @filter, that was open when the call of @site began, says by its end. It is counted. */
static __noinline __u32 filter_end(const bpf_user_pt_regs_t *ctx, __u32 site, __u64 filter,
				   __u64 took_ns)
{
	const struct watch_program *program = bpf_map_lookup_elem(&watch_programs, &site);
	struct watch_slot *slot = filter_claim();
	__u32 verdict = WATCH_UNDECIDED;

	if (slot) {
		if (program)
			slot->program = *program;
		filter_fill(slot, ctx, filter, took_ns);
		verdict = filter_run(slot,
				     slot->program.first + slot->program.filter_count +
					     slot->program.entry_count + slot->program.exit_count,
				     slot->program.filter_exit_count);
		filter_release(slot);
	}
	count_decided(site, verdict);
	return verdict;
}

/* Likewise of one that was left otherwise. A function of its own: the verifier looks at it once. */
__noinline int filter_left(__u32 site, __u64 filter, __u64 took_ns)
{
	return filter_end(NULL, site, filter, took_ns);
}

#endif
