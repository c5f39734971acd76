/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files are read where they are mapped. If someone truncates one meanwhile, the
 * kernel answers a read with SIGBUS: this turns the missing pages into zeros, which
 * the parsers then refuse as damaged, and remembers that it happened.
 */
#ifndef TARGET_SIGBUS_H
#define TARGET_SIGBUS_H

#include <stdbool.h>
#include <stddef.h>

/* Install the handler, once. Any SIGBUS outside a guarded range kills as before. */
int sigbus_install(void);

/* Guard a mapping of a file; false if all places are taken (then do not map it). */
bool sigbus_guard(const void *start, size_t size_bytes);
void sigbus_unguard(const void *start);

/* How many pages were missing so far. */
unsigned long sigbus_missing_pages(void);

#endif
