/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log: one line to standard error, for people. Standard output is data. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/* Names in it are chosen by others: control characters become '?'. */
void log_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * While a screen is drawn: lines that would go to a terminal are kept from now on, until
 * log_release() prints them all.
 */
void log_hold(void);
void log_release(void);

/* The last line since log_hold(), without what all begin with; NULL: there is none. */
const char *log_last(void);

#endif
