/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that the runtime makes itself, to get from one method to another: what a piece of it is
 * for.
 *
 * Source of the format: dotnet/runtime src/coreclr/vm/codeman.h, StubCodeBlockKind, RangeSection,
 * CodeRangeMapRangeList.
 */
#ifndef RUNTIME_DOTNET_STUB_CODE_H
#define RUNTIME_DOTNET_STUB_CODE_H

#include "runtime/dotnet/clr.h"
#include "image/space.h"

/*
 * What the code at @address is, in the runtime's own words: "FixupPrecode", "VSD_ResolveStub". NULL
 * if it is no stub, or none whose kind is written down. As the target's memory is now: see
 * memory_forget().
 */
const char *stub_code_name(const struct clr *clr, struct address address);

#endif
