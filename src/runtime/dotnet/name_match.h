/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a pattern match a method, by its own name or by that of the method in the source that the
 * compiler made it from? Asked by find.c, with the names of all methods of an image in turn.
 */
#ifndef RUNTIME_DOTNET_NAME_MATCH_H
#define RUNTIME_DOTNET_NAME_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "method/method_name.h"

struct error;
struct metadata;
struct pattern;

struct name_match {
	struct pattern *pattern;
	bool nested; /* lambdas and local functions too */
	struct error *err;

	struct method_name name;   /* set by the caller */
	struct method_name source; /* of what the compiler made @name of */
	struct text made_from;	   /* empty: @name itself matched */
};

void name_match_deinit(struct name_match *match);

/* With the open type and the name alone: can the pattern match? */
bool name_match_possible(struct name_match *match);

/*
 * With the whole name: 1, 0, or an error with match->err set. @type_rid is the TypeDef of the
 * method in @metadata, 0 if there is none. Says in match->made_from how it matched.
 */
int name_match_test(struct name_match *match, const struct metadata *metadata, uint32_t type_rid);

#endif
