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
#include "image/libelf.h"

struct native_symbols {
	struct native_symbol *list; /* by address; of one address the plainest first */
	size_t count;
	uint64_t longest;
	uint64_t shift; /* added to addresses */
	bool complete;
};

struct candidate {
	struct native_symbol symbol;
	unsigned char binding;
};

/* Global names are those that people know, and "malloc" is plainer than "__libc_malloc". */
static int plainness(const struct candidate *candidate)
{
	int rank = candidate->binding == STB_GLOBAL ? 0 :
		   candidate->binding == STB_WEAK   ? 100 :
						      200;

	return rank + (int)strspn(candidate->symbol.name, "_");
}

static int by_address(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->symbol.begin != b->symbol.begin)
		return a->symbol.begin < b->symbol.begin ? -1 : 1;
	if (plainness(a) != plainness(b))
		return plainness(a) - plainness(b);
	return strcmp(a->symbol.name, b->symbol.name);
}

/* Those of one table; -ENOMEM. */
static int read_table(struct span file, uint64_t shift, Elf *elf, Elf_Scn *section,
		      const GElf_Shdr *header, struct candidate **candidates, size_t *count)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t entries = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	*candidates = calloc(entries + 1, sizeof(**candidates));
	if (!*candidates)
		return -ENOMEM;
	for (size_t i = 0; i < entries; i++) {
		const char *name;
		GElf_Sym symbol;
		int type;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		type = GELF_ST_TYPE(symbol.st_info);
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_value == 0 || symbol.st_size == 0 || !name ||
		    !libelf_is_in(file, name) || !name[0])
			continue;
		(*candidates)[(*count)++] = (struct candidate){
			.symbol = { symbol.st_value + shift, symbol.st_size, name,
				    type == STT_GNU_IFUNC },
			.binding = GELF_ST_BIND(symbol.st_info),
		};
	}
	return 0;
}

static int take(struct native_symbols *symbols, struct candidate *candidates, size_t count)
{
	symbols->list = calloc(count + 1, sizeof(*symbols->list));
	if (!symbols->list)
		return -ENOMEM;
	if (count)
		qsort(candidates, count, sizeof(*candidates), by_address);
	for (size_t i = 0; i < count; i++) {
		symbols->list[symbols->count++] = candidates[i].symbol;
		if (candidates[i].symbol.size > symbols->longest)
			symbols->longest = candidates[i].symbol.size;
	}
	return 0;
}

static int read_tables(struct native_symbols *symbols, struct span file, Elf *elf)
{
	Elf_Scn *section = NULL, *best = NULL;
	_cleanup_free_ struct candidate *candidates = NULL;
	GElf_Shdr header, best_header = { 0 };
	size_t count = 0;
	int result;

	while ((section = elf_nextscn(elf, section))) {
		/* .symtab has all that .dynsym has. */
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
		    best_header.sh_type == SHT_SYMTAB)
			continue;
		best = section;
		best_header = header;
	}
	if (!best)
		return 0;
	symbols->complete = best_header.sh_type == SHT_SYMTAB;
	result = read_table(file, symbols->shift, elf, best, &best_header, &candidates, &count);
	return result ? result : take(symbols, candidates, count);
}

int native_symbols_create_from_debug(struct native_symbols **out, struct span file, uint64_t shift,
				     struct error *err)
{
	struct native_symbols *symbols = calloc(1, sizeof(*symbols));
	int result = symbols ? 0 : -ENOMEM;
	_cleanup_(elf_end_at) Elf *elf = libelf_over(file);

	if (symbols)
		symbols->shift = shift;
	if (symbols && elf)
		result = read_tables(symbols, file, elf);
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

size_t native_symbols_count(const struct native_symbols *symbols)
{
	return symbols->count;
}

const struct native_symbol *native_symbols_get(const struct native_symbols *symbols, size_t number)
{
	return &symbols->list[number];
}

const struct native_symbol *native_symbols_find(const struct native_symbols *symbols,
						uint64_t address)
{
	size_t count = sorted_up_to(symbols->list, symbols->count, sizeof(*symbols->list), address);

	/* One that begins before another may go on behind it. */
	for (size_t i = count; i-- > 0;) {
		const struct native_symbol *symbol;

		while (i > 0 && symbols->list[i - 1].begin == symbols->list[i].begin)
			i--;
		symbol = &symbols->list[i];

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
