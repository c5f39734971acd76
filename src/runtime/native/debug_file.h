/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files: what was taken out of an executable file when it was stripped, kept in a file of its
 * own. What leads from the one to the other, whether they belong together, and where they are: as
 * the target sees the file system first, which has the files of its own build, then as we do.
 *
 * Source of the format: GDB manual, "Debugging Information in Separate Files" (.gnu_debuglink,
 * build IDs); <elf.h> NT_GNU_BUILD_ID.
 */
#ifndef RUNTIME_NATIVE_DEBUG_FILE_H
#define RUNTIME_NATIVE_DEBUG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/cursor.h"

struct debuginfod;
struct process;

/* What ELF file says of its debug file; it is borrowed from the file's bytes. */
struct debug_link {
	struct span build_id; /* none: it has no such note, or one that makes no sense */
	const char *name;     /* a file name without directory; NULL: it has no .gnu_debuglink */
	uint32_t crc;	      /* of that file */
};

/* False if there is neither a build ID nor a link. */
bool debug_link_read(struct debug_link *link, struct span file);

enum debug_match {
	DEBUG_MATCH_BUILD_ID, /* it was found by that, and must have the same */
	DEBUG_MATCH_CRC,      /* found by the link's name: the checksum, and no other build ID */
};

/* Does @debug belong to the file of @link? */
bool debug_file_matches(const struct debug_link *link, struct span debug, enum debug_match by);

/*
 * What is to be added to addresses of @debug, so that they are as @file is linked: 0 but for files
 * that were moved after they were stripped (prelink). False if that cannot be told.
 */
bool debug_file_shift(struct span file, struct span debug, uint64_t *shift);

/*
 * The bytes of @file's debug file, if one is found that belongs to it. @path is the file's, as the
 * target sees it. False if there is none. They end with target_bytes_unmap().
 */
bool target_debug_file_open(struct process *process, const char *path, struct span file,
			    struct span *bytes);

/*
 * The same from a server (debuginfod/debuginfod.h), by the build ID of @file alone; NULL: there is
 * none. -ENOENT, or -EAGAIN: it is under way.
 */
int target_debug_file_fetch(struct debuginfod *debuginfod, struct span file, struct span *bytes);

#endif
