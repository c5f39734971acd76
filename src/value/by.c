// SPDX-License-Identifier: GPL-2.0-or-later
/* See by.h. */
#include "value/by.h"

#include <string.h>

#include "base/error.h"
#include "value/compiler.h"
#include "value/print.h"

/* The program ---------------------------------------------------------------------------------- */

static bool is_string(const struct operand *operand)
{
	return !operand->length &&
	       (operand->type->kind == VALUE_STRING || operand->type->kind == VALUE_CSTRING);
}

/* The item, of slot BY_VALUE; what cannot be read makes none that is whole. */
static struct watch_op *add_item(struct compiler *compiler, enum watch_code code, uint32_t size)
{
	return program_add_item(&compiler->program, code, BY_VALUE, .src = COMPILER_VALUE,
				.dst = COMPILER_LENGTH, .size = (uint16_t)size,
				.otherwise = compiler_jump(COMPILER_UNDECIDED));
}

static void take_string(struct compiler *compiler, const struct value_type *type, uint32_t bytes)
{
	const struct place length = { .cell = COMPILER_VALUE, .offset = OBJECT_LENGTH };
	struct watch_op *op;

	if (type->kind == VALUE_CSTRING) {
		add_item(compiler, WATCH_COPY_CSTRING, bytes);
		return;
	}
	(void)compiler_load(compiler, &length, COMPILER_LENGTH, 4);
	op = add_item(compiler, WATCH_COPY_TIMES, bytes & ~1U);
	if (op) {
		op->offset = STRING_CHARS;
		op->immediate = 1;
	}
}

static int take_value(struct compiler *compiler, const struct filter_node *node,
		      struct operand *operand, uint32_t string_bytes, size_t null)
{
	const struct value_type *type = operand_type(operand);

	if (is_string(operand)) {
		if (!operand_follow(compiler, operand, 0, null))
			return operand_refuse_place(compiler, node, node->path[0]);
		take_string(compiler, type, string_bytes);
		return 0;
	}
	if (!operand_is_number(type) || type->size == 0 || type->size > 8)
		return compiler_refuse(
			compiler, node->at,
			"has a '%s' there: calls are told apart by whole numbers, enums, bools, characters and strings",
			type->name);
	if (!compiler_load(compiler, &operand->place, COMPILER_VALUE, type->size))
		return operand_refuse_place(compiler, node, node->path[0]);
	compiler_add_change(compiler, WATCH_MASK, compiler_mask(type->size));
	add_item(compiler, WATCH_PUT, type->size);
	return 0;
}

/* What has such a name is not shown, and a count of its values would be. */
static int check_redacted(struct compiler *compiler, const struct filter_node *node,
			  const struct value_options *options)
{
	for (size_t i = 0; i < node->path_count; i++) {
		if (options->redacts && options->redacts(options->ctx, node->path[i]))
			return compiler_refuse_what(
				compiler, node->at,
				"there is a name whose values are not shown (--redact)");
	}
	return 0;
}

int value_by_compile(struct value_by *out, const struct filter *filter, const char *method,
		     const struct value_signature *signature, const struct value_options *options,
		     struct error *err)
{
	const struct filter_node *node = &filter->nodes[filter->root];
	struct operand operand = { .type = NULL };
	struct compiler compiler;
	size_t null;
	int result;

	*out = (struct value_by){ .at_end = node->operand == FILTER_RESULT };
	compiler_init(&compiler, filter, method, signature, err);
	compiler.program.at_exit = out->at_end;
	null = compiler_label(&compiler);
	if (signature->why)
		return compiler_refuse(&compiler, 1, "is not known well enough: %s",
				       signature->why);
	result = check_redacted(&compiler, node, options);
	if (result == 0)
		result = operand_find(&compiler, node, true, &operand, null);
	if (result == 0)
		result = take_value(&compiler, node, &operand, options->string_bytes, null);
	if (result)
		return result;
	compiler_add_jump(&compiler, COMPILER_UNDECIDED);
	compiler_set_label(&compiler, null);
	program_add_item(&compiler.program, WATCH_PUT, BY_NULL, .src = CELL_ZERO, .size = 1);
	/* Where it ends. */
	compiler_set_label(&compiler, COMPILER_UNDECIDED);
	out->type = operand_type(&operand);
	return compiler_finish(&compiler, out->ops, &out->count);
}

/* Text ----------------------------------------------------------------------------------------- */

static void add_string(struct printer *printer, const struct value_type *type,
		       const struct by_key *key, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)key->words;

	print_value_key(printer);
	text_add_char(printer->out, '"');
	if (type->kind == VALUE_CSTRING)
		print_bytes(printer->out, bytes, strnlen((const char *)bytes, size));
	else
		print_utf16(printer->out, bytes, size / 2);
	text_add_char(printer->out, '"');
	if (key->cut)
		text_add(printer->out, printer->json ? ",\"cut\":true" : "…");
}

void value_by_add(const struct value_type *type, const struct by_key *key, enum value_format format,
		  struct text *out)
{
	struct printer printer = { .out = out, .json = format == VALUE_JSON };
	size_t size = key->bytes < sizeof(key->words) ? key->bytes : sizeof(key->words);
	const struct view view = { .bytes = (const uint8_t *)key->words, .size = size };

	text_add(out, printer.json ? "{" : "");
	if (key->kind == BY_NULL) {
		print_type(&printer, type->name);
		print_value_key(&printer);
		text_add(out, "null");
	} else if (type->kind == VALUE_STRING || type->kind == VALUE_CSTRING) {
		print_type(&printer, type->name);
		add_string(&printer, type, key, size);
	} else {
		print_value(&printer, type, &view, NULL);
	}
	text_add(out, printer.json ? "}" : "");
}
