/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which methods are watched for: from the patterns to rows of each image's metadata, and from the
 * runtime's modules to images. The BPF programs get both as maps, so that compilations of methods
 * nobody asks for cost next to nothing. Nothing here reads the target's memory.
 *
 * A module is known by the first FOLLOW_DETAIL_BYTES of its image. Those that are loaded at the
 * start are matched before compileMethod is probed. A compilation in another one is reported with
 * its image's header, which is compared with the images that are there; then the rows go into the
 * map, and the module is known. One that can be unloaded is never put there, since another may get
 * its address: each of its compilations is reported. So it is with more rows than ROWS_IN_MAP_MAX.
 */
#ifndef FOLLOW_WATCH_H
#define FOLLOW_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/follow.h"

struct compile_event;
struct error;
struct plan;
struct request;
struct text;
struct watch;

/* One method that matches, or may: an instantiation's arguments decide. */
struct watch_row {
	/* Its names are the row's own. A dynamic method has no image and no identity. */
	struct runtime_method is;
	uint32_t pattern; /* that it matches, the first of several */
	uint32_t rank;	  /* the first gets registers where there are too few; unique */
	bool root;	  /* --trace: one of those patterns is of a root */
	uint32_t named;	  /* likewise among those asked for by their name; else UINT32_MAX */
};

struct watch_maps {
	int watched_fd;
	int modules_fd;
};

/* With the images, to which it adds, and modules of @runtime, which must outlive the result. */
int watch_create(struct watch **watch, const struct request *request,
		 const struct runtime_follow *runtime, const struct watch_maps *maps,
		 struct error *err);
void watch_destroy(struct watch *watch);

/* May a dynamic method match? */
bool watch_wants_dynamic(const struct watch *watch);

/* The row that a compilation is of; NULL if nobody asks for it, or its module is not known. */
const struct watch_row *watch_find(struct watch *watch, const struct compile_event *event);

/*
 * How many methods are watched for so far, and how many of those by their name; the name of the
 * @named-th of these, or "?". The row of the one that is defined there, or NULL.
 */
size_t watch_row_count(const struct watch *watch);
uint32_t watch_named_count(const struct watch *watch);
bool watch_pattern_matched(const struct watch *watch, size_t pattern);
const char *watch_name_of(const struct watch *watch, uint32_t named);
const struct watch_row *watch_row_of(const struct watch *watch, const struct method_id *method);

/* May more methods come up than there are rows: instantiations, or what a pattern waits for? */
bool watch_is_open_ended(const struct watch *watch);

/* May the module at @module be unloaded, and others take its place? */
bool watch_may_be_freed(const struct watch *watch, uint64_t module);

/*
 * The next P/Invoke, from number *@at on, that may go by the stub that @event is of; @params as
 * watch_spell_params() has them. Its number in the programs' map is in *@watch. NULL: there are
 * no more.
 */
const struct watch_row *watch_next_stub(struct watch *watch, const struct compile_event *event,
					const char *params, size_t *at, uint32_t *number);

/*
 * May the stub be of a P/Invoke that is asked for, and watch_next_stub() does not tell? So in what
 * can be unloaded.
 */
bool watch_misses_stub(const struct watch *watch, const struct compile_event *event);

/* Put the parameters of @signature, of the module that @event is of, into @params. */
void watch_spell_params(struct watch *watch, const struct compile_event *event,
			struct span signature, struct text *params);

/*
 * The number in the programs' map of a P/Invoke that is defined there; false if they do not know
 * it.
 */
bool watch_find_stub(struct watch *watch, const struct method_id *method, uint32_t *number);

/* The row of a dynamic method called @name, made if there was none; NULL if none matches. */
const struct watch_row *watch_find_dynamic(struct watch *watch, const char *name);

enum watch_answer {
	WATCH_KNOWN,	/* which image the module is of */
	WATCH_UNKNOWN,	/* it lies in memory only, and has not been seen */
	WATCH_NO_IMAGE, /* it has none: of Reflection.Emit */
};

/* @header, of FOLLOW_DETAIL_BYTES, is of the module that @event is of: which image is that? */
enum watch_answer watch_learn(struct watch *watch, const struct compile_event *event,
			      const uint8_t *header);

/*
 * The same by the image itself, whose @bytes (malloc'd, and taken over) lay in memory at @event's
 * base.
 */
enum watch_answer watch_learn_copy(struct watch *watch, const struct compile_event *event,
				   uint8_t *bytes, size_t size);

/*
 * Add the images in @bytes, of a file of that number, @place and @name. Returns how many there are,
 * or -ENOMEM. They are the last ones of watch_images().
 */
int watch_add_file(struct watch *watch, size_t file, uint64_t place, const char *name,
		   struct span bytes);

const struct runtime_images *watch_images(const struct watch *watch);

/* Is code of methods that match in the image numbered @image? Add it to @plan. -ENOMEM. */
int watch_plan_image(struct watch *watch, size_t image, struct plan *plan, struct error *err);

#endif
