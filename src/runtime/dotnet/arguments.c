// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What calls of a method are given and give back: the types out of its signature, the names out of
 * its module's metadata, the places by places.c. As runtime_ops has it, for --watch.
 */
#include "runtime/dotnet/dotnet_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "code/compiler_code.h"
#include "method/method_name.h"
#include "runtime/dotnet/clr_fields.h"
#include "runtime/dotnet/identity.h"
#include "runtime/dotnet/places.h"
#include "runtime/dotnet/type_index.h"
#include "runtime/dotnet/type_spelling.h"
#include "runtime/dotnet/value_types.h"

enum {
	PARAMS_MAX = 64,
	CONVENTION_HAS_THIS = 0x20,
	CONVENTION_VARIABLE = 0x05,
	CONVENTION_KIND = 0x0f,
	PARAM_IN = 0x1,
	PARAM_OUT = 0x2,
	EMPTY_ON_STACK_LAST = 8, /* .NET */
};

static const char canon[] = "System.__Canon";

/* One method on its way to a signature. */
struct asked {
	const struct metadata *metadata;
	uint32_t rid;
	struct text owner; /* open name of its type */
	struct signature_args type_args;
	struct signature_args method_args;
	bool shared; /* an argument is System.__Canon */
	bool of_value;
	bool has_this;
	struct signature signature; /* stands before what it returns */
	uint32_t params;
};

static void asked_deinit(struct asked *asked)
{
	text_deinit(&asked->owner);
	signature_args_deinit(&asked->type_args);
	signature_args_deinit(&asked->method_args);
}

/* "Type[ARGS]::Method[ARGS](..)" */
static void read_args(struct asked *asked, const char *name)
{
	const char *method = strstr(name, "::");
	const char *list, *params;
	size_t length;

	if (!method)
		return;
	list = spelled_in_brackets(name, (size_t)(method - name), &length);
	if (list)
		spelled_args_read(&asked->type_args, list, length);
	method += 2;
	params = strchr(method, '(');
	list = spelled_in_brackets(method, params ? (size_t)(params - method) : strlen(method),
				   &length);
	if (list)
		spelled_args_read(&asked->method_args, list, length);
	asked->shared = strstr(text_chars(&asked->type_args.chars), canon) ||
			strstr(text_chars(&asked->method_args.chars), canon);
}

/* Its name if the caller has none: as the runtime has it now. */
static void read_args_of_desc(struct dotnet *dotnet, struct asked *asked, uint64_t method_desc)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	_cleanup_(text_deinit) struct text spelled = { 0 };
	struct clr_method method;

	jit_recheck_begin(dotnet->jit);
	if (!jit_name_desc(dotnet->jit, method_desc, &name, &method))
		return;
	method_name_spell(&name, &spelled);
	read_args(asked, text_chars(&spelled));
}

/* NULL, or why it cannot be told what calls are given. */
static const char *ask(struct dotnet *dotnet, struct asked *asked, const struct method_id *id,
		       uint64_t method_desc, const char *name)
{
	struct r2r_method method;
	struct span bytes;
	uint8_t convention;

	if (!dotnet_method_find(&dotnet->images, id, &method) || !method.method_rid)
		return "no metadata of it is at hand";
	asked->metadata = method.metadata;
	asked->rid = method.method_rid;
	bytes = metadata_method_signature(method.metadata, method.method_rid);
	convention = bytes.size ? bytes.start[0] : 0;
	asked->has_this = convention & CONVENTION_HAS_THIS;
	if ((convention & CONVENTION_KIND) == CONVENTION_VARIABLE)
		return "it takes any number of arguments";
	metadata_type_name(asked->metadata, metadata_method_type(asked->metadata, asked->rid),
			   &asked->owner);
	if (name)
		read_args(asked, name);
	else if (method_desc && dotnet->jit)
		read_args_of_desc(dotnet, asked, method_desc);
	if (metadata_method_is_generic(asked->metadata, asked->rid) && !asked->type_args.count &&
	    !asked->method_args.count)
		return "it is generic, and which instantiation it is of is not known";
	signature_init(&asked->signature, cursor_over(bytes), asked->metadata);
	asked->signature.type_args = &asked->type_args;
	asked->signature.method_args = &asked->method_args;
	if (!signature_begin_method(&asked->signature, &asked->params))
		return "its signature is damaged";
	return asked->params <= PARAMS_MAX ? NULL : "it has too many parameters";
}

/* The next type of the signature. */
static const struct value_type *next_type(struct type_maker *maker, struct asked *asked)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	signature_add_type(&asked->signature, SIGNATURE_CLR, &name);
	if (!text_ok(&name))
		maker->no_memory = true;
	if (asked->signature.damaged || asked->signature.unnamed)
		return value_types_unknown(maker->types, "?", 0, "its signature is damaged");
	return type_maker_named(maker, text_chars(&name));
}

static const struct value_type *this_type(struct type_maker *maker, struct asked *asked)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	text_add(&name, text_chars(&asked->owner));
	if (asked->type_args.count) {
		text_add_char(&name, '[');
		signature_args_spell(&asked->type_args, ",", &name);
		text_add_char(&name, ']');
	}
	if (asked->of_value)
		text_add_char(&name, '&');
	return type_maker_named(maker, text_chars(&name));
}

static const char *parameter_name(struct type_maker *maker, const struct asked *asked, uint32_t i,
				  uint16_t *flags)
{
	const char *name = metadata_param_name(asked->metadata, asked->rid, i + 1, flags);
	char number[16];

	if (*name)
		return value_types_name(maker->types, name);
	snprintf(number, sizeof(number), "arg%u", i);
	return value_types_name(maker->types, number);
}

static bool place(struct type_maker *maker, struct places *places, struct value_slot *slot)
{
	bool lost = places->lost;

	maker->no_memory |= !slot->type || !slot->name;
	if (maker->no_memory)
		return false;
	if (!places_take(places, slot) && (lost || slot->type->kind != VALUE_UNKNOWN))
		slot->type = value_types_unknown(
			maker->types, slot->type->name, 0,
			lost ? "it stands behind a parameter whose size is not known" :
			       "it is not known where it is passed");
	maker->no_memory |= !slot->type;
	return !maker->no_memory;
}

/* A MethodTable or, for a method with arguments of its own, a MethodDesc. */
static bool place_context(struct type_maker *maker, const struct asked *asked,
			  struct places *places, struct value_signature *signature)
{
	struct value_slot *context = &signature->context;

	context->type = type_maker_named(maker, "System.UIntPtr");
	if (!context->type)
		return false;
	if (!places_take(places, context))
		return true;
	if (asked->method_args.count)
		signature->context_is = VALUE_CONTEXT_METHOD;
	else
		signature->context_is = asked->has_this ? VALUE_CONTEXT_THIS : VALUE_CONTEXT_TYPE;
	return true;
}

/* `this` is passed first, then what the compiler adds, then what the source has. */
static bool read_slots(struct type_maker *maker, struct asked *asked, struct places *places,
		       struct value_signature *signature)
{
	struct value_slot *slots = signature->arguments;

	signature->result.type = next_type(maker, asked);
	if (!signature->result.type)
		return false;
	if (asked->has_this) {
		slots->name = "this";
		slots->type = this_type(maker, asked);
		signature->argument_count = 1;
		if (!place(maker, places, slots))
			return false;
		slots++;
	}
	/* One that is of an unknown size may be in a buffer. */
	if (!places_of_result(places, &signature->result))
		places->lost = signature->result.type->kind == VALUE_UNKNOWN;
	else if (places_in_buffer(places, signature->result.type))
		convention_skip(&places->taken);
	/* Which instantiation it is, where the code is shared and `this` does not tell. */
	if (asked->shared && (asked->method_args.count || !asked->has_this || asked->of_value) &&
	    !place_context(maker, asked, places, signature))
		return false;
	for (uint32_t i = 0; i < asked->params; i++) {
		uint16_t flags;

		slots[i].name = parameter_name(maker, asked, i, &flags);
		slots[i].type = next_type(maker, asked);
		signature->argument_count++;
		if (!place(maker, places, &slots[i]))
			return false;
		slots[i].out = slots[i].type->kind == VALUE_REFERENCE && flags & PARAM_OUT &&
			       !(flags & PARAM_IN);
	}
	return true;
}

static int begin(struct dotnet *dotnet, struct type_maker *maker, struct value_types *types)
{
	if (!dotnet->types)
		dotnet->types = type_index_create(&dotnet->images, &dotnet->jit);
	*maker = (struct type_maker){
		.index = dotnet->types,
		.jit = dotnet->jit,
		.types = types,
	};
	if (!dotnet->types)
		return -ENOMEM;
	/* The target's memory may have changed. */
	if (dotnet->jit)
		memory_forget(dotnet->jit->clr.memory);
	return 0;
}

int dotnet_signature(struct runtime *runtime, const struct method_id *id, uint64_t method_desc,
		     const char *name, struct value_types *types, struct value_signature *signature)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	_cleanup_(asked_deinit) struct asked asked = { 0 };
	struct places places = places_begin(dotnet->about.major <= EMPTY_ON_STACK_LAST);
	struct type_maker maker;

	*signature = (struct value_signature){ .why = "the target is not run by .NET" };
	if (!dotnet->managed)
		return 0;
	if (begin(dotnet, &maker, types))
		return -ENOMEM;
	signature->why = ask(dotnet, &asked, id, method_desc, name);
	if (signature->why)
		return 0;
	maker.near = asked.metadata;
	asked.of_value = type_maker_is_value(&maker, text_chars(&asked.owner), asked.owner.length);
	signature->arguments =
		value_types_take(types, (asked.params + 1) * sizeof(*signature->arguments));
	if (!signature->arguments || !read_slots(&maker, &asked, &places, signature))
		return -ENOMEM;
	signature->incomplete = maker.incomplete;
	return 0;
}

/* What is called is either the method's code or, as long as that may change, what leads there. */
static uint64_t method_of_code(struct jit *jit, uint64_t code)
{
	struct look look = look_into(jit->clr.memory);
	const char *stub = jit_stub_name(jit, (struct address){ code });
	uint8_t bytes[PRECODE_BYTES];
	uint64_t slot, desc;

	if (!stub || strcmp(stub, "FixupPrecode") != 0)
		return 0;
	look_copy(&look, code, bytes, sizeof(bytes));
	if (look.bad || !precode_method_slot((struct span){ bytes, sizeof(bytes) }, code, &slot))
		return 0;
	desc = look_u64(&look, slot);
	return look.bad ? 0 : desc;
}

bool dotnet_context_name(struct runtime *runtime, uint64_t handle, bool is_method, struct text *out)
{
	struct jit *jit = ((struct dotnet *)runtime)->jit;
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	struct clr_method method;

	if (!jit)
		return false;
	jit_recheck_begin(jit);
	if (!is_method) {
		if (!clr_type_find(&jit->types_now, handle))
			return false;
		clr_type_add_name(&jit->types_now, handle, out);
		return true;
	}
	if (!jit_name_desc(jit, handle, &name, &method) &&
	    !jit_name_desc(jit, method_of_code(jit, handle), &name, &method))
		return false;
	method_name_spell(&name, out);
	return true;
}

const struct value_type *dotnet_object_type(struct runtime *runtime, uint64_t handle,
					    struct value_types *types)
{
	struct dotnet *dotnet = (struct dotnet *)runtime;
	struct type_maker maker;

	/* Many have been asked for before; of those nothing is read. */
	const struct value_type *known = value_types_find(types, handle);

	if (known || !dotnet->jit || begin(dotnet, &maker, types))
		return known;
	return type_maker_object(&maker, handle);
}

bool dotnet_base_type(struct runtime *runtime, uint64_t handle, uint64_t *base)
{
	struct jit *jit = ((struct dotnet *)runtime)->jit;
	struct clr_shape shape;

	if (!jit)
		return false;
	jit_recheck_begin(jit);
	if (!clr_shape_read(&jit->clr, handle, &shape))
		return false;
	*base = shape.parent;
	return true;
}
