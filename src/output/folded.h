/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Equal stacks, merged and counted: "comm;outermost;...;innermost COUNT", the form that flame
 * graphs are drawn from.
 */
#ifndef OUTPUT_FOLDED_H
#define OUTPUT_FOLDED_H

#include <stdint.h>

#include "bpf/event.h"
#include "stack/stack.h"

struct folded;

/* NULL if there is no memory. */
struct folded *folded_create(void);
void folded_destroy(struct folded *folded);

/* Count the stack of @hit, with the name of its thread. */
void folded_add(struct folded *folded, const struct hit *hit);

/*
 * Call @each with each different stack, in alphabetical order, and forget them. The stack is
 * printable, ';' stands only between its parts. Those that there was no room for come as "[other
 * stacks]".
 */
void folded_take(struct folded *folded, void (*each)(void *ctx, const char *stack, uint64_t count),
		 void *ctx);

#endif
