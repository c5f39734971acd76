// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the collector is told that it has done: the runtime's RestartEE() calls
 * IGCHeap::SetGCInProgress(false) before it lets threads go on (src/coreclr/vm/threadsuspend.cpp).
 * That is a virtual function of the object g_pGCHeap, at the same place of its table in .NET 8 to
 * 11 (src/coreclr/gc/gcinterface.h), whichever collector it is.
 *
 * And where a Task has the exception that it has faulted by, for those who ask for both; and where
 * the runtime is told which frames an exception comes by.
 */
#include "bpf/thrown.h"
#include "code/compiler_code.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "runtime/dotnet/qcalls.h"
#include "target/target.h"

enum {
	SET_IN_PROGRESS = 45,
	FIRST_ELEMENT = 16, /* of an array */
};

/* The function; 0: it is not known. */
static uint64_t find_function(const struct clr *clr)
{
	struct look look = look_into(clr->memory);
	uint8_t code[COLLECTOR_CODE_MAX];
	uint64_t heap, table, function;

	if (!clr->layout.dac_heap || !clr->dac_table)
		return 0;
	heap = look_u64(&look, look_u64(&look, clr->dac_table + 8ull * clr->layout.dac_heap));
	table = look_u64(&look, heap);
	function = look_u64(&look, table + 8ull * SET_IN_PROGRESS);
	look_copy(&look, function, code, sizeof(code));
	return !look.bad && collector_code_stores(code, sizeof(code)) ? function : 0;
}

bool dotnet_fault_path(const struct runtime *runtime, uint64_t at[ASYNC_HOPS])
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;
	const struct layout *layout = dotnet->jit ? &dotnet->jit->clr.layout : NULL;

	if (!layout)
		return false;
	at[0] = (uint64_t)layout->at[TASK_PROPERTIES];
	at[1] = (uint64_t)layout->at[PROPERTIES_HOLDER];
	at[2] = (uint64_t)layout->at[HOLDER_FAULTS];
	at[3] = (uint64_t)layout->at[LIST_ITEMS];
	at[4] = FIRST_ELEMENT;
	at[5] = (uint64_t)layout->at[DISPATCH_EXCEPTION];
	return true;
}

const char *dotnet_collects(const struct runtime *runtime, code_place_fn fn, void *ctx)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;
	uint64_t function = dotnet->jit ? find_function(&dotnet->jit->clr) : 0;
	const struct mapping *row =
		function ? target_find_mapping(dotnet->target, (struct address){ function }) : NULL;
	const struct target_file *file = row ? target_find_file(dotnet->target, row) : NULL;

	if (!file || !mapping_is_file_code(row))
		return "where the runtime's collector is done is not known";
	fn(ctx, file->number, mapping_offset(row, (struct address){ function }), 0);
	return NULL;
}

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
