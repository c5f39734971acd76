/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function that does nothing, as x86-64 code; it begins as functions do that uprobes are cheap on. */
#ifndef ARCH_X86_64_EMPTY_FUNCTION_X86_H
#define ARCH_X86_64_EMPTY_FUNCTION_X86_H

#include <stdint.h>

static const uint8_t empty_function[] = {
	0x55, /* push %rbp */
	0x5d, /* pop %rbp */
	0xc3, /* ret */
};

#endif
