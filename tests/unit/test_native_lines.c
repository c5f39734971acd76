// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines and inlined functions of small programs that were compiled in all the ways there are,
 * against addr2line on the same files; of one with more in one another than there is room for; and
 * of damaged ones.
 */
#include "unit.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "image/elf.h"
#include "runtime/native/lines.h"
#include "runtime/native/native.h"
#include "runtime/native/symbols.h"
#include "tests/unit/golden.h"
#include "tests/unit/scratch.h"

/* Where the programs of the corpus have their code. */
enum { CODE = 0x1000, CODE_BYTES = 0x48, SHIFT = 0x7000, TEXT_BYTES = 4096, ROUNDS = 300 };

#define CORPUS "../fuzz/corpus/lines/"

/* "function\nfile:line\n" of each, as addr2line writes it. */
static void write_found(const struct native_line *found, size_t count, char *to, size_t size)
{
	size_t at = 0;
	char line[16];

	to[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		snprintf(line, sizeof(line), "%u", found[i].line);
		at += (size_t)snprintf(to + at, size - at, "%s\n%s:%s\n", found[i].function,
				       found[i].file, found[i].line ? line : "?");
	}
}

/* What addr2line says of all addresses of the code: each after a line with the address. */
static void ask_addr2line(const char *file, char *to, size_t size)
{
	char command[2048];
	int written = snprintf(command, sizeof(command), "addr2line -a -i -f -e %s", file);
	FILE *pipe;
	char *note;
	size_t length;

	for (uint64_t at = CODE; at < CODE + CODE_BYTES; at++)
		written += snprintf(command + written, sizeof(command) - (size_t)written,
				    " 0x%" PRIx64, at);
	assert_true((size_t)written < sizeof(command));
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(to, 1, size - 1, pipe);
	to[length] = '\0';
	assert_int_equal(pclose(pipe), 0);
	/* Which of several pieces of a line it is. */
	while ((note = strstr(to, " (discriminator")))
		memmove(note, strchr(note, '\n'), strlen(strchr(note, '\n')) + 1);
}

/* What is said of @at, where *@rest begins with the x of 0xAT; it is after that then. */
static const char *said_of(uint64_t at, char **rest)
{
	char *text;

	/* It is there: the linter does not know that assertions end a test. */
	if (!*rest || **rest != 'x' || strtoull(*rest + 1, &text, 16) != at || *text != '\n') {
		fail_msg("addr2line says nothing of 0x%" PRIx64, at);
		return "";
	}
	*rest = strstr(text, "\n0x");
	if (!*rest)
		return text + 1;
	(*rest)[1] = '\0';
	*rest += 2;
	return text + 1;
}

/* Each address of the code of @name, a file of the corpus; how many were three deep. */
static size_t compare(const char *name)
{
	_cleanup_(golden_free) struct golden golden = golden_read(name);
	struct native_lines *lines = native_lines_create(golden_span(&golden), SHIFT);
	struct native_line found[NATIVE_LINES_MAX];
	static char all[TEXT_BYTES * CODE_BYTES];
	char path[256], said[TEXT_BYTES], *rest = all + 1;
	size_t deep = 0;

	assert_true(native_lines_are_in(golden_span(&golden)));
	snprintf(path, sizeof(path), "tests/golden/%s", name);
	ask_addr2line(path, all, sizeof(all));
	for (uint64_t at = CODE; at < CODE + CODE_BYTES; at++) {
		size_t count = native_lines_find(lines, at + SHIFT, found);
		const char *expected = said_of(at, &rest);

		deep += count == 3;
		write_found(found, count, said, sizeof(said));
		if (count == 0)
			assert_string_equal(expected, "??\n??:0\n");
		else if (!found[0].function) /* between two, where addr2line goes by symbols */
			assert_string_equal(strchr(said, '\n'), strchr(expected, '\n'));
		else
			assert_string_equal(said, expected);
		/* It is read anew. */
		if (at % 16 == 0)
			native_lines_forget(lines);
	}
	assert_int_equal(native_lines_find(lines, CODE, found), 0);
	native_lines_destroy(lines);
	return deep;
}

UNIT_TEST(equal_to_addr2line)
{
	static const char *const names[] = { "gcc-4", "gcc-5", "gcc-4-zlib-gnu", "gcc-5-zlib",
					     "clang-4" };
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), CORPUS "%s", names[i]);
		assert_true(compare(path) > 4);
	}
}

/* Where the function begins: what an offset is from, where no symbol says so. */
UNIT_TEST(beginning)
{
	_cleanup_(golden_free) struct golden golden = golden_read(CORPUS "gcc-5");
	struct native_lines *lines = native_lines_create(golden_span(&golden), 0);
	struct native_line found[NATIVE_LINES_MAX];
	size_t count = native_lines_find(lines, CODE + 8, found);

	assert_true(count > 0);
	assert_string_equal(found[count - 1].function, "f");
	assert_int_equal(found[count - 1].begin, CODE);
	native_lines_destroy(lines);
}

/* f0 calls f1 and so on, all inlined: the innermost are there, and the one that they are in. */
UNIT_TEST(deeper_than_there_is_room)
{
	enum { DEEP = 60, PATH_BYTES = 8192 };
	struct native_line found[NATIVE_LINES_MAX];
	struct native_lines *lines;
	size_t most = 0;
	struct golden golden;
	char command[PATH_BYTES];
	FILE *source;

	source = fopen(scratch_path("deep.c"), "w");
	assert_non_null(source);
	fprintf(source, "static volatile int sink;\n#define INLINED static inline "
			"__attribute__((always_inline)) int\n");
	fprintf(source, "INLINED f%d(int n) { sink = n; return sink; }\n", DEEP);
	for (int i = DEEP - 1; i >= 0; i--)
		fprintf(source, "INLINED f%d(int n) { return f%d(n + 1); }\n", i, i + 1);
	fprintf(source, "void _start(void) { sink = f0(1); for (;;) ; }\n");
	fclose(source);
	snprintf(command, sizeof(command),
		 "cd %s && gcc -O2 -g -nostdlib -static -Wl,-Ttext=0x%x deep.c -o deep",
		 scratch_dir, CODE);
	assert_int_equal(system(command), 0);
	source = fopen(scratch_path("deep"), "rb");
	assert_non_null(source);
	golden.bytes = malloc(1 << 20);
	assert_non_null(golden.bytes);
	golden.size = fread(golden.bytes, 1, 1 << 20, source);
	fclose(source);
	lines = native_lines_create(golden_span(&golden), 0);
	for (uint64_t at = CODE; at < CODE + 0x40; at++) {
		size_t count = native_lines_find(lines, at, found);

		if (count > most)
			most = count;
		if (count != NATIVE_LINES_MAX)
			continue;
		assert_string_equal(found[0].function, "f60");
		assert_string_equal(found[1].function, "f59");
		assert_int_equal(found[1].line, 4);
		assert_string_equal(found[count - 1].function, "_start");
	}
	assert_int_equal(most, NATIVE_LINES_MAX);
	native_lines_destroy(lines);
	golden_free(&golden);
}

static void look(struct span file)
{
	struct native_lines *lines = native_lines_create(file, 0);
	struct native_line found[NATIVE_LINES_MAX];

	for (uint64_t at = CODE; at < CODE + CODE_BYTES; at += 5)
		assert_true(native_lines_find(lines, at, found) <= NATIVE_LINES_MAX);
	native_lines_destroy(lines);
}

UNIT_TEST(damaged)
{
	golden_torture(CORPUS "gcc-5", ROUNDS, look);
	golden_torture(CORPUS "clang-4", ROUNDS, look);
	golden_torture(CORPUS "gcc-5-zlib", ROUNDS, look);
}

/* As gcc-5 with the bytes at @offset of section @name changed: is there still a line? */
static bool has_lines(const char *name, size_t offset, const void *bytes, size_t size)
{
	struct golden golden = golden_read(CORPUS "gcc-5");
	struct native_line found[NATIVE_LINES_MAX];
	struct native_lines *lines;
	struct span section;
	uint64_t address;
	struct elf elf;
	size_t count;

	assert_true(elf_init(&elf, golden_span(&golden)));
	assert_true(elf_section(&elf, name, &section, &address));
	assert_true(offset + size <= section.size);
	memcpy(golden.bytes + (section.start - golden.bytes) + offset, bytes, size);
	lines = native_lines_create(golden_span(&golden), 0);
	count = native_lines_find(lines, CODE, found);
	native_lines_destroy(lines);
	golden_free(&golden);
	return count > 0;
}

/* What libdw would take far too long or too much memory for. */
UNIT_TEST(refused)
{
	const uint32_t most = 4 << 20, more = most + 1;
	uint8_t attributes[96];

	assert_true(has_lines(".debug_line", 0, "", 0));
	/* A line program of that length, which is damaged in any case, but for functions. */
	assert_true(has_lines(".debug_line", 0, &most, sizeof(most)));
	assert_false(has_lines(".debug_line", 0, &more, sizeof(more)));
	/* Another abbreviation, with more attributes than any compiler writes. */
	memset(attributes, 0x34, sizeof(attributes));
	assert_false(has_lines(".debug_abbrev", 0x30, attributes, sizeof(attributes)));
}

static void unpack(struct span file)
{
	struct span names;

	free(debug_data_unpack(file, &names));
}

UNIT_TEST(compressed_names)
{
	struct golden golden = golden_read(CORPUS "names");
	struct native_symbols *symbols;
	const struct native_symbol *symbol;
	struct span names;
	uint8_t *unpacked = debug_data_unpack(golden_span(&golden), &names);

	assert_non_null(unpacked);
	assert_int_equal(native_symbols_create(&symbols, golden_span(&golden), 0, NULL), 0);
	assert_int_equal(native_symbols_count(symbols), 0);
	native_symbols_add(symbols, names);
	symbol = native_symbols_find(symbols, CODE + 1);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "f");
	native_symbols_destroy(symbols);
	free(unpacked);
	golden_free(&golden);
	golden_torture(CORPUS "names", ROUNDS, unpack);
}

int main(void)
{
	return unit_run(scratch_make, scratch_remove);
}
