// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes that programs have captured, which anyone may have written, for print.c. */
#include "value/print.h"

#include <string.h>

const struct watch_item *items_get(const struct items *items, uint16_t slot)
{
	return slot < items->count ? items->by_slot[slot] : NULL;
}

static const uint8_t *item_bytes(const struct watch_item *item)
{
	return (const uint8_t *)(item + 1);
}

static enum view_problem problem_of(const struct watch_item *item)
{
	if (!item)
		return VIEW_MISSING;
	if (item->status == WATCH_FAULT)
		return VIEW_FAULT;
	return item->status == WATCH_OK ? VIEW_OK : VIEW_NO_ROOM;
}

/* The part that has the byte at @offset of the value. */
static enum view_problem part_at(const struct items *items, const struct captured *captured,
				 uint32_t offset, struct view *found)
{
	const struct value_slot *slot = captured->slot;

	for (size_t i = 0; i < slot->part_count && i < VALUE_PARTS; i++) {
		const struct watch_item *item;
		enum view_problem problem;

		if (offset < slot->parts[i].offset ||
		    offset - slot->parts[i].offset >= slot->parts[i].size)
			continue;
		if (slot->parts[i].where == VALUE_IN_FLOAT)
			return (enum view_problem)(VIEW_FLOAT + slot->parts[i].number);
		item = items_get(items, captured->parts[i]);
		problem = problem_of(item);
		if (problem)
			return problem;
		offset -= slot->parts[i].offset;
		if (offset >= item->bytes)
			return VIEW_MISSING;
		found->bytes = item_bytes(item) + offset;
		found->size = item->bytes - offset;
		return VIEW_OK;
	}
	return VIEW_MISSING;
}

static enum view_problem read_parts(const struct items *items, const struct view *view,
				    uint32_t offset, uint8_t *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		struct view part = { 0 };
		enum view_problem problem = part_at(items, view->in_parts,
						    view->offset + offset + (uint32_t)done, &part);

		if (problem || !part.bytes)
			return problem ? problem : VIEW_MISSING;
		if (part.size > size - done)
			part.size = size - done;
		memcpy(to + done, part.bytes, part.size);
		done += part.size;
	}
	return VIEW_OK;
}

enum view_problem view_read(const struct items *items, const struct view *view, uint32_t offset,
			    void *to, size_t size)
{
	memset(to, 0, size);
	if (view->in_parts)
		return read_parts(items, view, offset, to, size);
	if (offset > view->size || size > view->size - offset)
		return VIEW_MISSING;
	memcpy(to, view->bytes + offset, size);
	return VIEW_OK;
}

struct view view_at(const struct view *view, uint32_t offset)
{
	if (view->in_parts)
		return (struct view){ .in_parts = view->in_parts, .offset = view->offset + offset };
	if (!view->bytes || offset > view->size)
		return (struct view){ 0 };
	return (struct view){ .bytes = view->bytes + offset, .size = view->size - offset };
}

enum view_problem view_of_item(const struct items *items, uint16_t slot, struct view *view)
{
	const struct watch_item *item = items_get(items, slot);
	enum view_problem problem = problem_of(item);

	*view = (struct view){ 0 };
	if (!problem)
		*view = (struct view){ .bytes = item_bytes(item), .size = item->bytes };
	return problem;
}

enum view_problem view_of_object(const struct items *items, const struct capture *capture,
				 struct view *view, uint64_t *handle)
{
	enum view_problem problem =
		view_of_item(items, capture ? capture->content : WATCH_NO_SLOT, view);

	if (!problem)
		problem = view_read(items, view, 0, handle, sizeof(*handle));
	/* The other bits are the collector's. */
	*handle = problem ? 0 : *handle & ~UINT64_C(7);
	return problem;
}
