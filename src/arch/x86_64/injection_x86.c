// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls of x86-64 and its registers, for the injector: it picks a thread by them. */
#include "arch/injection.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum {
	USER_CODE_64 = 0x33, /* __USER_CS, arch/x86/include/asm/segment.h */
	SYSCALL_BYTES = 2,
};

const struct injection injection = {
	.mmap_number = SYS_mmap,
	.audit_arch = AUDIT_ARCH_X86_64,
	.instruction = { 0x0f, 0x05 },
	.instruction_bytes = SYSCALL_BYTES,
};

/* Others, of mutexes that inherit priority, are taken up again by other rules. */
static bool is_plain_wait(uint64_t operation)
{
	uint64_t command = operation & (uint64_t)FUTEX_CMD_MASK & UINT32_MAX;

	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

/*
 * Never: epoll_wait and its kin, rt_sigtimedwait, and reads of sockets with a time limit, which
 * return EINTR whatever has stopped them.
 */
enum call_restart call_restart(long number, const uint64_t arguments[INJECTION_ARGUMENTS])
{
	switch (number) {
	case SYS_futex:
		return is_plain_wait(arguments[1]) ? RESTART_LOCK : RESTART_NEVER;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	/* What any call with a time limit is once it has been taken up again. */
	case SYS_restart_syscall:
		return RESTART_SLEEP;
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
		return RESTART_POLL;
	case SYS_read:
		return RESTART_READ;
	case SYS_wait4:
	case SYS_waitid:
		return RESTART_CHILD;
	default:
		return RESTART_NEVER;
	}
}

bool registers_are_native(const struct user_regs_struct *registers, size_t size)
{
	return size == sizeof(*registers) && registers->cs == USER_CODE_64;
}

uint64_t registers_code(const struct user_regs_struct *registers)
{
	return registers->rip;
}

void registers_set_call(struct user_regs_struct *registers, uint64_t instruction, long number,
			const uint64_t arguments[INJECTION_ARGUMENTS])
{
	registers->rip = instruction;
	registers->rax = (unsigned long long)number;
	/* Of no call: else the kernel takes up again the one that it believes was interrupted. */
	registers->orig_rax = ~0ULL;
	registers->rdi = arguments[0];
	registers->rsi = arguments[1];
	registers->rdx = arguments[2];
	registers->r10 = arguments[3];
	registers->r8 = arguments[4];
	registers->r9 = arguments[5];
}

int64_t registers_result(const struct user_regs_struct *registers)
{
	return (int64_t)registers->rax;
}

bool registers_show_eintr(const struct user_regs_struct *registers)
{
	if ((int64_t)registers->rax != -EINTR)
		return false;
	switch ((int64_t)registers->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_io_getevents:
	case SYS_accept:
	case SYS_accept4:
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
		return true;
	default:
		return false;
	}
}

void registers_rewind(struct user_regs_struct *registers)
{
	registers->rip -= SYSCALL_BYTES;
	registers->rax = registers->orig_rax;
	registers->orig_rax = ~0ULL;
}
