// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "mapparse.h"

struct range {
	uint64_t address;
	uint64_t end;
	uint64_t line;
};

struct mapparse_ranges {
	struct range *ranges;
	size_t count;
	size_t capacity;
};

struct mapparse_ranges *mapparse_ranges_create(void)
{
	return calloc(1, sizeof(struct mapparse_ranges));
}

void mapparse_ranges_destroy(struct mapparse_ranges *ranges)
{
	if (!ranges)
		return;
	free(ranges->ranges);
	free(ranges);
}

int mapparse_ranges_add(struct mapparse_ranges *ranges, const struct mapparse_row *row)
{
	if (row->size == 0)
		return 0;
	if (ranges->count == ranges->capacity) {
		size_t capacity = ranges->capacity ? ranges->capacity * 2 : 1024;
		struct range *grown = reallocarray(ranges->ranges, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		ranges->ranges = grown;
		ranges->capacity = capacity;
	}
	ranges->ranges[ranges->count++] = (struct range){
		.address = row->address,
		.end = row->address + row->size,
		.line = row->line,
	};
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

void mapparse_ranges_check(struct mapparse_ranges *ranges, struct mapparse_ranges_counts *counts,
			   void (*found)(void *user, uint64_t line, uint64_t other_line,
					 bool is_duplicate),
			   void *user)
{
	const struct range *reaching = ranges->ranges; /* of those seen, the one ending last */

	*counts = (struct mapparse_ranges_counts){ .duplicates = 0 };
	if (ranges->count == 0)
		return;
	qsort(ranges->ranges, ranges->count, sizeof(*ranges->ranges), compare);
	for (size_t i = 1; i < ranges->count; i++) {
		const struct range *r = &ranges->ranges[i];
		const struct range *other = r[-1].address == r->address ? &r[-1] : reaching;
		bool is_duplicate = other->address == r->address;

		if (is_duplicate)
			counts->duplicates++;
		else if (r->address < other->end)
			counts->overlaps++;
		if (found && (is_duplicate || r->address < other->end))
			found(user, r->line, other->line, is_duplicate);
		if (r->end > reaching->end)
			reaching = r;
	}
}
