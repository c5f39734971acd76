// SPDX-License-Identifier: GPL-2.0-or-later
/* The method that the compiler has made this one from, for name_match.c. */
#include "runtime/dotnet/source_method.h"

#include <string.h>

enum {
	ATTRIBUTES_MAX = 64,
	NESTING_MAX = 64,
	ATTRIBUTE_PROLOG = 0x0001,
};

static bool has_suffix(const char *s, const char *suffix)
{
	size_t length = strlen(s), suffix_length = strlen(suffix);

	return length >= suffix_length && strcmp(s + length - suffix_length, suffix) == 0;
}

/* Does the string @name end in the nested type @short_name ("Outer+<Work>d__10")? */
static bool names_type(struct span name, const char *short_name)
{
	size_t length = strlen(short_name);

	return name.size > length && name.start[name.size - length - 1] == '+' &&
	       memcmp(name.start + name.size - length, short_name, length) == 0;
}

/*
 * What a method's [AsyncStateMachine(typeof(X))] and the like say of @made_type:
 * 1 it is this method's, -1 another type is, 0 there is no such attribute.
 */
static int attributed(const struct metadata *metadata, uint32_t method, const char *made_type)
{
	struct metadata_attribute attribute;

	for (uint32_t i = 0; i < ATTRIBUTES_MAX; i++) {
		struct cursor c;

		if (!metadata_method_attribute(metadata, method, i, &attribute))
			return 0;
		if (!has_suffix(attribute.type, "StateMachineAttribute"))
			continue;
		c = cursor_over(attribute.value);
		if (cursor_u16(&c) != ATTRIBUTE_PROLOG)
			return 0;
		return names_type(cursor_take(&c, metadata_compressed(&c)), made_type) ? 1 : -1;
	}
	return 0;
}

/* Up from the compiler's classes to the one that a person wrote. */
static uint32_t author_type(const struct metadata *metadata, uint32_t type)
{
	for (int i = 0; type && i < NESTING_MAX; i++) {
		if (*metadata_type_short_name(metadata, type) != '<')
			return type;
		type = metadata_type_enclosing(metadata, type);
	}
	return 0;
}

void source_methods_begin(struct source_methods *methods, const struct metadata *metadata,
			  uint32_t made_rid, const struct source_name *source)
{
	*methods = (struct source_methods){
		.metadata = metadata,
		.source = source,
		.made_type = metadata_type_short_name(metadata, made_rid),
		.type_rid = author_type(metadata, made_rid),
	};
	if (methods->type_rid)
		metadata_type_methods(metadata, methods->type_rid, &methods->next, &methods->end);
}

uint32_t source_methods_next(struct source_methods *methods)
{
	const struct source_name *source = methods->source;

	while (methods->next < methods->end) {
		uint32_t method = methods->next++;
		const char *name = metadata_method_name(methods->metadata, method);

		if (strlen(name) != source->name_length ||
		    memcmp(name, source->name, source->name_length) != 0)
			continue;
		if (source->relation == SOURCE_STATE_MACHINE &&
		    attributed(methods->metadata, method, methods->made_type) < 0)
			continue;
		return method;
	}
	return 0;
}
