/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/PID/maps: what the target has mapped where.
 *
 * Source of the format: Linux Documentation/filesystems/proc.rst, "maps". A path may
 * hold spaces and end in " (deleted)"; a newline in it comes as "\012".
 */
#ifndef TARGET_MAPS_H
#define TARGET_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "image/space.h"

struct error;
struct process;

struct mapping {
	struct address start;
	struct address end;
	struct file_offset offset;
	uint32_t major;
	uint32_t minor;
	uint64_t inode; /* 0: not of a file */
	bool readable;
	bool writable;
	bool executable;
	bool shared;
	bool deleted;	  /* the path no longer leads to the file */
	const char *path; /* without " (deleted)"; "" if anonymous; owned by maps */
};

struct maps {
	struct mapping *rows; /* by address, as the kernel lists them */
	size_t count;
	size_t bad_rows; /* that could not be read and are left out */
	char *text;
};

/* Parse one @line without its newline, which is changed and is where the path stays. */
bool mapping_parse(struct mapping *row, char *line);

/*
 * Parse @text (NUL-terminated, @length characters), which @maps then owns and frees,
 * also on failure. -ENOMEM with @err set; rows that make no sense are counted.
 */
int maps_parse(struct maps *maps, char *text, size_t length, struct error *err);

/* Read and parse the table of a process. */
int maps_read(struct maps *maps, struct process *process, struct error *err);
void maps_deinit(struct maps *maps);

/* The mapping that holds @address, or NULL. */
const struct mapping *maps_find(const struct maps *maps, struct address address);

/* Where the byte at @offset of the file behind @row is in memory; false if @row lacks it. */
bool mapping_address(const struct mapping *row, struct file_offset offset, struct address *address);

/* The reverse, of an @address that @row holds. */
struct file_offset mapping_offset(const struct mapping *row, struct address address);

/* Code that a uprobe can enter: executable pages of a real file, private to the process. */
bool mapping_is_file_code(const struct mapping *row);

/* The file behind two mappings is the same one. */
bool mapping_same_file(const struct mapping *a, const struct mapping *b);

/* The last component of the mapping's path. */
const char *mapping_file_name(const struct mapping *row);

#endif
