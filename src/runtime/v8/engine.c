// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/engine.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "target/memory.h"

enum {
	/* glibc: the first block of values of keys, each of them behind a number. */
	KEYS_AT = 0x310,
	KEY_BYTES = 16,
	KEY_VALUE = 8,
	KEYS_MAX = 32,

	BLOB_MIN_BYTES = 1 << 18,
	BLOB_MAX_BYTES = 1 << 25,
	BLOB_ALIGNMENT = 32,
	COMPARED_BYTES = 1 << 10,
};

static bool find_bias(struct v8_engine *engine)
{
	const struct maps *maps = target_maps(engine->target);

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *row = &maps->rows[i];

		/* The code of builtins may be mapped again, but no segment begins with it. */
		if (row->executable && mapping_same_file(row, &engine->file->mapping) &&
		    elf_load_bias(&engine->symbols.elf, row->offset, row->start, &engine->bias))
			return true;
	}
	return false;
}

static void take_blob(struct v8_engine *engine)
{
	const struct v8_symbols *symbols = &engine->symbols;
	struct file_offset begin, last;

	if (symbols->blob_begin && elf_code_offset(&symbols->elf, symbols->blob_begin, &begin) &&
	    elf_code_offset(&symbols->elf, symbols->blob_end - 1, &last)) {
		engine->blob_begin = begin;
		engine->blob_end.value = last.value + 1;
	}
}

int v8_engine_init(struct v8_engine *engine, const struct target *target, struct error *err)
{
	int result;

	*engine = (struct v8_engine){ .target = target };
	for (size_t i = 0; i < target->files.count && !engine->file; i++) {
		if (v8_symbols_present(target->files.files[i].bytes))
			engine->file = &target->files.files[i];
	}
	if (!engine->file)
		return error_set(err, -ENOENT, "process %d (%s) has no V8 in it",
				 target->process.pid, target->process.comm);
	result = v8_symbols_init(&engine->symbols, engine->file->bytes, engine->file->fd, err);
	if (result == 0)
		result = v8_layout_init(&engine->layout, &engine->symbols.version, &engine->symbols,
					err);
	if (result == 0 && !find_bias(engine))
		result = error_set(err, -ENOENT, "the code of V8 is not mapped");
	if (result) {
		v8_symbols_deinit(&engine->symbols);
		return error_in(err, result, engine->file ? engine->file->name : "V8");
	}
	take_blob(engine);
	return 0;
}

static bool is_program(const struct elf *elf)
{
	return elf->interpreter.bytes.size || !elf->dynamic.bytes.size;
}

bool v8_engine_isolate_at(const struct v8_engine *engine, int32_t *at)
{
	const struct v8_symbols *symbols = &engine->symbols;
	struct look look = look_into(engine->target->memory);
	uint32_t key;

	/* A program's own block ends where the thread pointer points, others are elsewhere. */
	if (symbols->has_tls_isolate) {
		*at = (int32_t)((int64_t)symbols->tls_isolate - (int64_t)symbols->tls_bytes);
		return symbols->tls_bytes <= INT32_MAX && is_program(&symbols->elf);
	}
	if (!symbols->isolate_key)
		return false;
	key = look_u32(&look, symbols->isolate_key + engine->bias);
	*at = (int32_t)(KEYS_AT + key * KEY_BYTES + KEY_VALUE);
	return !look.bad && key < KEYS_MAX;
}

/* The mapping of the file that @size bytes from @at on are in; NULL: none. */
static const struct mapping *in_file(const struct v8_engine *engine, uint64_t at, uint64_t size)
{
	const struct mapping *row = maps_find(target_maps(engine->target), (struct address){ at });

	if (!row || !mapping_same_file(row, &engine->file->mapping) || row->end.value - at < size)
		return NULL;
	return row;
}

/*
 * A word of 32 bits with nothing above it. Isolates and libraries have tables of addresses, whose
 * lower halves may look like sizes, and of a program they may be as small as these.
 */
static bool is_size(const struct v8_engine *engine, uint64_t word)
{
	return word > 0 && word <= BLOB_MAX_BYTES &&
	       !maps_find(target_maps(engine->target), (struct address){ word });
}

/* Are these the code of builtins and its data, as addresses and sizes? */
static bool take_found_blob(struct v8_engine *engine, uint64_t code, uint64_t size, uint64_t data,
			    uint64_t data_size)
{
	const struct mapping *row;

	if (size < BLOB_MIN_BYTES || code % BLOB_ALIGNMENT || !is_size(engine, size) ||
	    !is_size(engine, data_size))
		return false;
	row = in_file(engine, code, size);
	if (!row || !row->executable || !in_file(engine, data, 1))
		return false;
	engine->blob_begin = mapping_offset(row, (struct address){ code });
	engine->blob_end.value = engine->blob_begin.value + size;
	return true;
}

static bool find_blob_at(struct v8_engine *engine, uint64_t begin, uint64_t bytes)
{
	struct look look = look_into(engine->target->memory);
	uint64_t words[4];

	for (uint64_t at = begin; at + sizeof(words) <= begin + bytes && !look.bad; at += 8) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			words[i] = look_u64(&look, at + 8 * i);
		/* Compilers keep the order in which they are declared, or turn it. */
		if (!look.bad && (take_found_blob(engine, words[0], words[1], words[2], words[3]) ||
				  take_found_blob(engine, words[3], words[2], words[1], words[0])))
			return true;
	}
	return false;
}

/* V8 notes them in variables that begin as zeros: behind all data that the file has bytes of. */
static uint64_t zeros_begin(const struct v8_engine *engine)
{
	const struct elf *elf = &engine->symbols.elf;
	uint64_t begin = 0;

	for (unsigned int i = 0; i < elf->segment_count; i++) {
		uint64_t end = elf->segments[i].address + elf->segments[i].bytes.size;

		if (elf->segments[i].writable && end > begin)
			begin = end;
	}
	return (begin + engine->bias + 7) & ~UINT64_C(7);
}

/* The data of the file, and what follows it: what it has no bytes of. */
static bool is_data_of(const struct v8_engine *engine, const struct maps *maps, size_t i)
{
	const struct mapping *row = &maps->rows[i];

	if (!row->writable || row->executable)
		return false;
	if (mapping_same_file(row, &engine->file->mapping))
		return true;
	return i > 0 && row->inode == 0 && maps->rows[i - 1].end.value == row->start.value &&
	       mapping_same_file(&maps->rows[i - 1], &engine->file->mapping);
}

bool v8_engine_find_blob(struct v8_engine *engine)
{
	const struct maps *maps = target_maps(engine->target);
	const uint64_t zeros = zeros_begin(engine);

	for (size_t i = 0; !engine->blob_end.value && i < maps->count; i++) {
		const struct mapping *row = &maps->rows[i];
		uint64_t begin = row->start.value > zeros ? row->start.value : zeros;

		if (is_data_of(engine, maps, i) && begin < row->end.value &&
		    find_blob_at(engine, begin, row->end.value - begin))
			return true;
	}
	/* An engine that has just been started has not noted it yet. */
	if (!engine->blob_end.value && !engine->symbols.read &&
	    v8_symbols_find_blob(&engine->symbols))
		take_blob(engine);
	return engine->blob_end.value != 0;
}

/* Where the memory begins that a mapping of no file is a part of: rights differ by page. */
static struct address beginning(const struct maps *maps, const struct mapping *row)
{
	size_t i = (size_t)(row - maps->rows);

	while (i > 0 && maps->rows[i - 1].inode == 0 && maps->rows[i - 1].executable &&
	       maps->rows[i - 1].end.value == maps->rows[i].start.value)
		i--;
	return maps->rows[i].start;
}

/*
 * Is that a copy of the builtins' code? V8 makes one where calls from compiled code do not reach
 * the file's, and the file cannot be mapped nearer. Source: V8's src/codegen/code-range.cc,
 * CodeRange::RemapEmbeddedBuiltins().
 */
static bool is_copy(const struct v8_engine *engine, const struct mapping *row)
{
	const uint64_t page = MEMORY_PAGE_BYTES;
	const uint64_t size = engine->blob_end.value - engine->blob_begin.value;
	const struct span file =
		span_part(engine->file->bytes, engine->blob_begin.value, COMPARED_BYTES);
	struct look look = look_into(engine->target->memory);
	uint8_t bytes[COMPARED_BYTES];

	if (!file.size || row->end.value - row->start.value != (size + page - 1) / page * page)
		return false;
	look_copy(&look, row->start.value, bytes, sizeof(bytes));
	return !look.bad && memcmp(bytes, file.start, sizeof(bytes)) == 0;
}

bool v8_engine_place(const struct v8_engine *engine, struct v8_raw *raw)
{
	const struct maps *maps = target_maps(engine->target);
	const struct mapping *row = maps_find(maps, raw->pc);
	uint64_t offset;

	if (!row || !row->executable)
		return false;
	if (row->inode == 0) {
		raw->place = is_copy(engine, row) ? V8_IN_BLOB : V8_IN_HEAP;
		raw->lowest = beginning(maps, row);
		return row->path[0] == '\0';
	}
	raw->place = V8_IN_BLOB;
	offset = mapping_offset(row, raw->pc).value;
	return mapping_same_file(row, &engine->file->mapping) &&
	       offset >= engine->blob_begin.value && offset < engine->blob_end.value;
}
