// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of one ELF file by name and by address, and their names: for find.c and
 * frame_names.c.
 */
#include "runtime/native/symbols.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/shortage.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "image/symbol_table.h"
#include "runtime/native/name_filter.h"

struct candidate {
	struct native_symbol symbol; /* first: base/sorted.h */
	unsigned char binding;
};

struct candidates {
	struct candidate *list;
	size_t count;
	size_t capacity;
};

/* Of a file, and what native_symbols_add() adds. */
struct source {
	struct symbol_table table;
	uint64_t shift; /* of its addresses */
	struct name_table names;
};

enum {
	SOURCES_MAX = 2,
	PART = 2048 /* symbols, of those that are read one after the other */
};

struct native_symbols {
	struct source sources[SOURCES_MAX];
	size_t source_count;
	/* All, by address, of one address the plainest first: once somebody asks for them. */
	struct candidates all;
	uint64_t longest;
	bool listed;
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

/* False: it is no function, or has no name. */
static bool take(const struct source *source, const Elf64_Sym *symbol, struct candidate *candidate)
{
	const char *name = symbol_table_name(&source->table, symbol);
	int type = ELF64_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_value == 0 || symbol->st_size == 0 || !name || !name[0])
		return false;
	*candidate = (struct candidate){
		.symbol = { symbol->st_value + source->shift, symbol->st_size, name,
			    type == STT_GNU_IFUNC },
		.binding = ELF64_ST_BIND(symbol->st_info),
	};
	return true;
}

static bool add(struct candidates *candidates, struct candidate candidate)
{
	return vector_add(&candidates->list, &candidates->count, &candidates->capacity, candidate);
}

static bool add_all(struct candidates *candidates, const struct source *source)
{
	struct candidate candidate;

	for (size_t i = 0; i < source->table.count; i++) {
		const Elf64_Sym symbol = symbol_table_get(&source->table, i);

		symbol_table_prefetch(&source->table, i);
		if (take(source, &symbol, &candidate) && !add(candidates, candidate))
			return false;
	}
	return true;
}

static void sort(struct candidates *candidates)
{
	if (candidates->count)
		qsort(candidates->list, candidates->count, sizeof(*candidates->list), by_address);
}

/* Not before somebody needs it: of a large program it takes longer than to look for a name. */
static const struct candidates *list(struct native_symbols *symbols)
{
	if (symbols->listed)
		return &symbols->all;
	symbols->listed = true;
	for (size_t i = 0; i < symbols->source_count; i++) {
		if (!add_all(&symbols->all, &symbols->sources[i]))
			shortage_note();
	}
	sort(&symbols->all);
	for (size_t i = 0; i < symbols->all.count; i++) {
		if (symbols->all.list[i].symbol.size > symbols->longest)
			symbols->longest = symbols->all.list[i].symbol.size;
	}
	return &symbols->all;
}

static void add_source(struct native_symbols *symbols, const struct symbol_table *table,
		       struct span file, uint64_t shift)
{
	symbols->sources[symbols->source_count++] = (struct source){
		.table = *table,
		.shift = shift,
		.names = { table->names, -1, (uint64_t)(table->names.start - file.start) },
	};
}

int native_symbols_create(struct native_symbols **out, struct span file, uint64_t shift,
			  struct error *err)
{
	struct native_symbols *symbols = calloc(1, sizeof(*symbols));
	struct symbol_table table;

	if (!symbols)
		return error_set(err, -ENOMEM, "no memory for the names of native functions");
	/* .symtab has all that .dynsym has. */
	symbols->complete = symbol_table_find(&table, file, SHT_SYMTAB);
	if (symbols->complete || symbol_table_find(&table, file, SHT_DYNSYM))
		add_source(symbols, &table, file, shift);
	*out = symbols;
	return 0;
}

void native_symbols_read_by(struct native_symbols *symbols, int fd)
{
	if (symbols->source_count)
		symbols->sources[0].names.fd = fd;
}

void native_symbols_add(struct native_symbols *symbols, struct span more)
{
	struct symbol_table table;

	if (symbols->source_count == SOURCES_MAX || !symbol_table_find(&table, more, SHT_SYMTAB))
		return;
	add_source(symbols, &table, more, 0);
	/* They may have been listed before. */
	free(symbols->all.list);
	symbols->all = (struct candidates){ 0 };
	symbols->listed = false;
}

bool native_symbols_complete(const struct native_symbols *symbols)
{
	return symbols->complete;
}

void native_symbols_destroy(struct native_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->all.list);
	free(symbols);
}

size_t native_symbols_count(struct native_symbols *symbols)
{
	return list(symbols)->count;
}

const struct native_symbol *native_symbols_get(struct native_symbols *symbols, size_t number)
{
	return &list(symbols)->list[number].symbol;
}

/* @marks: see name_filter_scan(). Where there are none each name is looked at. */
static bool may_be_wanted(const struct source *source, const Elf64_Sym *symbol,
			  const uint8_t *marks)
{
	return symbol->st_name < source->table.names.size &&
	       (!marks || name_filter_marked(marks, symbol->st_name));
}

/*
 * Up to PART symbols from @first on; how many. They are read, if the file is open, as its names
 * are: of the pages that would be touched few have a symbol that is wanted.
 */
static size_t copy_some(const struct source *source, size_t first, Elf64_Sym part[PART])
{
	const struct name_table *names = &source->names;
	const size_t left = source->table.count - first, count = left < PART ? left : PART;
	const uint8_t *from = source->table.symbols.start + first * sizeof(*part);
	const size_t bytes = count * sizeof(*part);

	if (names->fd < 0 || !names->names.start ||
	    pread(names->fd, part, bytes, (off_t)names->offset + (from - names->names.start)) !=
		    (ssize_t)bytes)
		memcpy(part, from, bytes);
	return count;
}

static bool pick_of(const struct source *source, const struct name_filter *filter,
		    struct candidates *picked)
{
	_cleanup_free_ uint8_t *marks = name_filter_scan(filter, &source->names);
	_cleanup_free_ Elf64_Sym *part = calloc(PART, sizeof(*part));
	size_t count;

	if (!part)
		return false;
	for (size_t first = 0; first < source->table.count; first += count) {
		count = copy_some(source, first, part);
		for (size_t i = 0; i < count; i++) {
			struct candidate candidate;

			if (may_be_wanted(source, &part[i], marks) &&
			    take(source, &part[i], &candidate) &&
			    name_filter_passes(filter, candidate.symbol.name) &&
			    !native_name_is_part(candidate.symbol.name) && !add(picked, candidate))
				return false;
		}
	}
	return true;
}

int native_symbols_pick(const struct native_symbols *symbols, const struct name_filter *filter,
			struct native_symbol **out, size_t *count)
{
	struct candidates picked = { 0 };
	struct native_symbol *found = NULL;
	bool done = true;

	for (size_t i = 0; i < symbols->source_count && done; i++)
		done = pick_of(&symbols->sources[i], filter, &picked);
	if (done)
		found = calloc(picked.count + 1, sizeof(*found));
	if (found)
		sort(&picked);
	for (size_t i = 0; found && i < picked.count; i++)
		found[i] = picked.list[i].symbol;
	free(picked.list);
	*out = found;
	*count = picked.count;
	return found ? 0 : -ENOMEM;
}

const struct native_symbol *native_symbols_find(struct native_symbols *symbols, uint64_t address)
{
	const struct candidates *all = list(symbols);
	size_t count = sorted_up_to(all->list, all->count, sizeof(*all->list), address);

	/* One that begins before another may go on behind it. */
	for (size_t i = count; i-- > 0;) {
		const struct native_symbol *symbol;

		while (i > 0 && all->list[i - 1].symbol.begin == all->list[i].symbol.begin)
			i--;
		symbol = &all->list[i].symbol;

		if (address - symbol->begin < symbol->size)
			return symbol;
		if (address - symbol->begin >= symbols->longest)
			break;
	}
	return NULL;
}

/* Names of one function ---------------------------------------------------------------------- */

static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

char *native_symbol_demangle(const char *name)
{
	return is_mangled(name) ? cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO) : NULL;
}

/* DMGL_AUTO alone: a name without parameters. */
enum {
	WITHOUT_RETURN = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO | DMGL_RET_DROP,
	WITHOUT_PARAMS = DMGL_ANSI | DMGL_AUTO,
};

bool native_name_is_part(const char *symbol)
{
	return strstr(symbol, ".cold") != NULL;
}

/* How much of @symbol is the name itself. */
static size_t plain_length(const char *symbol)
{
	static const char *const marks[] = { "@", ".constprop.", ".isra.", ".lto_priv.", ".llvm." };
	size_t length = strlen(symbol);

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *mark = strstr(symbol, marks[i]);

		if (mark && mark > symbol && (size_t)(mark - symbol) < length)
			length = (size_t)(mark - symbol);
	}
	return length;
}

/*
 * How much of a name people need: "memcpy" of "memcpy@@GLIBC_2.14", which is the version that is
 * linked to, and all of "memcpy@GLIBC_2.2.5", which is not.
 */
static size_t shown_length(const char *symbol)
{
	const char *version = strstr(symbol, "@@");

	return version && version > symbol ? (size_t)(version - symbol) : strlen(symbol);
}

/* Takes over @form, which may be NULL. */
static void add_form(struct native_name *name, char *form)
{
	for (size_t i = 0; form && i < name->count; i++) {
		if (strcmp(name->forms[i], form) == 0) {
			free(form);
			return;
		}
	}
	if (form)
		name->forms[name->count++] = form;
}

/*
 * A destructor that frees its object as well ("D0") calls the other one: as one method, such calls
 * would be counted twice.
 */
static bool is_deleting(const char *plain)
{
	size_t length = strlen(plain);

	return length > 4 && strcmp(plain + length - 4, "D0Ev") == 0;
}

static void clear(struct native_name *name)
{
	for (size_t i = 0; i < name->count; i++)
		free(name->forms[i]);
	name->count = 0;
	text_clear(&name->shown);
}

int native_name_read(struct native_name *name, const char *symbol)
{
	_cleanup_free_ char *plain = strndup(symbol, plain_length(symbol)), *demangled = NULL;
	bool mangled;

	clear(name);
	if (!plain)
		return -ENOMEM;
	mangled = is_mangled(plain);
	demangled = mangled ? native_symbol_demangle(symbol) : NULL;
	text_add_printable(&name->shown, demangled ? demangled : symbol);
	text_cut(&name->shown, shown_length(text_chars(&name->shown)));
	if (mangled && is_deleting(plain))
		text_add(&name->shown, " [deleting]");
	add_form(name, strdup(symbol));
	/* With this the name is not: it is asked for by its symbol, or by what is shown. */
	if (mangled && is_deleting(plain)) {
		add_form(name, strdup(text_chars(&name->shown)));
		return name->count == 2 && text_ok(&name->shown) ? 0 : -ENOMEM;
	}
	if (mangled) {
		add_form(name, native_symbol_demangle(plain));
		add_form(name, cplus_demangle(plain, WITHOUT_RETURN));
		add_form(name, cplus_demangle(plain, WITHOUT_PARAMS));
	}
	add_form(name, cleanup_take(plain));
	return name->count && text_ok(&name->shown) ? 0 : -ENOMEM;
}

void native_name_deinit(struct native_name *name)
{
	clear(name);
	text_deinit(&name->shown);
}
