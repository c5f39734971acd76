// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/breakpoints.h"
#include "attach/uprobes.h"
#include "capture.h"
#include "dotnet/find.h"
#include "clock.h"
#include "error.h"
#include "events/symbols.h"
#include "inlined.h"
#include "method/pattern.h"
#include "output/output.h"
#include "report.h"
#include "resolve.h"
#include "say.h"
#include "target/sigbus.h"
#include "text.h"

enum {
	NEAR_MISSES = 5,
	REFUSED_SHOWN = 10,
	DETACH_TELL_MS = 1000,
};

struct session {
	const struct options *options;
	struct output output;
	struct resolution resolution;
	struct pattern **patterns;
	bool *matched; /* by pattern */
	struct plan plan;
	struct symbols *symbols;
	struct capture *capture;
	struct site_counters *counters; /* by site */
	uint64_t *calls_printed;	/* by site: what earlier intervals have shown */
	uint64_t *calls_new;		/* by site: scratch of print_counts() */
	uint64_t start_ns;
	uint64_t end_ns;
};

/* Resolve and plan ---------------------------------------------------------------------- */

static int create_patterns(struct session *session, struct error *err)
{
	size_t count = session->options->pattern_count;

	session->patterns = calloc(count, sizeof(struct pattern *));
	session->matched = calloc(count, sizeof(*session->matched));
	if (!session->patterns || !session->matched)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	for (size_t i = 0; i < count; i++) {
		int result =
			pattern_create(&session->patterns[i], session->options->patterns[i], err);

		if (result)
			return result;
	}
	return 0;
}

static int check_tid(const struct session *session, struct error *err)
{
	pid_t tid = session->options->tid;

	if (!tid || process_thread_alive(&session->resolution.process, tid))
		return 0;
	return error_set(err, -ESRCH, "process %d has no live thread %d", session->options->pid,
			 tid);
}

static void tell_resolution(const struct session *session)
{
	const struct resolution *r = &session->resolution;

	if (r->images.problems)
		say("%zu image%s of the target cannot be read in full; the first: %s",
		    r->images.problems, r->images.problems == 1 ? "" : "s",
		    r->images.first_problem ? r->images.first_problem->text : "?");
	if (r->jit_problem)
		say("code compiled at run time is not found: %s", r->jit_problem->text);
	if (r->images.compressed && !r->jit)
		say("%zu assemblies lie compressed in the target's executable; their code is not in any file, so it is not found",
		    r->images.compressed);
	if (r->jit && jit_unreadable(r->jit))
		say("%zu parts of the code compiled at run time could not be read, since the target was changing them",
		    jit_unreadable(r->jit));
	if (r->files.unreadable)
		say("%zu file%s of the target cannot be read; the first: %s", r->files.unreadable,
		    r->files.unreadable == 1 ? "" : "s",
		    r->files.first_error ? r->files.first_error->text : "?");
	if (sigbus_missing_pages())
		say("%lu pages of the target's files were truncated away while they were read",
		    sigbus_missing_pages());
	if (session->options->verbose)
		say("process %d (%s): .NET %u.%u.%u%s, %zu managed images of %zu files, %zu bodies compiled at run time",
		    r->process.pid, r->process.comm, r->runtime.major, r->runtime.minor,
		    r->runtime.patch, r->runtime.single_file ? " in a single file" : "",
		    r->images.count, r->files.count, r->jit ? jit_body_count(r->jit) : 0);
}

/* A row or a whole map file that cannot be used; the rest is. */
static void tell_map(void *ctx, const struct mapfile *file, uint64_t line, const char *what)
{
	(void)ctx;
	if (!file)
		say("%s", what);
	else
		say("%s:%" PRIu64 ": %s", file->name, line, what);
}

static int add_maps(struct session *session, struct error *err)
{
	struct resolution *resolution = &session->resolution;

	for (size_t i = 0; i < session->options->map_count; i++) {
		int result = resolution_add_maps(resolution, session->options->maps[i], tell_map,
						 session, err);

		if (result)
			return result;
	}
	for (size_t i = 0; i < resolution->mapfile_count; i++) {
		const struct mapfile *file = &resolution->mapfiles[i];

		if (file->bad_rows)
			say("%s: %" PRIu64 " bad rows in all", file->name, file->bad_rows);
		if (file->misplaced)
			say("%s: %" PRIu64
			    " methods stand where no function of %s begins, and are left out",
			    file->name, file->misplaced, file->image->name);
		if (file->disagree)
			say("%s: %" PRIu64
			    " methods have another name in %s itself, which is believed",
			    file->name, file->disagree, file->image->name);
		if (session->options->verbose)
			say("%s: %s, %" PRIu64 " methods of %s", file->name,
			    mapparse_format_name(file->format), file->rows, file->image->name);
	}
	return 0;
}

static int make_plan(struct session *session, struct error *err)
{
	size_t changed;
	int result;

	for (size_t i = 0; i < session->options->pattern_count; i++) {
		int matches = resolution_plan(&session->resolution, session->patterns[i],
					      session->options->nested, &session->plan, err);

		if (matches < 0)
			return matches;
		session->matched[i] = matches > 0;
	}
	if (session->resolution.perf_map_problem)
		say("%s", session->resolution.perf_map_problem->text);
	result = resolution_drop_changed(&session->resolution, &session->plan, &changed, err);
	if (result)
		return result;
	if (changed)
		say("%zu bodies were thrown away by the target while their names were read",
		    changed);
	result = plan_finish(&session->plan, BREAKPOINTS_MAX, err);
	if (result == 0 && plan_lacks_registers(&session->plan) && uprobe_shared_works(NULL) == 1)
		result = resolution_use_uprobes(&session->resolution, &session->plan, err);
	if (result || session->plan.count == 0)
		return result;
	return resolution_read_inlining(&session->resolution, err);
}

/* Which calls the probes cannot see. --list says it with each method. */
static void tell_inlining(const struct session *session)
{
	const struct error *first;
	size_t problems;

	if (!session->resolution.inlining)
		return;
	if (session->options->mode != MODE_LIST)
		inlined_tell(&session->resolution, &session->plan, session->options->verbose,
			     stderr);
	problems = dotnet_inlining_problems(session->resolution.inlining, &first);
	if (problems)
		say("%s%s", first->text, problems > 1 ? "; nor can that of other images" : "");
}

static void suggest(const struct session *session, const struct pattern *pattern)
{
	char *names[NEAR_MISSES];
	size_t count = dotnet_near_misses(&session->resolution.images, pattern, names, NEAR_MISSES);

	for (size_t i = 0; i < count; i++) {
		text_make_printable(names[i], strlen(names[i]));
		fprintf(stderr, "%s    %s\n", i == 0 ? "  close names:\n" : "", names[i]);
		free(names[i]);
	}
}

/* Say which patterns found nothing; is there anything to probe at all? */
static enum exit_status check_plan(const struct session *session, struct error *err)
{
	size_t unmatched = 0;

	for (size_t i = 0; i < session->options->pattern_count; i++) {
		if (session->matched[i])
			continue;
		unmatched++;
		say("no method matches '%s'", pattern_text(session->patterns[i]));
		suggest(session, session->patterns[i]);
	}
	if (unmatched == session->options->pattern_count) {
		error_fill(err, "nothing matched in %zu managed images of process %d",
			   session->resolution.images.count, session->options->pid);
		return EXIT_STATUS_NO_MATCH;
	}
	return EXIT_STATUS_OK;
}

static enum exit_status check_placeable(const struct session *session, struct error *err)
{
	const struct plan *plan = &session->plan;

	if (plan_placeable(plan))
		return EXIT_STATUS_OK;
	for (size_t i = 0; i < plan->count && i < REFUSED_SHOWN; i++)
		say("%s: %s", plan->sites[i].method, reason_text(plan->sites[i].reason));
	error_fill(err, "%zu method%s matched, but none can be probed (--list shows all)",
		   plan->count, plan->count == 1 ? "" : "s");
	return EXIT_STATUS_UNPLACEABLE;
}

/* Report -------------------------------------------------------------------------------- */

static void on_hit(const struct hit_event *event, void *ctx)
{
	struct session *session = ctx;
	const struct site *site = &session->plan.sites[event->site];
	char comm[EVENT_COMM_BYTES + 1] = { 0 };
	struct output_hit hit = {
		.time_ns = event->time_ns,
		.pid = session->resolution.process.pid,
		.tid = (pid_t)event->tid,
		.comm = comm,
		.method = site->method,
		.tier = site->tier,
	};

	memcpy(comm, event->comm, EVENT_COMM_BYTES);
	output_hit_begin(&session->output, &hit);
	for (uint16_t i = 0; i < event->frame_count; i++) {
		struct address address = { event->frames[i] };
		struct frame frame;

		symbols_name(session->symbols, address, i > 0, &frame);
		output_hit_frame(&session->output, &frame);
	}
	output_hit_end(&session->output, (enum stack_end)event->stack_end);
}

/* What has come since the last time, by site. */
static int print_counts(struct session *session, struct error *err)
{
	int result = capture_read_counters(session->capture, session->counters, err);

	if (result)
		return result;
	for (size_t i = 0; i < session->plan.count; i++) {
		session->calls_new[i] = session->counters[i].hits - session->calls_printed[i];
		session->calls_printed[i] = session->counters[i].hits;
	}
	output_counts(&session->output, &session->plan, session->calls_new);
	return 0;
}

static int on_tick(bool interval_over, void *ctx)
{
	struct session *session = ctx;

	if (interval_over && print_counts(session, NULL))
		return -1;
	return output_flush(&session->output);
}

/* What the run was worth; see report.h. */
static enum exit_status report(struct session *session, enum capture_end end, struct error *err)
{
	const struct report_input input = {
		.options = session->options,
		.resolution = &session->resolution,
		.plan = &session->plan,
		.patterns = session->patterns,
		.counters = session->counters,
		.capture = session->capture,
		.output = &session->output,
		.end = end,
		.took_ns = session->end_ns - session->start_ns,
	};

	return report_run(&input, err);
}

/* Attach and consume -------------------------------------------------------------------- */

static int create_capture(struct session *session, struct error *err)
{
	size_t count = session->plan.count;
	size_t file_count = resolution_file_count(&session->resolution);
	int *fds = calloc(file_count + 1, sizeof(*fds));
	int result = 0;

	session->counters = calloc(count, sizeof(*session->counters));
	session->calls_printed = calloc(count, sizeof(*session->calls_printed));
	session->calls_new = calloc(count, sizeof(*session->calls_new));
	if (!fds || !session->counters || !session->calls_printed || !session->calls_new)
		result = error_set(err, -ENOMEM, "no memory for %zu sites", count);
	for (size_t i = 0; fds && i < file_count; i++)
		fds[i] = resolution_file(&session->resolution, i)->fd;
	if (result == 0)
		result = symbols_create(&session->symbols, &session->resolution, err);
	if (result == 0)
		result = capture_create(&session->capture, session->options,
					&session->resolution.process, &session->plan, fds, err);
	free(fds);
	return result;
}

static void tell_attached(const struct session *session)
{
	const struct plan *plan = &session->plan;
	size_t refused = 0, missed = 0, later = 0, breakpoints = 0;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].reason != REASON_KERNEL_REFUSED)
			continue;
		if (refused++ < REFUSED_SHOWN)
			say("the kernel refused %s (%s): error %d", plan->sites[i].method,
			    plan->sites[i].image, plan->sites[i].kernel_error);
	}
	if (refused > REFUSED_SHOWN)
		say("and %zu more", refused - REFUSED_SHOWN);
	if (capture_breakpoint_problem(session->capture))
		say("%s", capture_breakpoint_problem(session->capture));
	for (size_t i = 0; i < plan->count; i++) {
		missed += site_is_missed(&plan->sites[i]);
		later += plan->sites[i].reason == REASON_NOT_COMPILED;
		breakpoints += plan->sites[i].mechanism == MECHANISM_BREAKPOINT;
	}
	if (missed)
		say("%zu of %zu bodies are not probed (--list says why)", missed, plan->count);
	if (later)
		say("%zu method%s no code yet; what is compiled then is not probed", later,
		    later == 1 ? " has" : "s have");
	if (breakpoints && debug_registers_are_virtual())
		say("this is a virtual machine: on a host with KVM before Linux 6.14 a breakpoint can, very rarely, end the target with SIGTRAP (docs/limits.md)");
	say("attached %zu site%s to %d (%s) by %s", capture_site_count(session->capture),
	    capture_site_count(session->capture) == 1 ? "" : "s", session->resolution.process.pid,
	    session->resolution.process.comm, capture_means(session->capture));
}

static enum exit_status capture(struct session *session, struct error *err)
{
	const struct capture_handlers handlers = {
		.hit = on_hit,
		.tick = on_tick,
		.ctx = session,
	};
	enum capture_end end;
	int result = create_capture(session, err);

	if (result)
		return EXIT_STATUS_ERROR;
	session->start_ns = clock_now_ns();
	session->output.start_ns = session->start_ns;
	capture_start(session->capture);
	tell_attached(session);
	result = capture_run(session->capture, &handlers, &end, err);
	session->end_ns = clock_now_ns();
	if (capture_detach_ms(session->capture) > DETACH_TELL_MS)
		say("removing the probes takes about %u s",
		    capture_detach_ms(session->capture) / 1000);
	capture_detach(session->capture, &handlers);
	if (result == 0 && session->options->mode == MODE_COUNT)
		result = print_counts(session, err);
	else if (result == 0)
		result = capture_read_counters(session->capture, session->counters, err);
	return result ? EXIT_STATUS_ERROR : report(session, end, err);
}

/* The run ------------------------------------------------------------------------------- */

static enum exit_status run(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	enum exit_status status;
	int result = create_patterns(session, err);

	if (result)
		return result == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_ERROR;
	if (resolution_init(&session->resolution, options->pid, err))
		return EXIT_STATUS_ERROR;
	tell_resolution(session);
	if (check_tid(session, err) || add_maps(session, err) || make_plan(session, err))
		return EXIT_STATUS_ERROR;
	status = check_plan(session, err);
	if (status == EXIT_STATUS_OK && options->mode == MODE_LIST) {
		const struct output_loss none = { 0 };
		const char *const no_bounds[] = { NULL };

		output_plan(&session->output, &session->plan, &session->resolution);
		output_summary(&session->output, 0, &none, no_bounds);
		tell_inlining(session);
		return EXIT_STATUS_OK;
	}
	if (status == EXIT_STATUS_OK)
		status = check_placeable(session, err);
	if (status != EXIT_STATUS_OK)
		return status;
	tell_inlining(session);
	resolution_forget_pages(&session->resolution);
	if (options->mode == MODE_DRY_RUN) {
		output_dry_run(&session->output, &session->plan, &session->resolution);
		return EXIT_STATUS_OK;
	}
	return capture(session, err);
}

static void session_deinit(struct session *session)
{
	capture_destroy(session->capture);
	symbols_destroy(session->symbols);
	plan_deinit(&session->plan);
	resolution_deinit(&session->resolution);
	for (size_t i = 0; session->patterns && i < session->options->pattern_count; i++)
		pattern_destroy(session->patterns[i]);
	free(session->patterns);
	free(session->matched);
	free(session->counters);
	free(session->calls_printed);
	free(session->calls_new);
}

enum exit_status session_run(const struct options *options, struct error *err)
{
	struct session session = { .options = options };
	struct error output_error = { .text = "" };
	enum exit_status status;

	session.resolution.process = (struct process){ .pidfd = -1, .proc_fd = -1, .view_fd = -1 };
	if (output_open(&session.output, options, err))
		return EXIT_STATUS_ERROR;
	sigbus_install();
	target_files_raise_limit();
	status = run(&session, err);
	if (output_close(&session.output, &output_error) && status == EXIT_STATUS_OK) {
		*err = output_error;
		status = EXIT_STATUS_ERROR;
	}
	session_deinit(&session);
	return status;
}
