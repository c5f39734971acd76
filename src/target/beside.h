/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that the target has not mapped yet, known by another that it has: for who waits for it. */
#ifndef TARGET_BESIDE_H
#define TARGET_BESIDE_H

#include "target/files.h"

/*
 * Open the file @name in the directory of @file, as the target sees it: one of the target's user or
 * root, see process_open_owned(). It has a descriptor, a path and bytes, and no mapping. -ENOENT if
 * there is none, or another -errno, with @err set. target_beside_close() ends it.
 */
int target_beside_open(struct target_file *beside, struct process *process,
		       const struct target_file *file, const char *name, struct error *err);
void target_beside_close(struct target_file *beside);

#endif
