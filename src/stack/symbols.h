/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the addresses of a captured stack to names. Managed code is named through the images' own
 * metadata and the runtime's structures, native code by its file's symbols. What cannot be named is said
 * to be unknown, never guessed.
 */
#ifndef STACK_SYMBOLS_H
#define STACK_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "image/space.h"

struct error;
struct event_frame;
struct resolution;
struct symbols;

enum frame_kind {
	FRAME_UNKNOWN,
	FRAME_NATIVE,
	FRAME_DOTNET,
	FRAME_STUB, /* code that the runtime makes to get from one place to another */
	FRAME_V8,
};

struct frame {
	enum frame_kind kind;
	struct address address;
	const char *name;   /* NULL if not known; valid until the next lookup, as is the module's */
	const char *module; /* file name, "[vdso]" and the like; NULL if not known */
	uint64_t offset;    /* from the start of the name, else in the module's file */
	bool in_file;	    /* with the module that is what does not change from run to run: */
	uint64_t file_offset; /* of the address, in the module's file, or in the vdso's image */
	bool guessed;	      /* found by a frame pointer, for want of anything better */
	bool funclet;	      /* a handler of the method */
	bool filter;	      /* an exception filter, which is a handler too */
};

/* @resolution must outlive the result. -ENOMEM with @err set. */
int symbols_create(struct symbols **symbols, struct resolution *resolution, struct error *err);
void symbols_destroy(struct symbols *symbols);

/*
 * Name the code of @at. @return_address: it is where a call returns to, so the call itself, one byte
 * before, says which function it is in.
 */
void symbols_name(struct symbols *symbols, const struct event_frame *at, bool return_address,
		  struct frame *frame);

const char *frame_kind_name(enum frame_kind kind);

#endif
