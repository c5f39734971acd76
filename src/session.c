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
#include "follow/follow.h"
#include "followed.h"
#include "inlined.h"
#include "method/pattern.h"
#include "output/output.h"
#include "report.h"
#include "resolve.h"
#include "say.h"
#include "target/launch.h"
#include "target/sigbus.h"
#include "text.h"

enum {
	NEAR_MISSES = 5,
	REFUSED_SHOWN = 10,
	DETACH_TELL_MS = 1000,
	ENDING_BYTES = 256,
};

struct session {
	const struct options *options;
	pid_t pid; /* of the target */
	struct output output;
	struct resolution resolution;
	struct pattern **patterns;
	bool *matched; /* by pattern */
	struct plan plan;
	struct symbols *symbols;
	struct capture *capture;
	struct followed followed;
	struct launch *launch;		/* NULL: the target was there before */
	struct process started;		/* of it */
	bool resolved;			/* of a target that was started: it has a runtime by now */
	struct site_counters *counters; /* by site */
	uint64_t *calls_printed;	/* by site: what earlier intervals have shown */
	uint64_t *calls_new;		/* by site: scratch of read_counts() */
	size_t counter_capacity;	/* of these three */
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
	return error_set(err, -ESRCH, "process %d has no live thread %d", session->pid, tid);
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
		say("no method matches '%s'%s", pattern_text(session->patterns[i]),
		    session->options->mode == MODE_LIST || session->options->mode == MODE_DRY_RUN ?
			    "" :
			    " yet");
		if (!session->options->wait)
			suggest(session, session->patterns[i]);
	}
	if (unmatched == session->options->pattern_count && !session->options->wait) {
		error_fill(err, "nothing matched in %zu managed images of process %d",
			   session->resolution.images.count, session->pid);
		return EXIT_STATUS_NO_MATCH;
	}
	return EXIT_STATUS_OK;
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
	return session->options->wait;
}

static enum exit_status refuse_unplaceable(const struct session *session, struct error *err)
{
	const struct plan *plan = &session->plan;

	for (size_t i = 0; i < plan->count && i < REFUSED_SHOWN; i++)
		say("%s: %s", plan->sites[i].method, reason_text(plan->sites[i].reason));
	error_fill(err, "%zu method%s matched, but none can be probed (--list shows all)",
		   plan->count, plan->count == 1 ? "" : "s");
	return EXIT_STATUS_UNPLACEABLE;
}

/* Report -------------------------------------------------------------------------------- */

static struct process *target_of(struct session *session)
{
	return session->launch ? &session->started : &session->resolution.process;
}

/* A target that was started has a runtime after a while; before that nothing in it has a name. */
static bool is_resolved(struct session *session)
{
	if (session->resolved)
		return true;
	if (resolution_init(&session->resolution, session->pid, NULL))
		return false;
	session->resolved = true;
	session->followed.resolution = &session->resolution;
	return true;
}

static int make_counters(struct session *session, struct error *err)
{
	size_t count = session->plan.count, had = session->counter_capacity;
	size_t capacity = had ? had : 64;
	struct site_counters *counters;
	uint64_t *printed, *fresh;

	while (capacity < count)
		capacity *= 2;
	if (capacity == had)
		return 0;
	counters = calloc(capacity, sizeof(*counters));
	printed = calloc(capacity, sizeof(*printed));
	fresh = calloc(capacity, sizeof(*fresh));
	if (!counters || !printed || !fresh) {
		free(counters);
		free(printed);
		free(fresh);
		return error_set(err, -ENOMEM, "no memory for %zu sites", count);
	}
	/* The others are filled anew each time. */
	if (had)
		memcpy(printed, session->calls_printed, had * sizeof(*printed));
	free(session->counters);
	free(session->calls_printed);
	free(session->calls_new);
	session->counters = counters;
	session->calls_printed = printed;
	session->calls_new = fresh;
	session->counter_capacity = capacity;
	return 0;
}

/* Take over what has come up. */
static int absorb(struct session *session, bool last, struct error *err)
{
	int result;

	if (followed_lacks_names(&session->followed))
		is_resolved(session);
	result = followed_absorb(&session->followed, last, err);
	if (result > 0)
		result = make_counters(session, err);
	if (!last)
		followed_bury(&session->followed);
	followed_narrate(&session->followed);
	return result;
}

static void print_frames(struct session *session, const struct hit_event *event)
{
	for (uint16_t i = 0; i < event->frame_count; i++) {
		struct frame frame = { .kind = FRAME_UNKNOWN };

		frame.address.value = event->frames[i];
		if (session->symbols)
			symbols_name(session->symbols, frame.address, i > 0, &frame);
		output_hit_frame(&session->output, &frame);
	}
}

static void on_hit(const struct hit_event *event, void *ctx)
{
	struct session *session = ctx;
	char comm[EVENT_COMM_BYTES + 1] = { 0 };
	const struct site *site;
	struct output_hit hit = {
		.time_ns = event->time_ns,
		.pid = session->pid,
		.tid = (pid_t)event->tid,
		.comm = comm,
	};

	if (event->site >= session->plan.count && absorb(session, false, NULL))
		return;
	if (event->site >= session->plan.count ||
	    session->plan.sites[event->site].reason == REASON_OTHER_METHOD)
		return;
	if (!session->symbols && is_resolved(session))
		symbols_create(&session->symbols, &session->resolution, NULL);
	site = &session->plan.sites[event->site];
	hit.method = site->method;
	hit.tier = site->tier;
	memcpy(comm, event->comm, EVENT_COMM_BYTES);
	output_hit_begin(&session->output, &hit);
	print_frames(session, event);
	output_hit_end(&session->output, (enum stack_end)event->stack_end);
}

/* What has come since the last time, by site, into calls_new. */
static int read_counts(struct session *session, bool last, struct error *err)
{
	int result = absorb(session, last, err);

	if (result == 0)
		result = capture_read_counters(session->capture, session->counters, err);
	if (result)
		return result;
	followed_clear_others(&session->followed, session->counters);
	for (size_t i = 0; i < session->plan.count; i++) {
		session->calls_new[i] = session->counters[i].hits - session->calls_printed[i];
		session->calls_printed[i] = session->counters[i].hits;
	}
	return 0;
}

static int on_tick(bool interval_over, void *ctx)
{
	struct session *session = ctx;

	if (absorb(session, false, NULL))
		return -1;
	if (interval_over) {
		if (read_counts(session, false, NULL))
			return -1;
		output_counts(&session->output, &session->plan, session->calls_new, NULL);
	}
	return output_flush(&session->output);
}

/* What the run was worth; see report.h. */
static enum exit_status report(struct session *session, enum capture_end end, struct error *err)
{
	const struct report_input input = {
		.options = session->options,
		.process = target_of(session),
		.followed = &session->followed,
		.plan = &session->plan,
		.patterns = session->patterns,
		.counters = session->counters,
		.calls_new = session->calls_new,
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
	size_t file_count = resolution_file_count(&session->resolution);
	int *fds = calloc(file_count + 1, sizeof(*fds));
	int result = make_counters(session, err);

	if (!fds)
		result = error_set(err, -ENOMEM, "no memory for %zu files", file_count);
	for (size_t i = 0; fds && i < file_count; i++)
		fds[i] = resolution_file(&session->resolution, i)->fd;
	if (result == 0)
		result = capture_create(&session->capture, session->options, target_of(session),
					&session->plan, fds, err);
	free(fds);
	return result;
}

/* What has been compiled between the first look and following. */
static int look_again(struct session *session, struct error *err)
{
	struct resolution *resolution = &session->resolution;
	struct plan plan = { 0 };
	size_t dropped;
	int result = jit_read(resolution->jit, NULL);

	/* The target is gone, or cannot be read just now: the end will tell. */
	if (result)
		return 0;
	for (size_t i = 0; i < session->options->pattern_count && result >= 0; i++)
		result = resolution_plan(resolution, session->patterns[i], session->options->nested,
					 &plan, err);
	if (result >= 0)
		result = resolution_drop_changed(resolution, &plan, &dropped, err);
	if (result == 0)
		result = plan_finish(&plan, BREAKPOINTS_MAX, err);
	for (size_t i = 0; result == 0 && i < plan.count; i++) {
		const struct site *site = &plan.sites[i];

		if (site->method_desc && site->file == PLAN_NO_FILE &&
		    !plan_find(&session->plan, site))
			follow_add(session->followed.follow, site);
	}
	plan_deinit(&plan);
	return result;
}

/* Follow what the runtime compiles from now on. Where that cannot be, counts are lower bounds. */
static int start_following(struct session *session, const struct capture_follow *with,
			   struct error *err)
{
	struct error why = { .text = "" };
	int result = capture_follow(session->capture, with, &why);

	session->followed = (struct followed){
		.options = session->options,
		.plan = &session->plan,
		.patterns = session->patterns,
		.first = session->plan.count,
		.resolution = session->resolved ? &session->resolution : NULL,
	};
	if (result) {
		if (session->launch)
			return error_set(err, result, "%s", why.text);
		say("methods are not followed when the runtime compiles them anew: %s", why.text);
		return 0;
	}
	session->followed.follow = capture_followed(session->capture);
	if (!capture_can_hold(session->capture))
		say("this kernel's uprobes cannot hold a thread (Linux 6.1 or later is needed), so calls of code that is compiled from now on may be missed before it is probed");
	if (session->resolved)
		result = look_again(session, err);
	if (result == 0)
		result = follow_start(session->followed.follow, err);
	return result ? result : absorb(session, false, err);
}

static void tell_attached(struct session *session)
{
	const struct plan *plan = &session->plan;
	const char *comm = session->launch ? launch_program(session->launch) :
					     session->resolution.process.comm;
	size_t attached = capture_site_count(session->capture);
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
	if (later && !session->followed.follow)
		say("%zu method%s no code yet; what is compiled then is not probed", later,
		    later == 1 ? " has" : "s have");
	if (breakpoints)
		followed_warn(&session->followed);
	if (attached == 0)
		say("attached 0 sites to %d (%s): code is probed as it comes up", session->pid,
		    comm);
	else
		say("attached %zu site%s to %d (%s) by %s", attached, attached == 1 ? "" : "s",
		    session->pid, comm, capture_means(session->capture));
}

/* Hand on what comes until the end, and take the probes away. */
static enum exit_status consume(struct session *session, struct error *err)
{
	const struct capture_handlers handlers = {
		.hit = on_hit,
		.tick = on_tick,
		.ctx = session,
	};
	enum capture_end end;
	int result = capture_run(session->capture, &handlers, &end, err);

	session->end_ns = clock_now_ns();
	if (capture_detach_ms(session->capture) > DETACH_TELL_MS)
		say("removing the probes takes about %u s",
		    capture_detach_ms(session->capture) / 1000);
	capture_detach(session->capture, &handlers);
	if (result == 0)
		result = read_counts(session, true, err);
	return result ? EXIT_STATUS_ERROR : report(session, end, err);
}

static void begin(struct session *session)
{
	session->start_ns = clock_now_ns();
	session->output.start_ns = session->start_ns;
	capture_start(session->capture);
}

static enum exit_status capture(struct session *session, struct error *err)
{
	const struct capture_follow with = { .resolution = &session->resolution };

	if (create_capture(session, err) || start_following(session, &with, err))
		return EXIT_STATUS_ERROR;
	if (!session->followed.follow && !plan_placeable(&session->plan))
		return refuse_unplaceable(session, err);
	if (symbols_create(&session->symbols, &session->resolution, err))
		return EXIT_STATUS_ERROR;
	begin(session);
	tell_attached(session);
	return consume(session, err);
}

/* Probe a program from its start: all of its code comes up while it is followed. */
static enum exit_status capture_command(struct session *session, struct error *err)
{
	struct capture_follow with = { 0 };
	char *loader = NULL;
	int result = launch_loader(session->launch, &loader, err);

	if (result == 0 && !loader)
		result = error_set(
			err, -ENOTSUP,
			"%s is statically linked, so what it loads cannot be followed: start it, and give its PID",
			launch_program(session->launch));
	if (result == 0)
		result = process_init(&session->started, session->pid, err);
	if (result == 0)
		result = plan_sort_methods(&session->plan, err);
	if (result == 0)
		result = create_capture(session, err);
	if (result == 0 && !capture_can_hold(session->capture))
		result = error_set(
			err, -ENOTSUP,
			"this kernel's uprobes cannot hold a thread (Linux 6.1 or later is needed), so nothing can be probed from its start: start it, and give its PID");
	with.loader = loader;
	if (result == 0)
		result = start_following(session, &with, err);
	free(loader);
	if (result)
		return EXIT_STATUS_ERROR;
	begin(session);
	tell_attached(session);
	if (launch_release(session->launch, err))
		return EXIT_STATUS_ERROR;
	return consume(session, err);
}

static enum exit_status run_command(struct session *session, struct error *err)
{
	enum exit_status status;
	char ending[ENDING_BYTES];
	int result = create_patterns(session, err), how;

	if (result)
		return result == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_ERROR;
	session->pid = launch_pid(session->launch);
	status = capture_command(session, err);
	if (session->started.pidfd >= 0 && !process_is_alive(&session->started) &&
	    launch_wait(session->launch, &how) == 0 &&
	    launch_ending(session->launch, how, ending, sizeof(ending)))
		say("%s", ending);
	return status;
}

/* The run ------------------------------------------------------------------------------- */

static enum exit_status run(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	enum exit_status status;
	int result = create_patterns(session, err);

	if (result)
		return result == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_ERROR;
	if (resolution_init(&session->resolution, session->pid, err))
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
	if (status == EXIT_STATUS_OK && !may_be_placed(session))
		status = refuse_unplaceable(session, err);
	if (status != EXIT_STATUS_OK)
		return status;
	session->resolved = true;
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
	process_deinit(&session->started);
	launch_destroy(session->launch);
}

enum exit_status session_run(const struct options *options, struct error *err)
{
	const struct process none = { .pidfd = -1, .proc_fd = -1, .view_fd = -1 };
	struct session session = { .options = options, .pid = options->pid };
	struct error output_error = { .text = "" };
	enum exit_status status;

	session.resolution.process = none;
	session.started = none;
	if (output_open(&session.output, options, err))
		return EXIT_STATUS_ERROR;
	/* Before we change anything about ourselves: the program is to be started as we were. */
	if (options->command && launch_create(&session.launch, options->command, err)) {
		output_close(&session.output, NULL);
		return EXIT_STATUS_ERROR;
	}
	sigbus_install();
	target_files_raise_limit();
	status = options->command ? run_command(&session, err) : run(&session, err);
	if (output_close(&session.output, &output_error) && status == EXIT_STATUS_OK) {
		*err = output_error;
		status = EXIT_STATUS_ERROR;
	}
	session_deinit(&session);
	return status;
}
