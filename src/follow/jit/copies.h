/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the target that the programs are asked to copy while they hold a thread: this side must
 * not read it itself (follow.h). Images go to watch.h then, code to timing.c.
 */
#ifndef FOLLOW_COPIES_H
#define FOLLOW_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/follow.h"
#include "image/cursor.h"

enum { COPIES_MAX = 16 };

struct copied {
	uint8_t *bytes; /* malloc'd */
	size_t size;
	size_t got; /* the others could not be read, and are 0 */
};

struct copy {
	uint64_t hold; /* 0: there is none */
	uint64_t asked_ns;
	struct compile_event event;
	uint64_t at[FOLLOW_COPIES];
	struct copied ranges[FOLLOW_COPIES];
	/* Of code: whose it is. An image's has none. */
	bool of_code;
	const struct watch_row *row;
	bool may_be_freed;
};

struct copies {
	struct copy copies[COPIES_MAX];
};

/* Room for @ranges, asked for with @event. NULL: there is no more, or no memory. */
struct copy *copies_add(struct copies *copies, const struct compile_event *event,
			const struct hold_copy ranges[FOLLOW_COPIES]);

/* The one that was asked for with the hold @hold, or NULL. */
struct copy *copies_find(struct copies *copies, uint64_t hold);

void copies_take(struct copies *copies, const struct chunk_event *chunk);

/* All of the range was read, or nothing is given. */
struct span copy_bytes(const struct copy *copy, size_t range);

/* Its bytes go with it, as far as they have not been taken over. */
void copy_drop(struct copy *copy);
void copies_deinit(struct copies *copies);

#endif
