// SPDX-License-Identifier: GPL-2.0-or-later
/* From a MethodDesc in the target's memory to the method's name, for jit.c. */
#include "runtime/dotnet/clr_type.h"

#include <string.h>

#include "runtime/dotnet/signature.h"
#include "base/cleanup.h"
#include "method/method_name.h"

enum {
	METHOD_IS_TIERED = 0x8000, /* of METHOD_TOKEN's unused bits, in .NET 8 to 11 alike */

	METHOD_DESC_ALIGNMENT = 8,
	RID_BITS = 24,
	ARGS_MAX = 1024,
	NAME_MAX_BYTES = 4096,
};

static uint64_t chunk_of(const struct clr *clr, struct look *look, uint64_t desc)
{
	uint8_t index = clr_u8(clr, look, desc, METHOD_CHUNK_INDEX);

	return desc - (uint64_t)clr->layout.at[CHUNK_SIZE] -
	       (uint64_t)index * METHOD_DESC_ALIGNMENT;
}

static uint32_t read_rid(const struct clr *clr, struct look *look, uint64_t desc, uint64_t chunk)
{
	unsigned int low_bits = clr->layout.token_bits;
	uint32_t low = clr_u16(clr, look, desc, METHOD_TOKEN) & ((1u << low_bits) - 1);
	uint32_t high =
		clr_u16(clr, look, chunk, CHUNK_TOKEN_RANGE) & ((1u << (RID_BITS - low_bits)) - 1);

	return high << low_bits | low;
}

/* The row must be a method of the very type that the MethodDesc belongs to. */
static bool agrees(const struct clr_method *method)
{
	const struct metadata *metadata;
	uint32_t owner;

	if (!method->type->module || !method->module->image)
		return true; /* an array's, or of Reflection.Emit: there is nothing to compare */
	metadata = method->module->image->metadata;
	owner = metadata ? metadata_method_type(metadata, method->rid) : 0;
	return owner != 0 && (method->type->rid == 0 || owner == method->type->rid);
}

bool clr_method_read(const struct clr *clr, struct clr_types *types, uint64_t desc,
		     struct clr_method *method)
{
	struct look look = look_into(clr->memory);
	uint16_t flags = clr_u16(clr, &look, desc, METHOD_FLAGS);
	uint64_t chunk = chunk_of(clr, &look, desc);
	uint64_t table = clr_u64(clr, &look, chunk, CHUNK_METHOD_TABLE);

	*method = (struct clr_method){ .desc = desc };
	if (look.bad || desc % METHOD_DESC_ALIGNMENT)
		return false;
	method->tiered = clr_u16(clr, &look, desc, METHOD_TOKEN) & METHOD_IS_TIERED;
	method->dynamic = (flags & METHOD_CLASS_MASK) == METHOD_CLASS_DYNAMIC;
	method->type = clr_type_find(types, table);
	if (!method->type)
		return false;
	if (method->dynamic)
		return true;
	method->module = method->type->module;
	method->rid = read_rid(clr, &look, desc, chunk);
	return !look.bad && method->rid != 0 && agrees(method);
}

void clr_method_short_name(const struct clr *clr, const struct clr_method *method,
			   struct method_name *name)
{
	const struct metadata *metadata = clr_module_metadata(method->module);
	struct look look = look_into(clr->memory);

	method_name_clear(name);
	if (method->dynamic) {
		text_add(&name->type, "dynamicClass");
		look_string(&look, clr_u64(clr, &look, method->desc, DYNAMIC_NAME), NAME_MAX_BYTES,
			    &name->name);
		if (look.bad) {
			text_clear(&name->name);
			text_add_char(&name->name, '?');
		}
		return;
	}
	/* In .NET 8 a type has no room for a large row; the method's row leads there too. */
	if (method->type->rid == 0 && metadata)
		metadata_type_name(metadata, metadata_method_type(metadata, method->rid),
				   &name->type);
	else
		text_add(&name->type, method->type->open);
	text_add(&name->name, metadata ? metadata_method_name(metadata, method->rid) : "?");
}

static bool add_method_args(const struct clr *clr, struct clr_types *types,
			    const struct clr_method *method, struct method_name *name)
{
	struct look look = look_into(clr->memory);
	uint16_t flags = clr_u16(clr, &look, method->desc, METHOD_FLAGS);
	uint64_t args;
	uint16_t count;

	if ((flags & METHOD_CLASS_MASK) != METHOD_CLASS_INSTANTIATED)
		return !look.bad;
	args = clr_u64(clr, &look, method->desc, INSTANTIATED_ARGS);
	count = clr_u16(clr, &look, method->desc, INSTANTIATED_ARG_COUNT);
	if (count > ARGS_MAX)
		return false;
	if (args)
		clr_type_add_list(types, &look, args, count, &name->method_args);
	return !look.bad;
}

/* A signature in memory names types by their handles. */
static void add_internal_type(const void *ctx, uint64_t handle, enum signature_style style,
			      struct text *out)
{
	struct clr_types *types = (struct clr_types *)(uintptr_t)ctx;
	_cleanup_(text_deinit) struct text name = { 0 };

	clr_type_add_name(types, handle, &name);
	if (!type_name_normalise(text_chars(&name), name.length, style == SIGNATURE_CLR, out))
		text_add(out, text_chars(&name));
}

static bool add_dynamic_params(const struct clr *clr, struct clr_types *types,
			       const struct clr_method *method, struct text *out)
{
	struct look look = look_into(clr->memory);
	uint64_t at = clr_u64(clr, &look, method->desc, STORED_SIG);
	uint32_t size = clr_u32(clr, &look, method->desc, STORED_SIG_SIZE);
	uint8_t bytes[1024];
	struct signature signature;

	if (size > sizeof(bytes))
		return false;
	look_copy(&look, at, bytes, size);
	/* A stub's signature is in the words of the module that it was made for. */
	signature_init(&signature, cursor_over((struct span){ bytes, size }),
		       clr_module_metadata(method->type->module));
	signature.internal = add_internal_type;
	signature.internal_ctx = types;
	return !look.bad && signature_add_method_params(&signature, out) && !signature.damaged &&
	       !signature.unnamed;
}

static bool add_params(const struct metadata *metadata, uint32_t rid, struct text *out)
{
	struct signature signature;

	signature_init(&signature, cursor_over(metadata_method_signature(metadata, rid)), metadata);
	return signature_add_method_params(&signature, out) && !signature.damaged;
}

bool clr_method_name(const struct clr *clr, struct clr_types *types,
		     const struct clr_method *method, struct method_name *name)
{
	const struct metadata *metadata = clr_module_metadata(method->module);
	bool whole;

	clr_method_short_name(clr, method, name);
	if (method->dynamic) {
		whole = add_dynamic_params(clr, types, method, &name->params);
	} else {
		text_add(&name->type_args, method->type->args);
		whole = add_method_args(clr, types, method, name);
		whole &= metadata && add_params(metadata, method->rid, &name->params);
	}
	if (!whole) {
		text_clear(&name->params);
		text_add_char(&name->params, '?');
	}
	return whole && strcmp(text_chars(&name->name), "?") != 0;
}
