// SPDX-License-Identifier: GPL-2.0-or-later
/* From the name that a compiler has made to that in the source, for the runtimes. */
#include "method/source_name.h"

#include <string.h>

/* Where the <Name> at the start of @s ends, behind its '>', or NULL. Names may hold <>. */
static const char *angled_end(const char *s)
{
	int depth = 0;

	if (*s != '<')
		return NULL;
	for (; *s; s++) {
		if (*s == '<')
			depth++;
		else if (*s == '>' && --depth == 0)
			return s + 1;
	}
	return NULL;
}

/* Leave closure classes: they lie in the type that the lambda was written in. */
static size_t without_closures(const char *type, size_t length)
{
	static const char closure[] = "<>c";

	for (;;) {
		size_t start = length;

		while (start > 0 && type[start - 1] != '+')
			start--;
		if (start == 0 || length - start < sizeof(closure) - 1 ||
		    memcmp(type + start, closure, sizeof(closure) - 1) != 0)
			return length;
		length = start - 1;
	}
}

/* <Name>d__5 and its generic form <Name>d__5`1; of a lambda or local function just <Name>d. */
static bool is_state_machine(const char *after_name)
{
	return after_name[0] == 'd' && (after_name[1] == '\0' || after_name[1] == '`' ||
					strncmp(after_name + 1, "__", 2) == 0);
}

/* <Name>b__4_0 or <Name>g__Local|4_0, as in a method's name or inside the name of another. */
static bool take_function(const char *s, struct source_name *source)
{
	const char *end = angled_end(s);

	if (!end || (strncmp(end, "b__", 3) != 0 && strncmp(end, "g__", 3) != 0))
		return false;
	source->relation = *end == 'b' ? SOURCE_LAMBDA : SOURCE_LOCAL_FUNCTION;
	source->name = s + 1;
	source->name_length = (size_t)(end - 1 - (s + 1));
	return true;
}

bool source_name_parse(const char *type, const char *method, struct source_name *source)
{
	const char *plus = strrchr(type, '+'), *nested = plus ? plus + 1 : NULL;
	const char *end = nested ? angled_end(nested) : NULL;

	*source = (struct source_name){ .type_length = strlen(type) };
	if (end && is_state_machine(end) && strcmp(method, "MoveNext") == 0) {
		source->relation = SOURCE_STATE_MACHINE;
		source->type_length = (size_t)(nested - 1 - type);
		source->name = nested + 1;
		source->name_length = (size_t)(end - 1 - (nested + 1));
	} else if (!take_function(method, source)) {
		return false;
	}
	/* What it was made of may itself be a lambda in a method, or a local function. */
	while (source->name_length && *source->name == '<' && take_function(source->name, source))
		;
	source->type_length = without_closures(type, source->type_length);
	return source->name_length > 0;
}

const char *source_relation_text(enum source_relation relation)
{
	switch (relation) {
	case SOURCE_STATE_MACHINE:
		return "state machine of";
	case SOURCE_LAMBDA:
		return "lambda in";
	default:
		return "local function in";
	}
}
