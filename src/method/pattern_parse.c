// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the text of the command line to a pattern, for the session and for the follower, each of
 * which has its own. pattern.c matches by it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "method/pattern_internal.h"

enum {
	PATTERN_MAX_BYTES = 4096,

	/* What a sensible regex over one name never needs; a catastrophic one ends here. */
	REGEX_MATCH_LIMIT = 100000,
	REGEX_HEAP_LIMIT_KB = 16384,
};

static bool is_plain(char c)
{
	return c && (strchr("_:~,<>&=!%;@\"'`-", c) || (c >= '0' && c <= '9') ||
		     (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

/* Another quantifier behind one makes that lazy or possessive, and finds no character here. */
static void make_optional(struct text *out)
{
	if (out->length && out->chars[out->length - 1] != '*')
		text_cut(out, out->length - 1);
}

/*
 * Append what must be in each name that a regex of @length characters finds, '*' between: of one
 * that is simple enough to tell. Of others, which have groups, choices, classes or escapes of
 * letters, nothing is said.
 */
static void add_literals(struct text *out, const char *regex, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char c = regex[i];

		/* A string's end is found as well. */
		if (strchr("|()[]{}#", c) ||
		    (c == '\\' && (++i == length || !strchr("./*+?^$()[]{}|\\ ", regex[i])))) {
			text_clear(out);
			return;
		}
		if (c == '*' || c == '?')
			make_optional(out);
		text_add_char(out, is_plain(c) ? c : '*');
	}
}

static int parse_regex(struct pattern *pattern, const char *start, size_t length, uint32_t flags,
		       struct error *err)
{
	PCRE2_UCHAR message[128];
	PCRE2_SIZE offset;
	int code;

	pattern->kind = PATTERN_REGEX;
	pattern->regex = pcre2_compile((PCRE2_SPTR)start, length, flags, &code, &offset, NULL);
	if (!pattern->regex && code != PCRE2_ERROR_HEAP_FAILED) {
		pcre2_get_error_message(code, message, sizeof(message));
		return error_set(
			err, -EINVAL,
			"pattern '%s': %s (at character %zu of the regex; write \\ before what is meant as it is)",
			pattern->text, (char *)message, (size_t)offset);
	}
	if (pattern->regex && !(flags & PCRE2_CASELESS))
		add_literals(&pattern->literals, start, length);
	if (!pattern->regex || !text_ok(&pattern->literals))
		return error_set(err, -ENOMEM, "no memory for pattern '%s'", pattern->text);
	/* Without JIT (a hardened kernel may refuse its memory) matching is slower, not wrong. */
	pcre2_jit_compile(pattern->regex, PCRE2_JIT_COMPLETE);
	pattern->regex_match = pcre2_match_data_create_from_pattern(pattern->regex, NULL);
	pattern->regex_context = pcre2_match_context_create(NULL);
	if (!pattern->regex_match || !pattern->regex_context)
		return error_set(err, -ENOMEM, "no memory for pattern '%s'", pattern->text);
	pcre2_set_match_limit(pattern->regex_context, REGEX_MATCH_LIMIT);
	pcre2_set_heap_limit(pattern->regex_context, REGEX_HEAP_LIMIT_KB);
	return 0;
}

/* Cut "[...]" off the end of @name, a piece of the pattern that may be written to. */
static int take_arguments(struct pattern *pattern, char *name, struct pattern_list *list,
			  struct error *err)
{
	size_t length = strlen(name);
	int depth = 0;

	if (length == 0 || name[length - 1] != ']')
		return 0;
	for (size_t i = length; i > 0; i--) {
		if (name[i - 1] == ']') {
			depth++;
		} else if (name[i - 1] == '[' && --depth == 0) {
			name[i - 1] = '\0';
			return pattern_list_parse(list, name + i, name + length - 1, true,
						  pattern->text, err);
		}
	}
	return error_set(err, -EINVAL,
			 "pattern '%s': a ']' is not opened: write '[' before the type arguments",
			 pattern->text);
}

static char *last_colons(char *s)
{
	char *found = NULL;

	for (char *p = s; (p = strstr(p, "::")); p++)
		found = p;
	return found;
}

static int split_name(struct pattern *pattern, char *spec, struct error *err)
{
	char *colons = last_colons(spec);
	int result;

	if (colons) {
		*colons = '\0';
		for (char *c = spec; *c && *c != '['; c++)
			*c = *c == '/' ? '+' : *c;
		result = take_arguments(pattern, spec, &pattern->type_args, err);
		if (result)
			return result;
		pattern->type = strdup(spec);
		spec = colons + 2;
	}
	result = take_arguments(pattern, spec, &pattern->method_args, err);
	if (result)
		return result;
	pattern->name = strdup(spec);
	if (!pattern->name || (colons && !pattern->type))
		return error_set(err, -ENOMEM, "no memory for pattern '%s'", pattern->text);
	if (glob_has_wildcard(pattern->name) || (pattern->type && glob_has_wildcard(pattern->type)))
		pattern->kind = PATTERN_GLOB;

	if (*pattern->name == '\0' || (pattern->type && *pattern->type == '\0'))
		return error_set(err, -EINVAL,
				 "pattern '%s' lacks a type or a method: write TYPE::METHOD",
				 pattern->text);
	if (!pattern->type && pattern->kind == PATTERN_EXACT)
		return error_set(
			err, -EINVAL,
			"pattern '%s' has no '::': write Namespace.Type::Method, a glob or /regex/",
			pattern->text);
	return 0;
}

void pattern_add_without_blanks(struct text *out, const char *name)
{
	for (; *name; name++) {
		if (*name != ' ')
			text_add_char(out, *name);
	}
}

/* Names of native functions are of all kinds; but a slip in one of a method's is none. */
static bool may_be_native(const char *spec)
{
	int depth = 0;

	for (const char *p = spec; *p; p++)
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
	return *spec && *spec != '/' && depth == 0;
}

/* @spec is a copy of the pattern after "Image!". */
static int parse_spec(struct pattern *pattern, char *spec, struct error *err)
{
	size_t length = strlen(spec);
	char *open = strchr(spec, '(');
	char *slash = strrchr(spec, '/');
	int result;

	if (spec[0] == '/' && slash != spec && (slash[1] == '\0' || strcmp(slash, "/i") == 0))
		return parse_regex(pattern, spec + 1, (size_t)(slash - spec - 1),
				   slash[1] ? PCRE2_CASELESS : 0, err);
	if (spec[0] == '/')
		return error_set(
			err, -EINVAL,
			"pattern '%s': a regex ends with '/', or '/i': write that at its end",
			pattern->text);
	if (open) {
		if (spec[length - 1] != ')')
			return error_set(
				err, -EINVAL,
				"pattern '%s': ')' is missing at the end: write it, or no parameters at all",
				pattern->text);
		result = pattern_list_parse(&pattern->params, open + 1, spec + length - 1, false,
					    pattern->text, err);
		if (result)
			return result;
		*open = '\0';
	}
	return split_name(pattern, spec, err);
}

/* The same, where a native function's name will do as well. */
static int parse_image_spec(struct pattern *pattern, char *spec, struct error *err)
{
	struct error why = { .text = "" };
	bool native = may_be_native(spec);
	int result;

	if (native)
		pattern_add_without_blanks(&pattern->native, spec);
	result = parse_spec(pattern, spec, &why);
	if (result == -EINVAL && native) {
		pattern->kind = PATTERN_NATIVE;
		pattern->native_only = strdup(why.text);
		result = pattern->native_only ? 0 : -ENOMEM;
	}
	if (result == 0 && !text_ok(&pattern->native))
		result = -ENOMEM;
	return result ? error_set(err, result, "%s", why.text) : 0;
}

CLEANUP_POINTER(pattern_destroy, struct pattern)

int pattern_create(struct pattern **out, const char *text, struct error *err)
{
	_cleanup_(pattern_destroy_at) struct pattern *pattern = calloc(1, sizeof(*pattern));
	_cleanup_free_ char *copy = NULL;
	const char *bang = strchr(text, '!');
	int result;

	/* A '!' further in belongs to a generic parameter: Add(!0). */
	if (bang && strcspn(text, ":(/[") <= (size_t)(bang - text))
		bang = NULL;
	if (strlen(text) > PATTERN_MAX_BYTES)
		return error_set(err, -EINVAL,
				 "a pattern has at most %d characters: give several, or a glob",
				 PATTERN_MAX_BYTES);
	if (bang == text)
		return error_set(
			err, -EINVAL,
			"pattern '%s' names no image before '!': write 'Image!Type::Method'", text);
	copy = strdup(bang ? bang + 1 : text);
	if (!pattern || !copy || !(pattern->text = strdup(text)) ||
	    (bang && !(pattern->image = strndup(text, (size_t)(bang - text)))))
		return error_set(err, -ENOMEM, "no memory for pattern '%s'", text);
	if (*copy == '\0')
		return error_set(err, -EINVAL,
				 "pattern '%s' is empty: write 'Namespace.Type::Method'", text);
	result = (bang ? parse_image_spec : parse_spec)(pattern, copy, err);
	if (result)
		return result;
	*out = cleanup_take(pattern);
	return 0;
}

void pattern_destroy(struct pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_code_free(pattern->regex);
	pcre2_match_data_free(pattern->regex_match);
	pcre2_match_context_free(pattern->regex_context);
	pattern_list_deinit(&pattern->type_args);
	pattern_list_deinit(&pattern->method_args);
	pattern_list_deinit(&pattern->params);
	text_deinit(&pattern->scratch);
	text_deinit(&pattern->native);
	text_deinit(&pattern->literals);
	free(pattern->native_only);
	free(pattern->text);
	free(pattern->image);
	free(pattern->type);
	free(pattern->name);
	free(pattern);
}

int patterns_create(struct pattern ***out, char *const *texts, size_t count, struct error *err)
{
	struct pattern **patterns = calloc(count + 1, sizeof(struct pattern *));
	int result = 0;

	if (!patterns)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	for (size_t i = 0; i < count && result == 0; i++)
		result = pattern_create(&patterns[i], texts[i], err);
	if (result) {
		patterns_destroy(patterns, count);
		return result;
	}
	*out = patterns;
	return 0;
}

void patterns_destroy(struct pattern **patterns, size_t count)
{
	for (size_t i = 0; patterns && i < count; i++)
		pattern_destroy(patterns[i]);
	free(patterns);
}
