/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a reference to a method to its definition in one of a process's images, by name: what an
 * image was compiled from another assembly's IL it names by MemberRefs of its own.
 */
#ifndef RUNTIME_DOTNET_DEFINITIONS_H
#define RUNTIME_DOTNET_DEFINITIONS_H

#include <stdbool.h>

#include "runtime/dotnet/r2r_inlining.h"

struct definitions;
struct dotnet_images;

/* Borrows @images. NULL if there is no memory. */
struct definitions *definitions_create(const struct dotnet_images *images);
void definitions_destroy(struct definitions *definitions);

/*
 * Put into @method what its MemberRef means. False if no image defines it. An assembly of the
 * name that the reference gives is preferred; it may as well be one that forwards the type.
 * The first call lists the types of all images.
 */
bool definitions_find(struct definitions *definitions, struct r2r_method *method);

#endif
