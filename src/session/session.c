// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "capture/capture.h"
#include "base/error.h"
#include "stack/symbols.h"
#include "method/pattern.h"
#include "output/output.h"
#include "session/resolve.h"
#include "session/session_internal.h"
#include "target/launch.h"
#include "target/sigbus.h"
#include "unwind/tables.h"

/* The run ------------------------------------------------------------------------------- */

static enum exit_status run(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	enum exit_status status;
	int result = session_create_patterns(session, err);

	if (result)
		return result == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_ERROR;
	if (resolution_init(&session->resolution, session->pid, err) ||
	    session_sort_patterns(session, err))
		return EXIT_STATUS_ERROR;
	session_tell_resolution(session);
	if (session_check_tid(session, err) || session_add_maps(session, err) ||
	    session_make_plan(session, err))
		return EXIT_STATUS_ERROR;
	status = session_check_plan(session, err);
	if (status == EXIT_STATUS_OK && options->mode == MODE_LIST) {
		const struct output_loss none = { 0 };
		const char *const no_bounds[] = { NULL };

		output_plan(&session->output, &session->plan, &session->resolution);
		output_summary(&session->output, 0, &none, no_bounds, NULL);
		session_tell_inlining(session);
		return EXIT_STATUS_OK;
	}
	if (status == EXIT_STATUS_OK && !session_may_be_placed(session))
		status = session_refuse_unplaceable(session, err);
	if (status != EXIT_STATUS_OK)
		return status;
	session->resolved = true;
	session_tell_inlining(session);
	target_forget_pages(&session->resolution.target);
	if (options->mode == MODE_DRY_RUN) {
		session_tell_registers_wanted(session);
		output_dry_run(&session->output, &session->plan, &session->resolution);
		return EXIT_STATUS_OK;
	}
	return session_capture(session, err);
}

static void session_deinit(struct session *session)
{
	capture_destroy(session->capture);
	symbols_destroy(session->symbols);
	stack_deinit(&session->stack);
	unwind_tables_destroy(session->unwind);
	plan_deinit(&session->plan);
	resolution_deinit(&session->resolution);
	patterns_destroy(session->patterns, session->options->request.count);
	free(session->native);
	free(session->methods.patterns);
	free(session->method_patterns);
	latencies_deinit(&session->latencies_printed);
	free(session->matched);
	free(session->counters);
	free(session->calls_printed);
	free(session->calls_new);
	target_files_close(&session->early_files);
	process_deinit(&session->started);
	launch_destroy(session->launch);
}

/*
 * khugepaged locks the memory that it makes huge pages of, and has the lowest priority: on busy CPUs it takes
 * seconds, in which the thread that answers whoever is held cannot touch a page for the first time.
 */
static void refuse_huge_pages(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

enum exit_status session_run(const struct options *options, struct error *err)
{
	const struct process none = { .pidfd = -1, .proc_fd = -1, .view_fd = -1 };
	struct session session = { .options = options, .pid = options->pid };
	struct error output_error = { .text = "" };
	enum exit_status status;

	session.resolution.target.process = none;
	session.started = none;
	if (output_open(&session.output, options, err))
		return EXIT_STATUS_ERROR;
	/* Before we change anything about ourselves: the program is to be started as we were. */
	if (options->command && launch_create(&session.launch, options->command, err)) {
		output_close(&session.output, NULL);
		return EXIT_STATUS_ERROR;
	}
	refuse_huge_pages();
	sigbus_install();
	target_files_raise_limit();
	status = options->command ? session_run_command(&session, err) : run(&session, err);
	if (output_close(&session.output, &output_error) && status == EXIT_STATUS_OK) {
		*err = output_error;
		status = EXIT_STATUS_ERROR;
	}
	session_deinit(&session);
	return status;
}
