// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is told of a method beside its bodies: its inliners, from the images' tables (inlining.c),
 * and the native function of a P/Invoke, by its declaration and the names of the target's
 * libraries.
 */
#include "runtime/dotnet/method_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/inlining.h"
#include "runtime/dotnet/metadata.h"
#include "target/target.h"

/* Inliners ------------------------------------------------------------------------------------ */

/* malloc'd; NULL for want of memory. */
static char *spell(const struct r2r_method *method)
{
	struct text name = { 0 };

	dotnet_method_spell(method, &name);
	/* Something, so that there is memory to hand on. */
	text_add(&name, "");
	if (text_ok(&name))
		return name.chars;
	text_deinit(&name);
	return NULL;
}

static bool spell_first(struct method_inliners *inliners, const struct dotnet_inliners *found,
			size_t named)
{
	size_t count = found->count < named ? found->count : named;
	bool room;

	inliners->count = found->count;
	inliners->names = calloc(count + 1, sizeof(*inliners->names));
	room = inliners->names != NULL;
	for (size_t i = 0; room && i < count; i++) {
		inliners->names[i] = spell(&found->methods[i]);
		room = inliners->names[i] != NULL;
	}
	return room;
}

int dotnet_method_inliners(struct method_inliners *inliners, struct dotnet_inlining *inlining,
			   const struct dotnet_images *images, const struct method_id *id,
			   size_t named)
{
	struct dotnet_inliners found;
	struct r2r_method method;
	int known;

	*inliners = (struct method_inliners){ 0 };
	if (!inlining || !dotnet_method_find(images, id, &method))
		return 0;
	known = dotnet_inliners_find(&found, inlining, &method, NULL);
	if (known >= 0) {
		inliners->whole = known > 0;
		inliners->method = spell(&method);
		known = inliners->method && spell_first(inliners, &found, named) ? 0 : -ENOMEM;
	}
	dotnet_inliners_deinit(&found);
	return known;
}

/* Imports ------------------------------------------------------------------------------------- */

/* Functions of the runtime itself: src/coreclr/vm/qcall.h. */
static const char runtime_library[] = "QCall";

/*
 * "libc" may be libc.so, liblibc.so or, with its version, libc.so.6; likewise "c", and "libc.so.6"
 * itself.
 */
static bool is_library(const char *file, const char *name)
{
	static const char suffix[] = ".so";
	size_t length = strlen(name);

	if (strncmp(file, "lib", 3) == 0 && strncmp(file + 3, name, length) == 0 &&
	    strncmp(file, name, length) != 0)
		file += 3;
	if (strncmp(file, name, length) != 0)
		return false;
	file += length;
	if (strncmp(file, suffix, sizeof(suffix) - 1) == 0)
		file += sizeof(suffix) - 1;
	return *file == '\0' || *file == '.';
}

bool dotnet_method_import(const struct dotnet_import_sources *sources, const struct method_id *id,
			  struct text *out)
{
	const struct target *target = sources->target;
	struct metadata_import import;
	struct r2r_method method;

	if (!dotnet_method_find(sources->images, id, &method) ||
	    !metadata_method_import(method.metadata, method.method_rid, &import))
		return false;
	for (size_t i = 0; i < target->files.count; i++) {
		const struct target_file *file = &target->files.files[i];
		bool wanted = strcmp(import.library, runtime_library) == 0 ?
				      file == sources->runtime :
				      is_library(file->name, import.library);

		if (!wanted || !mapping_is_file_code(&file->mapping) ||
		    !sources->has_function(sources->ctx, file, import.name))
			continue;
		text_add_printable(out, file->name);
		text_add_char(out, '!');
		text_add_printable(out, import.name);
		return true;
	}
	return false;
}
