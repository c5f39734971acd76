// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a stack costs the target: a function is called in a loop at several depths of a C program without
 * frame pointers, counted, reported without and with its stack. Rounds alternate; the best of each
 * counts. Prints ns a call, how much of it is the stack's, and what a frame costs beyond the first depth.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/helpers/native_target.h"

enum {
	CALLS = 20000,
	ROUNDS = 12,
	BUFFER_BYTES = 128 << 20,
};

enum variant { COUNT, NO_STACK, STACK, VARIANTS };

static const char *const variant_names[] = { "--count", "hits, --no-stack", "hits with stack" };
static const int depths[] = { 4, 16, 32, 64, 116 };

enum { DEPTHS = sizeof(depths) / sizeof(depths[0]) };

/* What both processes see. */
struct shared {
	atomic_int depth; /* asked for; 0: none */
	double ns;	  /* a call */
};

static struct shared *shared;

__attribute__((noinline, noclone)) static void victim(void)
{
	__asm__ volatile("push %%rbp; pop %%rbp" ::: "memory");
}

__attribute__((noinline, noclone)) static void call_at(int depth)
{
	if (depth > 0) {
		call_at(depth - 1);
	} else {
		uint64_t start = clock_now_ns();

		for (int i = 0; i < CALLS; i++)
			victim();
		shared->ns = (double)(clock_now_ns() - start) / CALLS;
	}
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static void target(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int depth = atomic_load(&shared->depth);

		if (depth) {
			call_at(depth);
			atomic_store(&shared->depth, 0);
		}
		usleep(200);
	}
}

struct bench {
	struct native_target target;
	uint64_t frames;
	uint64_t hits;
};

static bool on_hit(const struct hit_event *event, void *ctx)
{
	struct bench *bench = ctx;

	bench->hits++;
	bench->frames += event->frame_count;
	return true;
}

/* Ends the run once the target is done. */
static int on_tick(bool interval_over, void *ctx)
{
	(void)interval_over;
	(void)ctx;
	return atomic_load(&shared->depth) == 0;
}

static void fail(const struct error *err)
{
	fprintf(stderr, "stack_cost: %s\n", err->text);
	exit(1);
}

static double run(struct bench *bench, enum variant variant, int depth)
{
	const struct capture_handlers handlers = { .hit = on_hit, .tick = on_tick, .ctx = bench };
	const struct options options = {
		.mode = variant == COUNT ? MODE_COUNT : MODE_HITS,
		.stack = variant == STACK ? STACK_MODE_FULL : STACK_MODE_NONE,
		.max_frames = EVENT_MAX_FRAMES,
		.buffer_bytes = BUFFER_BYTES,
		.duration_ns = (uint64_t)20 * NS_PER_S,
	};
	struct capture *capture;
	struct error err = { .text = "" };
	enum capture_end end;

	if (native_target_probe(&bench->target, (uint64_t)(uintptr_t)victim, &options, &capture,
				&err))
		fail(&err);
	capture_activate(capture);
	atomic_store(&shared->depth, depth);
	if (capture_consume(capture, &handlers, &end, &err))
		fail(&err);
	capture_end(capture, &handlers);
	capture_destroy(capture);
	return shared->ns;
}

int main(void)
{
	static double best[DEPTHS][VARIANTS];
	double frames[DEPTHS] = { 0 };
	struct bench bench = { 0 };
	struct error err = { .text = "" };
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	pid = fork();
	if (pid == 0)
		target();
	if (native_target_open(&bench.target, pid, &err) ||
	    native_target_read_unwind(&bench.target, &err))
		fail(&err);
	for (int round = 0; round < ROUNDS; round++) {
		for (int d = 0; d < DEPTHS; d++) {
			for (int v = 0; v < VARIANTS; v++) {
				double ns;

				bench.hits = bench.frames = 0;
				ns = run(&bench, (enum variant)v, depths[d]);
				best[d][v] = best[d][v] == 0 || ns < best[d][v] ? ns : best[d][v];
				if (v == STACK && bench.hits)
					frames[d] = (double)bench.frames / (double)bench.hits;
			}
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("best of %d rounds of %d calls\n", ROUNDS, CALLS);
	for (int d = 0; d < DEPTHS; d++) {
		printf("%5.0f frames:", frames[d]);
		for (int v = 0; v < VARIANTS; v++)
			printf("  %s %.0f ns", variant_names[v], best[d][v]);
		printf("  the stack %.0f ns", best[d][STACK] - best[d][NO_STACK]);
		if (d)
			printf(", %.1f ns a frame",
			       (best[d][STACK] - best[0][STACK]) / (frames[d] - frames[0]));
		printf("\n");
	}
	native_target_close(&bench.target);
	return 0;
}
