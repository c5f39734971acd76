/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where fields lie in the runtime's own structures: the one table of what differs between
 * versions of .NET. Where the runtime describes itself (its contract descriptor, from .NET 9 on),
 * the description is used, and the table only for what it leaves out.
 *
 * Sources: dotnet/runtime src/coreclr/vm at the tags of each version, named in layout.c row by row;
 * each offset was compared with running processes of 8.0.0, 8.0.31, 9.0.20, 10.0.12 and 11.0.0.
 */
#ifndef RUNTIME_DOTNET_LAYOUT_H
#define RUNTIME_DOTNET_LAYOUT_H

#include "runtime/dotnet/debug_info.h"

struct contract;
struct error;
struct follow_shared;

enum layout_field {
	/* Which code is where. */
	RANGE_MAP_TOP,
	FRAGMENT_NEXT,
	FRAGMENT_SECTION,
	SECTION_BEGIN,
	SECTION_END,
	SECTION_FLAGS,
	SECTION_JIT_MANAGER,
	SECTION_R2R_MODULE,
	SECTION_HEAP_LIST,
	HEAP_END,
	HEAP_MAP_BASE,
	HEAP_NIBBLE_MAP,
	HEAP_UNWIND_BASE,
	CODE_EH_INFO,
	CODE_METHOD_DESC,
	CODE_UNWIND_COUNT,
	CODE_UNWINDS,

	/* Which method it is. */
	METHOD_TOKEN,
	METHOD_CHUNK_INDEX,
	METHOD_FLAGS,
	METHOD_CODE_DATA,
	CHUNK_METHOD_TABLE,
	CHUNK_TOKEN_RANGE,
	CHUNK_SIZE,
	INSTANTIATED_ARGS,
	INSTANTIATED_ARG_COUNT,
	STORED_SIG,
	STORED_SIG_SIZE,
	DYNAMIC_NAME,

	/* Its versions. */
	DOMAIN_VERSIONS,
	CODE_DATA_VERSIONING,
	CODE_DATA_TIER,
	VERSIONING_METHOD_DESC,
	VERSIONING_FLAGS,
	VERSIONING_FIRST,
	VERSION_CODE,
	VERSION_METHOD_DESC,
	VERSION_NEXT,
	VERSION_IL_VERSION,
	VERSION_ID,
	VERSION_TIER,
	VERSION_FLAGS,
	ALLOCATOR_CALL_COUNTING,
	CALL_COUNTING_KIND,
	CALL_COUNTING_METHOD,
	CALL_COUNTING_STAGE,
	HASH_TABLE,
	HASH_SIZE,
	CONFIG_MIN_OPTS,
	CONFIG_PGO,
	CONFIG_PGO_ONLY_HOT,

	/* How the JIT is asked to compile it. */
	JIT_INFO_FLAGS,
	/* The header of its code, where that is made, and how large it is with its data. */
	JIT_INFO_CODE,
	JIT_INFO_WRITTEN,
	JIT_INFO_SIZE,

	/* Its type. */
	TABLE_FLAGS,
	TABLE_FLAGS2,
	TABLE_BASE_SIZE,
	TABLE_TOKEN16,
	TABLE_VIRTUALS,
	TABLE_MODULE_FIELD,
	TABLE_CLASS,
	TABLE_PER_INST,
	TABLE_PARENT,
	CLASS_METHOD_TABLE,
	CLASS_FIELDS,
	CLASS_INSTANCE_FIELDS,
	CLASS_PADDING,
	CLASS_PACKED,
	CLASS_FIXED_BYTES,
	GENERICS_DICTS,
	GENERICS_ARGS,
	TYPE_DESC_FLAGS,
	PARAM_TYPE_ARG,
	FUNCTION_ARG_COUNT,
	FUNCTION_TYPES,

	/* Its module. */
	MODULE_FLAGS,
	MODULE_LOADER_ALLOCATOR,
	MODULE_PE_ASSEMBLY,
	MODULE_DYNAMIC_METADATA,
	MODULE_TYPES,
	MODULE_INSTANTIATIONS,
	LOOKUP_NEXT,
	LOOKUP_ENTRIES,
	LOOKUP_COUNT,
	LOOKUP_FLAGS,
	TYPE_HASH_BUCKETS,
	PE_ASSEMBLY_IMAGE,
	PE_IMAGE_LAYOUT,
	PE_LAYOUT_BASE,
	PE_LAYOUT_SIZE,
	PE_LAYOUT_FLAGS,
	BUFFER_SIZE,
	BUFFER_BYTES,

	/* What is thrown, and within what: see bpf/thrown.h. */
	EXCEPTION_MESSAGE,
	THROWN_PREVIOUS,

	/* From a Task that has faulted to its exception: see bpf/async.h. */
	TASK_PROPERTIES,
	PROPERTIES_HOLDER,
	HOLDER_FAULTS,
	LIST_ITEMS,
	DISPATCH_EXCEPTION,

	/* What stubs are. */
	SECTION_RANGE_LIST,
	RANGE_LIST_KIND,

	/* Which code is never written again. */
	HEAP_NEXT,
	HEAP_OBJECT,
	HEAP_START,

	/* Which IL it was made of. */
	CODE_DEBUG_INFO,
	PATCHPOINT_LOCALS,
	PATCHPOINT_SIZE,

	LAYOUT_FIELDS
};

enum { LAYOUT_ABSENT = -1 };

struct layout {
	int32_t at[LAYOUT_FIELDS]; /* LAYOUT_ABSENT: this version has no such field */
	unsigned int nibble_map;   /* 1: search backwards; 2: units may point back (.NET 10) */
	unsigned int token_bits;   /* of a MethodDef row number that are in the MethodDesc itself */
	uint64_t last_stub_kind;   /* code headers up to this value are kinds of stubs */

	/* Sizes of a MethodDesc by its class, before what is optional in it. */
	unsigned int method_bytes;
	unsigned int instantiated_bytes;
	unsigned int dac_app_domain; /* index in the table for debuggers; 0: not needed */
	unsigned int dac_config;     /* likewise; 0: not known */
	unsigned int dac_heap;	     /* likewise */
	enum debug_info_format debug_info;
	bool buffer_points;	   /* of dynamic metadata: its bytes lie elsewhere */
	bool aggressive_is_tiered; /* AggressiveOptimization makes tier-1, not optimised, code */
	bool class_init_is_minopt; /* the JIT does not optimise .cctor */
	bool no_precode_kind;	   /* of blocks of stubs: see stub_code.c */
};

static inline bool layout_has(const struct layout *layout, enum layout_field field)
{
	return layout->at[field] != LAYOUT_ABSENT;
}

/*
 * The layout of runtime @major, by @contract (NULL if it has none). -ENOTSUP with @err set if
 * neither the table nor the contract says enough.
 */
int layout_init(struct layout *layout, unsigned int major, const struct contract *contract,
		struct error *err);

/*
 * Tell the BPF programs that follow methods where fields lie, before compileMethod is probed.
 * -ENOTSUP with @err set where they cannot deal with it.
 */
int layout_for_programs(const struct layout *layout, struct follow_shared *shared,
			struct error *err);

#endif
