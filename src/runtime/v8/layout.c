// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/layout.h"

#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "runtime/v8/symbols.h"

enum {
	VERSIONS = 7,
	NONE = V8_ABSENT,
	SPELLINGS = 3, /* of one constant, in different versions */
	CONSTANT_MAX = 1 << 16,
};

/* Of Node 16, 18, 20, 22, 24, 25 and 26. */
static const struct {
	uint16_t major, minor;
} versions[VERSIONS] = {
	{ 9, 3 }, { 10, 2 }, { 11, 3 }, { 12, 4 }, { 13, 6 }, { 14, 1 }, { 14, 6 },
};

/*
 * What v8dbg_ calls it, where it says it, and what it is in each of the versions. Behind it the
 * file of V8 that declares it, below src/objects unless said otherwise.
 */
static const struct {
	const char *symbols[SPELLINGS];
	int32_t value[VERSIONS];
} rows[V8_FIELDS] = {
	/* js-function.tq */
	[V8_FUNCTION_SHARED] = { { "class_JSFunction__shared__SharedFunctionInfo" },
				 { 24, 24, 24, 32, 32, 32, 32 } },

	/* shared-function-info.tq */
	[V8_SHARED_DATA] = { { "class_SharedFunctionInfo__function_data__Object" },
			     { 8, 8, 8, 8, 8, 8, 8 } },
	[V8_SHARED_UNTRUSTED_DATA] = { { NULL }, { NONE, NONE, NONE, NONE, 16, 16, 16 } },
	[V8_SHARED_NAME] = { { "class_SharedFunctionInfo__name_or_scope_info__Object",
			       "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
			       "class_SharedFunctionInfo__name_or_scope_info__Tagged_"
			       "NameOrScopeInfoT_" },
			     { 16, 16, 16, 16, 24, 24, 24 } },
	[V8_SHARED_SCRIPT] = { { "class_SharedFunctionInfo__script_or_debug_info__HeapObject",
				 "class_SharedFunctionInfo__raw_script__Tagged_Object_" },
			       { 32, 32, 32, 32, 40, 40, 40 } },
	[V8_SHARED_FLAGS] = { { "class_SharedFunctionInfo__flags__int" },
			      { 48, 48, 48, 48, 56, 56, 56 } },
	[V8_SHARED_LITERAL_ID] = { { NULL }, { 52, 52, 52, 52, 60, 60, 60 } },
	[V8_NATIVE_BIT] = { { NULL }, { 5, 5, 5, 5, 5, 5, 5 } },
	[V8_KIND_MEMBERS] = { { NULL }, { 24, 24, 24, 24, 24, 24, 24 } },
	[V8_KIND_STATICS] = { { NULL }, { 25, 25, 25, 25, 25, 25, 26 } },
	[V8_UNCOMPILED_NAME] = { { "class_UncompiledData__inferred_name__String" },
				 { 8, 8, 8, 8, 8, 8, 8 } },

	/* script.tq */
	[V8_SCRIPT_SOURCE] = { { "class_Script__source__Object" }, { 8, 8, 8, 8, 8, 8, 8 } },
	[V8_SCRIPT_NAME] = { { "class_Script__name__Object" }, { 16, 16, 16, 16, 16, 16, 16 } },
	[V8_SCRIPT_LINE_OFFSET] = { { NULL }, { 24, 24, 24, 24, 24, 24, 24 } },
	[V8_SCRIPT_COLUMN_OFFSET] = { { NULL }, { 32, 32, 32, 32, 32, 32, 32 } },
	[V8_SCRIPT_LINE_ENDS] = { { "class_Script__line_ends__Object" },
				  { 56, 56, 56, 56, 56, 56, 56 } },
	[V8_SCRIPT_ID] = { { NULL }, { 64, 64, 64, 64, 64, 64, 64 } },
	[V8_SCRIPT_FLAGS] = { { NULL }, { 96, 96, 104, 104, 104, 104, 104 } },
	[V8_SCRIPT_SOURCE_URL] = { { NULL }, { 104, 104, 112, 112, 112, 112, 112 } },

	[V8_SCRIPT_FUNCTIONS] = { { NULL }, { 88, 88, 88, 88, 88, 88, 88 } },

	/* bytecode-array.tq; up to 11 code.tq */
	[V8_BYTECODES_SOURCE_POSITIONS] = { { NULL }, { 32, 32, 32, 24, 24, 24, 24 } },
	[V8_BYTECODES_DATA] = { { "class_BytecodeArray__data__uintptr_t" },
				{ 54, 56, 54, 64, 64, 64, 64 } },

	/* code.h, instruction-stream.h */
	[V8_STREAM_CODE] = { { NULL }, { NONE, NONE, 8, 8, 8, 8, 8 } },
	[V8_CODE_DEOPT_DATA] = { { "class_Code__deoptimization_data__FixedArray" },
				 { 16, 16, 16, 8, 8, 8, 8 } },
	[V8_CODE_POSITIONS] = { { "class_Code__source_position_table__ByteArray" },
				{ 24, 24, 24, 16, 16, 16, 16 } },
	[V8_CODE_START_INLINE] = { { "class_Code__instruction_start__uintptr_t" },
				   { 96, 128, NONE, NONE, NONE, NONE, NONE } },
	[V8_CODE_START] = { { "class_Code__instruction_start__Address" },
			    { NONE, NONE, 40, 40, 40, 40, 40 } },
	[V8_CODE_SIZE] = { { "class_Code__instruction_size__int" },
			   { 40, 40, 56, 52, 56, 56, 56 } },
	[V8_CODE_FLAGS] = { { "class_Code__flags__uint32_t" }, { 48, 48, 48, 48, 52, 52, 52 } },
	[V8_KIND_BASELINE] = { { "CodeKindBaseline" }, { 11, 11, 11, 10, 10, 10, 11 } },
	[V8_KIND_MASK] = { { "CodeKindFieldMask" }, { 15, 15, 15, 15, 15, 15, 15 } },

	/* Of a function's data: its own bytecode, or what leads to it. */
	[V8_CODE_BYTECODES] = { { "class_Code__bytecode_or_interpreter_data__HeapObject" },
				{ 16, 16, 16, 8, 8, 8, 8 } },
	[V8_INTERPRETER_BYTECODES] = { { "class_InterpreterData__bytecode_array__BytecodeArray" },
				       { 8, 8, 8, 8, 8, 8, 8 } },
	[V8_TYPE_INTERPRETER] = { { "type_InterpreterData__INTERPRETER_DATA_TYPE" },
				  { 105, 162, 159, 207, 188, 186, 187 } },

	/* descriptor-array.tq, struct.tq, oddball.tq, name.tq, dictionary.h */
	[V8_DESCRIPTORS_HEADER] = { { "class_DescriptorArray__header_size__uintptr_t" },
				    { 24, 24, 24, 24, 24, 32, 32 } },
	[V8_PAIR_GETTER] = { { "class_AccessorPair__getter__Object",
			       "class_AccessorPair__getter__Tagged_Object_" },
			     { 8, 8, 8, 8, 8, 8, 8 } },
	[V8_ODDBALL_KIND] = { { "class_Oddball__kind__int", "class_Oddball__kind_offset__int" },
			      { 40, 40, 40, 40, 40, 40, 40 } },
	[V8_ODDBALL_UNDEFINED] = { { "OddballUndefined" }, { 5, 5, 5, 4, 4, 4, 4 } },
	[V8_ODDBALL_NULL] = { { "OddballNull" }, { 3, 3, 3, 3, 3, 3, 3 } },
	[V8_SYMBOL_NAME] = { { "class_Symbol__name__Object" }, { 16, 16, 16, 16, 16, 16, 16 } },
	[V8_DICTIONARY_PREFIX] = { { "namedictionaryshape_prefix_size" }, { 2, 2, 3, 3, 3, 3, 3 } },

	/* property-details.h */
	[V8_DETAILS_IN_DESCRIPTOR] = { { "prop_location_mask" }, { 2, 32, 32, 32, 32, 32, 32 } },
	[V8_DETAILS_ATTRIBUTES] = { { "prop_attributes_shift" }, { 3, 2, 2, 2, 2, 2, 2 } },

	/* instance-type.h, and what the build makes of the .tq files (instance-types.h) */
	[V8_TYPE_NONSTRING] = { { "FirstNonstringType" }, { 64, 128, 128, 128, 128, 128, 128 } },
	[V8_TYPE_SYMBOL] = { { "type_Symbol__SYMBOL_TYPE" }, { 64, 128, 128, 128, 128, 128, 128 } },
	[V8_TYPE_BIGINT] = { { "type_BigIntBase__BIG_INT_BASE_TYPE" },
			     { 65, 129, 129, 129, 129, 129, 129 } },
	[V8_TYPE_HEAP_NUMBER] = { { "type_HeapNumber__HEAP_NUMBER_TYPE" },
				  { 66, 130, 130, 130, 130, 130, 130 } },
	[V8_TYPE_ODDBALL] = { { "type_Oddball__ODDBALL_TYPE" },
			      { 67, 131, 131, 131, 131, 131, 131 } },
	[V8_TYPE_MAP] = { { "type_Map__MAP_TYPE" }, { 172, 250, 255, 264, 272, 276, 278 } },
	[V8_TYPE_SHARED] = { { "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE" },
			     { 179, 257, 262, 274, 282, 286, 288 } },
	[V8_TYPE_SCRIPT] = { { "type_Script__SCRIPT_TYPE" },
			     { 112, 170, 167, 167, 167, 165, 166 } },
	[V8_TYPE_SCOPE_INFO] = { { "type_ScopeInfo__SCOPE_INFO_TYPE" },
				 { 178, 256, 261, 272, 280, 284, 286 } },
	[V8_TYPE_UNCOMPILED_FIRST] = { { "type_UncompiledDataWithPreparseData__"
					 "UNCOMPILED_DATA_WITH_PREPARSE_DATA_TYPE" },
				       { 157, 217, 220, 200, 175, 173, 174 } },
	[V8_TYPE_UNCOMPILED_LAST] = { { "type_UncompiledDataWithoutPreparseDataWithJob__"
					"UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB_TYPE" },
				      { 158, 220, 223, 203, 178, 176, 177 } },
	[V8_TYPE_BYTECODES] = { { "type_BytecodeArray__BYTECODE_ARRAY_TYPE" },
				{ 133, 195, 191, 205, 186, 184, 185 } },
	[V8_TYPE_CODE] = { { "type_Code__CODE_TYPE" }, { 162, 240, 245, 206, 187, 185, 186 } },
	[V8_TYPE_STREAM] = { { "type_InstructionStream__INSTRUCTION_STREAM_TYPE" },
			     { NONE, NONE, 252, 210, 192, 191, 192 } },
	[V8_TYPE_BYTE_ARRAY] = { { "type_ByteArray__BYTE_ARRAY_TYPE" },
				 { 132, 194, 190, 186, 217, 218, 218 } },
	[V8_TYPE_TRUSTED_BYTE_ARRAY] = { { "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE" },
					 { NONE, NONE, NONE, 212, 196, 195, 196 } },
	[V8_TYPE_ARRAY] = { { "type_FixedArray__FIXED_ARRAY_TYPE" },
			    { 119, 179, 175, 174, 205, 205, 205 } },
	[V8_TYPE_TRUSTED_ARRAY] = { { "type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE" },
				    { NONE, NONE, NONE, 213, 197, 196, 197 } },
	[V8_TYPE_PROTECTED_ARRAY] = { { "type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE" },
				      { NONE, NONE, NONE, 211, 193, 192, 193 } },
	[V8_TYPE_WEAK_ARRAY] = { { "type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE" },
				 { 159, 237, 240, 247, 256, 257, 258 } },
	[V8_TYPE_TRUSTED_WEAK_ARRAY] = { { "type_TrustedWeakFixedArray__"
					   "TRUSTED_WEAK_FIXED_ARRAY_TYPE" },
					 { NONE, NONE, NONE, NONE, 199, 198, 199 } },
	[V8_TYPE_WEAK_LIST] = { { "type_WeakArrayList__WEAK_ARRAY_LIST_TYPE" },
				{ 184, 264, 274, 287, 295, 298, 300 } },
	[V8_TYPE_DESCRIPTORS] = { { "type_DescriptorArray__DESCRIPTOR_ARRAY_TYPE" },
				  { 153, 233, 236, 241, 252, 253, 254 } },
	[V8_TYPE_STRONG_DESCRIPTORS] = { { "type_StrongDescriptorArray__"
					   "STRONG_DESCRIPTOR_ARRAY_TYPE" },
					 { 154, 234, 237, 242, 253, 254, 255 } },
	[V8_TYPE_PROPERTY_ARRAY] = { { "type_PropertyArray__PROPERTY_ARRAY_TYPE" },
				     { 176, 254, 259, 269, 277, 281, 283 } },
	[V8_TYPE_ACCESSOR_PAIR] = { { "type_AccessorPair__ACCESSOR_PAIR_TYPE" },
				    { 87, 143, 142, 140, 140, 140, 140 } },
	[V8_TYPE_TUPLE] = { { "type_Tuple2__TUPLE2_TYPE" }, { 116, 175, 172, 172, 173, 171, 172 } },
	[V8_TYPE_PROXY] = { { "type_JSProxy__JS_PROXY_TYPE" },
			    { 188, 268, 278, 291, 299, 302, 304 } },
	[V8_TYPE_GLOBAL_PROXY] = { { "type_JSGlobalProxy__JS_GLOBAL_PROXY_TYPE" },
				   { 190, 270, 280, 293, 301, 304, 308 } },
	[V8_TYPE_JS_FUNCTION_FIRST] = { { "FirstJSFunctionType",
					  "type_JSFunction__JS_FUNCTION_TYPE" },
					{ 1059, 2065, 2066, 2066, 2065, 2065, 2066 } },
	[V8_TYPE_JS_FUNCTION_LAST] = { { "LastJSFunctionType" },
				       { 1073, 2080, 2081, 2082, 2081, 2081, 2082 } },

	[V8_TYPE_TEMPLATE] = { { "type_FunctionTemplateInfo__FUNCTION_TEMPLATE_INFO_TYPE" },
			       { 83, 139, 139, 245, 247, 248, 251 } },

	/* ../execution/frames.h; of exit frames ../execution/frame-constants.h */
	[V8_FRAME_ENTRY] = { { "frametype_EntryFrame" }, { 1, 1, 1, 1, 1, 1, 1 } },
	[V8_FRAME_CONSTRUCT_ENTRY] = { { "frametype_ConstructEntryFrame" },
				       { 2, 2, 2, 2, 2, 2, 2 } },
	[V8_FRAME_EXIT] = { { "frametype_ExitFrame" }, { 3, 3, 3, 3, 3, 3, 3 } },
	[V8_FRAME_BUILTIN_EXIT] = { { "frametype_BuiltinExitFrame" },
				    { 21, 22, 25, 26, 27, 27, 17 } },
	[V8_FRAME_API_EXIT] = { { "frametype_ApiCallbackExitFrame" },
				{ NONE, NONE, NONE, 27, 28, 28, 18 } },
	[V8_FRAME_CONSTRUCT] = { { "frametype_ConstructFrame" }, { 19, 20, 23, 23, 24, 24, 14 } },
	[V8_FRAME_FAST_CONSTRUCT] = { { "frametype_FastConstructFrame" },
				      { NONE, NONE, NONE, 24, 25, 25, 15 } },
	[V8_FRAME_STUB] = { { "frametype_StubFrame" }, { 14, 15, 17, 17, 18, 18, 8 } },
	[V8_FRAME_INTERNAL] = { { "frametype_InternalFrame" }, { 18, 19, 22, 22, 23, 23, 13 } },
	[V8_EXIT_RECEIVER] = { { NULL }, { 48, 48, 48, 48, 48, 48, 40 } },
	[V8_FRAME_WASM] = { { "frametype_WasmFrame" }, { 4, 4, 4, 4, 4, 4, 24 } },

	/* deoptimization-data.h; up to 11 code.h; entries and their order: TranslatedState in
	   ../deoptimizer/translated-state.cc */
	[V8_DEOPT_TRANSLATION] = { { NULL }, { 0, 0, 0, 0, 0, 0, 0 } },
	[V8_DEOPT_PROTECTED] = { { NULL }, { NONE, NONE, NONE, NONE, 2, 2, 2 } },
	[V8_DEOPT_LITERALS] = { { "DeoptimizationDataLiteralArrayIndex" },
				{ 2, 2, 2, 2, 3, 3, 3 } },
	[V8_DEOPT_SHARED] = { { "DeoptimizationDataSharedFunctionInfoIndex",
				"DeoptimizationDataWrappedSharedFunctionInfoIndex" },
			      { 6, 6, 6, 6, 7, 7, 7 } },
	[V8_WRAPPER_SHARED] = { { NULL }, { NONE, NONE, NONE, NONE, 8, 8, 8 } },
	[V8_TYPE_SHARED_WRAPPER] = { { "type_SharedFunctionInfoWrapper__"
				       "SHARED_FUNCTION_INFO_WRAPPER_TYPE" },
				     { NONE, NONE, NONE, NONE, 195, 194, 195 } },
	[V8_DEOPT_INLINING] = { { "DeoptimizationDataInliningPositionsIndex" },
				{ 7, 7, 7, 7, 8, 8, 8 } },
	[V8_DEOPT_ENTRIES] = { { NULL }, { 11, 11, 11, 11, 12, 12, 12 } },
	[V8_TRANSLATION] = { { NULL }, { 0, 1, 2, 3, 4, 4, 4 } },

	/* ../codegen/safepoint-table.h, maglev-safepoint-table.h */
	[V8_SAFEPOINTS_TURBOFAN] = { { NULL }, { NONE, 8, 8, 8, 12, 12, 12 } },
	[V8_SAFEPOINTS_MAGLEV] = { { NULL }, { NONE, NONE, NONE, NONE, 16, 16, 16 } },
	[V8_SAFEPOINTS_COUNT] = { { NULL }, { NONE, 0, 0, 0, 4, 4, 4 } },

	/* scope-info.tq */
	[V8_SCOPE_LOCALS] = { { "scopeinfo_idx_ncontextlocals" }, { 2, 2, 2, 2, 2, 2, 2 } },
	[V8_SCOPE_FIRST] = { { "scopeinfo_idx_first_vars" }, { 3, 3, 3, 3, 5, 5, 5 } },
	[V8_SCOPE_MODULE] = { { NULL }, { 3, 3, 3, 3, 5, 5, 5 } },
	[V8_SCOPE_RECEIVER] = { { NULL }, { 1, 0, 0, 0, 0, 0, 0 } },
	[V8_SCOPE_POSITIONS_END] = { { NULL }, { 1, 1, 1, 1, 0, 0, 0 } },

	/* ../codegen/source-position-table.cc */
	[V8_POSITION_FLAGS] = { { NULL }, { 0, 0, 0, 0, 0, 2, 2 } },

	/* call-site-info.cc, js-objects.cc: JSReceiver::GetConstructorName() */
	[V8_NAMES_GETTERS_TWICE] = { { NULL }, { 1, 1, 1, 0, 0, 0, 0 } },
	[V8_NAMES_ALL_TYPED] = { { NULL }, { 1, 0, 0, 0, 0, 0, 0 } },
	[V8_NAMES_FUNCTIONS] = { { NULL }, { 0, 1, 1, 1, 2, 2, 2 } },
	[V8_NAMES_CONSTRUCTORS_SAID] = { { NULL }, { 0, 0, 0, 0, 0, 0, 1 } },

	/* ../execution/isolate-data.h: what the code of CEntry stores rbp to, beside r13 */
	[V8_ISOLATE_C_ENTRY_FP] = { { NULL },
				    { 0x3688, 0x4538, 0x180, 0x110, 0x140, 0x148, 0x148 } },
};

/* The last that is not newer; VERSIONS: all are. */
static size_t find_version(const struct v8_version *version, bool *guessed)
{
	size_t found = VERSIONS;

	for (size_t i = 0; i < VERSIONS; i++) {
		if (versions[i].major < version->major ||
		    (versions[i].major == version->major && versions[i].minor <= version->minor))
			found = i;
	}
	*guessed = found == VERSIONS || versions[found].major != version->major ||
		   versions[found].minor != version->minor;
	return found;
}

static int32_t value_of(enum v8_field field, size_t version, const struct v8_symbols *symbols)
{
	int32_t value;

	for (size_t i = 0; symbols && i < SPELLINGS && rows[field].symbols[i]; i++) {
		if (v8_symbols_constant(symbols, rows[field].symbols[i], &value) && value >= 0 &&
		    value < CONSTANT_MAX)
			return value;
	}
	return rows[field].value[version];
}

int v8_layout_init(struct v8_layout *layout, const struct v8_version *version,
		   const struct v8_symbols *symbols, struct error *err)
{
	size_t column = find_version(version, &layout->guessed);
	int32_t tagged_bytes;

	if (column == VERSIONS)
		return error_set(err, -ENOTSUP,
				 "V8 %u.%u is older than what is understood: use Node 16 or later",
				 version->major, version->minor);
	if (symbols && v8_symbols_constant(symbols, "TaggedSize", &tagged_bytes) &&
	    tagged_bytes != 8)
		return error_set(
			err, -ENOTSUP,
			"this V8 compresses pointers, which is not understood: use a Node.js build that does not");
	for (unsigned int field = 0; field < V8_FIELDS; field++)
		layout->at[field] = value_of((enum v8_field)field, column, symbols);
	layout->version = *version;
	layout->bytecode_sizes = symbols ? symbols->bytecode_sizes.start : NULL;
	layout->bytecode_count = symbols ? (uint32_t)(symbols->bytecode_sizes.size / 3) : 0;
	return 0;
}
