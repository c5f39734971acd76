/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every fuzzer has: its entry, and what must hold whatever the bytes are. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool right)
{
	if (!right)
		__builtin_trap();
}

#endif
