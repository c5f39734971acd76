/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where fields lie in V8's objects and which numbers its types have: the one table of what differs
 * between versions of V8. What the engine says of itself (its v8dbg_ symbols, see symbols.h) is
 * used, and the table only for what that leaves out.
 *
 * Sources: the v8dbg_ symbols of Node 16.9.1, 18.20.8, 20.20.2, 22.23.3, 24.9.0, 25.9.0 and 26.9.0,
 * and V8's sources at the tags of their versions, named in layout.c row by row.
 */
#ifndef RUNTIME_V8_LAYOUT_H
#define RUNTIME_V8_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct v8_symbols;

enum v8_field {
	/* Offsets of fields, in bytes from the beginning of the object. */
	V8_FUNCTION_SHARED,
	V8_SHARED_DATA,
	V8_SHARED_UNTRUSTED_DATA,
	V8_SHARED_NAME,
	V8_SHARED_SCRIPT,
	V8_SHARED_FLAGS,
	V8_SHARED_LITERAL_ID,
	V8_UNCOMPILED_NAME,
	V8_SCRIPT_SOURCE,
	V8_SCRIPT_NAME,
	V8_SCRIPT_LINE_OFFSET,
	V8_SCRIPT_COLUMN_OFFSET,
	V8_SCRIPT_LINE_ENDS,
	V8_SCRIPT_ID,
	V8_SCRIPT_FLAGS,
	V8_SCRIPT_SOURCE_URL,
	V8_SCRIPT_FUNCTIONS, /* by their number */
	V8_BYTECODES_SOURCE_POSITIONS,
	V8_BYTECODES_DATA,
	V8_STREAM_CODE,
	V8_CODE_DEOPT_DATA,
	V8_CODE_POSITIONS,
	V8_CODE_START_INLINE,
	V8_CODE_START,
	V8_CODE_SIZE,
	V8_CODE_FLAGS,
	V8_CODE_BYTECODES,
	V8_INTERPRETER_BYTECODES,
	V8_DESCRIPTORS_HEADER,
	V8_PAIR_GETTER,
	V8_ODDBALL_KIND,
	V8_SYMBOL_NAME,
	V8_WRAPPER_SHARED, /* of what stands for a SharedFunctionInfo where no such may be */

	/* Instance types. */
	V8_TYPE_NONSTRING, /* what is below is a string */
	V8_TYPE_SYMBOL,
	V8_TYPE_BIGINT,
	V8_TYPE_HEAP_NUMBER,
	V8_TYPE_ODDBALL,
	V8_TYPE_MAP,
	V8_TYPE_SHARED,
	V8_TYPE_SHARED_WRAPPER,
	V8_TYPE_SCRIPT,
	V8_TYPE_SCOPE_INFO,
	V8_TYPE_UNCOMPILED_FIRST,
	V8_TYPE_UNCOMPILED_LAST,
	V8_TYPE_BYTECODES,
	V8_TYPE_INTERPRETER,
	V8_TYPE_CODE,
	V8_TYPE_STREAM,
	V8_TYPE_BYTE_ARRAY,
	V8_TYPE_TRUSTED_BYTE_ARRAY,
	V8_TYPE_ARRAY,
	V8_TYPE_TRUSTED_ARRAY,
	V8_TYPE_PROTECTED_ARRAY,
	V8_TYPE_WEAK_ARRAY,
	V8_TYPE_TRUSTED_WEAK_ARRAY,
	V8_TYPE_WEAK_LIST,
	V8_TYPE_DESCRIPTORS,
	V8_TYPE_STRONG_DESCRIPTORS,
	V8_TYPE_PROPERTY_ARRAY,
	V8_TYPE_ACCESSOR_PAIR,
	V8_TYPE_TUPLE,
	V8_TYPE_PROXY, /* the first receiver; what is above it is one as well */
	V8_TYPE_GLOBAL_PROXY,
	V8_TYPE_JS_FUNCTION_FIRST,
	V8_TYPE_JS_FUNCTION_LAST,
	V8_TYPE_TEMPLATE, /* of functions that C++ gives to JavaScript */

	/* Kinds of frames without a function, as their marker has them. */
	V8_FRAME_ENTRY,
	V8_FRAME_CONSTRUCT_ENTRY,
	V8_FRAME_EXIT,
	V8_FRAME_BUILTIN_EXIT,
	V8_FRAME_API_EXIT,
	V8_FRAME_CONSTRUCT,
	V8_FRAME_FAST_CONSTRUCT,
	V8_FRAME_STUB,
	V8_FRAME_INTERNAL,
	V8_FRAME_WASM,
	V8_EXIT_RECEIVER, /* what a builtin was called on: offset from its exit frame's pointer */

	/* Indices, bits, and how things are written. */
	V8_DEOPT_TRANSLATION,
	V8_DEOPT_PROTECTED,
	V8_DEOPT_LITERALS,
	V8_DEOPT_SHARED,
	V8_DEOPT_INLINING,
	V8_DEOPT_ENTRIES,
	V8_SCOPE_LOCALS,
	V8_SCOPE_FIRST,
	V8_SCOPE_MODULE,
	V8_NATIVE_BIT,
	V8_KIND_MEMBERS, /* of functions: what initialises fields, and static ones */
	V8_KIND_STATICS,
	V8_KIND_BASELINE, /* Maglev and TurboFan are the two after it */
	V8_KIND_MASK,
	V8_DICTIONARY_PREFIX,
	V8_DETAILS_IN_DESCRIPTOR, /* a bit of a property's details */
	V8_DETAILS_ATTRIBUTES,	  /* where in them attributes begin */
	V8_ODDBALL_UNDEFINED,
	V8_ODDBALL_NULL,
	V8_POSITION_FLAGS, /* bits below an entry's code delta; 0: the delta's sign is the flag */
	V8_SAFEPOINTS_TURBOFAN, /* bytes of the head of the table behind the code */
	V8_SAFEPOINTS_MAGLEV,
	V8_SAFEPOINTS_COUNT,	/* where in the head the count is */
	V8_TRANSLATION,		/* which encoding, see positions.h; 0: none that is known */
	V8_SCOPE_POSITIONS_END, /* 1: they are last in a ScopeInfo; 0: before the names */
	V8_SCOPE_RECEIVER,	/* 1: the receiver has a word, too, if it has a place */

	/* How names are spelled. */
	V8_NAMES_GETTERS_TWICE, /* 1: "get x [as x]" */
	V8_NAMES_ALL_TYPED,	/* 1: "Class.[computed]": also what is no identifier has a type */
	V8_NAMES_FUNCTIONS,	/* "Name.f", not "Function.f": 1 of classes, 2 of all functions */
	V8_NAMES_CONSTRUCTORS_SAID, /* 1: constructors by their property "name" */

	/* Of an isolate, in bytes. */
	V8_ISOLATE_C_ENTRY_FP,

	V8_FIELDS
};

enum { V8_ABSENT = -1 };

struct v8_version {
	unsigned int major;
	unsigned int minor;
	unsigned int build;
	unsigned int patch;
};

struct v8_layout {
	int32_t at[V8_FIELDS]; /* V8_ABSENT: this version has no such thing */
	struct v8_version version;
	bool guessed; /* the table does not have this version: the nearest older one was taken */
	const uint8_t *bytecode_sizes; /* see positions.h; borrowed from the file; NULL: unknown */
	uint32_t bytecode_count;
};

static inline bool v8_layout_has(const struct v8_layout *layout, enum v8_field field)
{
	return layout->at[field] != V8_ABSENT;
}

/*
 * The layout of an engine by its @symbols, whose file must outlive it; NULL: of @version by the
 * table alone. -ENOTSUP with @err set: it is older than the table, or its pointers are compressed.
 */
int v8_layout_init(struct v8_layout *layout, const struct v8_version *version,
		   const struct v8_symbols *symbols, struct error *err);

#endif
