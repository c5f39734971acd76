/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers that a stack walk begins with, and what a branch looks at, x86-64. */
#ifndef BPF_ARCH_X86_64_REGISTERS_X86_BPF_H
#define BPF_ARCH_X86_64_REGISTERS_X86_BPF_H

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

/* Would a branch with @condition, the low four bits of Jcc, be taken? Intel SDM vol. 1, app. B. */
static __always_inline bool branch_taken(__u64 flags, __u32 condition)
{
	bool carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1;
	bool sign = flags >> 7 & 1, overflow = flags >> 11 & 1, taken;

	switch (condition >> 1) {
	case 0:
		taken = overflow;
		break;
	case 1:
		taken = carry;
		break;
	case 2:
		taken = zero;
		break;
	case 3:
		taken = carry || zero;
		break;
	case 4:
		taken = sign;
		break;
	case 5:
		taken = parity;
		break;
	case 6:
		taken = sign != overflow;
		break;
	default:
		taken = zero || sign != overflow;
		break;
	}
	return taken != (condition & 1);
}

#endif
