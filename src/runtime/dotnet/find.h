/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a pattern to bodies: which methods of a process's images match, and where the code of each
 * is, precompiled or compiled at run time.
 *
 * Names are read anew each time, not indexed: looking for one exact name walks the type names of
 * all images, a few milliseconds for a framework. Instantiations are walked only if a generic
 * method matched.
 */
#ifndef RUNTIME_DOTNET_FIND_H
#define RUNTIME_DOTNET_FIND_H

#include "method/body.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/r2r.h"
#include "runtime/runtime.h"

struct jit;
struct jit_body;

enum dotnet_match_kind {
	MATCH_BODY,	    /* a precompiled body */
	MATCH_JIT_BODY,	    /* one that was compiled at run time */
	MATCH_NOT_COMPILED, /* has IL, but no code so far */
	MATCH_NO_IL,	    /* abstract, extern or provided by the runtime */
	MATCH_DEFINITION,   /* of dotnet_find_in_image(): a method whatever code it has */
};

struct dotnet_match {
	enum dotnet_match_kind kind;
	const char *method; /* canonical name, valid during the call only */
	/* That holds the body, else that defines the method; NULL for one without metadata. */
	const struct dotnet_image *image;
	struct r2r_method definition; /* without metadata if it is not at hand */
	uint64_t instantiation;	      /* as struct method_id has it */
	struct r2r_body body;	      /* MATCH_BODY */
	const struct jit_body *jit;   /* MATCH_JIT_BODY */
	/* What it matched by instead: "state machine of App.Orders::Checkout(int32)"; or NULL. */
	const char *made_from;
	/* MATCH_DEFINITION: it is generic; whether each instantiation matches. */
	bool generic;
	bool sure;
	bool stub; /* MATCH_JIT_BODY: of a P/Invoke; others may go by it too */
};

/* What a match says of a body, wherever its code is: all else is still to be filled in. */
struct method_body dotnet_matched_body(const struct dotnet_match *match);

enum { BODY_PARTS_MAX = 64 };

/*
 * Fill in what the image says: size, offset in the file, and the code, in @codes, which @body then
 * borrows. Where it is in memory the image does not say. False if it is in no section.
 */
bool precompiled_describe(const struct dotnet_image *image, const struct r2r_body *r2r_body,
			  struct method_body *body, struct body_code codes[BODY_PARTS_MAX]);

/* 0 to go on; anything else ends the search, and is returned. */
typedef int (*dotnet_match_fn)(const struct dotnet_match *match, void *ctx);

/*
 * @jit may be NULL. Call @fn for each method and body that @pattern matches. An async method or
 * iterator matches with its state machine, and if @nested with the lambdas and local functions in
 * it too. -ENOMEM, or -E2BIG for a runaway regex, with @err set.
 */
int dotnet_find(const struct dotnet_images *images, struct jit *jit, struct pattern *pattern,
		bool nested, dotnet_match_fn fn, void *ctx, struct error *err);

enum dotnet_find_what {
	FIND_DEFINITIONS = 1, /* MATCH_DEFINITION */
	FIND_BODIES = 2,      /* MATCH_BODY of the methods that the image defines */
	FIND_INSTANCES = 4,   /* MATCH_BODY of instantiations whose code is in the image */
};

/*
 * Of one image: call @fn for each method that it defines and that matches or, since that depends on
 * the instantiation, may match, whatever code it has; and for precompiled bodies. @what is a bit
 * mask of those. Likewise else.
 */
int dotnet_find_in_image(const struct dotnet_images *images, const struct dotnet_image *image,
			 unsigned int what, struct pattern *pattern, bool nested,
			 dotnet_match_fn fn, void *ctx, struct error *err);

/*
 * Does @name match, by itself or by its source method's (then @made_from says so)? Row @rid of
 * @metadata, which may be NULL, is the method. 1, 0 or an error.
 */
int dotnet_name_matches(const struct method_name *name, const struct metadata *metadata,
			uint32_t rid, struct pattern *pattern, bool nested, struct text *made_from,
			struct error *err);

/*
 * Put into @made_from which async method or iterator row @rid of @metadata, called @name, is the
 * state machine of: "state machine of X". "" if of none, or of a lambda.
 */
void dotnet_state_machine_of(const struct method_name *name, const struct metadata *metadata,
			     uint32_t rid, struct text *made_from);

#endif
