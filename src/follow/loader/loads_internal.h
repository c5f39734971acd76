/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of loads.h share: files (loads_files.c), and probing what is in them (loads.c). */
#ifndef FOLLOW_LOADS_INTERNAL_H
#define FOLLOW_LOADS_INTERNAL_H

#include "follow/loader/loads.h"

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

/* What is known of native functions, within @loads. -errno with @err set. */
int natives_create(struct loads *loads, struct error *err);
void natives_destroy(struct loads *loads);

#endif
