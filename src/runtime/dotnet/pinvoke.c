// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How P/Invokes are called, and what: for find.c, which looks for their stubs, for the follower,
 * and for records of sites.
 */
#include "runtime/dotnet/pinvoke.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/signature.h"
#include "target/target.h"

enum {
	IMPORT_SUPPORTS_LAST_ERROR = 0x40, /* ECMA-335 II.23.1.8 */
	IMPL_PRESERVE_SIG = 0x80,	   /* II.23.1.11 */
};

/* No native function takes one. What is returned is the first of them. */
static bool takes_managed_references(const struct metadata *metadata, uint32_t rid)
{
	struct signature signature;
	uint32_t params;

	signature_init(&signature, cursor_over(metadata_method_signature(metadata, rid)), metadata);
	if (!signature_begin_method(&signature, &params))
		return false;
	for (uint64_t i = 0; i <= params && !signature.damaged; i++) {
		if (signature_at_reference(&signature))
			return true;
		signature_skip_type(&signature);
	}
	return false;
}

bool pinvoke_may_be_inlined(const struct metadata *metadata, uint32_t rid)
{
	struct metadata_import import;

	return metadata && metadata_method_import(metadata, rid, &import) &&
	       !(import.flags & IMPORT_SUPPORTS_LAST_ERROR) &&
	       metadata_method_impl_flags(metadata, rid) & IMPL_PRESERVE_SIG &&
	       !takes_managed_references(metadata, rid);
}

void pinvoke_spell_params(struct span blob, const struct metadata *metadata, struct text *params)
{
	struct signature signature;

	text_clear(params);
	signature_init(&signature, cursor_over(blob), metadata);
	if (!signature_add_method_params(&signature, params) || signature.damaged ||
	    signature.unnamed) {
		text_clear(params);
		text_add_char(params, '?');
	}
}

bool pinvoke_may_share(const struct metadata *metadata, uint32_t rid, const char *params)
{
	struct metadata_import import;
	_cleanup_(text_deinit) struct text own = { 0 };

	if (metadata_method_has_il(metadata, rid) ||
	    !metadata_method_import(metadata, rid, &import))
		return false;
	pinvoke_spell_params(metadata_method_signature(metadata, rid), metadata, &own);
	/* What cannot be read may be the same. */
	return strchr(params, '?') || strchr(text_chars(&own), '?') ||
	       strcmp(params, text_chars(&own)) == 0;
}

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
