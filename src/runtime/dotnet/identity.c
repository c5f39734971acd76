// SPDX-License-Identifier: GPL-2.0-or-later
/* A method's identity as a match leaves find.c, and the way back for questions about a site. */
#include "runtime/dotnet/identity.h"

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/pinvoke.h"

/* ECMA-335 II.23.1.11 */
enum {
	IMPL_NO_INLINING = 0x8,
	IMPL_NO_OPTIMIZATION = 0x40,
};

struct method_id dotnet_method_id(const struct r2r_method *method)
{
	const uint32_t table = method->method_rid ? TABLE_METHOD_DEF : TABLE_MEMBER_REF;
	const uint32_t row = method->method_rid ? method->method_rid : method->member_ref_rid;
	struct method_id id = { .runtime = RUNTIME_DOTNET };

	if (!method->metadata)
		return id;
	id.module = metadata_module(method->metadata);
	if (row)
		id.token = table << TOKEN_TABLE_SHIFT | (row & TOKEN_ROW_MASK);
	return id;
}

struct method_traits dotnet_method_traits(const struct r2r_method *method)
{
	const struct metadata *metadata = method->metadata;
	uint32_t rid = method->method_rid;
	struct metadata_import import;
	bool imported;

	if (!metadata || !rid)
		return (struct method_traits){ 0 };
	imported = metadata_method_import(metadata, rid, &import);
	return (struct method_traits){
		.defined = true,
		.single = !metadata_method_is_generic(metadata, rid),
		.call_inlined = imported && pinvoke_may_be_inlined(metadata, rid),
		.may_inline = !imported && !(metadata_method_impl_flags(metadata, rid) &
					     (IMPL_NO_INLINING | IMPL_NO_OPTIMIZATION)),
	};
}

uint32_t dotnet_method_row(const struct method_id *id)
{
	return id->runtime == RUNTIME_DOTNET && id->token >> TOKEN_TABLE_SHIFT == TABLE_METHOD_DEF ?
		       id->token & TOKEN_ROW_MASK :
		       0;
}

static bool is_of(const struct metadata *metadata, const struct method_id *id,
		  struct r2r_method *method)
{
	uint32_t row = id->token & TOKEN_ROW_MASK;

	if (!metadata || metadata_module(metadata) != id->module)
		return false;
	*method = (struct r2r_method){ .metadata = metadata };
	if (id->token >> TOKEN_TABLE_SHIFT == TABLE_METHOD_DEF)
		method->method_rid = row;
	else
		method->member_ref_rid = row;
	return true;
}

bool dotnet_method_find(const struct dotnet_images *images, const struct method_id *id,
			struct r2r_method *method)
{
	if (id->runtime != RUNTIME_DOTNET || !id->module || !id->token)
		return false;
	for (size_t i = 0; i < images->count; i++) {
		const struct dotnet_image *image = images->images[i];

		if (is_of(image->metadata, id, method) ||
		    (image->r2r && is_of(r2r_manifest(image->r2r), id, method)))
			return true;
	}
	return false;
}
