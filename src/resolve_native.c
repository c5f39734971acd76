// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of resolve.h that has to do with native functions: patterns "Image!symbol". */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "image/eh_frame.h"
#include "image/elf.h"
#include "method/pattern.h"
#include "native/debug_file.h"
#include "native/name.h"
#include "native/symbols.h"
#include "place/exit_parts.h"
#include "resolve_planning.h"
#include "target/debug_files.h"

/* Functions of files --------------------------------------------------------------------------- */

/* Those of one file of the resolution's. */
struct file_functions {
	size_t file;			/* its number */
	struct native_symbols *symbols; /* NULL: there are none */
	struct span debug;		/* the debug file that they are from, if it is one */
};

static int by_file(const void *left, const void *right)
{
	const struct file_functions *a = left, *b = right;

	return a->file < b->file ? -1 : a->file > b->file;
}

/* A file that was stripped may have a debug file, which knows more. */
static void read_debug_file(struct resolution *resolution, const struct target_file *file,
			    struct file_functions *functions)
{
	struct native_symbols *symbols = NULL;
	struct span debug;
	uint64_t shift;

	if (!target_debug_file_open(&resolution->process, file->path, file->bytes, &debug))
		return;
	if (debug_file_shift(file->bytes, debug, &shift) &&
	    native_symbols_create_from_debug(&symbols, debug, shift, NULL) == 0 &&
	    native_symbols_complete(symbols)) {
		native_symbols_destroy(functions->symbols);
		functions->symbols = symbols;
		functions->debug = debug;
		return;
	}
	native_symbols_destroy(symbols);
	target_bytes_unmap(debug);
}

const struct native_symbols *resolution_functions(struct resolution *resolution, size_t number,
						  const struct target_file *file)
{
	struct file_functions key = { .file = number }, *functions;
	struct file_functions **node = tsearch(&key, &resolution->functions, by_file);

	if (!node)
		return NULL;
	if (*node != &key)
		return (*node)->symbols;
	functions = calloc(1, sizeof(*functions));
	if (!functions) {
		tdelete(&key, &resolution->functions, by_file);
		return NULL;
	}
	functions->file = number;
	*node = functions;
	if (native_symbols_create(&functions->symbols, file->bytes, NULL))
		functions->symbols = NULL;
	else if (!native_symbols_complete(functions->symbols))
		read_debug_file(resolution, file, functions);
	return functions->symbols;
}

static void destroy(void *node)
{
	struct file_functions *functions = node;

	native_symbols_destroy(functions->symbols);
	if (functions->debug.start)
		target_bytes_unmap(functions->debug);
	free(functions);
}

void resolution_forget_functions(struct resolution *resolution)
{
	tdestroy(resolution->functions, destroy);
	resolution->functions = NULL;
}

/* Which images ---------------------------------------------------------------------------------- */

/* "app" is what app.dll is called, too. */
static bool is_name_of(const struct dotnet_image *image, const char *file_name)
{
	size_t length = strlen(file_name);

	return strncmp(image->name, file_name, length) == 0 &&
	       (image->name[length] == '\0' || strrchr(image->name, '.') == image->name + length);
}

/*
 * May @pattern mean functions of @file? Where a managed image goes by the same name, as the program of a host
 * or of a single-file executable does, that is meant by all that may be a method's name.
 */
static bool wants_file(const struct resolution *resolution, const struct pattern *pattern,
		       const struct target_file *file, struct elf *elf)
{
	if (!mapping_is_file_code(&file->mapping) ||
	    !pattern_wants_native_image(pattern, file->name) || !elf_init(elf, file->bytes))
		return false;
	for (size_t i = 0; !pattern_native_only(pattern) && i < resolution->images.count; i++) {
		if (is_name_of(resolution->images.images[i], file->name))
			return false;
	}
	return true;
}

bool resolution_asks_native(const struct resolution *resolution, const struct pattern *pattern)
{
	bool any = false;

	/* Without a runtime there is nothing else that it may be. */
	if (pattern_native_only(pattern) || (!resolution->managed && pattern_has_image(pattern)))
		return true;
	for (size_t i = 0; i < resolution->images.count; i++) {
		if (pattern_wants_image(pattern, resolution->images.images[i]->name))
			return false;
	}
	for (size_t i = 0; i < resolution->files.count && !any; i++) {
		struct elf elf;

		any = wants_file(resolution, pattern, &resolution->files.files[i], &elf);
	}
	return any;
}

/* Functions of one image ------------------------------------------------------------------------ */

/* One ELF file that the pattern may mean, on its way to the plan. */
struct searched {
	struct planning *planning;
	const struct target_file *file;
	size_t number;
	struct elf elf;
	const struct native_symbols *symbols;
	struct native_name name;
	struct exits exits; /* scratch: of functions that are not in .eh_frame */
};

/*
 * A probe that is not on the first byte of an instruction destroys the target, and a symbol is only a word.
 * .eh_frame, where it says anything of the place, must say that a function begins there; else all of the
 * function must decode.
 */
static int begins_function(struct searched *searched, const struct native_symbol *symbol,
			   bool *begins)
{
	const struct exit_part part = {
		.code = elf_bytes(&searched->elf, symbol->begin, symbol->size),
		.begin = symbol->begin,
	};
	const struct exit_body body = {
		.parts = &part,
		.part_count = 1,
		.read = exit_read_elf,
		.ctx = &searched->elf,
	};
	uint64_t begin;
	int result;

	*begins = eh_frame_function(&searched->elf, symbol->begin).start != NULL;
	if (*begins || eh_frame_code(&searched->elf, symbol->begin, &begin).start)
		return 0;
	result = exits_find(&searched->exits, &body, searched->planning->err);
	*begins = result == 0 && searched->exits.refusal != EXITS_UNREADABLE &&
		  searched->exits.refusal != EXITS_TOO_LARGE &&
		  searched->exits.refusal != EXITS_UNDECODABLE &&
		  searched->exits.refusal != EXITS_INTO_INSTRUCTION;
	return result;
}

/* Exits are placed by how far they are from the entry: in the file they must be as far as in memory. */
static bool exits_in_segment(const struct elf *elf, const struct exits *exits, uint64_t entry,
			     struct file_offset offset)
{
	for (size_t i = 0; i < exits->count; i++) {
		struct file_offset at;

		if (!elf_code_offset(elf, exits->sites[i].at, &at) ||
		    at.value - offset.value != exits->sites[i].at - entry)
			return false;
	}
	return true;
}

static int find_exits(struct searched *searched, const struct native_symbol *symbol,
		      struct plan_body *body)
{
	struct planning *planning = searched->planning;
	int result = exit_find_native(&planning->exits, &searched->elf, searched->symbols, symbol,
				      planning->err);

	if (result)
		return result;
	if (exits_in_segment(&searched->elf, &planning->exits, symbol->begin, body->offset))
		body->exits = &planning->exits;
	body->exits_entry = symbol->begin;
	return 0;
}

static int add_function(struct searched *searched, const struct native_symbol *symbol)
{
	struct planning *planning = searched->planning;
	const struct plan_code code = {
		.bytes = elf_bytes(&searched->elf, symbol->begin, symbol->size),
	};
	struct plan_body body = {
		.method = text_chars(&searched->name.shown),
		.image = searched->file->name,
		.tier = TIER_NATIVE,
		.state = STATE_CURRENT,
		.final = true,
		.sources = 1u << NAME_SOURCE_SYMBOLS,
		.reason = symbol->indirect ? REASON_INDIRECT : REASON_NONE,
		.file = searched->number,
		.size = symbol->size > UINT32_MAX ? UINT32_MAX : (uint32_t)symbol->size,
		.code = &code,
		.code_count = 1,
	};
	int result = 0;

	planning->matched++;
	if (elf_code_offset(&searched->elf, symbol->begin, &body.offset)) {
		body.address = planning_address(planning, searched->number, body.offset);
		result = begins_function(searched, symbol, &body.function_start);
		if (result == 0 && planning->plan->timed && body.function_start)
			result = find_exits(searched, symbol, &body);
	}
	return result ? result : plan_add(planning->plan, &body, planning->err);
}

static int add_functions(struct searched *searched)
{
	size_t count = searched->symbols ? native_symbols_count(searched->symbols) : 0;
	struct error *err = searched->planning->err;
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct native_symbol *symbol = native_symbols_get(searched->symbols, i);

		if (native_name_is_part(symbol->name))
			continue;
		result = native_name_read(&searched->name, symbol->name);
		if (result)
			return error_set(err, result, "no memory for the name of a function");
		result = pattern_matches_native(searched->planning->pattern, searched->name.forms,
						searched->name.count, err);
		if (result > 0)
			result = add_function(searched, symbol);
	}
	return result;
}

int planning_add_native(struct planning *planning)
{
	struct resolution *resolution = planning->resolution;
	struct searched searched = { .planning = planning };
	int result = 0;

	for (size_t i = 0; i < resolution->files.count && result == 0; i++) {
		searched.file = &resolution->files.files[i];
		searched.number = i;
		if (!wants_file(resolution, planning->pattern, searched.file, &searched.elf))
			continue;
		searched.symbols = resolution_functions(resolution, i, searched.file);
		result = add_functions(&searched);
	}
	exits_deinit(&searched.exits);
	native_name_deinit(&searched.name);
	return result;
}
