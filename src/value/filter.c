// SPDX-License-Identifier: GPL-2.0-or-later
/* See filter.h. */
#include "value/filter.h"

#include <string.h>

#include "base/error.h"
#include "value/compiler.h"

/* What a filter at an entry has, as bpf/filter.bpf.h numbers its cells. */
_Static_assert((int)COMPILER_LENGTH < (int)FILTER_CELLS - 1 &&
		       (int)WATCH_BITS_CELL < (int)FILTER_CELLS - 1 &&
		       (int)CELL_ZERO % (int)FILTER_CELLS == (int)FILTER_CELLS - 1,
	       "what is set is not the cell that stays 0");

/* Numbers --------------------------------------------------------------------------------- */

/* Of enums, as the runtime or as the debug information tells it. */
static bool is_signed(const struct value_type *type)
{
	const struct value_type *element = type->element;

	if (type->kind == VALUE_ENUM)
		return type->is_signed || (element && element->kind == VALUE_SIGNED);
	return type->kind == VALUE_SIGNED;
}

/* Does the number fit in so many bits? Then it is as it is there. */
static bool fits(const struct filter_node *node, uint32_t size, bool with_sign, uint64_t *value)
{
	uint64_t most = with_sign ? compiler_mask(size) >> 1 : compiler_mask(size);
	uint64_t least = with_sign ? most + 1 : 0; /* how far below 0 */

	*value = node->negative ? 0 - node->number : node->number;
	*value &= compiler_mask(size);
	return node->negative ? node->number <= least : node->number <= most;
}

static bool find_member(const struct value_type *type, const char *name, uint64_t *value)
{
	for (size_t i = 0; i < type->member_count; i++) {
		if (strcmp(type->members[i].name, name) == 0) {
			*value = type->members[i].value;
			return true;
		}
	}
	return false;
}

static int number_of(struct compiler *compiler, const struct filter_node *node,
		     const struct value_type *type, uint64_t *value)
{
	switch (node->literal) {
	case FILTER_NUMBER:
		if (type->kind == VALUE_BOOL || !fits(node, type->size, is_signed(type), value))
			return compiler_refuse(compiler, node->literal_at,
					       "has a '%s' there, which cannot be that",
					       type->name);
		return 0;
	case FILTER_WORD:
		if (type->kind != VALUE_ENUM || !find_member(type, node->text, value))
			return compiler_refuse(compiler, node->literal_at,
					       "has no '%s' to be there", node->text);
		*value &= compiler_mask(type->size);
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
	return compiler_refuse(compiler, node->literal_at,
			       "has a '%s' there, which is compared otherwise", type->name);
}

/* Signed numbers are moved, so that the least is 0: the machine compares unsigned ones. */
static void move_signed(struct compiler *compiler, uint32_t size, uint64_t *value)
{
	uint64_t half = 1ULL << (8 * size - 1);

	compiler_add_change(compiler, WATCH_ADD, half);
	*value = (*value + half) & compiler_mask(size);
}

static int compare_number(struct compiler *compiler, const struct filter_node *node,
			  const struct operand *operand, size_t otherwise)
{
	const struct value_type *type = operand_type(operand);
	uint64_t value = 0;
	int result = number_of(compiler, node, type, &value);

	if (result)
		return result;
	if (type->size == 0 || type->size > 8 ||
	    !compiler_load(compiler, &operand->place, COMPILER_VALUE, type->size))
		return operand_refuse_place(compiler, node, node->path[0]);
	if (is_signed(type))
		move_signed(compiler, type->size, &value);
	/* What is above it in a register is anything. */
	compiler_add_change(compiler, WATCH_MASK, compiler_mask(type->size));
	compiler_add_order(compiler, node->order, value, compiler_mask(type->size), otherwise);
	return 0;
}

/* Strings --------------------------------------------------------------------------------- */

static bool add_unit(struct watch_constant *constant, size_t *size, uint32_t unit)
{
	if (*size + 2 > WATCH_CONSTANT)
		return false;
	constant->bytes[(*size)++] = (uint8_t)unit;
	constant->bytes[(*size)++] = (uint8_t)(unit >> 8);
	return true;
}

/* One character of UTF-8, which the command line may not be; then its bytes are characters. */
static uint32_t take_character(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	uint32_t more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
	uint32_t c = more ? s[0] & (0x3fU >> more) : s[0];

	for (uint32_t i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			*text += 1;
			return s[0];
		}
		c = c << 6 | (s[i] & 0x3f);
	}
	*text += more + 1;
	return c;
}

/*
 * @text, of @size bytes, as .NET has it, or as C does, with the NUL that ends it. False: it is too
 * long. @size is 0 before.
 */
static bool as_utf16(const char *text, struct watch_constant *constant, size_t *size)
{
	bool room = true;

	while (*text && room) {
		uint32_t c = take_character(&text);

		if (c >= 0x10000) {
			room = add_unit(constant, size, 0xd800 + ((c - 0x10000) >> 10 & 0x3ff));
			c = 0xdc00 + ((c - 0x10000) & 0x3ff);
		}
		room = room && add_unit(constant, size, c);
	}
	return room;
}

static bool as_bytes(const char *text, struct watch_constant *constant, size_t *size)
{
	*size = strlen(text) + 1;
	if (*size > WATCH_CONSTANT)
		return false;
	memcpy(constant->bytes, text, *size);
	return true;
}

static int compare_equal_string(struct compiler *compiler, const struct filter_node *node,
				struct operand *operand, size_t otherwise)
{
	struct value_filter *out = compiler->out;
	bool utf16 = operand->type->kind == VALUE_STRING;
	struct watch_constant *constant = &out->constants[out->constant_count];
	size_t size = 0;

	if (out->constant_count == VALUE_FILTER_CONSTANTS)
		return compiler_refuse(compiler, node->literal_at, "is compared with too many %s",
				       "strings");
	*constant = (struct watch_constant){ 0 };
	if (!(utf16 ? as_utf16(node->text, constant, &size) :
		      as_bytes(node->text, constant, &size)))
		return compiler_refuse(compiler, node->literal_at,
				       "is compared with a string that is too long%s", "");
	if (!operand_follow(compiler, operand, 0, otherwise))
		return operand_refuse_place(compiler, node, node->path[0]);
	if (utf16) {
		const struct place length = { .cell = COMPILER_VALUE, .offset = OBJECT_LENGTH };

		compiler_load(compiler, &length, COMPILER_LENGTH, 4);
		compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_LENGTH, size / 2, otherwise);
	}
	if (size)
		program_add(&compiler->program, WATCH_IF_SAME_BYTES, .src = COMPILER_VALUE,
			    .size = (uint16_t)size, .offset = utf16 ? STRING_CHARS : 0,
			    .immediate = out->constant_count++,
			    .otherwise = compiler_jump(otherwise));
	return 0;
}

static int compare_null(struct compiler *compiler, const struct filter_node *node,
			const struct operand *operand, size_t otherwise)
{
	if (!compiler_load(compiler, &operand->place, COMPILER_VALUE, POINTER_BYTES))
		return operand_refuse_place(compiler, node, node->path[0]);
	compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_VALUE, 0, otherwise);
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
		return compiler_refuse(
			compiler, node->at,
			"has a '%s' there: that is equal (==) to something or not (!=)",
			operand->type->name);
	if (is_pointer && node->literal == FILTER_NULL)
		return compare_null(compiler, node, operand, otherwise);
	if (is_string && node->literal == FILTER_STRING)
		return compare_equal_string(compiler, node, operand, otherwise);
	return compiler_refuse(compiler, node->literal_at,
			       "has a '%s' there, which is compared otherwise",
			       operand->type->name);
}

static int compile_compare(struct compiler *compiler, const struct filter_node *node,
			   size_t otherwise)
{
	size_t differs = compiler_label(compiler);
	struct operand operand = { .type = NULL };
	int result;

	if (node->operand != FILTER_PARAMETER && node->operand != FILTER_RESULT)
		return filter_compare_call(compiler, node, otherwise);
	result = operand_find(compiler, node, node->literal != FILTER_NULL, &operand, otherwise);
	if (result || !operand.type)
		return result;
	if (!operand.length && operand.type->kind == VALUE_FLOAT)
		return operand_refuse_float(compiler, node, &operand);
	if (operand.length || operand_is_number(operand.type))
		return compare_number(compiler, node, &operand, otherwise);
	if (node->order != FILTER_NOT_EQUAL)
		return compare_other(compiler, node, &operand, otherwise);
	result = compare_other(compiler, node, &operand, differs);
	compiler_add_jump(compiler, otherwise);
	compiler_set_label(compiler, differs);
	return result;
}

/* All ------------------------------------------------------------------------------------- */

/*
 * Parts of a condition that are about the entry alone have a bit each, in the order of the tree.
 * The entry finds out all of them, and whether that is enough, whatever the end brings: it is not
 * if the condition could still hold, were all that is open true, and not if all of it were false.
 * Then the end has the bits, and finds out the rest.
 */
enum open_is {
	OPEN_TESTED, /* at the end */
	OPEN_FALSE,
	OPEN_TRUE,
};

enum { BITS = 32, NO_BIT = 0xff };

struct compilation {
	struct compiler compiler;
	uint8_t bits[FILTER_NODES]; /* of a part; NO_BIT: it is none */
	uint8_t bit_count;
	bool in_parts;
	enum open_is open;
};

static int compile(struct compilation *is, size_t number, size_t otherwise);

static int compile_or(struct compilation *is, const struct filter_node *node, size_t otherwise)
{
	struct compiler *compiler = &is->compiler;
	size_t other = compiler_label(compiler), holds = compiler_label(compiler);
	int result = compile(is, node->left, other);

	compiler_add_jump(compiler, holds);
	compiler_set_label(compiler, other);
	if (result == 0)
		result = compile(is, node->right, otherwise);
	compiler_set_label(compiler, holds);
	return result;
}

static enum open_is opposite(enum open_is open)
{
	return open == OPEN_TESTED ? OPEN_TESTED : open == OPEN_TRUE ? OPEN_FALSE : OPEN_TRUE;
}

static int compile_not(struct compilation *is, const struct filter_node *node, size_t otherwise)
{
	struct compiler *compiler = &is->compiler;
	size_t holds = compiler_label(compiler);
	int result;

	is->open = opposite(is->open);
	result = compile(is, node->left, holds);
	is->open = opposite(is->open);
	compiler_add_jump(compiler, otherwise);
	compiler_set_label(compiler, holds);
	return result;
}

static int compile(struct compilation *is, size_t number, size_t otherwise)
{
	const struct filter_node *node = &is->compiler.filter->nodes[number];
	int result;

	if (is->in_parts && is->bits[number] != NO_BIT) {
		program_add(&is->compiler.program, WATCH_MASK, .dst = COMPILER_VALUE,
			    .src = WATCH_BITS_CELL, .immediate = 1ULL << is->bits[number]);
		compiler_add_test(&is->compiler, WATCH_IF_ZERO, COMPILER_VALUE, 0, otherwise);
		return 0;
	}
	switch (node->kind) {
	case FILTER_COMPARE:
		if (is->open == OPEN_TESTED || !filter_is_of_end(is->compiler.filter, number))
			return compile_compare(&is->compiler, node, otherwise);
		if (is->open == OPEN_FALSE)
			compiler_add_jump(&is->compiler, otherwise);
		return 0;
	case FILTER_AND:
		result = compile(is, node->left, otherwise);
		return result ? result : compile(is, node->right, otherwise);
	case FILTER_OR:
		return compile_or(is, node, otherwise);
	default:
		return compile_not(is, node, otherwise);
	}
}

/* All that is left: the condition at the root, and what is said where it does not hold. */
static int compile_root(struct compilation *is, enum watch_code otherwise,
			struct watch_op ops[WATCH_OPS], size_t *count)
{
	struct compiler *compiler = &is->compiler;
	size_t differs = compiler_label(compiler), holds = compiler_label(compiler);
	int result = compile(is, compiler->filter->root, differs);

	compiler_add_end(compiler, WATCH_ACCEPT, holds);
	compiler_add_end(compiler, otherwise, differs);
	compiler_add_end(compiler, WATCH_UNDECIDED, COMPILER_UNDECIDED);
	return result ? result : compiler_finish(compiler, ops, count);
}

/* Find out the part at @number, and keep its bit. */
static int compile_part(struct compilation *is, size_t number)
{
	struct compiler *compiler = &is->compiler;
	size_t differs = compiler_label(compiler);
	int result;

	is->bits[number] = NO_BIT;
	result = compile(is, number, differs);
	program_add(&compiler->program, WATCH_ADD, .dst = WATCH_BITS_CELL, .src = WATCH_BITS_CELL,
		    .immediate = 1ULL << is->bit_count);
	compiler_set_label(compiler, differs);
	is->bits[number] = is->bit_count++;
	return result;
}

static int compile_parts(struct compilation *is, size_t number)
{
	const struct filter_node *node = &is->compiler.filter->nodes[number];
	int result;

	if (!filter_is_of_end(is->compiler.filter, number)) {
		if (is->bit_count == BITS)
			return compiler_refuse(&is->compiler, 1, "has more than %s conditions",
					       "32");
		return compile_part(is, number);
	}
	if (node->kind == FILTER_COMPARE)
		return 0;
	result = compile_parts(is, node->left);
	if (result || node->kind == FILTER_NOT)
		return result;
	return compile_parts(is, node->right);
}

static int compile_entry(struct compilation *is, struct value_filter *out)
{
	struct compiler *compiler = &is->compiler;
	size_t open, refused;
	int result = compile_parts(is, compiler->filter->root);

	if (result)
		return result;
	is->in_parts = true;
	is->open = OPEN_TRUE;
	open = compiler_label(compiler);
	refused = compiler_label(compiler);
	result = compile(is, compiler->filter->root, refused);
	compiler_add_jump(compiler, open);
	compiler_add_end(compiler, WATCH_REJECT, refused);
	compiler_set_label(compiler, open);
	is->open = OPEN_FALSE;
	return result ? result : compile_root(is, WATCH_LATER, out->ops, &out->count);
}

static int compile_exit(struct compilation *is, struct value_filter *out)
{
	struct program *program = &is->compiler.program;

	program_add(program, WATCH_TAKE, .dst = WATCH_BITS_CELL, .source = WATCH_DECIDED);
	program->at_exit = true;
	return compile_root(is, WATCH_REJECT, out->exit_ops, &out->exit_count);
}

int value_filter_compile(struct value_filter *out, const struct filter *filter, const char *method,
			 const struct value_signature *signature, struct error *err)
{
	struct compilation is = { .open = OPEN_TESTED };
	struct compiler fresh;
	int result;

	*out = (struct value_filter){ 0 };
	compiler_init(&fresh, filter, method, signature, err);
	fresh.out = out;
	if (signature->why)
		return compiler_refuse(&fresh, 1, "is not known well enough: %s", signature->why);
	memset(is.bits, NO_BIT, sizeof(is.bits));
	is.compiler = fresh;
	if (!filter_is_of_end(filter, filter->root))
		return compile_root(&is, WATCH_REJECT, out->ops, &out->count);
	result = compile_entry(&is, out);
	is.compiler = fresh;
	is.open = OPEN_TESTED;
	return result ? result : compile_exit(&is, out);
}
