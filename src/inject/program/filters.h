/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seccomp filters of a thread, asked before it makes a system call for us: one that refuses is told
 * by the call itself, one that ends the program must be known before.
 */
#ifndef INJECT_PROGRAM_FILTERS_H
#define INJECT_PROGRAM_FILTERS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/injection.h"

/*
 * Would thread @tid, which is stopped, be ended for mmap() with these arguments by the instruction
 * at @instruction, or have to wait for a supervisor? True as well if that cannot be told.
 */
bool filters_harm(pid_t tid, uint64_t instruction, const uint64_t arguments[INJECTION_ARGUMENTS]);

/* What a filter makes of a system call: SECCOMP_RET_... False if it makes no sense. */
bool filter_run(const struct sock_filter *filter, size_t count, const struct seccomp_data *data,
		uint32_t *verdict);

#endif
