/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where fields lie in the runtime's own structures: the one table of what differs between
 * versions of .NET. Where the runtime describes itself (its contract descriptor, from .NET 9 on),
 * the description is used, and the table only for what it leaves out.
 *
 * Sources: dotnet/runtime src/coreclr/vm at the tags of each version, named below row by row;
 * each offset was compared with running processes of 8.0.0, 8.0.31, 9.0.20, 10.0.12 and 11.0.0.
 */
#ifndef RUNTIME_DOTNET_LAYOUT_H
#define RUNTIME_DOTNET_LAYOUT_H

#include "runtime/dotnet/debug_info.h"

struct contract;
struct error;
struct follow_shared;

/*
 * A field, its name in the descriptor, and its offset in .NET 8, 9, 10 and 11 for where there is no
 * descriptor or it leaves the field out. Above them the file that declares it, in dotnet/runtime
 * src/coreclr/vm at v8.0.31, v9.0.20 and v10.0.12. Of what 11.0.0 does not describe EEConfig was
 * measured by what settings change, CEEJitInfo by what the JIT is given; the rest is taken to be as
 * in 10, which the tests of bodies, stacks, tasks and exceptions bear out.
 *
 * NONE: it has no such field. What a Task leads to is of the framework, in
 * src/libraries/System.Private.CoreLib/src/System: as the type loader lays it out, in the order of
 * declarations, references first.
 */
#define LAYOUT_ROWS(ROW)                                                                          \
	/* Which code is where: codeman.h. */                                                     \
	ROW(RANGE_MAP_TOP, "RangeSectionMap", "TopLevelData", 0, 0, 0, 0)                         \
	ROW(FRAGMENT_NEXT, "RangeSectionFragment", "Next", 0, 0, 0, 0)                            \
	ROW(FRAGMENT_SECTION, "RangeSectionFragment", "RangeSection", 24, 24, 24, 24)             \
	ROW(SECTION_BEGIN, "RangeSection", "RangeBegin", 0, 0, 0, 0)                              \
	ROW(SECTION_END, "RangeSection", "RangeEndOpen", 8, 8, 8, 8)                              \
	ROW(SECTION_FLAGS, "RangeSection", "Flags", 16, 16, 16, 16)                               \
	ROW(SECTION_JIT_MANAGER, "RangeSection", "JitManager", 24, 24, 24, 24)                    \
	ROW(SECTION_R2R_MODULE, "RangeSection", "R2RModule", 32, 32, 32, 32)                      \
	ROW(SECTION_HEAP_LIST, "RangeSection", "HeapList", 40, 40, 40, 40)                        \
	ROW(HEAP_END, "CodeHeapListNode", "EndAddress", 24, 24, 24, 24)                           \
	ROW(HEAP_MAP_BASE, "CodeHeapListNode", "MapBase", 32, 32, 32, 32)                         \
	ROW(HEAP_NIBBLE_MAP, "CodeHeapListNode", "HeaderMap", 40, 40, 40, 40)                     \
	ROW(HEAP_UNWIND_BASE, "CodeHeapListNode", "ModuleBase", 72, 72, 72, 72)                   \
	ROW(CODE_EH_INFO, "RealCodeHeader", "EHInfo", 8, 8, 8, 8)                                 \
	ROW(CODE_METHOD_DESC, "RealCodeHeader", "MethodDesc", 24, 24, 24, 24)                     \
	ROW(CODE_UNWIND_COUNT, "RealCodeHeader", "NumUnwindInfos", 32, 32, 32, 32)                \
	ROW(CODE_UNWINDS, "RealCodeHeader", "UnwindInfos", 36, 36, 36, 36)                        \
	/* Which method it is: method.hpp. */                                                     \
	ROW(METHOD_TOKEN, "MethodDesc", "Flags3AndTokenRemainder", 0, 0, 0, 0)                    \
	ROW(METHOD_CHUNK_INDEX, "MethodDesc", "ChunkIndex", 2, 2, 2, 2)                           \
	ROW(METHOD_FLAGS, "MethodDesc", "Flags", 6, 6, 6, 6)                                      \
	ROW(METHOD_CODE_DATA, "MethodDesc", "CodeData", NONE, 8, 8, 8)                            \
	ROW(CHUNK_METHOD_TABLE, "MethodDescChunk", "MethodTable", 0, 0, 0, 0)                     \
	ROW(CHUNK_TOKEN_RANGE, "MethodDescChunk", "FlagsAndTokenRange", 18, 18, 18, 18)           \
	ROW(CHUNK_SIZE, "MethodDescChunk", "!", 24, 24, 24, 24)                                   \
	ROW(INSTANTIATED_ARGS, "InstantiatedMethodDesc", "PerInstInfo", 16, 24, 24, 24)           \
	ROW(INSTANTIATED_ARG_COUNT, "InstantiatedMethodDesc", "NumGenericArgs", 26, 34, 34, 34)   \
	ROW(STORED_SIG, "StoredSigMethodDesc", "Sig", 8, 16, 16, 16)                              \
	ROW(STORED_SIG_SIZE, "StoredSigMethodDesc", "cSig", 16, 24, 24, 24)                       \
	ROW(DYNAMIC_NAME, "DynamicMethodDesc", "MethodName", 24, 32, 32, 32)                      \
	/* Its versions: method.hpp, codeversion.h, appdomain.hpp. */                             \
	ROW(DOMAIN_VERSIONS, "AppDomain", "MethodDescVersioningStates", 2520, NONE, NONE, NONE)   \
	ROW(CODE_DATA_VERSIONING, "MethodDescCodeData", "VersioningState", NONE, 0, 0, 0)         \
	ROW(CODE_DATA_TIER, "MethodDescCodeData", "OptimizationTier", NONE, NONE, NONE, 8)        \
	ROW(VERSIONING_METHOD_DESC, "MethodDescVersioningState", "MethodDesc", 0, 0, 0, 0)        \
	ROW(VERSIONING_FLAGS, "MethodDescVersioningState", "Flags", 8, 8, 8, 8)                   \
	ROW(VERSIONING_FIRST, "MethodDescVersioningState", "NativeCodeVersionNode", 16, 16, 16,   \
	    16)                                                                                   \
	ROW(VERSION_CODE, "NativeCodeVersionNode", "NativeCode", 0, 0, 0, 0)                      \
	ROW(VERSION_METHOD_DESC, "NativeCodeVersionNode", "MethodDesc", 8, 8, 8, 8)               \
	ROW(VERSION_NEXT, "NativeCodeVersionNode", "Next", 24, 24, 24, 24)                        \
	ROW(VERSION_IL_VERSION, "NativeCodeVersionNode", "ILVersionId", 16, 16, 16, 16)           \
	ROW(VERSION_ID, "NativeCodeVersionNode", "Id", 32, 32, 32, 32)                            \
	ROW(VERSION_TIER, "NativeCodeVersionNode", "OptimizationTier", 36, 36, 36, 36)            \
	ROW(VERSION_FLAGS, "NativeCodeVersionNode", "Flags", 52, 52, 52, 52)                      \
	/* loaderallocator.hpp, callcounting.h, shash.h */                                        \
	ROW(ALLOCATOR_CALL_COUNTING, "LoaderAllocator", "CallCountingManager", 2344, 2664, 1992,  \
	    NONE)                                                                                 \
	ROW(CALL_COUNTING_KIND, "CallCountingInfo", "StorageKind", 0, 0, 0, 0)                    \
	ROW(CALL_COUNTING_METHOD, "CallCountingInfo", "MethodDesc", 8, 8, 8, 8)                   \
	ROW(CALL_COUNTING_STAGE, "CallCountingInfo", "Stage", 26, 26, 26, 26)                     \
	ROW(HASH_TABLE, "SHash", "Table", 0, 0, 0, 0)                                             \
	ROW(HASH_SIZE, "SHash", "TableSize", 8, 8, 8, 8)                                          \
	/* eeconfig.h */                                                                          \
	ROW(CONFIG_MIN_OPTS, "EEConfig", "JitMinOpts", 10, 10, 10, 10)                            \
	ROW(CONFIG_PGO, "EEConfig", "TieredPGO", 156, 120, 120, 128)                              \
	ROW(CONFIG_PGO_ONLY_HOT, "EEConfig", "InstrumentOnlyHotCode", 157, 121, 121, 129)         \
	/* How the JIT is asked to compile it, by what it gets as ICorJitInfo: jitinterface.h. */ \
	ROW(JIT_INFO_FLAGS, "CEECodeGenInfo", "JitFlags", 40, 40, 40, 40)                         \
	/* The header of its code, where that is made, and how large it is with its data. */      \
	ROW(JIT_INFO_CODE, "CEEJitInfo", "CodeHeader", 104, 104, 88, 88)                          \
	ROW(JIT_INFO_WRITTEN, "CEEJitInfo", "CodeHeaderRW", 112, 112, 96, 96)                     \
	ROW(JIT_INFO_SIZE, "CEEJitInfo", "codeWriteBufferSize", 120, 120, 104, 104)               \
	/* Its type: methodtable.h, class.h, typedesc.h. */                                       \
	ROW(TABLE_FLAGS, "MethodTable", "MTFlags", 0, 0, 0, 0)                                    \
	ROW(TABLE_FLAGS2, "MethodTable", "MTFlags2", 8, 8, 8, 8)                                  \
	ROW(TABLE_BASE_SIZE, "MethodTable", "BaseSize", 4, 4, 4, 4)                               \
	ROW(TABLE_TOKEN16, "MethodTable", "Token", 10, NONE, NONE, NONE)                          \
	ROW(TABLE_VIRTUALS, "MethodTable", "NumVirtuals", 12, 12, 12, 12)                         \
	ROW(TABLE_MODULE_FIELD, "MethodTable", "Module", 24, 24, 24, 24)                          \
	ROW(TABLE_CLASS, "MethodTable", "EEClassOrCanonMT", 40, 40, 40, 40)                       \
	ROW(TABLE_PER_INST, "MethodTable", "PerInstInfo", 48, 48, 48, 48)                         \
	ROW(TABLE_PARENT, "MethodTable", "ParentMethodTable", 16, 16, 16, 16)                     \
	ROW(CLASS_METHOD_TABLE, "EEClass", "MethodTable", 16, 16, 16, 16)                         \
	ROW(CLASS_FIELDS, "EEClass", "FieldDescList", 24, 24, 24, 24)                             \
	/* .NET 8 has them packed at the end: see clr_fields.c. */                                \
	ROW(CLASS_INSTANCE_FIELDS, "EEClass", "NumInstanceFields", NONE, 50, 50, 50)              \
	ROW(CLASS_PADDING, "EEClass", "BaseSizePadding", 51, 49, 49, 49)                          \
	ROW(CLASS_PACKED, "EEClass", "FieldsArePacked", 49, NONE, NONE, NONE)                     \
	ROW(CLASS_FIXED_BYTES, "EEClass", "FixedEEClassFields", 50, NONE, NONE, NONE)             \
	ROW(GENERICS_DICTS, "GenericsDictInfo", "NumDicts", 4, 4, 4, 4)                           \
	ROW(GENERICS_ARGS, "GenericsDictInfo", "NumTypeArgs", 6, 6, 6, 6)                         \
	ROW(TYPE_DESC_FLAGS, "TypeDesc", "TypeAndFlags", 0, 0, 0, 0)                              \
	ROW(PARAM_TYPE_ARG, "ParamTypeDesc", "TypeArg", 8, 16, 16, 16)                            \
	ROW(FUNCTION_ARG_COUNT, "FnPtrTypeDesc", "NumArgs", 16, 24, 24, 24)                       \
	ROW(FUNCTION_TYPES, "FnPtrTypeDesc", "RetAndArgTypes", 24, 32, 32, 32)                    \
	/* Its module: ceeload.h, peassembly.h, peimage.h, peimagelayout.h, sbuffer.h. */         \
	ROW(MODULE_FLAGS, "Module", "Flags", 280, 296, 232, 232)                                  \
	ROW(MODULE_LOADER_ALLOCATOR, "Module", "LoaderAllocator", 248, 248, 176, 176)             \
	ROW(MODULE_PE_ASSEMBLY, "Module", "PEAssembly", 272, 280, 216, 216)                       \
	ROW(MODULE_DYNAMIC_METADATA, "Module", "DynamicMetadata", 1688, 1120, 840, 840)           \
	ROW(MODULE_TYPES, "Module", "TypeDefToMethodTableMap", 752, 624, 416, 416)                \
	ROW(MODULE_INSTANTIATIONS, "Module", "AvailableTypeParams", 968, 808, 600, 600)           \
	ROW(LOOKUP_NEXT, "ModuleLookupMap", "Next", 0, 0, 0, 0)                                   \
	ROW(LOOKUP_ENTRIES, "ModuleLookupMap", "TableData", 8, 8, 8, 8)                           \
	ROW(LOOKUP_COUNT, "ModuleLookupMap", "Count", 16, 16, 16, 16)                             \
	ROW(LOOKUP_FLAGS, "ModuleLookupMap", "SupportedFlagsMask", 24, 24, 24, 24)                \
	ROW(TYPE_HASH_BUCKETS, "EETypeHashTable", "Buckets", 16, 16, 16, 16)                      \
	ROW(PE_ASSEMBLY_IMAGE, "PEAssembly", "PEImage", 8, 8, 8, 8)                               \
	ROW(PE_IMAGE_LAYOUT, "PEImage", "LoadedImageLayout", 120, 120, 128, 128)                  \
	ROW(PE_LAYOUT_BASE, "PEImageLayout", "Base", 8, 8, 8, 16)                                 \
	ROW(PE_LAYOUT_SIZE, "PEImageLayout", "Size", 16, 16, 16, 24)                              \
	ROW(PE_LAYOUT_FLAGS, "PEImageLayout", "Flags", 20, 20, 20, 28)                            \
	ROW(BUFFER_SIZE, "DynamicMetadata", "Size", 0, 0, 0, 0)                                   \
	ROW(BUFFER_BYTES, "DynamicMetadata", "Data", 16, 4, 4, 4)                                 \
	/* What is thrown, and within what, see bpf/thrown.h: object.h, exinfo.h. */              \
	ROW(EXCEPTION_MESSAGE, "Exception", "_message", 16, 16, 16, 16)                           \
	/* .NET 8 has no ExInfo on the stack that others are told of. */                          \
	ROW(THROWN_PREVIOUS, "ExceptionInfo", "PreviousNestedInfo", NONE, 0, 0, 0)                \
	/* From a Task that has faulted to its exception: see bpf/async.h. */                     \
	ROW(TASK_PROPERTIES, "Task", "m_contingentProperties", 40, 40, 40, 40)                    \
	ROW(PROPERTIES_HOLDER, "ContingentProperties", "m_exceptionsHolder", 24, 24, 24, 24)      \
	ROW(HOLDER_FAULTS, "TaskExceptionHolder", "m_faultExceptions", 16, 16, 16, 16)            \
	ROW(LIST_ITEMS, "List", "_items", 8, 8, 8, 8)                                             \
	ROW(DISPATCH_EXCEPTION, "ExceptionDispatchInfo", "_exception", 8, 8, 8, 8)                \
	/* What stubs are: codeman.h. */                                                          \
	ROW(SECTION_RANGE_LIST, "RangeSection", "RangeList", 48, 48, 48, 48)                      \
	ROW(RANGE_LIST_KIND, "CodeRangeMapRangeList", "RangeListType", 288, 288, 288, 288)        \
	/* Which code is never written again: codeman.h. */                                       \
	ROW(HEAP_NEXT, "CodeHeapListNode", "Next", 0, 0, 0, 0)                                    \
	ROW(HEAP_OBJECT, "CodeHeapListNode", "Heap", 8, 8, 8, 8)                                  \
	ROW(HEAP_START, "CodeHeapListNode", "StartAddress", 16, 16, 16, 16)                       \
	/* Which IL it was made of: codeman.h, ../inc/patchpointinfo.h. */                        \
	ROW(CODE_DEBUG_INFO, "RealCodeHeader", "DebugInfo", 0, 0, 0, 0)                           \
	ROW(PATCHPOINT_LOCALS, "PatchpointInfo", "LocalCount", 8, 8, 16, 16)                      \
	ROW(PATCHPOINT_SIZE, "PatchpointInfo", "!", 32, 32, 40, 56)

#define LAYOUT_FIELD(field, ...) field,
enum layout_field { LAYOUT_ROWS(LAYOUT_FIELD) LAYOUT_FIELDS };

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
