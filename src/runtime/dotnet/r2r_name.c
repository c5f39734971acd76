// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a precompiled body to its method's name, by the signature of the instantiation if it is of
 * one: for find.c, before it matches, and for frame_names.c.
 */
#include <string.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"
#include "base/cleanup.h"
#include "method/method_name.h"

enum {
	NAME_MAX_BYTES = 1024,
	MAX_ARGS = 1024,
};

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
};

static const char unknown[] = "?";
static const char map_separator[] = ", ";

/* Signatures of instantiations --------------------------------------------------------------- */

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
		instance->metadata =
			r2r_component_named(r2r, "System.Private.CoreLib", &instance->component);
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

/* Names -------------------------------------------------------------------------------------- */

/* All that is needed to name a body; of a MethodDef the instance is empty. */
struct named {
	const struct metadata *metadata;
	struct r2r_instance instance;
	bool is_instance;
};

static bool find_named(struct named *named, const struct r2r_body *body)
{
	named->is_instance = body->instance != 0;
	if (!named->is_instance)
		named->metadata = r2r_metadata(body->r2r, body->component);
	else if (r2r_instance_read(&named->instance, body->r2r, body->instance))
		named->metadata = named->instance.metadata;
	else
		return false;
	return named->metadata != NULL;
}

/* The type a MemberRef belongs to; arguments, if it says any, follow in @s. */
static bool member_ref_owner(const struct metadata *metadata, uint32_t rid, struct signature *s,
			     struct signature_owner *owner)
{
	enum metadata_table table = TABLE_MODULE;
	uint32_t parent = metadata_member_ref_parent(metadata, rid, &table);

	*owner = (struct signature_owner){ .metadata = metadata };
	switch (table) {
	case TABLE_TYPE_DEF:
		owner->type_rid = parent;
		return true;
	case TABLE_TYPE_REF:
		owner->type_ref_rid = parent;
		return true;
	case TABLE_TYPE_SPEC:
		signature_init(s, cursor_over(metadata_type_spec_signature(metadata, parent)),
			       metadata);
		signature_begin_owner(s, owner);
		return !s->damaged;
	default:
		return false;
	}
}

/*
 * The owner type, with @args standing on its arguments (of which owner->arg_count
 * are there). False if nothing says which it is.
 */
static bool find_owner(const struct named *named, const struct r2r_body *body,
		       struct signature_owner *owner, struct signature *args)
{
	struct cursor none = { .bad = true };

	if (named->is_instance && named->instance.has_owner) {
		*owner = named->instance.owner;
		r2r_signature_init(args, body->r2r, named->instance.type_args, owner->metadata);
		return true;
	}
	signature_init(args, none, NULL);
	if (body->member_ref_rid)
		return member_ref_owner(named->metadata, body->member_ref_rid, args, owner);
	*owner = (struct signature_owner){
		.metadata = named->metadata,
		.type_rid = body->type_rid,
	};
	return body->type_rid != 0;
}

/* Append its open name, likewise. Returns how many arguments there are. */
static uint32_t add_owner(const struct named *named, const struct r2r_body *body,
			  struct signature *args, struct text *out)
{
	struct signature_owner owner;

	if (!find_owner(named, body, &owner, args)) {
		text_add(out, unknown);
		return 0;
	}
	signature_add_owner(args, &owner, out);
	return owner.arg_count;
}

static void add_method_name(const struct named *named, const struct r2r_body *body,
			    struct text *out)
{
	const char *name = body->method_rid ?
				   metadata_method_name(named->metadata, body->method_rid) :
				   metadata_member_ref_name(named->metadata, body->member_ref_rid);

	text_add_bytes(out, name, strnlen(name, NAME_MAX_BYTES));
}

static void begin_signature(const struct named *named, const struct r2r_body *body,
			    struct signature *s)
{
	struct span blob =
		body->method_rid ?
			metadata_method_signature(named->metadata, body->method_rid) :
			metadata_member_ref_signature(named->metadata, body->member_ref_rid);

	signature_init(s, cursor_over(blob), named->metadata);
}

/* Append arguments. True if one of them could not be named. */
static bool add_args(struct signature *s, uint32_t count, struct text *out)
{
	if (count > 0)
		signature_add_params(s, count, SIGNATURE_CLR, out);
	return s->unnamed;
}

/* Its parameters, as the definition has them. */
static void add_params(const struct named *named, const struct r2r_body *body, struct text *out)
{
	struct signature s;

	begin_signature(named, body, &s);
	if (!signature_add_method_params(&s, out))
		text_add(out, unknown);
}

const struct metadata *r2r_body_metadata(const struct r2r_body *body)
{
	struct named named;

	return find_named(&named, body) ? named.metadata : NULL;
}

void r2r_body_short_name(const struct r2r_body *body, struct method_name *name)
{
	struct named named;
	struct signature args;

	method_name_clear(name);
	named.metadata = r2r_metadata(body->r2r, body->component);
	if (body->type_rid && body->method_rid && named.metadata) {
		/* Both rows are known: there is no need to read the signature. */
		metadata_type_name(named.metadata, body->type_rid, &name->type);
		add_method_name(&named, body, &name->name);
		return;
	}
	if (!find_named(&named, body)) {
		text_add(&name->type, unknown);
		text_add(&name->name, unknown);
		return;
	}
	add_owner(&named, body, &args, &name->type);
	add_method_name(&named, body, &name->name);
}

void r2r_body_name(const struct r2r_body *body, struct method_name *name)
{
	struct named named;
	struct signature s;
	uint32_t type_args;
	bool unnamed;

	method_name_clear(name);
	if (!find_named(&named, body)) {
		text_add(&name->type, unknown);
		text_add(&name->name, unknown);
		text_add(&name->params, unknown);
		return;
	}
	type_args = add_owner(&named, body, &s, &name->type);
	unnamed = add_args(&s, type_args, &name->type_args);
	add_method_name(&named, body, &name->name);
	if (named.is_instance) {
		r2r_signature_init(&s, body->r2r, named.instance.method_args,
				   named.instance.context);
		unnamed |= add_args(&s, named.instance.method_arg_count, &name->method_args);
	}
	body->r2r->learnt->unnamed += unnamed;
	add_params(&named, body, &name->params);
}

void r2r_method_name(const struct r2r_method *method, struct method_name *name)
{
	const struct named named = { .metadata = method->metadata };
	const struct r2r_body body = {
		.method_rid = method->method_rid,
		.member_ref_rid = method->member_ref_rid,
		.type_rid = metadata_method_type(method->metadata, method->method_rid),
	};
	struct signature s;

	method_name_clear(name);
	add_owner(&named, &body, &s, &name->type);
	add_method_name(&named, &body, &name->name);
	add_params(&named, &body, &name->params);
}

static void set_map_style(struct signature *s)
{
	s->separator = map_separator;
	s->function_open = " (";
}

/* "Type[args]::", with the arguments kept for the signature that follows. */
static void add_map_owner(const struct named *named, const struct r2r_body *body,
			  struct signature_args *type_args, struct text *out)
{
	struct signature s;
	uint32_t count = add_owner(named, body, &s, out);

	if (count > 0) {
		set_map_style(&s);
		signature_read_args(&s, count, type_args);
		text_add_char(out, '[');
		signature_args_spell(type_args, map_separator, out);
		text_add_char(out, ']');
	}
	text_add(out, "::");
}

static void add_map_signature(const struct named *named, const struct r2r_body *body,
			      const struct text *method, struct signature_args *type_args,
			      struct signature_args *method_args, struct text *out)
{
	struct signature s;
	uint32_t params;
	size_t start = out->length;

	begin_signature(named, body, &s);
	set_map_style(&s);
	s.type_args = type_args;
	s.method_args = method_args;
	if (!signature_begin_method(&s, &params)) {
		text_add(out, text_chars(method));
		text_add(out, "(?)");
		return;
	}
	signature_add_type(&s, SIGNATURE_CLR, out);
	if (strcmp(text_chars(out) + start, "System.Void") == 0)
		text_cut(out, start);
	else
		text_add_char(out, ' ');
	text_add(out, text_chars(method));
	text_add_char(out, '(');
	signature_add_params(&s, params, SIGNATURE_CLR, out);
	text_add_char(out, ')');
}

void r2r_body_map_name(const struct r2r_body *body, struct text *out)
{
	struct named named;
	_cleanup_(signature_args_deinit) struct signature_args type_args = { .count = 0 };
	_cleanup_(signature_args_deinit) struct signature_args method_args = { .count = 0 };
	_cleanup_(text_deinit) struct text method = { 0 };
	struct signature s;

	if (!find_named(&named, body)) {
		text_add(out, unknown);
		return;
	}
	add_map_owner(&named, body, &type_args, &method);
	add_method_name(&named, body, &method);
	if (named.is_instance) {
		r2r_signature_init(&s, body->r2r, named.instance.method_args,
				   named.instance.context);
		set_map_style(&s);
		signature_read_args(&s, named.instance.method_arg_count, &method_args);
	}
	add_map_signature(&named, body, &method, &type_args, &method_args, out);
}
