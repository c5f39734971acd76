/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which IL native code was made of: the debug info that the runtime keeps with each body it
 * compiles, and ReadyToRun images with each of theirs. Works on bytes that it is given.
 *
 * Sources of the format: dotnet/runtime src/coreclr/vm/debuginfostore.cpp, inc/nibblestream.h,
 * inc/cordebuginfo.h at v8.0.31, v9.0.20, v10.0.12, docs/design/datacontracts/DebugInfo.md; what a
 * native offset means, so that lines are those of stack traces: debug/ee/functioninfo.cpp
 * (SetBoundaries, MapNativeOffsetToIL) of .NET 8 and 9, vm/debugdebugger.cpp
 * (WalkILOffsetsCallback) of .NET 10.
 */
#ifndef RUNTIME_DOTNET_DEBUG_INFO_H
#define RUNTIME_DOTNET_DEBUG_INFO_H

#include "image/cursor.h"

enum debug_info_format {
	DEBUG_INFO_NIBBLES, /* .NET 8 and 9, ReadyToRun before 16 */
	DEBUG_INFO_PACKED,  /* .NET 10, ReadyToRun 16 */
	DEBUG_INFO_SIZED,   /* .NET 11, ReadyToRun 26: the sizes of all parts may come first */
};

enum { DEBUG_INFO_HEAD_BYTES = 40 }; /* it is no longer than this */

/* Where the bounds lie, from the beginning of the head. */
struct debug_info_bounds {
	uint32_t offset;
	uint32_t size;
};

/* Read the head at the start of @bytes. False if it is damaged, or there are no bounds. */
bool debug_info_read_head(struct span bytes, enum debug_info_format format,
			  struct debug_info_bounds *bounds);

/*
 * The IL offset of @native_offset, from the start of the body, by its @bounds. False if they are
 * damaged or say nothing.
 */
bool debug_info_find_il(struct span bounds, enum debug_info_format format, uint32_t native_offset,
			uint32_t *il_offset);

#endif
