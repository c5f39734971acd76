// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a hardware breakpoint costs: a hit, with an empty BPF program behind it and with
 * place-probe's own, in alternating rounds of which the best counts; and arming, moving and
 * taking away, with few and with many threads in the target, which is this process itself.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/breakpoints.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "base/clock.h"
#include "base/error.h"
#include "target/process.h"

enum {
	CALLS = 2000, /* short, so that some rounds are not disturbed at all */
	ROUNDS = 60,
	MOVES = 500,
	RING_BYTES = 64 << 20,
	STACK_BYTES = 64 << 10,
};

enum variant { BARE, EMPTY, COUNT, REPORT_NO_STACK, REPORT, VARIANTS };

static const char *const variant_names[] = {
	"no breakpoint", "empty BPF program", "--count", "hits, --no-stack", "hits with stack",
};

__attribute__((noinline, noclone)) static void victim(void)
{
	__asm__ volatile("push %%rbp; pop %%rbp" ::: "memory");
}

__attribute__((noinline, noclone)) static void other_victim(void)
{
	__asm__ volatile("push %%rbp; pop %%rbp; nop" ::: "memory");
}

static struct address address_of(void (*function)(void))
{
	return (struct address){ (uint64_t)(uintptr_t)function };
}

static int load_empty(void)
{
	const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", return_0, 2, NULL);
}

static struct place_probe_bpf *load_ours(unsigned int max_frames)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();

	if (!bpf)
		return NULL;
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf->rodata->max_frames = max_frames;
	bpf->rodata->wakeup_bytes = UINT64_MAX;
	bpf_map__set_max_entries(bpf->maps.events, RING_BYTES);
	bpf_map__set_max_entries(bpf->maps.walks,
				 (uint32_t)(libbpf_num_possible_cpus() * WALK_SCRATCHES));
	bpf_map__set_max_entries(bpf->maps.breakpoint_sites, 4096);
	if (place_probe_bpf__load(bpf)) {
		place_probe_bpf__destroy(bpf);
		return NULL;
	}
	bpf->bss->active = 1;
	return bpf;
}

static int discard(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

static struct breakpoints *arm(struct process *self, int program_fd, int sites_fd)
{
	const struct breakpoints_config config = {
		.program_fd = program_fd,
		.sites_fd = sites_fd,
		.process = self,
	};
	struct error err = { .text = "" };
	struct breakpoints *breakpoints;

	if (breakpoints_create(&breakpoints, &config, &err) ||
	    breakpoints_add(breakpoints, address_of(victim), 0, &err) < 0) {
		fprintf(stderr, "breakpoint_cost: %s\n", err.text);
		exit(1);
	}
	return breakpoints;
}

static double round_ns(struct process *self, int program_fd, int sites_fd)
{
	struct breakpoints *breakpoints = program_fd >= 0 ? arm(self, program_fd, sites_fd) : NULL;
	uint64_t start = clock_now_ns(), end;

	for (int i = 0; i < CALLS; i++)
		victim();
	end = clock_now_ns();
	breakpoints_destroy(breakpoints);
	return (double)(end - start) / CALLS;
}

static void bench_hits(struct process *self, struct place_probe_bpf *count,
		       struct place_probe_bpf *no_stack, struct place_probe_bpf *stack)
{
	const int programs[VARIANTS] = {
		[BARE] = -1,
		[EMPTY] = load_empty(),
		[COUNT] = bpf_program__fd(count->progs.count_break),
		[REPORT_NO_STACK] = bpf_program__fd(no_stack->progs.report_break),
		[REPORT] = bpf_program__fd(stack->progs.report_break),
	};
	const int maps[VARIANTS] = {
		[BARE] = -1,
		[EMPTY] = bpf_map__fd(count->maps.breakpoint_sites),
		[COUNT] = bpf_map__fd(count->maps.breakpoint_sites),
		[REPORT_NO_STACK] = bpf_map__fd(no_stack->maps.breakpoint_sites),
		[REPORT] = bpf_map__fd(stack->maps.breakpoint_sites),
	};
	struct ring_buffer *rings[] = {
		ring_buffer__new(bpf_map__fd(no_stack->maps.events), discard, NULL, NULL),
		ring_buffer__new(bpf_map__fd(stack->maps.events), discard, NULL, NULL),
	};
	double best[VARIANTS] = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		for (int v = 0; v < VARIANTS; v++) {
			double ns = round_ns(self, programs[v], maps[v]);

			best[v] = best[v] == 0 || ns < best[v] ? ns : best[v];
			ring_buffer__consume(rings[0]);
			ring_buffer__consume(rings[1]);
		}
	}
	printf("hits of a hardware breakpoint, best of %d rounds of %d calls\n", ROUNDS, CALLS);
	for (int v = 0; v < VARIANTS; v++)
		printf("%-20s %8.1f ns a call  %5.3f x the empty program\n", variant_names[v],
		       best[v], best[v] / best[EMPTY]);
}

/* Arming and moving ----------------------------------------------------------------------- */

static void *idle(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void start_threads(int count)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 0; i < count; i++) {
		if (pthread_create(&thread, &attr, idle, NULL) != 0)
			exit(1);
	}
	pthread_attr_destroy(&attr);
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void print_times(const char *what, int threads, uint64_t *times, size_t count)
{
	size_t middle = count / 2, almost_all = count * 99 / 100;

	qsort(times, count, sizeof(*times), by_value);
	printf("%-10s %3d threads   median %7.1f us   99 %% within %7.1f us\n", what, threads,
	       (double)times[middle] / NS_PER_US, (double)times[almost_all] / NS_PER_US);
}

static void bench_moves(struct process *self, struct place_probe_bpf *count, int threads)
{
	static uint64_t armed[ROUNDS], taken[ROUNDS], moved[MOVES];
	int program_fd = bpf_program__fd(count->progs.count_break);
	int sites_fd = bpf_map__fd(count->maps.breakpoint_sites);
	struct breakpoints *breakpoints;
	uint64_t start;

	for (int i = 0; i < ROUNDS; i++) {
		start = clock_now_ns();
		breakpoints = arm(self, program_fd, sites_fd);
		armed[i] = clock_now_ns() - start;
		start = clock_now_ns();
		breakpoints_destroy(breakpoints);
		taken[i] = clock_now_ns() - start;
	}
	breakpoints = arm(self, program_fd, sites_fd);
	for (int i = 0; i < MOVES; i++) {
		start = clock_now_ns();
		if (breakpoints_move(breakpoints, 0, address_of(i % 2 ? victim : other_victim), 0,
				     NULL))
			exit(1);
		moved[i] = clock_now_ns() - start;
	}
	breakpoints_destroy(breakpoints);
	print_times("armed", threads, armed, ROUNDS);
	print_times("moved", threads, moved, MOVES);
	print_times("taken away", threads, taken, ROUNDS);
}

int main(void)
{
	struct place_probe_bpf *count = load_ours(0), *no_stack = load_ours(0),
			       *stack = load_ours(EVENT_MAX_FRAMES);
	/* As the thread does that moves breakpoints while others wait for it. */
	const struct sched_param first = { .sched_priority = 50 };
	struct error err = { .text = "" };
	struct process self;

	if (!count || !no_stack || !stack || process_init(&self, getpid(), &err)) {
		fprintf(stderr, "breakpoint_cost: the programs do not load (root?) %s\n", err.text);
		return 1;
	}
	bench_hits(&self, count, no_stack, stack);
	start_threads(7);
	sched_setscheduler(0, SCHED_FIFO, &first);
	bench_moves(&self, count, 8);
	start_threads(192);
	bench_moves(&self, count, 200);
	return 0;
}
