/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A method's identity by value, and the way back: from what the metadata calls it to struct
 * method_id, which is all that the plan and its sites know of it.
 */
#ifndef RUNTIME_DOTNET_IDENTITY_H
#define RUNTIME_DOTNET_IDENTITY_H

#include "method/method_id.h"
#include "runtime/dotnet/r2r.h"

struct dotnet_images;

/*
 * Of @method, whose metadata may not be at hand. The token is ECMA-335's: 0x06 and the row of a
 * MethodDef, 0x0a and that of a MemberRef.
 */
struct method_id dotnet_method_id(const struct r2r_method *method);
struct method_traits dotnet_method_traits(const struct r2r_method *method);

/* The MethodDef row; 0 if it is known by none. */
uint32_t dotnet_method_row(const struct method_id *id);

/* The method of @images with that identity; false if none defines it, or refers to it so. */
bool dotnet_method_find(const struct dotnet_images *images, const struct method_id *id,
			struct r2r_method *method);

#endif
