// SPDX-License-Identifier: GPL-2.0-or-later
/* What expressions of --if and --by name, and how a program comes to it: see compiler.h. */
#include "value/compiler.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "value/convention.h"

void compiler_init(struct compiler *compiler, const struct filter *filter, const char *method,
		   const struct value_signature *signature, struct error *err)
{
	*compiler = (struct compiler){
		.filter = filter,
		.signature = signature,
		.method = method,
		.label_count = COMPILER_UNDECIDED + 1,
		.err = err,
	};
}

size_t compiler_label(struct compiler *compiler)
{
	return compiler->label_count < COMPILER_LABELS ? compiler->label_count++ : 0;
}

void compiler_set_label(struct compiler *compiler, size_t label)
{
	compiler->labels[label] = (uint16_t)compiler->program.count;
}

int compiler_refuse(struct compiler *compiler, size_t at, const char *format, const char *name)
{
	_cleanup_(text_deinit) struct text what = { 0 };

	text_add(&what, compiler->method);
	text_add(&what, " ");
	text_printf(&what, format, name);
	return compiler_refuse_what(compiler, at, text_chars(&what));
}

static int refuse_length(struct compiler *compiler)
{
	return compiler_refuse(compiler, 1, "would take more than %s for all of it", "192 steps");
}

/* Ops ------------------------------------------------------------------------------------- */

void compiler_add_test(struct compiler *compiler, enum watch_code code, uint8_t cell,
		       uint64_t immediate, size_t otherwise)
{
	program_add(&compiler->program, code, .src = cell, .immediate = immediate,
		    .otherwise = compiler_jump(otherwise));
}

/* A cell that nothing has set is 0. */
void compiler_add_jump(struct compiler *compiler, size_t label)
{
	compiler_add_test(compiler, WATCH_IF_ZERO, CELL_ZERO, 0, label);
}

void compiler_add_change(struct compiler *compiler, enum watch_code code, uint64_t immediate)
{
	program_add(&compiler->program, code, .dst = COMPILER_VALUE, .src = COMPILER_VALUE,
		    .immediate = immediate);
}

void compiler_add_end(struct compiler *compiler, enum watch_code code, size_t label)
{
	compiler_set_label(compiler, label);
	program_add(&compiler->program, code);
}

void compiler_take(struct compiler *compiler, enum watch_source source)
{
	program_add(&compiler->program, WATCH_TAKE, .dst = COMPILER_VALUE,
		    .source = (uint8_t)source);
}

bool compiler_load(struct compiler *compiler, const struct place *place, uint8_t dst, uint32_t size)
{
	struct place in_memory;

	if (place->slot && program_take_address(&compiler->program, place->slot, dst, &in_memory)) {
		in_memory.offset += place->offset;
		return compiler_load(compiler, &in_memory, dst, size);
	}
	return program_load(&compiler->program, place, dst, (uint16_t)size, WATCH_NO_SLOT,
			    compiler_jump(COMPILER_UNDECIDED));
}

int compiler_finish(struct compiler *compiler, struct watch_op ops[WATCH_OPS], size_t *count)
{
	if (compiler->program.full || compiler->label_count == COMPILER_LABELS)
		return refuse_length(compiler);
	for (size_t i = 0; i < compiler->program.count; i++) {
		struct watch_op *op = &compiler->program.ops[i];

		if (op->otherwise >= COMPILER_JUMPS && op->otherwise != WATCH_END)
			op->otherwise = compiler->labels[op->otherwise - COMPILER_JUMPS];
	}
	*count = compiler->program.count;
	memcpy(ops, compiler->program.ops, sizeof(compiler->program.ops));
	return 0;
}

void compiler_add_order(struct compiler *compiler, enum filter_order order, uint64_t value,
			uint64_t most, size_t otherwise)
{
	size_t holds;

	switch (order) {
	case FILTER_EQUAL:
		compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_VALUE, value, otherwise);
		return;
	case FILTER_LESS:
		compiler_add_test(compiler, WATCH_IF_BELOW, COMPILER_VALUE, value, otherwise);
		return;
	case FILTER_LESS_OR_EQUAL:
		if (value < most)
			compiler_add_test(compiler, WATCH_IF_BELOW, COMPILER_VALUE, value + 1,
					  otherwise);
		return;
	default:
		break;
	}
	/* The opposite, and then the other way round. */
	holds = compiler_label(compiler);
	if (order == FILTER_GREATER && value == most)
		compiler_add_jump(compiler, otherwise);
	else if (order == FILTER_NOT_EQUAL)
		compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_VALUE, value, holds);
	else
		compiler_add_test(compiler, WATCH_IF_BELOW, COMPILER_VALUE,
				  order == FILTER_GREATER ? value + 1 : value, holds);
	compiler_add_jump(compiler, otherwise);
	compiler_set_label(compiler, holds);
}

/* Operands -------------------------------------------------------------------------------- */

/* A name that there is not, with those that there are. */
static int refuse_parameter(struct compiler *compiler, const struct filter_node *node)
{
	const struct value_signature *signature = compiler->signature;
	_cleanup_(text_deinit) struct text what = { 0 };

	text_printf(&what, "'%s' is no parameter of %s, which has ", node->path[0],
		    compiler->method);
	for (size_t i = 0; i < signature->argument_count; i++)
		text_printf(&what, "%s%s", i ? ", " : "", signature->arguments[i].name);
	text_add(&what, signature->argument_count ? "" : "none");
	return compiler_refuse_what(compiler, node->at, text_chars(&what));
}

static int refuse_field(struct compiler *compiler, const struct filter_node *node,
			const struct value_type *type, const char *name)
{
	_cleanup_(text_deinit) struct text what = { 0 };

	text_printf(&what, "'%s' is no field of '%s', of which are known: ", name, type->name);
	for (size_t i = 0; i < type->field_count; i++)
		text_printf(&what, "%s%s", i ? ", " : "", type->fields[i].name);
	text_add(&what, type->field_count ? "" : "none");
	return compiler_refuse_what(compiler, node->at, text_chars(&what));
}

static const struct value_slot *find_parameter(const struct value_signature *signature,
					       const char *name)
{
	for (size_t i = 0; i < signature->argument_count; i++) {
		if (strcmp(signature->arguments[i].name, name) == 0)
			return &signature->arguments[i];
	}
	return NULL;
}

bool operand_follow(struct compiler *compiler, struct operand *operand, uint32_t offset,
		    size_t otherwise)
{
	if (!compiler_load(compiler, &operand->place, COMPILER_VALUE, POINTER_BYTES))
		return false;
	compiler_add_test(compiler, WATCH_IF_ZERO, COMPILER_VALUE, 0, otherwise);
	operand->place = (struct place){ .cell = COMPILER_VALUE, .offset = offset };
	return true;
}

/* The number of the floating-point register that has it; -1: it is in none. */
static int float_register_of(const struct operand *operand)
{
	const struct value_slot *slot = operand->place.slot;

	for (size_t i = 0; slot && i < slot->part_count && i < VALUE_PARTS; i++) {
		if (slot->parts[i].where == VALUE_IN_FLOAT &&
		    operand->place.offset >= slot->parts[i].offset &&
		    operand->place.offset - slot->parts[i].offset < slot->parts[i].size)
			return (int)slot->parts[i].number;
	}
	return -1;
}

int operand_refuse_float(struct compiler *compiler, const struct filter_node *node,
			 const struct operand *operand)
{
	_cleanup_(text_deinit) struct text name = { 0 };
	int number = float_register_of(operand);

	if (number < 0)
		return compiler_refuse(compiler, node->at,
				       "has a '%s' there, and floating point is not compared",
				       operand->type->name);
	text_printf(&name, "'%s' in %s%d", node->path[node->path_count - 1],
		    convention_float_register, number);
	return compiler_refuse(compiler, node->at,
			       "has %s, which programs in the kernel cannot read",
			       text_chars(&name));
}

int operand_refuse_place(struct compiler *compiler, const struct filter_node *node,
			 const char *name)
{
	return compiler->program.full ? refuse_length(compiler) :
					compiler_refuse(compiler, node->at,
							"has '%s' where it cannot be read", name);
}

static bool is_result_of_task(const struct value_type *type, const struct value_field *field)
{
	return (type->well_known == VALUE_TASK && field->type->kind != VALUE_STATE) ||
	       (type->well_known == VALUE_VALUE_TASK && strcmp(field->name, "_result") == 0);
}

/* Which bits of @state tell whether a task is done, and how. */
static uint64_t bits_of_done(const struct value_type *state, uint64_t *done)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < state->member_count && !*done; i++) {
		bits |= state->members[i].value;
		if (strcmp(state->members[i].name, VALUE_TASK_DONE) == 0)
			*done = state->members[i].value;
	}
	return bits;
}

/* What lies where a task has its result is that once it is done; before, nothing can be said. */
static bool require_done(struct compiler *compiler, const struct operand *task)
{
	bool by_object = task->type->well_known == VALUE_VALUE_TASK;
	const struct value_field *told =
		by_object ? value_type_field(task->type, "_obj") : task->type->fields;
	struct place place = task->place;
	uint64_t done = 0, bits = by_object ? UINT64_MAX : bits_of_done(told->type, &done);

	place.offset += told->offset;
	if (!compiler_load(compiler, &place, COMPILER_LENGTH, told->type->size))
		return false;
	program_mask(&compiler->program, COMPILER_LENGTH, bits);
	compiler_add_test(compiler, WATCH_IF_EQUAL, COMPILER_LENGTH, done, COMPILER_UNDECIDED);
	return true;
}

static int take_field(struct compiler *compiler, const struct filter_node *node, size_t index,
		      struct operand *operand, size_t otherwise)
{
	const char *name = node->path[index];
	const struct value_field *field;
	bool reached = true;

	if (operand->type->kind == VALUE_REFERENCE && operand->type->element) {
		reached = operand_follow(compiler, operand, 0, otherwise);
		operand->type = operand->type->element;
	}
	field = value_type_field(operand->type, name);
	if (reached && strcmp(name, "Length") == 0 &&
	    (operand->type->kind == VALUE_STRING || operand->type->kind == VALUE_ARRAY)) {
		operand->length = operand_follow(compiler, operand, OBJECT_LENGTH, otherwise);
		reached = operand->length;
	} else if (!field) {
		return refuse_field(compiler, node, operand->type, name);
	} else {
		if (reached && operand->type->kind == VALUE_OBJECT)
			reached = operand_follow(compiler, operand, OBJECT_HEADER, otherwise);
		if (reached && is_result_of_task(operand->type, field))
			reached = require_done(compiler, operand);
		operand->place.offset += field->offset;
		operand->type = field->type;
	}
	return reached ? 0 : operand_refuse_place(compiler, node, name);
}

/* Where a call has been left otherwise there is none, of which nothing is so. */
static int find_result(struct compiler *compiler, const struct filter_node *node,
		       const struct value_slot **slot, size_t otherwise)
{
	const struct value_slot *result = &compiler->signature->result;

	if (!result->type || result->type->kind == VALUE_VOID)
		return compiler_refuse(compiler, node->at, "gives nothing back: there is no '%s'",
				       "result");
	compiler_take(compiler, WATCH_HAS_RESULT);
	compiler_add_test(compiler, WATCH_IF_ZERO, COMPILER_VALUE, 0, otherwise);
	*slot = result;
	return 0;
}

static int find_slot(struct compiler *compiler, const struct filter_node *node,
		     const struct value_slot **slot, size_t otherwise)
{
	if (node->operand == FILTER_RESULT)
		return find_result(compiler, node, slot, otherwise);
	*slot = find_parameter(compiler->signature, node->path[0]);
	return *slot ? 0 : refuse_parameter(compiler, node);
}

int operand_find(struct compiler *compiler, const struct filter_node *node, bool follow_reference,
		 struct operand *operand, size_t otherwise)
{
	const struct value_slot *slot = NULL;
	int result = find_slot(compiler, node, &slot, otherwise);

	if (result || !slot)
		return result ? result : -EINVAL;
	*operand = (struct operand){ .place = { .slot = slot }, .type = slot->type };
	for (size_t i = 1; i < node->path_count && result == 0; i++)
		result = operand->length ?
				 compiler_refuse(compiler, node->at, "has nothing '%s' there",
						 node->path[i]) :
				 take_field(compiler, node, i, operand, otherwise);
	if (result == 0 && operand->type->kind == VALUE_REFERENCE && operand->type->element &&
	    follow_reference) {
		const struct value_type *element = operand->type->element;

		if (!operand_follow(compiler, operand, 0, otherwise))
			return operand_refuse_place(compiler, node, node->path[0]);
		operand->type = element;
	}
	return result;
}

bool operand_is_number(const struct value_type *type)
{
	return type->kind == VALUE_SIGNED || type->kind == VALUE_UNSIGNED ||
	       type->kind == VALUE_BOOL || type->kind == VALUE_CHAR || type->kind == VALUE_ENUM;
}

const struct value_type *operand_type(const struct operand *operand)
{
	static const struct value_type length = { .kind = VALUE_UNSIGNED,
						  .name = "int",
						  .size = 4 };

	return operand->length ? &length : operand->type;
}
