/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which Code object the machine code at an address belongs to. Its instructions lie in an object
 * of the heap, in front of which the word is that all such objects begin with: so it is searched
 * for backwards, which finds also code that no function refers to any more. What was found is
 * kept, and looked at again each time.
 *
 * Source: V8's src/objects/code.h, instruction-stream.h, code-kind.h.
 */
#ifndef RUNTIME_V8_CODE_H
#define RUNTIME_V8_CODE_H

#include "image/space.h"
#include "runtime/v8/heap.h"

enum v8_tier {
	V8_TIER_NONE,
	V8_TIER_INTERPRETER,
	V8_TIER_BASELINE,
	V8_TIER_MAGLEV,
	V8_TIER_TURBOFAN,
	V8_TIER_BUILTIN,
};

/* As JSON and text have it; NULL of V8_TIER_NONE. */
const char *v8_tier_name(enum v8_tier tier);

struct v8_code {
	uint64_t object;   /* the Code */
	uint64_t start;	   /* of its instructions */
	uint32_t size;	   /* of them, in bytes; what is behind them describes them */
	enum v8_tier tier; /* V8_TIER_NONE: no function's */
};

/* Powers of two. */
enum { V8_CODES_KEPT = 1024, V8_CODES_ISOLATES = 64 };

/* What was found. Begins as zeros. */
struct v8_codes {
	/* By the pc, of which each leads to its own. */
	struct {
		uint64_t pc;
		uint64_t stream;
	} kept[V8_CODES_KEPT];
	/* What objects with instructions begin with in an isolate; 0: not seen yet. */
	struct {
		uint64_t isolate;
		uint64_t word;
	} first[V8_CODES_ISOLATES];
};

/*
 * The code that @pc is in, or behind the last instruction of; it begins not before @lowest. Objects
 * of an @isolate begin alike; 0: it is not known which it is.
 */
bool v8_code_find(struct v8_codes *codes, const struct v8_heap *heap, uint64_t isolate,
		  struct address pc, struct address lowest, struct v8_code *code);

#endif
