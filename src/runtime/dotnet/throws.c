// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the runtime is told which frames an exception comes by, for those who ask (dotnet.c). */
#include "bpf/thrown.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/qcalls.h"
#include "target/target.h"

const char *dotnet_throws(const struct runtime *runtime, code_place_fn fn, void *ctx)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;
	const struct layout *layout = dotnet->jit ? &dotnet->jit->clr.layout : NULL;
	const struct target_file *file = target_file(dotnet->target, dotnet->about.file);
	struct file_offset offset;

	if (!dotnet->managed || !layout || !file)
		return "the runtime's structures are not known";
	if (!layout_has(layout, THROWN_PREVIOUS))
		return ".NET 8 does not tell which exception comes by a frame";
	if (!qcall_find(file->bytes, QCALL_APPEND_FRAME, &offset))
		return "the runtime's " QCALL_APPEND_FRAME " is not found";
	fn(ctx, file->number, offset,
	   (uint64_t)layout->at[THROWN_PREVIOUS] << THROWN_PREVIOUS_SHIFT |
		   (uint64_t)layout->at[EXCEPTION_MESSAGE]);
	return NULL;
}
