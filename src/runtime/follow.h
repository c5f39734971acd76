/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that the follower asks of a runtime whose code moves: runtime_ops.follow. At the beginning
 * the main thread takes what it begins with. While threads are held the follower has images of its
 * own, gives bytes (of files, of what the programs have sent), and is told which methods are there
 * and where their code is: then nothing reads the target's memory or is shared with another thread.
 */
#ifndef RUNTIME_FOLLOW_H
#define RUNTIME_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/exits.h"
#include "image/cursor.h"
#include "image/space.h"
#include "method/body.h"
#include "method/method_id.h"
#include "target/files.h"

struct error;
struct follow_shared;
struct pattern;
struct runtime;
struct text;

/* A module of the runtime. */
struct runtime_module {
	uint64_t at;
	uint64_t allocator; /* modules of one are unloaded together */
	size_t image;	    /* its number */
	bool is_core;	    /* it is never unloaded */
	bool grows;	    /* it is made at run time */
};

/* The beginning of what a runtime has of images; they keep their numbers. */
struct runtime_images {
	const struct runtime_follow_ops *ops;
};

/* What a follower begins with. */
struct runtime_follow {
	struct runtime_images *images;
	struct runtime_module *modules;
	size_t module_count;
};

/* Where the follower's probes go. */
struct runtime_code {
	const struct target_file *runtime;  /* NULL: the runtime is not there (yet) */
	bool holds_images;		    /* that file does, too */
	const struct target_file *compiler; /* NULL: it is not there (yet) */
	/* That one, where the target has not loaded it; runtime_code_close(). */
	struct target_file unloaded;
	struct file_offset entry, exit; /* of its function that compiles a method */
};

static inline void runtime_code_close(struct runtime_code *code)
{
	if (code->compiler == &code->unloaded)
		target_beside_close(&code->unloaded);
}

/* The name stays as long as the images. */
struct runtime_image {
	const char *name;
	size_t file;
	uint64_t offset; /* in that file */
	uint64_t size;
};

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

/* Each must be there. */
struct runtime_follow_ops {
	enum runtime_id id;
	const char *dynamic_type; /* what methods are of that have no type */
	const char *stub_name;	  /* what stubs are called that are compiled as such */
	const char *program_end;  /* of an image that a program called like it, without, starts */

	/*
	 * What a follower begins with, of @runtime, whose images' bytes must outlive it; NULL:
	 * nothing is there yet. -ENOMEM with @err set. Ends with runtime_follow_end().
	 */
	int (*begin)(struct runtime_follow *follow, const struct runtime *runtime,
		     struct error *err);
	void (*destroy)(struct runtime_images *images);

	/*
	 * Find the runtime and its compiler among @files, and tell the programs, through @shared,
	 * how to read its structures; @runtime likewise. -ENOENT if there is no compiler, -ENOTSUP
	 * if the programs cannot read them, or another -errno, with @err set; what was found until
	 * then is in @code, which was zeros.
	 */
	int (*find_code)(struct runtime_code *code, const struct target_files *files,
			 const struct runtime *runtime, struct follow_shared *shared,
			 struct error *err);

	/* Of a compilation, by its flags as the programs have read them; will no other follow? */
	enum tier (*tier_of)(uint64_t flags, bool *final);

	/*
	 * A new body as it is written before it is put in its place: so many bytes are before its
	 * code, and so many describe each of its parts. The parts of the one that will be at @code,
	 * of its code and what describes them; 0 if they do not belong together.
	 */
	uint32_t header_bytes;
	uint32_t unwind_bytes;
	size_t (*find_parts)(struct address code, struct span bytes, struct span unwinds,
			     struct exit_part parts[EXITS_PARTS_MAX]);

	size_t (*count)(const struct runtime_images *images);
	struct runtime_image (*at)(const struct runtime_images *images, size_t number);

	/* May precompiled code be in no file: of compressed images? */
	bool (*have_compressed)(const struct runtime_images *images);

	/* Is there one that a program called @file_name is the host of? */
	bool (*have_named)(const struct runtime_images *images, const char *file_name);

	/* By how it begins: may a file be an image? Is a program one that has images in it? */
	bool (*may_be_image)(struct span bytes);
	bool (*is_bundle)(struct span bytes);

	/* Add those in a file; see target_file_place(). How many, or -ENOMEM. */
	int (*add_file)(struct runtime_images *images, size_t file, uint64_t place,
			const char *name, struct span bytes);

	/*
	 * Add the one whose @bytes (malloc'd, and taken over) lay at @base in memory, with @flags
	 * as the programs have read them. Does it say which methods it has? Else it may have been
	 * added all the same.
	 */
	bool (*add_copy)(struct runtime_images *images, uint8_t *bytes, size_t size, uint64_t base,
			 uint32_t flags);

	/*
	 * The number of the one that begins with the FOLLOW_DETAIL_BYTES of @header and has @size
	 * in memory; negative if there is none.
	 */
	long (*find_header)(const struct runtime_images *images, const uint8_t *header,
			    uint32_t size);

	/*
	 * Call @fn for each method of image @number that may match. -ENOMEM, or what @fn or the
	 * pattern says.
	 */
	int (*find)(const struct runtime_images *images, size_t number, struct pattern *pattern,
		    bool nested, int (*fn)(const struct runtime_method *method, void *ctx),
		    void *ctx);

	/* Where @id is defined; false: in none of them. */
	bool (*find_method)(const struct runtime_images *images, const struct method_id *id,
			    size_t *number, uint32_t *row);

	/*
	 * Call @fn for the code in image @number of methods that match. Its address is not known
	 * yet. -ENOMEM, or what @fn returns if that is -ENOMEM.
	 */
	int (*bodies)(const struct runtime_images *images, size_t number,
		      const struct runtime_search *search, body_fn fn, void *ctx,
		      struct error *err);

	/*
	 * Put the parameters of @signature, in terms of image @number (negative: of none), into
	 * @params; may the P/Invoke of @row go by a stub with such?
	 */
	void (*spell_params)(const struct runtime_images *images, long number,
			     struct span signature, struct text *params);
	bool (*may_share)(const struct runtime_images *images, size_t number, uint32_t row,
			  const char *params);
};

void runtime_follow_end(struct runtime_follow *follow);

#endif
