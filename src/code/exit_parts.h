/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a body that was compiled at run time, from what describes them and a copy of its
 * code: for exits_find(), where the target's memory may not be read.
 */
#ifndef CODE_EXIT_PARTS_H
#define CODE_EXIT_PARTS_H

#include "code/exits.h"
#include "image/space.h"

enum {
	EXIT_CODE_HEADER_BYTES = 8, /* before the body: a pointer to its header */
	EXIT_UNWIND_BYTES = 12,	    /* RUNTIME_FUNCTION: begin, end, unwind information */
};

/*
 * Those of the body at @code, whose code is in @bytes, by its RUNTIME_FUNCTIONs, which are in
 * @unwinds: the method and its handlers. 0 if they do not describe such code.
 */
size_t exit_parts_unwound(struct address code, struct span bytes, struct span unwinds,
			  struct exit_part parts[EXITS_PARTS_MAX]);

/* Memory of the target at @begin, of which there is a copy. */
struct exit_copy {
	struct span bytes;
	uint64_t begin;
};

/* For struct exit_body: tables in such a copy, which @ctx is. */
bool exit_read_copy(void *ctx, uint64_t at, void *to, size_t size);

#endif
