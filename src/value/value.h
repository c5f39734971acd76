/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the target that a call was given or gave back: their types, the program that captures
 * them when the call is made (bpf/watch.h), and what is printed of what it has captured. Types are
 * made by runtimes; nothing in here reads the target, but for types of objects by watch_types.
 */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/watch.h"

struct error;
struct text;

enum value_kind {
	VALUE_UNKNOWN, /* why is in .why */
	VALUE_VOID,
	VALUE_SIGNED,
	VALUE_UNSIGNED,
	VALUE_BOOL,
	VALUE_CHAR, /* UTF-16 code unit, or a byte */
	VALUE_FLOAT,
	VALUE_ENUM,
	VALUE_POINTER,
	VALUE_CSTRING, /* char * of native code */
	VALUE_STRING,  /* System.String */
	VALUE_OBJECT,  /* a reference; what it is of is known when it is there */
	VALUE_ARRAY,   /* likewise */
	VALUE_STRUCT,  /* with fields; well-known ones have a .well_known */
	VALUE_REFERENCE, /* ref, in, out: .element is what is there */
	VALUE_SPAN,
};

/* How a struct is printed, if not by its fields. */
enum value_well_known {
	VALUE_PLAIN,
	VALUE_NULLABLE,
	VALUE_DECIMAL,
	VALUE_DATE_TIME,
	VALUE_DATE_TIME_OFFSET,
	VALUE_TIME_SPAN,
	VALUE_GUID,
	VALUE_TUPLE,
	VALUE_INT128,
};

struct value_type;

struct value_field {
	const char *name;
	const struct value_type *type;
	uint32_t offset; /* from the first byte of the value; of an object: after its header */
};

struct value_member { /* of an enum */
	const char *name;
	uint64_t value;
};

/* All strings and types live as long as the struct value_types that they were made in. */
struct value_type {
	enum value_kind kind;
	enum value_well_known well_known;
	const char *name; /* as it is spelled in C#: "int", "App.Order", "string[]" */
	const char *why;  /* of VALUE_UNKNOWN */
	uint32_t size;	  /* in bytes, as a value or as a field */
	const struct value_type *element;
	const struct value_field *fields;
	size_t field_count;
	const struct value_member *members;
	size_t member_count;
	bool flags; /* an enum whose members are combined */
};

/* Where one part of a value is at the method's first instruction, or at a ret. */
enum value_where {
	VALUE_IN_REGISTER, /* integer argument or result number .number */
	VALUE_IN_FLOAT,	   /* xmm number .number: cannot be read */
	VALUE_ON_STACK,	   /* at the stack pointer + .number */
	VALUE_IN_BUFFER,   /* of the caller: its address is integer result 0 */
};

enum { VALUE_PARTS = 2 };

/* A parameter, `this`, or the result. */
struct value_slot {
	const char *name; /* "this", a parameter's, "arg2" for want of one; NULL: the result */
	const struct value_type *type;
	bool out; /* its value is of use at the exit only */
	size_t part_count;
	struct {
		enum value_where where;
		uint32_t number;
		uint32_t offset; /* in the value */
		uint32_t size;
	} parts[VALUE_PARTS];
};

/* What is known of one method's, or one instantiation's, calls. */
struct value_signature {
	struct value_slot *arguments; /* `this` first */
	size_t argument_count;
	struct value_slot result;
	const char *why; /* not NULL: nothing is known, and this is why */
};

#endif
