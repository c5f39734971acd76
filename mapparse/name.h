/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building a struct mapparse_name: the parts are written one after the other, and where each
 * begins and ends is noted, because the buffer moves while it grows.
 */
#ifndef MAPPARSE_NAME_H
#define MAPPARSE_NAME_H

#include "buffer.h"
#include "mapparse.h"

enum mapparse_part {
	MAPPARSE_PART_CANONICAL,
	MAPPARSE_PART_TYPE,
	MAPPARSE_PART_TYPE_ARGS,
	MAPPARSE_PART_METHOD,
	MAPPARSE_PART_METHOD_ARGS,
	MAPPARSE_PART_PARAMS,
	MAPPARSE_PART_RETURN,
	MAPPARSE_PART_ASSEMBLY,
	MAPPARSE_PARTS,
};

struct mapparse_builder {
	struct mapparse_name *name;
	struct mapparse_buffer out;
	struct {
		size_t from, to;
	} parts[MAPPARSE_PARTS];
};

/* Empties @name, whose memory is used again. */
void mapparse_builder_begin(struct mapparse_builder *b, struct mapparse_name *name);

/* What was added since @from is @part. */
void mapparse_builder_end_part(struct mapparse_builder *b, enum mapparse_part part, size_t from);

/* The type is what was added so far: its name and, from @name_end on, arguments in brackets. */
void mapparse_builder_end_type(struct mapparse_builder *b, size_t name_end);

/* 0 or -ENOMEM. */
int mapparse_builder_finish(struct mapparse_builder *b);

/* mangle.c: "app_", which the names of an assembly's types begin with. */
void mapparse_mangle_assembly(const char *assembly, struct mapparse_buffer *out);

/* Where the "_12" that a mangled name ends with begins; s.length if with none. */
size_t mapparse_number_begin(struct mapparse_slice s);

#endif
