/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the addresses of a captured stack to names: finds what is mapped where, asks who may know
 * that code, and remembers the answers. Who they are, and what the target has mapped, src/session/
 * says.
 */
#ifndef STACK_SYMBOLS_H
#define STACK_SYMBOLS_H

#include "runtime/frame.h"

struct error;
struct event_frame;
struct maps;
struct symbols;

enum { SYMBOL_NAMERS_MAX = 4 };

/* What naming asks about the target: whoever answers the same can name its stacks later. */
struct symbol_sources {
	/* Goes up when what is mapped has changed; names that are remembered are forgotten then. */
	uint64_t (*version)(void *ctx);
	/* Look again at what is mapped. True if something has changed. */
	bool (*refresh)(void *ctx);
	/* The mappings as they were when they were looked at last. */
	const struct maps *(*maps)(void *ctx);
	/* The one of @address by the last look, else one that was there before; or NULL. */
	const struct mapping *(*find_mapping)(void *ctx, struct address address);
	/* The file that @row maps; NULL if it is not open. */
	const struct target_file *(*find_file)(void *ctx, const struct mapping *row);
	void *ctx;
	struct frame_namer namers[SYMBOL_NAMERS_MAX]; /* asked in this order */
	size_t namer_count;
};

/* Takes over the namers of @sources, also if it fails. -ENOMEM with @err set, *@symbols NULL. */
int symbols_create(struct symbols **symbols, const struct symbol_sources *sources,
		   struct error *err);
void symbols_destroy(struct symbols *symbols);

/* A new stack: the strings of frames that were named before are no longer valid. */
void symbols_begin(struct symbols *symbols);

/*
 * Name the code of @at: one frame at least. @return_address: it is where a call returns to, so the
 * call itself, one byte before, says which function it is in.
 */
void symbols_name(struct symbols *symbols, const struct event_frame *at, bool return_address,
		  struct named_frames *named);

#endif
