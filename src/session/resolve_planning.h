/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of resolve.h share: one pattern on its way to a plan. */
#ifndef SESSION_RESOLVE_PLANNING_H
#define SESSION_RESOLVE_PLANNING_H

#include "code/exits.h"
#include "plan/precompiled.h"
#include "session/resolve.h"

struct planning {
	struct resolution *resolution;
	struct pattern *pattern;
	struct plan *plan;
	uint64_t source; /* of the map file that is being walked */
	struct error *err;
	size_t matched;
	struct exits exits; /* of the body that is being added, in a plan that is timed */
};

/* Add the managed images of an open file: of a bundle, those that are mapped and not known yet. -ENOMEM. */
int resolution_read_images(struct resolution *resolution, const struct target_file *file,
			   struct error *err);

/* Where code at @rva of @image lies in file and memory; false if it is in no section. */
bool planning_place_body(const struct planning *planning, const struct dotnet_image *image,
			 struct rva rva, struct method_body *body);

/* All that the image says of a body; @codes is what @body then borrows. -ENOMEM. */
int planning_describe_body(struct planning *planning, const struct dotnet_image *image,
			   const struct r2r_body *r2r_body, struct method_body *body,
			   struct body_code codes[BODY_PARTS_MAX]);

/* Find what the runtime has compiled so far. Where that cannot be done jit_problem says why. -ENOMEM. */
int resolution_read_jit(struct resolution *resolution, struct error *err);

/* Add a body that the runtime compiled; @known says already whose it is. */
int planning_add_jit_body(struct planning *planning, const struct jit_body *jit,
			  const struct method_body *known);

/* Add what the pattern matches of native functions. -ENOMEM, or -E2BIG for a runaway regex. */
int planning_add_native(struct planning *planning);
void resolution_forget_functions(struct resolution *resolution);

/* Add what the pattern matches in map files, and in the target's perf map. */
int planning_add_maps(struct planning *planning);
int planning_add_perf_map(struct planning *planning);

#endif
