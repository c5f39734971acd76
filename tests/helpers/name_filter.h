/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whatever a pattern can match must pass its filter (runtime/native/name_filter.h): tried with
 * pieces of all names that a function goes by, since each piece between '*' is a pattern that
 * matches. For unit/test_name_filter.c and tools/name_filter.c.
 */
#ifndef HELPERS_NAME_FILTER_H
#define HELPERS_NAME_FILTER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "method/pattern.h"
#include "runtime/native/name.h"
#include "runtime/native/name_filter.h"

struct filter_trial {
	unsigned int seed;
	size_t pieces;
	size_t told; /* of which the filter had something to tell by */
	size_t missed;
};

static inline void try_piece(struct filter_trial *trial, const char *symbol, const char *piece)
{
	struct name_filter filter;

	name_filter_init(&filter, piece);
	trial->pieces++;
	trial->told += filter.words.count != 0;
	if (name_filter_passes(&filter, symbol))
		return;
	if (trial->missed++ < 10)
		printf("%s is missed by *%s*\n", symbol, piece);
}

/* The whole form without its blanks, and @count pieces of it. */
static inline void try_form(struct filter_trial *trial, const char *symbol, const char *form,
			    int count)
{
	char *plain = calloc(1, strlen(form) + 1), *piece = calloc(1, strlen(form) + 1);
	size_t length = 0;

	for (const char *c = form; plain && *c; c++) {
		if (*c != ' ')
			plain[length++] = *c;
	}
	if (plain && piece && length)
		try_piece(trial, symbol, plain);
	for (int i = 0; plain && piece && length && i < count; i++) {
		size_t begin = (size_t)rand_r(&trial->seed) % length;
		size_t room = length - begin, most = i % 2 ? 24 : room;
		size_t size = 1 + (size_t)rand_r(&trial->seed) % (room < most ? room : most);

		memcpy(piece, plain + begin, size);
		piece[size] = '\0';
		try_piece(trial, symbol, piece);
	}
	free(plain);
	free(piece);
}

static inline void try_symbol(struct filter_trial *trial, const char *symbol, int count)
{
	struct native_name name = { 0 };

	if (native_name_read(&name, symbol) == 0) {
		for (size_t i = 0; i < name.count; i++)
			try_form(trial, symbol, name.forms[i], count);
	}
	native_name_deinit(&name);
}

#endif
