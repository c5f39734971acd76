// SPDX-License-Identifier: GPL-2.0-or-later
#include "method/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "error.h"
#include "method/near.h"
#include "method/type_name.h"

enum {
	PATTERN_MAX_BYTES = 4096,
	LIST_MAX = 256, /* elements of a parameter or argument list */

	/* What a sensible regex over one name never needs; a catastrophic one ends here. */
	REGEX_MATCH_LIMIT = 100000,
	REGEX_HEAP_LIMIT_KB = 16384,
};

enum pattern_kind {
	PATTERN_EXACT,
	PATTERN_GLOB,
	PATTERN_REGEX,
	PATTERN_NATIVE, /* it is no method's name */
};

/* "(...)" or "[...]" of a pattern. */
struct list {
	bool given;
	bool any; /* "*": whatever is there, also nothing */
	size_t count;
	char **elements; /* canonical spelling, or "*" */
};

struct pattern {
	enum pattern_kind kind;
	char *text;
	char *image; /* NULL: every image */
	char *type;  /* NULL: a glob without "::", which @name then holds */
	char *name;
	struct list type_args;
	struct list method_args;
	struct list params;
	struct text scratch;
	/* Of one with an image that is no regex: as a native function's name, without blanks. */
	struct text native;
	char *native_only; /* why it is no method's name */

	pcre2_code *regex;
	pcre2_match_data *regex_match;
	pcre2_match_context *regex_context;
};

static bool has_wildcard(const char *s)
{
	return strpbrk(s, "*?") != NULL;
}

/* * and ? only: brackets belong to names. */
static bool glob_matches(const char *glob, const char *s)
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

/* Lists -------------------------------------------------------------------------------- */

static void list_deinit(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->elements[i]);
	free(list->elements);
	*list = (struct list){ 0 };
}

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
	if (!type_name_normalise(start, (size_t)(end - start), as_argument, &spelled)) {
		/* A glob such as System.* is no type; it is kept as it is. */
		text_clear(&spelled);
		text_add_bytes(&spelled, start, (size_t)(end - start));
		if (!has_wildcard(text_chars(&spelled)))
			text_clear(&spelled);
	}
	result = spelled.length && text_ok(&spelled) ? strdup(text_chars(&spelled)) : NULL;
	text_deinit(&spelled);
	return result;
}

static int list_parse(struct list *list, const char *start, const char *end, bool as_argument,
		      const char *pattern, struct error *err)
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
			return error_set(err, -EINVAL,
					 "pattern '%s' has a list of more than %d types", pattern,
					 LIST_MAX);
		list->elements[list->count] = normal_element(p, element_end, as_argument);
		if (!list->elements[list->count])
			return error_set(err, -EINVAL, "pattern '%s': '%.*s' is no type", pattern,
					 (int)(element_end - p), p);
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
	return has_wildcard(wanted) && glob_matches(wanted, actual);
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
				const struct method_name *instance)
{
	struct text open = { 0 }, closed = { 0 };
	bool same = false;

	if (memchr(chars, '!', length)) {
		text_add_bytes(&open, chars, length);
		substitute(text_chars(&open), instance, &closed);
		same = element_matches(wanted, text_chars(&closed));
	}
	text_deinit(&open);
	text_deinit(&closed);
	return same;
}

/* @instance: whose arguments replace generic parameters, or NULL. */
static bool list_matches(struct pattern *pattern, const struct list *list,
			 const struct text *actual, const struct method_name *instance)
{
	const char *chars = text_chars(actual);
	struct text *element = &pattern->scratch;

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
						      (size_t)(end - start), instance)))
			return false;
	}
	return true;
}

/* Parsing ------------------------------------------------------------------------------ */

static int parse_regex(struct pattern *pattern, const char *start, size_t length, uint32_t flags,
		       struct error *err)
{
	PCRE2_UCHAR message[128];
	PCRE2_SIZE offset;
	int code;

	pattern->kind = PATTERN_REGEX;
	pattern->regex = pcre2_compile((PCRE2_SPTR)start, length, flags, &code, &offset, NULL);
	if (!pattern->regex) {
		pcre2_get_error_message(code, message, sizeof(message));
		return error_set(err, -EINVAL, "pattern '%s': %s (at character %zu of the regex)",
				 pattern->text, (char *)message, (size_t)offset);
	}
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
static int take_arguments(struct pattern *pattern, char *name, struct list *list, struct error *err)
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
			return list_parse(list, name + i, name + length - 1, true, pattern->text,
					  err);
		}
	}
	return error_set(err, -EINVAL, "pattern '%s': a ']' is not opened", pattern->text);
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
	if (has_wildcard(pattern->name) || (pattern->type && has_wildcard(pattern->type)))
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

static void add_without_blanks(struct text *out, const char *name)
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
		return error_set(err, -EINVAL, "pattern '%s': a regex ends with '/'",
				 pattern->text);
	if (open) {
		if (spec[length - 1] != ')')
			return error_set(err, -EINVAL, "pattern '%s': ')' is missing at the end",
					 pattern->text);
		result = list_parse(&pattern->params, open + 1, spec + length - 1, false,
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
		add_without_blanks(&pattern->native, spec);
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

int pattern_create(struct pattern **out, const char *text, struct error *err)
{
	struct pattern *pattern = calloc(1, sizeof(*pattern));
	const char *bang = strchr(text, '!');
	const char *spec = text;
	char *copy;
	int result = 0;

	if (!pattern)
		return error_set(err, -ENOMEM, "no memory for pattern '%s'", text);
	pattern->text = strdup(text);
	if (strlen(text) > PATTERN_MAX_BYTES)
		result = error_set(err, -EINVAL, "a pattern has at most %d characters",
				   PATTERN_MAX_BYTES);

	/* A '!' further in belongs to a generic parameter: Add(!0). */
	if (bang && strcspn(text, ":(/[") > (size_t)(bang - text)) {
		pattern->image = strndup(text, (size_t)(bang - text));
		spec = bang + 1;
		if (bang == text)
			result = error_set(err, -EINVAL, "pattern '%s' names no image before '!'",
					   text);
	}
	copy = strdup(spec);
	if (!pattern->text || !copy)
		result = error_set(err, -ENOMEM, "no memory for pattern '%s'", text);
	else if (!result && *copy == '\0')
		result = error_set(err, -EINVAL, "pattern '%s' is empty", text);
	else if (!result)
		result = (pattern->image ? parse_image_spec : parse_spec)(pattern, copy, err);
	free(copy);
	if (result) {
		pattern_destroy(pattern);
		return result;
	}
	*out = pattern;
	return 0;
}

void pattern_destroy(struct pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_code_free(pattern->regex);
	pcre2_match_data_free(pattern->regex_match);
	pcre2_match_context_free(pattern->regex_context);
	list_deinit(&pattern->type_args);
	list_deinit(&pattern->method_args);
	list_deinit(&pattern->params);
	text_deinit(&pattern->scratch);
	text_deinit(&pattern->native);
	free(pattern->native_only);
	free(pattern->text);
	free(pattern->image);
	free(pattern->type);
	free(pattern->name);
	free(pattern);
}

const char *pattern_text(const struct pattern *pattern)
{
	return pattern->text;
}

/* Matching ----------------------------------------------------------------------------- */

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

bool pattern_has_image(const struct pattern *pattern)
{
	return pattern->image != NULL;
}

bool pattern_has_params(const struct pattern *pattern)
{
	return pattern->params.given && !pattern->params.any;
}

bool pattern_wants_type(const struct pattern *pattern, const char *type)
{
	switch (pattern->kind) {
	case PATTERN_EXACT:
		return strcmp(pattern->type, type) == 0;
	case PATTERN_GLOB:
		return !pattern->type || glob_matches(pattern->type, type);
	default:
		return pattern->kind == PATTERN_REGEX;
	}
}

bool pattern_wants_method(const struct pattern *pattern, const char *name)
{
	switch (pattern->kind) {
	case PATTERN_EXACT:
		return strcmp(pattern->name, name) == 0;
	case PATTERN_GLOB:
		return !pattern->type || glob_matches(pattern->name, name);
	default:
		return pattern->kind == PATTERN_REGEX;
	}
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

static int regex_matches(struct pattern *pattern, const struct method_name *name, struct error *err)
{
	struct text *spelled = &pattern->scratch;

	text_clear(spelled);
	method_name_spell(name, spelled);
	return regex_finds(pattern, text_chars(spelled), spelled->length, err);
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
		add_without_blanks(&pattern->scratch, names[i]);
		result = glob_matches(text_chars(&pattern->native), text_chars(&pattern->scratch));
	}
	return result;
}

int pattern_matches(struct pattern *pattern, const struct method_name *name, struct error *err)
{
	if (pattern->kind == PATTERN_NATIVE)
		return 0;
	if (pattern->kind == PATTERN_REGEX)
		return regex_matches(pattern, name, err);
	if (pattern->type) {
		if (!pattern_wants_type(pattern, text_chars(&name->type)) ||
		    !pattern_wants_method(pattern, text_chars(&name->name)))
			return 0;
	} else {
		struct text *spelled = &pattern->scratch;

		text_clear(spelled);
		text_add(spelled, text_chars(&name->type));
		text_add(spelled, "::");
		text_add(spelled, text_chars(&name->name));
		if (!glob_matches(pattern->name, text_chars(spelled)))
			return 0;
	}
	return list_matches(pattern, &pattern->type_args, &name->type_args, NULL) &&
	       list_matches(pattern, &pattern->method_args, &name->method_args, NULL) &&
	       list_matches(pattern, &pattern->params, &name->params, name);
}

/* Near misses -------------------------------------------------------------------------- */

bool pattern_is_exact(const struct pattern *pattern)
{
	return pattern->kind == PATTERN_EXACT;
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
