// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions and lines of a file, read once asked for: between native.c, symbols.c and lines.c. */
#include "runtime/native/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/native/debug_data.h"
#include "runtime/native/debug_file.h"
#include "runtime/native/lines.h"
#include "runtime/native/symbols.h"
#include "target/files.h"

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
	    native_symbols_create_from_debug(&symbols, debug, shift, NULL) == 0 &&
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
	if (native_symbols_create(&functions->symbols, bytes, NULL))
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

void target_lines_read(struct target_lines *lines, const struct target_functions *functions,
		       struct process *process, struct debuginfod *debuginfod, const char *path,
		       struct span bytes)
{
	struct span debug = functions->debug;
	uint64_t shift = 0;

	*lines = (struct target_lines){ 0 };
	if (native_lines_are_in(bytes)) {
		lines->lines = native_lines_create(bytes, 0);
		return;
	}
	if (!debug.start) {
		if (!open_debug_file(process, debuginfod, path, bytes, &debug, &lines->awaited))
			return;
		lines->debug = debug;
	}
	if (native_lines_are_in(debug) && debug_file_shift(bytes, debug, &shift))
		lines->lines = native_lines_create(debug, shift);
}

void target_lines_deinit(struct target_lines *lines)
{
	native_lines_destroy(lines->lines);
	target_bytes_unmap(lines->debug);
	*lines = (struct target_lines){ 0 };
}

bool target_functions_have(struct native_symbols *symbols, const char *name)
{
	size_t count = symbols ? native_symbols_count(symbols) : 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(native_symbols_get(symbols, i)->name, name) == 0)
			return true;
	}
	return false;
}
