// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source maps that real tools have made, each place in the scripts held against what another reader
 * of maps says of it (tests/golden/source_maps.js); and maps that nobody should make.
 */
#include "base/cleanup.h"
#include "tests/unit/golden.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/v8/source_map.h"
#include "runtime/v8/source_map_url.h"

/* What golden files say ---------------------------------------------------------------------- */

static void tell(const struct source_map *map, uint32_t line, uint32_t column, struct text *out)
{
	struct source_position position;

	text_clear(out);
	if (!source_map_translate(map, line, column, &position))
		text_add(out, "-");
	else
		text_printf(out, "%s\t%u\t%u\t%s", position.source, position.line, position.column,
			    position.name ? position.name : "-");
}

/* The line of @places for one place on, if there is one, else the one before goes on. */
static void next_place(char **places, uint32_t line, uint32_t column, const char **expected)
{
	char start[32], *end;
	size_t length;

	snprintf(start, sizeof(start), "%u\t%u\t", line, column);
	length = strlen(start);
	if (strncmp(*places, start, length) != 0)
		return;
	end = strchr(*places, '\n');
	assert_non_null(end);
	*end = '\0';
	*expected = *places + length;
	*places = end + 1;
}

/* How many places, counted in UTF-16 as the columns are, a character of UTF-8 has. */
static uint32_t units(uint8_t c)
{
	return (c & 0xc0) == 0x80 ? 0 : c >= 0xf0 ? 2 : 1;
}

static void assert_places(const struct source_map *map, struct span script, const char *name)
{
	_cleanup_(golden_free) struct golden places = golden_read(name);
	char *text = strndup((const char *)places.bytes, places.size), *left = text;
	const char *expected = "";
	uint32_t line = 1, column = 1, lines = 0;
	_cleanup_(text_deinit) struct text told = { 0 };

	assert_non_null(text);
	for (size_t i = 0; i < script.size; i++) {
		if (units(script.start[i]) == 0)
			continue;
		next_place(&left, line, column, &expected);
		tell(map, line, column, &told);
		assert_string_equal(text_chars(&told), expected);
		column += units(script.start[i]);
		lines += script.start[i] == '\n';
		if (script.start[i] == '\n') {
			line++;
			column = 1;
		}
	}
	/* All of it was seen, but what is behind the last character. */
	assert_true(!*left || !strchr(strchr(left, '\n') + 1, '\n'));
	assert_true(lines > 0);
	free(text);
}

UNIT_TEST(test_files)
{
	static const char *const names[] = { "map-tsc", "map-terser", "map-index" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct golden json, script;
		struct source_map *map;
		char name[64];

		snprintf(name, sizeof(name), "%s.json", names[i]);
		json = golden_read(name);
		snprintf(name, sizeof(name), "%s.js", names[i]);
		script = golden_read(name);
		snprintf(name, sizeof(name), "%s.places", names[i]);
		assert_int_equal(source_map_create(&map, golden_span(&json), NULL), 0);
		assert_places(map, golden_span(&script), name);
		source_map_destroy(map);
		golden_free(&script);
		golden_free(&json);
	}
}

static struct span span_of(const char *chars)
{
	return (struct span){ (const uint8_t *)chars, strlen(chars) };
}

UNIT_TEST(test_inline)
{
	_cleanup_(golden_free) struct golden script = golden_read("map-esbuild.js");
	struct span all = golden_span(&script), url;
	_cleanup_(text_deinit) struct text json = { 0 };
	struct source_map *map;

	/* The end of the script is enough, as long as the whole comment is in it. */
	assert_true(source_map_url_of(all, &url));
	assert_true(source_map_is_inline(url));
	assert_int_equal(url.start + url.size + 1 - all.start, all.size);
	assert_false(source_map_url_of(span_part(all, all.size - url.size, url.size), &url));
	assert_true(source_map_url_of(all, &url));
	assert_true(source_map_decode(url, &json));
	assert_int_equal(source_map_create(&map, span_of(text_chars(&json)), NULL), 0);
	assert_places(map, span_part(all, 0, (uint64_t)(url.start - all.start) - 21),
		      "map-esbuild.places");
	source_map_destroy(map);
}

/* Where it is -------------------------------------------------------------------------------- */

static void assert_url(const char *tail, const char *expected)
{
	struct span url;

	if (!expected) {
		assert_false(source_map_url_of(span_of(tail), &url));
		return;
	}
	assert_true(source_map_url_of(span_of(tail), &url));
	assert_int_equal(url.size, strlen(expected));
	assert_memory_equal(url.start, expected, url.size);
}

UNIT_TEST(test_urls)
{
	assert_url("x();\n//# sourceMappingURL=x.js.map", "x.js.map");
	assert_url("x();\n//@ sourceMappingURL=old.map\n\n", "old.map");
	assert_url("//#\t sourceMappingURL=a/b.map \r\n", "a/b.map");
	assert_url("/*# sourceMappingURL=c.map */", "c.map");
	/* The last one counts. */
	assert_url("//# sourceMappingURL=one\n//# sourceMappingURL=two\n", "two");
	assert_url("//# sourceMappingURL=one\ns = 'sourceMappingURL=two';", "one");
	assert_url("//# sourceMappingURL=", NULL);
	assert_url("//# sourceMappingURL= x", NULL);
	assert_url("//#sourceMappingURL=x", NULL);
	assert_url("// sourceMappingURL=x", NULL);
	assert_url("# sourceMappingURL=x", NULL);
	assert_url("sourceMappingURL=x", NULL);
	assert_url("", NULL);
}

static void assert_decoded(const char *url, const char *expected)
{
	_cleanup_(text_deinit) struct text json = { 0 };

	if (!expected) {
		assert_false(source_map_decode(span_of(url), &json));
	} else {
		assert_true(source_map_decode(span_of(url), &json));
		assert_string_equal(text_chars(&json), expected);
	}
}

UNIT_TEST(test_data)
{
	assert_decoded("data:application/json;base64,eyJhIjoxfQ==", "{\"a\":1}");
	assert_decoded("data:application/json;charset=utf-8;base64,eyJhIjoxMn0", "{\"a\":12}");
	assert_decoded("data:application/json,%7B%22a%22:1%7d", "{\"a\":1}");
	assert_decoded("data:,", "");
	assert_decoded("data:;base64,e!", NULL);
	assert_decoded("data:application/json,%7", NULL);
	assert_decoded("data:application/json,%zz", NULL);
	assert_decoded("data:application/json;base64", NULL);
	assert_decoded("x.js.map", NULL);
	assert_false(source_map_is_inline(span_of("x.js.map")));
}

static void assert_joined(void (*fn)(const char *base, const char *path, struct text *out),
			  const char *base, const char *path, const char *expected)
{
	_cleanup_(text_deinit) struct text joined = { 0 };

	fn(base, path, &joined);
	assert_string_equal(text_chars(&joined), expected);
}

UNIT_TEST(test_paths)
{
	assert_joined(source_map_join, "/a/b", "c.ts", "/a/b/c.ts");
	assert_joined(source_map_join, "/a/b/", "./../c.ts", "/a/c.ts");
	assert_joined(source_map_join, "/a/b", "../../../../c.ts", "/c.ts");
	assert_joined(source_map_join, "a", "../../../c//d.ts", "../../c/d.ts");
	assert_joined(source_map_join, "", "../c.ts", "../c.ts");
	assert_joined(source_map_join, "..", "../c.ts", "../../c.ts");
	assert_joined(source_map_join, "/a", "/c.ts", "/c.ts");
	assert_joined(source_map_join, "/a", "webpack:///./c.ts", "webpack:///./c.ts");
	assert_joined(source_map_join, "/a", "file:///b/c.ts", "/b/c.ts");
	assert_joined(source_map_join, "https://x/y", "../../../c.ts", "https://c.ts");
	assert_joined(source_map_join, "file:///a/b", "c.ts", "/a/b/c.ts");
	assert_joined(source_map_join, "/", "c.ts", "/c.ts");
	assert_joined(source_map_beside, "/a/b.js", "b.js.map", "/a/b.js.map");
	assert_joined(source_map_beside, "file:///a/dist/b.js", "../src/b.ts", "/a/src/b.ts");
	assert_joined(source_map_beside, "b.js", "b.js.map", "b.js.map");
	assert_joined(source_map_beside, "/b.js", "../b.ts", "/b.ts");
}

/* Maps made by hand -------------------------------------------------------------------------- */

static void assert_told(const char *json, uint32_t line, uint32_t column, const char *expected)
{
	struct source_map *map;
	_cleanup_(text_deinit) struct text told = { 0 };

	assert_int_equal(source_map_create(&map, span_of(json), NULL), 0);
	tell(map, line, column, &told);
	assert_string_equal(text_chars(&told), expected);
	source_map_destroy(map);
}

#define MAP(mappings)                                                                              \
	"{\"version\":3,\"sources\":[\"a\",null,\"b\"],\"names\":[\"n\"],\"mappings\":\"" mappings \
	"\"}"

UNIT_TEST(test_mappings)
{
	assert_told(MAP("AAAA"), 1, 1, "a\t1\t1\t-");
	assert_told(MAP("AAAA"), 1, 99, "a\t1\t1\t-");
	assert_told(MAP("AAAAA"), 1, 1, "a\t1\t1\tn");
	assert_told(MAP("IAEGA"), 1, 4, "-");
	assert_told(MAP("IAEGA"), 1, 5, "a\t3\t4\tn");
	/* It is of that line alone, and what one number alone begins is made of nothing. */
	assert_told(MAP("AAAA"), 2, 1, "-");
	assert_told(MAP("AAAA,I"), 1, 5, "-");
	assert_told(MAP("AAAA,I,IAAC"), 1, 9, "a\t1\t2\t-");
	assert_told(MAP(";;IEEE"), 3, 5, "b\t3\t3\t-");
	assert_told(MAP("ACAA"), 1, 1, "-");
	/* Columns may go back. */
	assert_told(MAP("KAAA,HAAC"), 1, 3, "a\t1\t2\t-");
	assert_told(MAP("KAAA,HAAC"), 1, 6, "a\t1\t1\t-");
	assert_told(MAP(""), 1, 1, "-");
	assert_told(MAP("AAAA"), 0, 1, "-");
	assert_told(MAP("AAAA"), 1, 0, "-");
	assert_told(MAP("AAAA"), UINT32_MAX, UINT32_MAX, "-");
	assert_told(")]}'x\n" MAP("AAAA"), 1, 1, "a\t1\t1\t-");
	assert_told("{\"version\":3,\"sourceRoot\":\"../s\",\"sources\":[\"../a\"],"
		    "\"mappings\":\"AAAA\"}",
		    1, 1, "../a\t1\t1\t-");
}

#define SECTION(line, column, map) \
	"{\"offset\":{\"line\":" #line ",\"column\":" #column "},\"map\":" map "}"
#define SECTIONS(list) "{\"version\":3,\"sections\":[" list "]}"

UNIT_TEST(test_sections)
{
	static const char two[] =
		SECTIONS(SECTION(0, 2, MAP("AAAAA;AAAC")) "," SECTION(1, 5, MAP("EAEAA;AAAC")));

	assert_told(two, 1, 2, "-");
	assert_told(two, 1, 3, "a\t1\t1\tn");
	assert_told(two, 2, 1, "a\t1\t2\t-");
	assert_told(two, 2, 5, "a\t1\t2\t-");
	/* Between them, and in the second, whose columns are moved in its first line only. */
	assert_told(two, 2, 6, "-");
	assert_told(two, 2, 8, "a\t3\t1\tn");
	assert_told(two, 3, 1, "a\t3\t2\t-");
	assert_told(SECTIONS(""), 1, 1, "-");
	/* What the first says of the second's place does not count. */
	assert_told(SECTIONS(SECTION(0, 0, MAP("AAAA;;AAAA")) "," SECTION(1, 0, MAP(";AAAC"))), 3,
		    1, "a\t1\t2\t-");
}

static void assert_refused(const char *json)
{
	struct error err = { .text = "" };
	struct source_map *map = NULL;

	assert_int_equal(source_map_create(&map, span_of(json), &err), -EBADMSG);
	assert_null(map);
	assert_true(strncmp(err.text, "the source map is not understood: ", 34) == 0);
}

UNIT_TEST(test_refused)
{
	static const char *const maps[] = {
		"",
		"{",
		"[]",
		"3",
		"null",
		"{}",
		"{\"version\":3}",
		"{\"version\":2,\"sources\":[],\"mappings\":\"\"}",
		"{\"version\":\"3\",\"sources\":[],\"mappings\":\"\"}",
		"{\"version\":3,\"mappings\":\"\"}",
		"{\"version\":3,\"sources\":{},\"mappings\":\"\"}",
		"{\"version\":3,\"sources\":[],\"mappings\":7}",
		"{\"version\":3,\"sources\":[],\"mappings\":\"AAAA\"}",
		MAP("AA"),
		MAP("AAA"),
		MAP("AAAAAA"),
		MAP("AAAA!"),
		MAP("AAAA AAAA"),
		MAP("g"),
		MAP("ggggggggggggggA"),
		MAP("DAAA"),
		MAP("ADAA"),
		MAP("AGAA"),
		MAP("AADA"),
		MAP("AAAD"),
		MAP("AAAAC"),
		MAP("AAAAD"),
		MAP("+/////DAAA,+/////DAAA"),
		SECTIONS("1"),
		SECTIONS("{}"),
		SECTIONS(SECTION(-1, 0, MAP(""))),
		SECTIONS(SECTION(0, 4294967296, MAP(""))),
		SECTIONS(SECTION(0, 0, SECTIONS(""))),
		SECTIONS(SECTION(0, 1, MAP("")) "," SECTION(0, 1, MAP(""))),
		SECTIONS(SECTION(1, 0, MAP("")) "," SECTION(0, 9, MAP(""))),
		SECTIONS(SECTION(2147483646, 0, MAP(";;A"))),
		SECTIONS(SECTION(0, 2147483646, MAP("CAAA"))),
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		assert_refused(maps[i]);
}

/* Text of which each byte becomes an object, or each source a long path, is not read. */
UNIT_TEST(test_bounds)
{
	enum { MANY = 1 << 21, LONG = 1 << 13 };
	_cleanup_(text_deinit) struct text json = { 0 };

	text_add(&json, "{\"version\":3,\"mappings\":\"\",\"sources\":[0");
	for (int i = 0; i < MANY; i++)
		text_add(&json, ",0");
	text_add(&json, "]}");
	assert_refused(text_chars(&json));
	text_clear(&json);
	text_add(&json, "{\"version\":3,\"mappings\":\"\",\"sourceRoot\":\"");
	for (int i = 0; i < LONG; i++)
		text_add_char(&json, 'x');
	text_add(&json, "\",\"sources\":[\"y\"");
	for (int i = 0; i < 2 * LONG; i++)
		text_add(&json, ",\"y\"");
	text_add(&json, "]}");
	assert_refused(text_chars(&json));
	text_clear(&json);
	for (int i = 0; i < 100; i++)
		text_add(&json, "{\"version\":");
	assert_refused(text_chars(&json));
}

/* Each beginning of a map, and each with one byte changed, is read or refused. */
UNIT_TEST(test_damaged)
{
	_cleanup_(golden_free) struct golden whole = golden_read("map-terser.json");

	for (size_t i = 0; i < whole.size; i++) {
		struct golden part = golden_copy(whole.bytes, i);
		struct source_map *map = NULL;
		struct source_position position;

		assert_int_not_equal(source_map_create(&map, golden_span(&part), NULL), 0);
		golden_free(&part);
		part = golden_copy(whole.bytes, whole.size);
		part.bytes[i] ^= 1u << i % 8;
		if (source_map_create(&map, golden_span(&part), NULL) == 0)
			(void)source_map_translate(map, 1, 2000, &position);
		source_map_destroy(map);
		golden_free(&part);
	}
}

UNIT_MAIN(NULL, NULL)
