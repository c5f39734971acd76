// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vector.h"

#define MAJOR	    "_ZN2v88internal7Version6major_E"
#define MINOR	    "_ZN2v88internal7Version6minor_E"
#define BUILD	    "_ZN2v88internal7Version6build_E"
#define PATCH	    "_ZN2v88internal7Version6patch_E"
#define SIZES	    "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"
#define KEY	    "_ZN2v88internal7Isolate12isolate_key_E"
#define TLS_ISOLATE "_ZN2v88internal18g_current_isolate_E"
#define CONSTANT    "v8dbg_"

/* Each collection passes by these. */
#define MOVE_ANY "_ZN2v88internal4Heap36GarbageCollectionPrologueInSafepointE"
#define MOVE_OLD "_ZN2v88internal4Heap11MarkCompactEv"
#define MOVE_END "_ZN2v88internal4Heap36GarbageCollectionEpilogueInSafepointE"

enum {
	CONSTANTS_MAX = 4096,
	NAME_MAX_BYTES = 256, /* of a constant; longer ones are none, but take long to compare */
	BLOB_MAX_BYTES = 1 << 26,
	SIZES_MAX_BYTES = 3 * 256,
};

struct reading {
	struct v8_symbols *symbols;
	uint64_t blob_size_at;
	bool failed;
};

static uint32_t number_at(const struct v8_symbols *symbols, uint64_t address)
{
	struct cursor c = cursor_over(elf_bytes(&symbols->elf, address, sizeof(uint32_t)));

	return cursor_u32(&c);
}

static void add_constant(struct reading *reading, const char *name, uint64_t address)
{
	struct v8_symbols *symbols = reading->symbols;
	const struct v8_constant constant = { name, (int32_t)number_at(symbols, address) };

	if (symbols->constant_count < CONSTANTS_MAX &&
	    strnlen(name, NAME_MAX_BYTES) < NAME_MAX_BYTES &&
	    !vector_add(&symbols->constants, &symbols->constant_count, &symbols->constant_room,
			constant))
		reading->failed = true;
}

static void take_blob(struct reading *reading, const struct elf_symbol *symbol)
{
	/* Of older versions one of the two names is the code's and the other a pointer to it. */
	if (elf_is_code(&reading->symbols->elf, symbol->address))
		reading->symbols->blob_begin = symbol->address;
}

/*
 * The names go on with their arguments, which versions differ in. Counted by V8's own log of
 * collections, in all versions of the table.
 */
static void take_move(struct v8_symbols *symbols, const struct elf_symbol *symbol)
{
	static const char *const names[V8_MOVES] = {
		[V8_MOVE_ANY] = MOVE_ANY,
		[V8_MOVE_OLD] = MOVE_OLD,
		[V8_MOVE_END] = MOVE_END,
	};

	for (size_t i = 0; i < V8_MOVES; i++) {
		/* A compiler's copy of a function has a point behind its name. */
		if (strncmp(symbol->name, names[i], strlen(names[i])) == 0 &&
		    !strchr(symbol->name, '.'))
			symbols->moves[i] = symbol->address;
	}
}

/* Of the names that a large program has, most are of V8, and none of these. */
static bool may_be_known(const char *name)
{
	static const char of_v8[] = "_ZN2v88internal";

	if (name[0] == 'v')
		return true;
	if (name[0] != '_' || strncmp(name, of_v8, sizeof(of_v8) - 1) != 0)
		return false;
	name += sizeof(of_v8) - 1;
	return (name[0] == '1' && (name[1] == '1' || name[1] == '8')) ||
	       (name[0] == '7' && (name[1] == 'V' || name[1] == 'I')) ||
	       (name[0] == '4' && name[1] == 'H');
}

static void on_symbol(void *ctx, const struct elf_symbol *symbol)
{
	static const char prefix[] = CONSTANT;
	struct reading *reading = ctx;
	struct v8_symbols *symbols = reading->symbols;
	const char *name = symbol->name;

	if (!may_be_known(name))
		return;
	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
		add_constant(reading, name + sizeof(prefix) - 1, symbol->address);
	} else if (strcmp(name, "v8_Default_embedded_blob_code_") == 0 ||
		   strcmp(name, "v8_Default_embedded_blob_code_data_") == 0) {
		take_blob(reading, symbol);
	} else if (strcmp(name, "v8_Default_embedded_blob_code_size_") == 0) {
		reading->blob_size_at = symbol->address;
	} else if (strcmp(name, SIZES) == 0) {
		/* There are others, of a few bytes each, which are not of the interpreter. */
		if (symbol->size % 3 == 0 && symbol->size <= SIZES_MAX_BYTES)
			symbols->bytecode_sizes =
				elf_bytes(&symbols->elf, symbol->address, symbol->size);
	} else if (strcmp(name, KEY) == 0) {
		symbols->isolate_key = symbol->address;
	} else if (strcmp(name, TLS_ISOLATE) == 0) {
		symbols->has_tls_isolate = symbol->is_thread_local;
		symbols->tls_isolate = symbol->address;
	} else if (strcmp(name, MAJOR) == 0) {
		symbols->version.major = number_at(symbols, symbol->address);
	} else if (strcmp(name, MINOR) == 0) {
		symbols->version.minor = number_at(symbols, symbol->address);
	} else if (strcmp(name, BUILD) == 0) {
		symbols->version.build = number_at(symbols, symbol->address);
	} else if (strcmp(name, PATCH) == 0) {
		symbols->version.patch = number_at(symbols, symbol->address);
	} else {
		take_move(symbols, symbol);
	}
}

static int by_name(const void *left, const void *right)
{
	const struct v8_constant *a = left, *b = right;

	return strcmp(a->name, b->name);
}

bool v8_symbols_present(struct span file)
{
	struct elf elf;

	return elf_init(&elf, file) && elf_export(&elf, MAJOR) != 0;
}

/* By the linker's hash ------------------------------------------------------------------------ */

/* False: the file does not export it, or has no hash. */
static bool look_up(const struct v8_symbols *symbols, const char *name, Elf64_Sym *symbol)
{
	return symbol_table_look_up(&symbols->exports, symbols->elf.file, symbols->fd, name,
				    symbol) == 0 &&
	       symbol->st_shndx != SHN_UNDEF;
}

static bool look_up_constant(const struct v8_symbols *symbols, const char *name, int32_t *value)
{
	char symbol[NAME_MAX_BYTES];
	Elf64_Sym found;
	int length = snprintf(symbol, sizeof(symbol), CONSTANT "%s", name);

	if (length >= (int)sizeof(symbol) || !look_up(symbols, symbol, &found))
		return false;
	*value = (int32_t)number_at(symbols, found.st_value);
	return true;
}

/* What is needed but for the code of builtins: each by the first of its names that is there. */
static const char *const needed[][2] = {
	{ MAJOR },
	{ MINOR },
	{ BUILD },
	{ PATCH },
	{ SIZES },
	{ TLS_ISOLATE, KEY },
	{ MOVE_ANY "v", MOVE_ANY "NS0_16GarbageCollectorE" },
	{ MOVE_OLD },
	{ MOVE_END "NS0_16GarbageCollectorE", MOVE_END "v" },
};

/* False: none of the names is there. */
static bool take_first(struct reading *reading, const char *const names[2])
{
	for (size_t i = 0; i < 2 && names[i]; i++) {
		Elf64_Sym found;

		if (look_up(reading->symbols, names[i], &found)) {
			on_symbol(reading, &(struct elf_symbol){
						   .name = names[i],
						   .address = found.st_value,
						   .size = found.st_size,
						   .is_thread_local =
							   ELF64_ST_TYPE(found.st_info) == STT_TLS,
					   });
			return true;
		}
	}
	return false;
}

/*
 * Does the file export all that is needed? Node.js did up to 24. To go through all names takes a
 * third of what a run does before its first hit.
 */
static bool look_up_all(struct v8_symbols *symbols)
{
	struct reading reading = { .symbols = symbols };
	int32_t bytes;

	if (!symbol_table_find(&symbols->exports, symbols->elf.file, SHT_DYNSYM) ||
	    !look_up_constant(symbols, "TaggedSize", &bytes))
		return false;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (!take_first(&reading, needed[i]))
			return false;
	}
	return symbols->version.major != 0;
}

/* All names --------------------------------------------------------------------------------- */

static void finish_blob(struct reading *reading)
{
	struct v8_symbols *symbols = reading->symbols;

	if (symbols->blob_begin && reading->blob_size_at) {
		uint32_t size = number_at(symbols, reading->blob_size_at);

		symbols->blob_end = size <= BLOB_MAX_BYTES ? symbols->blob_begin + size : 0;
	}
	if (!symbols->blob_end)
		symbols->blob_begin = 0;
}

/* Go through all of them. */
static int read_all(struct v8_symbols *symbols, struct error *err)
{
	struct reading reading = { .symbols = symbols };

	symbols->read = true;
	elf_each_symbol(&symbols->elf, on_symbol, &reading);
	if (reading.failed)
		return error_set(err, -ENOMEM, "no memory for the constants of V8");
	if (symbols->version.major == 0)
		return error_set(err, -ENOENT, "there is no version of V8 in it");
	if (symbols->constant_count)
		qsort(symbols->constants, symbols->constant_count, sizeof(*symbols->constants),
		      by_name);
	finish_blob(&reading);
	for (size_t i = 0; i < V8_MOVES; i++) {
		if (!symbols->moves[i])
			memset(symbols->moves, 0, sizeof(symbols->moves));
	}
	return 0;
}

int v8_symbols_init(struct v8_symbols *symbols, struct span file, int fd, struct error *err)
{
	struct elf elf;
	int result = 0;

	*symbols = (struct v8_symbols){ 0 };
	if (!elf_init(&elf, file))
		return error_set(err, -ENOENT, "it is no 64-bit ELF file");
	*symbols = (struct v8_symbols){ .elf = elf, .fd = fd };
	if (!look_up_all(symbols)) {
		*symbols = (struct v8_symbols){ .elf = elf, .fd = fd };
		result = read_all(symbols, err);
	}
	symbols->tls_bytes = elf.tls_bytes;
	if (result)
		v8_symbols_deinit(symbols);
	return result;
}

bool v8_symbols_find_blob(struct v8_symbols *symbols)
{
	if (!symbols->read)
		(void)read_all(symbols, NULL);
	return symbols->blob_end != 0;
}

void v8_symbols_deinit(struct v8_symbols *symbols)
{
	free(symbols->constants);
	*symbols = (struct v8_symbols){ 0 };
}

bool v8_symbols_constant(const struct v8_symbols *symbols, const char *name, int32_t *value)
{
	const struct v8_constant key = { .name = name }, *found = NULL;

	if (!symbols->read)
		return look_up_constant(symbols, name, value);
	if (symbols->constant_count)
		found = bsearch(&key, symbols->constants, symbols->constant_count, sizeof(key),
				by_name);
	if (found)
		*value = found->value;
	return found != NULL;
}
