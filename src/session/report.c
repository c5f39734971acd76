// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last phase of a run, after the probes are gone: what was lost, what the verdict says of each
 * count, and the last records for src/output/.
 */
#include "session/session_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/shortage.h"
#include "follow/follow.h"
#include "session/counts.h"
#include "session/verdict.h"
#include "stack/known.h"
#include "base/log.h"
#include "base/text.h"
#include "session/values.h"
#include "target/launch.h"

enum { UNDECIDED_NAMED = 4 };

static const char *end_text(enum capture_end end)
{
	return end == CAPTURE_TARGET_EXITED ? "; the target has exited" :
	       end == CAPTURE_ENOUGH_HITS   ? "; as many as asked for" :
					      "";
}

static int print_counts(struct session *session, const struct verdict *verdict, struct error *err)
{
	const struct count_bounds bounds = {
		.of_sites = verdict->watched ? verdict->of_sites : NULL,
		.unjudged = 1U << VERDICT_ENDED_EARLY,
		.reasons = VERDICT_REASONS,
		.code = verdict_reason_code,
		.watched = verdict->watched,
		.all_calls = session->counts.printed,
	};

	return session_print_results(session, &bounds, err);
}

static void log_followed(const struct session *session, const double *watched)
{
	const uint64_t *calls = session->counts.printed;

	if (session->options->verbose)
		counts_log_tiers(&session->plan, calls);
	if (watched)
		inlined_hint(&session->plan, calls, watched, session->options->verbose);
	if (session->followed.follow && session->options->verbose)
		followed_log_times(session);
}

/* Those that do not go to the thread's start, and why. */
static void log_stacks(const struct output_stacks *stacks)
{
	_cleanup_(text_deinit) struct text reasons = { 0 };
	uint64_t all = 0, cut = 0;

	for (enum stack_end end = 0; stacks && end < STACK_ENDS; end++) {
		all += stacks->ends[end];
		if (end == STACK_WHOLE || stacks->ends[end] == 0)
			continue;
		cut += stacks->ends[end];
		text_printf(&reasons, "%s%" PRIu64 " %s", reasons.length ? ", " : "",
			    stacks->ends[end], stack_end_name(end));
	}
	if (cut)
		log_print("%" PRIu64 " of %" PRIu64 " stack%s %s not go to the thread's start: %s "
			  "(docs/limits.md says why that can be; --max-frames has room for more)",
			  cut, all, text_plural(all), cut == 1 ? "does" : "do",
			  text_chars(&reasons));
	if (stacks && stacks->guessed)
		log_print(
			"%" PRIu64
			" frame%s found by frame pointers, for want of unwind information: callers "
			"may be missing before %s (run again, now that %s code is loaded)",
			stacks->guessed, stacks->guessed == 1 ? " was" : "s were",
			stacks->guessed == 1 ? "it" : "them",
			stacks->guessed == 1 ? "its" : "their");
}

static void log_evicted(const struct session *session)
{
	uint64_t evicted = session->stacks.known ? known_stacks_evicted(session->stacks.known) : 0;

	if (evicted)
		log_print(
			"what was known of %" PRIu64
			" stacks was thrown away for want of room, the oldest first, and found out "
			"anew if they came again (--memory gives more)",
			evicted);
}

/* They are as right as the others, and cost more. */
static void log_unmerged(const struct session *session)
{
	uint64_t count = capture_unmerged(session->capture);

	if (count && session->options->verbose)
		log_print("%" PRIu64
			  " hit%s found the kernel's table of stacks full, and %s sent one by one",
			  count, text_plural(count), count == 1 ? "was" : "were");
}

/* What the last counts had no room for comes too late for the other losses. */
static bool log_left_out(const struct session *session, uint64_t known)
{
	uint64_t left_out = session->output.left_out - known;

	if (left_out)
		log_print("lost: %" PRIu64
			  " call%s in no series of the output, for want of room (--memory gives "
			  "more)",
			  left_out, left_out == 1 ? " is" : "s are");
	return left_out;
}

/* Counted and not shown ----------------------------------------------------------------------- */

/* That of @method, which may be the next. */
static struct output_unshown *shed_of(struct output_unshown *list, const char *method)
{
	while (list->method && strcmp(list->method, method) != 0)
		list++;
	list->method = method;
	return list;
}

/*
 * Hits that were counted and not shown, as was asked for (--sample, --max-rate), by method; ends
 * with a method of NULL. To be freed; its strings are the plan's. NULL for want of memory.
 */
static struct output_unshown *collect_shed(const struct session *session)
{
	const struct site_counters *counters = session->counts.counters;
	const struct plan *plan = &session->plan;
	struct output_unshown *list = calloc(plan->count + 1, sizeof(*list));

	for (size_t i = 0; list && i < plan->count; i++) {
		struct output_unshown *shed;

		if (!counters[i].sampled_out && !counters[i].shed)
			continue;
		shed = shed_of(list, plan->sites[i].method);
		shed->sampled_out += counters[i].sampled_out;
		shed->shed += counters[i].shed;
	}
	return list;
}

static void log_shed(const struct output_unshown *shed)
{
	for (; shed && shed->method; shed++) {
		if (shed->sampled_out)
			log_print("%s: %" PRIu64 " hits are counted and not shown (--sample)",
				  shed->method, shed->sampled_out);
		if (shed->shed)
			log_print("%s: %" PRIu64 " hits are counted and not shown (--max-rate)",
				  shed->method, shed->shed);
	}
}

/* Likewise calls that --if did not ask for; NULL also without a filter. */
static struct output_unshown *collect_filtered(const struct session *session)
{
	const struct plan *plan = &session->plan;
	const struct site_counters *counters = session->counts.counters;
	struct output_unshown *list = NULL;
	size_t count = 0;

	if (session->options->filter)
		list = calloc(plan->count + 1, sizeof(*list));
	for (size_t first = 0, end; list && first < plan->count; first = end) {
		struct output_unshown *of = &list[count];

		end = plan_method_end(plan, first);
		for (size_t i = first; i < end; i++) {
			of->filtered += counters[plan->by_method[i] - plan->sites].filtered;
			of->undecided += counters[plan->by_method[i] - plan->sites].undecided;
		}
		if (!of->filtered && !of->undecided)
			continue;
		of->method = plan->by_method[first]->method;
		count++;
	}
	return list;
}

static void log_undecided(const struct session *session, const struct output_unshown *filtered)
{
	const char *why = session_values_why(session, filtered->method);

	if (!why && session->options->filter_types)
		why = session->thrown.why_not;
	log_print("%s: %" PRIu64 " call%s undecided%s%s (leave --if out to see %s)",
		  filtered->method, filtered->undecided, filtered->undecided == 1 ? " is" : "s are",
		  why ? ": " : "", why ? why : "", filtered->undecided == 1 ? "it" : "them");
}

static void log_filtered(const struct session *session, const struct output_unshown *filtered)
{
	uint64_t calls = 0, undecided = 0;
	size_t named = 0, methods = 0;

	if (!filtered)
		return;
	for (const struct output_unshown *of = filtered; of->method; of++) {
		calls += of->filtered;
		undecided += of->undecided;
		methods += of->undecided != 0;
	}
	log_print("%" PRIu64 " calls were not what --if asks for, and are counted only", calls);
	if (undecided)
		log_print(
			"%" PRIu64
			" calls are not shown since it could not be told whether they are what --if asks for: something was not in memory, not known yet, or had not ended (leave --if out to see them)",
			undecided);
	for (const struct output_unshown *of = filtered; of->method; of++) {
		if (!of->undecided || (named >= UNDECIDED_NAMED && !session->options->verbose))
			continue;
		log_undecided(session, of);
		named++;
	}
	if (methods > named)
		log_print("and so are calls of %zu more method%s (-v names them)", methods - named,
			  text_plural(methods - named));
}

/* What was lost, and what is traced ------------------------------------------------------------ */

/* All @calls; returns how many hits of them found the ring buffer full. */
static uint64_t add_up(const struct session *session, uint64_t *calls)
{
	/* What these were had no room either. */
	uint64_t lost = session->merged.lost;

	*calls = 0;
	for (size_t i = 0; i < session->plan.count; i++) {
		*calls += session->counts.counters[i].hits;
		lost += session->counts.counters[i].lost;
	}
	return lost;
}

size_t losses_collect(const struct session *session, struct loss losses[LOSSES_MAX],
		      struct output_loss records[LOSSES_MAX + 1], uint64_t *calls)
{
	const struct capture_losses capture = capture_losses(session->capture);
	const struct latency_losses latency = capture_latency_losses(session->capture);
	const struct watch_losses watch = session->values ? capture_watch_losses(session->capture) :
							    (struct watch_losses){ 0 };
	const struct follow *follow = session->followed.follow;
	/* Until it has ended, that is its thread's. */
	bool over = session->state > RUN_CONSUME;
	uint64_t unreported = follow && over ? follow_losses(follow).compilations : 0;
	const uint64_t ring_buffer_full = add_up(session, calls);
	const struct loss all[LOSSES_MAX] = {
		{ { "ring-buffer-full", ring_buffer_full },
		  "hits found the ring buffer full, and are counted but not shown (--buffer makes "
		  "it larger)" },
		{ { "anchor-thread-exited", capture.anchor_exits },
		  "times the thread that the probes hung on exited and they were moved, which "
		  "misses an unknown number of hits" },
		{ { "cpu-switched-on", capture.cpus_switched_on },
		  "times a CPU was switched on, which had no breakpoints until then; an unknown "
		  "number of hits was missed" },
		{ { "breakpoint-missed", capture.breakpoints_missed },
		  "hits of breakpoints, at most, were left out by the kernel" },
		{ { "breakpoint-unexplained", capture.breakpoints_unexplained },
		  "hits of breakpoints were at an address where no site is known" },
		{ { "stray-trap", capture.spurious_traps },
		  "times the hypervisor lost what a breakpoint's hit was, and the target got "
		  "SIGTRAP for it: .NET does not survive that (docs/limits.md)" },
		{ { "call-not-timed", latency.untimed },
		  "calls are counted and were not timed: their body's exits had no probes, they "
		  "were nested too deep, or there were too many threads" },
		{ { "duration-lost", latency.durations },
		  "times there was no room for one more duration in the histograms" },
		{ { "compile-event-lost", unreported },
		  "compilations were not reported, and what they made was not probed" },
		{ { "call-not-captured", watch.slots },
		  "calls were counted and are not shown, since too many began at a time" },
		{ { "end-not-kept", watch.not_kept },
		  "calls were shown without their end: more were under way, or one within the "
		  "other, than there is room for" },
		{ { OUTPUT_NO_ROOM, session->output.left_out },
		  "hits have no stack of their own in the output, for want of room (--memory gives "
		  "more)" },
		{ { "v8-moved", session->stacks.moved },
		  "JavaScript frames have no name, script or line, since V8 had moved or thrown away what says it" },
		{ { "out-of-memory", shortage_count() },
		  "times memory was refused, and what it was for is missing, such as bodies or names (run it where there is more)" },
	};
	size_t count = 0;

	for (size_t i = 0; i < LOSSES_MAX; i++) {
		if (!all[i].output.count)
			continue;
		losses[count] = all[i];
		records[count++] = all[i].output;
	}
	records[count] = (struct output_loss){ 0 };
	return count;
}

void session_collect_tiers(const struct session *session, struct output_tier *tiers)
{
	struct output_tier all[SESSION_TIERS] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < session->plan.count; i++) {
		const struct site *site = &session->plan.sites[i];
		struct output_tier *tier = &all[site->tier];

		if (site->reason == REASON_OTHER_METHOD)
			continue;
		tier->bodies++;
		tier->probed += site->mechanism != MECHANISM_NONE;
		tier->calls += session->counts.counters ? session->counts.counters[i].hits : 0;
	}
	for (unsigned int i = 0; i < SESSION_TIERS; i++) {
		all[i].tier = tier_name((enum tier)i);
		if (all[i].bodies)
			tiers[count++] = all[i];
	}
}

void session_write_traced(struct session *session)
{
	const struct options *options = session->options;
	struct output_tier tiers[SESSION_TIERS + 1] = { 0 };
	struct output_run run = {
		.pid = session->pid,
		.name = session->command.launch ? launch_program(session->command.launch) :
						  session->target.process.comm,
		.patterns = options->request.patterns,
		.pattern_count = options->request.count,
		.command = options->command,
	};

	if (session->end_ns) {
		run.duration_ns = session->end_ns - session->start_ns;
		session_collect_tiers(session, tiers);
		run.tiers = tiers;
	}
	output_run(&session->output, &run);
}

/* The report ---------------------------------------------------------------------------------- */

enum exit_status session_write_report(struct session *session, struct error *err)
{
	_cleanup_(verdict_deinit) struct verdict verdict = { 0 };
	uint64_t calls, orphans, left_out = session->output.left_out;
	const struct output_stacks *stacks =
		session->stacks.tables ? &session->stacks.totals : NULL;
	bool counting = !options_report_hits(session->options);
	struct output_loss output_losses[LOSSES_MAX + 1];
	_cleanup_free_ struct output_unshown *filtered = NULL, *shed = NULL;
	struct loss losses[LOSSES_MAX];
	size_t count;
	bool known, failed;

	count = losses_collect(session, losses, output_losses, &calls);
	log_print("%" PRIu64 " hits in %.1f s%s%s", calls,
		  (double)(session->end_ns - session->start_ns) / 1e9, end_text(session->end),
		  count ? "" : "; nothing lost");
	for (size_t i = 0; i < count; i++)
		log_print("lost: %" PRIu64 " %s", losses[i].output.count, losses[i].sentence);
	orphans = capture_latency_losses(session->capture).orphans;
	if (orphans)
		log_print(
			"%" PRIu64
			" call%s ended that had begun before all %s probes were there, and %s not "
			"timed",
			orphans, text_plural(orphans), orphans == 1 ? "its" : "their",
			orphans == 1 ? "was" : "were");
	shed = collect_shed(session);
	log_shed(shed);
	session_values_log(session);
	filtered = collect_filtered(session);
	log_filtered(session, filtered);
	session_traces_log(session);
	log_evicted(session);
	log_unmerged(session);
	log_stacks(stacks);
	session_log_runtimes(session, RUNTIME_LOG_LINES);
	/* For want of memory: what was collected is printed all the same, as far as that goes. */
	failed = verdict_reach(&verdict, session, err) != 0;
	log_followed(session, verdict.watched);
	failed |= print_counts(session, &verdict, err) != 0;
	count += log_left_out(session, left_out);
	session_log_fetched(session);
	session_write_traced(session);
	known = session_async_report(session);
	output_summary(&session->output, &(struct output_summary){
						 .shed = shed,
						 .filtered = filtered,
						 .calls = calls,
						 .hits = counting ? calls : session->counts.shown,
						 .losses = output_losses,
						 .lower_bound = verdict.codes,
						 .stacks = stacks,
					 });
	if (failed)
		return EXIT_STATUS_ERROR;
	if (!session->options->strict || (count == 0 && known && !verdict.codes[0]))
		return EXIT_STATUS_OK;
	error_set(
		err, 0,
		count ? "hits were lost (--strict): --buffer=64M has room for more" :
		known ? "counts are lower bounds (--strict): the lines above say why" :
			"counts of asynchronous calls are not exact (--strict): the lines above say why");
	return EXIT_STATUS_LOST;
}
