/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files: what was taken out of an executable file when it was stripped, kept in a file of its
 * own. What leads from the one to the other, and whether they belong together.
 *
 * Source of the format: GDB manual, "Debugging Information in Separate Files" (.gnu_debuglink,
 * build IDs); <elf.h> NT_GNU_BUILD_ID.
 */
#ifndef RUNTIME_NATIVE_DEBUG_FILE_H
#define RUNTIME_NATIVE_DEBUG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/cursor.h"

struct elf;

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

#endif
