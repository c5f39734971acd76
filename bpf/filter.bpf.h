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
const volatile __u32 filter_types;  /* of exceptions, that they ask for */

/* A verdict that the end is to bring; below it, what the entry has found out. */
#define FILTER_LATER (1ULL << 63)

enum { FILTER_PIECE = 32 }; /* of a string, at a time */

ARRAY_MAP(filter_slots, 1 /* set to FILTER_SCRATCHES for each CPU */, struct watch_slot);

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

/* What is open is undecided, until it is decided. With a frame of its own: test_bpf.c. */
static __noinline int count_verdict(__u32 site, __u64 verdict)
{
	struct site_counters *count = counters_of(site);

	if (count && verdict == WATCH_REJECT)
		__sync_fetch_and_add(&count->filtered, 1);
	else if (count)
		__sync_fetch_and_add(&count->undecided, 1);
	return 0;
}

static __always_inline void count_decided(__u32 site, __u32 verdict)
{
	struct site_counters *count = counters_of(site);

	if (!count || (verdict != WATCH_ACCEPT && verdict != WATCH_REJECT))
		return;
	__sync_fetch_and_add(&count->undecided, -1);
	__sync_fetch_and_add(verdict == WATCH_ACCEPT ? &count->hits : &count->filtered, 1);
}

/*
 * What is known as a call begins: arguments in registers, by enum watch_source. Frames are below
 * what test_bpf.c allows: this is in one, what the filter makes of it in the next.
 */
struct filter_words {
	__u64 words[WATCH_TID];
	__u64 stack_pointer;
};

struct filter_cells {
	__u64 cells[FILTER_CELLS];
};

static __always_inline __u64 *filter_cell(struct filter_cells *is, __u32 number)
{
	return &is->cells[number & (FILTER_CELLS - 1)];
}

/* Where an op goes on. */
enum filter_way {
	FILTER_NEXT,
	FILTER_OTHERWISE,
	FILTER_UNKNOWN, /* what it needs cannot be read */
};

__noinline __u64 filter_name_word(__u32 source)
{
	__u64 name[2] = { 0 };

	bpf_get_current_comm(name, sizeof(name));
	return source == WATCH_NAME_0 ? name[0] : name[1];
}

static __always_inline __u64 filter_word(const struct filter_words *words, __u32 source)
{
	if (source < WATCH_TID)
		return words->words[source];
	if (source == WATCH_TID)
		return (__u32)(target_pid_ns_dev ? ids_in_namespace() : bpf_get_current_pid_tgid());
	return source == WATCH_STACK ? words->stack_pointer : filter_name_word(source);
}

/* Are so many bytes there those of a constant, which has zeros behind them? */
__noinline int filter_same_bytes(__u64 address, __u32 number, __u64 size)
{
	const struct watch_constant *constant = bpf_map_lookup_elem(&watch_constants, &number);

	if (!constant)
		return FILTER_UNKNOWN;
	for (__u32 i = 0; i < WATCH_CONSTANT / FILTER_PIECE; i++) {
		const __u64 *of = (const void *)&constant->bytes[i * FILTER_PIECE];
		__u64 words[FILTER_PIECE / 8] = { 0 };
		__u64 left = size - i * FILTER_PIECE;

		left = left < FILTER_PIECE ? left : FILTER_PIECE;
		if (bpf_probe_read_user(words, WATCH_BOUNDED(left, FILTER_PIECE),
					(void *)(address + i * FILTER_PIECE)))
			return FILTER_UNKNOWN;
		if (words[0] != of[0] || words[1] != of[1] || words[2] != of[2] ||
		    words[3] != of[3])
			return FILTER_OTHERWISE;
		if (size <= (i + 1) * FILTER_PIECE)
			break;
	}
	return FILTER_NEXT;
}

/* One op, of those that seldom are the only ones. */
__noinline int filter_step(const struct watch_op *op, struct filter_cells *is)
{
	__u64 value, loaded = 0;

	if (!op || !is)
		return FILTER_UNKNOWN;
	value = *filter_cell(is, op->src);
	switch (op->code) {
	case WATCH_LOAD:
		if (bpf_probe_read_user(&loaded, WATCH_BOUNDED(op->size, 8),
					(void *)(value + op->offset)))
			return FILTER_OTHERWISE;
		*filter_cell(is, op->dst) = loaded;
		return FILTER_NEXT;
	case WATCH_MASK:
		*filter_cell(is, op->dst) = value & op->immediate;
		return FILTER_NEXT;
	case WATCH_ADD:
		*filter_cell(is, op->dst) = value + op->immediate;
		return FILTER_NEXT;
	case WATCH_SHIFT:
		*filter_cell(is, op->dst) = value >> (op->immediate & 63);
		return FILTER_NEXT;
	case WATCH_IF_ZERO:
	case WATCH_IF_EQUAL:
	case WATCH_IF_BELOW:
	case WATCH_IF_BELOW_SIGNED:
		return watch_is_otherwise(op->code, value, op->immediate) ? FILTER_OTHERWISE :
									    FILTER_NEXT;
	case WATCH_IF_SAME_BYTES:
		return filter_same_bytes(value + op->offset, (__u32)op->immediate, op->size);
	default:
		return FILTER_UNKNOWN;
	}
}

/* Any op but the last. */
static __always_inline int filter_op(const struct watch_op *op, const struct filter_words *words,
				     struct filter_cells *is)
{
	__u64 word, *cell = filter_cell(is, op->dst);
	__u32 test = WATCH_NONE;

	switch (op->code) {
	case WATCH_TAKE:
		word = filter_word(words, op->source);
		break;
	case WATCH_TEST_WORD:
		test = op->src;
		word = watch_tested(op, filter_word(words, op->source), op->offset);
		break;
	case WATCH_TEST_LOADED:
		test = op->source;
		/* Of what is above it there nothing is left. */
		if (bpf_probe_read_user(cell, WATCH_BOUNDED(op->size, 8),
					(void *)(*filter_cell(is, op->src) + op->offset)))
			return FILTER_UNKNOWN;
		word = watch_tested(op, *cell, op->slot);
		break;
	default:
		return filter_step(op, is);
	}
	*cell = word;
	return test && watch_is_otherwise(test, word, op->immediate) ? FILTER_OTHERWISE :
								       FILTER_NEXT;
}

/*
 * The filter that begins at op @first, whose last ops are verdicts: as filter_call(). All of it is
 * looked at by the verifier once.
 */
__noinline __u64 filter_machine(const struct filter_words *words, __u32 first)
{
	struct filter_cells is = { 0 };
	/* Together, or each takes a word of the frame. */
	struct {
		__u32 next;
		__u32 first;
	} at = { first, first };

	if (!words)
		return WATCH_UNDECIDED;
	for (int i = 0; i < WATCH_OPS; i++) {
		const struct watch_op *op = bpf_map_lookup_elem(&watch_ops, &at.next);
		int way;

		if (!op)
			break;
		if (op->code == WATCH_LATER)
			return FILTER_LATER | (__u32)is.cells[WATCH_BITS_CELL];
		if (op->code >= WATCH_ACCEPT)
			return op->code;
		way = filter_op(op, words, &is);
		if (way == FILTER_UNKNOWN)
			break;
		at.next =
			way == FILTER_OTHERWISE ? at.first + op->otherwise : at.next + 1 + op->more;
	}
	return WATCH_UNDECIDED;
}

/* What the filter of a call of @site that begins says: as filter_call(). */
static __noinline __u64 filter_entry(const bpf_user_pt_regs_t *ctx, __u32 site)
{
	/* The key is where the last word will be: of the frame nothing is left. */
	struct filter_words words = { .stack_pointer = site };
	const struct watch_program *program =
		bpf_map_lookup_elem(&watch_programs, &words.stack_pointer);

	if (!program || !program->filter_count)
		return WATCH_UNDECIDED;
	for (int i = 0; i < WATCH_TID; i++)
		words.words[i] = argument_of(ctx, i + 1);
	words.stack_pointer = stack_pointer_of(ctx);
	return filter_machine(&words, program->first);
}

/*
 * What the filter says of a call of @site that begins: WATCH_ACCEPT; FILTER_LATER with what is
 * known by now; or anything else, and it has been counted. A site without a program, of which
 * nothing is known, is undecided.
 */
static __always_inline __u64 filter_call(const bpf_user_pt_regs_t *ctx, __u32 site)
{
	__u64 verdict = filter_entry(ctx, site);

	if (verdict != WATCH_ACCEPT)
		count_verdict(site, verdict);
	return verdict;
}

/* What is known of a call that ends now; without @ctx it has no result. */
static __noinline int filter_fill(struct watch_slot *slot, const bpf_user_pt_regs_t *ctx,
				  __u64 filter, __u64 took_ns)
{
	slot->words[WATCH_DECIDED] = (__u32)filter;
	slot->words[WATCH_TOOK] = took_ns;
	slot->words[WATCH_HAS_RESULT] = ctx != NULL;
	slot->words[WATCH_LEFT] = 0;
	slot->words[WATCH_TYPES] = 0;
	if (ctx) {
		slot->words[WATCH_RESULT_0] = result_of(ctx);
		slot->words[WATCH_RESULT_1] = second_result_of(ctx);
	}
	return 0;
}

/* The scratch for the end of a call of @site, or NULL. */
static __always_inline struct watch_slot *filter_claim_end(__u32 site)
{
	const struct watch_program *program = bpf_map_lookup_elem(&watch_programs, &site);
	struct watch_slot *slot = program ? filter_claim() : NULL;

	if (slot)
		slot->program = *program;
	return slot;
}

/* What is not told in the end is undecided. */
static __always_inline __u32 filter_run_end(struct watch_slot *slot)
{
	watch_prepare(slot,
		      slot->program.first + slot->program.filter_count + slot->program.entry_count +
			      slot->program.exit_count,
		      slot->program.filter_exit_count);
	slot->verdict = WATCH_UNDECIDED;
	watch_run(slot);
	return slot->verdict;
}

/* What the filter of @call, that was open when it began, says by its end. It is counted. */
static __noinline __u32 filter_end(const bpf_user_pt_regs_t *ctx, const struct timed_call *call,
				   __u64 took_ns)
{
	__u32 site = call->site;
	struct watch_slot *slot = filter_claim_end(site);
	__u32 verdict = WATCH_UNDECIDED;

	if (slot) {
		filter_fill(slot, ctx, call->filter, took_ns);
		slot->words[WATCH_STACK] = call->stack_pointer;
		verdict = filter_run_end(slot);
		filter_release(slot);
	}
	count_decided(site, verdict);
	return verdict;
}

/*
 * For each of what an exception may be of those types that are asked for: is a call that it has
 * left asked for then? As watch_values.types has it.
 */
static __always_inline __u32 filter_by_types(struct watch_slot *slot)
{
	/* Kept there, or the verifier looks at each combination of bits. */
	slot->values.types = 0;
	for (__u32 types = 0; types < 1U << FILTER_TYPES; types++) {
		if (types >= 1U << filter_types)
			break;
		slot->words[WATCH_TYPES] = types;
		if (filter_run_end(slot) == WATCH_ACCEPT)
			slot->values.types |= 1U << types;
	}
	return slot->values.types;
}

/*
 * As filter_end(), of a call that was left otherwise, for each type that the exception may be of:
 * as watch_values.types has it, 0 if it is asked for or not whatever that is.
 */
static __always_inline __u32 filter_end_left(__u32 site, __u64 filter, __u64 took_ns,
					     __u32 *verdict)
{
	const __u32 all = (1ULL << (1U << filter_types)) - 1;
	struct watch_slot *slot = filter_claim_end(site);
	__u32 mask;

	*verdict = WATCH_UNDECIDED;
	if (!slot)
		return 0;
	filter_fill(slot, NULL, filter, took_ns);
	slot->words[WATCH_LEFT] = 1;
	mask = filter_by_types(slot);
	filter_release(slot);
	*verdict = mask ? WATCH_ACCEPT : WATCH_REJECT;
	return mask == all ? 0 : mask;
}

/*
 * What becomes of a call that was left otherwise; it is kept in slot @number, if it is watched. One
 * that is to be decided by what has left it is reported, and counted by who decides that.
 */
__noinline int filter_left(__u32 site, __u64 filter, __u64 took_ns, __u64 number)
{
	__u32 verdict, mask = filter_end_left(site, filter, took_ns, &verdict);
	struct watch_slot *slot = mask ? watch_slot_of(number) : NULL;

	if (!mask)
		count_decided(site, verdict);
	else if (slot)
		slot->values.types = mask;
	return mask && !slot ? WATCH_UNDECIDED : verdict;
}

#endif
