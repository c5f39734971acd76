// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaching loaded programs to the sites of a plan, and detaching them: after load.c, around what
 * consume.c does. Nothing counts before activation, and nothing after deactivation (capture.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "capture/capture_internal.h"
#include "follow/follow.h"
#include "target/process.h"

static int check_cost(const struct capture *capture, size_t sites, struct error *err)
{
	if (capture->means != UPROBE_PERF || sites <= UPROBE_PERF_MAX_SITES ||
	    capture->options->force)
		return 0;
	return error_set(
		err, -E2BIG,
		"%zu probes by perf events take about %zu s to detach, and place-probe cannot be killed meanwhile: narrow the pattern to at most %d methods, or use --force",
		sites, sites * UPROBE_PERF_CLOSE_MS / 1000, UPROBE_PERF_MAX_SITES);
}

static size_t uprobes_planned(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].mechanism == MECHANISM_UPROBE)
			count += site_probe_count(&plan->sites[i]);
	}
	return count;
}

size_t capture_list_probes(const struct plan *plan, uint32_t number, int fd, struct uprobe_site *to)
{
	const struct site *site = &plan->sites[number];
	size_t count = site_probe_count(site);

	for (size_t i = 0; i < count; i++) {
		struct site_probe probe = site_probe(site, number, i);

		to[i] = (struct uprobe_site){
			.file_fd = fd,
			.offset = probe.offset,
			.cookie = probe.cookie,
		};
	}
	return count;
}

int capture_attach_uprobes(struct capture *capture, struct uprobe_site *sites, size_t count,
			   struct error *err)
{
	int program_fd = programs_fd(capture->loaded, capture_uprobe_program(capture)), result = 0;

	if (!capture->uprobes)
		result = uprobes_create(&capture->uprobes, capture->means, program_fd,
					capture->process, err);
	return result ? result : uprobes_attach(capture->uprobes, sites, count, err);
}

/* The plan is sorted by file, so its sites are too. */
static int attach_uprobes(struct capture *capture, const int *file_fds, int private_fd,
			  struct error *err)
{
	struct plan *plan = capture->plan;
	size_t count = 0, capacity = uprobes_planned(plan);
	struct uprobe_site *sites = calloc(capacity + 1, sizeof(*sites));
	int result;

	if (!sites)
		return error_set(err, -ENOMEM, "no memory for %zu probes", capacity);
	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		if (site->mechanism == MECHANISM_UPROBE)
			count += capture_list_probes(plan, (uint32_t)i,
						     site_is_remapped(site) ? private_fd :
									      file_fds[site->file],
						     &sites[count]);
	}
	result = check_cost(capture, count, err);
	if (result == 0)
		result = capture_attach_uprobes(capture, sites, count, err);
	for (size_t i = 0; i < count; i++) {
		int error = sites[i].error ? sites[i].error : result;

		if (error)
			site_refuse(&plan->sites[(uint32_t)sites[i].cookie], REASON_KERNEL_REFUSED,
				    -error);
	}
	for (size_t i = 0; i < plan->count; i++)
		capture->uprobe_count += plan->sites[i].mechanism == MECHANISM_UPROBE;
	free(sites);
	return result;
}

struct uprobes *capture_probe_all(const struct capture *capture, const struct bpf_program *program,
				  struct uprobe_site *sites, size_t count)
{
	struct uprobes *uprobes;
	int result;

	if (uprobes_create(&uprobes, capture->means, programs_fd(capture->loaded, program),
			   capture->process, NULL))
		return NULL;
	result = uprobes_attach(uprobes, sites, count, NULL);
	for (size_t i = 0; i < count && result == 0; i++)
		result = sites[i].error;
	if (result == 0)
		return uprobes;
	uprobes_destroy(uprobes);
	return NULL;
}

static void disarm_site(struct capture *capture, uint32_t number)
{
	for (int slot = 0; slot < BREAKPOINTS_MAX; slot++) {
		if (capture->slots[slot] != (int)number)
			continue;
		breakpoints_remove(capture->breakpoints, slot);
		capture->slots[slot] = -1;
	}
}

/* The breakpoints of a body: those of its exits come first. All or none. */
static int arm_site(struct capture *capture, const struct site *site, uint32_t number,
		    struct error *err)
{
	for (size_t i = 0; i < site_probe_count(site); i++) {
		struct site_probe probe = site_probe(site, number, i);
		int slot = breakpoints_add(capture->breakpoints, probe.address, probe.cookie, err);

		if (slot < 0) {
			disarm_site(capture, number);
			return slot;
		}
		capture->slots[slot] = (int)number;
	}
	return 0;
}

/* In the plan's order, as far as there are debug registers. */
static int attach_breakpoints(struct capture *capture)
{
	struct plan *plan = capture->plan;
	struct error *err = &capture->breakpoint_problem;
	int first_error = 0, result = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct site *site = &plan->sites[i];

		if (site->mechanism != MECHANISM_BREAKPOINT)
			continue;
		if (site->shares_probe && site[-1].mechanism == MECHANISM_NONE) {
			plan_share_probes(plan);
			continue;
		}
		/* Once there is no register there is none for those behind it. */
		if (result != -ENOSPC)
			result = arm_site(capture, site, (uint32_t)i, first_error ? NULL : err);
		if (result == 0) {
			capture->breakpoint_count++;
			continue;
		}
		site_refuse(site,
			    result == -ENOSPC ? REASON_NO_DEBUG_REGISTER : REASON_KERNEL_REFUSED,
			    -result);
		first_error = first_error ? first_error : result;
	}
	return first_error;
}

static int create_breakpoints(struct capture *capture, struct error *err)
{
	int spurious_fd = programs_fd(capture->loaded, capture->bpf->progs.note_spurious_trap);
	const struct breakpoints_config config = {
		.program_fd = programs_fd(capture->loaded, capture_breakpoint_program(capture)),
		.sites_fd = bpf_map__fd(capture->bpf->maps.breakpoint_sites),
		.process = capture->process,
		.tid = capture->options->tid,
		.unused = capture->natives_only,
	};

	/* Where this is refused nothing is lost but the reason why a target has died. */
	if (spurious_fd >= 0)
		capture->spurious_traps_fd =
			bpf_raw_tracepoint_open("signal_generate", spurious_fd);
	return breakpoints_create(&capture->breakpoints, &config, err);
}

/* An error only where nothing at all could be attached: each way is good without the other. */
static int attach_sites(struct capture *capture, const int *file_fds, int private_fd,
			struct error *err)
{
	int uprobe_result = 0, breakpoint_result;

	if (capture_planned(capture, MECHANISM_UPROBE))
		uprobe_result = attach_uprobes(capture, file_fds, private_fd, err);
	/* A refusal for the user to overrule is no failure to work around. */
	if (uprobe_result == -E2BIG)
		return uprobe_result;
	breakpoint_result = attach_breakpoints(capture);
	for (size_t i = 0; i < capture->plan->count; i++)
		capture_time_site(capture, (uint32_t)i);
	if (capture_site_count(capture))
		return 0;
	/* They get uprobes as soon as their pages are sealed. */
	if (uprobe_result == 0 && breakpoint_result == -ENOSPC &&
	    options_may_remap(capture->options))
		return 0;
	if (uprobe_result == 0 && breakpoint_result)
		error_fill(err, "%s", capture->breakpoint_problem.text);
	return uprobe_result ? uprobe_result : breakpoint_result;
}

static int watch_thread_exits(struct capture *capture, struct error *err)
{
	int program_fd = programs_fd(capture->loaded, capture->bpf->progs.forget_thread);
	int fd = bpf_raw_tracepoint_open("sched_process_exit", program_fd);

	capture->thread_exits_fd = fd < 0 ? -1 : fd;
	return fd >= 0 ? 0 : error_set(err, fd, "cannot see threads exit: %s", strerror(-fd));
}

int capture_attach(struct capture *capture, const int *file_fds, int private_fd, struct error *err)
{
	int result = create_breakpoints(capture, err);

	if (result == 0 && capture->plan->timed)
		result = watch_thread_exits(capture, err);
	return result ? result : attach_sites(capture, file_fds, private_fd, err);
}

/* How often programs ran for breakpoints of all sites, also of those that are no more. */
static uint64_t read_runs(const struct capture *capture)
{
	size_t count = (size_t)capture->cpu_count * capture_sites_with_counters(capture);
	uint64_t runs = 0;

	for (size_t i = 0; i < count; i++)
		runs += capture->counters[i].runs;
	return runs;
}

/* What the kernel counts is more than what our program ran for, if it left the program out. */
static void detach_breakpoints(struct capture *capture)
{
	uint64_t fired = breakpoints_stop(capture->breakpoints);
	uint64_t runs = capture->bpf->bss->unknown_runs;

	if (fired)
		runs += read_runs(capture);
	capture->losses.breakpoints_missed = fired > runs ? fired - runs : 0;
	capture->losses.breakpoints_unexplained = capture->bpf->bss->unknown_hits;
	capture->losses.spurious_traps = capture->bpf->bss->spurious_traps;
	breakpoints_destroy(capture->breakpoints);
	capture->breakpoints = NULL;
}

void capture_detach(struct capture *capture)
{
	detach_breakpoints(capture);
	uprobes_destroy(capture->uprobes);
	capture->uprobes = NULL;
	uprobes_destroy(capture->thrown);
	capture->thrown = NULL;
	capture_unwatch_collections(capture);
	capture_note_left(capture);
	if (capture->plan->timed && !capture->kept)
		capture_settle_latencies(capture);
}

int capture_follow(struct capture *capture, struct follow_config *config, struct error *err)
{
	const struct place_probe_bpf *bpf = capture->bpf;

	config->process = capture->process;
	config->hold_ns = capture->options->hold_ns;
	config->share_ns = capture->options->share_ns;
	config->plan = capture->plan;
	config->slots = capture->slots;
	config->breakpoints = capture->breakpoints;
	config->timed = capture->timed;
	config->costs = capture->costs;
	config->programs = capture->programs;
	config->kernel = (struct follow_kernel){
		.shared = &bpf->bss->follow,
		.events_fd = bpf_map__fd(bpf->maps.follow_events),
		.watched_fd = bpf_map__fd(bpf->maps.watched),
		.modules_fd = bpf_map__fd(bpf->maps.modules),
		.stub_sites_fd = bpf_map__fd(bpf->maps.stub_sites),
		.begin_fd = programs_fd(capture->loaded, bpf->progs.compile_begin),
		.end_fd = programs_fd(capture->loaded, capture->can_hold ?
							       bpf->progs.compile_end_held :
							       bpf->progs.compile_end),
		.map_fd =
			programs_fd(capture->loaded, capture->can_hold ? bpf->progs.map_begin_held :
									 bpf->progs.map_begin),
		.loader_fd = programs_fd(capture->loaded, bpf->progs.loader_held),
		.hit_fd = programs_fd(capture->loaded, capture_uprobe_program(capture)),
		.can_hold = capture->can_hold,
		.means = capture->means,
	};
	return follow_create(&capture->follow, config, err);
}
