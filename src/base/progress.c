// SPDX-License-Identifier: GPL-2.0-or-later
/* The line that says how far a run is before its probes are there; session/ starts and stops it. */
#include "base/progress.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	PATIENCE_MS = 300,
	AGAIN_MS = 50, /* no sooner is there a new line */
};

/* By thread: whoever follows the target reads images as well. */
static _Thread_local struct {
	uint64_t due_ns; /* 0: nothing is shown */
	int columns;	 /* of what is shown */
} line;

void progress_start(void)
{
	if (isatty(STDERR_FILENO))
		line.due_ns = clock_now_ns() + (uint64_t)PATIENCE_MS * NS_PER_MS;
}

void progress_tell(const char *what, size_t number, size_t count)
{
	uint64_t now = line.due_ns ? clock_now_ns() : 0;
	int columns;

	if (!line.due_ns || now < line.due_ns)
		return;
	columns = count ? fprintf(stderr, "\r%s: %zu of %zu ...", what, number + 1, count) :
			  fprintf(stderr, "\r%s: %zu ...", what, number + 1);
	columns--;
	/* Whatever the terminal understands, blanks are blank. */
	fprintf(stderr, "%*s\r", columns < line.columns ? line.columns - columns : 0, "");
	fflush(stderr);
	line.columns = columns;
	line.due_ns = now + (uint64_t)AGAIN_MS * NS_PER_MS;
}

void progress_clear(void)
{
	if (line.columns > 0)
		fprintf(stderr, "\r%*s\r", line.columns, "");
	line.columns = 0;
}

void progress_stop(void)
{
	progress_clear();
	line.due_ns = 0;
}
