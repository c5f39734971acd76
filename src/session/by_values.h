/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --by=EXPR: the values that calls were kept apart by, as text, for histograms.c. */
#ifndef SESSION_BY_VALUES_H
#define SESSION_BY_VALUES_H

#include <stddef.h>
#include <stdint.h>

struct session;

struct by_value {
	uint64_t number; /* of bpf/by.h */
	char *text;	 /* in the words of the format; NULL: there was no memory */
};

struct by_values {
	struct by_value *list; /* by number */
	size_t count;
	size_t capacity;
};

/* All that have come by now. -ENOMEM. */
int by_values_read(struct by_values *values, const struct session *session);
void by_values_deinit(struct by_values *values);

/* A copy of the text of @number, for the caller to free; NULL: it has none. */
char *by_values_text(const struct by_values *values, uint64_t number);

/* What @number is if it is no value: "other", "unknown"; NULL: it is one. */
const char *by_values_rest(uint64_t number);

#endif
