/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of jit.h share: jit_read.c makes a snapshot, jit.c answers out of it. */
#ifndef RUNTIME_DOTNET_JIT_INTERNAL_H
#define RUNTIME_DOTNET_JIT_INTERNAL_H

#include "runtime/dotnet/jit.h"

struct jit {
	struct clr clr;
	clr_image_source image_source;
	void *ctx;

	/* The snapshot. */
	struct clr_modules *modules;
	struct clr_types *types;
	struct code_heaps heaps;
	struct jit_body *bodies;
	size_t body_count;
	struct jit_method *methods; /* by MethodDesc */
	size_t method_count;
	struct row *rows; /* of metadata that have code, sorted; made when it is first asked for */
	uint32_t *body_numbers;	 /* method by method */
	uint64_t core_allocator; /* of all that is never unloaded; 0: not known */
	size_t unreadable;
	struct jit_image *images;
	size_t image_count;

	/* Of jit_recheck_begin(). */
	struct clr_modules *modules_now;
	struct clr_types *types_now;
};

/* Drop the snapshot. */
void jit_forget(struct jit *jit);

#endif
