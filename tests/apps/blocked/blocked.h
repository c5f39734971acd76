/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a target that waits in one system call and looks whether anything of it has changed. */
#ifndef BLOCKED_H
#define BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

enum {
	REGISTERS = 15, /* rax rbx rcx rdx rsi rdi rbp r8 to r15: all but the stack pointer */
	XSAVE_BYTES = 16384,
	CODE_PAGES = 64,
};

/* What a thread goes into a system call with, and what it comes out with. Known to registers.c's assembly. */
struct crossing {
	uint64_t before[REGISTERS];
	uint64_t after[REGISTERS];
	uint64_t flags; /* before; afterwards they are in r11 */
	uint64_t mask;	/* of parts of the extended state */
	void *state_before;
	void *state_after;
};

enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Fill all registers that are no arguments with patterns. */
void crossing_prepare(struct crossing *crossing);

/* Make the system call; with @until, spin in user space until that is not 0 instead. */
void crossing_make(struct crossing *crossing, const volatile int *until);

/* Say on stderr which registers have changed, but for the result. Returns how many. */
int crossing_compare(const struct crossing *crossing, bool was_call);

/* Code in a shared mapping of a file in memory: a function a page, which returns the page's number. */
void code_map(void);

/*
 * Install the seccomp filter named @mode, which minds executable pages at a given address: by errno, trap, kill,
 * kill-thread, supervisor; kill-other minds something else. False if there is none.
 */
bool filter_install(const char *mode);

/* Call them all. How many were wrong. */
int code_check(void);

#endif
