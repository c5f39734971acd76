/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the addresses of a captured stack to names: finds what is mapped where, asks the runtimes
 * for names of that code, and remembers the answers. src/session/ says which runtimes there are.
 */
#ifndef STACK_SYMBOLS_H
#define STACK_SYMBOLS_H

#include "runtime/frame.h"
#include "runtime/runtime.h"

struct error;
struct symbols;
struct target;

/* What naming works on. Whoever has the same can name the stacks of a target later. */
struct symbol_sources {
	const struct target *target;
	/* Look again at what @target has mapped. True if something has changed. */
	bool (*refresh)(void *ctx);
	/* Goes up when that has changed; names that are remembered are forgotten then. */
	const uint64_t *version;
	void *ctx;
	struct frame_namer namers[RUNTIMES_MAX]; /* asked in this order */
	size_t namer_count;
};

/* Takes over the namers of @sources, also if it fails. -ENOMEM with @err set, *@symbols NULL. */
int symbols_create(struct symbols **symbols, const struct symbol_sources *sources,
		   struct error *err);
void symbols_destroy(struct symbols *symbols);

/* What code is called: at least one frame, the innermost first. Whoever has it must release it. */
struct symbols_answer {
	unsigned int users;
	bool kept; /* the same code has it, until symbols_version() changes */
	size_t count;
	struct frame frames[]; /* behind them their renderings, and their strings */
};

/*
 * Count on @versions, which are others from time to time: how often code was compiled, by
 * merge_code() of where it begins. They must stay as long as anything is named.
 */
void symbols_watch_codes(struct symbols *symbols, const uint32_t *versions);

/* Goes up when what was named before may have another name by now. */
uint64_t symbols_version(const struct symbols *symbols);

/* The same of the code of one frame alone. */
uint32_t symbols_code_version(const struct symbols *symbols, const struct event_frame *at);

/* A new stack: what the target's memory says is read anew. */
void symbols_begin(struct symbols *symbols);

/*
 * Name the code of @at; @v8 is what is known of it as a frame of V8's, or NULL. NULL for want of
 * memory. @return_address: it is where a call returns to, so the call itself, one byte before, says
 * which function it is in.
 */
struct symbols_answer *symbols_name(struct symbols *symbols, const struct event_frame *at,
				    const struct raw_v8 *v8, bool return_address);

/* NULL is none. May come after symbols_destroy(). */
void symbols_release(struct symbols_answer *answer);

#endif
