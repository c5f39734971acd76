/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that the follower asks of a runtime while threads are held. It has images of its own, gives
 * bytes (of files, of what the programs have sent), and is told which methods are there and where
 * their code is. Nothing here reads the target's memory or is shared with another thread.
 */
#ifndef RUNTIME_FOLLOW_H
#define RUNTIME_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/cursor.h"
#include "method/body.h"
#include "method/method_id.h"

struct error;
struct pattern;
struct runtime_images;
struct text;

/* A module of the runtime. */
struct runtime_module {
	uint64_t at;
	uint64_t allocator; /* modules of one are unloaded together */
	size_t image;	    /* its number */
	bool is_core;	    /* it is never unloaded */
	bool grows;	    /* it is made at run time */
};

/* What a follower begins with: see dotnet_follow(). */
struct runtime_follow {
	struct runtime_images *images;
	struct runtime_module *modules;
	size_t module_count;
};

void runtime_follow_end(struct runtime_follow *follow);

/* They keep their numbers. The name stays as long as @images. */
struct runtime_image {
	const char *name;
	size_t file;
	uint64_t offset; /* in that file */
	uint64_t size;
};

size_t runtime_images_count(const struct runtime_images *images);
struct runtime_image runtime_images_at(const struct runtime_images *images, size_t number);

/* May precompiled code be in no file: of compressed assemblies? */
bool runtime_images_compressed(const struct runtime_images *images);

/* Is there one that a program called @file_name is the host of? */
bool runtime_images_have_named(const struct runtime_images *images, const char *file_name);

/* What comes ----------------------------------------------------------------------------------- */

/* Add those in a file; see target_file_place(). How many, or -ENOMEM. */
int runtime_images_add_file(struct runtime_images *images, size_t file, uint64_t place,
			    const char *name, struct span bytes);

/*
 * Add the one whose @bytes (malloc'd, and taken over) lay at @base in memory, as a file or @loaded
 * by sections. Does it say which methods it has? Else it may have been added all the same.
 */
bool runtime_images_add_copy(struct runtime_images *images, uint8_t *bytes, size_t size,
			     uint64_t base, bool loaded);

/*
 * The number of the one that begins with the FOLLOW_DETAIL_BYTES of @header and has @size in
 * memory; negative if there is none.
 */
long runtime_images_find_header(const struct runtime_images *images, const uint8_t *header,
				uint32_t size);

/* Methods -------------------------------------------------------------------------------------- */

struct runtime_method {
	const char *image;
	struct method_id id;
	struct method_traits traits;
	uint32_t row; /* its number in the image */
	bool generic;
	bool sure;    /* it matches whatever its instantiations' arguments are */
	bool pinvoke; /* it has no code but stubs */
	const char *method;
	const char *made_from;
};

/*
 * Call @fn for each method of image @number that may match. -ENOMEM, or what @fn or the pattern
 * says.
 */
int runtime_images_find(const struct runtime_images *images, size_t number, struct pattern *pattern,
			bool nested, int (*fn)(const struct runtime_method *method, void *ctx),
			void *ctx);

/* Where @id is defined; false: in none of them. */
bool runtime_images_find_method(const struct runtime_images *images, const struct method_id *id,
				size_t *number, uint32_t *row);

/* What is asked for of the methods of an image. */
enum runtime_wanted {
	RUNTIME_WANTS_NONE,
	RUNTIME_WANTS_METHODS,
	RUNTIME_WANTS_GENERIC, /* some of them may have instantiations */
};

struct runtime_search {
	struct pattern **patterns;
	size_t count;
	bool nested;
	bool timed; /* with where calls end */
	enum runtime_wanted (*wanted)(size_t number, void *ctx);
	void *ctx;
};

/*
 * Call @fn for the code in image @number of methods that match. Its address is not known yet.
 * -ENOMEM, or what @fn returns if that is -ENOMEM.
 */
int runtime_images_bodies(const struct runtime_images *images, size_t number,
			  const struct runtime_search *search, body_fn fn, void *ctx,
			  struct error *err);

/* Stubs ---------------------------------------------------------------------------------------- */

/* Put the parameters of @signature, in terms of image @number (negative: of none), into @params. */
void runtime_images_spell_params(const struct runtime_images *images, long number,
				 struct span signature, struct text *params);

/* What stubs are called that are compiled as dynamic methods. */
const char *runtime_images_stub_name(const struct runtime_images *images);

/* May the P/Invoke of @row go by a stub with such @params? */
bool runtime_images_may_share(const struct runtime_images *images, size_t number, uint32_t row,
			      const char *params);

#endif
