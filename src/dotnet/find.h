/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a pattern to precompiled bodies: which methods of a process's images match, and
 * where the code of each is.
 */
#ifndef DOTNET_FIND_H
#define DOTNET_FIND_H

#include "dotnet/images.h"

struct error;
struct pattern;

enum dotnet_match_kind {
	MATCH_BODY,	       /* a precompiled body */
	MATCH_NOT_PRECOMPILED, /* has IL, but no code in any image */
	MATCH_NO_IL,	       /* abstract, extern or provided by the runtime */
};

struct dotnet_match {
	enum dotnet_match_kind kind;
	const char *method;		  /* canonical name, valid during the call only */
	const struct dotnet_image *image; /* that holds the body, else that defines the method */
	struct r2r_body body;		  /* MATCH_BODY */
	/* It matched by its author's name: "state machine of App.Orders::Checkout(int32)"; or NULL. */
	const char *made_from;
};

/*
 * Call @fn for each method and body that @pattern matches; @fn returns 0 to go on, anything
 * else ends the search and is returned. An async method or iterator matches with its state
 * machine, and if @nested with the lambdas and local functions in it too.
 * -ENOMEM, or -E2BIG for a runaway regex, with @err set.
 */
int dotnet_find(const struct dotnet_images *images, struct pattern *pattern, bool nested,
		int (*fn)(const struct dotnet_match *match, void *ctx), void *ctx,
		struct error *err);

/*
 * The names closest to an exact pattern that matched nothing: at most @max canonical names
 * without parameters, best first, that the caller frees. Returns how many.
 */
size_t dotnet_near_misses(const struct dotnet_images *images, const struct pattern *pattern,
			  char **names, size_t max);

#endif
