// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From argv to the exit status: cli/ reads the options, session/ runs or record/ replays, and why
 * it failed is printed here.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "base/error.h"
#include "cli/options.h"
#include "record/replay.h"
#include "session/session.h"
#include "base/text.h"

static enum exit_status replay(const struct options *options, struct error *err)
{
	static const enum exit_status statuses[] = {
		[REPLAY_OK] = EXIT_STATUS_OK,
		[REPLAY_FAILED] = EXIT_STATUS_ERROR,
		[REPLAY_REFUSED] = EXIT_STATUS_USAGE,
		[REPLAY_LOSSY] = EXIT_STATUS_LOST,
	};

	return statuses[replay_run(options, err)];
}

int main(int argc, char **argv)
{
	struct error err = { .text = "" };
	struct options options;
	enum exit_status status = EXIT_STATUS_OK;

	/* A reader that goes away ends the run in order, with the probes removed. */
	signal(SIGPIPE, SIG_IGN);
	if (options_parse(&options, argc, argv, &err))
		status = EXIT_STATUS_USAGE;
	else if (options.mode == MODE_HELP)
		options_print_help(stdout);
	else if (options.mode == MODE_VERSION)
		puts("place-probe " PLACE_PROBE_VERSION);
	else if (options.mode == MODE_SELF_TEST)
		status = capture_self_test(stdout, &err) ? EXIT_STATUS_ERROR : EXIT_STATUS_OK;
	else if (options.replay_path)
		status = replay(&options, &err);
	else
		status = session_run(&options, &err);
	if (status != EXIT_STATUS_OK) {
		text_make_printable(err.text, strlen(err.text));
		fprintf(stderr, "place-probe: %s\n", err.text);
	}
	options_deinit(&options);
	return (int)status;
}
