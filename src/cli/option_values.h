/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values that options take: numbers, times, sizes, words. Each is 0, or -EINVAL with @err
 * saying what option @name takes instead of @value.
 */
#ifndef CLI_OPTION_VALUES_H
#define CLI_OPTION_VALUES_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct hist_range;
struct sockaddr_storage;

/* A number of seconds above 0, in nanoseconds. */
int option_seconds(const char *name, const char *value, uint64_t *ns, struct error *err);

/* A time with its unit, above 0. */
int option_time(const char *name, const char *value, uint64_t *ns, struct error *err);

/* A whole number from @low to @high. */
int option_whole(const char *name, const char *value, uint64_t low, uint64_t high, uint64_t *number,
		 struct error *err);

/* One of @words, which end with NULL: its @index. @wanted says them in a sentence. */
int option_word(const char *name, const char *value, const char *const *words, unsigned int *index,
		const char *wanted, struct error *err);

/* The size of a ring buffer, made a power of two. */
int option_size(const char *name, const char *value, size_t *bytes, struct error *err);

/* ADDR:PORT, :PORT or PORT, the address as digits and 127.0.0.1 if there is none; NULL: 9464. */
int option_address(const char *name, const char *value, struct sockaddr_storage *address,
		   struct error *err);

/* "linear:MIN:MAX:STEP" */
int option_linear(const char *value, struct hist_range *range, struct error *err);

#endif
