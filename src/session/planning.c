// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first steps: what is asked for and, with a PID, what the target is made of, and a site for
 * each body that matches. After that attach.c, or a list of the sites and no more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/breakpoints.h"
#include "base/progress.h"
#include "base/shortage.h"
#include "base/log.h"
#include "session/session_internal.h"
#include "session/sites.h"
#include "session/values.h"
#include "target/sigbus.h"
#include "base/text.h"

enum {
	NEAR_MISSES = 3,
	UNMATCHED_SHOWN = 2,
	REFUSED_SHOWN = 3, /* --list has them all */
};

static int create_patterns(struct session *session, struct error *err)
{
	const struct request *request = &session->options->request;
	struct session_asked *asked = &session->asked;
	size_t count = request->count;

	asked->matched = calloc(count, sizeof(*asked->matched));
	asked->native = calloc(count, sizeof(*asked->native));
	asked->methods.nested = request->nested;
	asked->methods.patterns = calloc(count, sizeof(*asked->methods.patterns));
	asked->method_patterns = calloc(count, sizeof(*asked->method_patterns));
	if (!asked->matched || !asked->native || !asked->methods.patterns ||
	    !asked->method_patterns)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	return patterns_create(&asked->patterns, request->patterns, count, err);
}

/*
 * Those of native functions alone, and the others. A COMMAND has nothing yet that would tell more
 * than the name does.
 */
int session_sort_patterns(struct session *session, struct error *err)
{
	struct request *methods = &session->asked.methods;
	const struct options *options = session->options;

	for (size_t i = 0; i < options->request.count; i++) {
		struct pattern *pattern = session->asked.patterns[i];

		session->asked.native[i] =
			options->command ? pattern_native_only(pattern) != NULL :
					   resolution_asks_native(&session->resolution, pattern);
		if (session->asked.native[i])
			continue;
		methods->roots += i < options->request.roots;
		session->asked.method_patterns[methods->count] = pattern;
		methods->patterns[methods->count++] = options->request.patterns[i];
	}
	if (options->command || methods->count == 0)
		return 0;
	return resolution_require_runtime(&session->resolution, err);
}

static int check_tid(const struct session *session, struct error *err)
{
	pid_t tid = session->options->tid;

	if (!tid || process_thread_alive(&session->target.process, tid))
		return 0;
	return error_set(err, -ESRCH,
			 "process %d has no live thread %d: give -t one of /proc/PID/task",
			 session->pid, tid);
}

static void log_line(void *ctx, const char *line)
{
	(void)ctx;
	log_print("%s", line);
}

static void log_summary(void *ctx, const char *line)
{
	const struct process *process = ctx;

	log_print("process %d (%s): %s", process->pid, process->comm, line);
}

void session_log_runtimes(const struct session *session, enum runtime_topic topic)
{
	const struct runtime_log log = { .line = log_line, .verbose = session->options->verbose };

	runtimes_log(&session->resolution.runtimes, topic, &log);
}

static void log_resolution(struct session *session)
{
	const struct target_files *files = &session->target.files;
	unsigned long missing;
	const struct runtime_log summary = { .line = log_summary, .ctx = &session->target.process };

	session_log_runtimes(session, RUNTIME_LOG_UNREADABLE);
	if (files->unreadable)
		log_print(
			"%zu file%s of the target cannot be read, so methods may be missing (see whether root may read them): the first: %s",
			files->unreadable, text_plural(files->unreadable),
			files->first_error ? files->first_error->text : "?");
	missing = sigbus_missing_pages();
	if (missing)
		log_print(
			"%lu page%s of the target's files %s truncated away while %s read: start the target anew, its files are not what it runs",
			missing, text_plural(missing), missing == 1 ? "was" : "were",
			missing == 1 ? "it was" : "they were");
	if (session->options->verbose)
		runtimes_log(&session->resolution.runtimes, RUNTIME_LOG_SUMMARY, &summary);
}

static int use_maps(struct session *session, struct error *err)
{
	const struct runtime_log log = { .line = log_line };

	for (size_t i = 0; i < session->options->map_count; i++) {
		int result = runtimes_use_maps(&session->resolution.runtimes,
					       session->options->maps[i], &log, err);

		if (result)
			return result;
	}
	session_log_runtimes(session, RUNTIME_LOG_MAPS);
	return 0;
}

/*
 * Of which files the plan has what native functions match, so that nobody looks again. A server may
 * bring more names of them later.
 */
static void note_planned(struct session *session)
{
	const struct target_files *files = &session->target.files;
	struct session_asked *asked = &session->asked;

	if (session->target.debuginfod)
		return;
	asked->planned = calloc(files->number_capacity, sizeof(*asked->planned));
	asked->planned_count = asked->planned ? files->number_capacity : 0;
	for (size_t i = 0; i < files->count && asked->planned; i++)
		asked->planned[files->files[i].number] =
			mapping_is_file_code(&files->files[i].mapping);
}

static int make_plan(struct session *session, struct error *err)
{
	const struct resolution_query query = {
		.patterns = session->asked.patterns,
		.count = session->options->request.count,
		.roots = session->options->request.roots,
		.nested = session->options->request.nested,
		.registers = BREAKPOINTS_MAX,
		.matched = session->asked.matched,
	};
	size_t changed;
	int result = resolution_plan(&session->resolution, &query, &session->plan, &changed, err);

	if (result)
		return result;
	note_planned(session);
	session_log_runtimes(session, RUNTIME_LOG_NAMES);
	if (changed)
		log_print(
			"%zu bod%s thrown away by the target while %s names were read: run again if one is missing",
			changed, changed == 1 ? "y was" : "ies were",
			changed == 1 ? "its" : "their");
	if (plan_lacks_registers(&session->plan) && uprobe_shared_works(NULL) == 1)
		result = resolution_use_uprobes(&session->resolution, &session->plan, err);
	else if (session_wants_remap(session))
		result = session_plan_remap(session, err);
	if (result || session->plan.count == 0)
		return result;
	return runtimes_read_inliners(&session->resolution.runtimes, err);
}

/* Which calls the probes cannot see. --list says it with each method. */
static void log_inlining(const struct session *session)
{
	if (session->options->mode != MODE_LIST)
		inlined_log(&session->resolution, &session->plan, session->options->verbose,
			    stderr);
	session_log_runtimes(session, RUNTIME_LOG_INLINERS);
}

static void suggest(const struct session *session, const struct pattern *pattern)
{
	char *names[NEAR_MISSES];
	size_t count =
		runtimes_near_misses(&session->resolution.runtimes, pattern, names, NEAR_MISSES);

	for (size_t i = 0; i < count; i++) {
		text_make_printable(names[i], strlen(names[i]));
		fprintf(stderr, "%s    %s\n", i == 0 ? "  close names:\n" : "", names[i]);
		free(names[i]);
	}
}

/* What is not there may still come, while we look. */
static const char *yet(const struct session *session)
{
	return mode_attaches(session->options->mode) ? " yet" : "";
}

static void log_unmatched_native(const struct session *session, const struct pattern *pattern)
{
	const char *problem = pattern_native_only(pattern);

	log_print("no native function matches '%s'%s: look for names with --list and a glob",
		  pattern_text(pattern), yet(session));
	if (problem && session->resolution.managed)
		log_print("and it is no method's name: %s", problem);
}

static void log_unmatched_method(const struct session *session, const struct pattern *pattern,
				 bool suggests)
{
	log_print("no method matches '%s'%s", pattern_text(pattern), yet(session));
	if (suggests && !session->options->wait)
		suggest(session, pattern);
}

/*
 * Say which patterns found nothing; is there anything to probe at all? Of many the first ones are
 * named, and for the first method close names are.
 */
static enum exit_status check_plan(const struct session *session, struct error *err)
{
	const struct request *request = &session->options->request;
	/* Without a root there is nothing to trace, whatever else is there. */
	size_t wanted = request->roots ? request->roots : request->count;
	const char *what = request->roots ? "no method to --trace" : "nothing";
	size_t unmatched = 0, matched = 0;
	bool all = session->options->verbose, suggested = false;

	for (size_t i = 0; i < request->count; i++) {
		const struct pattern *pattern = session->asked.patterns[i];

		matched += i < wanted && session->asked.matched[i];
		if (session->asked.matched[i] || (unmatched++ >= UNMATCHED_SHOWN && !all))
			continue;
		if (session->asked.native[i]) {
			log_unmatched_native(session, pattern);
			continue;
		}
		log_unmatched_method(session, pattern, all || !suggested);
		suggested = true;
	}
	if (unmatched > UNMATCHED_SHOWN && !all)
		log_print("nor does anything match %zu more pattern%s (-v names them)",
			  unmatched - UNMATCHED_SHOWN, text_plural(unmatched - UNMATCHED_SHOWN));
	if (matched || session->options->wait)
		return EXIT_STATUS_OK;
	if (session->asked.methods.count == 0)
		error_fill(
			err,
			"%s matched in the files that process %d has mapped (--wait waits for libraries that it loads later)",
			what, session->pid);
	else
		error_fill(
			err,
			"%s matched in %zu managed images of process %d: look for names with --list and a glob, or give --wait for what is loaded later",
			what, runtimes_reach(&session->resolution.runtimes).images, session->pid);
	return EXIT_STATUS_NO_MATCH;
}

/* Has the newest body of a method come since they were read? */
static bool has_newer(const struct plan *plan)
{
	size_t end;

	for (size_t first = 0; first < plan->count; first = end) {
		size_t superseded = 0;

		end = plan_method_end(plan, first);
		for (size_t i = first; i < end; i++)
			superseded += plan->by_method[i]->reason == REASON_SUPERSEDED;
		if (superseded == end - first)
			return true;
	}
	return false;
}

/* What has no code yet can be probed when it has. */
static bool may_be_placed(const struct session *session)
{
	bool later = session->options->mode != MODE_DRY_RUN;

	for (size_t i = 0; i < session->plan.count; i++) {
		const struct site *site = &session->plan.sites[i];

		if (site->mechanism != MECHANISM_NONE ||
		    (later && site->reason == REASON_NOT_COMPILED))
			return true;
	}
	return session->options->wait || (later && has_newer(&session->plan));
}

enum session_event session_refuse_unplaceable(struct session *session, struct error *err)
{
	const struct plan *plan = &session->plan;

	for (size_t i = 0; i < plan->count && i < REFUSED_SHOWN; i++)
		log_print("%s: %s; %s", plan->sites[i].method, reason_text(plan->sites[i].reason),
			  reason_next(plan->sites[i].reason));
	error_fill(err, "%zu method%s matched, but none can be probed (--list shows all)",
		   plan->count, text_plural(plan->count));
	return session_fail(session, EXIT_STATUS_UNPLACEABLE);
}

/* Steps ----------------------------------------------------------------------------------- */

enum session_event session_ask(struct session *session, struct error *err)
{
	int result = create_patterns(session, err);

	if (result == 0)
		result = session_values_create(session, err);
	if (result == 0)
		result = session_traces_create(session, err);
	if (result == 0)
		result = session_async_create(session, err);
	if (result)
		return session_fail(session,
				    result == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_ERROR);
	return session->options->command ? EVENT_COMMAND : EVENT_PID;
}

enum session_event session_resolve(struct session *session, struct error *err)
{
	progress_start();
	if (session_hold_target(session, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	if (mode_attaches(session->options->mode))
		session->opening = capture_opening_begin();
	if (resolution_init(&session->resolution, &session->target, err) ||
	    session_sort_patterns(session, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	log_resolution(session);
	if (check_tid(session, err) || use_maps(session, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	session_state_change(&session->known, EVENT_RESOLVED);
	return EVENT_DONE;
}

enum session_event session_make_plan(struct session *session, struct error *err)
{
	enum mode mode = session->options->mode;
	enum exit_status status;

	if ((capture_loads_before_plan(session->options) && session_begin_load(session, err)) ||
	    make_plan(session, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	status = check_plan(session, err);
	if (status != EXIT_STATUS_OK)
		return session_fail(session, status);
	if (mode == MODE_LIST)
		return EVENT_LIST;
	if (!may_be_placed(session))
		return session_refuse_unplaceable(session, err);
	log_inlining(session);
	target_forget_pages(&session->target);
	return mode == MODE_DRY_RUN ? EVENT_DRY_RUN : EVENT_DONE;
}

enum session_event session_list(struct session *session, struct error *err)
{
	const struct output_loss none = { 0 };
	const char *const no_bounds[] = { NULL };
	const struct output_summary summary = { .losses = &none, .lower_bound = no_bounds };

	if (sites_write(&session->output, &session->plan, &session->resolution, false, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	output_summary(&session->output, &summary);
	log_inlining(session);
	shortage_log();
	return EVENT_DONE;
}

enum session_event session_dry_run(struct session *session, struct error *err)
{
	session_log_registers_wanted(session);
	if (sites_write(&session->output, &session->plan, &session->resolution, true, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	shortage_log();
	return EVENT_DONE;
}
