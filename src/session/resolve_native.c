// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of resolve.h that has to do with native functions: patterns "Image!symbol". */
#include <search.h>
#include <stdlib.h>

#include "image/elf.h"
#include "method/pattern.h"
#include "plan/native_search.h"
#include "session/resolve_planning.h"
#include "runtime/native/functions.h"

/* Functions of files --------------------------------------------------------------------------- */

/* Those of one file of the resolution's. */
struct file_functions {
	size_t file; /* its number */
	struct target_functions functions;
};

static int by_file(const void *left, const void *right)
{
	const struct file_functions *a = left, *b = right;

	return a->file < b->file ? -1 : a->file > b->file;
}

const struct native_symbols *resolution_functions(struct resolution *resolution,
						  const struct target_file *file)
{
	struct file_functions key = { .file = file->number }, *found;
	struct file_functions **node = tsearch(&key, &resolution->functions, by_file);

	if (!node)
		return NULL;
	if (*node != &key)
		return (*node)->functions.symbols;
	found = calloc(1, sizeof(*found));
	if (!found) {
		tdelete(&key, &resolution->functions, by_file);
		return NULL;
	}
	found->file = file->number;
	*node = found;
	target_functions_read(&found->functions, &resolution->target.process, file->path,
			      file->bytes);
	return found->functions.symbols;
}

static void destroy(void *node)
{
	struct file_functions *functions = node;

	target_functions_deinit(&functions->functions);
	free(functions);
}

void resolution_forget_functions(struct resolution *resolution)
{
	tdestroy(resolution->functions, destroy);
	resolution->functions = NULL;
}

/* Which images ---------------------------------------------------------------------------------- */

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
	return pattern_native_only(pattern) ||
	       !dotnet_images_have_named(&resolution->images, file->name);
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
	for (size_t i = 0; i < resolution->target.files.count && !any; i++) {
		struct elf elf;

		any = wants_file(resolution, pattern, target_file(&resolution->target, i), &elf);
	}
	return any;
}

/* Planning -------------------------------------------------------------------------------------- */

static struct address address_of(const void *ctx, size_t file, struct file_offset offset)
{
	const struct target *target = ctx;

	return target_address(target, target_file(target, file), offset);
}

int planning_add_native(struct planning *planning)
{
	struct resolution *resolution = planning->resolution;
	struct native_search search = {
		.pattern = planning->pattern,
		.address = address_of,
		.ctx = &resolution->target,
		.plan = planning->plan,
	};
	int result = 0;

	for (size_t i = 0; i < resolution->target.files.count && result == 0; i++) {
		const struct target_file *file = target_file(&resolution->target, i);

		if (!wants_file(resolution, planning->pattern, file, &search.elf))
			continue;
		search.image = file->name;
		search.file = i;
		search.symbols = resolution_functions(resolution, file);
		result = native_search_run(&search, planning->err);
	}
	planning->matched += search.matched;
	native_search_deinit(&search);
	return result;
}
