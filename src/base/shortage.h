/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that was refused. Whoever can go on without does, and what is missing then has no other
 * place where it is told: so it is counted here, and told at the end of a run.
 */
#ifndef BASE_SHORTAGE_H
#define BASE_SHORTAGE_H

/* From any thread. */
void shortage_note(void);

/* How often it was refused so far. */
unsigned long shortage_count(void);

/* Say so, if it was: where no report of losses does (session/report.c). */
void shortage_log(void);

#endif
