/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which precompiled methods of a process have inlined a method: a call from them does not pass
 * by its body. Brings together what all images say (r2r.h): the one that
 * defines the method, and those that were compiled together with it.
 */
#ifndef RUNTIME_DOTNET_INLINING_H
#define RUNTIME_DOTNET_INLINING_H

#include <stddef.h>

#include "runtime/dotnet/r2r.h"

struct dotnet_images;
struct dotnet_inlining;
struct method_id;
struct method_inliners;

/*
 * List what the images say; they must be linked, and outlive the result. A damaged table is
 * counted and used as far as it goes. -ENOMEM with @err set.
 */
int dotnet_inlining_create(struct dotnet_inlining **inlining, const struct dotnet_images *images,
			   struct error *err);
void dotnet_inlining_destroy(struct dotnet_inlining *inlining);

/* How many images' inlining info was found damaged by now, and what is wrong with the first. */
size_t dotnet_inlining_problems(const struct dotnet_inlining *inlining, const struct error **first);

/* Methods that have inlined another, each once, in the order of images and rows. */
struct dotnet_inliners {
	struct r2r_method *methods;
	size_t count;
	size_t capacity;
};

/*
 * Put the methods that have inlined @method into @inliners, which dotnet_inliners_deinit()
 * frees; those in assemblies that are not in the process are left out. 1, or 0 if not all are
 * known: nobody in the process defines the method, the image with its code has no inlining
 * info, what is there is damaged, or says nothing of it since the method is [NonVersionable] or
 * a P/Invoke, whose native function callers call themselves.
 * -ENOMEM.
 */
int dotnet_inliners_find(struct dotnet_inliners *inliners, struct dotnet_inlining *inlining,
			 const struct r2r_method *method);
void dotnet_inliners_deinit(struct dotnet_inliners *inliners);

/*
 * The methods that have inlined method @id; @named of them have names at most. 0, also if nothing
 * is known, or -ENOMEM. In any case method_inliners_deinit() frees what there is. @inlining may be
 * NULL.
 */
int dotnet_method_inliners(struct method_inliners *inliners, struct dotnet_inlining *inlining,
			   const struct dotnet_images *images, const struct method_id *id,
			   size_t named);

/* Append the canonical name of a definition. */
void dotnet_method_spell(const struct r2r_method *method, struct text *out);

#endif
