// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The follower's thread: from the ring buffer of the BPF programs, each event goes to jit/
 * (compilations) or to answers.c (files, the dynamic loader), and every tick to all.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/breakpoint_event.h"
#include "base/clock.h"
#include "base/sorted.h"
#include "follow/follow_internal.h"

enum {
	TICK_MS = 20,
	FIRST_TICK_MS = 1,	/* while the counting waits for ticks, and no method is followed */
	SETTLE_MAX_MS = 1000,	/* before the counting begins */
	PRIORITY = 50,		/* before all that is ordinary: the target waits */
	IMAGE_HOLD_FACTOR = 40, /* loading an image is rare, and may be more work */
	IMAGE_HOLD_MAX_MS = 250,
};

/*
 * Without a heartbeat, which there is every tick, held threads go on after so long, or after
 * --hold, if that is more: the longest hold, too, ends soon after place-probe is killed or stopped.
 */
#define HEARTBEAT_LIMIT_NS (500ULL * NS_PER_MS)
/* Nobody needs a program yet that has not come to its first compilation. */
#define START_HOLD_NS (5ULL * NS_PER_S)

/* Notes ----------------------------------------------------------------------------------- */

bool follow_read_note(struct follow *follow, struct follow_note *note)
{
	return read(follow->messages.notes[0], note, sizeof(*note)) == sizeof(*note);
}

int follow_fd(const struct follow *follow)
{
	return follow->messages.notes[0];
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
		answers_late(follow, head, size);
		return 0;
	}
	switch (head->type) {
	case FOLLOW_COMPILED:
		if (!follow->config.target)
			follow->shared->image_hold_ns = follow_image_hold_ns(follow);
		if (size >= sizeof(*detailed))
			compilations_answer(follow->jit, &detailed->event, detailed->detail);
		else if (size >= sizeof(detailed->event))
			compilations_answer(follow->jit, &detailed->event, NULL);
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
			copies_take(&follow->jit->copies, data);
		break;
	default:
		break;
	}
	return 0;
}

static void note_detach_ms(struct follow *follow)
{
	atomic_store(&follow->detach_ms,
		     probes_detach_ms(&follow->probes) + uprobes_detach_ms(follow->loads->uprobes));
}

static void tick(struct follow *follow)
{
	compilations_tick(follow->jit);
	/* What cannot be given to a CPU that was switched on is lost there; the rest goes on. */
	if (breakpoints_keep(follow->config.breakpoints, NULL) != 0)
		follow->messages.losses.cpus_switched_on++;
	/* What was compiled meanwhile was not reported. The end will tell whether that matters. */
	if (probes_keep(&follow->probes) != 0)
		follow->messages.losses.blind = true;
	if (follow->loads->uprobes && uprobes_keep(follow->loads->uprobes, NULL) != 0)
		follow->messages.losses.anchor_exits++;
	if (!follow->told_stopped && atomic_load(&follow->messages.counting) &&
	    !atomic_load(&follow->messages.ended_ns) && follow->config.kernel.can_hold &&
	    follow->config.hold_ns &&
	    !__atomic_load_n(&follow->shared->holding, __ATOMIC_ACQUIRE)) {
		follow->told_stopped = true;
		messages_note(&follow->messages,
			      &(struct follow_note){ .type = NOTE_HOLDING_STOPPED });
	}
	if (!follow->told_room && (follow->messages.losses.sites || follow->loads->no_room)) {
		follow->told_room = true;
		messages_note(&follow->messages, &(struct follow_note){ .type = NOTE_NO_ROOM });
	}
	note_detach_ms(follow);
	atomic_fetch_add(&follow->ticks, 1);
}

/* The heartbeat: without one no thread is held. */
static void beat(const struct follow *follow)
{
	__atomic_store_n(&follow->shared->heartbeat_ns, clock_now_ns(), __ATOMIC_RELEASE);
}

/* Methods that are being compiled take longer to come to rest. */
static int tick_ms(const struct follow *follow)
{
	return follow_has_methods(follow) || atomic_load(&follow->messages.counting) ?
		       TICK_MS :
		       FIRST_TICK_MS;
}

static void *run(void *argument)
{
	struct follow *follow = argument;
	const struct sched_param first = { .sched_priority = PRIORITY };
	uint64_t next_tick = 0;

	/* Where that is not permitted, it takes longer. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!atomic_load(&follow->messages.ended_ns)) {
		beat(follow);
		ring_buffer__poll(follow->ring, tick_ms(follow));
		answers_look_again(follow);
		if (clock_now_ns() < next_tick)
			continue;
		/* So soon after an event the kernel may not have woken anybody yet. */
		if (!atomic_load(&follow->messages.counting))
			ring_buffer__consume(follow->ring);
		tick(follow);
		next_tick = clock_now_ns() + (uint64_t)tick_ms(follow) * NS_PER_MS;
	}
	/* What was too late for an answer is still to be told. */
	ring_buffer__consume(follow->ring);
	compilations_give_up(follow->jit);
	return NULL;
}

/* Creating -------------------------------------------------------------------------------- */

static int create_rooms(struct follow *follow, struct error *err)
{
	const struct follow_config *config = &follow->config;
	const struct compilations_config jit = {
		.methods = config->methods,
		.snapshot = &follow->snapshot,
		.maps.watched_fd = config->kernel.watched_fd,
		.maps.modules_fd = config->kernel.modules_fd,
		.stub_sites_fd = config->kernel.stub_sites_fd,
		.messages = &follow->messages,
		.breakpoints = config->breakpoints,
		.plan = config->plan,
		.slots = config->slots,
		.share_ns = config->share_ns,
		.timed = config->timed,
		.costs = config->costs,
	};
	struct loads_config loads = {
		.numbers = config->numbers,
		.process = &follow->process,
		.natives = config->natives,
		.offered = config->offered,
		.messages = &follow->messages,
		.means = config->kernel.means,
		.hit_fd = config->kernel.hit_fd,
		.snapshot = &follow->snapshot,
		.timed = config->timed,
		.open_ended = config->programs != NULL,
		.costs = config->costs,
	};
	int result = follow_snapshot_take(&follow->snapshot, config, err);

	if (result == 0)
		result = compilations_create(&follow->jit, &jit, err);
	if (result == 0) {
		loads.watch = follow->watch = follow->jit->watch;
		result = loads_create(&follow->loads, &loads, err);
	}
	if (result)
		return result;
	follow->ring = ring_buffer__new(config->kernel.events_fd, on_event, follow, NULL);
	return follow->ring ?
		       0 :
		       error_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
}

int follow_create(struct follow **out, const struct follow_config *config, struct error *err)
{
	struct follow *follow = calloc(1, sizeof(*follow));
	int result;

	if (!follow)
		return error_set(err, -ENOMEM, "no memory to follow methods");
	follow->config = *config;
	follow->shared = config->kernel.shared;
	follow->process = PROCESS_NONE;
	follow->probes.kernel = &follow->config.kernel;
	follow->probes.process = &follow->process;
	result = messages_init(&follow->messages, follow->shared, config->plan->count, err);
	if (result == 0 && config->programs)
		result = sites_use_programs(follow->messages.sites, config->plan, config->programs,
					    err);
	if (result == 0)
		result = process_copy(&follow->process, config->process, err);
	if (result == 0)
		result = create_rooms(follow, err);
	if (result == 0) {
		compilations_adopt_plan(follow->jit);
		follow->shared->want_dynamic = watch_wants_dynamic(follow->watch);
		follow->shared->want_stubs = !follow->config.timed;
		follow->shared->want_code = follow->config.timed != NULL;
		__atomic_store_n(&follow->shared->following, 1, __ATOMIC_SEQ_CST);
		result = config->target ? libraries_attach_running(follow, err) :
					  libraries_attach_starting(follow, err);
	}
	if (result) {
		follow_destroy(follow);
		return result;
	}
	compilations_adopt_registers(follow->jit);
	note_detach_ms(follow);
	*out = follow;
	return 0;
}

/*
 * If that is not to be had, whoever loses a register will be said to have lost it. To load it takes
 * a third of a short run, since the kernel's types have to be read.
 */
static void start_in_flight(struct follow *follow)
{
	if (breakpoint_events_fire() &&
	    in_flight_create(&follow->in_flight, &follow->process, NULL) == 0)
		scheduler_use_in_flight(&follow->jit->scheduler, follow->in_flight);
}

static void note_methods(struct follow *follow)
{
	follow->methods.count = watch_row_count(follow->watch);
	follow->methods.named = watch_named_count(follow->watch);
	for (uint32_t named = 0; named < FOLLOW_GUARANTEED; named++)
		follow->methods.guaranteed[named] = watch_name_of(follow->watch, named);
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
	follow->shared->heartbeat_limit_ns =
		hold_ns > HEARTBEAT_LIMIT_NS ? hold_ns : HEARTBEAT_LIMIT_NS;
	follow->shared->image_hold_ns =
		follow->config.target ? follow_image_hold_ns(follow) : START_HOLD_NS;
	bodies_begin(follow->jit->bodies);
	note_methods(follow);
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
	beat(follow);
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
	while (clock_now_ns() < atomic_load(&follow->jit->settled_ns) && clock_now_ns() < until)
		nanosleep(&pause, NULL);
	follow->unsettled = clock_now_ns() < atomic_load(&follow->jit->settled_ns);
	atomic_store(&follow->messages.counting, true);
	return 0;
}

void follow_add(struct follow *follow, const struct site *site)
{
	compilations_add(follow->jit, site);
}

/* What others ask ------------------------------------------------------------------------- */

int follow_registers(const struct follow *follow)
{
	return atomic_load(&follow->jit->registers);
}

const struct follow_methods *follow_methods(const struct follow *follow)
{
	return &follow->methods;
}

void follow_count_from(struct follow *follow, uint64_t since_ns)
{
	atomic_store(&follow->messages.active_ns, since_ns);
}

struct sites *follow_sites(const struct follow *follow)
{
	return follow->messages.sites;
}

struct body_time follow_watched(const struct follow *follow, size_t site)
{
	const struct body *body = bodies_find(
		follow->jit->bodies, sites_probe_of(follow->messages.sites, (uint32_t)site));

	return body ? body_time(body, atomic_load(&follow->messages.ended_ns)) :
		      (struct body_time){ 0 };
}

bool follow_native_matched(const struct follow *follow, size_t pattern)
{
	return follow->loads->matched[pattern];
}

bool follow_met_runtime(const struct follow *follow)
{
	return follow->config.target || follow->met_runtime;
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
	const struct runtime_images *images = watch_images(follow->watch);
	struct follow_losses losses = follow->messages.losses;

	if (follow->detached)
		return losses;
	losses.others += follow->unsettled;
	losses.sites += follow->loads->no_room;
	losses.libraries_unseen = follow->libraries_unseen;
	/* Without a runtime there are no methods. Code of compressed assemblies is in no file. */
	if (follow_has_methods(follow) && follow_met_runtime(follow))
		losses.blind |= images->ops->have_compressed(images) ||
				!follow->probes.of[PROBES_MMAP] ||
				!follow->probes.of[PROBES_COMPILE_BEGIN];
	return losses;
}

struct follow_times follow_times(const struct follow *follow)
{
	struct compilations *jit = follow->jit;
	size_t count = jit->time_count < TIMES_MAX ? jit->time_count : TIMES_MAX;
	struct follow_times times = {
		.count = jit->time_count,
		.longest_hold_ns = follow->shared->longest_hold_ns,
	};

	if (count == 0)
		return times;
	qsort(jit->times, count, sizeof(*jit->times), by_leading_number);
	times.median_ns = jit->times[count / 2];
	times.p99_ns = jit->times[count * 99 / 100];
	times.max_ns = jit->times[count - 1];
	return times;
}

unsigned int follow_detach_ms(const struct follow *follow)
{
	return atomic_load(&follow->detach_ms);
}

void follow_stop(struct follow *follow)
{
	if (!follow->started)
		return;
	/* Who was held before is still answered. */
	atomic_store(&follow->messages.ended_ns, clock_now_ns());
	__atomic_store_n(&follow->shared->ended, 1, __ATOMIC_SEQ_CST);
	pthread_join(follow->thread, NULL);
	__atomic_store_n(&follow->shared->holding, 0, __ATOMIC_SEQ_CST);
	follow->started = false;
	follow->ended = true;
	/* What the programs could not report until now. */
	follow->messages.losses.compilations = follow->shared->lost;
	follow->messages.losses.unreadable = follow->shared->unreadable;
	follow->messages.losses.others += follow->shared->lost_other;
}

void follow_detach(struct follow *follow)
{
	follow->messages.losses = follow_losses(follow);
	follow->detached = true;
	__atomic_store_n(&follow->shared->following, 0, __ATOMIC_SEQ_CST);
	probes_detach(&follow->probes);
	loads_detach(follow->loads);
}

void follow_destroy(struct follow *follow)
{
	if (!follow)
		return;
	follow_stop(follow);
	__atomic_store_n(&follow->shared->following, 0, __ATOMIC_SEQ_CST);
	probes_detach(&follow->probes);
	loads_destroy(follow->loads);
	ring_buffer__free(follow->ring);
	compilations_destroy(follow->jit);
	in_flight_destroy(follow->in_flight);
	messages_deinit(&follow->messages);
	runtime_follow_end(&follow->snapshot.runtime);
	process_deinit(&follow->process);
	free(follow);
}
