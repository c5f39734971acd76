/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Breakpoints on a caller with the real BPF program: three counts of the same calls, the
 * caller's own, BPF's and the kernel's, must agree when it ends.
 */
#ifndef BREAKPOINT_BENCH_H
#define BREAKPOINT_BENCH_H

#include "unit.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "probe/breakpoints.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "caller.h"
#include "base/error.h"
#include "target/process.h"

/* Breakpoints on a caller, and all that they need. */
struct bench {
	struct caller caller;
	struct process process;
	struct place_probe_bpf *bpf;
	struct breakpoints *breakpoints;
	bool armed[BODIES]; /* at some time or other */
	struct error err;
};

static inline struct address body_address(int body)
{
	return (struct address){ (uint64_t)(uintptr_t)caller_bodies[body] };
}

static inline void load(struct bench *bench, pid_t tid)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();
	struct bpf_program *program;

	assert_non_null(bpf);
	bench->bpf = bpf;
	bpf->rodata->target_tgid =
		(uint32_t)(bench->process.initial_pid_ns ? bench->process.pid :
							   bench->process.ns_pid);
	if (!bench->process.initial_pid_ns) {
		bpf->rodata->target_pid_ns_dev = bench->process.pid_ns_dev;
		bpf->rodata->target_pid_ns_inode = bench->process.pid_ns_inode;
	}
	bpf->rodata->target_tid = (uint32_t)tid;
	bpf_object__for_each_program(program, bpf->obj)
	{
		bpf_program__set_autoload(program, program == bpf->progs.count_break);
	}
	assert_return_code(bpf_map__set_max_entries(bpf->maps.counters, BODIES), 0);
	assert_return_code(bpf_map__set_max_entries(bpf->maps.events, 4096), 0);
	assert_return_code(bpf_map__set_max_entries(bpf->maps.breakpoint_sites, 1024), 0);
	assert_return_code(place_probe_bpf__load(bpf), 0);
	bpf->bss->active = 1;
}

static const struct bench new_bench = {
	.process = { .pidfd = -1, .proc_fd = -1, .view_fd = -1 },
};

/* Look at the caller, and load a program for it or for its thread @tid. */
static inline void open_bench(struct bench *bench, pid_t tid)
{
	struct breakpoints_config config = { .tid = tid };

	if (process_init(&bench->process, bench->caller.pid, &bench->err))
		fail_msg("%s", bench->err.text);
	load(bench, tid);
	config.program_fd = bpf_program__fd(bench->bpf->progs.count_break);
	config.sites_fd = bpf_map__fd(bench->bpf->maps.breakpoint_sites);
	config.process = &bench->process;
	assert_return_code(breakpoints_create(&bench->breakpoints, &config, &bench->err), 0);
}

static inline void begin(struct bench *bench)
{
	assert_true(caller_begin(&bench->caller));
	open_bench(bench, 0);
}

/* The site of a body is its number. */
static inline int add(struct bench *bench, int body)
{
	bench->err.text[0] = '\0';
	return breakpoints_add(bench->breakpoints, body_address(body), (uint32_t)body, &bench->err);
}

static inline int must_add(struct bench *bench, int body)
{
	int slot = add(bench, body);

	if (slot < 0)
		fail_msg("%s", bench->err.text);
	bench->armed[body] = true;
	return slot;
}

static inline void must_move(struct bench *bench, int slot, int body)
{
	if (breakpoints_move(bench->breakpoints, slot, body_address(body), (uint32_t)body,
			     &bench->err))
		fail_msg("%s", bench->err.text);
	bench->armed[body] = true;
}

static inline void order(struct bench *bench, enum order what, int body, int threads, int calls)
{
	struct caller_order words = { what, body, threads, calls };

	assert_true(caller_do(&bench->caller, words));
}

/* Of one site, over all CPUs. */
static inline struct site_counters counters(const struct bench *bench, int body)
{
	struct site_counters sum = { 0 };
	uint32_t site = (uint32_t)body;

	assert_return_code(bpf_map_lookup_elem(bpf_map__fd(bench->bpf->maps.counters), &site, &sum),
			   0);
	return sum;
}

static inline unsigned long hits(const struct bench *bench, int body)
{
	return counters(bench, body).hits;
}

/* Of all sites, whoever's hits they were. */
static inline unsigned long runs(const struct bench *bench)
{
	unsigned long sum = bench->bpf->bss->unknown_runs;

	for (int i = 0; i < BODIES; i++)
		sum += counters(bench, i).runs;
	return sum;
}

static inline void close_bench(struct bench *bench)
{
	breakpoints_destroy(bench->breakpoints);
	place_probe_bpf__destroy(bench->bpf);
	process_deinit(&bench->process);
}

/* Returns how it had ended before, 0 if it had not. */
static inline int end_caller(struct bench *bench)
{
	int status = caller_end(&bench->caller);

	close_bench(bench);
	*bench = new_bench;
	return status;
}

/*
 * End it: of the bodies with a breakpoint every call was counted, by BPF and by the kernel, and of
 * the others none. @others fired and are not the caller's. A hit that the kernel left out is known.
 */
static inline void end(struct bench *bench, unsigned long others)
{
	uint64_t fired = breakpoints_stop(bench->breakpoints);
	const atomic_ulong *called = bench->caller.shared->calls;
	unsigned long calls = 0, counted = 0, ran = runs(bench);

	for (int i = 0; i < BODIES; i++) {
		counted += hits(bench, i);
		calls += bench->armed[i] ? called[i] : 0;
		if (fired == ran)
			assert_int_equal(hits(bench, i), bench->armed[i] ? called[i] : 0);
	}
	assert_int_equal(fired, calls + others);
	assert_int_equal(ran, counted + others);
	assert_int_equal(bench->bpf->bss->unknown_runs, 0);
	if (fired != ran)
		print_message("the kernel left out %lu of %lu hits\n", (unsigned long)fired - ran,
			      (unsigned long)fired);
	assert_int_equal(end_caller(bench), 0);
}

static inline int set_up(void **state)
{
	struct error err = { .text = "" };
	int free_registers;

	libbpf_set_print(NULL);
	/* Of the machine's: somebody else's test may have some just now. */
	for (int i = 0; (free_registers = breakpoints_free(&err)) != BREAKPOINTS_MAX && i < 300;
	     i++)
		usleep(100000);
	if (free_registers != BREAKPOINTS_MAX) {
		print_error("%d of %d debug registers are free %s\n", free_registers,
			    BREAKPOINTS_MAX, err.text);
		return -1;
	}
	*state = malloc(sizeof(struct bench));
	if (!*state)
		return -1;
	*(struct bench *)*state = new_bench;
	return 0;
}

/* After a failure there is something left. */
static inline int tear_down(void **state)
{
	struct bench *bench = *state;

	if (bench->caller.pid)
		end_caller(bench);
	free(bench);
	return 0;
}

#endif
