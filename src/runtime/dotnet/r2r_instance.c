// SPDX-License-Identifier: GPL-2.0-or-later
/* The signatures of instantiations, for r2r_body.c and r2r_name.c. */
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"

/* What a method's signature says of itself; the parts follow in the order of reading below. */
enum {
	METHOD_UNBOXING_STUB = 0x01,
	METHOD_INSTANTIATING_STUB = 0x02,
	METHOD_INSTANTIATION = 0x04,
	METHOD_SLOT = 0x08, /* a number in a vtable stands in place of the token */
	METHOD_MEMBER_REF = 0x10,
	METHOD_CONSTRAINED = 0x20,
	METHOD_OWNER_TYPE = 0x40,
	METHOD_UPDATE_CONTEXT = 0x80,
	METHOD_ASYNC_VARIANT = 0x100,
	METHOD_FLAGS = 0x1ff,

	MAX_ARGS = 1024,
};

static const char core_library[] = "System.Private.CoreLib";

static const struct metadata *find_module(const void *ctx, uint32_t index)
{
	uint32_t component;

	return r2r_module(ctx, index, &component);
}

void r2r_signature_init(struct signature *s, const struct r2r *r2r, struct cursor at,
			const struct metadata *metadata)
{
	signature_init(s, at, metadata);
	s->module = find_module;
	s->module_ctx = r2r;
}

static void skip_types(struct signature *s, uint32_t count)
{
	if (count > MAX_ARGS)
		s->damaged = true;
	for (uint32_t i = 0; i < count && !s->damaged; i++)
		signature_skip_type(s);
}

/* The owner's own module is where the method's token is looked up. */
static void read_owner(struct r2r_instance *instance, const struct r2r *r2r, struct signature *s)
{
	instance->has_owner = true;
	signature_begin_owner(s, &instance->owner);
	instance->type_args = s->at;
	skip_types(s, instance->owner.arg_count);
	s->metadata = instance->context;

	/* Types like string are named without a module: they are always the core library's. */
	if (instance->owner.primitive)
		instance->metadata = r2r_component_named(r2r, core_library, &instance->component);
	else
		instance->metadata = r2r_module(r2r, instance->owner.module, &instance->component);
}

bool r2r_instance_read_method(struct r2r_instance *instance, const struct r2r *r2r, uint32_t module,
			      struct cursor *at)
{
	struct cursor c = *at;
	uint32_t flags = metadata_compressed(&c);
	struct signature s;
	uint32_t all_types, token;

	*instance = (struct r2r_instance){ 0 };
	if (flags & METHOD_UPDATE_CONTEXT)
		module = metadata_compressed(&c);
	instance->metadata = r2r_module(r2r, module, &instance->component);
	instance->context = instance->metadata;
	r2r_signature_init(&s, r2r, c, instance->context);
	all_types = s.types_left;

	if (flags & METHOD_OWNER_TYPE) {
		read_owner(instance, r2r, &s);
		if (flags & METHOD_UPDATE_CONTEXT)
			instance->metadata = r2r_module(r2r, module, &instance->component);
	}
	token = metadata_compressed(&s.at);
	if (flags & METHOD_SLOT)
		instance->metadata = NULL; /* without the vtable's layout it has no name */
	else if (flags & METHOD_MEMBER_REF)
		instance->member_ref_rid = token;
	else
		instance->method_rid = token;

	if (flags & METHOD_INSTANTIATION)
		instance->method_arg_count = metadata_compressed(&s.at);
	instance->method_args = s.at;
	skip_types(&s, instance->method_arg_count);
	if (flags & METHOD_CONSTRAINED)
		signature_skip_type(&s);
	instance->types = all_types - s.types_left;
	*at = s.at;
	return (flags & ~(uint32_t)METHOD_FLAGS) == 0 && !s.damaged && cursor_ok(at);
}

bool r2r_instance_read(struct r2r_instance *instance, const struct r2r *r2r, uint32_t offset_1)
{
	struct cursor at = cursor_at(&r2r->instances.image, offset_1 - 1);
	bool good = r2r_instance_read_method(instance, r2r, 0, &at);

	instance->function = r2r_read_function(&at);
	return good && cursor_ok(&at);
}
