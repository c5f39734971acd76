// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the first hit that counts to the report: what comes is taken over, counted and printed.
 * After attach.c; the last step but for what a COMMAND's end tells (command.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "follow/follow.h"
#include "session/counts.h"
#include "session/expire.h"
#include "base/log.h"
#include "base/vector.h"
#include "session/session_internal.h"
#include "session/values.h"
#include "session/verdict.h"
#include "stack/known.h"

enum {
	DETACH_LOG_MS = 1000,
	PRINT_MS = 5, /* print no longer than this before it is looked for hits again */

	PENDING_MAX = 4096,
	PENDING_FRAMES_MAX = 1 << 18, /* of all of them */
};

/* Pending hits -------------------------------------------------------------------------------- */

struct pending_hit {
	uint64_t time_ns;
	uint64_t duration_ns;
	uint32_t site;
	pid_t tid;
	char comm[EVENT_COMM_BYTES + 1];
	struct known_stack *stack; /* NULL: it has none */
};

/*
 * Those that are named and not printed yet, in the order in which they came: names are looked up at
 * once where they do not stay in the target; to print takes longer.
 */
struct pending {
	size_t first;
	size_t count;
	size_t frames;
	struct pending_hit hits[PENDING_MAX];
};

int pending_create(struct pending **out, struct error *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : error_set(err, -ENOMEM, "no memory for hits");
}

void pending_destroy(struct pending *pending)
{
	for (size_t i = 0; pending && i < PENDING_MAX; i++)
		known_stack_release(pending->hits[i].stack);
	free(pending);
}

/* Is there no room for one more? */
static bool pending_is_full(const struct pending *pending)
{
	return pending->count == PENDING_MAX || pending->frames >= PENDING_FRAMES_MAX;
}

/* Room for one more, to be filled in and then added; only if there is some. */
static struct pending_hit *pending_next(struct pending *pending)
{
	return &pending->hits[(pending->first + pending->count) % PENDING_MAX];
}

static void pending_add(struct pending *pending)
{
	const struct known_stack *stack = pending_next(pending)->stack;

	pending->frames += stack ? stack->stack.count : 0;
	pending->count++;
}

static void drop_stack(struct pending_hit *hit)
{
	known_stack_release(hit->stack);
	hit->stack = NULL;
}

static void pending_drop_first(struct pending *pending)
{
	struct pending_hit *hit = &pending->hits[pending->first];

	pending->frames -= hit->stack ? hit->stack->stack.count : 0;
	drop_stack(hit);
	pending->first = (pending->first + 1) % PENDING_MAX;
	pending->count--;
}

/* Report -------------------------------------------------------------------------------- */

int session_make_counters(struct session *session, struct error *err)
{
	struct session_counts *counts = &session->counts;
	size_t count = session->plan.count, had = counts->capacity, capacity[] = { had, had, had };

	if (count < had)
		return 0;
	if (!vector_reserve(&counts->counters, &capacity[0], count + 1) ||
	    !vector_reserve(&counts->printed, &capacity[1], count + 1) ||
	    !vector_reserve(&counts->fresh, &capacity[2], count + 1))
		return error_set(err, -ENOMEM, "no memory for %zu sites", count);
	counts->capacity = capacity[0];
	memset(&counts->counters[had], 0, (counts->capacity - had) * sizeof(*counts->counters));
	memset(&counts->printed[had], 0, (counts->capacity - had) * sizeof(*counts->printed));
	memset(&counts->fresh[had], 0, (counts->capacity - had) * sizeof(*counts->fresh));
	return 0;
}

/* Take over what has come up. */
int session_absorb(struct session *session, bool last, struct error *err)
{
	const struct followed *followed = &session->followed;
	int result;

	/* Is there a site that only memory can name? */
	if (session->asked.methods.count && followed->follow &&
	    followed->named < sites_count(follow_sites(followed->follow)))
		(void)session_try_resolve(session);
	result = followed_absorb(session, last, err);
	if (result > 0) {
		capture_group_methods(session->capture);
		if (session->traces)
			capture_mark_roots(session->capture);
	}
	/* Also where there was no memory for it the last time. */
	if (result >= 0)
		result = session_make_counters(session, err);
	if (!last)
		followed_retire(session);
	followed_log_notes(session);
	session_values_add(session);
	return result;
}

static struct hit hit_of(const struct session *session, const struct pending_hit *pending)
{
	const struct site *site = &session->plan.sites[pending->site];

	return (struct hit){
		.time_ns = pending->time_ns,
		.pid = session->pid,
		.tid = pending->tid,
		.comm = pending->comm,
		.method = site->method,
		.tier = tier_name(site->tier),
		.duration_ns = pending->duration_ns,
		.stack = pending->stack ? &pending->stack->stack : NULL,
	};
}

static void print_first(struct session *session)
{
	struct pending *pending = session->pending;
	const struct hit hit = hit_of(session, &pending->hits[pending->first]);

	output_hit(&session->output, &hit);
	session->counts.shown++;
	pending_drop_first(pending);
}

/* Print what is pending, until @until_ns (0: all). True if that is not all. */
static bool print_pending(struct session *session, uint64_t until_ns)
{
	while (session->pending->count && (!until_ns || clock_now_ns() < until_ns))
		print_first(session);
	return session->pending->count != 0;
}

/* The first of hits that are counted; false: it is to be printed like others. */
static bool take_merged(struct session *session, const struct hit_event *event,
			struct pending_hit *pending)
{
	const struct hit hit = hit_of(session, pending);

	if (!event->merged || !session_add_merged(session, event, &hit))
		return false;
	drop_stack(pending);
	return true;
}

/* Values are named at once: types may go with what they are of. */
static void write_call(struct session *session, const struct hit_event *event,
		       struct pending_hit *pending)
{
	const struct hit hit = hit_of(session, pending);

	if (session_values_decide(session, event))
		session_values_write(session, event, &hit);
	drop_stack(pending);
}

static bool take_hit(struct session *session, const struct hit_event *event)
{
	const struct session_stacks before = session->stacks;
	const bool watched = session->options->mode == MODE_WATCH;
	const uint64_t files = session_files_version(session);
	struct pending_hit *hit = pending_next(session->pending);

	if ((event->site >= session->plan.count || session->followed.unsorted) &&
	    session_absorb(session, false, NULL))
		return true;
	if (event->site >= session->plan.count ||
	    (session->plan.sites[event->site].reason == REASON_OTHER_METHOD && !session->traces))
		return true;
	session_prepare_names(session);
	hit->time_ns = event->time_ns;
	hit->duration_ns = event->duration_ns;
	hit->site = event->site;
	hit->tid = (pid_t)event->tid;
	memcpy(hit->comm, event->comm, EVENT_COMM_BYTES);
	hit->stack = NULL;
	if (session->traces) {
		const struct hit traced = hit_of(session, hit);

		session_trace(session, event, &traced);
		return true;
	}
	/* Of a call that was left otherwise there is none any more. */
	if (session->options->stack != STACK_MODE_NONE && (!watched || event->frame_count))
		hit->stack = session_resolve_stack(session, event);
	if (hit->stack && !watched && session_hold_back(session, event, files)) {
		drop_stack(hit);
		session->stacks.totals = before.totals;
		session->stacks.moved = before.moved;
		return false;
	}
	if (watched) {
		write_call(session, event, hit);
		return true;
	}
	if (take_merged(session, event, hit))
		return true;
	pending_add(session->pending);
	if (!session->stacks.fading)
		print_first(session);
	return !pending_is_full(session->pending);
}

/* The one that has waited for files comes first. */
static void take_held(struct session *session)
{
	_cleanup_free_ struct hit_event *held = session_take_held(session);

	if (held)
		(void)take_hit(session, held);
}

static bool on_hit(const struct hit_event *event, void *ctx)
{
	take_held(ctx);
	return take_hit(ctx, event);
}

static bool waits(void *ctx)
{
	return session_waits_for_files(ctx);
}

/* What each site has counted so far, but for those that turned out to be other methods'. */
static void read_counters(struct session *session)
{
	capture_read_counters(session->capture, session->counts.counters);
	followed_clear_others(session);
}

void session_read_totals(struct session *session)
{
	read_counters(session);
	for (size_t i = 0; i < session->plan.count; i++)
		session->counts.fresh[i] = session->counts.counters[i].hits;
}

/* What has come since the last time, by site. */
static int read_counts(struct session *session, bool last, struct error *err)
{
	int result = session_absorb(session, last, err);

	if (result)
		return result;
	read_counters(session);
	for (size_t i = 0; i < session->plan.count; i++) {
		if (session->plan.sites[i].mechanism == MECHANISM_NONE)
			session->counts.printed[i] = 0; /* they were no calls, or others' */
		session->counts.fresh[i] =
			session->counts.counters[i].hits - session->counts.printed[i];
		session->counts.printed[i] = session->counts.counters[i].hits;
	}
	return 0;
}

static int write_counts(struct session *session, const struct count_bounds *bounds,
			struct error *err)
{
	int result =
		counts_write(&session->output, &session->plan, session->counts.fresh, bounds, err);

	if (result || !session->options->by_value)
		return result;
	return session_print_latencies(session, bounds, err);
}

static int add_results(struct session *session, const struct count_bounds *bounds,
		       struct error *err)
{
	uint64_t now_ns = bounds ? session->end_ns : clock_now_ns();
	int result = 0;

	session_write_status(session, &session->output, now_ns - session->start_ns, bounds);
	if (session->options->mode == MODE_COUNT)
		result = write_counts(session, bounds, err);
	else if (session->options->top)
		result = session_write_latencies(session, &session->output, bounds, err);
	else if (session->options->mode == MODE_HIST && !options_report_hits(session->options))
		result = session_print_latencies(session, bounds, err);
	else
		session_count_merged(session, false);
	return result;
}

int session_print_results(struct session *session, const struct count_bounds *bounds,
			  struct error *err)
{
	int result = add_results(session, bounds, err);

	if (result == 0 && bounds && session->record)
		result = session_record_totals(session, session->counts.printed, bounds, err);
	if (result == 0)
		output_kept(&session->output);
	return result;
}

int session_add_new(struct session *session)
{
	int result = read_counts(session, false, NULL);

	return result ? result : add_results(session, NULL, NULL);
}

static int on_tick(bool interval_over, void *ctx)
{
	struct session *session = ctx;
	bool is_more;
	int result;

	if (session_check_private(session) || session_check_sandbox(session))
		return -1;
	session_look_early(session);
	if (session_absorb(session, false, NULL))
		return -1;
	session_refresh_unwind(session);
	if (!session_waits_for_files(session)) {
		take_held(session);
		session_turn_merged(session);
	}
	if (session_tend_remap(session))
		return -1;
	is_more = print_pending(session, clock_now_ns() + (uint64_t)PRINT_MS * NS_PER_MS);
	if (session_live_tend(session))
		return -1;
	if (interval_over && !session->live &&
	    (read_counts(session, false, NULL) || session_print_results(session, NULL, NULL)))
		return -1;
	if (session_tend_record(session, NULL) || session_serve(session))
		return -1;
	result = output_flush(&session->output);
	return result ? result : is_more;
}

/* Steps ----------------------------------------------------------------------------------- */

static struct capture_handlers handlers_of(struct session *session)
{
	return (struct capture_handlers){
		.hit = on_hit,
		.tick = on_tick,
		.waits = session->fetching.debuginfod ? waits : NULL,
		.ctx = session,
		.wake_fd = session->serving.server ? &session->serving.fd :
						     session_live_input(session),
	};
}

enum session_event session_consume(struct session *session, struct error *err)
{
	struct capture_handlers handlers;
	int result;

	session_live_start(session);
	handlers = handlers_of(session);
	result = capture_consume(session->capture, &handlers, &session->end, err);
	session->end_ns = clock_now_ns();
	session_stop_serving(session);
	session_live_stop(session);
	return result ? session_fail(session, EXIT_STATUS_ERROR) : EVENT_DONE;
}

enum session_event session_detach(struct session *session, struct error *err)
{
	const struct capture_handlers handlers = handlers_of(session);
	unsigned int ms = capture_detach_ms(session->capture);
	struct error why = { .text = "" };

	(void)err;
	if (ms > DETACH_LOG_MS)
		log_print("removing the probes takes about %u s", ms / 1000);
	expire_in(session->guard, ms * (uint64_t)NS_PER_MS + EXPIRE_GRACE_NS);
	capture_deactivate(session->capture);
	/* Named now, they are printed later. */
	if (session->stacks.fading && !pending_is_full(session->pending))
		(void)capture_drain(session->capture, &handlers, false);
	capture_detach(session->capture);
	if (session_share_again(session, &why))
		log_print("%s", why.text);
	return EVENT_DONE;
}

/* Nothing is printed before the target is left alone: the reader may be slow. */
enum session_event session_judge(struct session *session, struct error *err)
{
	(void)err;
	if (session->status == EXIT_STATUS_OK && session->end != CAPTURE_TARGET_EXITED) {
		session_settle_names(session);
		session_record_target(session);
		session->snapshot = last_snapshot_take(&session->target, session->followed.follow);
	}
	if (session->followed.follow)
		follow_detach(session->followed.follow);
	/* Whoever reads the output may take as long as he likes. */
	expire_end(&session->guard);
	return EVENT_DONE;
}

enum session_event session_report(struct session *session, struct error *err)
{
	const struct capture_handlers handlers = handlers_of(session);

	session_may_wait(session, true);
	take_held(session);
	do
		(void)print_pending(session, 0);
	while (capture_drain(session->capture, &handlers, true) || session->pending->count);
	if (session->status == EXIT_STATUS_OK && session->options->mode == MODE_WATCH &&
	    session->end != CAPTURE_ENOUGH_HITS)
		capture_each_kept(session->capture, session->end_ns, &handlers);
	/* Consuming has failed, and @err says why. */
	if (session->status != EXIT_STATUS_OK)
		return EVENT_FAILED;
	if (read_counts(session, true, err) && !session->problem.text[0])
		session->problem = *err;
	/* Nothing can be told of sites that have no counters, or are of no method. */
	if (session->followed.unsorted || session->counts.capacity <= session->plan.count)
		return session_fail(session, EXIT_STATUS_ERROR);
	/* Before it is told what was lost. */
	session_count_merged(session, true);
	session->status = session_write_report(session, err);
	if (session->status != EXIT_STATUS_ERROR && session_had_no_register(session, err))
		session->status = EXIT_STATUS_UNPLACEABLE;
	if (session->status == EXIT_STATUS_OK && session->command.launch)
		session->status = session_judge_command(session, err);
	/* What was seen until then is told all the same. */
	if (session->problem.text[0]) {
		*err = session->problem;
		session->status = EXIT_STATUS_ERROR;
	}
	return session->status == EXIT_STATUS_OK ? EVENT_DONE : EVENT_FAILED;
}
