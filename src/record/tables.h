/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a record has once and knows by a number from then on: strings, frames, stacks, threads. For
 * writer.c; what is new is added to its block before the record that needs it.
 */
#ifndef RECORD_TABLES_H
#define RECORD_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "output/interned.h"
#include "record/format.h"
#include "stack/stack.h"

struct tables {
	struct text *block; /* where what is new goes */
	struct interned strings, frames, stacks, threads;
	size_t string_bytes, stack_frames;
	size_t room;
	uint32_t generation;		       /* goes up with each reset */
	bool failed;			       /* there was no room, or no memory */
	struct text frame, stack, key, thread; /* what is put together */
};

/* Append a record of @tag with @body to @block. */
void tables_put(struct text *block, enum record_tag tag, const struct text *body);

void tables_init(struct tables *tables, struct text *block);
void tables_deinit(struct tables *tables);

/* Is it time to begin anew, so that a reader's memory is bounded too? And do so. */
bool tables_are_full(const struct tables *tables);
void tables_reset(struct tables *tables);

/* Numbers count from 1; 0 is NULL, and if ->failed means nothing. */
uint32_t tables_string(struct tables *tables, const char *s);
uint32_t tables_stack(struct tables *tables, const struct stack *stack);
uint32_t tables_thread(struct tables *tables, const struct hit *hit);

#endif
