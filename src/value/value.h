/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the target that a call was given or gave back: their types, the program that captures
 * them when the call is made (bpf/watch.h), and what is printed of what it has captured. Types are
 * made by runtimes; nothing in here reads the target; what an object is of is asked through
 * struct value_lookup.
 */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/watch.h"

struct error;
struct text;
struct value_types;
struct value_watch;

enum value_kind {
	VALUE_UNKNOWN, /* why is in .why */
	VALUE_VOID,
	VALUE_SIGNED,
	VALUE_UNSIGNED,
	VALUE_BOOL,
	VALUE_CHAR, /* UTF-16 code unit, or a byte */
	VALUE_FLOAT,
	VALUE_ENUM,
	VALUE_STATE, /* bits, of which the first of the members that has one of them tells */
	VALUE_POINTER,
	VALUE_CSTRING,	 /* char * of native code */
	VALUE_STRING,	 /* System.String */
	VALUE_OBJECT,	 /* a reference; what it is of is known when it is there */
	VALUE_ARRAY,	 /* likewise */
	VALUE_STRUCT,	 /* with fields; well-known ones have a .well_known */
	VALUE_REFERENCE, /* ref, in, out: .element is what is there */
	VALUE_SPAN,
};

/* How a struct or object is printed, if not by its fields. */
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
	VALUE_UINT128,
	VALUE_TASK,	  /* .fields: its VALUE_STATE, and its result, if it has one */
	VALUE_VALUE_TASK, /* has an object in "_obj", or that is null, and it is done */
	VALUE_DELEGATE,	  /* .fields by enum value_delegate_field */
};

/* The state of a task in which it has its result. */
#define VALUE_TASK_DONE "RanToCompletion"

enum value_delegate_field {
	VALUE_DELEGATE_TARGET,	   /* the object whose method is called */
	VALUE_DELEGATE_CODE,	   /* of that method */
	VALUE_DELEGATE_OTHER_CODE, /* not 0: this is the method's, and there is no such object */
	VALUE_DELEGATE_OTHERS,	   /* not 0: it calls several, or by way of another one */
	VALUE_DELEGATE_FIELDS,
};

/* The name of VALUE_DELEGATE_OTHERS from .NET 11 on, where it may have another meaning. */
#define VALUE_DELEGATE_EXTRA "_extraData"

struct value_type;

struct value_field {
	const char *name;
	const struct value_type *type;
	uint32_t offset; /* from the first byte of the value; of an object: after its header */
};

struct value_member { /* of an enum */
	const char *name;
	uint64_t value; /* as wide as the enum, zero-extended */
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
	bool flags;	 /* an enum whose members are combined */
	bool is_signed;	 /* of an enum */
	uint64_t handle; /* of the runtime, such as a MethodTable; 0: not known */
};

/* Where one part of a value is at the method's first instruction, or at a ret. */
enum value_where {
	VALUE_IN_REGISTER, /* integer argument or result number .number */
	VALUE_IN_FLOAT,	   /* floating-point register number .number: cannot be read */
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

enum { VALUE_SEEN_MAX = 8 };

/*
 * What arguments, by number, or the result, which is one more, have turned out to be of though they
 * are not declared so. A program that is made with these looks into them too.
 */
struct value_seen {
	struct {
		size_t number;
		uint64_t handle;
		const struct value_type *type;
	} list[VALUE_SEEN_MAX];
	size_t count;
};

/* A handle of the runtime's that shared code is passed. */
enum value_context {
	VALUE_CONTEXT_NONE,   /* `this` tells, or there is one only */
	VALUE_CONTEXT_THIS,   /* of the type of `this`, which is a struct */
	VALUE_CONTEXT_TYPE,   /* of the method's type */
	VALUE_CONTEXT_METHOD, /* of the method itself */
};

/* What is known of one method's, or one instantiation's, calls. */
struct value_signature {
	struct value_slot *arguments; /* `this` first */
	size_t argument_count;
	struct value_slot result;
	/* Where shared code is told what it is called for. */
	struct value_slot context;
	enum value_context context_is;
	struct value_seen *seen; /* or NULL; more is added when calls are printed */
	const char *why;	 /* not NULL: nothing is known, and this is why */
	bool incomplete;	 /* more may be known another time: of what is not loaded yet */
};

/* The arena of types, fields, members and names. NULL: no memory. */
struct value_types *value_types_create(void);
void value_types_destroy(struct value_types *types);

/* @size zeros, aligned for anything, as long as @types. NULL: no memory, or it has too much. */
void *value_types_take(struct value_types *types, size_t size);

/* A copy of a string; NULL as above. */
const char *value_types_name(struct value_types *types, const char *name);

/* A type of that kind, name and size, all else 0, to be completed. NULL as above. */
struct value_type *value_types_add(struct value_types *types, enum value_kind kind,
				   const char *name, uint32_t size);

/* The field of that name; NULL: there is none, or @type is NULL. */
const struct value_field *value_type_field(const struct value_type *type, const char *name);

/* A type that is not to be had, and why: a few words, "a float in a register". NULL as above. */
const struct value_type *value_types_unknown(struct value_types *types, const char *name,
					     uint32_t size, const char *why);

/* What was kept under that number, so that a type is made once; NULL: nothing. */
const struct value_type *value_types_find(const struct value_types *types, uint64_t key);
void value_types_keep(struct value_types *types, uint64_t key, const struct value_type *type);

enum {
	VALUE_STRING_BYTES = 64, /* unless options say so */
	VALUE_ELEMENTS = 8,
	VALUE_DEPTH = 1,
};

struct value_options {
	uint32_t string_bytes; /* of a string, as the target has it: UTF-16 or bytes */
	uint32_t elements;     /* of an array */
	uint32_t depth;	       /* 0: the type of an object alone; 1: with its fields; .. */
	/* Whether the value of a parameter or field of that name must not be shown; or NULL. */
	bool (*redacts)(void *ctx, const char *name);
	void *ctx;
};

/*
 * Both programs for calls of @signature, which must outlive what is made. All its arguments have
 * an end in the programs' bounds: what does not fit is shown as "...". -ENOMEM with @err set.
 */
int value_watch_create(struct value_watch **watch, const struct value_signature *signature,
		       const struct value_options *options, struct error *err);
void value_watch_destroy(struct value_watch *watch);

/* The programs, which may have no ops. */
const struct watch_op *value_watch_entry(const struct value_watch *watch, size_t *count);
const struct watch_op *value_watch_exit(const struct value_watch *watch, size_t *count);

/* What programs have made, as it came: struct watch_item and bytes; hostile. */
struct value_items {
	const void *bytes;
	size_t size;
};

/* Of the runtime whose objects they are; NULL: it does not know, or is not to be asked. */
struct value_lookup {
	const struct value_type *(*object_type)(void *ctx, uint64_t handle);
	/* What it derives from, 0 for nothing; false: it does not know. NULL as above. */
	bool (*base_type)(void *ctx, uint64_t handle, uint64_t *base);
	void *ctx;
	/* Append the name of the method that is called there; NULL, false: it is not known. */
	bool (*add_method)(void *ctx, uint64_t code, struct text *out);
};

enum value_format { VALUE_TEXT, VALUE_JSON };

/* A call: whose exit has not been seen has no items of it. */
struct value_call {
	struct value_items entry;
	struct value_items exit;
	bool exited;
};

/*
 * Append the arguments: `id: 42, customer: "Ada"`, or in JSON an array of objects: [{"name":"id",
 * "type":"int","value":42}]. @out is UTF-8 without control characters, whatever the target has.
 */
void value_add_arguments(const struct value_watch *watch, const struct value_call *call,
			 const struct value_lookup *lookup, enum value_format format,
			 struct text *out);

/* What it was told as signature.context_is says; 0: that is not known. */
uint64_t value_call_context(const struct value_watch *watch, const struct value_call *call);

/*
 * Append the exception that has left a call, by what was behind its entry's items (bpf/thrown.h):
 * `System.InvalidOperationException: "no stock"`, or in JSON {"type":..,"message":..}. At most
 * @string_bytes of the message; 0: none of it. NULL, or why it is not known, and nothing is added.
 */
const char *value_add_thrown(const struct value_items *items, const struct value_lookup *lookup,
			     uint32_t string_bytes, enum value_format format, struct text *out);

/*
 * Of which of the types called @names, of which there are @count, that exception is, or of what
 * derives from them: a bit each. A name without a dot is that of a type in whichever namespace. -1
 * if that is not known.
 */
int value_thrown_types(const struct value_items *items, const struct value_lookup *lookup,
		       const char *const *names, size_t count);

/* Does it give something back? Else there is no result to append. */
bool value_has_result(const struct value_watch *watch);

/* Append the result: `App.Receipt{Id: 7}`, or in JSON {"type":"App.Receipt","value":{..}}. */
void value_add_result(const struct value_watch *watch, const struct value_call *call,
		      const struct value_lookup *lookup, enum value_format format,
		      struct text *out);

#endif
