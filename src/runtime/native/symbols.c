// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of one ELF file by name and by address: for find.c, and for frame_names.c. */
#include "runtime/native/symbols.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "image/symbol_table.h"

struct candidate {
	struct native_symbol symbol; /* first: base/sorted.h */
	unsigned char binding;
};

struct native_symbols {
	/* By address once they are sorted; of one address the plainest first. */
	struct candidate *list;
	size_t count;
	uint64_t longest;
	bool sorted;
	bool complete;
};

/* Global names are those that people know. */
static int rank_of(const struct candidate *candidate)
{
	return candidate->binding == STB_GLOBAL ? 0 : candidate->binding == STB_WEAK ? 1 : 2;
}

/* Of one address the plainest first; "malloc" is plainer than "__libc_malloc". */
static int by_plainness(const struct candidate *a, const struct candidate *b)
{
	size_t in_a = strspn(a->symbol.name, "_"), in_b = strspn(b->symbol.name, "_");

	if (rank_of(a) != rank_of(b))
		return rank_of(a) - rank_of(b);
	if (in_a != in_b)
		return in_a < in_b ? -1 : 1;
	return strcmp(a->symbol.name, b->symbol.name);
}

static int by_address(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->symbol.begin != b->symbol.begin)
		return a->symbol.begin < b->symbol.begin ? -1 : 1;
	return by_plainness(a, b);
}

/* No name is looked at: memory is waited for then. -ENOMEM. */
static int read_table(struct native_symbols *symbols, const struct symbol_table *table,
		      uint64_t shift)
{
	struct candidate *list =
		reallocarray(symbols->list, symbols->count + table->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	symbols->list = list;
	for (size_t i = 0; i < table->count; i++) {
		const Elf64_Sym symbol = symbol_table_get(table, i);
		const char *name = symbol_table_name(table, &symbol);
		int type = ELF64_ST_TYPE(symbol.st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_value == 0 || symbol.st_size == 0 || symbol.st_name == 0 || !name)
			continue;
		symbols->list[symbols->count++] = (struct candidate){
			.symbol = { symbol.st_value + shift, symbol.st_size, name,
				    type == STT_GNU_IFUNC },
			.binding = ELF64_ST_BIND(symbol.st_info),
		};
		if (symbol.st_size > symbols->longest)
			symbols->longest = symbol.st_size;
	}
	return 0;
}

static void drop_nameless(struct native_symbols *symbols)
{
	size_t kept = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		if (symbols->list[i].symbol.name[0])
			symbols->list[kept++] = symbols->list[i];
	}
	symbols->count = kept;
}

/* Not before somebody needs it: of a large program it takes longer than reading them. */
static void sort(struct native_symbols *symbols)
{
	if (symbols->sorted)
		return;
	drop_nameless(symbols);
	if (symbols->count)
		qsort(symbols->list, symbols->count, sizeof(*symbols->list), by_address);
	symbols->sorted = true;
}

int native_symbols_create_from_debug(struct native_symbols **out, struct span file, uint64_t shift,
				     struct error *err)
{
	struct native_symbols *symbols = calloc(1, sizeof(*symbols));
	int result = symbols ? 0 : -ENOMEM;
	struct symbol_table table;

	/* .symtab has all that .dynsym has. */
	if (symbols)
		symbols->complete = symbol_table_find(&table, file, SHT_SYMTAB);
	if (symbols && (symbols->complete || symbol_table_find(&table, file, SHT_DYNSYM)))
		result = read_table(symbols, &table, shift);
	if (result) {
		native_symbols_destroy(symbols);
		return error_set(err, result, "no memory for the names of native functions");
	}
	*out = symbols;
	return 0;
}

int native_symbols_create(struct native_symbols **out, struct span file, struct error *err)
{
	return native_symbols_create_from_debug(out, file, 0, err);
}

int native_symbols_add(struct native_symbols *symbols, struct span more)
{
	struct symbol_table table;

	if (!symbol_table_find(&table, more, SHT_SYMTAB))
		return 0;
	symbols->sorted = false;
	return read_table(symbols, &table, 0);
}

bool native_symbols_complete(const struct native_symbols *symbols)
{
	return symbols->complete;
}

void native_symbols_destroy(struct native_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->list);
	free(symbols);
}

size_t native_symbols_count(struct native_symbols *symbols)
{
	sort(symbols);
	return symbols->count;
}

const struct native_symbol *native_symbols_get(struct native_symbols *symbols, size_t number)
{
	sort(symbols);
	return &symbols->list[number].symbol;
}

int native_symbols_pick(const struct native_symbols *symbols,
			bool (*wanted)(const void *ctx, const char *name), const void *ctx,
			struct native_symbol **picked, size_t *count)
{
	_cleanup_free_ struct candidate *list = NULL;
	size_t capacity = 0, found = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		if (i + SYMBOLS_AHEAD < symbols->count)
			__builtin_prefetch(symbols->list[i + SYMBOLS_AHEAD].symbol.name);
		if (symbols->list[i].symbol.name[0] && wanted(ctx, symbols->list[i].symbol.name) &&
		    !vector_add(&list, &found, &capacity, symbols->list[i]))
			return -ENOMEM;
	}
	if (found && !symbols->sorted)
		qsort(list, found, sizeof(*list), by_address);
	*picked = calloc(found + 1, sizeof(**picked));
	if (!*picked)
		return -ENOMEM;
	for (size_t i = 0; i < found; i++)
		(*picked)[i] = list[i].symbol;
	*count = found;
	return 0;
}

const struct native_symbol *native_symbols_find(struct native_symbols *symbols, uint64_t address)
{
	size_t count;

	sort(symbols);
	count = sorted_up_to(symbols->list, symbols->count, sizeof(*symbols->list), address);
	/* One that begins before another may go on behind it. */
	for (size_t i = count; i-- > 0;) {
		const struct native_symbol *symbol;

		while (i > 0 && symbols->list[i - 1].symbol.begin == symbols->list[i].symbol.begin)
			i--;
		symbol = &symbols->list[i].symbol;

		if (address - symbol->begin < symbol->size)
			return symbol;
		if (address - symbol->begin >= symbols->longest)
			break;
	}
	return NULL;
}

char *native_symbol_demangle(const char *name)
{
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}
