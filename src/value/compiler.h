/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What filter.c, operand.c and by.c share: a program that is being made of an expression. Tests go
 * on where they hold and jump where they do not; jumps name labels until all of it is there.
 */
#ifndef VALUE_COMPILER_H
#define VALUE_COMPILER_H

#include "filter/filter.h"
#include "value/capture.h"
#include "value/filter.h"

enum {
	COMPILER_LABELS = 8 * FILTER_NODES,
	COMPILER_UNDECIDED = 0,	 /* the label where something could not be read */
	COMPILER_JUMPS = 0x8000, /* jumps are to this + a label, until it is known where that is */

	/* Cells: of the operand, or what leads to it; the bits of a filter are in another. */
	COMPILER_VALUE = 0,
	COMPILER_LENGTH = 1,
};

struct compiler {
	const struct filter *filter;
	const struct value_signature *signature;
	const char *method;
	struct value_filter *out; /* whose constants are used; or NULL */
	struct program program;
	uint16_t labels[COMPILER_LABELS];
	size_t label_count;
	struct error *err;
};

/* With its first label, COMPILER_UNDECIDED. */
void compiler_init(struct compiler *compiler, const struct filter *filter, const char *method,
		   const struct value_signature *signature, struct error *err);

size_t compiler_label(struct compiler *compiler);

/* For .otherwise of an op. */
static inline uint16_t compiler_jump(size_t label)
{
	return (uint16_t)(COMPILER_JUMPS + label);
}

/* The next op is where jumps to @label go. */
void compiler_set_label(struct compiler *compiler, size_t label);

void compiler_add_test(struct compiler *compiler, enum watch_code code, uint8_t cell,
		       uint64_t immediate, size_t otherwise);
void compiler_add_jump(struct compiler *compiler, size_t label);
void compiler_add_change(struct compiler *compiler, enum watch_code code, uint64_t immediate);
void compiler_add_end(struct compiler *compiler, enum watch_code code, size_t label);

/* COMPILER_VALUE, of which the most is @most, is so to @value, or it goes to @otherwise. */
void compiler_add_order(struct compiler *compiler, enum filter_order order, uint64_t value,
			uint64_t most, size_t otherwise);

/* COMPILER_VALUE = a word of @source. */
void compiler_take(struct compiler *compiler, enum watch_source source);

/* Cell @dst = @size bytes of @place; false: they are in no register that can be read. */
bool compiler_load(struct compiler *compiler, const struct place *place, uint8_t dst,
		   uint32_t size);

/*
 * All labels are set: the ops, in @ops, of which there are @count. -EINVAL with the error set: they
 * are more than a program has.
 */
int compiler_finish(struct compiler *compiler, struct watch_op ops[WATCH_OPS], size_t *count);

/* -EINVAL with the error set: at character @at of the filter there is @what. */
static inline int compiler_refuse_what(struct compiler *compiler, size_t at, const char *what)
{
	return filter_refuse(compiler->filter, at, what, compiler->err);
}

/* Likewise: "METHOD " and what @format makes of @name. */
int compiler_refuse(struct compiler *compiler, size_t at, const char *format, const char *name);

static inline uint64_t compiler_mask(uint32_t size)
{
	return size >= 8 ? UINT64_MAX : (1ULL << 8 * size) - 1;
}

/*
 * What @node asks of the call itself: took, threw, thread. Where it is not so, to @otherwise.
 * -EINVAL as above.
 */
int filter_compare_call(struct compiler *compiler, const struct filter_node *node,
			size_t otherwise);

/* What an expression names. */
struct operand {
	struct place place;
	const struct value_type *type;
	bool length; /* of what is there */
};

/*
 * What the path of @node leads to; the program goes there, and jumps to @otherwise if a null is on
 * the way. -EINVAL as above. @follow_reference: what a `ref` leads to, not the reference.
 */
int operand_find(struct compiler *compiler, const struct filter_node *node, bool follow_reference,
		 struct operand *operand, size_t otherwise);

/* To what the operand leads, which is at @offset from there; a null makes it false. */
bool operand_follow(struct compiler *compiler, struct operand *operand, uint32_t offset,
		    size_t otherwise);

/* -EINVAL as above: what the expression calls @name cannot be loaded, or has no room. */
int operand_refuse_place(struct compiler *compiler, const struct filter_node *node,
			 const char *name);

/* Likewise: the operand is a float, which is not compared; in a register it cannot be read. */
int operand_refuse_float(struct compiler *compiler, const struct filter_node *node,
			 const struct operand *operand);

bool operand_is_number(const struct value_type *type);

/* Of what is compared or printed of @operand. */
const struct value_type *operand_type(const struct operand *operand);

#endif
