/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded before a program, it has none of the CPU's debug registers for it, as if others had them all.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long words[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_perf_event_open &&
	    ((const struct perf_event_attr *)words[0])->type == PERF_TYPE_BREAKPOINT) {
		errno = ENOSPC;
		return -1;
	}
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
