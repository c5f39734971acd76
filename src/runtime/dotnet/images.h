/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The managed images of a process: each assembly's metadata brought together with the
 * precompiled code that belongs to it, be it in the same file, in a composite image or
 * in a single-file executable. Works on bytes handed to it, never on paths.
 */
#ifndef RUNTIME_DOTNET_IMAGES_H
#define RUNTIME_DOTNET_IMAGES_H

#include <stdbool.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r.h"
#include "image/pe.h"

/* The file number of an image that is in no file: it lies in memory only. */
#define DOTNET_NO_FILE SIZE_MAX

/* One PE: a file, a slice of a single-file executable, or a copy of what is in memory only. */
struct dotnet_image {
	size_t file;	/* the caller's number of the file that holds it */
	uint64_t place; /* tells images with the same bytes apart, see metadata_set_place() */
	struct file_offset slice; /* where the PE begins in that file */
	struct address base;	  /* with DOTNET_NO_FILE: where the image is in memory */
	uint8_t *copy;		  /* likewise: its bytes */
	size_t copy_size;
	char *name; /* file name, "System.Private.CoreLib.dll" */
	struct pe pe;
	enum r2r_kind kind;
	struct metadata *metadata; /* NULL for a composite image, and if it is damaged */
	struct r2r *r2r;	   /* code that is in this image, or NULL */
	bool damaged;		   /* its code or metadata cannot be used, which was counted */
};

struct dotnet_images {
	struct dotnet_image **images;
	size_t count;
	size_t capacity;
	/* Of what precompiled code the runtime takes; another's is as if it were not there. */
	unsigned int r2r_major; /* 0: not known */
	size_t compressed;	/* assemblies that lie compressed in a single-file executable */
	uint64_t copied;	/* bytes of memory that were read as images, of one use or not */
	struct error *first_problem; /* of damaged images; NULL if there was none */
	size_t problems;
};

/* A file that may hold managed images. */
struct dotnet_source {
	size_t file;
	uint64_t place;	   /* which file it is: the same however often it is opened */
	const char *name;  /* file name without directory */
	struct span bytes; /* must outlive the images */
	/*
	 * Is any byte of [offset, offset+size) mapped? Asked for slices of a bundle. NULL: all are.
	 */
	bool (*is_mapped)(const void *ctx, uint64_t offset, uint64_t size);
	const void *ctx;
};

/*
 * Add the managed images in @source: none, one, or those of a bundle that are mapped. A
 * damaged image is counted and left out, or kept with what can be used of it. A bundle can be added
 * again, for what has been mapped since. -ENOMEM only.
 */
int dotnet_images_add(struct dotnet_images *images, const struct dotnet_source *source,
		      struct error *err);

/* Do they begin as a PE does? */
bool dotnet_is_pe(struct span bytes);

enum dotnet_copy_kind {
	DOTNET_COPY_FILE,     /* as the file is */
	DOTNET_COPY_LOADED,   /* laid out by sections */
	DOTNET_COPY_METADATA, /* no image, but its metadata alone: of Reflection.Emit */
};

/*
 * Add the image whose @bytes (malloc'd, and taken over in any case) were read from @base in memory.
 * It is named after its assembly. 1 with @image set, 0 if it is none, or -ENOMEM with @err set.
 */
int dotnet_images_add_copy(struct dotnet_images *images, uint8_t *bytes, size_t size,
			   struct address base, enum dotnet_copy_kind kind,
			   struct dotnet_image **image, struct error *err);

/*
 * After images were added, from number @first on: give composite images the metadata of their
 * components, and each image that of the assemblies it was compiled with. The others stay as they
 * are, but for composite images that get a component. The images must stay where they are.
 */
void dotnet_images_link_from(struct dotnet_images *images, size_t first);

/*
 * The same images for another thread: of the same bytes, which must outlive @copy, but with nothing
 * else in common. They are in the same order, and linked. -ENOMEM.
 */
int dotnet_images_copy(struct dotnet_images *copy, const struct dotnet_images *images);

void dotnet_images_deinit(struct dotnet_images *images);

/* The image that holds the byte at @offset of file @file, or NULL; @in_image is relative to it. */
struct dotnet_image *dotnet_images_find(const struct dotnet_images *images, size_t file,
					struct file_offset offset, struct file_offset *in_image);

/* Is there one that a program called @file_name is the host of, as "app" is of app.dll? */
bool dotnet_images_have_named(const struct dotnet_images *images, const char *file_name);

/* The image with code for a component's methods; NULL if they were not precompiled. */
const struct dotnet_image *dotnet_images_code_of(const struct dotnet_images *images,
						 const struct dotnet_image *image,
						 uint32_t *component);

#endif
