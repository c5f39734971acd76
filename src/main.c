// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From argv to the exit status: cli/ reads the options, session/ runs or record/ replays, and why
 * it failed is printed here.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Where one is closed something else that is opened would come in its place, and be written to. */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* Such that what is written, or read, fails as it would have. */
		int how = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
		int opened = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", how | O_CLOEXEC) : fd;

		/* The lowest that is free is the one. */
		if (opened != fd && opened >= 0)
			close(opened);
	}
}

/* Of what was asked for and is in standard output. A reader who has gone has had enough. */
static enum exit_status printed(struct error *err)
{
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
		return EXIT_STATUS_OK;
	error_set(err, -errno, "cannot write to standard output: %s; let it go elsewhere",
		  strerror(errno ? errno : EIO));
	return EXIT_STATUS_ERROR;
}

static bool is_question(enum mode mode)
{
	return mode == MODE_HELP || mode == MODE_VERSION || mode == MODE_COMPLETE ||
	       mode == MODE_SELF_TEST;
}

static enum exit_status answer(const struct options *options, struct error *err)
{
	int result = 0;

	if (options->mode == MODE_HELP)
		options_print_help(stdout);
	else if (options->mode == MODE_VERSION)
		puts("place-probe " PLACE_PROBE_VERSION);
	else if (options->mode == MODE_COMPLETE)
		result = complete(options, stdout, err);
	else
		result = capture_self_test(stdout, err);
	return result ? EXIT_STATUS_ERROR : printed(err);
}

int main(int argc, char **argv)
{
	struct error err = { .text = "" };
	struct options options;
	enum exit_status status = EXIT_STATUS_OK;

	occupy_standard_descriptors();
	/* A reader that goes away ends the run in order, with the probes removed. */
	signal(SIGPIPE, SIG_IGN);
	if (options_parse(&options, argc, argv, &err))
		status = EXIT_STATUS_USAGE;
	else if (is_question(options.mode))
		status = answer(&options, &err);
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
