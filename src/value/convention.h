/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions of this machine are passed what they are given and pass what they give back. Each
 * architecture answers in a file that carries its name (arch/x86_64/convention_x86.c). What a
 * runtime does in its own way, and what it passes besides, is its room's.
 */
#ifndef VALUE_CONVENTION_H
#define VALUE_CONVENTION_H

#include "value/value.h"

enum { CONVENTION_WORD = 8 /* bytes */ };

/* What a word of a value is made of decides which kind of register it is passed in. */
enum word_class { WORD_NONE, WORD_FLOAT, WORD_INTEGER };

/* A value, as far as that decides where it is passed. */
struct convention_value {
	enum word_class words[VALUE_PARTS];
	bool in_memory; /* whatever it is made of */
};

/* What the arguments of a call have taken so far. */
struct convention {
	uint32_t integers;
	uint32_t floats;
	uint32_t stack; /* from the stack pointer at the first instruction */
};

/* Is a value of so many bytes passed in memory, whatever it is made of? */
bool convention_is_large(uint32_t size);

/* @value has a number, address or the like of @size bytes at @offset. */
void convention_add_scalar(struct convention_value *value, uint32_t offset, uint32_t size,
			   bool is_float);

/* Of a function that nothing has been passed yet. */
struct convention convention_begin(void);

/* An integer register is taken by what is not in the source. */
void convention_skip(struct convention *taken);

/* Where the next argument, of slot->type and so @value, is at the function's first instruction. */
void convention_take(struct convention *taken, const struct convention_value *value,
		     struct value_slot *slot);

/* Is such a result in a buffer whose address the caller passes as an argument? */
bool convention_in_buffer(const struct convention_value *value, uint32_t size);

/* Where a result, of slot->type and so @value, is at an exit. */
void convention_of_result(const struct convention_value *value, struct value_slot *slot);

/* What VALUE_IN_FLOAT number @number is called: a prefix, to which the number is added. */
extern const char convention_float_register[];

#endif
