// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as an ELF file with DWARF: lines, inlined functions and names of addresses in it, also
 * with what libdw has read thrown away in between; and compressed names.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/native/native.h"
#include "tests/fuzz/fuzz.h"
#include "runtime/native/lines.h"
#include "runtime/native/symbols.h"

enum { CODE = 0x1000, CODE_BYTES = 0x200, SHIFT = 0x100000 };

static void check_lines(const struct native_line *found, size_t count)
{
	size_t sum = 0;

	check(count <= NATIVE_LINES_MAX);
	for (size_t i = 0; i < count; i++) {
		sum += found[i].function ? strlen(found[i].function) : 0;
		sum += found[i].file ? strlen(found[i].file) : 0;
	}
	check(sum <= (size_t)1 << 30);
}

static void look_up(struct span file)
{
	struct native_lines *lines = native_lines_create(file, SHIFT);
	struct native_line found[NATIVE_LINES_MAX], again[NATIVE_LINES_MAX];

	for (uint64_t at = CODE; lines && at < CODE + CODE_BYTES; at += 7) {
		size_t count = native_lines_find(lines, at + SHIFT, found);

		check_lines(found, count);
		if (at % 4 == 0)
			native_lines_forget(lines);
		check_lines(again, native_lines_find(lines, at + SHIFT, again));
	}
	native_lines_destroy(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A page of zeros follows what the target's files are mapped as; see target/files.c. */
	uint8_t *copy = calloc(1, size + 1), *unpacked;
	const struct span file = { copy, size };
	struct native_symbols *symbols;
	struct span names;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (native_lines_are_in(file))
		look_up(file);
	unpacked = debug_data_unpack(file, &names);
	if (unpacked && native_symbols_create(&symbols, file, 0, NULL) == 0) {
		(void)native_symbols_add(symbols, names);
		for (size_t i = 0; i < native_symbols_count(symbols); i++)
			(void)strlen(native_symbols_get(symbols, i)->name);
		native_symbols_destroy(symbols);
	}
	free(unpacked);
	free(copy);
	return 0;
}
