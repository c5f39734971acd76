/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaving frames, x86-64: those that no compiler has described, of a function's entry and of a
 * signal; and those of code that the .NET runtime has compiled, the prologue of which is undone
 * step by step, as its UNWIND_INFO says, which bpf/unwind_dotnet.bpf.h has found.
 *
 * Source of the format: Microsoft "x64 exception handling".
 */
#ifndef BPF_ARCH_X86_64_UNWIND_X86_BPF_H
#define BPF_ARCH_X86_64_UNWIND_X86_BPF_H

#include "bpf/arch/x86_64/unwind_codes_x86.h"

enum {
	UNWIND_HEAD_BYTES = 4,
	UNWIND_SLOTS_MAX = 64,
	UNWIND_INFO_ROOM = 256, /* a power of two, for the verifier */
};

/* A part of a body, and where its UNWIND_INFO is: RUNTIME_FUNCTION. */
struct runtime_function {
	__u32 begin;
	__u32 end;
	__u32 info;
};

/* Read the UNWIND_INFO at @at into walk->jit. */
static __always_inline bool read_prologue(struct walk *walk, __u64 at)
{
	__u32 bytes;

	if (bpf_probe_read_user(walk->jit.info, UNWIND_HEAD_BYTES, (void *)at))
		return false;
	bytes = walk->jit.info[2] * 2;
	if (bytes > 2 * UNWIND_SLOTS_MAX || (walk->jit.info[0] & 7) != 1)
		return false;
	return !bytes || !bpf_probe_read_user(walk->jit.info + UNWIND_HEAD_BYTES, bytes & 255,
					      (void *)(at + UNWIND_HEAD_BYTES));
}

static __always_inline __u32 info_u16(const struct walk *walk, __u32 at)
{
	return walk->jit.info[at & (UNWIND_INFO_ROOM - 1)] |
	       walk->jit.info[(at + 1) & (UNWIND_INFO_ROOM - 1)] << 8;
}

/* How many slots of the list a code takes. */
static __always_inline __u32 slots_of(__u32 op, __u32 info)
{
	switch (op) {
	case UNWIND_CODE_ALLOC_LARGE:
		return 2 + (info != 0);
	case UNWIND_CODE_SAVE:
	case UNWIND_CODE_SAVE_XMM:
		return 2;
	case UNWIND_CODE_SAVE_FAR:
	case UNWIND_CODE_SAVE_XMM_FAR:
	case UNWIND_CODE_SET_FRAME_LARGE:
		return 3;
	default:
		return 1;
	}
}

/* Undo step number walk->jit.slot of the prologue, if it has run, and go on to the next. */
__noinline int undo_step(struct walk *walk)
{
	__u32 at, code, op, info, small, large;
	struct walk_jit *jit;

	if (!walk)
		return false;
	jit = &walk->jit;
	at = UNWIND_HEAD_BYTES + 2 * jit->slot;
	code = info_u16(walk, at);
	op = code >> 8 & 15;
	info = code >> 12;
	small = info_u16(walk, at + 2);
	large = small | info_u16(walk, at + 4) << 16;
	jit->slot += slots_of(op, info);
	if ((code & 255) > jit->function_offset)
		return true;
	switch (op) {
	case UNWIND_CODE_PUSH:
		if (info == UNWIND_CODE_RBP) {
			jit->fp_at = jit->sp;
			if (!read_stack(walk, jit->sp, &jit->fp))
				return false;
		}
		jit->sp += 8;
		return true;
	case UNWIND_CODE_ALLOC_LARGE:
		jit->sp += info ? large : small * 8;
		return true;
	case UNWIND_CODE_ALLOC_SMALL:
		jit->sp += info * 8 + 8;
		return true;
	case UNWIND_CODE_SET_FRAME:
	case UNWIND_CODE_SET_FRAME_LARGE:
		if ((jit->info[3] & 15) != UNWIND_CODE_RBP || walk->fp_lost)
			return false;
		if (op == UNWIND_CODE_SET_FRAME)
			large = jit->info[3] >> 4;
		jit->sp = jit->base = jit->fp - (__u64)large * UNWIND_CODE_FRAME_UNIT;
		jit->framed = true;
		return true;
	case UNWIND_CODE_SAVE:
	case UNWIND_CODE_SAVE_FAR:
		if (op == UNWIND_CODE_SAVE)
			large = small * 8;
		if (info != UNWIND_CODE_RBP)
			return true;
		jit->fp_at = jit->base + large;
		return read_stack(walk, jit->fp_at, &jit->fp);
	case UNWIND_CODE_SAVE_XMM:
	case UNWIND_CODE_SAVE_XMM_FAR:
		return true;
	default:
		return false;
	}
}

/* Undo the prologue as far as it has run. */
__noinline int undo_prologue(struct walk *walk)
{
	if (!walk)
		return false;
	walk->jit.slot = 0;
	walk->jit.sp = walk->jit.base = walk->sp;
	walk->jit.fp = walk->fp;
	walk->jit.fp_at = 0;
	walk->jit.framed = false;
	for (int i = 0; i < UNWIND_SLOTS_MAX && walk->jit.slot < walk->jit.info[2]; i++) {
		if (!undo_step(walk))
			return false;
	}
	walk->jit.return_at = walk->jit.sp;
	walk->jit.cfa = walk->jit.sp + 8;
	return walk->jit.sp >= walk->sp && read_stack(walk, walk->jit.return_at, &walk->pc);
}

/* A call has put the return address on the stack, and the function has done nothing yet. */
static const struct unwind_frame frame_at_entry = {
	.rule = UNWIND_REGISTER,
	.base = UNWIND_SP,
	.return_address = -1,
	.frame_pointer = UNWIND_SAME,
	.saved = UNWIND_SAME,
	.offset = 1,
};

/* Where a frame with its CFA at @cfa returns to: in memory, since there is no link register. */
static __always_inline bool read_return_address(struct walk *walk, struct unwind_frame frame,
						__u64 cfa)
{
	return read_stack(walk, cfa + (__s64)frame.return_address * UNWIND_UNIT, &walk->pc);
}

/* In V8's entry frames, from the frame pointer: rbx, as Builtins_JSEntry saves it. */
enum { V8_ENTRY_SAVED_AT = -56 };

/*
 * In a signal frame, from the stack pointer, by DWARF's numbers: the kernel's struct ucontext is
 * there, and in it struct sigcontext.
 */
static const __u8 signal_register_at[] = {
	144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168,
};

enum { SIGNAL_RBX = 3, SIGNAL_RBP = 6, SIGNAL_RSP = 7, SIGNAL_RIP = 16 };

static __always_inline bool read_signal(struct walk *walk, __u64 at, __u32 number, __u64 *value)
{
	return number < sizeof(signal_register_at) &&
	       read_stack(walk, at + signal_register_at[number], value);
}

/* The interrupted code's registers are in the frame that the kernel has made for the handler. */
static __always_inline int leave_signal(struct walk *walk)
{
	__u64 at = walk->sp;

	if (!read_signal(walk, at, SIGNAL_RIP, &walk->pc) ||
	    !read_signal(walk, at, SIGNAL_RBP, &walk->fp) ||
	    !read_signal(walk, at, SIGNAL_RSP, &walk->sp))
		return walk_end(walk, STACK_UNREADABLE);
	walk->signal_at = at;
	walk->saved_at = at + signal_register_at[SIGNAL_RBX];
	walk->exact = true;
	walk->fp_lost = false;
	return 0;
}

#endif
