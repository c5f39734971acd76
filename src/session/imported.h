/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native function behind a P/Invoke: all its calls pass by that, whoever makes them. It can be
 * probed where it has a symbol.
 */
#ifndef SESSION_IMPORTED_H
#define SESSION_IMPORTED_H

#include <stdbool.h>

struct method_id;
struct resolution;
struct text;

/*
 * Append "libc.so.6!write", as a pattern has it, for what method @id calls. False if it is no
 * P/Invoke, or none of the target's libraries has such a name and such a function. (The program
 * itself may choose another one.)
 */
bool imported_function(struct resolution *resolution, const struct method_id *id, struct text *out);

#endif
