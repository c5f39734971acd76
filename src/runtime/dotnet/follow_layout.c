// SPDX-License-Identifier: GPL-2.0-or-later
/* From the layout of a version of .NET to what the BPF programs that follow methods read by. */
#include "runtime/dotnet/follow_layout.h"

#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "bpf/follow.h"
#include "runtime/dotnet/layout.h"

/* The programs read the first bytes of a MethodDesc at once. */
static bool is_in_head(const struct layout *layout, enum layout_field field, int size)
{
	return layout_has(layout, field) && layout->at[field] + size <= 8;
}

int layout_for_programs(const struct layout *layout, struct follow_shared *shared,
			struct error *err)
{
	static const enum layout_field needed[] = {
		CHUNK_METHOD_TABLE, CHUNK_TOKEN_RANGE,
		CHUNK_SIZE,	    TABLE_FLAGS2,
		TABLE_VIRTUALS,	    TABLE_MODULE_FIELD,
		TABLE_CLASS,	    MODULE_PE_ASSEMBLY,
		DYNAMIC_NAME,	    MODULE_LOADER_ALLOCATOR,
		PE_ASSEMBLY_IMAGE,  PE_IMAGE_LAYOUT,
		PE_LAYOUT_BASE,	    PE_LAYOUT_SIZE,
		PE_LAYOUT_FLAGS,    JIT_INFO_FLAGS,
		JIT_INFO_CODE,	    JIT_INFO_WRITTEN,
		JIT_INFO_SIZE,	    CODE_UNWIND_COUNT,
		CODE_UNWINDS,	    STORED_SIG,
		STORED_SIG_SIZE,
	};
	const int32_t *at = layout->at;
	bool known = is_in_head(layout, METHOD_TOKEN, 2) &&
		     is_in_head(layout, METHOD_CHUNK_INDEX, 1) &&
		     is_in_head(layout, METHOD_FLAGS, 2);

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		known &= layout_has(layout, needed[i]);
	if (!known)
		return error_set(
			err, -ENOTSUP,
			"the structures of this version of .NET are not known well enough to follow methods: run again for what was compiled meanwhile");
	shared->layout = (struct follow_layout){
		.method_token = (uint32_t)at[METHOD_TOKEN],
		.method_chunk_index = (uint32_t)at[METHOD_CHUNK_INDEX],
		.method_flags = (uint32_t)at[METHOD_FLAGS],
		.chunk_method_table = (uint32_t)at[CHUNK_METHOD_TABLE],
		.chunk_token_range = (uint32_t)at[CHUNK_TOKEN_RANGE],
		.chunk_bytes = (uint32_t)at[CHUNK_SIZE],
		.token_bits = layout->token_bits,
		.table_module = (uint32_t)at[TABLE_MODULE_FIELD],
		.table_flags2 = (uint32_t)at[TABLE_FLAGS2],
		.table_virtuals = (uint32_t)at[TABLE_VIRTUALS],
		.table_class = (uint32_t)at[TABLE_CLASS],
		.is_8 = layout_has(layout, TABLE_TOKEN16),
		.module_pe_assembly = (uint32_t)at[MODULE_PE_ASSEMBLY],
		.module_loader_allocator = (uint32_t)at[MODULE_LOADER_ALLOCATOR],
		.pe_assembly_image = (uint32_t)at[PE_ASSEMBLY_IMAGE],
		.pe_image_layout = (uint32_t)at[PE_IMAGE_LAYOUT],
		.pe_layout_base = (uint32_t)at[PE_LAYOUT_BASE],
		.pe_layout_size = (uint32_t)at[PE_LAYOUT_SIZE],
		.pe_layout_flags = (uint32_t)at[PE_LAYOUT_FLAGS],
		.dynamic_name = (uint32_t)at[DYNAMIC_NAME],
		.stored_sig = (uint32_t)at[STORED_SIG],
		.stored_sig_size = (uint32_t)at[STORED_SIG_SIZE],
		.jit_flags = (uint32_t)at[JIT_INFO_FLAGS],
		.jit_code_header = (uint32_t)at[JIT_INFO_CODE],
		.jit_code_written = (uint32_t)at[JIT_INFO_WRITTEN],
		.jit_code_size = (uint32_t)at[JIT_INFO_SIZE],
		.unwind_count = (uint32_t)at[CODE_UNWIND_COUNT],
		.unwinds = (uint32_t)at[CODE_UNWINDS],
	};
	__atomic_store_n(&shared->has_layout, 1, __ATOMIC_SEQ_CST);
	return 0;
}
