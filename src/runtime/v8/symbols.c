// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vector.h"

#define MAJOR "_ZN2v88internal7Version6major_E"
#define SIZES "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"

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

	if (symbols->constant_count >= CONSTANTS_MAX ||
	    strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return;
	if (!vector_reserve(&symbols->constants, &symbols->constant_room,
			    symbols->constant_count + 1)) {
		reading->failed = true;
		return;
	}
	symbols->constants[symbols->constant_count++] = (struct v8_constant){
		.name = name,
		.value = (int32_t)number_at(symbols, address),
	};
}

/* Of the same name there are others, of a few bytes each, which are not of the interpreter. */
static void take_sizes(struct v8_symbols *symbols, const struct elf_symbol *symbol)
{
	if (symbol->size % 3 == 0 && symbol->size <= SIZES_MAX_BYTES)
		symbols->bytecode_sizes = elf_bytes(&symbols->elf, symbol->address, symbol->size);
}

static void take_blob(struct reading *reading, const struct elf_symbol *symbol)
{
	/* Of older versions one of the two names is the code's and the other a pointer to it. */
	if (elf_is_code(&reading->symbols->elf, symbol->address))
		reading->symbols->blob_begin = symbol->address;
}

/*
 * Each collection passes by these; the names go on with their arguments, which versions differ in.
 * Counted by V8's own log of collections, in all versions of the table.
 */
static void take_move(struct v8_symbols *symbols, const struct elf_symbol *symbol)
{
	static const char *const names[V8_MOVES] = {
		[V8_MOVE_ANY] = "_ZN2v88internal4Heap36GarbageCollectionPrologueInSafepointE",
		[V8_MOVE_OLD] = "_ZN2v88internal4Heap11MarkCompactEv",
		[V8_MOVE_END] = "_ZN2v88internal4Heap36GarbageCollectionEpilogueInSafepointE",
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
	static const char prefix[] = "v8dbg_";
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
		take_sizes(symbols, symbol);
	} else if (strcmp(name, "_ZN2v88internal7Isolate12isolate_key_E") == 0) {
		symbols->isolate_key = symbol->address;
	} else if (strcmp(name, "_ZN2v88internal18g_current_isolate_E") == 0) {
		symbols->has_tls_isolate = symbol->is_thread_local;
		symbols->tls_isolate = symbol->address;
	} else if (strcmp(name, MAJOR) == 0) {
		symbols->version.major = number_at(symbols, symbol->address);
	} else if (strcmp(name, "_ZN2v88internal7Version6minor_E") == 0) {
		symbols->version.minor = number_at(symbols, symbol->address);
	} else if (strcmp(name, "_ZN2v88internal7Version6build_E") == 0) {
		symbols->version.build = number_at(symbols, symbol->address);
	} else if (strcmp(name, "_ZN2v88internal7Version6patch_E") == 0) {
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

int v8_symbols_init(struct v8_symbols *symbols, struct span file, struct error *err)
{
	struct reading reading = { .symbols = symbols };

	*symbols = (struct v8_symbols){ 0 };
	if (!elf_init(&symbols->elf, file))
		return error_set(err, -ENOENT, "it is no 64-bit ELF file");
	elf_each_symbol(&symbols->elf, on_symbol, &reading);
	if (reading.failed) {
		v8_symbols_deinit(symbols);
		return error_set(err, -ENOMEM, "no memory for the constants of V8");
	}
	if (symbols->version.major == 0) {
		v8_symbols_deinit(symbols);
		return error_set(err, -ENOENT, "there is no version of V8 in it");
	}
	symbols->tls_bytes = symbols->elf.tls_bytes;
	if (symbols->constant_count)
		qsort(symbols->constants, symbols->constant_count, sizeof(*symbols->constants),
		      by_name);
	if (symbols->blob_begin && reading.blob_size_at) {
		uint32_t size = number_at(symbols, reading.blob_size_at);

		symbols->blob_end = size <= BLOB_MAX_BYTES ? symbols->blob_begin + size : 0;
	}
	if (!symbols->blob_end)
		symbols->blob_begin = 0;
	for (size_t i = 0; i < V8_MOVES; i++) {
		if (!symbols->moves[i])
			memset(symbols->moves, 0, sizeof(symbols->moves));
	}
	return 0;
}

void v8_symbols_deinit(struct v8_symbols *symbols)
{
	free(symbols->constants);
	*symbols = (struct v8_symbols){ 0 };
}

bool v8_symbols_constant(const struct v8_symbols *symbols, const char *name, int32_t *value)
{
	const struct v8_constant key = { .name = name }, *found = NULL;

	if (symbols->constant_count)
		found = bsearch(&key, symbols->constants, symbols->constant_count, sizeof(key),
				by_name);
	if (found)
		*value = found->value;
	return found != NULL;
}
