// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which native function a P/Invoke calls, by its declaration and the target's libraries: for
 * records of sites, and for the report.
 */
#include "session/imported.h"

#include <string.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/identity.h"
#include "runtime/native/native.h"
#include "runtime/native/symbols.h"
#include "session/resolve.h"
#include "base/text.h"

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

static bool has_function(struct resolution *resolution, const struct target_file *file,
			 const char *name)
{
	const struct native_symbols *symbols = native_functions(resolution->native, file);
	size_t count = symbols ? native_symbols_count(symbols) : 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(native_symbols_get(symbols, i)->name, name) == 0)
			return true;
	}
	return false;
}

bool imported_function(struct resolution *resolution, const struct method_id *id, struct text *out)
{
	struct metadata_import import;
	struct r2r_method method;

	if (!dotnet_method_find(&resolution->dotnet->images, id, &method) ||
	    !metadata_method_import(method.metadata, method.method_rid, &import))
		return false;
	for (size_t i = 0; i < resolution->target.files.count; i++) {
		const struct target_file *file = target_file(&resolution->target, i);
		bool wanted = strcmp(import.library, runtime_library) == 0 ?
				      resolution->managed && i == resolution->dotnet->about.file :
				      is_library(file->name, import.library);

		if (!wanted || !mapping_is_file_code(&file->mapping) ||
		    !has_function(resolution, file, import.name))
			continue;
		text_add_printable(out, file->name);
		text_add_char(out, '!');
		text_add_printable(out, import.name);
		return true;
	}
	return false;
}
