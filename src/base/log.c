// SPDX-License-Identifier: GPL-2.0-or-later
/* The log, which session/ writes; what is on the screen meanwhile is not written over. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/text.h"

static const char prefix[] = "place-probe: ";

static struct {
	bool holding;
	bool terminal; /* what is held would be drawn over */
	struct text lines;
	struct text last;
} held;

void log_print(const char *fmt, ...)
{
	char words[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	text_make_printable(words, strlen(words));
	if (held.holding) {
		text_clear(&held.last);
		text_add(&held.last, words);
	}
	if (held.holding && held.terminal) {
		text_printf(&held.lines, "%s%s\n", prefix, words);
		return;
	}
	progress_clear();
	fprintf(stderr, "%s%s\n", prefix, words);
}

void log_hold(void)
{
	held.holding = true;
	held.terminal = isatty(STDERR_FILENO);
}

void log_release(void)
{
	held.holding = false;
	fputs(text_chars(&held.lines), stderr);
	text_deinit(&held.lines);
	text_deinit(&held.last);
}

const char *log_last(void)
{
	return held.holding && held.last.length ? text_chars(&held.last) : NULL;
}
