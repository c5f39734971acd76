// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "probe/breakpoints.h"
#include "probe/uprobes.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/capture.h"
#include "capture/capture_internal.h"
#include "base/clock.h"
#include "base/error.h"
#include "follow/follow.h"
#include "plan/timed.h"
#include "target/process.h"

enum {
	POLL_MS = 50, /* events wait no longer than this to be printed */
};

static int on_event(void *ctx, void *data, size_t size)
{
	const struct capture *capture = ctx;
	const struct hit_event *event = data;

	/* The kernel's word, but a wrong one would make us read past the record. */
	if (size >= HIT_EVENT_HEADER_BYTES &&
	    event->site < capture->plan->count + FOLLOW_SITES_MAX &&
	    event->stack_end < STACK_ENDS &&
	    HIT_EVENT_HEADER_BYTES + event->frame_count * sizeof(event->frames[0]) <= size)
		capture->handlers->hit(event, capture->handlers->ctx);
	return capture->consume_until_ns && clock_now_ns() >= capture->consume_until_ns ? -EAGAIN :
											  0;
}

/* Attaching ----------------------------------------------------------------------------- */

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

/* The plan is sorted by file, so its sites are too. */
static int attach_uprobes(struct capture *capture, struct plan *plan, const int *file_fds,
			  struct error *err)
{
	size_t count = 0, capacity = uprobes_planned(plan);
	struct uprobe_site *sites = calloc(capacity + 1, sizeof(*sites));
	int result;

	if (!sites)
		return error_set(err, -ENOMEM, "no memory for %zu probes", capacity);
	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		for (size_t j = 0;
		     site->mechanism == MECHANISM_UPROBE && j < site_probe_count(site); j++) {
			struct site_probe probe = site_probe(site, (uint32_t)i, j);

			sites[count++] = (struct uprobe_site){
				.file_fd = file_fds[site->file],
				.offset = probe.offset,
				.cookie = probe.cookie,
			};
		}
	}
	result = check_cost(capture, count, err);
	if (result == 0)
		result = uprobes_create(&capture->uprobes, capture->means,
					bpf_program__fd(capture_uprobe_program(capture)),
					capture->process, err);
	if (result == 0)
		result = uprobes_attach(capture->uprobes, sites, count, err);
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
static int attach_breakpoints(struct capture *capture, struct plan *plan)
{
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
	struct bpf_program *stray = capture->bpf->progs.note_stray_trap;
	const struct breakpoints_config config = {
		.program_fd = bpf_program__fd(capture_breakpoint_program(capture)),
		.sites_fd = bpf_map__fd(capture->bpf->maps.breakpoint_sites),
		.process = capture->process,
		.tid = capture->options->tid,
	};

	/* Where this is refused nothing is lost but the reason why a target has died. */
	if (bpf_program__autoload(stray))
		capture->stray_traps = bpf_program__attach(stray);
	return breakpoints_create(&capture->breakpoints, &config, err);
}

/* An error only where nothing at all could be attached: each way is good without the other. */
static int attach(struct capture *capture, struct plan *plan, const int *file_fds,
		  struct error *err)
{
	int uprobe_result = 0, breakpoint_result;

	if (plan->timed) {
		capture->thread_exits = bpf_program__attach(capture->bpf->progs.forget_thread);
		if (!capture->thread_exits)
			return error_set(err, -errno, "cannot see threads exit: %s",
					 strerror(errno));
	}
	if (capture_planned(capture, MECHANISM_UPROBE))
		uprobe_result = attach_uprobes(capture, plan, file_fds, err);
	/* A refusal for the user to overrule is no failure to work around. */
	if (uprobe_result == -E2BIG)
		return uprobe_result;
	breakpoint_result = attach_breakpoints(capture, plan);
	for (size_t i = 0; i < plan->count; i++)
		capture_time_site(capture, (uint32_t)i);
	if (capture_site_count(capture))
		return 0;
	if (uprobe_result == 0 && breakpoint_result)
		error_fill(err, "%s", capture->breakpoint_problem.text);
	return uprobe_result ? uprobe_result : breakpoint_result;
}

static int program_fd(const struct bpf_program *program)
{
	return program ? bpf_program__fd(program) : -1;
}

int capture_follow(struct capture *capture, const struct capture_follow *with, struct error *err)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	const struct follow_config config = {
		.methods = with->methods,
		.natives = with->natives,
		.hold_ns = capture->options->hold_ns,
		.share_ns = capture->options->share_ns,
		.pid = capture->process->pid,
		.resolution = with->resolution,
		.plan = capture->plan,
		.slots = capture->slots,
		.breakpoints = capture->breakpoints,
		.program = with->program,
		.loader = with->loader,
		.timed = capture->timed,
		.costs = capture->costs,
		.kernel = {
			.shared = &bpf->bss->follow,
			.events_fd = bpf_map__fd(bpf->maps.follow_events),
			.watched_fd = bpf_map__fd(bpf->maps.watched),
			.modules_fd = bpf_map__fd(bpf->maps.modules),
			.stub_sites_fd = bpf_map__fd(bpf->maps.stub_sites),
			.begin_fd = program_fd(bpf->progs.compile_begin),
			.end_fd = program_fd(capture->can_hold ? bpf->progs.compile_end_held :
								 bpf->progs.compile_end),
			.map_fd = program_fd(capture->can_hold ? bpf->progs.map_begin_held :
								 bpf->progs.map_begin),
			.loader_fd = program_fd(bpf->progs.loader_held),
			.hit_fd = program_fd(capture_uprobe_program(capture)),
			.can_hold = capture->can_hold,
			.means = capture->means,
		},
	};

	return follow_create(&capture->follow, &config, err);
}

struct follow *capture_followed(const struct capture *capture)
{
	return capture->follow;
}

bool capture_can_hold(const struct capture *capture)
{
	return capture->can_hold;
}

/* Block the signals before anything is attached: they are read like events, in their turn. */
static int open_signals(struct capture *capture, struct error *err)
{
	struct sigaction hangup;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	/* A signal that is blocked is kept even if it is ignored, and nohup wants it ignored. */
	if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
		sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return error_set(err, -errno, "cannot block signals: %s", strerror(errno));
	capture->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (capture->signal_fd < 0)
		return error_set(err, -errno, "cannot open a signalfd: %s", strerror(errno));
	return 0;
}

static int open_ring(struct capture *capture, struct error *err)
{
	capture->ring =
		ring_buffer__new(bpf_map__fd(capture->bpf->maps.events), on_event, capture, NULL);
	if (!capture->ring)
		return error_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
	return 0;
}

int capture_create(struct capture **out, const struct options *options, struct process *process,
		   struct plan *plan, const int *file_fds, const struct unwind_tables *unwind,
		   struct error *err)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int result;

	if (!capture)
		return error_set(err, -ENOMEM, "no memory to attach");
	capture->options = options;
	capture->process = process;
	capture->plan = plan;
	capture->unwind = unwind;
	capture->signal_fd = -1;
	for (int i = 0; i < BREAKPOINTS_MAX; i++)
		capture->slots[i] = -1;
	capture->cpu_count = libbpf_num_possible_cpus();
	capture->per_cpu = calloc((size_t)capture->cpu_count, sizeof(*capture->per_cpu));
	result = capture->per_cpu ? capture_choose_means(capture, err) :
				    error_set(err, -ENOMEM, "no memory to attach");
	if (result == 0)
		result = capture_load(capture, err);
	if (result == 0 && plan->timed)
		capture_calibrate(capture);
	if (result == 0)
		result = open_signals(capture, err);
	if (result == 0)
		result = open_ring(capture, err);
	if (result == 0)
		result = create_breakpoints(capture, err);
	if (result == 0)
		result = attach(capture, plan, file_fds, err);
	if (result) {
		capture_destroy(capture);
		return result;
	}
	*out = capture;
	return 0;
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

/* Running ------------------------------------------------------------------------------- */

static bool limit_reached(const struct capture *capture)
{
	uint64_t taken = __atomic_load_n(&capture->bpf->bss->hits_taken, __ATOMIC_RELAXED);

	return capture->options->max_hits && taken >= capture->options->max_hits;
}

/* Poll until the sooner of the next deadline and the time that events may wait. */
static int timeout_ms(uint64_t now, uint64_t end, uint64_t next_interval)
{
	uint64_t until = now + (uint64_t)POLL_MS * NS_PER_MS;

	if (end && end < until)
		until = end;
	if (next_interval && next_interval < until)
		until = next_interval;
	return until <= now ? 0 : (int)((until - now + NS_PER_MS - 1) / NS_PER_MS);
}

static int keep_attached(struct capture *capture, struct error *err)
{
	int moved = capture->uprobes ? uprobes_keep(capture->uprobes, err) : 0;
	int renewed = 0;

	if (moved < 0)
		return moved;
	/* What cannot be given to a CPU that was switched on is lost there; the rest goes on. */
	if (!capture->follow)
		renewed = breakpoints_keep(capture->breakpoints, NULL);
	capture->losses.anchor_exits += moved > 0;
	capture->losses.cpus_switched_on += renewed != 0;
	return 0;
}

/*
 * Hand on what is waiting, but not for longer than a while: a target that is hit faster than hits are
 * printed would keep us from the clock and from signals. True if more may be waiting.
 */
static bool consume_some(struct capture *capture)
{
	capture->consume_until_ns = clock_now_ns() + (uint64_t)POLL_MS * NS_PER_MS;
	return ring_buffer__consume(capture->ring) == -EAGAIN;
}

void capture_start(struct capture *capture)
{
	__atomic_store_n(&capture->bpf->bss->active, 1, __ATOMIC_SEQ_CST);
}

int capture_run(struct capture *capture, const struct capture_handlers *handlers,
		enum capture_end *end, struct error *err)
{
	const struct options *options = capture->options;
	uint64_t start = clock_now_ns();
	uint64_t deadline = options->duration_ns ? start + options->duration_ns : 0;
	uint64_t next_interval = options->interval_ns ? start + options->interval_ns : 0;
	struct pollfd fds[] = {
		{ .fd = ring_buffer__epoll_fd(capture->ring), .events = POLLIN },
		{ .fd = capture->signal_fd, .events = POLLIN },
		{ .fd = capture->process->pidfd, .events = POLLIN },
		{ .fd = capture->follow ? follow_fd(capture->follow) : -1, .events = POLLIN },
	};
	bool more_waiting = false;

	capture->handlers = handlers;
	for (;;) {
		uint64_t now = clock_now_ns();
		bool interval_over = next_interval && now >= next_interval;
		int wait_ms = more_waiting ? 0 : timeout_ms(now, deadline, next_interval);
		int result;

		if (poll(fds, 4, wait_ms) < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot wait for events: %s",
					 strerror(errno));
		more_waiting = consume_some(capture);
		if (interval_over)
			next_interval += options->interval_ns;
		if (handlers->tick(interval_over, handlers->ctx))
			*end = CAPTURE_HANDLER_ENDED;
		else if (fds[1].revents)
			*end = CAPTURE_INTERRUPTED;
		else if (fds[2].revents)
			*end = CAPTURE_TARGET_EXITED;
		else if (limit_reached(capture))
			*end = CAPTURE_ENOUGH_HITS;
		else if (deadline && clock_now_ns() >= deadline)
			*end = CAPTURE_TIME_IS_UP;
		else {
			result = keep_attached(capture, err);
			if (result)
				return result;
			continue;
		}
		/* It may have gone since the last look, and calls with it. */
		if (*end != CAPTURE_TARGET_EXITED && capture->uprobes &&
		    !uprobes_anchored(capture->uprobes))
			capture->losses.anchor_exits++;
		return 0;
	}
}

/* One site's counters, summed over the CPUs. */
static int read_site(const struct capture *capture, uint32_t site, struct site_counters *sum)
{
	int result = bpf_map_lookup_elem(bpf_map__fd(capture->bpf->maps.counters), &site,
					 capture->per_cpu);

	*sum = (struct site_counters){ 0 };
	for (int cpu = 0; result == 0 && cpu < capture->cpu_count; cpu++) {
		sum->hits += capture->per_cpu[cpu].hits;
		sum->lost += capture->per_cpu[cpu].lost;
		sum->runs += capture->per_cpu[cpu].runs;
	}
	return result;
}

unsigned int capture_detach_ms(const struct capture *capture)
{
	unsigned int ms = capture->follow ? follow_detach_ms(capture->follow) : 0;

	return ms + (capture->uprobes ? uprobes_detach_ms(capture->uprobes) : 0);
}

/* What the kernel counts is more than what our program ran for, if it left the program out. */
static void detach_breakpoints(struct capture *capture)
{
	uint64_t fired = breakpoints_stop(capture->breakpoints);
	uint64_t runs = capture->bpf->bss->unknown_runs;
	struct site_counters counters;

	for (uint32_t i = 0; fired && i < capture->plan->count + FOLLOW_SITES_MAX; i++) {
		if (read_site(capture, i, &counters) == 0)
			runs += counters.runs;
	}
	capture->losses.breakpoints_missed = fired > runs ? fired - runs : 0;
	capture->losses.breakpoints_unexplained = capture->bpf->bss->unknown_hits;
	capture->losses.stray_traps = capture->bpf->bss->stray_traps;
	breakpoints_destroy(capture->breakpoints);
	capture->breakpoints = NULL;
}

void capture_detach(struct capture *capture, const struct capture_handlers *handlers)
{
	capture->handlers = handlers;
	__atomic_store_n(&capture->bpf->bss->active, 0, __ATOMIC_SEQ_CST);
	if (capture->follow) {
		struct follow_losses losses;

		follow_stop(capture->follow);
		losses = follow_losses(capture->follow);
		capture->losses.cpus_switched_on += losses.cpus_switched_on;
		capture->losses.anchor_exits += losses.anchor_exits;
	}
	detach_breakpoints(capture);
	uprobes_destroy(capture->uprobes);
	capture->uprobes = NULL;
	if (capture->plan->timed)
		capture_settle_latencies(capture);
	capture->consume_until_ns = 0;
	ring_buffer__consume(capture->ring);
}

void capture_destroy(struct capture *capture)
{
	if (!capture)
		return;
	follow_destroy(capture->follow);
	breakpoints_destroy(capture->breakpoints);
	bpf_link__destroy(capture->stray_traps);
	bpf_link__destroy(capture->thread_exits);
	uprobes_destroy(capture->uprobes);
	ring_buffer__free(capture->ring);
	capture_unmap_unwind(capture);
	capture_unmap_latencies(capture);
	place_probe_bpf__destroy(capture->bpf);
	if (capture->signal_fd >= 0)
		close(capture->signal_fd);
	free(capture->per_cpu);
	free(capture);
}

int capture_read_counters(const struct capture *capture, struct site_counters *counters,
			  struct error *err)
{
	uint32_t count = (uint32_t)capture->plan->count;
	struct undisturbed before = { 0 };
	int result = 0;

	for (uint32_t i = 0; i < count && result == 0; i++) {
		capture_undisturbed(capture, &before, i);
		result = read_site(capture, i, &counters[i]);
	}
	undisturbed_end(&before);
	return result ? error_set(err, result, "cannot read the counters: %s", strerror(-result)) :
			0;
}

struct capture_losses capture_losses(const struct capture *capture)
{
	return capture->losses;
}
