/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map file that the user gave, as a source of names for one image of the target. It is
 * used only if it was made for that very image; where it and the image's own metadata
 * disagree, the metadata is believed. Works on a descriptor, never on a path.
 */
#ifndef RUNTIME_DOTNET_MAPFILE_H
#define RUNTIME_DOTNET_MAPFILE_H

#include "runtime/dotnet/images.h"
#include "mapparse/mapparse.h"

struct mapfile {
	char *name; /* as the user gave it, for people */
	int fd;	    /* owned */
	enum mapparse_format format;
	const struct dotnet_image *image;
	uint64_t rows;	    /* methods */
	uint64_t bad_rows;  /* that could not be read */
	uint64_t misplaced; /* that do not stand where a function of the image begins */
	uint64_t disagree;  /* with the image's metadata, which knows the place by another name */
};

/* Put the parts of a map's name into @name. */
void mapfile_name_parts(const struct mapparse_name *from, struct method_name *name);

/* One line for people about a row, or about the file (@line 0). */
typedef void (*mapfile_tell)(void *ctx, const struct mapfile *file, uint64_t line,
			     const char *what);

/* Is it a name that a map has: NAME.map, NAME.map.csv, NAME.r2rmap? For those of a directory. */
bool mapfile_is_named_so(const char *path);

/*
 * Find the image of the map behind @fd, which is taken over, and check that it is its. Bad rows are
 * told. 1 with @file filled (ends with mapfile_deinit()), 0 if none of @images is meant by its
 * name, -ESTALE if it is the map of another build, -EINVAL if it is no map, or another errno; the
 * negative ones with @err set.
 */
int mapfile_init(struct mapfile *file, int fd, const char *name, const struct dotnet_images *images,
		 mapfile_tell tell, void *ctx, struct error *err);
void mapfile_deinit(struct mapfile *file);

/* A method that the map has, with its name in parts and where its code begins. */
struct mapfile_method {
	const struct mapfile *file;
	const struct method_name *name; /* without parameters if @partial */
	bool partial;			/* read from a mangled name: a guess */
	struct rva rva;
	uint32_t size;
	/* The body that the image's own metadata names there, NULL if it names none. */
	const struct r2r_body *body;
	bool agrees; /* that body has this name */
};

/* 0 to go on; anything else ends the walk, and is returned. */
typedef int (*mapfile_fn)(const struct mapfile_method *method, void *ctx);

/* Go through the methods that stand where a function of the image begins. */
int mapfile_each(const struct mapfile *file, mapfile_fn fn, void *ctx, struct error *err);

#endif
