// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/source_map_url.h"

#include <string.h>

enum { COMMENT_CHARS = 3 /* "//#", in front of a space and of "sourceMappingURL=" */ };

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Does a comment that speaks to tools end with the spaces before @end? */
static bool is_comment(const uint8_t *start, const uint8_t *end)
{
	const uint8_t *c = end;

	while (c > start && (c[-1] == ' ' || c[-1] == '\t'))
		c--;
	return c < end && c - start >= COMMENT_CHARS && (c[-1] == '#' || c[-1] == '@') &&
	       (c[-2] == '/' || c[-2] == '*') && c[-3] == '/';
}

bool source_map_url_of(struct span tail, struct span *url)
{
	static const char word[] = "sourceMappingURL=";
	const size_t length = sizeof(word) - 1;

	for (size_t i = tail.size; i-- > 0;) {
		const uint8_t *at = tail.start + i;
		size_t left = tail.size - i, end = length;

		if (*at != (uint8_t)word[0] || left <= length || memcmp(at, word, length) != 0 ||
		    !is_comment(tail.start, at))
			continue;
		while (end < left && !is_space(at[end]))
			end++;
		*url = (struct span){ at + length, end - length };
		return url->size > 0;
	}
	return false;
}

/* Data URLs -------------------------------------------------------------------------------- */

bool source_map_is_inline(struct span url)
{
	static const char scheme[] = "data:";

	return url.size >= sizeof(scheme) - 1 && memcmp(url.start, scheme, sizeof(scheme) - 1) == 0;
}

int source_map_base64(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' :
	       c >= 'a' && c <= 'z' ? c - 'a' + 26 :
	       c >= '0' && c <= '9' ? c - '0' + 52 :
	       c == '+'		    ? 62 :
	       c == '/'		    ? 63 :
				      -1;
}

static bool add_base64(struct span data, struct text *out)
{
	uint32_t bits = 0;
	unsigned int count = 0;

	while (data.size > 0 && data.start[data.size - 1] == '=')
		data.size--;
	for (size_t i = 0; i < data.size; i++) {
		int digit = source_map_base64(data.start[i]);

		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		count += 6;
		if (count >= 8) {
			count -= 8;
			text_add_char(out, (char)(bits >> count));
		}
	}
	return true;
}

static bool add_percent(struct span data, struct text *out)
{
	for (size_t i = 0; i < data.size; i++) {
		int high, low;

		if (data.start[i] != '%') {
			text_add_char(out, (char)data.start[i]);
			continue;
		}
		high = i + 2 < data.size ? text_hex_digit((char)data.start[i + 1]) : -1;
		low = high < 0 ? -1 : text_hex_digit((char)data.start[i + 2]);
		if (low < 0)
			return false;
		text_add_char(out, (char)(high << 4 | low));
		i += 2;
	}
	return true;
}

bool source_map_decode(struct span url, struct text *json)
{
	static const char base64[] = ";base64";
	const uint8_t *comma;
	struct span head, data;

	comma = source_map_is_inline(url) ? memchr(url.start, ',', url.size) : NULL;
	if (!comma)
		return false;
	head = span_part(url, 0, (uint64_t)(comma - url.start));
	data = span_part(url, head.size + 1, url.size - head.size - 1);
	if (head.size >= sizeof(base64) - 1 &&
	    memcmp(comma - (sizeof(base64) - 1), base64, sizeof(base64) - 1) == 0)
		return add_base64(data, json) && text_ok(json);
	return add_percent(data, json) && text_ok(json);
}

/* Paths ------------------------------------------------------------------------------------ */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* How long "SCHEME:" in front of a path is; 0: there is none. One letter is a disk. */
static size_t scheme_length(const char *path)
{
	size_t length = 0;

	while (is_letter(path[length]) ||
	       (length > 0 && path[length] != '\0' && strchr("0123456789+-.", path[length])))
		length++;
	return length > 1 && path[length] == ':' ? length + 1 : 0;
}

static const char *without_file(const char *path)
{
	static const char scheme[] = "file://";

	return strncmp(path, scheme, sizeof(scheme) - 1) == 0 ? path + sizeof(scheme) - 1 : path;
}

static bool is_up(const char *part, size_t size)
{
	return size == 2 && part[0] == '.' && part[1] == '.';
}

/* The parts of a path, of which the first is at @begin of @out. */
struct parts {
	struct text *out;
	size_t begin;
	bool rooted; /* there is nothing above the first */
};

/* Take the last part away. False: there is none, or it leads up. */
static bool leave(const struct parts *parts)
{
	const char *chars = text_chars(parts->out);
	size_t end = parts->out->length, at = end;

	while (at > parts->begin && chars[at - 1] != '/')
		at--;
	if (at == end || is_up(chars + at, end - at))
		return false;
	text_cut(parts->out, at > parts->begin ? at - 1 : at);
	return true;
}

static void add_part(const struct parts *parts, const char *part, size_t size)
{
	if (size == 0 || (size == 1 && part[0] == '.'))
		return;
	if (is_up(part, size) && (leave(parts) || parts->rooted))
		return;
	if (parts->out->length > parts->begin)
		text_add_char(parts->out, '/');
	text_add_bytes(parts->out, part, size);
}

static void add_parts(const struct parts *parts, const char *path, size_t length)
{
	for (size_t i = 0, end; i < length; i = end + 1) {
		const char *slash = memchr(path + i, '/', length - i);

		end = slash ? (size_t)(slash - path) : length;
		add_part(parts, path + i, end - i);
	}
}

/* As source_map_join(), from the first @length characters of @base. */
static void join(const char *base, size_t length, const char *path, struct text *out)
{
	size_t root = scheme_length(base);
	struct parts parts = { .out = out };

	path = without_file(path);
	if (path[0] == '/' || scheme_length(path)) {
		text_add(out, path);
		return;
	}
	while (root < length && base[root] == '/')
		root++;
	if (root > length)
		root = 0;
	text_add_bytes(out, base, root);
	parts.begin = out->length;
	parts.rooted = root > 0;
	add_parts(&parts, base + root, length - root);
	add_parts(&parts, path, strlen(path));
}

void source_map_join(const char *base, const char *path, struct text *out)
{
	base = without_file(base);
	join(base, strlen(base), path, out);
}

void source_map_beside(const char *file, const char *path, struct text *out)
{
	const char *slash;

	file = without_file(file);
	slash = strrchr(file, '/');
	join(file, slash ? (size_t)(slash - file) + 1 : 0, path, out);
}
