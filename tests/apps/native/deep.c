// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls a function in a loop, so many calls deep, and tells what a call took. Built with frame pointers,
 * for those who have nothing else to go by; the function begins with push %rbp, and has one return. Reads
 * commands:
 *
 *   where            answers "at ADDRESS EXIT": the function's, and its return's
 *   ways N [FIRST]   answers "done N" for one call of it by each of so many ways, from that one on, of a million
 *   calls N DEPTH    answers "done NS" for a call of it; with it there are DEPTH frames up to main()
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	TURNS = 20,	  /* of each way */
	OTHER_FRAMES = 3, /* main(), the function, and who calls it */
};

void hit(void);
void hit_exit(void);

__asm__(".pushsection .text\n"
	".globl hit, hit_exit\n"
	".type hit, @function\n"
	"hit: .cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register rbp\n"
	"pop %rbp\n"
	".cfi_def_cfa rsp, 8\n"
	"hit_exit: ret\n"
	".cfi_endproc\n"
	".size hit, . - hit\n"
	".popsection\n");

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

__attribute__((noinline, noclone)) static double call_at(int depth, int calls)
{
	double start, took;

	if (depth > 0) {
		took = call_at(depth - 1, calls);
	} else {
		start = now_ns();
		for (int i = 0; i < calls; i++)
			hit();
		took = (now_ns() - start) / calls;
	}
	__asm__ volatile("" ::: "memory"); /* no tail call */
	return took;
}

static void turn(unsigned int way, int left);

__attribute__((noinline, noclone)) static void turn_left(unsigned int way, int left)
{
	turn(way, left);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) static void turn_right(unsigned int way, int left)
{
	turn(way, left);
	__asm__ volatile("" ::"r"(left) : "memory");
}

/* The way has a bit for each turn. */
__attribute__((noinline, noclone)) static void turn(unsigned int way, int left)
{
	if (left == 0)
		hit();
	else if (way & 1)
		turn_left(way >> 1, left - 1);
	else
		turn_right(way >> 1, left - 1);
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	char line[80];
	int calls, depth, first;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "calls %d %d", &calls, &depth) == 2 && calls > 0)
			printf("done %.1f\n", call_at(depth - OTHER_FRAMES, calls));
		else if (sscanf(line, "ways %d", &calls) == 1) {
			if (sscanf(line, "ways %*d %d", &first) != 1)
				first = 0;
			for (int i = first; i < first + calls; i++)
				turn((unsigned int)i, TURNS);
			printf("done %d\n", calls);
		} else
			printf("at %p %p\n", (void *)hit, (void *)hit_exit);
	}
	return 0;
}
