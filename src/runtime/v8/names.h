/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call is called in a stack trace, as `new Error().stack` spells it: "Class.method",
 * "new Class", "Object.<anonymous>", "Timeout.tick [as _onTimeout]". It depends on what the
 * function was called on, which is on the stack too.
 *
 * Source: V8's src/objects/call-site-info.cc, JSReceiver::GetConstructorName().
 */
#ifndef RUNTIME_V8_NAMES_H
#define RUNTIME_V8_NAMES_H

#include "base/text.h"
#include "runtime/v8/function.h"

struct v8_call {
	const struct v8_function *function;
	uint64_t closure;  /* the JSFunction; 0: not known, as of one that was inlined */
	uint64_t receiver; /* what it was called on; 0: not known, but perhaps its Map */
	uint64_t receiver_map;
	bool construct; /* by new */
	bool moved;	/* the closure was known, and is found by the receiver if it can be */
	bool stale;	/* objects have moved since: what is not found may have been there */
};

/* What a name was made of. */
struct v8_name_how {
	bool by_object; /* it is of a call on that very object, whose Map others have too */
	bool plain;	/* what that is may just have been moved, so nothing is said of it */
};

/*
 * Append the name, or "<anonymous>"; of what was called on something of which only the Map is known
 * what that says. False if a part of it could not be read. @moving: objects are being moved, so
 * what is not found may be there.
 */
bool v8_add_call_name(const struct v8_heap *heap, const struct v8_call *call, bool moving,
		      struct text *out, struct v8_name_how *how);

#endif
