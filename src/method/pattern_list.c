// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of types in a pattern: parsed for pattern_parse.c, matched for pattern.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "method/pattern_internal.h"

enum {
	LIST_MAX = 256, /* elements */
};

void pattern_list_deinit(struct pattern_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->elements[i]);
	free(list->elements);
	*list = (struct pattern_list){ 0 };
}

/* NULL: it is no type (errno EINVAL), or there is no memory. */
static char *normal_element(const char *start, const char *end, bool as_argument)
{
	struct text spelled = { 0 };
	char *result;

	while (start < end && *start == ' ')
		start++;
	while (end > start && end[-1] == ' ')
		end--;
	if (end - start == 1 && *start == '*')
		return strdup("*");
	if (!type_name_normalise(start, (size_t)(end - start), as_argument, &spelled) &&
	    text_ok(&spelled)) {
		/* A glob such as System.* is no type; it is kept as it is. */
		text_clear(&spelled);
		text_add_bytes(&spelled, start, (size_t)(end - start));
		if (!glob_has_wildcard(text_chars(&spelled)))
			text_clear(&spelled);
	}
	errno = text_ok(&spelled) ? EINVAL : ENOMEM;
	result = spelled.length && text_ok(&spelled) ? strdup(text_chars(&spelled)) : NULL;
	text_deinit(&spelled);
	return result;
}

int pattern_list_parse(struct pattern_list *list, const char *start, const char *end,
		       bool as_argument, const char *pattern, struct error *err)
{
	list->given = true;
	while (start < end && *start == ' ')
		start++;
	if (start == end)
		return 0;
	if (end - start == 1 && *start == '*') {
		list->any = true;
		return 0;
	}
	list->elements = calloc(LIST_MAX, sizeof(*list->elements));
	if (!list->elements)
		return error_set(err, -ENOMEM, "no memory for pattern '%s'", pattern);
	for (const char *p = start;; p++) {
		const char *element_end = type_list_element_end(p, end);

		if (list->count == LIST_MAX)
			return error_set(
				err, -EINVAL,
				"pattern '%s' has a list of more than %d types: write (*) for any",
				pattern, LIST_MAX);
		list->elements[list->count] = normal_element(p, element_end, as_argument);
		if (!list->elements[list->count] && errno == ENOMEM)
			return error_set(err, -ENOMEM, "no memory for pattern '%s'", pattern);
		if (!list->elements[list->count])
			return error_set(
				err, -EINVAL,
				"pattern '%s': '%.*s' is no type: write int, System.Int32 or List<string>, or (*) for any",
				pattern, (int)(element_end - p), p);
		list->count++;
		p = element_end;
		if (p == end)
			return 0;
	}
}

/* "Dictionary`2" stands for any namespace's, and "Inner" for Outer+Inner. */
static bool element_matches(const char *wanted, const char *actual)
{
	size_t wanted_length = strlen(wanted), actual_length = strlen(actual);
	const char *tail;

	if (strcmp(wanted, "*") == 0 || strcmp(wanted, actual) == 0)
		return true;
	if (actual_length > wanted_length) {
		tail = actual + actual_length - wanted_length;
		if ((tail[-1] == '.' || tail[-1] == '+') && strcmp(tail, wanted) == 0)
			return true;
	}
	return glob_has_wildcard(wanted) && glob_matches(wanted, actual);
}

/* How many elements a comma-separated list has; 0 if it is empty. */
static size_t type_list_count(const char *list, size_t length)
{
	const char *end = list + length;
	size_t count = length ? 1 : 0;

	for (const char *p = list; (p = type_list_element_end(p, end)) < end; p++)
		count++;
	return count;
}

/* The n-th element of a comma-separated list, as bytes; false if there is none. */
static bool nth_element(const char *list, size_t n, const char **start, const char **end)
{
	const char *list_end = list + strlen(list);

	*start = list;
	for (;;) {
		*end = type_list_element_end(*start, list_end);
		if (n-- == 0)
			return *end > *start;
		if (*end == list_end)
			return false;
		*start = *end + 1;
	}
}

/*
 * Append @chars with !n and !!n replaced by the instantiation's arguments, so that
 * List`1[System.Int32]::Add can be asked for as Add(int) as well as Add(!0).
 */
static void substitute(const char *chars, const struct method_name *name, struct text *out)
{
	struct text open = { 0 };

	for (const char *p = chars; *p;) {
		bool of_method = p[0] == '!' && p[1] == '!';
		const char *digits = p + (of_method ? 2 : 1);
		const char *args = text_chars(of_method ? &name->method_args : &name->type_args);
		const char *start, *end;
		char *after;
		unsigned long n;

		if (*p != '!' || *digits < '0' || *digits > '9') {
			text_add_char(&open, *p++);
			continue;
		}
		n = strtoul(digits, &after, 10);
		if (nth_element(args, n, &start, &end))
			text_add_bytes(&open, start, (size_t)(end - start));
		else
			text_add_bytes(&open, p, (size_t)(after - p));
		p = after;
	}
	/* Arguments are spelled by their CLR name; as a parameter it is the IL name. */
	if (!type_name_normalise(text_chars(&open), open.length, false, out))
		text_add(out, text_chars(&open));
	text_deinit(&open);
}

/* The same, for an element whose generic parameters are replaced first. */
static bool substituted_matches(const char *wanted, const char *chars, size_t length,
				const struct method_name *instance, struct text *element)
{
	struct text open = { 0 }, closed = { 0 };
	bool same = false;

	if (memchr(chars, '!', length)) {
		text_add_bytes(&open, chars, length);
		substitute(text_chars(&open), instance, &closed);
		same = element_matches(wanted, text_chars(&closed));
	}
	element->failed |= !text_ok(&open) || !text_ok(&closed);
	text_deinit(&open);
	text_deinit(&closed);
	return same;
}

bool pattern_list_matches(const struct pattern_list *list, const struct text *actual,
			  const struct method_name *instance, struct text *element)
{
	const char *chars = text_chars(actual);

	if (!list->given || list->any)
		return true;
	if (type_list_count(chars, actual->length) != list->count)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		const char *start, *end;

		if (!nth_element(chars, i, &start, &end))
			return false;
		text_clear(element);
		text_add_bytes(element, start, (size_t)(end - start));
		if (!element_matches(list->elements[i], text_chars(element)) &&
		    !(instance && substituted_matches(list->elements[i], start,
						      (size_t)(end - start), instance, element)))
			return false;
	}
	return true;
}
