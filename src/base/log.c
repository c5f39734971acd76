// SPDX-License-Identifier: GPL-2.0-or-later
/* The log, which session/ writes. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void log_print(const char *fmt, ...)
{
	char words[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	text_make_printable(words, strlen(words));
	fprintf(stderr, "place-probe: %s\n", words);
}
