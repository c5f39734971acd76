/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a long step is, in one line on a terminal's standard error that is gone afterwards. Who
 * has the steps tells of each; the thread that has called progress_start() shows them, others tell
 * in vain.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stddef.h>

/* From now on, until progress_stop(); nothing is shown that is over within 0.3 s. */
void progress_start(void);
void progress_stop(void);

/*
 * Thing @number, from 0, of @count is about to be done: "WHAT: 12 of 184 ...". 0: it is not known how
 * many there are.
 */
void progress_tell(const char *what, size_t number, size_t count);

/* Before other lines: take it away, until there is news. */
void progress_clear(void);

#endif
