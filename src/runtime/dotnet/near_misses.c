// SPDX-License-Identifier: GPL-2.0-or-later
/* After a search that found nothing: which names come closest to the pattern. See find.h. */
#include "runtime/dotnet/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "method/pattern.h"
#include "runtime/dotnet/metadata.h"

enum {
	NEAR_LIMIT = 8, /* of a type's distance, and of a method's */
	NEAR_MAX = 8,
};

struct near {
	unsigned int distance;
	char *name;
};

/* Insert into the sorted list of the best; an overload of a name that is there adds nothing. */
static void near_add(struct near *best, size_t max, unsigned int distance, const char *type,
		     const char *method)
{
	size_t at = 0;
	char *name;

	if (asprintf(&name, "%s::%s", type, method) < 0)
		return;
	while (at < max && best[at].name && best[at].distance <= distance &&
	       strcmp(best[at].name, name) != 0)
		at++;
	if (at == max || (best[at].name && strcmp(best[at].name, name) == 0)) {
		free(name);
		return;
	}
	free(best[max - 1].name);
	memmove(&best[at + 1], &best[at], (max - at - 1) * sizeof(*best));
	best[at] = (struct near){ distance, name };
}

static unsigned int worst_of(const struct near *best, size_t max)
{
	return best[max - 1].name ? best[max - 1].distance : 2 * NEAR_LIMIT;
}

static void near_in_image(const struct dotnet_image *image, const struct pattern *pattern,
			  struct near *best, size_t max)
{
	uint32_t types = metadata_rows(image->metadata, TABLE_TYPE_DEF);
	struct text type_name = { 0 };

	for (uint32_t type = 1; type <= types; type++) {
		unsigned int worst = worst_of(best, max);
		unsigned int limit = worst < NEAR_LIMIT ? worst : NEAR_LIMIT;
		unsigned int type_distance;
		uint32_t first, end;

		text_clear(&type_name);
		metadata_type_name(image->metadata, type, &type_name);
		type_distance = pattern_type_distance(pattern, text_chars(&type_name), limit);
		if (type_distance > limit)
			continue;
		metadata_type_methods(image->metadata, type, &first, &end);
		for (uint32_t method = first; method < end; method++) {
			const char *name = metadata_method_name(image->metadata, method);
			unsigned int distance = pattern_method_distance(pattern, name, NEAR_LIMIT);

			if (distance <= NEAR_LIMIT)
				near_add(best, max, type_distance + distance,
					 text_chars(&type_name), name);
		}
	}
	text_deinit(&type_name);
}

size_t dotnet_near_misses(const struct dotnet_images *images, const struct pattern *pattern,
			  char **names, size_t max)
{
	struct near best[NEAR_MAX] = { 0 };
	size_t count = 0;

	if (!pattern_is_exact(pattern))
		return 0;
	max = max < NEAR_MAX ? max : NEAR_MAX;
	for (size_t i = 0; i < images->count; i++) {
		if (images->images[i]->metadata)
			near_in_image(images->images[i], pattern, best, max);
	}
	while (count < max && best[count].name) {
		names[count] = best[count].name;
		count++;
	}
	return count;
}
