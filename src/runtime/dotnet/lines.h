/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of source of .NET methods: each image's Portable PDB, found when it is first needed, by the
 * id in the image: beside the image as the target sees it, in it, or in a directory of the user's.
 * Between frame_names.c, which asks for a line, and pdb.h, which reads what was found.
 */
#ifndef RUNTIME_DOTNET_LINES_H
#define RUNTIME_DOTNET_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct dotnet;
struct dotnet_image;
struct dotnet_lines;

struct dotnet_line {
	const char *source; /* until the next call */
	uint32_t line;
	uint32_t column;
};

/* @dotnet must outlive it, and learns what was looked for in vain. NULL for want of memory. */
struct dotnet_lines *dotnet_lines_create(struct dotnet *dotnet);
void dotnet_lines_destroy(struct dotnet_lines *lines);

/* Where the IL at @il_offset of row @method_rid of @image was written. False: it is not known. */
bool dotnet_lines_find(struct dotnet_lines *lines, const struct dotnet_image *image,
		       uint32_t method_rid, uint32_t il_offset, struct dotnet_line *line);

#endif
