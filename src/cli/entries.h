/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options by name, letter and help: one table for getopt, which options.c feeds, and --help. */
#ifndef CLI_ENTRIES_H
#define CLI_ENTRIES_H

#include <getopt.h>

/* Codes of those without a letter, which is the code of the others. */
enum {
	ENTRY_OPERAND = 1, /* getopt's own code for a word that is no option */
	ENTRY_LONG_ONLY = 256,
	OPT_NO_STACK = ENTRY_LONG_ONLY,
	OPT_STACK,
	OPT_MAX_FRAMES,
	OPT_RECORD,
	OPT_REPLAY,
	OPT_BASE,
	OPT_BUFFER,
	OPT_FORCE,
	OPT_STRICT,
	OPT_UPROBE_BY,
	OPT_SELF_TEST,
	OPT_COMPLETE,
	OPT_NESTED,
	OPT_MAPS,
	OPT_SOURCE_MAPS,
	OPT_NO_LINES,
	OPT_NO_SANDBOX,
	OPT_SYMBOLS,
	OPT_HOLD,
	OPT_NO_HOLD,
	OPT_SHARE,
	OPT_REMAP,
	OPT_NO_REMAP,
	OPT_WAIT,
	OPT_MIN,
	OPT_BY,
	OPT_SAMPLE,
	OPT_MAX_RATE,
	OPT_EXPIRE,
	OPT_MEMORY,
	OPT_FORMAT,
	OPT_LISTEN,
	OPT_DEBUGINFOD,
	OPT_TOP,
	OPT_FLAME,
	OPT_WATCH,
	OPT_STRING_BYTES,
	OPT_DEPTH,
	OPT_NO_VALUES,
	OPT_REDACT,
	OPT_IF,
	OPT_TRACE,
	OPT_CALLS,
	OPT_ASYNC,
	ENTRY_CODES,
};

enum { ENTRIES_MAX = 96 };

struct entry {
	int code;
	const char *name;     /* NULL: @help is the heading of those that follow */
	const char *argument; /* in brackets: it may be left out */
	const char *help;
};

/*
 * getopt's two descriptions of the options. "-": it does not reorder the words, so what stood
 * before "--" and what after it is still to be seen; one that is no option comes as ENTRY_OPERAND.
 */
void entries_describe(struct option longs[ENTRIES_MAX + 1], char shorts[2 * ENTRIES_MAX + 4]);

/* NULL: there is none. */
const struct entry *entry_of(int code);

#endif
