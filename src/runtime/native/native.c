// SPDX-License-Identifier: GPL-2.0-or-later
/* Native code as a runtime: the table of runtime/runtime.h, filled from the other files here. */
#include "runtime/native/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/progress.h"
#include "image/cfi.h"
#include "image/elf.h"
#include "method/pattern.h"
#include "runtime/native/find.h"
#include "runtime/native/symbols.h"
#include "target/target.h"
#include "target/vdso.h"
#include "value/value.h"

/* Which files ---------------------------------------------------------------------------------- */

/*
 * May @pattern mean functions of @file? Where a managed image goes by the same name, as the program
 * of a host or of a single-file executable does, that is meant by all that may be a method's name.
 */
static bool wants_file(const struct native *native, const struct pattern *pattern,
		       const struct target_file *file, struct elf *elf)
{
	if (!mapping_is_file_code(&file->mapping) ||
	    !pattern_wants_native_image(pattern, file->name) || !elf_init(elf, file->bytes))
		return false;
	return pattern_native_only(pattern) || !runtimes_have_host(native->others, file);
}

static bool has_file(const struct runtime *runtime, const struct pattern *pattern)
{
	const struct native *native = (const struct native *)runtime;
	const struct target *target = native->target;
	struct elf elf;

	for (size_t i = 0; i < target->files.count; i++) {
		if (wants_file(native, pattern, &target->files.files[i], &elf))
			return true;
	}
	return false;
}

/* As struct runtime --------------------------------------------------------------------------- */

static int find(struct runtime *runtime, const struct body_query *query, body_fn fn, void *ctx,
		struct error *err)
{
	struct native *native = (struct native *)runtime;
	const struct target *target = native->target;
	struct native_search search = {
		.pattern = query->pattern,
		.timed = query->timed,
		.target = target,
		.fn = fn,
		.ctx = ctx,
	};
	int result = 0;

	for (size_t i = 0; i < target->files.count && result == 0; i++) {
		const struct target_file *file = &target->files.files[i];

		progress_tell("reading images", i, target->files.count);
		if (file->number < query->known_count && query->known[file->number])
			continue;
		if (!wants_file(native, query->pattern, file, &search.elf))
			continue;
		search.image = file->name;
		search.file = file->number;
		search.place = target_file_place(file->device, file->inode);
		search.symbols = native_functions(native, file);
		result = native_search_run(&search, err);
	}
	native_search_deinit(&search);
	return result;
}

static int find_in_file(const struct file_query *query, body_fn fn, void *ctx)
{
	struct native_search search = {
		.image = query->name,
		.place = query->place,
		.timed = query->timed,
		.fn = fn,
		.ctx = ctx,
	};
	struct target_functions functions;
	int result = 0;

	if (!elf_init(&search.elf, query->bytes))
		return 0;
	/* Whoever asks waits for no server. */
	target_functions_read(&functions, query->process, NULL, query->path, query->bytes);
	search.symbols = functions.symbols;
	for (size_t i = 0; i < query->count && result != -ENOMEM; i++) {
		size_t before = search.matched;

		if (!query->patterns[i])
			continue;
		search.pattern = query->patterns[i];
		/* Where a regex runs away nothing more is found by it. */
		result = native_search_run(&search, NULL);
		query->matched[i] |= search.matched > before;
	}
	native_search_deinit(&search);
	target_functions_deinit(&functions);
	return result == -ENOMEM ? result : 0;
}

/* The file whose functions are of @module; NULL: it is not mapped any more. */
static const struct target_file *file_of_module(const struct native *native, uint64_t module)
{
	const struct target *target = native->target;
	struct elf elf;

	for (size_t i = 0; module && i < target->files.count; i++) {
		const struct target_file *file = &target->files.files[i];

		if (mapping_is_file_code(&file->mapping) && elf_init(&elf, file->bytes) &&
		    native_module(&elf, target_file_place(file->device, file->inode)) == module)
			return file;
	}
	return NULL;
}

static int signature(struct runtime *runtime, const struct method_id *id, uint64_t method_desc,
		     const char *name, struct value_types *types, struct value_signature *out)
{
	struct native *native = (struct native *)runtime;
	const struct target_file *file = file_of_module(native, id->module);
	struct native_symbols *symbols = file ? native_functions(native, file) : NULL;
	const struct native_symbol *symbol =
		symbols ? native_symbols_find(symbols, id->token) : NULL;
	int result;

	(void)method_desc;
	(void)name;
	result = native_signature(file ? native_debug_information(native, file) : NULL, id->token,
				  symbol ? symbol->name : NULL, types, out);
	/* It was probed before it is mapped. */
	out->incomplete = !file;
	return result;
}

/* Rows by the address that the file is linked to. */
static int make_rows(const void *ctx, struct unwind_rows *rows)
{
	struct cfi_section section = { 0 };
	struct cfi_counts counts;

	if (!elf_section(ctx, ".eh_frame", &section.bytes, &section.address)) {
		if (!elf_section(ctx, ".debug_frame", &section.bytes, &section.address))
			return 0;
		section.debug_frame = true;
	}
	return cfi_rows(&section, rows, &counts, NULL);
}

static int ranges(struct runtime *runtime, code_range_fn fn, void *ctx)
{
	const struct target *target = ((struct native *)runtime)->target;
	const struct maps *maps = target_maps(target);
	struct vdso vdso;
	int result = 0;

	vdso_read(&vdso, maps, target->memory);
	for (size_t i = 0; i < maps->count && result == 0; i++) {
		const struct mapping *row = &maps->rows[i];
		const struct target_file *file =
			mapping_is_file_code(row) ? target_find_file(target, row) : NULL;
		struct elf elf;
		struct code_range range = {
			.begin = row->start.value,
			.end = row->end.value,
			.unwinder = UNWINDER_ROWS,
			.file = file ? file->number : BODY_NO_FILE,
			.make_rows = make_rows,
			.ctx = &elf,
		};

		if ((file || row->start.value == vdso.start.value) &&
		    elf_init(&elf, file ? file->bytes : vdso.bytes) &&
		    elf_part_bias(&elf, row->offset, row->start, &range.base))
			result = fn(&range, ctx);
	}
	vdso_deinit(&vdso);
	return result;
}

static bool has_function(struct runtime *runtime, const struct target_file *file, const char *name)
{
	struct native_symbols *symbols = native_functions((struct native *)runtime, file);
	size_t count = symbols ? native_symbols_count(symbols) : 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(native_symbols_get(symbols, i)->name, name) == 0)
			return true;
	}
	return false;
}

static void destroy(struct runtime *runtime)
{
	struct native *native = (struct native *)runtime;

	native_functions_forget(native);
	free(native);
}

static int create(struct runtime **out, struct target *target, const struct runtimes *others,
		  struct error *err)
{
	struct native *native = calloc(1, sizeof(*native));

	if (!native)
		return error_set(err, -ENOMEM, "no memory to look for native functions");
	native->runtime.ops = &native_ops;
	native->target = target;
	native->others = others;
	*out = &native->runtime;
	return 0;
}

const struct runtime_ops native_ops = {
	.id = RUNTIME_NATIVE,
	.create = create,
	.destroy = destroy,
	.has_file = has_file,
	.find = find,
	.find_in_file = find_in_file,
	.has_function = has_function,
	.signature = signature,
	.ranges = ranges,
	.frame_namer = native_frame_namer,
};
