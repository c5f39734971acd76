// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One run, from its options to its exit status: a step for each state, until the last (states.h).
 * main.c calls it; the steps are in planning.c or command.c, then attach.c, consume.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "broker/broker.h"
#include "debuginfod/debuginfod.h"
#include "stack/symbols.h"
#include "base/progress.h"
#include "probe/programs.h"
#include "record/record.h"
#include "session/session_internal.h"
#include "session/values.h"
#include "session/verdict.h"
#include "target/launch.h"
#include "target/privileges.h"
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

		/* Who reads images after that is in nobody's way; what comes else is printed. */
		if (session->state >= RUN_LOAD || (event != EVENT_DONE && event != EVENT_PID))
			progress_stop();
		if (!session_state_change(&session->state, event)) {
			error_set(
				err, -EPROTO,
				"nothing follows event %d in state %d: that is an error in place-probe, run again with -v and report it",
				event, session->state);
			return EXIT_STATUS_ERROR;
		}
	}
	return session->status;
}

static void session_deinit(struct session *session)
{
	session_stop_serving(session);
	session_stop_fetching(session);
	/* Probes before that: they would vanish from code that is shared again. */
	capture_destroy(session->capture);
	capture_opening_destroy(session->opening);
	session_remap_deinit(session);
	last_snapshot_destroy(session->snapshot);
	symbols_destroy(session->symbols);
	pending_destroy(session->pending);
	known_stacks_destroy(session->stacks.known);
	session_values_destroy(session->values);
	session_traces_destroy(session->traces);
	session_async_destroy(session->async);
	free(session->merged.stacks);
	unwind_tables_destroy(session->stacks.tables);
	free(session->counts.counters);
	free(session->counts.printed);
	free(session->counts.fresh);
	latencies_deinit(&session->counts.latencies);
	plan_deinit(&session->plan);
	resolution_deinit(&session->resolution);
	target_deinit(&session->target);
	patterns_destroy(session->asked.patterns, session->options->request.count);
	free(session->asked.matched);
	free(session->asked.native);
	free(session->asked.methods.patterns);
	free(session->asked.method_patterns);
	free(session->asked.planned);
	free(session->command.program);
	free(session->command.loader);
	launch_destroy(session->command.launch);
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

/* What may be refused at once, and what is to be before we change anything about ourselves. */
static bool begin(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	int result = 0;

	if (session_listen(session, err) ||
	    (options->debuginfod && debuginfod_start(&session->fetching.debuginfod, err)) ||
	    open_output(session, err))
		return false;
	/* The program is to be started as we were. */
	if (options->command)
		result = launch_create(&session->command.launch, options->command, err);
	if (result == 0 && options->expire_ns) {
		session->guard = expire_start(err);
		result = session->guard < 0 ? session->guard : 0;
	}
	if (result) {
		(void)close_output(session, NULL);
		launch_destroy(session->command.launch);
	}
	return result == 0;
}

/* Nobody's code is mapped anew unasked where it may be gone if that fails. */
static void choose_remap(struct options *options)
{
	if (options->remap == REMAP_AUTO && mode_attaches(options->mode) &&
	    !programs_keep_replaced())
		options->remap = REMAP_NEVER;
}

enum exit_status session_run(struct options *options, struct error *err)
{
	struct session session = {
		.options = options,
		.pid = options->pid,
		.known = TARGET_UNKNOWN,
		.target = TARGET_NONE,
		.plan.timed = options->timed,
		.plan.open_ended = options->mode == MODE_WATCH,
		.guard = -1,
	};
	struct error output_error = { .text = "" };
	enum exit_status status;

	choose_remap(options);
	programs_tell(options->verbose);
	if (!begin(&session, err)) {
		session_stop_serving(&session);
		session_stop_fetching(&session);
		return EXIT_STATUS_ERROR;
	}
	target_prepare((session.output.whole_path ? PRIVILEGES_WRITE : 0) |
		       (options->command ? PRIVILEGES_SIGNAL : 0) |
		       (options->no_sandbox ? 0 : PRIVILEGES_SPLIT));
	status = run(&session, err);
	expire_end(&session.guard);
	session_log_ending(&session);
	if (close_output(&session, &output_error) && status == EXIT_STATUS_OK) {
		*err = output_error;
		status = EXIT_STATUS_ERROR;
	}
	session_deinit(&session);
	broker_end(session.broker);
	return status;
}
