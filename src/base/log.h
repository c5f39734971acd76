/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log: one line to standard error, for people. Standard output is data. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/* Names in it are chosen by others: control characters become '?'. */
void log_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
