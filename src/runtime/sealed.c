// SPDX-License-Identifier: GPL-2.0-or-later
/* A list of pages that are never written again: filled by a runtime, asked by the session. */
#include "runtime/sealed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/vector.h"

int sealed_pages_add(struct sealed_pages *pages, uint64_t begin, uint64_t end, struct error *err)
{
	const struct sealed_range range = { begin, end };

	if (vector_add(&pages->ranges, &pages->count, &pages->capacity, range))
		return 0;
	return error_set(err, -ENOMEM, "no memory for the pages of the target's code");
}

void sealed_pages_sort(struct sealed_pages *pages)
{
	size_t kept = 0;

	if (pages->count)
		qsort(pages->ranges, pages->count, sizeof(*pages->ranges), by_leading_number);
	for (size_t i = 0; i < pages->count; i++) {
		struct sealed_range *last = kept ? &pages->ranges[kept - 1] : NULL;

		if (last && pages->ranges[i].begin <= last->end) {
			if (pages->ranges[i].end > last->end)
				last->end = pages->ranges[i].end;
			continue;
		}
		pages->ranges[kept++] = pages->ranges[i];
	}
	pages->count = kept;
}

bool sealed_pages_have(const struct sealed_pages *pages, uint64_t address)
{
	size_t count = sorted_up_to(pages->ranges, pages->count, sizeof(*pages->ranges), address);

	return count && address < pages->ranges[count - 1].end;
}

void sealed_pages_deinit(struct sealed_pages *pages)
{
	free(pages->ranges);
	*pages = (struct sealed_pages){ 0 };
}
