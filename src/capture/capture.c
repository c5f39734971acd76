// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The object that goes through the phases of capture.h: its beginning and its end, the switch by
 * which hits count, and what others ask of it. In between: load.c, attach.c, consume.c, and
 * attach.c again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "capture/capture_internal.h"
#include "follow/follow.h"
#include "probe/online_cpus.h"

int capture_create(struct capture **out, const struct options *options, struct process *process,
		   struct plan *plan, struct error *err)
{
	int cpu_count = possible_cpus(err);
	struct capture *capture;

	if (cpu_count < 0)
		return cpu_count;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return error_set(err, -ENOMEM, "no memory to attach");
	capture->options = options;
	capture->process = process;
	capture->plan = plan;
	capture->signal_fd = -1;
	capture->wakes_fd = -1;
	capture->spurious_traps_fd = capture->thread_exits_fd = -1;
	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		capture->slots[i] = -1;
	capture->cpu_count = cpu_count;
	*out = capture;
	return 0;
}

void capture_prepare(struct capture *capture, struct capture_opening *opening, bool natives_only)
{
	capture->opening = opening;
	capture->natives_only = natives_only;
}

void capture_destroy(struct capture *capture)
{
	if (!capture)
		return;
	capture_await_load(capture);
	follow_destroy(capture->follow);
	breakpoints_destroy(capture->breakpoints);
	cleanup_close(&capture->spurious_traps_fd);
	cleanup_close(&capture->thread_exits_fd);
	uprobes_destroy(capture->uprobes);
	uprobes_destroy(capture->moves);
	uprobes_destroy(capture->thrown);
	uprobes_destroy(capture->collections);
	capture_close_ring(capture);
	free(capture->decided);
	capture_unload(capture);
	cleanup_close(&capture->signal_fd);
	free(capture);
}

void capture_activate(struct capture *capture)
{
	__atomic_store_n(&capture->bpf->bss->active, 1, __ATOMIC_SEQ_CST);
}

void capture_deactivate(struct capture *capture)
{
	struct follow_losses losses;

	__atomic_store_n(&capture->bpf->bss->active, 0, __ATOMIC_SEQ_CST);
	if (!capture->follow)
		return;
	follow_stop(capture->follow);
	losses = follow_losses(capture->follow);
	capture->losses.cpus_switched_on += losses.cpus_switched_on;
	capture->losses.anchor_exits += losses.anchor_exits;
}

struct follow *capture_followed(const struct capture *capture)
{
	return capture->follow;
}

bool capture_can_hold(const struct capture *capture)
{
	return capture->can_hold;
}

size_t capture_site_count(const struct capture *capture)
{
	return capture->uprobe_count + capture->breakpoint_count;
}

const char *capture_means(const struct capture *capture)
{
	bool multi = capture->means == UPROBE_MULTI;

	if (capture->uprobe_count == 0 && capture->breakpoint_count)
		return "hardware breakpoints";
	if (capture->breakpoint_count)
		return multi ? "uprobe_multi and hardware breakpoints" :
			       "perf events and hardware breakpoints";
	return multi ? "uprobe_multi" : "perf events";
}

const char *capture_breakpoint_problem(const struct capture *capture)
{
	return capture->breakpoint_problem.text[0] ? capture->breakpoint_problem.text : NULL;
}

void capture_decide(struct capture *capture, uint32_t site, bool is_asked)
{
	if (site >= capture->decided_count) {
		size_t had = capture->decided_count;

		/* For want of memory the call stays undecided. */
		if (!vector_reserve(&capture->decided, &capture->decided_capacity, site + 1UL))
			return;
		capture->decided_count = site + 1UL;
		memset(&capture->decided[had], 0,
		       (capture->decided_count - had) * sizeof(capture->decided[0]));
	}
	if (is_asked)
		capture->decided[site].asked++;
	else
		capture->decided[site].filtered++;
}

uint32_t capture_sites_with_counters(const struct capture *capture)
{
	return (uint32_t)capture->site_room + FOLLOW_SITES_MAX;
}

void capture_read_site(const struct capture *capture, uint32_t site, struct site_counters *sum)
{
	uint32_t sites = capture_sites_with_counters(capture);

	*sum = (struct site_counters){ 0 };
	if (site >= sites)
		return;
	for (uint32_t cpu = 0; cpu < (uint32_t)capture->cpu_count; cpu++) {
		const struct site_counters *of = &capture->counters[(size_t)cpu * sites + site];

		sum->hits += of->hits;
		sum->lost += of->lost;
		sum->runs += of->runs;
		sum->sampled_out += of->sampled_out;
		sum->shed += of->shed;
		sum->filtered += of->filtered;
		sum->undecided += of->undecided;
	}
	if (site < capture->decided_count) {
		const struct decided *decided = &capture->decided[site];

		sum->hits += decided->asked;
		sum->filtered += decided->filtered;
		sum->undecided -= decided->asked + decided->filtered;
	}
}

unsigned int capture_detach_ms(const struct capture *capture)
{
	unsigned int ms = capture->follow ? follow_detach_ms(capture->follow) : 0;

	return ms + uprobes_detach_ms(capture->uprobes);
}

void capture_read_counters(const struct capture *capture, struct site_counters *counters)
{
	for (uint32_t i = 0; i < capture->plan->count; i++)
		capture_read_site(capture, i, &counters[i]);
}

size_t capture_registers(const struct capture *capture)
{
	return capture->breakpoints ? breakpoints_watching(capture->breakpoints) : 0;
}

struct capture_losses capture_losses(const struct capture *capture)
{
	return capture->losses;
}

/* --max-rate, see bpf/send.bpf.h --------------------------------------------------------------- */

void capture_begin_rates(struct capture *capture)
{
	/* What is hit before it is known here has a rate of its own. */
	for (uint32_t i = 0; capture->rates && i < capture_sites_with_counters(capture); i++)
		capture->rates[i].first_site = i;
	capture_group_methods(capture);
}

/* The end of the method whose first site in plan->by_method is at @first. */
static size_t end_of_method(const struct plan *plan, size_t first, uint32_t *lowest)
{
	size_t end = plan_method_end(plan, first);

	*lowest = UINT32_MAX;
	for (size_t i = first; i < end; i++) {
		uint32_t site = (uint32_t)(plan->by_method[i] - plan->sites);

		if (site < *lowest)
			*lowest = site;
	}
	return end;
}

void capture_group_methods(struct capture *capture)
{
	const struct plan *plan = capture->plan;
	uint32_t first_site;

	if (!capture->rates)
		return;
	for (size_t at = 0, end; at < plan->count; at = end) {
		end = end_of_method(plan, at, &first_site);
		for (size_t i = at; i < end; i++) {
			size_t site = (size_t)(plan->by_method[i] - plan->sites);

			if (site < capture_sites_with_counters(capture))
				__atomic_store_n(&capture->rates[site].first_site, first_site,
						 __ATOMIC_RELAXED);
		}
	}
}
