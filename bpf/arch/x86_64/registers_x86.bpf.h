/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers by what they are for, x86-64, and by them whether a thread is about to enter a body.
 * The offset of a member is the same in the kernel's struct pt_regs, which names them otherwise.
 */
#ifndef BPF_ARCH_X86_64_REGISTERS_X86_BPF_H
#define BPF_ARCH_X86_64_REGISTERS_X86_BPF_H

static __always_inline struct registers registers_of(const bpf_user_pt_regs_t *ctx)
{
	return (struct registers){
		.instruction_pointer = ctx->rip,
		.stack_pointer = ctx->rsp,
		.frame_pointer = ctx->rbp,
		.saved = ctx->rbx,
	};
}

#define REGISTER_OF(name, member)                                        \
	static __always_inline __u64 name(const bpf_user_pt_regs_t *ctx) \
	{                                                                \
		return ctx->member;                                      \
	}

REGISTER_OF(instruction_pointer_of, rip)
REGISTER_OF(stack_pointer_of, rsp)
REGISTER_OF(frame_pointer_of, rbp)
REGISTER_OF(flags_of, eflags)	   /* what branch_taken() looks at */
REGISTER_OF(result_of, rax)	   /* at a function's return */
REGISTER_OF(second_result_of, rdx) /* of one of two words */
/*
 * At the entry of a stub of P/Invokes: where the runtime has the callee's MethodDesc
 * (src/coreclr/vm/amd64/asmconstants.h, METHODDESC_REGISTER).
 */
REGISTER_OF(stub_callee_of, r10)

/* At a function's entry: argument @number, from 1 to 6. System V ABI, AMD64 supplement, 3.2.3. */
static __always_inline __u64 argument_of(const bpf_user_pt_regs_t *ctx, int number)
{
	switch (number) {
	case 1:
		return ctx->rdi;
	case 2:
		return ctx->rsi;
	case 3:
		return ctx->rdx;
	case 4:
		return ctx->rcx;
	case 5:
		return ctx->r8;
	default:
		return ctx->r9;
	}
}

/* What a function leaves as it was. The verifier takes no register by a number. */
enum { KEPT_REGISTERS = 6 };

static __always_inline void read_kept_registers(__u64 *to, const bpf_user_pt_regs_t *ctx)
{
	to[0] = ctx->rbx;
	to[1] = ctx->rbp;
	to[2] = ctx->r12;
	to[3] = ctx->r13;
	to[4] = ctx->r14;
	to[5] = ctx->r15;
}

/* In the caller, once a call has returned that began at @stack_pointer. */
static __always_inline __u64 stack_pointer_after(__u64 stack_pointer)
{
	return stack_pointer + 8;
}

/* Where a function that has just been entered returns to; 0 if that cannot be read. */
static __always_inline __u64 return_address_of(const struct registers *regs)
{
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)regs->stack_pointer);
	return address;
}

/* Of a task's registers, which are the kernel's memory; false if they cannot be read. */
static __always_inline bool read_stack_pointer(const bpf_user_pt_regs_t *regs, __u64 *value)
{
	return !bpf_probe_read_kernel(value, sizeof(*value), &regs->rsp);
}

static __always_inline bool read_instruction_pointer(const bpf_user_pt_regs_t *regs, __u64 *value)
{
	return !bpf_probe_read_kernel(value, sizeof(*value), &regs->rip);
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

/* Is there a uprobe in the code at @address, so that it is hit next? */
static __always_inline bool uprobe_is_at(__u64 address)
{
	__u8 byte = 0;

	return !bpf_probe_read_user(&byte, sizeof(byte), (void *)address) && byte == 0xcc;
}

/* Threads in flight ------------------------------------------------------------------------- */

/*
 * Set where an instruction is to be executed whose breakpoint has fired (Intel SDM vol. 3,
 * 18.3.1.1; arch/x86/kernel/hw_breakpoint.c). Threads lose their CPU there more often than anywhere
 * else.
 */
enum { RESUME_FLAG = 1 << 16 };

static __always_inline bool is_in_system_call(const bpf_user_pt_regs_t *regs)
{
	return (__s64)regs->orig_rax >= 0;
}

/* Some number that is another one once the thread has executed a few instructions. */
static __always_inline __u64 hash_registers(const bpf_user_pt_regs_t *regs)
{
	return (((regs->rip * 31 + regs->rsp) * 31 + regs->rax) * 31 + regs->rcx) * 31 + regs->rdx;
}

/*
 * @regs are as the thread has entered the kernel. Either it is there already, or it is to jump to
 * what a register has. A system call does neither: it returns to the runtime or to a library.
 */
static __always_inline bool is_in_flight(const bpf_user_pt_regs_t *regs, __u64 entry)
{
	if (regs->rip == entry)
		return !(regs->eflags & RESUME_FLAG);
	if (is_in_system_call(regs))
		return false;
	return regs->rax == entry || regs->rcx == entry || regs->rdx == entry ||
	       regs->rbx == entry || regs->rbp == entry || regs->rsi == entry ||
	       regs->rdi == entry || regs->r8 == entry || regs->r9 == entry || regs->r10 == entry ||
	       regs->r11 == entry || regs->r12 == entry || regs->r13 == entry ||
	       regs->r14 == entry || regs->r15 == entry;
}

#endif
