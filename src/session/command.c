// SPDX-License-Identifier: GPL-2.0-or-later
/* A run with a program that place-probe starts itself. */
#include <errno.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "base/error.h"
#include "follow/follow.h"
#include "method/pattern.h"
#include "base/say.h"
#include "session/session_internal.h"
#include "target/launch.h"

enum { ENDING_BYTES = 256 };

/* What pattern @number may mean. */
static const char *kind_of(const struct session *session, size_t number)
{
	if (session->native[number])
		return "native function";
	return pattern_has_image(session->patterns[number]) ? "method or native function" :
							      "method";
}

/* Which patterns were waited for in vain. True if one at least was not. */
static bool tell_unmatched(const struct session *session)
{
	const struct follow *follow = session->followed.follow;
	size_t method = 0;
	bool any = false;

	for (size_t i = 0; i < session->options->request.count; i++) {
		bool matched = follow_native_matched(follow, i);

		if (!session->native[i])
			matched |= follow_pattern_matched(follow, method++);
		any |= matched;
		if (!matched)
			say("no %s matched '%s'", kind_of(session, i),
			    pattern_text(session->patterns[i]));
	}
	return any;
}

/* A run that counted nothing since there was nothing to count is no success. */
static enum exit_status judge_command(const struct session *session, struct error *err)
{
	const struct follow *follow = session->followed.follow;
	const char *program = launch_program(session->launch);
	bool no_runtime = session->methods.count && !follow_met_runtime(follow);

	if (follow_problem(follow))
		say("what %s compiled could not be followed: %s", program, follow_problem(follow));
	if (no_runtime && !session_wants_natives(session)) {
		error_fill(err,
			   "%s loaded no .NET runtime (what its children load is not looked at)",
			   program);
		return EXIT_STATUS_NO_MATCH;
	}
	if (tell_unmatched(session))
		return EXIT_STATUS_OK;
	error_fill(err, "nothing matched in %s%s", program,
		   no_runtime ? ", which loaded no .NET runtime" : "");
	return EXIT_STATUS_NO_MATCH;
}

/* What it loads must be able to come. */
static int check_loader(const struct session *session, const char *loader, struct error *err)
{
	if (loader || session_wants_natives(session))
		return 0;
	return error_set(
		err, -ENOTSUP,
		"%s is statically linked, so what it loads cannot be followed: start it, and give its PID",
		launch_program(session->launch));
}

static int check_holding(const struct session *session, struct error *err)
{
	if (session->methods.count && !capture_can_hold(session->capture))
		return error_set(
			err, -ENOTSUP,
			"this kernel cannot hold a thread at a uprobe, so no method can be probed from its start: start it, and give its PID");
	return 0;
}

/* Probe a program from its start: all of its code comes up while it is followed. */
static int attach_command(struct session *session, struct error *err)
{
	char *loader = NULL, *program = NULL;
	struct capture_follow with = {
		.methods = &session->methods,
		.natives = &session->options->request,
	};
	int result = launch_files(session->launch, &program, &loader, err);

	if (result == 0)
		result = check_loader(session, loader, err);
	if (result == 0)
		result = process_init(&session->started, session->pid, err);
	if (result == 0)
		result = plan_sort_methods(&session->plan, err);
	if (result == 0)
		result = session_create_capture(session, err);
	if (result == 0)
		result = check_holding(session, err);
	with.program = program;
	with.loader = loader;
	if (result == 0)
		result = session_start_following(session, &with, err);
	free(loader);
	free(program);
	return result;
}

static enum exit_status capture_command(struct session *session, struct error *err)
{
	enum exit_status status;

	if (attach_command(session, err))
		return EXIT_STATUS_ERROR;
	session_begin(session);
	session_tell_attached(session);
	if (launch_release(session->launch, err))
		return EXIT_STATUS_ERROR;
	status = session_consume(session, err);
	return status == EXIT_STATUS_OK ? judge_command(session, err) : status;
}

enum exit_status session_run_command(struct session *session, struct error *err)
{
	enum exit_status status;
	char ending[ENDING_BYTES];
	int result = session_create_patterns(session, err), how;

	if (result == 0)
		result = session_sort_patterns(session, err);
	if (result)
		return result == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_ERROR;
	session->pid = launch_pid(session->launch);
	session->plan.timed = session->options->timed;
	status = capture_command(session, err);
	if (session->started.pidfd >= 0 && !process_is_alive(&session->started) &&
	    launch_wait(session->launch, &how) == 0 &&
	    launch_ending(session->launch, how, ending, sizeof(ending)))
		say("%s", ending);
	return status;
}
