/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that the exits of a managed body are looked for in: its parts as the image or the
 * runtime describes them, and the tables that it jumps by.
 */
#ifndef RUNTIME_DOTNET_EXIT_PARTS_H
#define RUNTIME_DOTNET_EXIT_PARTS_H

#include "code/exits.h"
#include "image/space.h"

struct clr;
struct pe;
struct r2r_body;

/*
 * Those of a precompiled body, by RVA; their bytes are @pe's. Returns how many, which may be more
 * than EXITS_PARTS_MAX: then exits_find() refuses it.
 */
size_t exit_parts_precompiled(const struct pe *pe, const struct r2r_body *body,
			      struct exit_part parts[EXITS_PARTS_MAX]);

/* exits_find() for a precompiled body. */
int r2r_find_exits(struct exits *exits, const struct pe *pe, const struct r2r_body *body,
		   struct error *err);

/*
 * Those of a body at @code that the runtime compiled, whose code is in @bytes, by its
 * RUNTIME_FUNCTIONs, which are in @unwinds. 0 if they do not describe such code.
 */
size_t exit_parts_unwound(struct address code, struct span bytes, struct span unwinds,
			  struct exit_part parts[EXITS_PARTS_MAX]);

/*
 * Those of a body that the runtime compiled, by address: the method and its handlers, each of which
 * has unwind information of its own. @bytes is all of the code at @code, as it was read. 0 if that
 * is not, or no longer, what its header describes.
 */
size_t exit_parts_compiled(const struct clr *clr, struct address code, struct span bytes,
			   struct exit_part parts[EXITS_PARTS_MAX]);

/* For struct exit_body: tables in an image (@ctx: struct pe) and in memory (struct memory). */
bool exit_read_pe(void *ctx, uint64_t at, void *to, size_t size);
bool exit_read_memory(void *ctx, uint64_t at, void *to, size_t size);

#endif
