/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --if: a condition on what a call is given, what it gives back and how long it takes, from its
 * text to a tree. What names mean is not known here: value/filter.h makes of it what the kernel
 * runs for one method.
 *
 *     id > 100 && (customer == "Ada" || order.Total >= 0x10) && !urgent
 *     result.Status == 404 || took > 5ms || threw is System.IO.IOException
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/watch.h"

struct error;

enum {
	FILTER_NODES = 64,
	FILTER_PATH = 4,    /* names of one operand */
	FILTER_TEXT = 4096, /* of all of it */
};

enum filter_kind {
	FILTER_AND,
	FILTER_OR,
	FILTER_NOT,	/* of .left */
	FILTER_COMPARE, /* what .path leads to with the literal */
};

enum filter_order {
	FILTER_EQUAL,
	FILTER_NOT_EQUAL,
	FILTER_LESS,
	FILTER_LESS_OR_EQUAL,
	FILTER_GREATER,
	FILTER_GREATER_OR_EQUAL,
};

/* What the first name of a path is; one with an @ is a parameter's, whatever it is. */
enum filter_operand {
	FILTER_PARAMETER,
	FILTER_RESULT, /* "result" */
	FILTER_TOOK,   /* "took": how long the call has taken */
	FILTER_THREW,  /* "threw": it was left by an exception */
	FILTER_THREAD, /* "thread": .id and .name of what makes the call */
};

enum filter_literal {
	FILTER_NUMBER, /* .number, which is to be taken off 0 if .negative */
	FILTER_STRING, /* .text */
	FILTER_CHAR,   /* .number is its code */
	FILTER_BOOL,   /* .number is 0 or 1 */
	FILTER_NULL,
	FILTER_WORD, /* .text: a member of an enum */
	FILTER_TIME, /* .number of nanoseconds */
	FILTER_TYPE, /* .text: of an exception; which of filter.types it is, in .number */
};

struct filter_node {
	enum filter_kind kind;
	size_t left; /* numbers of nodes */
	size_t right;
	enum filter_order order;
	enum filter_operand operand;
	const char *path[FILTER_PATH];
	size_t path_count;
	enum filter_literal literal;
	const char *text;
	uint64_t number;
	bool negative;
	size_t at; /* where the operand and the literal begin, from 1 */
	size_t literal_at;
};

struct filter {
	struct filter_node nodes[FILTER_NODES];
	size_t count;
	size_t root;
	const char *types[FILTER_TYPES]; /* of exceptions, that are asked for */
	size_t type_count;
	const char *option; /* "--if" */
	const char *source; /* what it was made of, which must outlive it */
	char *words;	    /* that nodes borrow */
};

/* -EINVAL with @err set, which says where @source goes wrong, or -ENOMEM. */
int filter_parse(struct filter *filter, const char *source, struct error *err);

/* Likewise an operand alone, for --by: it is the path of the only node. */
int filter_parse_operand(struct filter *filter, const char *source, struct error *err);
void filter_deinit(struct filter *filter);

/* Is there something in node @number that is known only when a call ends? */
bool filter_is_of_end(const struct filter *filter, size_t number);

/* -EINVAL, with @err saying that at character @at of the filter there is @what. */
int filter_refuse(const struct filter *filter, size_t at, const char *what, struct error *err);

#endif
