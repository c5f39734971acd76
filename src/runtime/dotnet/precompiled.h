/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a precompiled body, as its image describes it, to what is told of it. */
#ifndef RUNTIME_DOTNET_PRECOMPILED_H
#define RUNTIME_DOTNET_PRECOMPILED_H

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/r2r.h"
#include "method/body.h"

enum { BODY_PARTS_MAX = 64 };

/*
 * Fill in what the image says: size, offset in the file, and the code, in @codes, which @body then
 * borrows. Where it is in memory the image does not say. False if it is in no section.
 */
bool precompiled_describe(const struct dotnet_image *image, const struct r2r_body *r2r_body,
			  struct method_body *body, struct body_code codes[BODY_PARTS_MAX]);

#endif
