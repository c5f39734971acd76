/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk from a hit to the thread's start: each frame is left as the row for its code says.
 * Where nothing is known it is left by the frame pointer, and that is noted.
 *
 * A walk has its state in a scratch that it has claimed: programs can be preempted and can nest.
 * Each step is a function of its own, which is verified once: a walk of 512 steps costs the
 * verifier little more than one, and no chain of programs is needed.
 */
#ifndef BPF_UNWIND_BPF_H
#define BPF_UNWIND_BPF_H

#include "bpf/count_stacks.bpf.h"

/*
 * What was found before, by the low bits of the address. Anyone writes it at any time, so each is
 * checked: the tag is of the address, the frame and the ranges' version together, and half of one
 * entry does not go with half of another. Most hits of a method come by the same addresses: 58 ns a
 * frame became 18 (tests/bench/stack_cost).
 */
struct known_frame {
	__u64 tag;
	union {
		struct unwind_frame frame;
		__u64 bits;
	};
};

static struct known_frame known_frames[KNOWN_FRAMES];

struct unwind_table unwind_table;
struct unwind_frame unwind_frames[UNWIND_FRAMES_MAX]; /* by their number in rows */

/* The range that holds @pc, among @count from @first on; -1 if none does. */
__noinline int find_range(__u32 first, __u32 count, __u64 pc)
{
	__u32 low = 0, high = count;

	for (int i = 0; i < UNWIND_RANGE_STEPS; i++) {
		__u32 middle = low + (high - low) / 2, key = first + middle;
		struct unwind_range *range;

		if (low >= high)
			break;
		range = bpf_map_lookup_elem(&unwind_ranges, &key);
		if (!range)
			break;
		if (pc < range->begin)
			high = middle;
		else if (pc >= range->end)
			low = middle + 1;
		else
			return (int)key;
	}
	return -1;
}

/* The last row, among @count from @first on, that begins at or before @offset; -1 if none does. */
__noinline int find_row(__u32 first, __u32 count, __u32 offset)
{
	__u32 low = 0, high = count;

	for (int i = 0; i < UNWIND_ROW_STEPS; i++) {
		__u32 middle = low + (high - low) / 2, key = first + middle;
		struct unwind_row *row;

		if (low >= high)
			break;
		row = bpf_map_lookup_elem(&unwind_rows, &key);
		if (!row)
			break;
		if (row->begin <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (int)(first + low - 1) : -1;
}

/*
 * Copy the stack from just before @address on; false if that cannot be read. Where the stack ends
 * sooner than what is wanted, its last page can be read.
 */
__noinline int fill_window(struct walk *walk, __u64 address)
{
	__u64 from, bytes;

	if (!walk)
		return 0;
	from = address - walk->sp <= WALK_WINDOW_BEFORE ? walk->sp & ~7ULL :
							  address - WALK_WINDOW_BEFORE;
	if (address <= walk->sp)
		from = address;
	bytes = walk->window_wanted;
	if (bytes < WALK_WINDOW_MIN)
		bytes = WALK_WINDOW_MIN;
	if (bytes > WALK_WINDOW_BYTES)
		bytes = WALK_WINDOW_BYTES;
	walk->window_at = 0;
	if (bpf_probe_read_user(walk->window, bytes, (void *)from)) {
		bytes = WALK_PAGE_BYTES - (from & (WALK_PAGE_BYTES - 8));
		if (bytes > WALK_WINDOW_BYTES ||
		    bpf_probe_read_user(walk->window, bytes, (void *)from))
			return 0;
	}
	walk->window_at = from;
	walk->window_last = bytes - 8;
	return address - from <= bytes - 8;
}

/* Eight bytes of the stack; false if they cannot be read. */
static __always_inline bool read_stack(struct walk *walk, __u64 address, __u64 *value)
{
	if (address & 7)
		return false;
	if ((!walk->window_at || address - walk->window_at > walk->window_last) &&
	    !fill_window(walk, address))
		return !bpf_probe_read_user(value, sizeof(*value), (void *)address);
	*value = *(__u64 *)(walk->window + ((address - walk->window_at) & WALK_WINDOW_MASK));
	return true;
}

/* Where what is known of the code at @pc is kept. */
static __always_inline __u32 known_key(__u64 pc)
{
	return (pc ^ pc >> 12) & (KNOWN_FRAMES - 1);
}

static __always_inline int walk_end(struct walk *walk, __u32 why)
{
	walk->event.stack_end = why;
	return 1;
}

#include "bpf/arch/unwind.bpf.h"
#include "bpf/unwind_dotnet.bpf.h"

/* @elsewhere: of code in no range, which may be somebody else's after all. */
static __always_inline struct unwind_frame frame_by(__u32 unwinder, bool elsewhere)
{
	return (struct unwind_frame){
		.rule = unwinder == UNWINDER_DOTNET ? UNWIND_DOTNET :
			unwinder == UNWINDER_V8	    ? UNWIND_V8 :
						      UNWIND_UNKNOWN,
		.add = elsewhere,
	};
}

/* How the code at @pc is left, by the tables. */
static __always_inline struct unwind_frame search_frame(struct walk *walk, __u64 pc)
{
	struct unwind_frame frame = frame_by(unwind_table.elsewhere, true);
	struct unwind_range *range;
	__u32 key = walk->range;
	struct unwind_row *row;
	int found;

	range = bpf_map_lookup_elem(&unwind_ranges, &key);
	if (!range || pc < range->begin || pc >= range->end) {
		found = find_range(walk->half, walk->range_count, pc);
		if (found < 0)
			return frame;
		key = walk->range = (__u32)found;
		range = bpf_map_lookup_elem(&unwind_ranges, &key);
		if (!range)
			return frame;
	}
	frame = frame_by(range->unwinder, false);
	if (range->unwinder != UNWINDER_ROWS)
		return frame;
	found = find_row(range->first_row, range->row_count, (__u32)(pc - range->base));
	if (found < 0)
		return frame;
	key = (__u32)found;
	row = bpf_map_lookup_elem(&unwind_rows, &key);
	if (!row)
		return frame;
	frame = unwind_frames[row->frame & (UNWIND_FRAMES_MAX - 1)];
	frame.offset = row->offset;
	return frame;
}

static __always_inline bool has_row(struct unwind_frame frame)
{
	return frame.rule > UNWIND_V8;
}

/* How this frame is left. */
static __always_inline struct unwind_frame frame_of(struct walk *walk)
{
	__u64 pc = walk->pc - !walk->exact;
	struct known_frame found = { 0 }, *known;

	if (walk->entered)
		return frame_at_entry;
	known = &known_frames[known_key(pc)];
	found.bits = *(volatile __u64 *)&known->bits;
	if (*(volatile __u64 *)&known->tag == (pc ^ found.bits ^ walk->tag))
		return found.frame;
	found.frame = search_frame(walk, pc);
	/* No call returns to a function's beginning: this stack is makecontext()'s or the like. */
	if (!has_row(found.frame) && !walk->exact && (walk->pc & 15) == 0 &&
	    has_row(search_frame(walk, walk->pc)))
		found.frame = (struct unwind_frame){ .rule = UNWIND_OUTERMOST };
	*(volatile __u64 *)&known->bits = found.bits;
	*(volatile __u64 *)&known->tag = pc ^ found.bits ^ walk->tag;
	return found.frame;
}

/* The register that the CFA is found by, but for the stack pointer, into walk->base; 1: the end. */
__noinline int find_base(struct walk *walk, __u32 base)
{
	if (!walk)
		return 1;
	switch (base) {
	case UNWIND_FP:
		walk->base = walk->fp;
		return walk->fp_lost ? walk_end(walk, STACK_BROKEN) : 0;
	case UNWIND_SAVED:
		walk->base = walk->saved;
		if (walk->saved_at == SAVED_LOST)
			return walk_end(walk, STACK_UNSUPPORTED);
		return !walk->saved_at || read_stack(walk, walk->saved_at, &walk->base) ?
			       0 :
			       walk_end(walk, STACK_UNREADABLE);
	default:
		/* Only then it is not one of a callee's any more. */
		if (!walk->exact)
			return walk_end(walk, STACK_UNSUPPORTED);
		return read_signal(walk, walk->signal_at, base - UNWIND_OTHERS, &walk->base) ?
			       0 :
			       walk_end(walk, STACK_UNREADABLE);
	}
}

/* Nothing is known of this code: its frame pointer may be all it has. */
static __always_inline int leave_by_frame_pointer(struct walk *walk)
{
	__u64 fp = walk->fp;

	if (fp == 0 && !walk->fp_lost)
		return walk_end(walk, STACK_WHOLE);
	if (fp < walk->sp || fp & 7 || walk->fp_lost)
		return walk_end(walk, STACK_BROKEN);
	if (!read_stack(walk, fp + 8, &walk->pc) || !read_stack(walk, fp, &walk->fp))
		return walk_end(walk, STACK_UNREADABLE);
	walk->sp = fp + 16;
	walk->saved_at = SAVED_LOST;
	walk->exact = false;
	walk->guessed = true;
	return walk->pc ? 0 : walk_end(walk, STACK_WHOLE);
}

/* The caller's registers, of a frame with its CFA at @cfa. Nonzero at the end. */
static __always_inline int restore_registers(struct walk *walk, struct unwind_frame frame,
					     __u64 cfa)
{
	__u64 value;

	if (!read_return_address(walk, frame, cfa))
		return walk_end(walk, STACK_UNREADABLE);
	if (frame.frame_pointer == UNWIND_LOST) {
		walk->fp_lost = true;
	} else if (frame.frame_pointer == UNWIND_AT_FP) {
		walk->fp_lost |= !read_stack(walk, walk->fp, &walk->fp);
	} else if (frame.frame_pointer != UNWIND_SAME) {
		if (!read_stack(walk, cfa + (__s64)frame.frame_pointer * UNWIND_UNIT, &value))
			return walk_end(walk, STACK_UNREADABLE);
		walk->fp = value;
		walk->fp_lost = false;
	}
	/* It is seldom asked for, so where it is will do. */
	if (frame.saved != UNWIND_SAME)
		walk->saved_at = frame.saved < UNWIND_PLACES ?
					 cfa + (__s64)frame.saved * UNWIND_UNIT :
					 SAVED_LOST;
	return 0;
}

#include "bpf/unwind_v8.bpf.h"

/* Leave a frame of code that the runtime should know. Nonzero at the end. */
static __always_inline int leave_dotnet(struct walk *walk, struct event_frame *noted)
{
	__u64 pc = walk->pc;
	bool compiled = leave_compiled(walk);

	noted->method = walk->jit.method;
	if (walk->jit.method)
		noted->offset = (__u32)(pc - walk->jit.code);
	if (walk->jit.stub)
		noted->flags |= EVENT_FRAME_STUB;
	if (walk->jit.funclet)
		noted->flags |= EVENT_FRAME_FUNCLET;
	if (!compiled)
		return unwind_v8.present ? leave_v8(walk, true) : leave_by_frame_pointer(walk);
	walk->saved_at = SAVED_LOST;
	return walk->pc ? 0 : walk_end(walk, STACK_WHOLE);
}

/* What leave_otherwise() comes to, beside nothing (the frame is left) and the end. */
enum { HAS_BASE = 2 };

/*
 * Leave a frame whose CFA is not simply found by the stack pointer or the frame pointer; or find
 * its CFA (HAS_BASE, in walk->base). A function of its own, so that other frames take as little
 * time as may be. @bits: of the struct unwind_frame.
 */
__noinline int leave_otherwise(struct walk *walk, __u64 bits)
{
	const struct known_frame known = { .bits = bits };
	struct unwind_frame frame = known.frame;
	__u32 last;

	if (!walk)
		return 1;
	last = walk->last;
	switch (frame.rule) {
	case UNWIND_REGISTER:
	case UNWIND_MEMORY:
		walk->base = walk->sp;
		if (frame.base != UNWIND_SP && find_base(walk, frame.base))
			return 1;
		walk->base += (__s64)frame.offset * UNWIND_UNIT;
		if (frame.rule == UNWIND_REGISTER)
			return HAS_BASE;
		if (!read_stack(walk, walk->base, &walk->base))
			return walk_end(walk, STACK_UNREADABLE);
		walk->base += frame.add * UNWIND_UNIT;
		return HAS_BASE;
	case UNWIND_PLT:
		walk->base = walk->sp + 8 + ((__s64)(walk->pc & 15) >= frame.offset ? 8 : 0);
		return HAS_BASE;
	case UNWIND_SIGNAL:
		return leave_signal(walk);
	case UNWIND_OUTERMOST:
		return walk_end(walk, STACK_WHOLE);
	case UNWIND_UNSUPPORTED:
		return walk_end(walk, STACK_UNSUPPORTED);
	case UNWIND_DOTNET:
		return last < EVENT_SLOTS ? leave_dotnet(walk, &walk->event.frames[last]) : 1;
	case UNWIND_V8:
		return leave_v8(walk, frame.add);
	default:
		return leave_by_frame_pointer(walk);
	}
}

#include "bpf/unwind_run.bpf.h"

/* Note this frame and go on to its caller. Nonzero at the end. */
static __always_inline int leave_frame(struct walk *walk)
{
	struct known_frame known;
	struct unwind_frame frame;
	__u32 count, how;
	__u64 cfa;

	count = walk->event.frame_count;
	if (walk->frame_count++ >= max_frames || count >= EVENT_SLOTS - EVENT_V8_SLOTS)
		return walk_end(walk, STACK_TRUNCATED);
	walk->last = count;
	walk->event.frames[count] = (struct event_frame){
		.pc = walk->pc,
		.flags = walk->guessed ? EVENT_FRAME_GUESSED : 0,
		.frame_pointer = walk->fp >> 3,
	};
	walk->event.frame_count = count + 1;
	frame = frame_of(walk);
	walk->entered = false;
	walk->guessed = false;
	if (frame.rule == UNWIND_REGISTER && frame.base == UNWIND_SP) {
		cfa = walk->sp + (__s64)frame.offset * UNWIND_UNIT;
	} else if (frame.rule == UNWIND_REGISTER && frame.base == UNWIND_FP && !walk->fp_lost) {
		cfa = walk->fp + (__s64)frame.offset * UNWIND_UNIT;
	} else {
		known.frame = frame;
		how = leave_otherwise(walk, known.bits);
		if (how != HAS_BASE)
			return how;
		cfa = walk->base;
	}
	/* Code without a frame, as a leaf with a link register, has its caller's stack pointer. */
	if (cfa <= walk->sp && (cfa != walk->sp || !walk->exact))
		return walk_end(walk, STACK_BROKEN);
	if (restore_registers(walk, frame, cfa))
		return 1;
	walk->sp = cfa;
	walk->exact = false;
	return walk->pc ? 0 : walk_end(walk, STACK_WHOLE);
}

/* Several frames that are as most are, or one of another kind. Nonzero at the end. */
__noinline int walk_step(struct walk *walk)
{
	int run;

	if (!walk)
		return 1;
	run = walk_run(walk);
	if (run != RUN_STEP)
		return run == RUN_END;
	if (leave_frame(walk))
		return 1;
	if (merges_as_it_goes())
		merge_note(walk);
	return 0;
}

/*
 * All of them. By itself, and several in a turn: the kernel goes through each turn, and so does for
 * each way by which a program comes here.
 */
__noinline int walk_frames(struct walk *walk)
{
	enum { STEPS_AT_ONCE = 8 };

	for (int i = 0; walk && i <= EVENT_MAX_FRAMES; i += STEPS_AT_ONCE) {
#pragma unroll
		for (int j = 0; j < STEPS_AT_ONCE; j++) {
			if (walk_step(walk))
				return 0;
		}
	}
	return 0;
}

/* A scratch that nobody else has; NULL if all of this CPU's are taken. */
static __always_inline struct walk *walk_claim(void)
{
	__u32 first = bpf_get_smp_processor_id() * WALK_SCRATCHES;

	for (__u32 i = 0; i < WALK_SCRATCHES; i++) {
		__u32 key = first + i;
		struct walk *walk = bpf_map_lookup_elem(&walks, &key);

		if (walk && __sync_val_compare_and_swap(&walk->taken, 0, 1) == 0)
			return walk;
	}
	return NULL;
}

static __always_inline void walk_release(struct walk *walk)
{
	__sync_lock_test_and_set(&walk->taken, 0);
}

/* Fill in walk->event.frames, from the function that is entered or left outwards. */
static __always_inline void walk_stack(struct walk *walk, const struct registers *regs)
{
	__u64 version = *(volatile __u64 *)&unwind_table.version;

	/* Any odd number with many bits: versions are small and follow each other. */
	walk->version = version;
	walk->tag = version * 0x9e3779b97f4a7c15ULL;
	walk->half = version & 1 ? UNWIND_RANGES_MAX : 0;
	walk->range_count = unwind_table.counts[version & 1];
	walk->range = walk->half;
	walk->pc = regs->instruction_pointer;
	walk->sp = walk->start = regs->stack_pointer;
	walk->fp = regs->frame_pointer;
	walk->saved = regs->saved;
	walk->saved_at = 0;
	walk->window_at = 0;
	walk->exact = true;
	walk->entered = !regs->framed;
	walk->guessed = false;
	walk->fp_lost = false;
	walk->jit.size = 0;
	walk->frame_count = 0;
	walk->isolate_known = false;
	walk->event.frame_count = 0;
	walk->event.stack_end = STACK_TRUNCATED;
	walk_frames(walk);
	walk->window_wanted = walk->sp - walk->start + WALK_WINDOW_MIN / 2;
	/* The half that it went by is the one of the next version but one. */
	if (*(volatile __u64 *)&unwind_table.written > walk->version + 1)
		walk->event.stack_end = STACK_UNSURE;
}

#endif
