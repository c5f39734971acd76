// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of frames with names, each in the one place that its hash has. For frame_names.c. */
#include "runtime/v8/remembered.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct v8_kept {
	struct v8_frame_id id;
	bool ambiguous;
	size_t count;
	struct v8_frame frames[]; /* their strings are behind them */
};

void v8_remembered_deinit(struct v8_remembered *remembered)
{
	for (size_t i = 0; i < V8_REMEMBERED_SLOTS; i++)
		free(remembered->slots[i]);
}

_Static_assert(sizeof(struct v8_frame_id) == 6 * sizeof(uint64_t), "it has no padding");

static size_t slot_of(const struct v8_frame_id *id)
{
	return hash_bytes(HASH_START, id, sizeof(*id)) % V8_REMEMBERED_SLOTS;
}

static struct v8_kept *find(const struct v8_remembered *remembered, const struct v8_frame_id *id)
{
	struct v8_kept *kept = remembered->slots[slot_of(id)];

	return kept && memcmp(&kept->id, id, sizeof(*id)) == 0 ? kept : NULL;
}

bool v8_remembered_lacks(const struct v8_remembered *remembered, const struct v8_frame_id *id)
{
	return !find(remembered, id);
}

static size_t string_bytes(const char *string)
{
	return string ? strlen(string) + 1 : 0;
}

static const char *keep_string(char **to, const char *string)
{
	const char *kept = *to;
	size_t bytes = string_bytes(string);

	if (!string)
		return NULL;
	memcpy(*to, string, bytes);
	*to += bytes;
	return kept;
}

static struct v8_kept *keep(const struct v8_frame_id *id, const struct v8_frames *frames)
{
	size_t bytes = sizeof(struct v8_kept) + frames->count * sizeof(struct v8_frame);
	struct v8_kept *kept;
	char *strings;

	for (size_t i = 0; i < frames->count; i++)
		bytes += string_bytes(frames->frames[i].name) +
			 string_bytes(frames->frames[i].script);
	kept = malloc(bytes);
	if (!kept)
		return NULL;
	*kept = (struct v8_kept){ .id = *id, .count = frames->count };
	strings = (char *)&kept->frames[frames->count];
	for (size_t i = 0; i < frames->count; i++) {
		struct v8_frame *frame = &kept->frames[i];

		*frame = frames->frames[i];
		frame->name = keep_string(&strings, frame->name);
		frame->script = keep_string(&strings, frame->script);
		frame->function = NULL;
		frame->script_object = 0;
	}
	return kept;
}

static bool is_same_string(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct v8_kept *kept, const struct v8_frames *frames)
{
	if (kept->count != frames->count)
		return false;
	for (size_t i = 0; i < kept->count; i++) {
		const struct v8_frame *a = &kept->frames[i], *b = &frames->frames[i];

		if (!is_same_string(a->name, b->name) || !is_same_string(a->script, b->script) ||
		    a->line != b->line || a->column != b->column)
			return false;
	}
	return true;
}

void v8_remembered_add(struct v8_remembered *remembered, const struct v8_frame_id *id,
		       const struct v8_frames *frames)
{
	struct v8_kept *kept = find(remembered, id);

	if (kept) {
		kept->ambiguous |= !is_same(kept, frames);
		return;
	}
	kept = keep(id, frames);
	if (!kept)
		return;
	free(remembered->slots[slot_of(id)]);
	remembered->slots[slot_of(id)] = kept;
}

const struct v8_frame *v8_remembered_get(const struct v8_remembered *remembered,
					 const struct v8_frame_id *id, size_t *count)
{
	const struct v8_kept *kept = find(remembered, id);

	if (!kept || kept->ambiguous)
		return NULL;
	*count = kept->count;
	return kept->frames;
}
