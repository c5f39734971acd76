/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables that are cleaned up where they go out of scope, so that a function may return from
 * anywhere. What it hands on it takes out of the variable first: cleanup_take().
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @fn gets the address of the variable, which must have been set. */
#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* For memory; NULL is fine. */
#define _cleanup_free_ _cleanup_(cleanup_free)

/* For a file descriptor; a negative one is none. */
#define _cleanup_close_ _cleanup_(cleanup_close)

/* Make @fn##_at out of @fn, which takes a pointer to a @type, or NULL. */
#define CLEANUP_POINTER(fn, type)                                         \
	/* NOLINTNEXTLINE(bugprone-macro-parentheses): a type has none */ \
	static inline void fn##_at(type *const *variable)                 \
	{                                                                 \
		fn(*variable);                                            \
	}

/* What a pointer points to, which nobody frees any more. */
#define cleanup_take(pointer)                         \
	({                                            \
		__typeof__(pointer) taken_ = pointer; \
		(pointer) = NULL;                     \
		taken_;                               \
	})

static inline void cleanup_free(void *variable)
{
	void *memory;

	memcpy(&memory, variable, sizeof(memory));
	free(memory);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
