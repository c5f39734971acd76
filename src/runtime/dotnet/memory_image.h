/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images that lie in no file: unpacked from a compressed single-file executable, or loaded from an
 * array of bytes. They are copied out of the target's memory.
 */
#ifndef RUNTIME_DOTNET_MEMORY_IMAGE_H
#define RUNTIME_DOTNET_MEMORY_IMAGE_H

#include "runtime/dotnet/clr_module.h"

/*
 * The image at @layout as one of @images: the copy that was made before if it is still the same,
 * else a new one. NULL if it cannot be read (which is counted in @images) or there is no memory.
 */
struct dotnet_image *memory_image_get(struct dotnet_images *images, struct memory *memory,
				      const struct clr_layout *layout);

/* The copied image that holds @address of the target's memory, or NULL. */
struct dotnet_image *memory_image_find(const struct dotnet_images *images, struct address address);

/* Where @address of a copied image is in it. False if it is in no section. */
bool memory_image_rva(const struct dotnet_image *image, struct address address, struct rva *rva);

/* Where @rva of a copied image is in the target's memory. */
bool memory_image_address(const struct dotnet_image *image, struct rva rva,
			  struct address *address);

#endif
