/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A capture of a plan that is made by hand, on a process whose functions are called on demand. */
#ifndef CAPTURE_BENCH_H
#define CAPTURE_BENCH_H

#include "unit.h"

#include <bpf/bpf.h>

#include "arch/arch.h"
#include "base/clock.h"
#include "base/error.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "caller.h"
#include "capture/capture_internal.h"
#include "probe/breakpoints.h"
#include "target/process.h"
#include "tests/helpers/capture_phases.h"
#include "tests/unit/file_offset.h"

enum {
	HITS_MAX = 256,
	BEYOND_FILE = 1 << 30,
};

struct bench {
	struct caller caller;
	struct process process;
	struct options options;
	struct site sites[BODIES];
	struct plan plan;
	int file_fds[1];
	struct capture *capture;
	struct site_counters counters[BODIES];
	struct hit_event hits[HITS_MAX];
	size_t hit_count;
	struct error err;
};

/* The next site of the plan: body number plan.count. */
static inline void plan_body(struct bench *bench, enum mechanism mechanism)
{
	size_t body = bench->plan.count++;
	struct address address = { (uint64_t)(uintptr_t)caller_bodies[body] };

	bench->sites[body] = (struct site){
		.mechanism = mechanism,
		.address = address,
		.offset = offset_of(&bench->process, address),
	};
}

static inline int create(struct bench *bench)
{
	return capture_begin(&bench->capture, &bench->options, &bench->process, &bench->plan,
			     bench->file_fds, NULL, &bench->err);
}

static inline bool on_hit(const struct hit_event *event, void *ctx)
{
	struct bench *bench = ctx;

	assert_true(bench->hit_count < HITS_MAX);
	memcpy(&bench->hits[bench->hit_count++], event,
	       HIT_EVENT_HEADER_BYTES + event->frame_count * sizeof(event->frames[0]));
	return true;
}

static inline int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct error err = { .text = "" };
	int free_registers;

	if (!bench)
		return -1;
	/* Of the machine's: somebody else's test may have some just now. */
	for (int i = 0; (free_registers = breakpoints_free(&err)) != BREAKPOINTS_MAX && i < 300;
	     i++)
		usleep(100000);
	if (free_registers != BREAKPOINTS_MAX || !caller_begin(&bench->caller) ||
	    process_init(&bench->process, bench->caller.pid, &err)) {
		print_error("%d of %d debug registers are free %s\n", free_registers,
			    BREAKPOINTS_MAX, err.text);
		free(bench);
		return -1;
	}
	bench->options = (struct options){
		.mode = MODE_COUNT,
		.max_frames = EVENT_MAX_FRAMES,
		.duration_ns = 100 * (uint64_t)NS_PER_MS,
		.buffer_bytes = 1 << 20,
		.pid = bench->caller.pid,
	};
	bench->plan.sites = bench->sites;
	bench->file_fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	*state = bench;
	return 0;
}

static inline int tear_down(void **state)
{
	struct bench *bench = *state;
	int status;

	capture_destroy(bench->capture);
	close(bench->file_fds[0]);
	status = caller_end(&bench->caller);
	process_deinit(&bench->process);
	free(bench);
	return status;
}

#endif
