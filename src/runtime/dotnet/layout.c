// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the runtime's structures have their members: for all that reads them, and for the programs.
 */
#include "runtime/dotnet/layout.h"

#include <stddef.h>
#include <string.h>

#include "runtime/dotnet/contract.h"
#include "base/error.h"
#include "bpf/follow.h"

enum {
	OLDEST = 8,
	NEWEST = 11, /* that the table knows */
	VERSIONS = NEWEST - OLDEST + 1,
	NONE = LAYOUT_ABSENT,

	TOKEN_BITS = 12,
	LAST_STUB_KIND = 15, /* STUB_CODE_BLOCK_LAST, src/coreclr/vm/codeman.h */
	NIBBLE_MAP_1 = 1,
	NIBBLE_MAP_2 = 2,
	DAC_APP_DOMAIN_8 = 21, /* AppDomain::m_pTheAppDomain, src/coreclr/inc/dacvars.h */
};

/*
 * A field's name in the descriptor, and its offset in .NET 8, 9, 10 and 11 for where there is no
 * descriptor or it leaves the field out. Above them the file that declares it, in dotnet/runtime
 * src/coreclr/vm at v8.0.31, v9.0.20 and v10.0.12. Of what 11.0.0 does not describe EEConfig was
 * measured by what settings change, CEEJitInfo by what the JIT is given; the rest is taken to be as
 * in 10, which the tests of bodies, stacks, tasks and exceptions bear out.
 */
static const struct {
	const char *type;
	const char *field;
	int16_t offset[VERSIONS];
} rows[LAYOUT_FIELDS] = {
	/* codeman.h */
	[RANGE_MAP_TOP] = { "RangeSectionMap", "TopLevelData", { 0, 0, 0, 0 } },
	[FRAGMENT_NEXT] = { "RangeSectionFragment", "Next", { 0, 0, 0, 0 } },
	[FRAGMENT_SECTION] = { "RangeSectionFragment", "RangeSection", { 24, 24, 24, 24 } },
	[SECTION_BEGIN] = { "RangeSection", "RangeBegin", { 0, 0, 0, 0 } },
	[SECTION_END] = { "RangeSection", "RangeEndOpen", { 8, 8, 8, 8 } },
	[SECTION_FLAGS] = { "RangeSection", "Flags", { 16, 16, 16, 16 } },
	[SECTION_JIT_MANAGER] = { "RangeSection", "JitManager", { 24, 24, 24, 24 } },
	[SECTION_R2R_MODULE] = { "RangeSection", "R2RModule", { 32, 32, 32, 32 } },
	[SECTION_HEAP_LIST] = { "RangeSection", "HeapList", { 40, 40, 40, 40 } },
	[HEAP_END] = { "CodeHeapListNode", "EndAddress", { 24, 24, 24, 24 } },
	[HEAP_MAP_BASE] = { "CodeHeapListNode", "MapBase", { 32, 32, 32, 32 } },
	[HEAP_NIBBLE_MAP] = { "CodeHeapListNode", "HeaderMap", { 40, 40, 40, 40 } },
	[HEAP_UNWIND_BASE] = { "CodeHeapListNode", "ModuleBase", { 72, 72, 72, 72 } },
	[CODE_EH_INFO] = { "RealCodeHeader", "EHInfo", { 8, 8, 8, 8 } },
	[CODE_METHOD_DESC] = { "RealCodeHeader", "MethodDesc", { 24, 24, 24, 24 } },
	[CODE_UNWIND_COUNT] = { "RealCodeHeader", "NumUnwindInfos", { 32, 32, 32, 32 } },
	[CODE_UNWINDS] = { "RealCodeHeader", "UnwindInfos", { 36, 36, 36, 36 } },

	/* method.hpp */
	[METHOD_TOKEN] = { "MethodDesc", "Flags3AndTokenRemainder", { 0, 0, 0, 0 } },
	[METHOD_CHUNK_INDEX] = { "MethodDesc", "ChunkIndex", { 2, 2, 2, 2 } },
	[METHOD_FLAGS] = { "MethodDesc", "Flags", { 6, 6, 6, 6 } },
	[METHOD_CODE_DATA] = { "MethodDesc", "CodeData", { NONE, 8, 8, 8 } },
	[CHUNK_METHOD_TABLE] = { "MethodDescChunk", "MethodTable", { 0, 0, 0, 0 } },
	[CHUNK_TOKEN_RANGE] = { "MethodDescChunk", "FlagsAndTokenRange", { 18, 18, 18, 18 } },
	[CHUNK_SIZE] = { "MethodDescChunk", "!", { 24, 24, 24, 24 } },
	[INSTANTIATED_ARGS] = { "InstantiatedMethodDesc", "PerInstInfo", { 16, 24, 24, 24 } },
	[INSTANTIATED_ARG_COUNT] = { "InstantiatedMethodDesc",
				     "NumGenericArgs",
				     { 26, 34, 34, 34 } },
	[STORED_SIG] = { "StoredSigMethodDesc", "Sig", { 8, 16, 16, 16 } },
	[STORED_SIG_SIZE] = { "StoredSigMethodDesc", "cSig", { 16, 24, 24, 24 } },
	[DYNAMIC_NAME] = { "DynamicMethodDesc", "MethodName", { 24, 32, 32, 32 } },

	/* method.hpp, codeversion.h, appdomain.hpp, loaderallocator.hpp, callcounting.h, shash.h */
	[DOMAIN_VERSIONS] = { "AppDomain",
			      "MethodDescVersioningStates",
			      { 2520, NONE, NONE, NONE } },
	[CODE_DATA_VERSIONING] = { "MethodDescCodeData", "VersioningState", { NONE, 0, 0, 0 } },
	[CODE_DATA_TIER] = { "MethodDescCodeData", "OptimizationTier", { NONE, NONE, NONE, 8 } },
	[VERSIONING_METHOD_DESC] = { "MethodDescVersioningState", "MethodDesc", { 0, 0, 0, 0 } },
	[VERSIONING_FLAGS] = { "MethodDescVersioningState", "Flags", { 8, 8, 8, 8 } },
	[VERSIONING_FIRST] = { "MethodDescVersioningState",
			       "NativeCodeVersionNode",
			       { 16, 16, 16, 16 } },
	[VERSION_CODE] = { "NativeCodeVersionNode", "NativeCode", { 0, 0, 0, 0 } },
	[VERSION_METHOD_DESC] = { "NativeCodeVersionNode", "MethodDesc", { 8, 8, 8, 8 } },
	[VERSION_NEXT] = { "NativeCodeVersionNode", "Next", { 24, 24, 24, 24 } },
	[VERSION_IL_VERSION] = { "NativeCodeVersionNode", "ILVersionId", { 16, 16, 16, 16 } },
	[VERSION_ID] = { "NativeCodeVersionNode", "Id", { 32, 32, 32, 32 } },
	[VERSION_TIER] = { "NativeCodeVersionNode", "OptimizationTier", { 36, 36, 36, 36 } },
	[VERSION_FLAGS] = { "NativeCodeVersionNode", "Flags", { 52, 52, 52, 52 } },
	[ALLOCATOR_CALL_COUNTING] = { "LoaderAllocator",
				      "CallCountingManager",
				      { 2344, 2664, 1992, NONE } },
	[CALL_COUNTING_KIND] = { "CallCountingInfo", "StorageKind", { 0, 0, 0, 0 } },
	[CALL_COUNTING_METHOD] = { "CallCountingInfo", "MethodDesc", { 8, 8, 8, 8 } },
	[CALL_COUNTING_STAGE] = { "CallCountingInfo", "Stage", { 26, 26, 26, 26 } },
	[HASH_TABLE] = { "SHash", "Table", { 0, 0, 0, 0 } },
	[HASH_SIZE] = { "SHash", "TableSize", { 8, 8, 8, 8 } },
	/* eeconfig.h */
	[CONFIG_MIN_OPTS] = { "EEConfig", "JitMinOpts", { 10, 10, 10, 10 } },
	[CONFIG_PGO] = { "EEConfig", "TieredPGO", { 156, 120, 120, 128 } },
	[CONFIG_PGO_ONLY_HOT] = { "EEConfig", "InstrumentOnlyHotCode", { 157, 121, 121, 129 } },

	/* jitinterface.h: what the JIT gets as ICorJitInfo; CORJIT_FLAGS */
	[JIT_INFO_FLAGS] = { "CEECodeGenInfo", "JitFlags", { 40, 40, 40, 40 } },
	[JIT_INFO_CODE] = { "CEEJitInfo", "CodeHeader", { 104, 104, 88, 88 } },
	[JIT_INFO_WRITTEN] = { "CEEJitInfo", "CodeHeaderRW", { 112, 112, 96, 96 } },
	[JIT_INFO_SIZE] = { "CEEJitInfo", "codeWriteBufferSize", { 120, 120, 104, 104 } },

	/* methodtable.h, class.h, typedesc.h */
	[TABLE_FLAGS] = { "MethodTable", "MTFlags", { 0, 0, 0, 0 } },
	[TABLE_FLAGS2] = { "MethodTable", "MTFlags2", { 8, 8, 8, 8 } },
	[TABLE_BASE_SIZE] = { "MethodTable", "BaseSize", { 4, 4, 4, 4 } },
	[TABLE_TOKEN16] = { "MethodTable", "Token", { 10, NONE, NONE, NONE } },
	[TABLE_VIRTUALS] = { "MethodTable", "NumVirtuals", { 12, 12, 12, 12 } },
	[TABLE_MODULE_FIELD] = { "MethodTable", "Module", { 24, 24, 24, 24 } },
	[TABLE_CLASS] = { "MethodTable", "EEClassOrCanonMT", { 40, 40, 40, 40 } },
	[TABLE_PER_INST] = { "MethodTable", "PerInstInfo", { 48, 48, 48, 48 } },
	[TABLE_PARENT] = { "MethodTable", "ParentMethodTable", { 16, 16, 16, 16 } },
	[CLASS_FIELDS] = { "EEClass", "FieldDescList", { 24, 24, 24, 24 } },
	/* .NET 8 has them packed at the end: see clr_fields.c. */
	[CLASS_INSTANCE_FIELDS] = { "EEClass", "NumInstanceFields", { NONE, 50, 50, 50 } },
	[CLASS_PADDING] = { "EEClass", "BaseSizePadding", { 51, 49, 49, 49 } },
	[CLASS_PACKED] = { "EEClass", "FieldsArePacked", { 49, NONE, NONE, NONE } },
	[CLASS_FIXED_BYTES] = { "EEClass", "FixedEEClassFields", { 50, NONE, NONE, NONE } },
	[CLASS_METHOD_TABLE] = { "EEClass", "MethodTable", { 16, 16, 16, 16 } },
	[GENERICS_DICTS] = { "GenericsDictInfo", "NumDicts", { 4, 4, 4, 4 } },
	[GENERICS_ARGS] = { "GenericsDictInfo", "NumTypeArgs", { 6, 6, 6, 6 } },
	[TYPE_DESC_FLAGS] = { "TypeDesc", "TypeAndFlags", { 0, 0, 0, 0 } },
	[PARAM_TYPE_ARG] = { "ParamTypeDesc", "TypeArg", { 8, 16, 16, 16 } },
	[FUNCTION_ARG_COUNT] = { "FnPtrTypeDesc", "NumArgs", { 16, 24, 24, 24 } },
	[FUNCTION_TYPES] = { "FnPtrTypeDesc", "RetAndArgTypes", { 24, 32, 32, 32 } },

	/* ceeload.h, peassembly.h, peimage.h, peimagelayout.h, sbuffer.h */
	[MODULE_FLAGS] = { "Module", "Flags", { 280, 296, 232, 232 } },
	[MODULE_LOADER_ALLOCATOR] = { "Module", "LoaderAllocator", { 248, 248, 176, 176 } },
	[MODULE_PE_ASSEMBLY] = { "Module", "PEAssembly", { 272, 280, 216, 216 } },
	[MODULE_DYNAMIC_METADATA] = { "Module", "DynamicMetadata", { 1688, 1120, 840, 840 } },
	[MODULE_TYPES] = { "Module", "TypeDefToMethodTableMap", { 752, 624, 416, 416 } },
	[MODULE_INSTANTIATIONS] = { "Module", "AvailableTypeParams", { 968, 808, 600, 600 } },
	[LOOKUP_NEXT] = { "ModuleLookupMap", "Next", { 0, 0, 0, 0 } },
	[LOOKUP_ENTRIES] = { "ModuleLookupMap", "TableData", { 8, 8, 8, 8 } },
	[LOOKUP_COUNT] = { "ModuleLookupMap", "Count", { 16, 16, 16, 16 } },
	[LOOKUP_FLAGS] = { "ModuleLookupMap", "SupportedFlagsMask", { 24, 24, 24, 24 } },
	[TYPE_HASH_BUCKETS] = { "EETypeHashTable", "Buckets", { 16, 16, 16, 16 } },
	[PE_ASSEMBLY_IMAGE] = { "PEAssembly", "PEImage", { 8, 8, 8, 8 } },
	[PE_IMAGE_LAYOUT] = { "PEImage", "LoadedImageLayout", { 120, 120, 128, 128 } },
	[PE_LAYOUT_BASE] = { "PEImageLayout", "Base", { 8, 8, 8, 16 } },
	[PE_LAYOUT_SIZE] = { "PEImageLayout", "Size", { 16, 16, 16, 24 } },
	[PE_LAYOUT_FLAGS] = { "PEImageLayout", "Flags", { 20, 20, 20, 28 } },
	[BUFFER_SIZE] = { "DynamicMetadata", "Size", { 0, 0, 0, 0 } },
	[BUFFER_BYTES] = { "DynamicMetadata", "Data", { 16, 4, 4, 4 } },

	/* object.h, exinfo.h; .NET 8 has no ExInfo on the stack that others are told of */
	[EXCEPTION_MESSAGE] = { "Exception", "_message", { 16, 16, 16, 16 } },
	[THROWN_PREVIOUS] = { "ExceptionInfo", "PreviousNestedInfo", { NONE, 0, 0, 0 } },

	/*
	 * Of the framework, in src/libraries/System.Private.CoreLib/src/System: as the type loader
	 * lays them out, in the order of their declarations, references first.
	 */
	[TASK_PROPERTIES] = { "Task", "m_contingentProperties", { 40, 40, 40, 40 } },
	[PROPERTIES_HOLDER] = { "ContingentProperties", "m_exceptionsHolder", { 24, 24, 24, 24 } },
	[HOLDER_FAULTS] = { "TaskExceptionHolder", "m_faultExceptions", { 16, 16, 16, 16 } },
	[LIST_ITEMS] = { "List", "_items", { 8, 8, 8, 8 } },
	[DISPATCH_EXCEPTION] = { "ExceptionDispatchInfo", "_exception", { 8, 8, 8, 8 } },

	/* codeman.h */
	[SECTION_RANGE_LIST] = { "RangeSection", "RangeList", { 48, 48, 48, 48 } },
	[RANGE_LIST_KIND] = { "CodeRangeMapRangeList", "RangeListType", { 288, 288, 288, 288 } },
	[HEAP_NEXT] = { "CodeHeapListNode", "Next", { 0, 0, 0, 0 } },
	[HEAP_OBJECT] = { "CodeHeapListNode", "Heap", { 8, 8, 8, 8 } },
	[HEAP_START] = { "CodeHeapListNode", "StartAddress", { 16, 16, 16, 16 } },
	[CODE_DEBUG_INFO] = { "RealCodeHeader", "DebugInfo", { 0, 0, 0, 0 } },
	/* ../inc/patchpointinfo.h */
	[PATCHPOINT_LOCALS] = { "PatchpointInfo", "LocalCount", { 8, 8, 16, 16 } },
	[PATCHPOINT_SIZE] = { "PatchpointInfo", "!", { 32, 32, 40, 56 } },
};

/* Where g_pConfig is in the table for debuggers: src/coreclr/inc/dacvars.h. */
static const unsigned int dac_config[VERSIONS] = { 30, 34, 33, 34 };
enum { HEAP_AFTER_CONFIG = 7 }; /* g_pGCHeap */

/* Without these there is no walk at all. */
static bool is_needed(enum layout_field field)
{
	return field <= METHOD_FLAGS && field != HEAP_UNWIND_BASE && field != SECTION_JIT_MANAGER &&
	       field != CODE_EH_INFO;
}

/* By .NET 11 all contracts began anew, with what they had come to be. */
static bool is_known(unsigned int version)
{
	return version <= 1 || version == (CONTRACT_ANEW | 1);
}

/* Which algorithms the descriptor's versions stand for; those of another version are not known. */
static int use_contract(struct layout *layout, const struct contract *contract, struct error *err)
{
	unsigned int execution = contract_version(contract, "ExecutionManager");
	unsigned int types = contract_version(contract, "RuntimeTypeSystem");
	uint64_t value;

	if (!is_known(types) || (!is_known(execution) && execution != NIBBLE_MAP_2))
		return error_set(
			err, -ENOTSUP,
			"this runtime describes its structures by newer contracts than are known here (ExecutionManager %s%u, RuntimeTypeSystem %s%u): run a later place-probe, or ask for precompiled methods",
			execution & CONTRACT_ANEW ? "c" : "", execution & CONTRACT_NUMBER,
			types & CONTRACT_ANEW ? "c" : "", types & CONTRACT_NUMBER);
	/* .NET 9 describes no ExecutionManager; it is as version 1. */
	if (execution)
		layout->nibble_map = execution == 1 ? NIBBLE_MAP_1 : NIBBLE_MAP_2;
	if (contract_global(contract, "MethodDescTokenRemainderBitCount", &value) && value <= 16)
		layout->token_bits = (unsigned int)value;
	if (contract_global(contract, "StubCodeBlockLast", &value) && value <= UINT8_MAX)
		layout->last_stub_kind = value;
	return 0;
}

int layout_init(struct layout *layout, unsigned int major, const struct contract *contract,
		struct error *err)
{
	bool in_table = major >= OLDEST && major <= NEWEST;

	*layout = (struct layout){
		.nibble_map = major >= 10 ? NIBBLE_MAP_2 : NIBBLE_MAP_1,
		.token_bits = TOKEN_BITS,
		.last_stub_kind = LAST_STUB_KIND,
		.method_bytes = major >= 9 ? 16 : 8,
		.instantiated_bytes = major >= 9 ? 40 : 32,
		.dac_app_domain = major == 8 ? DAC_APP_DOMAIN_8 : 0,
		.dac_config = in_table ? dac_config[major - OLDEST] : 0,
		.dac_heap = in_table ? dac_config[major - OLDEST] + HEAP_AFTER_CONFIG : 0,
		/* debuginfostore.cpp */
		.debug_info = major >= 11 ? DEBUG_INFO_SIZED :
			      major >= 10 ? DEBUG_INFO_PACKED :
					    DEBUG_INFO_NIBBLES,
		.buffer_points = major == 8,
		.aggressive_is_tiered = major == 8,
		.class_init_is_minopt = major == 8,
		.no_precode_kind = major >= 11,
	};
	if (contract) {
		int result = use_contract(layout, contract, err);

		if (result)
			return result;
	}
	for (enum layout_field field = 0; field < LAYOUT_FIELDS; field++) {
		int32_t offset = LAYOUT_ABSENT;

		if (contract)
			offset = contract_field(contract, rows[field].type, rows[field].field);
		if (offset == LAYOUT_ABSENT && in_table)
			offset = rows[field].offset[major - OLDEST];
		layout->at[field] = offset;
		if (offset == LAYOUT_ABSENT && is_needed(field) &&
		    !(in_table && rows[field].offset[major - OLDEST] == NONE))
			return error_set(
				err, -ENOTSUP,
				".NET %u is not known here, and does not say where %s.%s lies: its run-time compiled code cannot be found, and precompiled code is probed all the same (--list shows it)",
				major, rows[field].type, rows[field].field);
	}
	return 0;
}

/* What the BPF programs that follow methods read by, and where they are told of it. */
static const struct {
	enum layout_field field;
	size_t member;
} followed[] = {
	{ METHOD_TOKEN, offsetof(struct follow_layout, method_token) },
	{ METHOD_CHUNK_INDEX, offsetof(struct follow_layout, method_chunk_index) },
	{ METHOD_FLAGS, offsetof(struct follow_layout, method_flags) },
	{ CHUNK_METHOD_TABLE, offsetof(struct follow_layout, chunk_method_table) },
	{ CHUNK_TOKEN_RANGE, offsetof(struct follow_layout, chunk_token_range) },
	{ CHUNK_SIZE, offsetof(struct follow_layout, chunk_bytes) },
	{ TABLE_MODULE_FIELD, offsetof(struct follow_layout, table_module) },
	{ TABLE_FLAGS2, offsetof(struct follow_layout, table_flags2) },
	{ TABLE_VIRTUALS, offsetof(struct follow_layout, table_virtuals) },
	{ TABLE_CLASS, offsetof(struct follow_layout, table_class) },
	{ MODULE_PE_ASSEMBLY, offsetof(struct follow_layout, module_pe_assembly) },
	{ MODULE_LOADER_ALLOCATOR, offsetof(struct follow_layout, module_loader_allocator) },
	{ PE_ASSEMBLY_IMAGE, offsetof(struct follow_layout, pe_assembly_image) },
	{ PE_IMAGE_LAYOUT, offsetof(struct follow_layout, pe_image_layout) },
	{ PE_LAYOUT_BASE, offsetof(struct follow_layout, pe_layout_base) },
	{ PE_LAYOUT_SIZE, offsetof(struct follow_layout, pe_layout_size) },
	{ PE_LAYOUT_FLAGS, offsetof(struct follow_layout, pe_layout_flags) },
	{ DYNAMIC_NAME, offsetof(struct follow_layout, dynamic_name) },
	{ STORED_SIG, offsetof(struct follow_layout, stored_sig) },
	{ STORED_SIG_SIZE, offsetof(struct follow_layout, stored_sig_size) },
	{ JIT_INFO_FLAGS, offsetof(struct follow_layout, jit_flags) },
	{ JIT_INFO_CODE, offsetof(struct follow_layout, jit_code_header) },
	{ JIT_INFO_WRITTEN, offsetof(struct follow_layout, jit_code_written) },
	{ JIT_INFO_SIZE, offsetof(struct follow_layout, jit_code_size) },
	{ CODE_UNWIND_COUNT, offsetof(struct follow_layout, unwind_count) },
	{ CODE_UNWINDS, offsetof(struct follow_layout, unwinds) },
};

/* The programs read the first bytes of a MethodDesc at once. */
static bool is_in_head(const struct layout *layout, enum layout_field field, int size)
{
	return layout_has(layout, field) && layout->at[field] + size <= 8;
}

int layout_for_programs(const struct layout *layout, struct follow_shared *shared,
			struct error *err)
{
	bool known = is_in_head(layout, METHOD_TOKEN, 2) &&
		     is_in_head(layout, METHOD_CHUNK_INDEX, 1) &&
		     is_in_head(layout, METHOD_FLAGS, 2);
	struct follow_layout told = {
		.token_bits = layout->token_bits,
		.is_8 = layout_has(layout, TABLE_TOKEN16),
	};

	for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]); i++) {
		uint32_t offset = (uint32_t)layout->at[followed[i].field];

		known &= layout_has(layout, followed[i].field);
		memcpy((char *)&told + followed[i].member, &offset, sizeof(offset));
	}
	if (!known)
		return error_set(
			err, -ENOTSUP,
			"the structures of this version of .NET are not known well enough to follow methods: run again for what was compiled meanwhile");
	shared->layout = told;
	__atomic_store_n(&shared->has_layout, 1, __ATOMIC_SEQ_CST);
	return 0;
}
