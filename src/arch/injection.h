/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Having a stopped thread of another process make a system call: its registers, the instruction,
 * and which system calls the kernel takes up again, unseen by the program, after such a stop.
 * Written for each architecture; inject/program/ is what uses it.
 */
#ifndef ARCH_INJECTION_H
#define ARCH_INJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

enum { INJECTION_ARGUMENTS = 6 };

struct injection {
	long mmap_number;
	uint32_t audit_arch; /* how seccomp filters see the machine */
	uint8_t instruction[4];
	size_t instruction_bytes;
};

extern const struct injection injection;

/* How well a thread can be stopped that waits in a system call: the lower the better. */
enum call_restart {
	RESTART_LOCK,	 /* waits for a lock or a signal of another thread */
	RESTART_SLEEP,	 /* sleeps */
	RESTART_POLL,	 /* waits for descriptors */
	RESTART_READ,	 /* the same, if its first argument is a pipe or an eventfd */
	RESTART_CHILD,	 /* waits for a child */
	RESTART_RUNNING, /* is in no system call that lasts */
	RESTART_STOPPED, /* was not in one when it was stopped, or waits for a page */
	RESTART_NEVER,	 /* it may return EINTR to the program, or nobody has tried */
};

/* Of system call @number, other than the last two but one. */
enum call_restart call_restart(long number, const uint64_t arguments[INJECTION_ARGUMENTS]);

/* Are these, of which the kernel gave @size bytes, of a thread that runs code like ours? */
bool registers_are_native(const struct user_regs_struct *registers, size_t size);

uint64_t registers_code(const struct user_regs_struct *registers);

/* Have the thread make the call by the instruction at @instruction, and no call taken up again. */
void registers_set_call(struct user_regs_struct *registers, uint64_t instruction, long number,
			const uint64_t arguments[INJECTION_ARGUMENTS]);

/* What the call has returned. */
int64_t registers_result(const struct user_regs_struct *registers);

/*
 * Has the stop made a system call return EINTR that has done nothing and that the program would
 * see? Then registers_rewind() has the thread make it again.
 */
bool registers_show_eintr(const struct user_regs_struct *registers);
void registers_rewind(struct user_regs_struct *registers);

#endif
