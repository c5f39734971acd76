/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of watch.h share: images with their rows (watch_rows.c), and the modules that are
 * of them (watch.c).
 */
#ifndef FOLLOW_WATCH_INTERNAL_H
#define FOLLOW_WATCH_INTERNAL_H

#include "follow/jit/watch.h"

/* The rows of one image, sorted by row number. */
struct watch_image {
	size_t number;
	uint32_t *rows; /* numbers of rows */
	size_t count;
	bool told; /* the programs know its module, and all of its P/Invokes that are asked for */
};

struct watch_module {
	uint64_t at; /* first: base/sorted.h */
	struct watch_image *image;
	bool stays; /* it is never unloaded */
};

struct watch {
	const struct request *request;
	struct watch_maps maps;
	struct pattern **patterns; /* our own: matching changes them */
	struct runtime_images *images;
	size_t image_count; /* that were matched */
	size_t image_capacity;
	struct watch_image **of_images; /* along images, as far as they were matched */
	struct watch_row **rows;
	size_t row_count;
	size_t row_capacity;
	uint32_t pattern;	 /* that is being matched */
	uint32_t next_rank;	 /* so many methods are watched for */
	uint32_t next_named;	 /* of those, by their names */
	void *modules;		 /* of struct watch_module by address, <search.h> */
	uint64_t main_allocator; /* of all modules that are never unloaded; 0: not known yet */
};

void watch_row_destroy(struct watch_row *row);

/* The number of the new row, a copy of @like; negative without memory. Then, once, rank it. */
long watch_add_row(struct watch *watch, const struct runtime_method *like, uint32_t pattern);

void watch_rank_row(struct watch *watch, struct watch_row *row);

/* The number of the row of @rid in @image, or -1. */
long watch_find_row(const struct watch *watch, const struct watch_image *image, uint32_t rid);

/* Match all images that were not matched yet. -ENOMEM. */
int watch_match_images(struct watch *watch);

/* Of what is there at the start, first what the user has asked for first. */
void watch_rank_rows(struct watch *watch);

#endif
