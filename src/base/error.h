/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One failure, told once: where it happened and one sentence that a user can act on. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <errno.h>

struct error {
	char text[1024];
};

/* Put the sentence into @err, which may be NULL. */
void error_fill(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What is told as a failure is one, also where errno said nothing. */
static inline int error_code(int code)
{
	return code < 0 ? code : -EIO;
}

/*
 * Fill @err (may be NULL) and give @code, a negative errno, so that a caller can write
 * `return error_set(err, -EINVAL, "...")`. Callers above add where it happened with
 * error_in(); they do not replace the text.
 */
#define error_set(err, code, ...)                   \
	({                                          \
		int error_code_ = error_code(code); \
		error_fill(err, __VA_ARGS__);       \
		error_code_;                        \
	})

/* Put "WHERE: " in front of the text of @err, and return @code. */
int error_in(struct error *err, int code, const char *where);

#endif
