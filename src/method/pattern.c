// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does a name match a pattern? Asked by the runtimes for each method or function that they come by.
 * pattern_parse.c has made the pattern.
 */
#include "method/pattern_internal.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

bool glob_has_wildcard(const char *s)
{
	return strpbrk(s, "*?") != NULL;
}

bool glob_matches(const char *glob, const char *s)
{
	const char *star = NULL, *resume = NULL;

	while (*s) {
		if (*glob == '*') {
			star = glob++;
			resume = s;
		} else if (*glob == '?' || *glob == *s) {
			glob++;
			s++;
		} else if (star) {
			glob = star + 1;
			s = ++resume;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == '\0';
}

const char *pattern_text(const struct pattern *pattern)
{
	return pattern->text;
}

static bool image_fits(const struct pattern *pattern, const char *file_name)
{
	const char *dot = strrchr(file_name, '.');
	char stem[256];

	if (!pattern->image || glob_matches(pattern->image, file_name))
		return true;
	if (!dot || (size_t)(dot - file_name) >= sizeof(stem))
		return false;
	memcpy(stem, file_name, (size_t)(dot - file_name));
	stem[dot - file_name] = '\0';
	return glob_matches(pattern->image, stem);
}

bool pattern_wants_image(const struct pattern *pattern, const char *file_name)
{
	return pattern->kind != PATTERN_NATIVE && image_fits(pattern, file_name);
}

bool pattern_wants_native_image(const struct pattern *pattern, const char *file_name)
{
	return pattern->image && image_fits(pattern, file_name);
}

const char *pattern_native_only(const struct pattern *pattern)
{
	return pattern->native_only;
}

const char *pattern_native_literals(const struct pattern *pattern)
{
	return text_chars(pattern->kind == PATTERN_REGEX ? &pattern->literals : &pattern->native);
}

bool pattern_has_image(const struct pattern *pattern)
{
	return pattern->image != NULL;
}

bool patterns_have_image(struct pattern *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (pattern_has_image(patterns[i]))
			return true;
	}
	return false;
}

bool pattern_has_params(const struct pattern *pattern)
{
	return pattern->params.given && !pattern->params.any;
}

/* @part of it: its type or its name. */
static bool wants(const struct pattern *pattern, const char *part, const char *name)
{
	if (pattern->kind == PATTERN_EXACT)
		return strcmp(part, name) == 0;
	if (pattern->kind == PATTERN_GLOB)
		return !pattern->type || glob_matches(part, name);
	return pattern->kind == PATTERN_REGEX;
}

bool pattern_wants_type(const struct pattern *pattern, const char *type)
{
	return wants(pattern, pattern->type, type);
}

bool pattern_wants_method(const struct pattern *pattern, const char *name)
{
	return wants(pattern, pattern->name, name);
}

static int no_memory(const struct pattern *pattern, struct error *err)
{
	return error_set(err, -ENOMEM, "no memory to compare names with pattern '%s'",
			 pattern->text);
}

static int regex_finds(struct pattern *pattern, const char *name, size_t length, struct error *err)
{
	int result = pcre2_match(pattern->regex, (PCRE2_SPTR)name, length, 0, 0,
				 pattern->regex_match, pattern->regex_context);

	if (result == PCRE2_ERROR_NOMATCH)
		return 0;
	if (result >= 0)
		return 1;
	return error_set(err, -E2BIG,
			 "pattern '%s' takes too long on '%s': simplify the regex (PCRE2 error %d)",
			 pattern->text, name, result);
}

int pattern_matches_native(struct pattern *pattern, char *const *names, size_t count,
			   struct error *err)
{
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		if (pattern->kind == PATTERN_REGEX) {
			result = regex_finds(pattern, names[i], strlen(names[i]), err);
			continue;
		}
		text_clear(&pattern->scratch);
		pattern_add_without_blanks(&pattern->scratch, names[i]);
		if (!text_ok(&pattern->scratch))
			return no_memory(pattern, err);
		result = glob_matches(text_chars(&pattern->native), text_chars(&pattern->scratch));
	}
	return result;
}

/* The scratch is empty. */
static int matches(struct pattern *pattern, const struct method_name *name, struct error *err)
{
	struct text *scratch = &pattern->scratch;

	if (pattern->kind == PATTERN_REGEX) {
		method_name_spell(name, scratch);
		return regex_finds(pattern, text_chars(scratch), scratch->length, err);
	}
	if (pattern->type) {
		if (!pattern_wants_type(pattern, text_chars(&name->type)) ||
		    !pattern_wants_method(pattern, text_chars(&name->name)))
			return 0;
	} else {
		text_add(scratch, text_chars(&name->type));
		text_add(scratch, "::");
		text_add(scratch, text_chars(&name->name));
		if (!glob_matches(pattern->name, text_chars(scratch)))
			return 0;
	}
	return pattern_list_matches(&pattern->type_args, &name->type_args, NULL, scratch) &&
	       pattern_list_matches(&pattern->method_args, &name->method_args, NULL, scratch) &&
	       pattern_list_matches(&pattern->params, &name->params, name, scratch);
}

int pattern_matches(struct pattern *pattern, const struct method_name *name, struct error *err)
{
	int result;

	if (pattern->kind == PATTERN_NATIVE)
		return 0;
	/* Half a name is another one. */
	if (!method_name_ok(name))
		return no_memory(pattern, err);
	text_clear(&pattern->scratch);
	result = matches(pattern, name, err);
	return text_ok(&pattern->scratch) ? result : no_memory(pattern, err);
}

/* Near misses -------------------------------------------------------------------------- */

bool pattern_is_exact(const struct pattern *pattern)
{
	return pattern->kind == PATTERN_EXACT;
}

/* Levenshtein distance, or a number above @limit as soon as it must be more. */
static unsigned int edit_distance(const char *a, const char *b, unsigned int limit)
{
	enum { LONGEST = 255 };
	unsigned int row[LONGEST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);
	size_t gap = a_length > b_length ? a_length - b_length : b_length - a_length;

	if (a_length > LONGEST || b_length > LONGEST || gap > limit)
		return limit + 1;
	for (unsigned int j = 0; j <= b_length; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= a_length; i++) {
		unsigned int diagonal = row[0], best = i;

		row[0] = i;
		for (unsigned int j = 1; j <= b_length; j++) {
			unsigned int change = diagonal + (a[i - 1] != b[j - 1]);
			unsigned int add = row[j - 1] + 1, drop = row[j] + 1;

			diagonal = row[j];
			row[j] = add < drop ? add : drop;
			row[j] = row[j] < change ? row[j] : change;
			best = row[j] < best ? row[j] : best;
		}
		if (best > limit)
			return limit + 1;
	}
	return row[b_length];
}

/*
 * The edit distance between the two names, or a number above @limit if it is larger, or larger
 * than is tolerable for a name of that length.
 */
static unsigned int near_distance(const char *wanted, const char *actual, unsigned int limit)
{
	/* The longer a name, the more may be wrong with it and it is still meant. */
	unsigned int tolerated = 2 + (unsigned int)strlen(wanted) / 4;
	unsigned int allowed = tolerated < limit ? tolerated : limit;
	unsigned int distance = edit_distance(wanted, actual, allowed);

	return distance <= allowed ? distance : limit + 1;
}

static const char *short_type(const char *type)
{
	const char *dot = strrchr(type, '.');

	return dot ? dot + 1 : type;
}

unsigned int pattern_type_distance(const struct pattern *pattern, const char *type,
				   unsigned int limit)
{
	unsigned int whole, part;

	if (pattern->kind != PATTERN_EXACT)
		return limit + 1;
	whole = near_distance(pattern->type, type, limit);
	if (whole == 0 || limit == 0)
		return whole;
	/* The namespace was forgotten or is another one. */
	part = near_distance(short_type(pattern->type), short_type(type), limit - 1) + 1;
	return whole < part ? whole : part;
}

unsigned int pattern_method_distance(const struct pattern *pattern, const char *name,
				     unsigned int limit)
{
	if (pattern->kind != PATTERN_EXACT)
		return limit + 1;
	return near_distance(pattern->name, name, limit);
}
