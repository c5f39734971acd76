// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors are filled in where they happen, and printed by main.c. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

void error_fill(struct error *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
}

int error_in(struct error *err, int code, const char *where)
{
	struct error inner;

	if (!err)
		return code;
	inner = *err;
	/* A text too long for both is cut at its end: the place matters more than the tail. */
	if (snprintf(err->text, sizeof(err->text), "%s: %s", where, inner.text) < 0)
		*err = inner;
	return code;
}
