// SPDX-License-Identifier: GPL-2.0-or-later
/* See call_name.h. What a context is called is asked of the runtime once. */
#include "session/call_name.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"

enum { CONTEXTS_MAX = 1 << 16 };

struct known_context {
	uint64_t context; /* first: base/tree.h */
	char *name;	  /* NULL: it has none */
};

static void free_context(void *item)
{
	struct known_context *known = item;

	free(known->name);
	free(known);
}

void call_names_deinit(struct call_names *names)
{
	tdestroy(names->by_context, free_context);
}

void call_name_add_plain(struct text *out, const char *method)
{
	const char *end = strrchr(method, ')');
	int depth = 0;

	for (; end && end > method; end--) {
		depth += *end == ')';
		depth -= *end == '(';
		if (depth == 0)
			break;
	}
	text_add_bytes(out, method, end && end > method ? (size_t)(end - method) : strlen(method));
}

/* NULL: it has none, or there are too many. */
static const char *context_name(struct call_names *names, const struct runtimes *runtimes,
				enum runtime_id id, enum value_context is, uint64_t context)
{
	_cleanup_(text_deinit) struct text name = { 0 };
	struct known_context *known = tree_find(&names->by_context, context);
	bool is_new;

	if (known || names->count == CONTEXTS_MAX)
		return known ? known->name : NULL;
	known = tree_take(&names->by_context, context, sizeof(*known), &is_new);
	if (!known)
		return NULL;
	names->count++;
	if (runtimes_context_name(runtimes, id, context, is == VALUE_CONTEXT_METHOD, &name) &&
	    text_ok(&name))
		known->name = strdup(text_chars(&name));
	return known->name;
}

/* Behind the list of arguments that begins there, if one does. */
static const char *skip_arguments(const char *at)
{
	int depth = 0;

	for (const char *end = at; *end; end++) {
		depth += *end == '[';
		depth -= *end == ']';
		if (depth == 0)
			return *end == ']' ? end + 1 : at;
	}
	return at;
}

/* The same definition, up to where parameters begin? */
static bool is_of(const char *instance, const char *shared)
{
	while (*instance && *instance != '(') {
		if (*instance == '[' && *shared == '[') {
			const char *behind = skip_arguments(instance);

			shared = skip_arguments(shared);
			if (behind == instance)
				return false;
			instance = behind;
		} else if (*instance++ != *shared++) {
			return false;
		}
	}
	return *shared == '(' || *shared == '\0';
}

bool call_name_add_instance(struct call_names *names, const struct runtimes *runtimes,
			    enum runtime_id id, const char *method, enum value_context is,
			    uint64_t context, struct text *out)
{
	_cleanup_(text_deinit) struct text whole = { 0 };
	const char *name = is && context ? context_name(names, runtimes, id, is, context) : NULL;
	const char *member = strstr(method, "::");

	if (!name || !member)
		return false;
	text_add(&whole, name);
	if (is != VALUE_CONTEXT_METHOD)
		text_add(&whole, member);
	if (!text_ok(&whole) || !is_of(text_chars(&whole), method))
		return false;
	call_name_add_plain(out, text_chars(&whole));
	return true;
}

bool call_name_add_code(struct call_names *names, const struct runtimes *runtimes,
			enum runtime_id id, uint64_t code, struct text *out)
{
	const char *name = context_name(names, runtimes, id, VALUE_CONTEXT_METHOD, code);

	if (name)
		call_name_add_plain(out, name);
	return name;
}
