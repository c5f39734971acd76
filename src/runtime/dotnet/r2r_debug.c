// SPDX-License-Identifier: GPL-2.0-or-later
/* Which IL precompiled code was made of, for lines of source. */
#include "runtime/dotnet/debug_info.h"
#include "runtime/dotnet/r2r_internal.h"

enum {
	PACKED_MAJOR = 16, /* from these versions on: see debug_info.h */
	SIZED_MAJOR = 26,
	PARTS_MAX = 64,
};

/* The debug info of function @index; an equal one that lies before it may stand for it. */
static bool find_info(const struct r2r *r2r, uint32_t index, struct span *info)
{
	const struct pe_directory section =
		r2r_header_section(&r2r->header, R2R_SECTION_DEBUG_INFO);
	struct native_array array;
	struct cursor element;
	size_t at;
	uint32_t back;

	if (section.size == 0 || native_array_init(&array, pe_cursor(r2r->pe, section.rva), NULL) ||
	    native_array_find(&array, index, &element, NULL) != 1)
		return false;
	at = cursor_offset(&element);
	back = native_unsigned(&element);
	if (back > at)
		return false;
	if (back)
		element = cursor_at(&element, at - back);
	*info = cursor_take(&element, cursor_left(&element));
	return info->size > 0;
}

/* Of the body's code, cold parts follow the others. */
static uint32_t offset_in_body(const struct r2r_body *body, struct rva rva)
{
	struct r2r_part parts[PARTS_MAX];
	size_t count = r2r_body_parts(body, parts, PARTS_MAX);
	uint32_t hot = 0;

	for (size_t i = 0; i < count && i < PARTS_MAX; i++) {
		uint32_t end = parts[i].rva.value + parts[i].size - body->rva.value;

		if (!parts[i].cold && end > hot)
			hot = end;
		/* The first cold part. */
		if (parts[i].cold && rva.value - parts[i].rva.value < parts[i].size)
			return hot + rva.value - parts[i].rva.value;
	}
	return rva.value - body->rva.value;
}

bool r2r_find_il(const struct r2r_body *body, struct rva rva, uint32_t *il_offset)
{
	const struct r2r *r2r = body->r2r;
	const enum debug_info_format format = r2r->header.major >= SIZED_MAJOR ? DEBUG_INFO_SIZED :
					      r2r->header.major >= PACKED_MAJOR ?
										 DEBUG_INFO_PACKED :
										 DEBUG_INFO_NIBBLES;
	struct debug_info_bounds bounds;
	struct span info;

	return find_info(r2r, body->function, &info) &&
	       debug_info_read_head(info, format, &bounds) &&
	       debug_info_find_il(span_part(info, bounds.offset, bounds.size), format,
				  offset_in_body(body, rva), il_offset);
}
