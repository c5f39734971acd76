/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that exits are looked for in: the parts of a body, by where it comes from. */
#ifndef PLAN_EXIT_PARTS_H
#define PLAN_EXIT_PARTS_H

#include "code/exits.h"
#include "image/space.h"

struct clr;
struct elf;
struct error;
struct native_symbol;
struct native_symbols;
struct pe;
struct r2r_body;

/*
 * Those of a precompiled body, by RVA; their bytes are @pe's. Returns how many, which may be more
 * than EXITS_PARTS_MAX: then exits_find() refuses it.
 */
size_t exit_parts_precompiled(const struct pe *pe, const struct r2r_body *body,
			      struct exit_part parts[EXITS_PARTS_MAX]);

/*
 * Those of a body that the runtime compiled, by address: the method and its handlers, each of which
 * has unwind information of its own. @bytes is all of the code at @code, as it was read. 0 if that is
 * not, or no longer, what its header describes.
 */
size_t exit_parts_compiled(const struct clr *clr, struct address code, struct span bytes,
			   struct exit_part parts[EXITS_PARTS_MAX]);

enum {
	EXIT_CODE_HEADER_BYTES =
		8, /* before a body that the runtime compiled: a pointer to its header */
	EXIT_UNWIND_BYTES = 12, /* RUNTIME_FUNCTION: begin, end, unwind information */
};

/* The same from its RUNTIME_FUNCTIONs themselves, which are in @unwinds. */
size_t exit_parts_unwound(struct address code, struct span bytes, struct span unwinds,
			  struct exit_part parts[EXITS_PARTS_MAX]);

/*
 * exits_find() for a native function, by address as linked. gcc and clang put what is seldom run into a
 * symbol of its own ("NAME.cold"), and jump there: it is added as it is met. Where that symbol was taken
 * out of the file, it is known by its entry in .eh_frame, if the jump is with a frame up; one without
 * looks like a tail call. -ENOMEM with @err set.
 */
int exit_find_native(struct exits *exits, const struct elf *elf,
		     const struct native_symbols *symbols, const struct native_symbol *function,
		     struct error *err);

/* Memory of the target at @begin, of which there is a copy. */
struct exit_copy {
	struct span bytes;
	uint64_t begin;
};

/* For struct exit_body: tables in an image (@ctx is its struct pe), a struct elf, a struct memory, a struct exit_copy. */
bool exit_read_pe(void *ctx, uint64_t at, void *to, size_t size);
bool exit_read_elf(void *ctx, uint64_t at, void *to, size_t size);
bool exit_read_copy(void *ctx, uint64_t at, void *to, size_t size);
bool exit_read_memory(void *ctx, uint64_t at, void *to, size_t size);

#endif
