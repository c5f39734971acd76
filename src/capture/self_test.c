// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel offers, tried out and told: place-probe --self-test. No run, and none of its
 * phases; the programs are loaded to see whether they can be.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "probe/breakpoint_event.h"
#include "probe/breakpoints.h"
#include "probe/programs.h"
#include "registers/in_flight.h"
#include "probe/uprobes.h"
#include "bpf/by.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/capture.h"
#include "base/error.h"
#include "target/process.h"
#include "target/refusal.h"

enum { RING_BYTES = 4096 };

/* Of each program: how many instructions the verifier has walked through, at most a million. */
static void tell_verified(FILE *to, const struct place_probe_bpf *bpf)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj)
	{
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);

		if (bpf_program__fd(program) >= 0 &&
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
			fprintf(to, "  %s: %u instructions verified\n", bpf_program__name(program),
				info.verified_insns);
	}
}

/* @to: say what each program costs the verifier; NULL: do not. */
static int try_load(bool multi, bool holding, FILE *to, struct error *err)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();
	struct bpf_program *program;
	int result;

	if (!bpf)
		return error_set(err, -errno, "cannot open the BPF object: %s", strerror(errno));
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf->rodata->max_frames = EVENT_MAX_FRAMES;
	bpf->rodata->slow_ns = 1;
	bpf->rodata->linear_step_ns = 1;
	bpf->rodata->latency_by = LATENCY_BY_CALLER;
	bpf->rodata->watch_values = true;
	bpf->rodata->watch_async = true;
	bpf->rodata->watch_filters = true;
	bpf->rodata->filters_at_end = true;
	bpf->rodata->by_when = BY_END;
	bpf->rodata->by_words = BY_VALUE_BYTES / 8;
	bpf_object__for_each_program(program, bpf->obj)
	{
		if (multi && bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
			bpf_program__set_expected_attach_type(
				program, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
		/* It holds threads. */
		if (bpf_program__flags(program) & BPF_F_SLEEPABLE)
			bpf_program__set_autoload(program, holding);
	}
	result = bpf_map__set_max_entries(bpf->maps.events, RING_BYTES);
	if (result == 0)
		result = place_probe_bpf__load(bpf);
	if (result == 0 && to)
		tell_verified(to, bpf);
	place_probe_bpf__destroy(bpf);
	return result ? refusal_of_programs(err, result) : 0;
}

/* What is missing here is missed only by some plans, so it is told and is no failure. */
static void tell_breakpoints(FILE *to)
{
	struct error err = { .text = "" };
	int shared = uprobe_shared_works(&err), free_registers;

	if (shared < 0)
		fprintf(to, "uprobes on shared mappings (JIT code): unknown: %s\n", err.text);
	else
		fprintf(to, "uprobes on shared mappings (JIT code): %s\n",
			shared ? "yes" : "no, hardware breakpoints are used");
	free_registers = breakpoints_free(&err);
	if (!breakpoint_events_fire())
		fprintf(to, "hardware breakpoints: none: %s\n", BREAKPOINTS_DEAD);
	else if (free_registers < 0)
		fprintf(to, "hardware breakpoints: none: %s\n", err.text);
	else
		fprintf(to, "hardware breakpoints: %d of %d free\n", free_registers,
			BREAKPOINTS_MAX);
}

/* Any process will do, and we are one. */
static void tell_in_flight(FILE *to)
{
	struct error err = { .text = "" };
	struct in_flight *in_flight = NULL;
	struct process process;
	int result = process_init(&process, getpid(), &err);

	if (result == 0) {
		result = in_flight_create(&in_flight, &process, &err);
		in_flight_destroy(in_flight);
		process_deinit(&process);
	}
	fprintf(to, "threads on the way into a body: %s\n", result == 0 ? "can be seen" : err.text);
}

int capture_self_test(FILE *to, struct error *err)
{
	bool multi = uprobe_multi_works(), holding;
	int result;

	programs_tell(true);
	result = try_load(false, false, NULL, err);
	fprintf(to, "BPF programs for perf events: %s\n", result ? "refused" : "loaded");
	holding = try_load(multi, true, NULL, NULL) == 0;
	fprintf(to, "holding threads: %s\n",
		holding ? "yes" :
			  "no, so calls of code that is compiled during a run may be missed");
	fprintf(to, "uprobe_multi: %s\n", multi ? "yes" : "no, perf events are used");
	fprintf(to, "code is mapped anew by itself: %s\n",
		!multi			 ? "no, for want of uprobe_multi" :
		programs_keep_replaced() ? "yes" :
					   "no, since what fails to be mapped may be gone");
	if (result == 0 && multi) {
		result = try_load(true, false, NULL, err);
		fprintf(to, "BPF programs for uprobe_multi: %s\n", result ? "refused" : "loaded");
	}
	if (result == 0)
		try_load(multi, holding, to, NULL);
	tell_breakpoints(to);
	tell_in_flight(to);
	return result;
}
