/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of compilations.h share: answering (compilations.c), the start, stubs and timed
 * calls.
 */
#ifndef FOLLOW_COMPILATIONS_INTERNAL_H
#define FOLLOW_COMPILATIONS_INTERNAL_H

#include "follow/jit/compilations.h"
#include "follow/messages/messages.h"
#include "follow/messages/sites.h"

/* @site is of @row's method; what it is called is borrowed. */
void compilations_name(struct site *site, const struct watch_row *row);

/* @body is of @row's method; NULL: it is not known of which. */
void compilations_rank(struct compilations *jit, const struct watch_row *row, struct body *body);

/* Put a probe on @body; @said and its site learn what came of it. */
void compilations_arm(struct compilations *jit, struct body *body, struct follow_note *said);

/*
 * Let the programs send what @copy is to have, and the compilation again; false (it is dropped) if
 * nobody waits.
 */
bool compilations_ask(struct compilations *jit, struct copy *copy);

/* The first P/Invoke that may go by the stub that @event is of; NULL: none that is asked for. */
const struct watch_row *stubs_find(struct compilations *jit, const struct compile_event *event,
				   const uint8_t *detail);

/*
 * Give the site of that method, @stub, numbered @with, company: the others that stubs_find() would
 * find next.
 */
void stubs_share(struct compilations *jit, const struct compile_event *event,
		 const struct site *stub, uint32_t with);

/* A stub was there before; @site, which is numbered @number, is of a method that goes by it. */
void stubs_adopt(struct compilations *jit, const struct site *site, uint32_t number);

/* Give @body, whose site is @site, the exits of that. */
void timing_take_exits(struct body *body, const struct site *site);

/* Ask for the code of a new body, of @row's method. False: its exits cannot be known now. */
bool timing_ask(struct compilations *jit, const struct compile_event *event,
		const struct watch_row *row, bool may_be_freed);

/*
 * Give @site, which has a breakpoint, the exits of the code in @copy. REASON_NONE, or why it has
 * none.
 */
enum reason timing_find(struct compilations *jit, const struct copy *copy, struct site *site);

/* Tell the programs of @body, whose site is @site, before its first call. */
void timing_describe(struct compilations *jit, const struct body *body, const struct site *site);

/* There is an OSR body of @method; its code is in @copy, which may be NULL. */
void timing_take_osr(struct compilations *jit, const struct copy *copy, uint64_t method);

#endif
