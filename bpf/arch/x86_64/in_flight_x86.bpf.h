/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a thread is about to enter a body, by its registers, x86-64. */
#ifndef BPF_ARCH_X86_64_IN_FLIGHT_X86_BPF_H
#define BPF_ARCH_X86_64_IN_FLIGHT_X86_BPF_H

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
