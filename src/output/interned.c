// SPDX-License-Identifier: GPL-2.0-or-later
/* See interned.h: a hash table of chains. */
#include "output/interned.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vector.h"

enum {
	HEADS_FIRST = 1024,
	/* Beside its bytes, an item has its row, its head and malloc()'s own. */
	ITEM_BYTES = sizeof(struct interned_item) + sizeof(uint32_t) + 2 * sizeof(size_t),
};

bool interned_take(size_t *room, size_t bytes)
{
	if (bytes > *room)
		return false;
	*room -= bytes;
	return true;
}

static uint32_t *head_of(const struct interned *interned, const void *bytes, size_t length)
{
	uint64_t hash = hash_bytes(HASH_START, bytes, length);

	return &interned->heads[(hash ^ hash >> 32) & (interned->head_count - 1)];
}

static bool grow(struct interned *interned)
{
	size_t head_count = interned->head_count ? 2 * interned->head_count : HEADS_FIRST;
	uint32_t *heads;

	if (interned->count < interned->head_count)
		return true;
	heads = malloc(head_count * sizeof(*heads));
	if (!heads)
		return false;
	memset(heads, 0xff, head_count * sizeof(*heads));
	free(interned->heads);
	interned->heads = heads;
	interned->head_count = head_count;
	for (uint32_t i = 0; i < interned->count; i++) {
		struct interned_item *item = &interned->items[i];
		uint32_t *head = head_of(interned, item->bytes, item->length);

		item->next = *head;
		*head = i;
	}
	return true;
}

static uint32_t add(struct interned *interned, const void *bytes, size_t length, size_t row_bytes,
		    size_t *room)
{
	uint32_t number = (uint32_t)interned->count, *head;
	struct interned_item *item;

	if (number == INTERNED_NONE || length >= UINT32_MAX || !grow(interned) ||
	    !vector_reserve(&interned->items, &interned->capacity, interned->count + 1) ||
	    !interned_take(room, length + ITEM_BYTES + row_bytes) ||
	    (row_bytes && !vector_reserve_bytes(&interned->rows, &interned->row_capacity,
						interned->count + 1, row_bytes)))
		return INTERNED_NONE;
	item = &interned->items[number];
	item->bytes = malloc(length + 1);
	if (!item->bytes)
		return INTERNED_NONE;
	memcpy(item->bytes, bytes, length);
	item->bytes[length] = '\0';
	item->length = (uint32_t)length;
	head = head_of(interned, bytes, length);
	item->next = *head;
	*head = number;
	interned->count++;
	return number;
}

static uint32_t find_or_add(struct interned *interned, const void *bytes, size_t length,
			    size_t row_bytes, size_t *room)
{
	uint32_t at = interned->head_count ? *head_of(interned, bytes, length) : INTERNED_NONE;

	for (; at != INTERNED_NONE; at = interned->items[at].next) {
		const struct interned_item *item = &interned->items[at];

		if (item->length == length && memcmp(item->bytes, bytes, length) == 0)
			return at;
	}
	return add(interned, bytes, length, row_bytes, room);
}

uint32_t interned_add(struct interned *interned, const void *bytes, size_t length, size_t *room)
{
	return find_or_add(interned, bytes, length, 0, room);
}

uint32_t interned_add_text(struct interned *interned, const struct text *text, size_t *room)
{
	if (!text_ok(text))
		return INTERNED_NONE;
	return interned_add(interned, text_chars(text), text->length, room);
}

void *interned_row(struct interned *interned, const void *bytes, size_t length, size_t size,
		   size_t *room)
{
	size_t before = interned->count;
	uint32_t number = find_or_add(interned, bytes, length, size, room);
	char *row = number == INTERNED_NONE ? NULL : (char *)interned->rows + number * size;

	if (row && interned->count > before)
		memset(row, 0, size);
	return row;
}

void interned_deinit(struct interned *interned)
{
	for (size_t i = 0; i < interned->count; i++)
		free(interned->items[i].bytes);
	free(interned->items);
	free(interned->heads);
	free(interned->rows);
	*interned = (struct interned){ 0 };
}
