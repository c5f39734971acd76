/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Equal stacks, merged and counted: "comm;outermost;...;innermost COUNT", the form that flame graphs are
 * drawn from.
 */
#ifndef OUTPUT_FOLDED_H
#define OUTPUT_FOLDED_H

#include <stdint.h>

#include "bpf/event.h"
#include "stack/symbols.h"

struct folded;

/* NULL if there is no memory. */
struct folded *folded_create(void);
void folded_destroy(struct folded *folded);

/* One stack: its thread's name, its frames from the inside out, how it ends. */
void folded_begin(struct folded *folded, const char *comm);
void folded_frame(struct folded *folded, const struct frame *frame);
void folded_end(struct folded *folded, enum stack_end end);

/*
 * Call @each with each different stack, in alphabetical order, and forget them. The stack is printable,
 * ';' stands only between its parts. Those that there was no room for come as "[other stacks]".
 */
void folded_take(struct folded *folded, void (*each)(void *ctx, const char *stack, uint64_t count),
		 void *ctx);

#endif
