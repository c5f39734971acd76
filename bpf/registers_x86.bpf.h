/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The three registers that a stack walk begins with, x86-64. */
#ifndef BPF_REGISTERS_X86_BPF_H
#define BPF_REGISTERS_X86_BPF_H

struct registers {
	__u64 instruction_pointer;
	__u64 stack_pointer;
	__u64 frame_pointer;
};

static __always_inline struct registers registers_of(const struct pt_regs *ctx)
{
	return (struct registers){
		.instruction_pointer = ctx->rip,
		.stack_pointer = ctx->rsp,
		.frame_pointer = ctx->rbp,
	};
}

#endif
