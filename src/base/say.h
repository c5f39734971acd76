/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Talk: one line to standard error, for people. Standard output is data. */
#ifndef BASE_SAY_H
#define BASE_SAY_H

/* What it tells of is named by others: control characters become '?'. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
