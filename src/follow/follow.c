// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow/follow.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "method/pattern.h"
#include "probe/breakpoints.h"
#include "registers/in_flight.h"
#include "base/clock.h"
#include "base/error.h"
#include "follow/follow_internal.h"
#include "registers/multiplexing.h"

enum {
	TICK_MS = 20,
	SETTLE_MAX_MS = 1000, /* before the counting begins */
	TRY_AGAIN_MS = 500,
	PRIORITY = 50,		/* before all that is ordinary: the target waits */
	IMAGE_HOLD_FACTOR = 40, /* loading an image is rare, and may be more work */
	IMAGE_HOLD_MAX_MS = 250,
};

/*
 * Who says every tick that he lives and has not for so long is dead; unless he is to have more time
 * anyway.
 */
#define ALIVE_NS (500ULL * NS_PER_MS)
/* Nobody needs a program yet that has not come to its first compilation. */
#define START_HOLD_NS (5ULL * NS_PER_S)

/* Notes ----------------------------------------------------------------------------------- */

void follow_note(struct follow *follow, const struct follow_note *note)
{
	ssize_t written = write(follow->notes[1], note, sizeof(*note));

	(void)written;
}

bool follow_read_note(struct follow *follow, struct follow_note *note)
{
	return read(follow->notes[0], note, sizeof(*note)) == sizeof(*note);
}

int follow_fd(const struct follow *follow)
{
	return follow->notes[0];
}

/* At least what a compilation has. */
uint64_t follow_image_hold_ns(const struct follow *follow)
{
	uint64_t hold_ns = follow->config.hold_ns;
	uint64_t most_ns = (uint64_t)IMAGE_HOLD_MAX_MS * NS_PER_MS;
	uint64_t wanted_ns = hold_ns * IMAGE_HOLD_FACTOR;

	wanted_ns = wanted_ns < most_ns ? wanted_ns : most_ns;
	return wanted_ns > hold_ns ? wanted_ns : hold_ns;
}

/* The thread ------------------------------------------------------------------------------ */

static int on_event(void *ctx, void *data, size_t size)
{
	struct follow *follow = ctx;
	const struct follow_event_head *head = data;
	const struct detailed_compile_event *detailed = data;

	if (size < sizeof(*head))
		return 0;
	if (follow->ended) {
		late_note(follow, head, size);
		return 0;
	}
	switch (head->type) {
	case FOLLOW_COMPILED:
		if (!follow->config.resolution)
			follow->shared->image_hold_ns = follow_image_hold_ns(follow);
		if (size >= sizeof(*detailed))
			answers_compiled(follow, &detailed->event, detailed->detail);
		else if (size >= sizeof(detailed->event))
			answers_compiled(follow, &detailed->event, NULL);
		break;
	case FOLLOW_MAPPED:
		if (size >= sizeof(struct mapped_event))
			answers_mapped(follow, data);
		break;
	case FOLLOW_LOADED:
		answers_loaded(follow, head);
		break;
	case FOLLOW_CHUNK:
		if (size >= sizeof(struct chunk_event))
			copies_take(&follow->copies, data);
		break;
	default:
		break;
	}
	return 0;
}

/* One more, if there is one; who has it now may give it back. */
static void take_register(struct follow *follow)
{
	int have = scheduler_reserved(&follow->scheduler);

	if (have == BREAKPOINTS_MAX || clock_now_ns() < follow->try_again_ns)
		return;
	if (scheduler_reserve(&follow->scheduler, have + 1))
		atomic_store(&follow->without_registers, false);
	else
		follow->try_again_ns = clock_now_ns() + (uint64_t)TRY_AGAIN_MS * NS_PER_MS;
}

static void tick(struct follow *follow)
{
	static const struct follow_note stopped = { .type = NOTE_HOLDING_STOPPED };
	static const struct follow_note full = { .type = NOTE_NO_ROOM };

	bool multiplexed = follow->config.share_ns;

	if (bodies_tend(follow->bodies, multiplexed))
		take_register(follow);
	if (multiplexed)
		multiplexing_tend(follow->bodies, follow->config.share_ns);
	/* What cannot be given to a CPU that was switched on is lost there; the rest goes on. */
	if (breakpoints_keep(follow->config.breakpoints, NULL) != 0)
		follow->losses.cpus_switched_on++;
	/* What was compiled meanwhile was not reported. The end will tell whether that matters. */
	if (probes_keep(follow->probes) != 0)
		follow->losses.blind = true;
	follow->losses.anchor_exits += (uint64_t)(loads_keep(follow->loads) != 0);
	if (!follow->told_stopped && atomic_load(&follow->counting) &&
	    !atomic_load(&follow->ended_ns) && follow->config.kernel.can_hold &&
	    follow->config.hold_ns &&
	    !__atomic_load_n(&follow->shared->holding, __ATOMIC_ACQUIRE)) {
		follow->told_stopped = true;
		follow_note(follow, &stopped);
	}
	if (!follow->told_room && (follow->losses.sites || loads_no_room(follow->loads))) {
		follow->told_room = true;
		follow_note(follow, &full);
	}
	atomic_fetch_add(&follow->ticks, 1);
}

/* Nobody is held for one who does not say so. */
static void say_alive(const struct follow *follow)
{
	__atomic_store_n(&follow->shared->alive_ns, clock_now_ns(), __ATOMIC_RELEASE);
}

static void *run(void *argument)
{
	struct follow *follow = argument;
	const struct sched_param first = { .sched_priority = PRIORITY };
	uint64_t next_tick = 0;

	/* Where that is not permitted, it takes longer. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!atomic_load(&follow->ended_ns)) {
		say_alive(follow);
		ring_buffer__poll(follow->ring, TICK_MS);
		if (clock_now_ns() < next_tick)
			continue;
		tick(follow);
		next_tick = clock_now_ns() + (uint64_t)TICK_MS * NS_PER_MS;
	}
	/* What was too late for an answer is still to be told. */
	ring_buffer__consume(follow->ring);
	answers_give_up(follow);
	return NULL;
}

/* Creating -------------------------------------------------------------------------------- */

static int open_target(struct follow *follow, struct error *err)
{
	int result = process_init(&follow->process, follow->config.pid, err);

	if (result == 0 && pipe2(follow->notes, O_CLOEXEC | O_NONBLOCK) != 0)
		result = error_set(err, -errno, "cannot open a pipe: %s", strerror(errno));
	return result;
}

static int open_ring(struct follow *follow, struct error *err)
{
	follow->ring = ring_buffer__new(follow->config.kernel.events_fd, on_event, follow, NULL);
	if (!follow->ring)
		return error_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
	return 0;
}

static void note_missed(void *ctx, uint32_t number)
{
	sites_add_trouble(ctx, number, TROUBLE_NO_REGISTER);
}

static bool is_wanted(void *ctx, uint32_t number)
{
	return sites_is_ours(ctx, number);
}

static int create_rooms(struct follow *follow, struct error *err)
{
	const struct follow_config *config = &follow->config;
	const struct watch_maps maps = {
		.watched_fd = config->kernel.watched_fd,
		.modules_fd = config->kernel.modules_fd,
	};
	struct loads_config loads = {
		.process = &follow->process,
		.kernel = &follow->config.kernel,
		.resolution = config->resolution,
		.timed = config->timed,
		.costs = config->costs,
	};
	struct natives_config natives = {
		.request = config->natives,
		.process = &follow->process,
	};
	struct bodies_config bodies = {
		.scheduler = &follow->scheduler,
		.is_wanted = is_wanted,
		.note_missed = note_missed,
	};
	int result = watch_create(&follow->watch, config->methods, config->resolution, &maps, err);

	scheduler_init(&follow->scheduler, config->breakpoints, follow->shared);
	follow->scheduler.timed = config->timed;
	if (result == 0)
		result = sites_create(&follow->sites, config->plan->count, err);
	if (result == 0) {
		bodies.capacity = sites_capacity(follow->sites);
		bodies.ctx = follow->sites;
		result = bodies_create(&follow->bodies, &bodies, err);
	}
	loads.watch = natives.watch = follow->watch;
	loads.sites = follow->sites;
	if (result == 0)
		result = natives_create(&follow->natives, &natives, err);
	loads.natives = follow->natives;
	if (result == 0)
		result = loads_create(&follow->loads, &loads, err);
	if (result == 0)
		result = probes_create(&follow->probes, &config->kernel, &follow->process, err);
	return result ? result : open_ring(follow, err);
}

int follow_create(struct follow **out, const struct follow_config *config, struct error *err)
{
	struct follow *follow = calloc(1, sizeof(*follow));
	int result;

	if (!follow)
		return error_set(err, -ENOMEM, "no memory to follow methods");
	follow->config = *config;
	follow->shared = config->kernel.shared;
	follow->notes[0] = follow->notes[1] = -1;
	follow->process = (struct process){ .pidfd = -1, .proc_fd = -1, .view_fd = -1 };
	follow->times = calloc(TIMES_MAX, sizeof(*follow->times));
	follow->late = calloc(LATE_MAX, sizeof(*follow->late));
	result = follow->times && follow->late ?
			 open_target(follow, err) :
			 error_set(err, -ENOMEM, "no memory to follow methods");
	if (result == 0)
		result = create_rooms(follow, err);
	if (result == 0) {
		adopt_plan(follow);
		follow->shared->want_dynamic = watch_wants_dynamic(follow->watch);
		follow->shared->want_stubs = !follow->config.timed;
		follow->shared->want_code = follow->config.timed != NULL;
		__atomic_store_n(&follow->shared->following, 1, __ATOMIC_SEQ_CST);
		result = config->resolution ? libraries_attach_running(follow, err) :
					      libraries_attach_starting(follow, err);
	}
	if (result) {
		follow_destroy(follow);
		return result;
	}
	adopt_registers(follow);
	*out = follow;
	return 0;
}

/* If that is not to be had, whoever loses a register will be said to have lost it. */
static void start_in_flight(struct follow *follow)
{
	if (in_flight_create(&follow->in_flight, &follow->process, NULL) == 0)
		scheduler_use_in_flight(&follow->scheduler, follow->in_flight);
}

int follow_start(struct follow *follow, struct error *err)
{
	uint64_t hold_ns = follow->config.hold_ns;
	bool holds = follow->config.kernel.can_hold && hold_ns;
	const struct timespec pause = { .tv_nsec = NS_PER_MS };
	sigset_t all, before;
	uint64_t until;
	size_t ticks;
	int result;

	follow->shared->hold_ns = hold_ns;
	follow->shared->alive_limit_ns = hold_ns > ALIVE_NS ? hold_ns : ALIVE_NS;
	follow->shared->image_hold_ns =
		follow->config.resolution ? follow_image_hold_ns(follow) : START_HOLD_NS;
	/* Whoever has no register when the counting begins is not counted from its beginning. */
	bodies_note_lacking(follow->bodies);
	/* A page that has to come from the disk would keep the target waiting. */
	mlockall(MCL_CURRENT | MCL_ONFAULT);
	/* All but what this thread itself does wrong: see sigbus.h. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = -pthread_create(&follow->thread, NULL, run, follow);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result)
		return error_set(err, result, "cannot start a thread: %s", strerror(-result));
	follow->started = true;
	say_alive(follow);
	__atomic_store_n(&follow->shared->holding, holds, __ATOMIC_SEQ_CST);
	/* Two ticks: what was reported before the first has been answered by the second. */
	ticks = atomic_load(&follow->ticks);
	/* That takes as long. */
	if (holds && follow_has_methods(follow))
		start_in_flight(follow);
	while (atomic_load(&follow->ticks) < ticks + 2)
		nanosleep(&pause, NULL);
	/* If methods go on being compiled anew, more waiting does not help. */
	until = clock_now_ns() + (uint64_t)SETTLE_MAX_MS * NS_PER_MS;
	while (clock_now_ns() < atomic_load(&follow->settled_ns) && clock_now_ns() < until)
		nanosleep(&pause, NULL);
	follow->unsettled = clock_now_ns() < atomic_load(&follow->settled_ns);
	atomic_store(&follow->counting, true);
	return 0;
}

/* What others ask ------------------------------------------------------------------------- */

bool follow_without_registers(const struct follow *follow)
{
	return atomic_load(&follow->without_registers);
}

size_t follow_method_count(const struct follow *follow)
{
	return watch_row_count(follow->watch);
}

const char *follow_guaranteed(const struct follow *follow, size_t rank)
{
	return watch_name_of_rank(follow->watch, (uint32_t)rank);
}

size_t follow_site_count(const struct follow *follow)
{
	return sites_count(follow->sites);
}

const struct site *follow_site(const struct follow *follow, size_t number)
{
	return sites_at(follow->sites, number);
}

bool follow_is_undecided(const struct follow *follow, size_t number)
{
	return sites_is_undecided(follow->sites, number);
}

void follow_decide(struct follow *follow, size_t number, bool matches)
{
	sites_decide(follow->sites, number, matches);
}

void follow_retire(struct follow *follow, size_t site)
{
	sites_retire(follow->sites, site);
}

double follow_watched(const struct follow *follow, size_t site)
{
	return multiplexing_watched(follow->bodies, sites_probe_of(follow->sites, (uint32_t)site),
				    atomic_load(&follow->ended_ns));
}

unsigned int follow_trouble(const struct follow *follow, size_t site)
{
	return sites_trouble(follow->sites, site);
}

bool follow_native_matched(const struct follow *follow, size_t pattern)
{
	return natives_matched(follow->natives, pattern);
}

bool follow_met_runtime(const struct follow *follow)
{
	return follow->config.resolution || follow->met_runtime;
}

const char *follow_problem(const struct follow *follow)
{
	return follow->problem.text[0] ? follow->problem.text : NULL;
}

bool follow_pattern_matched(const struct follow *follow, size_t pattern)
{
	return watch_pattern_matched(follow->watch, pattern);
}

struct follow_losses follow_losses(const struct follow *follow)
{
	struct follow_losses losses = follow->losses;

	if (follow->detached)
		return losses;
	losses.others += follow->unsettled;
	losses.sites += loads_no_room(follow->loads);
	losses.libraries_unseen = follow->libraries_unseen;
	/* Without a runtime there are no methods. */
	if (follow_has_methods(follow) && follow_met_runtime(follow))
		losses.blind |= loads_blind(follow->loads) || !probes_have_mmap(follow->probes) ||
				!probes_have_compiler(follow->probes);
	return losses;
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

struct follow_times follow_times(const struct follow *follow)
{
	size_t count = follow->time_count < TIMES_MAX ? follow->time_count : TIMES_MAX;
	struct follow_times times = {
		.count = follow->time_count,
		.longest_hold_ns = follow->shared->longest_hold_ns,
	};

	if (count == 0)
		return times;
	qsort(follow->times, count, sizeof(*follow->times), compare_times);
	times.median_ns = follow->times[count / 2];
	times.p99_ns = follow->times[count * 99 / 100];
	times.max_ns = follow->times[count - 1];
	return times;
}

unsigned int follow_detach_ms(const struct follow *follow)
{
	return probes_detach_ms(follow->probes) + loads_detach_ms(follow->loads);
}

/* What the programs could not report until now. */
static void take_losses(struct follow *follow)
{
	follow->losses.compilations = follow->shared->lost;
	follow->losses.unreadable = follow->shared->unreadable;
	follow->losses.others += follow->shared->lost_other;
}

void follow_stop(struct follow *follow)
{
	if (!follow->started)
		return;
	/* Who was held before is still answered. */
	atomic_store(&follow->ended_ns, clock_now_ns());
	__atomic_store_n(&follow->shared->ended, 1, __ATOMIC_SEQ_CST);
	pthread_join(follow->thread, NULL);
	__atomic_store_n(&follow->shared->holding, 0, __ATOMIC_SEQ_CST);
	follow->started = false;
	follow->ended = true;
	take_losses(follow);
}

void follow_detach(struct follow *follow)
{
	follow->losses = follow_losses(follow);
	follow->detached = true;
	__atomic_store_n(&follow->shared->following, 0, __ATOMIC_SEQ_CST);
	probes_detach(follow->probes);
	loads_detach(follow->loads);
}

void follow_destroy(struct follow *follow)
{
	if (!follow)
		return;
	follow_stop(follow);
	__atomic_store_n(&follow->shared->following, 0, __ATOMIC_SEQ_CST);
	probes_destroy(follow->probes);
	loads_destroy(follow->loads);
	ring_buffer__free(follow->ring);
	bodies_destroy(follow->bodies);
	sites_destroy(follow->sites);
	natives_destroy(follow->natives);
	watch_destroy(follow->watch);
	in_flight_destroy(follow->in_flight);
	copies_deinit(&follow->copies);
	exits_deinit(&follow->exits);
	for (size_t i = 0; i < 2; i++) {
		if (follow->notes[i] >= 0)
			close(follow->notes[i]);
	}
	process_deinit(&follow->process);
	free(follow->late);
	text_deinit(&follow->stub_params);
	free(follow->times);
	free(follow);
}
