// SPDX-License-Identifier: GPL-2.0-or-later
/* How P/Invokes are called: for find.c, which looks for their stubs, and for the follower. */
#include "runtime/dotnet/pinvoke.h"

#include <string.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/signature.h"
#include "base/cleanup.h"
#include "base/text.h"

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
