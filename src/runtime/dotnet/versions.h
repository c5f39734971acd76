/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The versions of a method's code as the runtime keeps them: which tier each body is of, and
 * which one calls go to now.
 *
 * The first version is the method's own ("default"); others, made by tiering up, hang in a list.
 * Source of the format: dotnet/runtime docs/design/datacontracts/CodeVersions.md and
 * src/coreclr/vm/{codeversion,callcounting,method}.h; the rules for tiers are those of
 * src/coreclr/vm/perfmap.cpp and tieredcompilation.cpp, and were compared with perf maps.
 */
#ifndef RUNTIME_DOTNET_VERSIONS_H
#define RUNTIME_DOTNET_VERSIONS_H

#include "runtime/dotnet/clr_type.h"
#include "image/space.h"
#include "method/body.h"

struct clr_pair;

enum { CLR_VERSIONS_MAX = 64 };

struct clr_version {
	uint64_t code; /* 0: being compiled */
	uint32_t id;   /* grows */
	uint32_t tier; /* as the runtime numbers them */
	bool active;
	bool rewritten; /* of IL that a profiler has put in the method's place */
};

/* What the runtime says of one method's code. */
struct clr_code {
	bool has_slot; /* false: there is one version ever, and it is not written down */
	uint64_t own;  /* the default version's code, 0: none yet */
	bool own_active;
	struct clr_version versions[CLR_VERSIONS_MAX];
	size_t count;
	bool unreadable;
};

/* What that means for one body. */
struct clr_body {
	enum tier tier;
	enum body_state state;
	bool final; /* no newer body will take its place */
};

/* Out of a hash table of the runtime's: numbers, and what belongs to each; sorted. */
struct clr_pairs {
	struct clr_pair *pairs;
	size_t count;
};

/* The runtime's metadata as it is now. */
struct clr_versions {
	const struct clr *clr;
	bool never_optimized;	  /* the target's settings say so */
	bool instruments_at_once; /* what is compiled first is instrumented already */
	struct clr_pairs states;  /* .NET 8: versioning state by MethodDesc */
	size_t hash_entries;	  /* of all tables that were read */
	void *allocators;	  /* what is known of each loader allocator: base/tree.h */
};

/* @clr must outlive it. */
void clr_versions_init(struct clr_versions *versions, const struct clr *clr);
void clr_versions_deinit(struct clr_versions *versions);

void clr_code_read(struct clr_versions *versions, const struct clr_method *method,
		   struct clr_code *code);

/* What the body of @method is that begins at @start and has @size bytes. */
void clr_body_read(struct clr_versions *versions, const struct clr_method *method,
		   const struct clr_code *code, struct address start, uint32_t size,
		   struct clr_body *body);

#endif
