// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as an ELF file and as its debug file: the ties between them, and their names. */
#include <stdlib.h>
#include <string.h>

#include "image/elf.h"
#include "tests/fuzz/fuzz.h"
#include "image/symbol_table.h"
#include "runtime/native/debug_file.h"
#include "runtime/native/name_filter.h"
#include "runtime/native/symbols.h"

static void read_names(struct span file, uint64_t shift)
{
	struct native_symbols *symbols;
	uint64_t sum = 0;

	if (native_symbols_create(&symbols, file, shift, NULL))
		return;
	for (uint64_t address = 0; address < 0x4000; address += 0x40) {
		const struct native_symbol *symbol = native_symbols_find(symbols, address + shift);

		check(!symbol || address + shift - symbol->begin < symbol->size);
		sum += symbol ? strlen(symbol->name) : 0;
	}
	for (size_t i = 0; i < native_symbols_count(symbols); i++) {
		struct native_name name = { 0 };

		(void)native_name_read(&name, native_symbols_get(symbols, i)->name);
		native_name_deinit(&name);
	}
	check(!sum || native_symbols_count(symbols) > 0);
	native_symbols_destroy(symbols);
}

/* What is picked is what passes, of all. */
static void pick_names(struct span file, const char *literals)
{
	struct native_symbol *picked = NULL;
	struct native_symbols *symbols;
	struct name_filter filter;
	size_t count = 0, passing = 0;

	if (native_symbols_create(&symbols, file, 0, NULL))
		return;
	name_filter_init(&filter, literals);
	check(filter.words.count > 0);
	if (native_symbols_pick(symbols, &filter, &picked, &count) == 0) {
		for (size_t i = 0; i < native_symbols_count(symbols); i++) {
			const char *name = native_symbols_get(symbols, i)->name;

			passing += name_filter_passes(&filter, name) && !native_name_is_part(name);
		}
		check(passing == count);
	}
	free(picked);
	native_symbols_destroy(symbols);
}

/* What the hash finds is in the table, by the same name. */
static void look_up(struct span file, uint32_t type, const char *name)
{
	struct symbol_table table;
	Elf64_Sym symbol;

	if (symbol_table_find(&table, file, type) &&
	    symbol_table_look_up(&table, file, -1, name, &symbol) == 0 &&
	    strcmp((const char *)table.names.start + symbol.st_name, name) != 0)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A page of zeros follows what the target's files are mapped as; see target/files.c. */
	uint8_t *copy = calloc(1, size + 1);
	const struct span file = { copy, size };
	struct debug_link link;
	uint64_t shift = 0;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (debug_link_read(&link, file)) {
		check(link.build_id.size <= BUILD_ID_MAX_BYTES &&
		      (!link.name || !strchr(link.name, '/')));
		(void)debug_file_matches(&link, file, DEBUG_MATCH_CRC);
		check(!link.build_id.start ||
		      debug_file_matches(&link, file, DEBUG_MATCH_BUILD_ID));
	}
	check(!debug_file_shift(file, file, &shift) || !shift);
	read_names(file, 0x1000);
	pick_names(file, "Orders");
	pick_names(file, "uv_fs_open");
	look_up(file, SHT_DYNSYM, "_ZN3ThreeEv");
	look_up(file, SHT_SYMTAB, "one");
	free(copy);
	return 0;
}
