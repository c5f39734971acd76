// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions and lines of a file, read once asked for, and kept by file: between native.c, symbols.c
 * and lines.c.
 */
#include "runtime/native/native.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/tree.h"
#include "debuginfod/debuginfod.h"
#include "image/elf.h"
#include "runtime/native/debug_file.h"
#include "runtime/native/lines.h"
#include "runtime/native/symbols.h"
#include "target/target.h"

enum {
	UNPACKED_MAX_BYTES = 64 << 20, /* Fedora's largest are of some 10 MB */
	UNPACKED_FIRST_BYTES = 1 << 20,
	UNPACKER_MAX_BYTES = 128 << 20, /* of memory; xz -9 takes 65 MB */
};

/* Twice the room; false: it is too much. What follows the end is zero: strings end. */
static bool grow(uint8_t **bytes, size_t *room)
{
	size_t wanted = *room ? *room * 2 : UNPACKED_FIRST_BYTES;
	uint8_t *grown = wanted <= UNPACKED_MAX_BYTES ? realloc(*bytes, wanted + 1) : NULL;

	if (!grown)
		return false;
	*bytes = grown;
	*room = wanted;
	return true;
}

uint8_t *debug_data_unpack(struct span file, struct span *bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result = LZMA_OK;
	_cleanup_free_ uint8_t *unpacked = NULL;
	size_t room = 0;
	struct span section;
	struct elf elf;
	uint64_t address;

	if (!elf_init(&elf, file) || !elf_section(&elf, ".gnu_debugdata", &section, &address) ||
	    lzma_stream_decoder(&stream, UNPACKER_MAX_BYTES, 0) != LZMA_OK)
		return NULL;
	stream.next_in = section.start;
	stream.avail_in = section.size;
	while (result == LZMA_OK && grow(&unpacked, &room)) {
		stream.next_out = unpacked + stream.total_out;
		stream.avail_out = room - stream.total_out;
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*bytes = (struct span){ unpacked, stream.total_out };
	lzma_end(&stream);
	if (result != LZMA_STREAM_END)
		return NULL;
	unpacked[bytes->size] = 0;
	return cleanup_take(unpacked);
}

/* Of one file --------------------------------------------------------------------------------- */

/* The debug file, from here or from elsewhere; false: there is none, or none yet. */
static bool open_debug_file(struct process *process, struct debuginfod *debuginfod,
			    const char *path, struct span bytes, struct span *debug, bool *awaited)
{
	int result;

	if (target_debug_file_open(process, path, bytes, debug))
		return true;
	result = target_debug_file_fetch(debuginfod, bytes, debug);
	*awaited = result == -EAGAIN;
	return result == 0;
}

/* A file that was stripped may have a debug file, which knows more. */
static bool read_debug_file(struct target_functions *functions, struct process *process,
			    struct debuginfod *debuginfod, const char *path, struct span bytes)
{
	struct native_symbols *symbols = NULL;
	struct span debug;
	uint64_t shift;

	if (!open_debug_file(process, debuginfod, path, bytes, &debug, &functions->awaited))
		return false;
	if (debug_file_shift(bytes, debug, &shift) &&
	    native_symbols_create(&symbols, debug, shift, NULL) == 0 &&
	    native_symbols_complete(symbols)) {
		native_symbols_destroy(functions->symbols);
		functions->symbols = symbols;
		functions->debug = debug;
		return true;
	}
	native_symbols_destroy(symbols);
	target_bytes_unmap(debug);
	return false;
}

/* Else some distributions leave it the names of functions that .dynsym has not. */
static void read_packed_names(struct target_functions *functions, struct span bytes)
{
	struct span names;

	functions->unpacked = debug_data_unpack(bytes, &names);
	if (functions->unpacked)
		native_symbols_add(functions->symbols, names);
}

void target_functions_read(struct target_functions *functions, struct process *process,
			   struct debuginfod *debuginfod, const char *path, struct span bytes)
{
	*functions = (struct target_functions){ 0 };
	if (native_symbols_create(&functions->symbols, bytes, 0, NULL))
		functions->symbols = NULL;
	else if (!native_symbols_complete(functions->symbols) &&
		 !read_debug_file(functions, process, debuginfod, path, bytes))
		read_packed_names(functions, bytes);
}

void target_functions_deinit(struct target_functions *functions)
{
	native_symbols_destroy(functions->symbols);
	target_bytes_unmap(functions->debug);
	free(functions->unpacked);
	*functions = (struct target_functions){ 0 };
}

/* By file ------------------------------------------------------------------------------------- */

struct file_functions {
	uint64_t file; /* its number; first: base/sorted.h */
	struct target_functions functions;
	struct native_lines *lines; /* NULL: there are none, or they were not read yet */
	struct span lines_debug;    /* the debug file that they are from, if only they are */
	bool lines_read;
	bool lines_awaited; /* as of functions */
	uint64_t fetched;   /* debuginfod_version() when they were read */
};

static void forget(struct file_functions *found)
{
	native_lines_destroy(found->lines);
	target_bytes_unmap(found->lines_debug);
	target_functions_deinit(&found->functions);
	*found = (struct file_functions){ .file = found->file };
}

static void forget_file(void *node)
{
	forget(node);
	free(node);
}

void native_functions_forget(struct native *native)
{
	tdestroy(native->functions, forget_file);
}

static uint64_t fetched(const struct native *native)
{
	struct debuginfod *debuginfod = native->target->debuginfod;

	return debuginfod ? debuginfod_version(debuginfod) : 0;
}

static struct file_functions *functions_of(struct native *native, const struct target_file *file)
{
	bool is_new;
	struct file_functions *found =
		tree_take(&native->functions, file->number, sizeof(*found), &is_new);

	if (!found)
		return NULL;
	/* What was being fetched when they were read may be there by now. */
	if (!is_new && (found->functions.awaited || found->lines_awaited) &&
	    found->fetched != fetched(native)) {
		forget(found);
		is_new = true;
	}
	if (is_new) {
		target_functions_read(&found->functions, &native->target->process,
				      native->target->debuginfod, file->path, file->bytes);
		if (found->functions.symbols && !found->functions.debug.start)
			native_symbols_read_by(found->functions.symbols, file->fd);
		found->fetched = fetched(native);
	}
	return found;
}

struct native_symbols *native_functions(struct native *native, const struct target_file *file)
{
	struct file_functions *found = functions_of(native, file);

	return found ? found->functions.symbols : NULL;
}

static void read_lines(struct file_functions *found, struct native *native,
		       const struct target_file *file)
{
	struct span debug = found->functions.debug;
	uint64_t shift = 0;

	found->lines_read = true;
	if (native_lines_are_in(file->bytes)) {
		found->lines = native_lines_create(file->bytes, 0);
		return;
	}
	if (!debug.start) {
		if (!open_debug_file(&native->target->process, native->target->debuginfod,
				     file->path, file->bytes, &debug, &found->lines_awaited))
			return;
		found->lines_debug = debug;
	}
	if (native_lines_are_in(debug) && debug_file_shift(file->bytes, debug, &shift))
		found->lines = native_lines_create(debug, shift);
}

struct native_lines *native_debug_information(struct native *native, const struct target_file *file)
{
	struct file_functions *found = functions_of(native, file);

	if (found && !found->lines_read)
		read_lines(found, native, file);
	return found ? found->lines : NULL;
}
