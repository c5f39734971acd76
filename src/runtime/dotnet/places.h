/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the runtime's calling convention puts arguments and results: that of the machine
 * (value/convention.h), by fields as the type loader has laid them out, with what .NET passes
 * before.
 *
 * Source: dotnet/runtime docs/design/coreclr/botr/clr-abi.md, src/coreclr/vm/{argdestination,
 * callingconvention}.h, ClassifyEightBytes() in methodtable.cpp; and what was measured of .NET 8, 9
 * and 10 (tests/system/test_values.py).
 */
#ifndef RUNTIME_DOTNET_PLACES_H
#define RUNTIME_DOTNET_PLACES_H

#include <stdbool.h>

#include "value/convention.h"

/* What is taken so far, at a method's first instruction. */
struct places {
	struct convention taken;
	bool empty_on_stack; /* .NET 8: structs without fields too */
	bool lost;	     /* one was of a type that is not known, so all that follow are */
};

struct places places_begin(bool empty_on_stack);

/* Where the next argument is. False if that cannot be told. */
bool places_take(struct places *places, struct value_slot *slot);

/* Is a result of that type in a buffer that the caller has passed the address of? */
bool places_in_buffer(const struct places *places, const struct value_type *type);

/* Where a result of slot->type is at a ret. False as above. */
bool places_of_result(const struct places *places, struct value_slot *slot);

#endif
