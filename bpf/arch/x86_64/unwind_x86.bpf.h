/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames that no compiler has described, x86-64: of a function's entry, and of a signal. */
#ifndef BPF_ARCH_X86_64_UNWIND_X86_BPF_H
#define BPF_ARCH_X86_64_UNWIND_X86_BPF_H

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
