// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks for its parent again and again, three inlined functions deep, by a tail call and from within
 * libc: what test_lines.py has the lines of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INLINED static inline __attribute__((always_inline))
#define CALLED	__attribute__((noinline, noclone))

static volatile int sink;

INLINED int innermost(int n)
{
	if (n & 1)
		sink = n;
	return n + getppid();
}

INLINED int middle(int n)
{
	int sum = 0;

	for (int i = 0; i < n % 3 + 1; i++)
		sum += innermost(n + i);
	return sum;
}

INLINED int outermost(int n)
{
	{
		int twice = n * 2;

		sink = twice;
		return middle(twice) - sink;
	}
}

CALLED int work(int n)
{
	int result = outermost(n);

	sink = result;
	return result + innermost(n);
}

CALLED int by_tail_call(int n)
{
	sink = n;
	return work(n + 1);
}

CALLED int two_in_a_line(int n)
{
	return by_tail_call(n) + work(n) + work(n + 1);
}

static int compare(const void *left, const void *right)
{
	const int *a = left, *b = right;

	sink = two_in_a_line(*a);
	return *a - *b;
}

CALLED void sort_some(void)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	sink = numbers[0];
}

int main(void)
{
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (;;) {
		sort_some();
		usleep(5000);
	}
}
