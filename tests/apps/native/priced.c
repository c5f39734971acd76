// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls functions in a loop that do nothing with what they are given, and tells what a call took: what a
 * probe that looks at that costs. Each begins with push %rbp, which the kernel emulates, and has one return.
 * Reads commands:
 *
 *   calls NAME N    answers "done NS" for a call of ints(), result(), text() or object()
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Not optimised, they have a prologue. */
#define KEPT __attribute__((noinline, noclone, optimize("O0")))

struct order {
	int number;
	long price;
};

void priced_ints(int first, int second);
int priced_result(int first, int second);
void priced_text(const char *text);
void priced_object(const struct order *order);

KEPT void priced_ints(int first, int second)
{
	(void)first;
	(void)second;
}

KEPT int priced_result(int first, int second)
{
	return first + second;
}

KEPT void priced_text(const char *text)
{
	(void)text;
}

KEPT void priced_object(const struct order *order)
{
	(void)order;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double call(const char *name, int calls)
{
	static const char text[] = "thirty-two characters, not more.";
	static const struct order order = { 7, 1200 };
	double start = now_ns();

	for (int i = 0; i < calls; i++) {
		if (name[0] == 'i')
			priced_ints(i, -i);
		else if (name[0] == 'r')
			(void)priced_result(i, -i);
		else if (name[0] == 't')
			priced_text(text);
		else
			priced_object(&order);
	}
	return (now_ns() - start) / calls;
}

int main(void)
{
	char line[80], name[16];
	int calls;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "calls %15s %d", name, &calls) == 2 && calls > 0)
			printf("done %.1f\n", call(name, calls));
	}
	return 0;
}
