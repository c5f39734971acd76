// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See filter.h. A condition becomes tests that go on where it holds and jump where it does not;
 * jumps name labels until all of it is there.
 */
#include "value/filter.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/filter.h"
#include "value/capture.h"
#include "value/filter_text.h"

enum {
	LABELS = 4 * FILTER_NODES,
	LABEL_BASE = 0x8000, /* jumps are to these + a label, until they are known */
	LABEL_UNDECIDED = 0,
	VALUE = 0, /* cells: of the operand, or what leads to it */
	LENGTH = 1,
};

struct compiler {
	const struct filter *filter;
	const struct value_signature *signature;
	const char *method;
	struct value_filter *out;
	struct program program;
	uint16_t labels[LABELS];
	size_t label_count;
	struct error *err;
};

static size_t new_label(struct compiler *compiler)
{
	return compiler->label_count < LABELS ? compiler->label_count++ : 0;
}

static uint16_t jump_to(size_t label)
{
	return (uint16_t)(LABEL_BASE + label);
}

static void set_label(struct compiler *compiler, size_t label)
{
	compiler->labels[label] = (uint16_t)compiler->program.count;
}

static int refuse(struct compiler *compiler, size_t at, const char *format, const char *name)
{
	_cleanup_(text_deinit) struct text what = { 0 };

	text_add(&what, compiler->method);
	text_add(&what, " ");
	text_printf(&what, format, name);
	return filter_refuse(compiler->filter, at, text_chars(&what), compiler->err);
}

/* Ops ------------------------------------------------------------------------------------- */

static void add_test(struct compiler *compiler, enum watch_code code, uint8_t cell,
		     uint64_t immediate, size_t otherwise)
{
	struct watch_op *op = program_add(&compiler->program, code);

	if (!op)
		return;
	op->src = cell;
	op->immediate = immediate;
	op->otherwise = jump_to(otherwise);
}

/* A cell that nothing has set is 0. */
static void add_jump(struct compiler *compiler, size_t label)
{
	add_test(compiler, WATCH_IF_ZERO, CELL_ZERO, 0, label);
}

static void add_change(struct compiler *compiler, enum watch_code code, uint64_t immediate)
{
	struct watch_op *op = program_add(&compiler->program, code);

	if (!op)
		return;
	op->dst = op->src = VALUE;
	op->immediate = immediate;
}

static uint64_t mask_of(uint32_t size)
{
	return size >= 8 ? UINT64_MAX : (1ULL << 8 * size) - 1;
}

/* Cell @dst = @size bytes of @place; false: they are in no register that can be read. */
static bool load(struct compiler *compiler, const struct place *place, uint8_t dst, uint32_t size)
{
	struct place in_memory;

	if (place->slot && program_take_address(&compiler->program, place->slot, dst, &in_memory)) {
		in_memory.offset += place->offset;
		return load(compiler, &in_memory, dst, size);
	}
	return program_load(&compiler->program, place, dst, (uint16_t)size, WATCH_NO_SLOT,
			    jump_to(LABEL_UNDECIDED));
}

/* Operands -------------------------------------------------------------------------------- */

struct operand {
	struct place place;
	const struct value_type *type;
	bool length; /* of what is there */
};

static const struct value_slot *find_parameter(const struct value_signature *signature,
					       const char *name)
{
	for (size_t i = 0; i < signature->argument_count; i++) {
		if (strcmp(signature->arguments[i].name, name) == 0)
			return &signature->arguments[i];
	}
	return NULL;
}

/* To what the operand leads, which is at @offset from there; a null makes it false. */
static bool follow(struct compiler *compiler, struct operand *operand, uint32_t offset,
		   size_t otherwise)
{
	if (!load(compiler, &operand->place, VALUE, POINTER_BYTES))
		return false;
	add_test(compiler, WATCH_IF_ZERO, VALUE, 0, otherwise);
	operand->place = (struct place){ .cell = VALUE, .offset = offset };
	return true;
}

static bool has_length(const struct value_type *type)
{
	return type->kind == VALUE_STRING || type->kind == VALUE_ARRAY;
}

static int take_field(struct compiler *compiler, const struct filter_node *node, size_t index,
		      struct operand *operand, size_t otherwise)
{
	const char *name = node->path[index];
	const struct value_field *field;
	bool reached = true;

	if (operand->type->kind == VALUE_REFERENCE && operand->type->element) {
		reached = follow(compiler, operand, 0, otherwise);
		operand->type = operand->type->element;
	}
	field = filter_find_field(operand->type, name);
	if (reached && has_length(operand->type) && strcmp(name, "Length") == 0) {
		operand->length = follow(compiler, operand, OBJECT_LENGTH, otherwise);
		reached = operand->length;
	} else if (!field) {
		return filter_refuse_field(compiler->filter, node, operand->type, name,
					   compiler->err);
	} else if (reached && operand->type->kind == VALUE_OBJECT) {
		reached = follow(compiler, operand, OBJECT_HEADER + field->offset, otherwise);
		operand->type = field->type;
	} else {
		operand->place.offset += field->offset;
		operand->type = field->type;
	}
	return reached ? 0 : refuse(compiler, node->at, "has '%s' where it cannot be read", name);
}

static int find_operand(struct compiler *compiler, const struct filter_node *node,
			struct operand *operand, size_t otherwise)
{
	const struct value_slot *slot = find_parameter(compiler->signature, node->path[0]);
	int result = 0;

	if (!slot)
		return filter_refuse_parameter(compiler->filter, node, compiler->method,
					       compiler->signature, compiler->err);
	*operand = (struct operand){ .place = { .slot = slot }, .type = slot->type };
	for (size_t i = 1; i < node->path_count && result == 0; i++)
		result = operand->length ? refuse(compiler, node->at, "has nothing '%s' there",
						  node->path[i]) :
					   take_field(compiler, node, i, operand, otherwise);
	if (result == 0 && operand->type->kind == VALUE_REFERENCE && operand->type->element &&
	    node->literal != FILTER_NULL) {
		const struct value_type *element = operand->type->element;

		if (!follow(compiler, operand, 0, otherwise))
			return refuse(compiler, node->at, "has '%s' where it cannot be read",
				      node->path[0]);
		operand->type = element;
	}
	return result;
}

/* Numbers --------------------------------------------------------------------------------- */

static bool is_signed(const struct value_type *type)
{
	return type->kind == VALUE_SIGNED ||
	       (type->kind == VALUE_ENUM && type->element && type->element->kind == VALUE_SIGNED);
}

static bool is_number(const struct value_type *type)
{
	return type->kind == VALUE_SIGNED || type->kind == VALUE_UNSIGNED ||
	       type->kind == VALUE_BOOL || type->kind == VALUE_CHAR || type->kind == VALUE_ENUM;
}

/* Does the number fit in so many bits? Then it is as it is there. */
static bool fits(const struct filter_node *node, uint32_t size, bool with_sign, uint64_t *value)
{
	uint64_t most = with_sign ? mask_of(size) >> 1 : mask_of(size);
	uint64_t least = with_sign ? most + 1 : 0; /* how far below 0 */

	*value = node->negative ? 0 - node->number : node->number;
	*value &= mask_of(size);
	return node->negative ? node->number <= least : node->number <= most;
}

static int number_of(struct compiler *compiler, const struct filter_node *node,
		     const struct value_type *type, uint64_t *value)
{
	switch (node->literal) {
	case FILTER_NUMBER:
		if (type->kind == VALUE_BOOL || !fits(node, type->size, is_signed(type), value))
			return refuse(compiler, node->literal_at,
				      "has a '%s' there, which cannot be that", type->name);
		return 0;
	case FILTER_WORD:
		if (type->kind != VALUE_ENUM || !filter_find_member(type, node->text, value))
			return refuse(compiler, node->literal_at, "has no '%s' to be there",
				      node->text);
		*value &= mask_of(type->size);
		return 0;
	case FILTER_CHAR:
	case FILTER_BOOL:
		*value = node->number;
		if ((type->kind == VALUE_CHAR) == (node->literal == FILTER_CHAR) &&
		    (type->kind == VALUE_BOOL) == (node->literal == FILTER_BOOL))
			return 0;
		break;
	default:
		break;
	}
	return refuse(compiler, node->literal_at, "has a '%s' there, which is compared otherwise",
		      type->name);
}

/* Signed numbers are moved, so that the least is 0: the machine compares unsigned ones. */
static void move_signed(struct compiler *compiler, uint32_t size, uint64_t *value)
{
	uint64_t half = 1ULL << (8 * size - 1);

	add_change(compiler, WATCH_ADD, half);
	*value = (*value + half) & mask_of(size);
}

/* The cell has the number, and goes on where it is so. */
static void add_order(struct compiler *compiler, enum filter_order order, uint64_t value,
		      uint64_t most, size_t otherwise)
{
	size_t holds;

	switch (order) {
	case FILTER_EQUAL:
		add_test(compiler, WATCH_IF_EQUAL, VALUE, value, otherwise);
		return;
	case FILTER_LESS:
		add_test(compiler, WATCH_IF_BELOW, VALUE, value, otherwise);
		return;
	case FILTER_LESS_OR_EQUAL:
		if (value < most)
			add_test(compiler, WATCH_IF_BELOW, VALUE, value + 1, otherwise);
		return;
	default:
		break;
	}
	/* The opposite, and then the other way round. */
	holds = new_label(compiler);
	if (order == FILTER_GREATER && value == most)
		add_jump(compiler, otherwise);
	else if (order == FILTER_NOT_EQUAL)
		add_test(compiler, WATCH_IF_EQUAL, VALUE, value, holds);
	else
		add_test(compiler, WATCH_IF_BELOW, VALUE,
			 order == FILTER_GREATER ? value + 1 : value, holds);
	add_jump(compiler, otherwise);
	set_label(compiler, holds);
}

static int compare_number(struct compiler *compiler, const struct filter_node *node,
			  const struct operand *operand, size_t otherwise)
{
	static const struct value_type length = { .kind = VALUE_UNSIGNED,
						  .name = "int",
						  .size = 4 };
	const struct value_type *type = operand->length ? &length : operand->type;
	uint64_t value = 0;
	int result = number_of(compiler, node, type, &value);

	if (result)
		return result;
	if (type->size == 0 || type->size > 8 ||
	    !load(compiler, &operand->place, VALUE, type->size))
		return refuse(compiler, node->at, "has '%s' where it cannot be read",
			      node->path[0]);
	if (is_signed(type))
		move_signed(compiler, type->size, &value);
	/* What is above it in a register is anything. */
	add_change(compiler, WATCH_MASK, mask_of(type->size));
	add_order(compiler, node->order, value, mask_of(type->size), otherwise);
	return 0;
}

/* Strings --------------------------------------------------------------------------------- */

static void add_same(struct compiler *compiler, size_t number, size_t size, int32_t offset,
		     size_t otherwise)
{
	struct watch_op *op = program_add(&compiler->program, WATCH_IF_SAME_BYTES);

	if (!op)
		return;
	op->src = VALUE;
	op->size = (uint16_t)size;
	op->offset = offset;
	op->immediate = number;
	op->otherwise = jump_to(otherwise);
}

static int compare_equal_string(struct compiler *compiler, const struct filter_node *node,
				struct operand *operand, size_t otherwise)
{
	struct value_filter *out = compiler->out;
	bool utf16 = operand->type->kind == VALUE_STRING;
	struct watch_constant *constant = &out->constants[out->constant_count];
	size_t size = 0;

	if (out->constant_count == VALUE_FILTER_CONSTANTS)
		return refuse(compiler, node->literal_at, "is compared with too many %s",
			      "strings");
	*constant = (struct watch_constant){ 0 };
	if (!(utf16 ? filter_as_utf16(node->text, constant, &size) :
		      filter_as_bytes(node->text, constant, &size)))
		return refuse(compiler, node->literal_at,
			      "is compared with a string that is too long%s", "");
	if (!follow(compiler, operand, 0, otherwise))
		return refuse(compiler, node->at, "has '%s' where it cannot be read",
			      node->path[0]);
	if (utf16) {
		const struct place length = { .cell = VALUE, .offset = OBJECT_LENGTH };

		load(compiler, &length, LENGTH, 4);
		add_test(compiler, WATCH_IF_EQUAL, LENGTH, size / 2, otherwise);
	}
	if (size)
		add_same(compiler, out->constant_count++, size, utf16 ? STRING_CHARS : 0,
			 otherwise);
	return 0;
}

static int compare_null(struct compiler *compiler, const struct filter_node *node,
			const struct operand *operand, size_t otherwise)
{
	if (!load(compiler, &operand->place, VALUE, POINTER_BYTES))
		return refuse(compiler, node->at, "has '%s' where it cannot be read",
			      node->path[0]);
	add_test(compiler, WATCH_IF_EQUAL, VALUE, 0, otherwise);
	return 0;
}

/* What is not a number is equal or not. */
static int compare_other(struct compiler *compiler, const struct filter_node *node,
			 struct operand *operand, size_t otherwise)
{
	bool is_string =
		operand->type->kind == VALUE_STRING || operand->type->kind == VALUE_CSTRING;
	bool is_pointer = capture_is_pointer(operand->type) || operand->type->kind == VALUE_POINTER;

	if (node->order != FILTER_EQUAL && node->order != FILTER_NOT_EQUAL)
		return refuse(compiler, node->at,
			      "has a '%s' there: that is equal (==) to something or not (!=)",
			      operand->type->name);
	if (is_pointer && node->literal == FILTER_NULL)
		return compare_null(compiler, node, operand, otherwise);
	if (is_string && node->literal == FILTER_STRING)
		return compare_equal_string(compiler, node, operand, otherwise);
	return refuse(compiler, node->literal_at, "has a '%s' there, which is compared otherwise",
		      operand->type->name);
}

static int compile_compare(struct compiler *compiler, const struct filter_node *node,
			   size_t otherwise)
{
	size_t differs = new_label(compiler);
	struct operand operand = { .type = NULL };
	int result = find_operand(compiler, node, &operand, otherwise);

	if (result || !operand.type)
		return result;
	if (operand.length || is_number(operand.type))
		return compare_number(compiler, node, &operand, otherwise);
	if (node->order != FILTER_NOT_EQUAL)
		return compare_other(compiler, node, &operand, otherwise);
	result = compare_other(compiler, node, &operand, differs);
	add_jump(compiler, otherwise);
	set_label(compiler, differs);
	return result;
}

/* All ------------------------------------------------------------------------------------- */

static int compile(struct compiler *compiler, size_t number, size_t otherwise)
{
	const struct filter_node *node = &compiler->filter->nodes[number];
	size_t other, holds;
	int result;

	switch (node->kind) {
	case FILTER_COMPARE:
		return compile_compare(compiler, node, otherwise);
	case FILTER_AND:
		result = compile(compiler, node->left, otherwise);
		return result ? result : compile(compiler, node->right, otherwise);
	case FILTER_OR:
		other = new_label(compiler);
		holds = new_label(compiler);
		result = compile(compiler, node->left, other);
		add_jump(compiler, holds);
		set_label(compiler, other);
		if (result == 0)
			result = compile(compiler, node->right, otherwise);
		set_label(compiler, holds);
		return result;
	default:
		holds = new_label(compiler);
		result = compile(compiler, node->left, holds);
		add_jump(compiler, otherwise);
		set_label(compiler, holds);
		return result;
	}
}

static void add_verdict(struct compiler *compiler, enum watch_code code, size_t label)
{
	set_label(compiler, label);
	(void)program_add(&compiler->program, code);
}

static void resolve(struct compiler *compiler)
{
	for (size_t i = 0; i < compiler->program.count; i++) {
		struct watch_op *op = &compiler->program.ops[i];

		if (op->otherwise >= LABEL_BASE && op->otherwise != WATCH_END)
			op->otherwise = compiler->labels[op->otherwise - LABEL_BASE];
	}
	compiler->out->count = compiler->program.count;
	memcpy(compiler->out->ops, compiler->program.ops, sizeof(compiler->out->ops));
}

int value_filter_compile(struct value_filter *out, const struct filter *filter, const char *method,
			 const struct value_signature *signature, struct error *err)
{
	struct compiler compiler = {
		.filter = filter,
		.signature = signature,
		.method = method,
		.out = out,
		.label_count = LABEL_UNDECIDED + 1,
		.err = err,
	};
	size_t rejected = new_label(&compiler), accepted = new_label(&compiler);
	int result;

	*out = (struct value_filter){ 0 };
	if (signature->why)
		return refuse(&compiler, 1, "is not known well enough: %s", signature->why);
	result = compile(&compiler, filter->root, rejected);
	if (result)
		return result;
	add_verdict(&compiler, WATCH_ACCEPT, accepted);
	add_verdict(&compiler, WATCH_REJECT, rejected);
	add_verdict(&compiler, WATCH_UNDECIDED, LABEL_UNDECIDED);
	if (compiler.program.full || compiler.label_count == LABELS)
		return refuse(&compiler, 1, "would take more than %s for all of it", "192 steps");
	resolve(&compiler);
	return 0;
}
