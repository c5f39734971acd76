// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of a program that follows addresses: the characters of a string, the first bytes of an
 * object and what its fields lead to, the first elements of an array. For compile.c.
 */
#include "value/capture.h"

/* For what can be left out without leaving out all: are there so many ops still? */
static bool has_room(const struct program *program, size_t ops)
{
	return program->count + ops < WATCH_OPS;
}

static uint32_t string_limit(const struct program *program)
{
	return program->watch->options.string_bytes & ~1U;
}

static void string_content(struct program *program, struct capture *capture, unsigned int level)
{
	capture->content = program_slot(program);
	program_load_at(program, CELL_SCRATCH, level, OBJECT_LENGTH, 4, capture->content, level);
	program_copy_times(program, capture->content, level, STRING_CHARS, 1,
			   string_limit(program));
}

static void cstring_content(struct program *program, struct capture *capture, unsigned int level)
{
	uint32_t limit = program->watch->options.string_bytes;

	capture->content = program_slot(program);
	program_add_item(program, WATCH_COPY_CSTRING, capture->content, .src = (uint8_t)level,
			 .size = (uint16_t)(limit < WATCH_COPY ? limit : WATCH_COPY));
}

static bool leads_on(const struct value_type *type, unsigned int nesting)
{
	if (capture_is_pointer(type) || type->kind == VALUE_SPAN)
		return true;
	if (type->kind != VALUE_STRUCT || nesting == 0)
		return false;
	for (size_t i = 0; i < type->field_count && i < CAPTURE_FIELDS_MAX; i++) {
		if (leads_on(type->fields[i].type, nesting - 1))
			return true;
	}
	return false;
}

enum { NESTING_MAX = 4 };

const struct capture *capture_part(const struct capture *capture, uint32_t offset)
{
	for (; capture; capture = capture->base) {
		for (size_t i = 0; i < capture->part_count; i++) {
			if (capture->parts[i].offset == offset)
				return &capture->parts[i];
		}
	}
	return NULL;
}

/* Is what a value of @type at @offset leads to captured already? */
static bool is_captured(const struct capture *capture, const struct value_type *type,
			uint32_t offset)
{
	const struct capture *part = capture_part(capture, offset);

	return part && (part->content != WATCH_NO_SLOT || part->part_count) &&
	       (part->kind == type->kind ||
		(part->kind == VALUE_OBJECT && type->kind == VALUE_STRING));
}

/* What the fields of a struct or object lead to. @header stands before them. */
static void fields_content(struct program *program, struct capture *capture,
			   const struct value_type *type, const struct place *place,
			   uint32_t header, unsigned int level, unsigned int depth)
{
	size_t count =
		type->field_count < CAPTURE_FIELDS_MAX ? type->field_count : CAPTURE_FIELDS_MAX;
	struct capture *parts = value_types_take(program->watch->memory, count * sizeof(*parts));

	for (size_t i = 0; parts && i < count; i++) {
		const struct value_field *field = &type->fields[i];
		struct capture *part = &parts[capture->part_count];
		struct place at = *place;

		if (!leads_on(field->type, NESTING_MAX) ||
		    capture_redacts(program->watch, field->name) ||
		    is_captured(capture->base, field->type, header + field->offset))
			continue;
		at.offset += header + field->offset;
		part->offset = header + field->offset;
		capture_content(program, part, field->type, &at, level, depth);
		capture->part_count++;
	}
	capture->parts = parts;
}

/* The MethodTable of the object at the address in the cell of @level, to the scratch cell. */
static void load_table(struct program *program, uint16_t slot, unsigned int level)
{
	program_load_at(program, CELL_SCRATCH, level, 0, POINTER_BYTES, slot, level);
	program_mask(program, CELL_SCRATCH, ~(uint64_t)7);
}

/* So many bytes as its MethodTable says: the page behind it may be none. */
static void copy_object(struct program *program, struct capture *capture, unsigned int level)
{
	load_table(program, capture->content, level);
	program_load_at(program, CELL_SCRATCH, CELL_SCRATCH, 4, 4, capture->content, level);
	program_add(program, WATCH_ADD, .dst = CELL_SCRATCH, .src = CELL_SCRATCH,
		    .immediate = (uint64_t) - (int64_t)OBJECT_HEADER);
	program_copy_times(program, capture->content, level, 0, 0, CAPTURE_OBJECT_BYTES);
}

enum { OPS_OF_STRING = 8, OPS_OF_GUARD = 5, OPS_OF_OBJECT = 13 };

/* The flags of its MethodTable: has components, of two bytes. */
#define COMPONENTS_MASK	    UINT64_C(0x8000ffff)
#define COMPONENTS_OF_CHARS UINT64_C(0x80000002)

static void copy_if_string(struct program *program, struct capture *capture, unsigned int level)
{
	capture->chars = program_slot(program);
	load_table(program, WATCH_NO_SLOT, level);
	program_load_at(program, CELL_SCRATCH, CELL_SCRATCH, 0, 4, WATCH_NO_SLOT, level);
	program_mask(program, CELL_SCRATCH, COMPONENTS_MASK);
	program_add(program, WATCH_IF_EQUAL, .src = CELL_SCRATCH, .immediate = COMPONENTS_OF_CHARS,
		    .otherwise = program_end_of(level));
	program_load_at(program, CELL_SCRATCH, level, OBJECT_LENGTH, 4, WATCH_NO_SLOT, level);
	program_copy_times(program, capture->chars, level, STRING_CHARS, 1, string_limit(program));
}

static void object_content(struct program *program, struct capture *capture,
			   const struct value_type *type, unsigned int level, unsigned int depth)
{
	const struct place place = { .cell = (uint8_t)level };

	capture->content = program_slot(program);
	capture->whole = depth > 0;
	if (depth == 0)
		program_copy(program, capture->content, level, 0, OBJECT_HEADER);
	else
		copy_object(program, capture, level);
	if (depth > 0 && type->field_count)
		fields_content(program, capture, type, &place, OBJECT_HEADER, level + 1, depth - 1);
	else if (!type->field_count && has_room(program, OPS_OF_STRING))
		copy_if_string(program, capture, level);
}

/* The length is in memory at @length; scratch is used by what elements lead to. */
static void follow_elements(struct program *program, struct capture *capture,
			    const struct value_type *element, const struct place *first,
			    const struct place *length, unsigned int level)
{
	struct capture *parts;

	if (!element || (element->kind != VALUE_STRING && element->kind != VALUE_OBJECT))
		return;
	parts = value_types_take(program->watch->memory, CAPTURE_ELEMENT_POINTERS * sizeof(*parts));
	if (!parts)
		return;
	capture->parts = parts;
	for (uint32_t i = 0; i < CAPTURE_ELEMENT_POINTERS && i < program->watch->options.elements;
	     i++) {
		struct place at = *first;

		if (!has_room(program, OPS_OF_GUARD) ||
		    !program_load(program, length, CELL_SCRATCH, 4, WATCH_NO_SLOT,
				  program_end_of(level)))
			return;
		if (length->slot)
			program_mask(program, CELL_SCRATCH, UINT32_MAX);
		/* Go on with it if the length is more than that. */
		if (program_add(program, WATCH_IF_BELOW, .src = CELL_SCRATCH, .immediate = i + 1,
				.otherwise = (uint16_t)(program->count + 2)))
			program_if_zero(program, CELL_ZERO, program_end_of(level));
		at.offset += i * POINTER_BYTES;
		parts[i].offset = i * POINTER_BYTES;
		capture->part_count = i + 1;
		capture_content(program, &parts[i], element, &at, level + 1, 0);
	}
}

static uint8_t shift_of(uint32_t size)
{
	uint8_t shift = 0;

	while (shift < 16 && (1U << shift) < size)
		shift++;
	return shift;
}

/*
 * What an array or span has from @first on, and what that leads to; the length is at @length. Of
 * elements whose size is no power of two, some bytes behind the last are copied too.
 */
static void elements_content(struct program *program, struct capture *capture,
			     const struct value_type *element, const struct place *first,
			     const struct place *length, unsigned int level)
{
	uint32_t size = element ? element->size : 0;
	uint32_t limit = size && size <= WATCH_COPY ? WATCH_COPY / size : 0;

	if (element && element->kind == VALUE_CHAR)
		limit = string_limit(program) / (size ? size : 1);
	else if (limit > program->watch->options.elements)
		limit = program->watch->options.elements;
	capture->content = program_slot(program);
	capture->shift = shift_of(size);
	program_load(program, length, CELL_SCRATCH, 4, capture->content, program_end_of(level));
	/* The length alone cannot be had by a copy of nothing: so at least one byte. */
	program_copy_times(program, capture->content, first->cell, first->offset, capture->shift,
			   limit ? limit * size : 1);
	follow_elements(program, capture, element, first, length, level);
}

static void array_content(struct program *program, struct capture *capture,
			  const struct value_type *type, unsigned int level)
{
	const struct place first = { .cell = (uint8_t)level, .offset = ARRAY_FIRST };
	const struct place length = { .cell = (uint8_t)level, .offset = OBJECT_LENGTH };

	elements_content(program, capture, type->element, &first, &length, level);
}

static void span_content(struct program *program, struct capture *capture,
			 const struct value_type *type, const struct place *place,
			 unsigned int level)
{
	const struct place first = { .cell = (uint8_t)level };
	struct place length = *place;

	length.offset += POINTER_BYTES;
	elements_content(program, capture, type->element, &first, &length, level);
}

static void reference_content(struct program *program, struct capture *capture,
			      const struct value_type *type, unsigned int level, unsigned int depth)
{
	const struct place place = { .cell = (uint8_t)level };

	if (!type->element || type->element->size == 0)
		return;
	capture->content = program_slot(program);
	program_copy(program, capture->content, level, 0, type->element->size);
	if (!leads_on(type->element, NESTING_MAX))
		return;
	capture->parts = value_types_take(program->watch->memory, sizeof(*capture->parts));
	if (!capture->parts)
		return;
	capture->part_count = 1;
	capture_content(program, capture->parts, type->element, &place, level + 1, depth);
}

static void pointed_content(struct program *program, struct capture *capture,
			    const struct value_type *type, const struct place *place,
			    unsigned int level, unsigned int depth)
{
	switch (type->kind) {
	case VALUE_STRING:
		string_content(program, capture, level);
		break;
	case VALUE_CSTRING:
		cstring_content(program, capture, level);
		break;
	case VALUE_OBJECT:
		object_content(program, capture, type, level, depth);
		break;
	case VALUE_ARRAY:
		array_content(program, capture, type, level);
		break;
	case VALUE_REFERENCE:
		reference_content(program, capture, type, level, depth);
		break;
	case VALUE_SPAN:
		span_content(program, capture, type, place, level);
		break;
	default:
		break;
	}
}

/* Follow the address at @place. What does not fit into the program leaves nothing of it there. */
static void follow(struct program *program, struct capture *capture, const struct value_type *type,
		   const struct place *place, unsigned int level, unsigned int depth)
{
	size_t from = program->count;
	uint16_t slots = program->slots;

	if (level >= CELL_LEVELS || program->full ||
	    !program_load(program, place, level, POINTER_BYTES, WATCH_NO_SLOT,
			  program_end_of(level))) {
		program->count = from;
		program->full = false;
		return;
	}
	program_if_zero(program, level, program_end_of(level));
	pointed_content(program, capture, type, place, level, depth);
	if (program->full) {
		program->count = from;
		program->slots = slots;
		program->full = false;
		*capture = (struct capture){ .offset = capture->offset,
					     .content = WATCH_NO_SLOT,
					     .chars = WATCH_NO_SLOT };
	}
	program_set_ends(program, from, level);
}

void capture_content(struct program *program, struct capture *capture,
		     const struct value_type *type, const struct place *place, unsigned int level,
		     unsigned int depth)
{
	capture->content = WATCH_NO_SLOT;
	capture->chars = WATCH_NO_SLOT;
	capture->kind = type->kind;
	if (type->kind == VALUE_STRUCT && leads_on(type, NESTING_MAX))
		fields_content(program, capture, type, place, 0, level, depth);
	else if (capture_is_pointer(type) || type->kind == VALUE_SPAN)
		follow(program, capture, type, place, level, depth);
}

static const struct value_type any_object = {
	.kind = VALUE_OBJECT,
	.name = "object",
	.size = POINTER_BYTES,
};

/* The first words, as the runtime puts references there; what is none is not looked at. */
void capture_words(struct program *program, struct capture *capture, const struct place *at,
		   unsigned int level)
{
	size_t from = program->count;
	struct capture *parts =
		value_types_take(program->watch->memory, CAPTURE_WORDS * sizeof(struct capture));

	if (!has_room(program, OPS_OF_OBJECT) ||
	    !program_load(program, at, level, POINTER_BYTES, WATCH_NO_SLOT, program_end_of(level)))
		return;
	program_if_zero(program, level, program_end_of(level));
	capture->parts = parts;
	for (uint32_t i = 0; parts && i < CAPTURE_WORDS && has_room(program, OPS_OF_OBJECT); i++) {
		const struct place place = {
			.cell = (uint8_t)level,
			.offset = OBJECT_HEADER + i * POINTER_BYTES,
		};

		parts[i].offset = place.offset;
		capture->part_count = i + 1;
		capture_content(program, &parts[i], &any_object, &place, level + 1, 0);
	}
	program_set_ends(program, from, level);
}

/* Of an object whose address is in the cell of @level. */
static void variant_content(struct program *program, struct capture *variant,
			    const struct value_type *type, unsigned int level)
{
	bool boxed = type->kind == VALUE_STRUCT;
	const struct place place = {
		.cell = (uint8_t)level,
		.offset = boxed ? OBJECT_HEADER : 0,
	};

	if (type->kind == VALUE_ARRAY)
		array_content(program, variant, type, level);
	else
		fields_content(program, variant, type, &place, boxed ? 0 : OBJECT_HEADER, level + 1,
			       program->watch->options.depth - 1);
}

/* What is where in a struct is counted from its own bytes, not from those of the object. */
static struct capture new_variant(const struct capture *capture, const struct value_type *type,
				  uint64_t handle)
{
	return (struct capture){
		.offset = capture->offset,
		.kind = type->kind,
		.content = WATCH_NO_SLOT,
		.chars = WATCH_NO_SLOT,
		.whole = capture->whole,
		.handle = handle,
		.base = type->kind == VALUE_OBJECT ? capture : NULL,
	};
}

void capture_variant(struct program *program, struct capture *capture,
		     const struct value_type *type, uint64_t handle, const struct place *at,
		     unsigned int level)
{
	struct capture *variant = &capture->variants[capture->variant_count];
	size_t from = program->count;
	uint16_t slots = program->slots;

	*variant = new_variant(capture, type, handle);
	program_load(program, at, level, POINTER_BYTES, WATCH_NO_SLOT, program_end_of(level));
	program_if_zero(program, level, program_end_of(level));
	load_table(program, WATCH_NO_SLOT, level);
	if (program_add(program, WATCH_IF_EQUAL, .src = CELL_SCRATCH, .immediate = handle,
			.otherwise = program_end_of(level)))
		variant_content(program, variant, type, level);
	program_set_ends(program, from, level);
	if (!program->full) {
		capture->variant_count++;
		return;
	}
	program->count = from;
	program->slots = slots;
	program->full = false;
}

bool capture_lacks(const struct value_watch *watch, const struct capture *capture,
		   const struct value_type *type)
{
	if (type->kind == VALUE_ARRAY)
		return type->element && type->element->size;
	if (type->kind == VALUE_STRUCT)
		return leads_on(type, NESTING_MAX);
	for (size_t i = 0; type->kind == VALUE_OBJECT && i < type->field_count; i++) {
		const struct value_field *field = &type->fields[i];

		if (i < CAPTURE_FIELDS_MAX && leads_on(field->type, NESTING_MAX) &&
		    !capture_redacts(watch, field->name) &&
		    !is_captured(capture, field->type, OBJECT_HEADER + field->offset))
			return true;
	}
	return false;
}
