/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a body was watched, of the time in which calls went to it; and whether it was hit. Kept
 * by bodies.c and multiplexing.c whenever it gets or loses a register, told at the end.
 */
#ifndef REGISTERS_BODY_TIME_H
#define REGISTERS_BODY_TIME_H

#include <stdint.h>

struct body;
struct scheduler;

struct body_time {
	uint64_t called_ns;  /* calls went to it for so long, */
	uint64_t watched_ns; /* and so long of that it was watched */
};

/* Until @now. */
struct body_time body_time(const struct body *body, uint64_t now);

/* It may have got a register, or lost the one it had. */
void body_note_register(struct body *body, const struct scheduler *scheduler);

/* Its turn begins now, though it was watched in part before. */
void body_begin_slice(struct body *body);

/* Before it is known to have lost it: when that was hit last. */
void body_note_last_hit(struct body *body, uint64_t last_hit_ns);
uint64_t body_last_hit_ns(const struct body *body, const struct scheduler *scheduler);

/* Calls do not go to it any more, or will not in a moment. */
void body_leave(struct body *body);

/*
 * Who was to let calls go to it was held until now, that it might be watched from the first on: no
 * call has gone to it yet.
 */
void body_let_go(struct body *body);

/* Calls count since @since_ns: what was watched before is forgotten. */
void body_count_from(struct body *body, uint64_t since_ns);

#endif
