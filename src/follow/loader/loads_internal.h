/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of loads.h share: files (loads_files.c), their native functions (natives.c), and
 * probing what is in them (loads.c).
 */
#ifndef FOLLOW_LOADS_INTERNAL_H
#define FOLLOW_LOADS_INTERNAL_H

#include "follow/loader/loads.h"

struct file_query;

/*
 * Without descriptors and bytes; its own are closed and unmapped in the end. NULL if there is no
 * room.
 */
struct loaded_file *loads_add_file(struct loads *loads, dev_t device, ino_t inode, size_t number);

/*
 * Images have been added: are they @planned already, or will they be when their code is mapped?
 * False without memory; then they are not known here.
 */
bool loads_note_images(struct loads *loads, bool planned);

/* Give each body of @plan a site, and attach to those that can be probed. */
void loads_probe_plan(struct loads *loads, const struct plan *plan);

/* The same for what matches in images of @file that has been mapped. */
void loads_probe_mapped(struct loads *loads, const struct loaded_file *file);

/* What is known of native functions (natives.c), within @loads. -errno with @err set. */
int natives_create(struct loads *loads, struct error *err);
void natives_destroy(struct loads *loads);

/* Is there a pattern that may mean those of a file called @name? */
bool natives_want(const struct loads *loads, const char *name);

/*
 * Add the functions that match to @plan, of @file, whose patterns are filled in. @is_host: it
 * starts a program of its name, so names are those of methods. -ENOMEM; where a regex runs away
 * nothing more is added.
 */
int natives_plan(struct loads *loads, struct file_query *file, bool is_host, struct plan *plan);

#endif
