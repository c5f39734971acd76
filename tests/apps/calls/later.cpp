// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library that comes while its program runs. All calls go by one function, which counts them, and the first are
 * made while it is loaded: as the loader asks which function later_chosen() is, and by its constructor.
 */
#include <atomic>
#include <cstdint>

#define KEEP __attribute__((noinline, noclone))

static std::atomic<uint64_t> calls;

extern "C" {
/* Two exits. */
KEEP static int later_counted(int value)
{
	if (calls++ % 2)
		return value + 1;
	__asm__ volatile("");
	return value - 1;
}

typedef int (*chosen_function)(int);

chosen_function later_choose()
{
	later_counted(0);
	return later_counted;
}

int later_chosen(int value) __attribute__((ifunc("later_choose")));

int later_function(int value)
{
	volatile int result = later_counted(value);

	return result;
}

uint64_t later_calls()
{
	return calls;
}
}

__attribute__((constructor)) static void begin()
{
	volatile int result = later_chosen(1);

	(void)result;
}
