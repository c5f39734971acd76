// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the plan to the first hit that counts: load, attach, follow and activate, and what is said
 * of it. After planning.c or, with a COMMAND, command.c; consume.c goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/text.h"
#include "follow/follow.h"
#include "inject/private.h"
#include "probe/breakpoint_event.h"
#include "probe/breakpoints.h"
#include "record/record.h"
#include "session/session_internal.h"
#include "target/launch.h"
#include "target/numbers.h"
#include "target/privileges.h"
#include "session/expire.h"
#include "session/values.h"
#include "stack/known.h"

enum {
	SETTLE_MS = 10,
	KNOWN_PART = 4, /* of --memory, for stacks that were seen before */
};

static const uint64_t EXPIRE_ATTACH_NS = 30 * (uint64_t)NS_PER_S;

/* What became of the plan's sites tells whether it is for want of registers. */
static enum session_event fail(struct session *session)
{
	return session_fail(session, session_lacks_registers(session) ? EXIT_STATUS_UNPLACEABLE :
									EXIT_STATUS_ERROR);
}

/* Nothing else goes wrong for want of these. */
static void log_lacking(void)
{
	_cleanup_(text_deinit) struct text words = { 0 };

	if (privileges_lacking(&words))
		log_print("%s", text_chars(&words));
}

enum session_event session_load(struct session *session, struct error *err)
{
	session_may_wait(session, false);
	if (pending_create(&session->pending, err) ||
	    known_stacks_create(&session->stacks.known, session->options->memory_bytes / KNOWN_PART,
				err) ||
	    session_make_counters(session, err) || session_begin_load(session, err))
		return fail(session);
	if (session_read_unwind(session, err) ||
	    capture_load(session->capture, session->stacks.tables, err))
		return fail(session);
	session_values_add(session);
	if (session_values_check(session, err))
		return session_fail(session, EXIT_STATUS_USAGE);
	log_lacking();
	heap_settle();
	return EVENT_DONE;
}

enum session_event session_attach(struct session *session, struct error *err)
{
	_cleanup_free_ int *fds = calloc(FILE_NUMBERS_MAX, sizeof(*fds));
	const struct private_code *code;
	int result;

	/* Attaching may take a while. */
	expire_in(session->guard, session->options->expire_ns + EXPIRE_ATTACH_NS);
	if (!fds) {
		error_set(err, -ENOMEM, "no memory for the target's files");
		return fail(session);
	}
	for (size_t i = 0; i < FILE_NUMBERS_MAX; i++)
		fds[i] = -1;
	for (size_t i = 0; i < session->target.files.count; i++) {
		const struct target_file *file = &session->target.files.files[i];

		fds[file->number] = file->fd;
	}
	session_watch_moves(session);
	result = session_make_private(session, err);
	code = session->remap.code;
	if (result == 0)
		result = capture_attach(session->capture, fds, code ? private_code_fd(code) : -1,
					err);
	/* Each probe is in its place, and nothing else has changed meanwhile. */
	if (result == 0 && session_check_private(session)) {
		*err = session->problem;
		result = -ESTALE;
	}
	return result ? fail(session) : EVENT_DONE;
}

/* A timed body gets all that it needs at once, or nothing, unless with --share. */
static size_t await_registers(const struct session *session, struct plan *plan)
{
	if (session->plan.timed && !session->options->share_ns)
		return 0;
	return plan_await_registers(plan, BREAKPOINTS_MAX);
}

/* What has been compiled between the first look and following. */
static int look_again(struct session *session, struct error *err)
{
	const struct timespec settle = { .tv_nsec = SETTLE_MS * NS_PER_MS };
	struct resolution *resolution = &session->resolution;
	_cleanup_(plan_deinit) struct plan plan = {
		.timed = session->plan.timed,
		.open_ended = session->plan.open_ended,
	};
	const struct resolution_query query = {
		.patterns = session->asked.method_patterns,
		.count = session->asked.methods.count,
		.roots = session->asked.methods.roots,
		.nested = session->options->request.nested,
		.registers = BREAKPOINTS_MAX,
	};
	size_t dropped;
	int result;

	/* What was being compiled when the probes came is not reported when it is done. */
	nanosleep(&settle, NULL);
	/* The target is gone, or cannot be read just now: the end will tell. */
	if (runtimes_reread(&resolution->runtimes, NULL))
		return 0;
	result = resolution_plan(resolution, &query, &plan, &dropped, err);
	if (result)
		return result;
	/* They may get one in turn, and have hits that count. */
	await_registers(session, &plan);
	for (size_t i = 0; i < plan.count; i++) {
		const struct site *site = &plan.sites[i];

		if (site->method_desc && site->file == BODY_NO_FILE &&
		    !plan_find(&session->plan, site))
			follow_add(session->followed.follow, site);
	}
	return 0;
}

/* What cannot be seen, or not in time, from now on. */
static void log_following(const struct session *session)
{
	bool methods = session->asked.methods.count > 0;

	if (!capture_can_hold(session->capture))
		log_print(
			"this kernel cannot hold a thread at a uprobe, so calls of code that is %s from now on may be missed before it is probed (run Linux 6.1 or later, or place-probe again)",
			methods ? "compiled" : "loaded");
	if (follow_misses_libraries(session->followed.follow))
		log_print(
			"where the dynamic loader maps libraries is not known, so functions of those that it loads from now on are not probed (run again once they are)");
}

/*
 * Follow what the runtime compiles from now on, and what is loaded. Where that cannot be, counts
 * are lower bounds.
 */
static int start_following(struct session *session, struct error *err)
{
	struct resolution *resolution =
		session->known == TARGET_RESOLVED ? &session->resolution : NULL;
	struct follow_config config = {
		.methods = &session->asked.methods,
		.natives = &session->options->request,
		.target = resolution ? resolution->target : NULL,
		.offered = resolution_runtimes,
		.runtimes = resolution ? &resolution->runtimes : NULL,
		.numbers = session->target.files.numbers,
		.program = session->command.program,
		.loader = session->command.loader,
	};
	struct error why = { .text = "" };
	int result;

	session->followed.first = session->plan.count;
	result = capture_follow(session->capture, &config, &why);
	if (result) {
		if (session->command.launch)
			return error_set(err, result, "%s", why.text);
		plan_leave_stubs(&session->plan);
		log_print("%s (run again to have them): %s",
			  session->asked.methods.count ?
				  "methods are not followed when the runtime compiles them anew" :
				  "libraries that are loaded from now on are not probed",
			  why.text);
		return 0;
	}
	session->followed.follow = capture_followed(session->capture);
	/* They have no need of registers, and are watched without. */
	for (size_t i = 0; i < session->plan.count; i++) {
		if (site_is_remapped(&session->plan.sites[i]))
			sites_retire(follow_sites(session->followed.follow), i);
	}
	session->followed.waiting = await_registers(session, &session->plan);
	log_following(session);
	if (resolution && session->asked.methods.count)
		result = look_again(session, err);
	if (result == 0)
		result = follow_start(session->followed.follow, err);
	return result ? result : session_absorb(session, false, err);
}

enum session_event session_follow(struct session *session, struct error *err)
{
	if ((session->command.launch && session_check_holding(session, err)) ||
	    start_following(session, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	if (!session->followed.follow && !plan_placeable(&session->plan))
		return session_refuse_unplaceable(session, err);
	/* What a COMMAND will load has no names yet. */
	if (!session->command.launch && session_name_frames(session, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	return EVENT_DONE;
}

/* The methods that are sure to have a register whenever they need one, if others have none. */
static void add_guaranteed(const struct follow *follow, struct text *out)
{
	const struct follow_methods *methods = follow_methods(follow);
	size_t count = follow_registers(follow) == BREAKPOINTS_MAX ? methods->named : 0;

	for (size_t i = 0; i < count && i < FOLLOW_GUARANTEED; i++)
		text_printf(out, "%s%s", i ? ", " : " (not so ", methods->guaranteed[i]);
	if (count)
		text_add(out, ": those named first keep theirs)");
}

/* More code is in use than there are registers, or, with -v, may come to be. */
static void log_turns(const struct session *session)
{
	const struct follow *follow = session->followed.follow;
	size_t waiting = session->followed.waiting;
	_cleanup_(text_deinit) struct text text = { 0 };

	if (session->options->share_ns) {
		if (waiting)
			log_print(
				"bodies take turns of %u ms on %d debug registers: what they do outside their turns is not counted%s",
				(unsigned int)(session->options->share_ns / NS_PER_MS),
				session_registers(session),
				options_may_remap(session->options) ?
					"; those on pages that are full need none" :
					" (--remap needs no turns)");
		return;
	}
	/* Where none works nobody takes turns: session_log_registers() tells. */
	if (!follow || session->plan.timed ||
	    (!waiting &&
	     (!session->options->verbose || follow_methods(follow)->count <= FOLLOW_GUARANTEED)) ||
	    !breakpoint_events_fire())
		return;
	if (waiting)
		text_printf(
			&text,
			"%zu bod%s compiled at run time ha%s no debug register at first, as there are "
			"%d: they take turns, and %s",
			waiting, waiting == 1 ? "y" : "ies", waiting == 1 ? "s" : "ve",
			session_registers(session),
			options_report_hits(session->options) ?
				"calls outside of them are not seen" :
				"each count tells of how much of the time it is");
	else
		text_printf(
			&text,
			"%zu methods match, and bodies take turns if more that are compiled at run "
			"time are in use than there are debug registers, %d",
			follow_methods(follow)->count, session_registers(session));
	add_guaranteed(follow, &text);
	if (!options_may_remap(session->options))
		text_add(&text, "; --remap needs no register");
	log_print("%s", text_chars(&text));
}

static void print_range(struct text *text, struct capture_cost_range range)
{
	double least = (double)range.least_ns / NS_PER_US, most = (double)range.most_ns / NS_PER_US;

	if (range.most_ns > range.least_ns)
		text_printf(text, "%.1f to ", least);
	text_printf(text, "%.1f us", most);
}

/* What durations are without. */
static void log_costs(const struct session *session)
{
	const struct capture_costs costs = capture_costs(session->capture);
	_cleanup_(text_deinit) struct text entry = { 0 }, exit = { 0 };

	print_range(&entry, costs.entry);
	print_range(&exit, costs.exit);
	if (costs.entry.most_ns)
		log_print(
			"a probe takes the target about %s at an entry and %s at an exit; durations are without it (docs/limits.md)",
			text_chars(&entry), text_chars(&exit));
	else
		log_print(
			"what probes take of the target's time is not known, so durations are with it%s",
			session->options->verbose ? "" : " (-v says why)");
	if (costs.problem && session->options->verbose)
		log_print(
			"what probes take could not be measured, so take a small duration for what it is: %s",
			costs.problem);
}

/* Of an async method, or an iterator, what runs is its state machine, a step at a time. */
static void log_steps(const struct plan *plan, bool all)
{
	const struct site *first = NULL;
	size_t count = 0;

	for (size_t i = 0; plan->timed && i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		if (site->mechanism == MECHANISM_NONE || !site->made_from ||
		    !strstr(site->method, "::MoveNext("))
			continue;
		if (all)
			log_print(
				"%s (%s): each of its steps is timed, not the whole; time what awaits it for that",
				site->method, site->made_from);
		first = count++ ? first : site;
	}
	if (count == 1 && !all)
		log_print(
			"%s (%s): each of its steps is timed, not the whole; time what awaits it for that",
			first->method, first->made_from);
	else if (count && !all)
		log_print(
			"%s (%s), and %zu more (-v names them): each of their steps is timed, not the whole",
			first->method, first->made_from, count - 1);
}

/*
 * Native functions of a program that is yet to start, and what has come up since the plan was made.
 */
static size_t placed_since(const struct session *session)
{
	size_t count = 0;

	for (size_t i = session->followed.first; i < session->plan.count; i++)
		count += session->plan.sites[i].mechanism == MECHANISM_UPROBE;
	return count;
}

/* The first one, or @all. */
static void log_refused(const struct plan *plan, bool all)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++)
		count += plan->sites[i].reason == REASON_KERNEL_REFUSED;
	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		if (site->reason != REASON_KERNEL_REFUSED)
			continue;
		if (count > 1 && !all) {
			log_print(
				"the kernel refused %s (%s): error %d, and %zu more (-v names them)",
				site->method, site->image, site->kernel_error, count - 1);
			return;
		}
		log_print("the kernel refused %s (%s): error %d (--self-test says what it offers)",
			  site->method, site->image, site->kernel_error);
	}
}

static void log_attached(struct session *session)
{
	const struct plan *plan = &session->plan;
	const char *comm = session->command.launch ? launch_program(session->command.launch) :
						     session->target.process.comm;
	size_t attached = capture_site_count(session->capture) + placed_since(session);
	size_t missed = 0, later = 0, breakpoints = 0, lacking = 0;
	_cleanup_(text_deinit) struct text not_probed = { 0 };

	log_refused(plan, session->options->verbose);
	if (capture_breakpoint_problem(session->capture))
		log_print("%s", capture_breakpoint_problem(session->capture));
	for (size_t i = 0; i < plan->count; i++) {
		missed += site_is_missed(&plan->sites[i]);
		lacking += plan->sites[i].reason == REASON_NO_DEBUG_REGISTER;
		later += plan->sites[i].reason == REASON_NOT_COMPILED;
		breakpoints += plan->sites[i].mechanism == MECHANISM_BREAKPOINT;
	}
	if (later && !session->followed.follow)
		log_print(
			"%zu method%s no code yet; what is compiled then is not probed (run again once it is)",
			later, later == 1 ? " has" : "s have");
	if (breakpoints)
		followed_warn(session);
	session_log_registers(session);
	session->not_probed = missed;
	log_turns(session);
	if (!session->options->async)
		log_steps(plan, session->options->verbose);
	if (missed)
		text_printf(&not_probed, "; %zu of %zu bodies are not probed (--list says why%s)",
			    missed, plan->count,
			    lacking && plan->timed && !session->options->share_ns ?
				    ", --share has those without a register take turns" :
				    "");
	if (attached == 0)
		log_print("attached 0 sites to %d (%s): code is probed as it comes up%s",
			  session->pid, comm, text_chars(&not_probed));
	else
		log_print("attached %zu site%s to %d (%s) by %s%s", attached, text_plural(attached),
			  session->pid, comm, capture_means(session->capture),
			  text_chars(&not_probed));
	if (plan->timed)
		log_costs(session);
}

enum session_event session_activate(struct session *session, struct error *err)
{
	(void)err;
	session->start_ns = clock_now_ns();
	session->output.start_ns = session->start_ns;
	if (session->record)
		record_start(session->record);
	expire_in(session->guard, session->options->expire_ns);
	capture_activate(session->capture);
	if (session->followed.follow)
		follow_count_from(session->followed.follow, session->start_ns);
	log_attached(session);
	session_log_serving(session);
	session_write_traced(session);
	return session->command.launch ? EVENT_COMMAND : EVENT_PID;
}
