/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files that make up value.h share: a program that is being made, and the table that says
 * what its items are.
 */
#ifndef VALUE_CAPTURE_H
#define VALUE_CAPTURE_H

#include "value/value.h"

enum {
	CAPTURE_OBJECT_BYTES = 128, /* of an object, with its header */
	CAPTURE_DEPTH_MAX = 2,
	CAPTURE_ELEMENT_POINTERS = 4, /* elements of an array whose content is captured too */
	CAPTURE_WORDS = 4,	      /* of an object of an unknown type, that are followed */
	CAPTURE_FIELDS_MAX = 24,      /* of an object or struct, that are looked into and shown */
	CAPTURE_ELEMENTS_MAX = 64,

	/* Objects of .NET: the MethodTable, for arrays and strings the length, then the rest. */
	OBJECT_HEADER = 8,
	OBJECT_LENGTH = 8,
	STRING_CHARS = 12,
	ARRAY_FIRST = 16,
	POINTER_BYTES = 8,
};

/* What is captured of a value beside its own bytes. */
struct capture {
	uint32_t
		offset; /* in the bytes that it is a part of; of a field of an object: header too */
	enum value_kind kind; /* what it was captured as */
	uint16_t content;     /* slot of what it points to; WATCH_NO_SLOT: none */
	uint16_t chars;	      /* of an object that may turn out to be a string: slot of its chars */
	uint8_t shift;	      /* of an array or span: the length was shifted by so much */
	bool whole;	      /* of an object: more than its header is in .content */
	struct capture *parts; /* of its content; of a struct: of its own bytes */
	size_t part_count;
	/* Of an object whose type is another one than it is declared as: what there is more. */
	struct capture *variants;
	size_t variant_count;
	uint64_t handle;	    /* of a variant: of that type */
	const struct capture *base; /* likewise: what there is in any case; or NULL */
};

/* An argument or the result. */
struct captured {
	const struct value_slot *slot;
	uint16_t parts[VALUE_PARTS]; /* slots of its own bytes */
	struct capture capture;
	uint8_t kept; /* cell with the address of an `out`, which the exit looks at */
	bool redacted;
	bool dropped; /* there was no room in the program */
};

struct program {
	struct watch_op ops[WATCH_OPS];
	size_t count;
	uint16_t slots;
	bool full;
	bool at_exit;
	const struct value_watch *watch; /* whose it is; NULL: a filter's */
};

struct value_watch {
	const struct value_signature *signature;
	struct value_options options;
	struct value_types *memory; /* of captures */
	struct program entry;
	struct program exit;
	struct captured *arguments; /* by those of the signature */
	struct captured result;
	struct captured context;
};

/* Where the bytes of a value are while a program runs. */
struct place {
	const struct value_slot *slot; /* in parts of this one; NULL: at the address in .cell */
	uint8_t cell;
	uint32_t offset; /* in the value of .slot, or from the address */
};

/* Cells, as programs use them. */
enum {
	CELL_LEVELS = 3, /* 0, 1, 2: addresses, from the argument on inwards */
	CELL_SCRATCH = CELL_LEVELS,
	CELL_KEPT, /* to the last but one */
	CELL_ZERO = WATCH_CELLS - 1,
	CELLS_KEPT = CELL_ZERO - CELL_KEPT,
};

/* Append @op; NULL if there is no room for it. */
struct watch_op *program_append(struct program *program, struct watch_op op);

/* The same of an op that is of that code, with those members; the second: it makes an item. */
#define program_add(program, op, ...) program_add_item(program, op, WATCH_NO_SLOT, __VA_ARGS__)
#define program_add_item(program, op, slot_, ...) \
	program_append(program, (struct watch_op){ .code = (op), .slot = (slot_), __VA_ARGS__ })

/* A slot of its own; WATCH_NO_SLOT if there are no more. */
uint16_t program_slot(struct program *program);

/* dst = bytes of @place, which is in integer registers or memory; false if it is not. */
bool program_load(struct program *program, const struct place *place, unsigned int dst,
		  unsigned int size, uint16_t slot, uint16_t otherwise);

/* Where the parts of @slot can be read by address: cell @dst points there. False: in registers. */
bool program_take_address(struct program *program, const struct value_slot *slot, unsigned int dst,
			  struct place *place);

/* What jumps to where the content of a level ends, until that is known: from op @from on it is. */
uint16_t program_end_of(unsigned int level);
void program_set_ends(struct program *program, size_t from, unsigned int level);

void program_if_zero(struct program *program, unsigned int src, uint16_t otherwise);
void program_mask(struct program *program, uint8_t cell, uint64_t mask);

/* dst = @size bytes at the address in @src; what fails goes on where the content of @level ends. */
void program_load_at(struct program *program, unsigned int dst, unsigned int src, uint32_t offset,
		     unsigned int size, uint16_t slot, unsigned int level);

/* @size bytes from there; as many as the scratch cell says, each time 1 << @shift. */
struct watch_op *program_copy(struct program *program, uint16_t slot, unsigned int src,
			      uint32_t offset, uint32_t size);
void program_copy_times(struct program *program, uint16_t slot, unsigned int src, uint32_t offset,
			unsigned int shift, uint32_t limit);

/*
 * What a value of @type at @place leads to, and what that leads to; @level is the first free cell.
 * What does not fit is not captured.
 */
void capture_content(struct program *program, struct capture *capture,
		     const struct value_type *type, const struct place *place, unsigned int level,
		     unsigned int depth);

/*
 * Of an object of a type that is known at run time only: what it refers to, if there is room for
 * that in the end.
 */
void capture_words(struct program *program, struct capture *capture, const struct place *at,
		   unsigned int level);

/*
 * Of an object that is of @type, with @handle, whatever it is declared as: what is not captured in
 * any case, if there is room for that in the end. capture->variants has room for one more.
 */
void capture_variant(struct program *program, struct capture *capture,
		     const struct value_type *type, uint64_t handle, const struct place *at,
		     unsigned int level);

/* Would a variant for objects of @type have more than @capture has? */
bool capture_lacks(const struct value_watch *watch, const struct capture *capture,
		   const struct value_type *type);

/* What is captured of what stands at @offset of the bytes of @capture, or NULL. */
const struct capture *capture_part(const struct capture *capture, uint32_t offset);

/* Is the value of a parameter or field of that name not to be shown? */
static inline bool capture_redacts(const struct value_watch *watch, const char *name)
{
	return name && watch->options.redacts && watch->options.redacts(watch->options.ctx, name);
}

/* Is a value of this type the address of something? */
static inline bool capture_is_pointer(const struct value_type *type)
{
	return type->kind == VALUE_STRING || type->kind == VALUE_CSTRING ||
	       type->kind == VALUE_OBJECT || type->kind == VALUE_ARRAY ||
	       type->kind == VALUE_REFERENCE;
}

#endif
