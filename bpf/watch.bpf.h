/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch: the machine that runs the small programs of bpf/watch.h at the entry and at an exit of a
 * call. What they have captured is in slots, see watch_slots.bpf.h; sending it is
 * watch_report.bpf.h's.
 *
 * Each function that takes a slot is checked by the verifier once, and one op is one call of
 * watch_step(): so kernels without bpf_loop take it, and the longest program costs the verifier
 * little more than the shortest.
 */
#ifndef BPF_WATCH_BPF_H
#define BPF_WATCH_BPF_H

#include "bpf/watch.h"

/* Set before loading. */
const volatile bool watch_values; /* each call is reported once, with what was captured of it */

struct watch_losses watch_losses;

/* How many slots have ever been claimed; those that are free again are in watch_free. */
__u32 watch_slots_used;
__u32 watch_kept;

SHARED_ARRAY(watch_programs, 1 /* set to the number of sites */, struct watch_program);
SHARED_ARRAY(watch_ops, 1 /* set to what there is room for */, struct watch_op);
SHARED_ARRAY(watch_slots, 1 /* set to WATCH_CALLS + WATCH_SPARE */, struct watch_slot);

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1); /* likewise */
	__type(value, __u32);
} watch_free SEC(".maps");

ARRAY_MAP(watch_constants, 1 /* set to what there is room for, with --if */, struct watch_constant);

/* The machine ------------------------------------------------------------------------------ */

/* From 1 to @most, a power of two; by an instruction, since the compiler may check a copy. */
#define WATCH_BOUNDED(size, most)                                       \
	({                                                              \
		__u64 less_ = (__u64)(size)-1;                          \
		asm volatile("%0 &= %1" : "+r"(less_) : "i"((most)-1)); \
		less_ + 1;                                              \
	})

static __always_inline __u32 watch_bytes_of_item(__u64 bytes)
{
	return sizeof(struct watch_item) + ((bytes + 7) & ~7ULL);
}

/*
 * Where the next item begins, of which there may be no room for all: so many bytes are used. By an
 * instruction: Linux 6.1 forgets what a comparison says of a copy that was made before.
 */
static __always_inline __u64 watch_at(const struct watch_slot *slot)
{
	__u64 used = slot->used;

	asm volatile("%0 &= %1" : "+r"(used) : "i"(WATCH_SLOT_BYTES - 1));
	return used;
}

static __always_inline void *watch_item_bytes(struct watch_slot *slot)
{
	return slot->bytes + watch_at(slot) + sizeof(struct watch_item);
}

/* Is there room for @bytes, and the item before them? */
static __always_inline bool watch_has_room(const struct watch_slot *slot, __u64 bytes)
{
	return slot->used + watch_bytes_of_item(bytes) <= slot->limit;
}

/* Its @bytes are there, if it has some. */
static __always_inline void watch_add_item(struct watch_slot *slot, __u16 number, __u8 status,
					   __u64 bytes, __u64 whole)
{
	struct watch_item *item = (void *)(slot->bytes + watch_at(slot));

	if (!watch_has_room(slot, bytes))
		return;
	item->slot = number;
	item->status = status;
	item->reserved = 0;
	item->bytes = bytes;
	item->reserved2 = 0;
	item->whole = whole;
	slot->used += watch_bytes_of_item(bytes);
}

static __always_inline void watch_fail(struct watch_slot *slot, const struct watch_op *op,
				       __u8 status, __u64 whole)
{
	if (op->slot != WATCH_NO_SLOT)
		watch_add_item(slot, op->slot, status, 0, whole);
}

static __always_inline __u64 watch_cell(const struct watch_slot *slot, __u8 number)
{
	return slot->cells[number & (WATCH_CELLS - 1)];
}

static __always_inline void watch_set_cell(struct watch_slot *slot, __u8 number, __u64 value)
{
	slot->cells[number & (WATCH_CELLS - 1)] = value;
}

/* Go on there, which is never back. */
static __always_inline void watch_jump(struct watch_slot *slot, const struct watch_op *op)
{
	__u32 to = slot->first + op->otherwise;

	slot->next = to > slot->next ? to : slot->next;
}

/* The frames of these are their own: see test_bpf.c. */
__noinline int watch_load(struct watch_slot *slot, const struct watch_op *op)
{
	__u64 value = 0;

	if (!slot || !op)
		return 0;
	if (bpf_probe_read_user(&value, WATCH_BOUNDED(op->size, 8),
				(void *)(watch_cell(slot, op->src) + op->offset))) {
		watch_fail(slot, op, WATCH_FAULT, 0);
		watch_jump(slot, op);
		return 0;
	}
	watch_set_cell(slot, op->dst, value);
	return 0;
}

static __always_inline void watch_put_word(struct watch_slot *slot, __u16 number, __u64 word,
					   __u32 size)
{
	bool fits = watch_has_room(slot, sizeof(__u64));

	if (fits)
		*(__u64 *)watch_item_bytes(slot) = word;
	watch_add_item(slot, number, fits ? WATCH_OK : WATCH_NO_ROOM,
		       !fits	? 0 :
		       size < 8 ? size :
				  8,
		       size);
}

__noinline int watch_put(struct watch_slot *slot, const struct watch_op *op)
{
	if (slot && op)
		watch_put_word(slot, op->slot, watch_cell(slot, op->src), op->size);
	return 0;
}

__noinline int watch_put_words(struct watch_slot *slot, const struct watch_op *op)
{
	__u64 puts, word = 0;

	if (!slot || !op)
		return 0;
	puts = op->immediate;
	for (__u32 i = 0; i < WATCH_PUTS && i < op->size; i++) {
		word = slot->words[puts & (WATCH_WORDS - 1)];
		watch_put_word(slot, op->slot + i, word, (puts >> WATCH_PUT_SIZE_SHIFT & 7) + 1);
		puts >>= 8;
	}
	watch_set_cell(slot, op->dst, word);
	return 0;
}

/* At most .size of @whole bytes. */
__noinline int watch_copy(struct watch_slot *slot, const struct watch_op *op, __u64 whole)
{
	__u64 bytes;

	if (!slot || !op)
		return 0;
	bytes = op->size < WATCH_COPY ? op->size : WATCH_COPY;
	bytes = whole < bytes ? whole : bytes;
	if (!watch_has_room(slot, bytes)) {
		watch_fail(slot, op, WATCH_NO_ROOM, whole);
		return 0;
	}
	if (bytes && bpf_probe_read_user(watch_item_bytes(slot), WATCH_BOUNDED(bytes, WATCH_COPY),
					 (void *)(watch_cell(slot, op->src) + op->offset))) {
		watch_fail(slot, op, WATCH_FAULT, whole);
		watch_jump(slot, op);
		return 0;
	}
	watch_add_item(slot, op->slot, WATCH_OK, bytes, whole);
	return 0;
}

/* Two bytes more than are wanted, which the end of .bytes has: a NUL, and what tells of more. */
__noinline int watch_copy_cstring(struct watch_slot *slot, const struct watch_op *op)
{
	__u64 bytes;
	long read;

	if (!slot || !op)
		return 0;
	bytes = op->size < WATCH_COPY - 2 ? op->size : WATCH_COPY - 2;
	if (!watch_has_room(slot, bytes)) {
		watch_fail(slot, op, WATCH_NO_ROOM, bytes);
		return 0;
	}
	read = bpf_probe_read_user_str(watch_item_bytes(slot), WATCH_BOUNDED(bytes + 2, WATCH_COPY),
				       (void *)(watch_cell(slot, op->src) + op->offset));
	if (read <= 0) {
		watch_fail(slot, op, WATCH_FAULT, 0);
		watch_jump(slot, op);
		return 0;
	}
	read--;
	watch_add_item(slot, op->slot, WATCH_OK, (__u64)read < bytes ? (__u64)read : bytes,
		       (__u64)read);
	return 0;
}

/*
 * Are .size bytes there those of the constant? Filters run before there are items, so the bytes of
 * these can be used.
 */
__noinline int watch_is_same(struct watch_slot *slot, const struct watch_op *op)
{
	const struct watch_constant *constant;
	__u32 number;
	__u64 size;

	if (!slot || !op)
		return 0;
	number = op->immediate;
	constant = bpf_map_lookup_elem(&watch_constants, &number);
	if (!constant)
		return 0;
	size = WATCH_BOUNDED(op->size, WATCH_CONSTANT);
	if (bpf_probe_read_user(slot->bytes, size,
				(void *)(watch_cell(slot, op->src) + op->offset))) {
		slot->next = slot->end;
		slot->verdict = WATCH_UNDECIDED;
		return 0;
	}
	for (__u32 i = 0; i < WATCH_CONSTANT / 8; i++) {
		__u64 differs =
			((const __u64 *)slot->bytes)[i] ^ ((const __u64 *)constant->bytes)[i];

		if (size < 8 * i + 8)
			return !(differs & ((1ULL << 8 * (size & 7)) - 1));
		if (differs)
			return 0;
	}
	return 1;
}

/* Those that compare: is .otherwise next? */
static __always_inline bool watch_is_otherwise(__u32 code, __u64 value, __u64 immediate)
{
	switch (code) {
	case WATCH_IF_ZERO:
		return value == 0;
	case WATCH_IF_EQUAL:
		return value != immediate;
	case WATCH_IF_BELOW:
		return value >= immediate;
	default:
		return (__s64)value >= (__s64)immediate;
	}
}

/* What is compared: so many bytes of @word, the highest bit of them other way round if @turned. */
static __always_inline __u64 watch_tested(const struct watch_op *op, __u64 word, __u64 turned)
{
	__u32 above = 64 - 8 * op->size;

	return (word << (above & 63) ^ turned << 63) >> (above & 63);
}

/* The test @code of @value, by op @number. */
static __always_inline int watch_test(struct watch_slot *slot, const struct watch_op *op,
				      __u32 number, __u32 code, __u64 value)
{
	watch_set_cell(slot, op->dst, value);
	if (watch_is_otherwise(code, value, op->immediate)) {
		/* Which may be before that which is next otherwise. */
		slot->next = number + 1;
		watch_jump(slot, op);
	}
	return 0;
}

/* WATCH_TEST_LOADED; @number is its own. */
__noinline int watch_test_loaded(struct watch_slot *slot, const struct watch_op *op, __u32 number)
{
	__u64 value = 0;

	if (!slot || !op)
		return 0;
	if (bpf_probe_read_user(&value, WATCH_BOUNDED(op->size, 8),
				(void *)(watch_cell(slot, op->src) + op->offset))) {
		slot->next = slot->end;
		slot->verdict = WATCH_UNDECIDED;
		return 0;
	}
	return watch_test(slot, op, number, op->source, watch_tested(op, value, op->slot));
}

/* Those that only compute. */
static __always_inline __u64 watch_result(const struct watch_slot *slot, const struct watch_op *op)
{
	__u64 value = watch_cell(slot, op->src);

	switch (op->code) {
	case WATCH_TAKE:
		return slot->words[op->source & (WATCH_WORDS - 1)];
	case WATCH_MASK:
		return value & op->immediate;
	case WATCH_ADD:
		return value + op->immediate;
	case WATCH_SHIFT:
		return value >> (op->immediate & 63);
	default:
		return watch_cell(slot, op->dst) - value;
	}
}

/* One op; 1: it ends the program. */
__noinline int watch_step(struct watch_slot *slot)
{
	const struct watch_op *op;
	__u32 number;

	if (!slot)
		return 1;
	number = slot->next;
	op = bpf_map_lookup_elem(&watch_ops, &number);
	if (!op)
		return 1;
	slot->next = number + 1 + op->more;
	switch (op->code) {
	case WATCH_TAKE:
	case WATCH_MASK:
	case WATCH_ADD:
	case WATCH_SHIFT:
	case WATCH_SUBTRACT:
		watch_set_cell(slot, op->dst, watch_result(slot, op));
		return 0;
	case WATCH_LOAD:
		return watch_load(slot, op);
	case WATCH_PUT:
		return watch_put(slot, op);
	case WATCH_PUT_WORDS:
		return watch_put_words(slot, op);
	case WATCH_COPY_FIXED:
		return watch_copy(slot, op, op->size);
	case WATCH_COPY_TIMES:
		return watch_copy(slot, op,
				  (__u64)(__u32)watch_cell(slot, op->dst) << (op->immediate & 31));
	case WATCH_COPY_CSTRING:
		return watch_copy_cstring(slot, op);
	case WATCH_IF_ZERO:
	case WATCH_IF_EQUAL:
	case WATCH_IF_BELOW:
	case WATCH_IF_BELOW_SIGNED:
		if (watch_is_otherwise(op->code, watch_cell(slot, op->src), op->immediate))
			watch_jump(slot, op);
		return 0;
	case WATCH_TEST_WORD:
		return watch_test(
			slot, op, number, op->src,
			watch_tested(op, slot->words[op->source & (WATCH_WORDS - 1)], op->offset));
	case WATCH_TEST_LOADED:
		return watch_test_loaded(slot, op, number);
	case WATCH_IF_SAME_BYTES:
		if (!watch_is_same(slot, op))
			watch_jump(slot, op);
		return 0;
	default:
		slot->verdict = op->code;
		return 1;
	}
}

/* The program that .first, .next and .end say. */
__noinline int watch_run(struct watch_slot *slot)
{
	if (!slot)
		return 0;
	for (int i = 0; i < WATCH_OPS; i++) {
		if (slot->next >= slot->end || watch_step(slot))
			break;
	}
	return 0;
}

#endif
