/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the runtime knows of a method beside its bodies: for records of sites and the log. */
#ifndef SESSION_METHOD_NOTES_H
#define SESSION_METHOD_NOTES_H

#include "runtime/method_notes.h"

struct method_id;
struct resolution;
struct text;

/*
 * Which precompiled methods have inlined method @id: a call from them does not pass by its body.
 * @named of them have names at most. In any case method_inliners_deinit() frees them. -ENOMEM.
 */
int method_inliners_find(struct method_inliners *inliners, const struct resolution *resolution,
			 const struct method_id *id, size_t named);

/*
 * Append "libc.so.6!write", as a pattern has it: what method @id calls. All its calls pass by that,
 * whoever makes them. False if it is no P/Invoke, or nothing is known of its function.
 */
bool method_native_function(const struct resolution *resolution, const struct method_id *id,
			    struct text *out);

#endif
