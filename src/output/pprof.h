/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a profile for pprof is made of, before it is written: hits come in by pprof.c, and go out by
 * pprof_write.c at the end. What is interned is known by its number; the ids of the document are
 * that + 1, but for strings, of which number 0 is empty.
 */
#ifndef OUTPUT_PPROF_H
#define OUTPUT_PPROF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "output/interned.h"

struct output;

/* The interned bytes of each, but for strings, and for mappings, which are the number of one. */
struct pprof_function {
	uint32_t name;
	uint32_t file;
};

struct pprof_location {
	uint64_t address;
	uint32_t mapping; /* an id; 0: none */
	uint32_t line_count;
	struct pprof_line {
		uint32_t function;
		uint32_t line;
		uint32_t column;
	} lines[];
};

/* A stack is the numbers of its locations. */
struct pprof_sample {
	uint32_t stack;
	uint32_t comm;
	pid_t tid;
};

struct pprof_values {
	uint64_t count;
	uint64_t time_ns;
};

struct pprof {
	struct interned strings;
	struct interned mappings;
	struct interned functions;
	struct interned locations;
	struct interned stacks;
	struct interned samples;    /* with their values */
	struct pprof_values others; /* of those that there was no room for */
	size_t room;
	struct text string; /* while they are made: */
	struct text location;
	struct text stack;
	struct text comment; /* what is said of the run */
	bool any;	     /* there is something to write */
	bool timed;	     /* it is of calls */
};

/* The number of the stack that stands for those without room. */
enum { PPROF_OTHER_STACKS = 0 };

/* The number of a string; INTERNED_NONE if there is no room. */
uint32_t pprof_string(struct pprof *pprof, const char *s);

void pprof_write(struct output *output);

#endif
