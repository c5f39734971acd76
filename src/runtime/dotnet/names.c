// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which names there are, for who has begun to write one; and which come closest to a pattern that
 * matched nothing.
 */
#include "runtime/dotnet/dotnet_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "method/pattern.h"

enum {
	NEAR_LIMIT = 8, /* of a type's distance, and of a method's */
	NEAR_MAX = 8,
};

/* What may follow ---------------------------------------------------------------------------- */

/* What is to be written next, of a name that begins with @word. */
struct wanted {
	const char *image; /* "Image!" of it, or "" */
	size_t image_length;
	const char *type; /* all that there is, or up to "::" */
	size_t type_length;
	const char *method; /* behind "::", or NULL */
	size_t method_length;
	bool made_too; /* types and methods that compilers make are asked for */
	runtime_name_fn fn;
	void *ctx;
	struct text text;
};

/* As a pattern has it: "a.dll", or without its ending. */
static bool in_image(const struct wanted *wanted, const char *name)
{
	size_t length = wanted->image_length ? wanted->image_length - 1 : 0;

	return length == 0 || (strncmp(name, wanted->image, length) == 0 &&
			       (name[length] == '\0' || strcmp(name + length, ".dll") == 0));
}

static bool is_made(const struct wanted *wanted, const char *name)
{
	return !wanted->made_too && strchr(name, '<');
}

static int tell(const struct wanted *wanted)
{
	return text_ok(&wanted->text) ? wanted->fn(wanted->ctx, text_chars(&wanted->text)) :
					-ENOMEM;
}

/* The type's name up to the end of the part that @wanted ends in, with "::" if that is the last. */
static int tell_type(struct wanted *wanted, const char *type)
{
	const char *dot = strchr(type + wanted->type_length, '.');

	text_clear(&wanted->text);
	text_printf(&wanted->text, "%.*s%.*s%s", (int)wanted->image_length, wanted->image,
		    (int)(dot ? dot - type + 1 : (ssize_t)strlen(type)), type, dot ? "" : "::");
	return tell(wanted);
}

static int tell_methods(struct wanted *wanted, const struct metadata *metadata, uint32_t first,
			uint32_t end)
{
	int result = 0;

	for (uint32_t method = first; method < end && result == 0; method++) {
		const char *name = metadata_method_name(metadata, method);

		if (strncmp(name, wanted->method, wanted->method_length) != 0 ||
		    is_made(wanted, name))
			continue;
		text_clear(&wanted->text);
		text_printf(&wanted->text, "%.*s%.*s::%s", (int)wanted->image_length, wanted->image,
			    (int)wanted->type_length, wanted->type, name);
		result = tell(wanted);
	}
	return result;
}

static int tell_names(struct wanted *wanted, const struct metadata *metadata)
{
	uint32_t types = metadata_rows(metadata, TABLE_TYPE_DEF), first, end;
	_cleanup_(text_deinit) struct text name = { 0 };
	int result = 0;

	for (uint32_t type = 1; type <= types && result == 0; type++) {
		text_clear(&name);
		metadata_type_name(metadata, type, &name);
		if (strncmp(text_chars(&name), wanted->type, wanted->type_length) != 0 ||
		    (wanted->method && name.length != wanted->type_length) ||
		    is_made(wanted, text_chars(&name)))
			continue;
		metadata_type_methods(metadata, type, &first, &end);
		if (wanted->method)
			result = tell_methods(wanted, metadata, first, end);
		else if (first < end)
			result = tell_type(wanted, text_chars(&name));
	}
	return result;
}

int dotnet_names(const struct runtime *runtime, const char *word, runtime_name_fn fn, void *ctx)
{
	const struct dotnet_images *images = &((const struct dotnet *)runtime)->images;
	const char *bang = strchr(word, '!'), *type = bang ? bang + 1 : word;
	const char *colons = strstr(type, "::");
	struct wanted wanted = {
		.image = word,
		.image_length = (size_t)(type - word),
		.type = type,
		.type_length = colons ? (size_t)(colons - type) : strlen(type),
		.method = colons ? colons + 2 : NULL,
		.method_length = colons ? strlen(colons + 2) : 0,
		.made_too = strchr(type, '<') != NULL,
		.fn = fn,
		.ctx = ctx,
	};
	int result = 0;

	for (size_t i = 0; i < images->count && result == 0; i++) {
		const struct dotnet_image *image = images->images[i];

		if (image->metadata && in_image(&wanted, image->name))
			result = tell_names(&wanted, image->metadata);
	}
	text_deinit(&wanted.text);
	return result;
}

/* What comes closest ------------------------------------------------------------------------- */

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

static void near_in_image(const struct dotnet_image *image, const struct pattern *pattern,
			  struct near *best, size_t max)
{
	uint32_t types = metadata_rows(image->metadata, TABLE_TYPE_DEF);
	_cleanup_(text_deinit) struct text type_name = { 0 };

	for (uint32_t type = 1; type <= types; type++) {
		const struct near *worst = &best[max - 1];
		unsigned int limit =
			worst->name && worst->distance < NEAR_LIMIT ? worst->distance : NEAR_LIMIT;
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
}

size_t dotnet_near_misses(const struct runtime *runtime, const struct pattern *pattern,
			  char **names, size_t max)
{
	const struct dotnet_images *images = &((const struct dotnet *)runtime)->images;
	struct near best[NEAR_MAX] = { 0 };
	size_t count = 0;

	if (!pattern_is_exact(pattern))
		return 0;
	max = max < NEAR_MAX ? max : NEAR_MAX;
	for (size_t i = 0; i < images->count; i++) {
		if (images->images[i]->metadata)
			near_in_image(images->images[i], pattern, best, max);
	}
	for (; count < max && best[count].name; count++)
		names[count] = best[count].name;
	return count;
}
