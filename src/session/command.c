// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps that only a COMMAND has: it is held before exec, with nothing yet to plan for, until
 * attach.c has probed what will tell of its code; then it is let go. What it came to is told last.
 */
#include <errno.h>

#include "follow/follow.h"
#include "base/log.h"
#include "session/session_internal.h"
#include "target/launch.h"
#include "target/loader.h"

enum { ENDING_BYTES = 256 };

/* What pattern @number may mean. */
static const char *kind_of(const struct session *session, size_t number)
{
	if (session->asked.native[number])
		return "native function";
	return pattern_has_image(session->asked.patterns[number]) ? "method or native function" :
								    "method";
}

/* Which patterns were waited for in vain. True if one at least was not. */
static bool log_unmatched(const struct session *session)
{
	const struct follow *follow = session->followed.follow;
	const struct request *request = &session->options->request;
	size_t method = 0;
	bool any = false;

	for (size_t i = 0; i < request->count; i++) {
		bool matched = follow_native_matched(follow, i);

		if (!session->asked.native[i])
			matched |= follow_pattern_matched(follow, method++);
		any |= matched && (!request->roots || i < request->roots);
		if (!matched)
			log_print("no %s matched '%s' (look for its name with --list and a glob)",
				  kind_of(session, i), pattern_text(session->asked.patterns[i]));
	}
	return any;
}

enum exit_status session_judge_command(const struct session *session, struct error *err)
{
	const struct follow *follow = session->followed.follow;
	const char *program = launch_program(session->command.launch);
	bool no_runtime = session->asked.methods.count && !follow_met_runtime(follow);

	if (follow_problem(follow))
		log_print("what %s compiled could not be followed (start it, and give its PID): %s",
			  program, follow_problem(follow));
	if (no_runtime && !session_wants_natives(session)) {
		error_fill(
			err,
			"%s loaded no .NET runtime (what its children load is not looked at: give the PID of the one that does)",
			program);
		return EXIT_STATUS_NO_MATCH;
	}
	if (log_unmatched(session))
		return EXIT_STATUS_OK;
	error_fill(err, "nothing matched in %s%s; look for names with --list on its PID", program,
		   no_runtime ? ", which loaded no .NET runtime" : "");
	return EXIT_STATUS_NO_MATCH;
}

/* What it loads must be able to come. */
static int check_loader(const struct session *session, struct error *err)
{
	if (session->command.loader || session_wants_natives(session))
		return 0;
	return error_set(
		err, -ENOTSUP,
		"%s is statically linked, so what it loads cannot be followed: start it, and give its PID",
		launch_program(session->command.launch));
}

int session_check_holding(const struct session *session, struct error *err)
{
	if (session->asked.methods.count && !capture_can_hold(session->capture))
		return error_set(
			err, -ENOTSUP,
			"this kernel cannot hold a thread at a uprobe, so no method can be probed from its start: start it, and give its PID");
	return 0;
}

enum session_event session_hold(struct session *session, struct error *err)
{
	struct session_command *command = &session->command;

	session->pid = launch_pid(command->launch);
	if (session_sort_patterns(session, err) ||
	    loader_find(launch_program(command->launch), &command->program, &command->loader,
			err) ||
	    check_loader(session, err) || session_hold_target(session, err) ||
	    plan_sort_methods(&session->plan, err))
		return session_fail(session, EXIT_STATUS_ERROR);
	return EVENT_DONE;
}

enum session_event session_let_go(struct session *session, struct error *err)
{
	return launch_release(session->command.launch, err) ?
		       session_fail(session, EXIT_STATUS_ERROR) :
		       EVENT_DONE;
}

void session_log_ending(const struct session *session)
{
	char ending[ENDING_BYTES];
	int how;

	if (session->command.launch && session->target.process.pidfd >= 0 &&
	    !process_is_alive(&session->target.process) &&
	    launch_wait(session->command.launch, &how) == 0 &&
	    launch_ending(session->command.launch, how, ending, sizeof(ending)))
		log_print("%s", ending);
}
