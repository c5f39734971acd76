// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One run, from its options to its exit status: a step for each state, until the last (states.h).
 * main.c calls it; the steps are in planning.c or command.c, then attach.c, consume.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "capture/capture.h"
#include "base/error.h"
#include "stack/symbols.h"
#include "method/pattern.h"
#include "output/output.h"
#include "record/record.h"
#include "session/pending.h"
#include "session/resolve.h"
#include "session/session_internal.h"
#include "session/verdict.h"
#include "target/launch.h"
#include "target/sigbus.h"
#include "unwind/tables.h"
#include "session/expire.h"
#include "stack/known.h"

/* What is done in each state; what comes after it is in states.c. */
static enum session_event (*const steps[RUN_OVER])(struct session *session, struct error *err) = {
	[RUN_ASK] = session_ask,	 [RUN_RESOLVE] = session_resolve,
	[RUN_PLAN] = session_make_plan,	 [RUN_LIST] = session_list,
	[RUN_DRY_RUN] = session_dry_run, [RUN_HOLD] = session_hold,
	[RUN_LOAD] = session_load,	 [RUN_ATTACH] = session_attach,
	[RUN_FOLLOW] = session_follow,	 [RUN_ACTIVATE] = session_activate,
	[RUN_LET_GO] = session_let_go,	 [RUN_CONSUME] = session_consume,
	[RUN_DETACH] = session_detach,	 [RUN_JUDGE] = session_judge,
	[RUN_REPORT] = session_report,
};

static enum exit_status run(struct session *session, struct error *err)
{
	while (session->state != RUN_OVER) {
		enum session_event event = steps[session->state](session, err);

		if (!session_state_change(&session->state, event)) {
			error_set(err, -EPROTO, "nothing follows event %d in state %d", event,
				  session->state);
			return EXIT_STATUS_ERROR;
		}
	}
	return session->status;
}

static void asked_deinit(struct session_asked *asked, size_t count)
{
	patterns_destroy(asked->patterns, count);
	free(asked->matched);
	free(asked->native);
	free(asked->methods.patterns);
	free(asked->method_patterns);
}

static void command_deinit(struct session_command *command)
{
	free(command->program);
	free(command->loader);
	launch_destroy(command->launch);
}

static void counts_deinit(struct session_counts *counts)
{
	free(counts->counters);
	free(counts->printed);
	free(counts->fresh);
	latencies_deinit(&counts->latencies);
}

static void session_deinit(struct session *session)
{
	/* Probes first: they would vanish from code that is shared again. */
	capture_destroy(session->capture);
	session_remap_deinit(session);
	last_snapshot_destroy(session->snapshot);
	symbols_destroy(session->symbols);
	pending_destroy(session->pending);
	known_stacks_destroy(session->stacks.known);
	free(session->merged.stacks);
	unwind_tables_destroy(session->stacks.tables);
	counts_deinit(&session->counts);
	plan_deinit(&session->plan);
	resolution_deinit(&session->resolution);
	target_deinit(&session->target);
	asked_deinit(&session->asked, session->options->request.count);
	command_deinit(&session->command);
}

/*
 * khugepaged locks the memory that it makes huge pages of, and has the lowest priority: on busy
 * CPUs it takes seconds, in which the thread that answers whoever is held cannot touch a page for
 * the first time.
 */
static void refuse_huge_pages(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

static int open_output(struct session *session, struct error *err)
{
	int result = output_open(&session->output, session->options, err);

	if (result || !session->options->record_path)
		return result;
	result = record_create(&session->record, session->options, &session->output, err);
	if (result)
		output_close(&session->output, NULL);
	return result;
}

/* What became of the record is told if all else went well. */
static int close_output(struct session *session, struct error *err)
{
	int result = output_close(&session->output, err);
	int recorded = record_close(session->record, result ? NULL : err);

	return result ? result : recorded;
}

enum exit_status session_run(const struct options *options, struct error *err)
{
	struct session session = {
		.options = options,
		.pid = options->pid,
		.known = TARGET_UNKNOWN,
		.target = TARGET_NONE,
		.plan.timed = options->timed,
		.guard = -1,
	};
	struct error output_error = { .text = "" };
	enum exit_status status;

	if (open_output(&session, err))
		return EXIT_STATUS_ERROR;
	/* Before we change anything about ourselves: the program is to be started as we were. */
	if (options->command && launch_create(&session.command.launch, options->command, err)) {
		close_output(&session, NULL);
		return EXIT_STATUS_ERROR;
	}
	if (options->expire_ns)
		session.guard = expire_start(err);
	if (options->expire_ns && session.guard < 0) {
		close_output(&session, NULL);
		launch_destroy(session.command.launch);
		return EXIT_STATUS_ERROR;
	}
	refuse_huge_pages();
	sigbus_install();
	target_files_raise_limit();
	status = run(&session, err);
	expire_end(&session.guard);
	session_log_ending(&session);
	if (close_output(&session, &output_error) && status == EXIT_STATUS_OK) {
		*err = output_error;
		status = EXIT_STATUS_ERROR;
	}
	session_deinit(&session);
	return status;
}
