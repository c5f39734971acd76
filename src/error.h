/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One failure, told once: where it happened and one sentence that a user can act on. */
#ifndef ERROR_H
#define ERROR_H

struct error {
	char text[1024];
};

/*
 * Fill @err (may be NULL) and return @code, a negative errno, so that a caller
 * can write `return error_set(err, -EINVAL, "...")`. Callers above add where it
 * happened with error_in(); they do not replace the text.
 */
int error_set(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "WHERE: " in front of the text of @err, and return @code. */
int error_in(struct error *err, int code, const char *where);

#endif
