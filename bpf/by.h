/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --by=EXPR: what calls are kept apart by is a value that they were given, or gave back. The
 * programs have a table of all that have come, where each gets a number; that is latency_key.by.
 */
#ifndef BPF_BY_H
#define BPF_BY_H

#include <linux/types.h>

enum {
	BY_VALUES = 4096,      /* of all methods together; what comes then is BY_OTHER */
	BY_VALUE_BYTES = 1024, /* of one, at most */
	BY_STRING_BYTES = 64,  /* of a string, unless options say so */
};

/* When the value is taken. */
enum by_when {
	BY_NOTHING,
	BY_ENTRY,
	BY_END,
};

/* Numbers of values; those in the table come after them. */
enum {
	BY_OTHER,   /* there was no room */
	BY_UNKNOWN, /* it could not be read, or is not known */
	BY_FIRST,
};

/* The item of a program that takes a value, and so its slot. */
enum by_kind {
	BY_VALUE,
	BY_NULL, /* it is null, or something that leads to it is */
};

/* As much as of .words as the run has room for; the rest of them is 0. */
struct by_key {
	__u32 program; /* .first of struct watch_program: of which method, and so of which type */
	__u16 bytes;
	__u8 kind; /* enum by_kind */
	__u8 cut;  /* 1: of a string that is longer */
	__u64 words[BY_VALUE_BYTES / 8];
};

#define BY_KEY_HEADER 8

_Static_assert(__builtin_offsetof(struct by_key, words) == BY_KEY_HEADER, "layout is shared");

#endif
