/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the debug file of a file that the target has mapped: as the target sees the file system
 * first, which has the files of its own build, then as we do.
 */
#ifndef RUNTIME_NATIVE_DEBUG_FILES_H
#define RUNTIME_NATIVE_DEBUG_FILES_H

#include <stdbool.h>

#include "image/cursor.h"

struct debuginfod;
struct process;

/*
 * The bytes of @file's debug file, if one is found that belongs to it (see native/debug_file.h).
 * @path is the file's, as the target sees it. False if there is none. They end with
 * target_bytes_unmap().
 */
bool target_debug_file_open(struct process *process, const char *path, struct span file,
			    struct span *bytes);

/*
 * The same from a server (debuginfod/debuginfod.h), by the build ID of @file alone; NULL: there is
 * none. -ENOENT, or -EAGAIN: it is under way.
 */
int target_debug_file_fetch(struct debuginfod *debuginfod, struct span file, struct span *bytes);

#endif
