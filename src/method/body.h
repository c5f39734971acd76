/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A body is one compiled version of a method: how it was compiled, where it is, and whether calls
 * of the method go to it. The runtimes find bodies, and the plan decides whether and how each is
 * probed.
 */
#ifndef METHOD_BODY_H
#define METHOD_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/cursor.h"
#include "image/space.h"
#include "method/method_id.h"

/* Names as in docs/json.md. */
enum tier {
	TIER_R2R,
	TIER_TIER0,
	TIER_MINOPT,
	TIER_INSTRUMENTED,
	TIER_OPTIMIZED,
	TIER_TIER1,
	TIER_OSR,
	TIER_NATIVE, /* no method, but a function of an ELF file */
	TIER_UNKNOWN,
};

enum body_state {
	STATE_UNKNOWN,
	STATE_CURRENT,	  /* calls of the method go to it */
	STATE_PENDING,	  /* compiled, but calls do not go to it yet */
	STATE_SUPERSEDED, /* calls go to a newer one */
	STATE_REJECTED,	  /* precompiled, but the runtime did not take it */
	STATE_NO_CALLS,	  /* entered otherwise than by a call: OSR */
	STATE_NO_BODY,
};

/* Why there is no code to be probed. */
enum body_absence {
	BODY_PRESENT,
	BODY_NOT_COMPILED, /* yet */
	BODY_NO_IL,	   /* abstract, extern, or provided by the runtime */
	BODY_NATIVE_CALL,  /* a native function is called by a stub that others share */
	BODY_INDIRECT,	   /* it only chooses which function is used in its place */
};

/* Where a name comes from: a bit each in a mask. Map files have the last bits. */
enum name_source {
	NAME_SOURCE_METADATA,
	NAME_SOURCE_PERF_MAP,
	NAME_SOURCE_SYMBOLS, /* of an ELF file */
	NAME_SOURCE_FIRST_MAP,
	NAME_SOURCES_MAX = 64,
};

/* One part of a body's code, to look for jumps back to the entry. */
struct body_code {
	struct span bytes;
	int64_t from_entry;
};

/* Code that was compiled while the target runs is in no file. */
#define BODY_NO_FILE SIZE_MAX

/* What a runtime says of a body; valid during the call that it is passed in. */
struct method_body {
	const char *method;    /* canonical name */
	const char *made_from; /* what it matched by, if not by its own name; or NULL */
	const char *image;     /* file name of the image; must outlive what is made of the body */
	struct method_id id;   /* of the definition, to tell methods of one name apart */
	struct method_traits traits;
	enum tier tier;
	enum body_state state;
	enum body_absence absent;
	bool final;	      /* no newer body will take its place */
	uint64_t method_desc; /* of code compiled at run time: the runtime's name of the method */
	bool may_be_freed;    /* with its module: other code may take its place */
	bool stub;	      /* of a P/Invoke; other methods may go by it too */
	/* Of code compiled at run time: the precompiled body that the method began with, or 0. */
	struct address precompiled;
	bool precompiled_rejected; /* likewise: it is sure that the method began with none */
	uint64_t sources;	   /* of the name, by enum name_source */
	size_t file;		   /* number of the file with the code, or BODY_NO_FILE */
	struct file_offset offset;
	struct address address; /* 0: not mapped executable */
	uint32_t size;
	bool function_start;	      /* it is known that a function begins there */
	const struct body_code *code; /* the entry's part first */
	size_t code_count;
	/* Where exits were asked for: what exits_find() said, in a space where the entry is at: */
	const struct exits *exits;
	uint64_t exits_entry;
};

/* 0 to go on; anything else ends the search, and is returned. */
typedef int (*body_fn)(const struct method_body *body, void *ctx);

const char *tier_name(enum tier tier);

/* May a loop of such code go on in a body of TIER_OSR? */
static inline bool tier_may_be_left(enum tier tier)
{
	return tier == TIER_TIER0 || tier == TIER_INSTRUMENTED;
}

/* Is such code there before the program runs? */
static inline bool tier_is_precompiled(enum tier tier)
{
	return tier == TIER_R2R || tier == TIER_NATIVE;
}

/* Was such code compiled since its method is called often? */
static inline bool tier_is_promoted(enum tier tier)
{
	return tier == TIER_INSTRUMENTED || tier == TIER_TIER1;
}

/* NULL for STATE_NO_CALLS and STATE_NO_BODY. */
const char *body_state_name(enum body_state state);

#endif
