// SPDX-License-Identifier: GPL-2.0-or-later
/* The types that every language of .NET has its own word for. */
#include "type.h"

enum alias_type {
	VOID,
	BOOL,
	CHAR,
	INT8,
	UINT8,
	INT16,
	UINT16,
	INT32,
	UINT32,
	INT64,
	UINT64,
	FLOAT32,
	FLOAT64,
	STRING,
	OBJECT,
	NINT,
	NUINT,
	TYPEDREF,
	DECIMAL,
};

static const struct mapparse_alias aliases[] = {
	[VOID] = { "void", "System.Void", "void", "Void" },
	[BOOL] = { "bool", "System.Boolean", "bool", "Bool" },
	[CHAR] = { "char", "System.Char", "char", "Char" },
	[INT8] = { "int8", "System.SByte", "sbyte", "Int8" },
	[UINT8] = { "uint8", "System.Byte", "byte", "UInt8" },
	[INT16] = { "int16", "System.Int16", "short", "Int16" },
	[UINT16] = { "uint16", "System.UInt16", "ushort", "UInt16" },
	[INT32] = { "int32", "System.Int32", "int", "Int32" },
	[UINT32] = { "uint32", "System.UInt32", "uint", "UInt32" },
	[INT64] = { "int64", "System.Int64", "long", "Int64" },
	[UINT64] = { "uint64", "System.UInt64", "ulong", "UInt64" },
	[FLOAT32] = { "float32", "System.Single", "float", "Single" },
	[FLOAT64] = { "float64", "System.Double", "double", "Double" },
	[STRING] = { "string", "System.String", "string", "String" },
	[OBJECT] = { "object", "System.Object", "object", "Object" },
	[NINT] = { "nint", "System.IntPtr", "nint", "IntPtr" },
	[NUINT] = { "nuint", "System.UIntPtr", "nuint", "UIntPtr" },
	[TYPEDREF] = { "typedref", "System.TypedReference", "System.TypedReference",
		       "System_TypedReference" },
	/* A word of C# only; a value type like any other to the runtime. */
	[DECIMAL] = { "System.Decimal", "System.Decimal", "decimal", "System_Decimal" },
};

/* Every word, by length: almost all names are ruled out by a look at one row of this. */
struct word {
	const char *chars;
	uint8_t type;
};

enum { LONGEST_WORD = 21, WORDS_OF_ONE_LENGTH = 10 };

static const struct word words[LONGEST_WORD + 1][WORDS_OF_ONE_LENGTH] = {
	[3] = { { "int", INT32 } },
	[4] = {
		{ "void", VOID },
		{ "bool", BOOL },
		{ "char", CHAR },
		{ "int8", INT8 },
		{ "byte", UINT8 },
		{ "uint", UINT32 },
		{ "long", INT64 },
		{ "nint", NINT },
	},
	[5] = {
		{ "int32", INT32 },
		{ "uint8", UINT8 },
		{ "int64", INT64 },
		{ "int16", INT16 },
		{ "sbyte", INT8 },
		{ "short", INT16 },
		{ "ulong", UINT64 },
		{ "float", FLOAT32 },
		{ "nuint", NUINT },
	},
	[6] = {
		{ "string", STRING },
		{ "object", OBJECT },
		{ "uint16", UINT16 },
		{ "uint32", UINT32 },
		{ "uint64", UINT64 },
		{ "ushort", UINT16 },
		{ "double", FLOAT64 },
		{ "refany", TYPEDREF },
		{ "IntPtr", NINT },
	},
	[7] = {
		{ "float32", FLOAT32 },
		{ "float64", FLOAT64 },
		{ "decimal", DECIMAL },
		{ "UIntPtr", NUINT },
	},
	[8] = { { "typedref", TYPEDREF } },
	[10] = { { "native int", NINT } },
	[11] = {
		{ "System.Char", CHAR },
		{ "System.Byte", UINT8 },
		{ "System.Void", VOID },
		{ "native uint", NUINT },
	},
	[12] = {
		{ "System.Int32", INT32 },
		{ "System.Int64", INT64 },
		{ "System.Int16", INT16 },
		{ "System.SByte", INT8 },
	},
	[13] = {
		{ "System.String", STRING },
		{ "System.Object", OBJECT },
		{ "System.UInt32", UINT32 },
		{ "System.UInt64", UINT64 },
		{ "System.UInt16", UINT16 },
		{ "System.Double", FLOAT64 },
		{ "System.Single", FLOAT32 },
		{ "System.IntPtr", NINT },
		{ "unsigned int8", UINT8 },
	},
	[14] = {
		{ "System.Boolean", BOOL },
		{ "System.UIntPtr", NUINT },
		{ "System.Decimal", DECIMAL },
		{ "unsigned int16", UINT16 },
		{ "unsigned int32", UINT32 },
		{ "unsigned int64", UINT64 },
	},
	[19] = { { "native unsigned int", NUINT } },
	[21] = { { "System.TypedReference", TYPEDREF } },
};

const struct mapparse_alias *mapparse_alias_find(const char *chars, size_t length)
{
	if (length > LONGEST_WORD)
		return NULL;
	for (const struct word *w = words[length];
	     w < words[length] + WORDS_OF_ONE_LENGTH && w->chars; w++) {
		if (w->chars[length - 1] == chars[length - 1] &&
		    memcmp(w->chars, chars, length) == 0)
			return &aliases[w->type];
	}
	return NULL;
}

const struct mapparse_alias *mapparse_alias_find_mangled(const char *chars, size_t length)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		const char *word = aliases[i].mangled;

		if (strlen(word) == length && memcmp(word, chars, length) == 0)
			return &aliases[i];
	}
	return NULL;
}
