/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of the runtime's own that managed code calls by name (QCalls), where there are no
 * symbols: the runtime has a table of { name, function }, which the loader's relocations fill.
 *
 * Source: dotnet/runtime src/coreclr/vm/qcallentrypoints.cpp, struct Entry of
 * src/native/minipal/entrypoints.h; the same in .NET 8, 9 and 10.
 */
#ifndef RUNTIME_DOTNET_QCALLS_H
#define RUNTIME_DOTNET_QCALLS_H

#include "image/cursor.h"
#include "image/space.h"

/*
 * Told of each frame that an exception comes by in its first pass, from the inside outwards, with
 * that which catches it (.NET 9 and later): (exception *, ip, sp, flags, ExInfo *).
 */
#define QCALL_APPEND_FRAME "AppendExceptionStackFrame"

/* Where in @file the function called @name begins. False: it has none, or several. */
bool qcall_find(struct span file, const char *name, struct file_offset *offset);

#endif
