/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of loads.h share: files (loads_files.c), and probing what is in them (loads.c). */
#ifndef FOLLOW_LOADS_INTERNAL_H
#define FOLLOW_LOADS_INTERNAL_H

#include "follow/loader/loaded_files.h"
#include "follow/loader/loads.h"

struct uprobes;

struct loads {
	struct loads_config config;
	struct uprobes *uprobes; /* NULL: there was nothing to probe yet */
	struct loaded_files files;
	bool *planned; /* by number of image: its bodies are probed, or were there before */
	size_t planned_count;
	size_t planned_capacity;
	void *places;	  /* of struct place: code that has a site, <search.h> */
	uint32_t *latest; /* the sites that were probed for the last file */
	size_t latest_count;
	uint64_t no_room;
};

/*
 * Images have been added: are they @planned already, or will they be when their code is mapped?
 * False without memory; then they are not known here.
 */
bool loads_note_images(struct loads *loads, bool planned);

/* Give each body of @plan a site, and attach to those that can be probed. Returns how many were. */
size_t loads_probe_plan(struct loads *loads, const struct plan *plan);

/* The same for what matches in images of @file that has been mapped. */
size_t loads_probe_mapped(struct loads *loads, const struct loaded_file *file);

#endif
