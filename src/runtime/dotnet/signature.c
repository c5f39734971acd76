// SPDX-License-Identifier: GPL-2.0-or-later
/* From the bytes of a signature to spelled types: a part of each method's name. */
#include "runtime/dotnet/signature.h"

#include <string.h>

#include "runtime/dotnet/metadata.h"

enum {
	MAX_DEPTH = 64,
	MAX_TYPES = 1024, /* also keeps a thousand methods with one long signature cheap */
	MAX_TEXT_BYTES = 16384,
	MAX_ARRAY_RANK = 32, /* the runtime's own limit */
	POINTER_BYTES = 8,   /* of a handle in a signature that the runtime keeps */

	/* Calling convention byte of a method signature. */
	CONVENTION_MASK = 0x0f,
	CONVENTION_FIELD = 0x06, /* this and what follows are no methods, but for: */
	CONVENTION_UNMANAGED = 0x09,
	CONVENTION_GENERIC = 0x10,

	TOKEN_TAG_MASK = 3,
	TOKEN_TAG_BITS = 2,
	TOKEN_TYPE_DEF = 0,
	TOKEN_TYPE_REF = 1,
	TOKEN_TYPE_SPEC = 2,
};

enum element {
	ELEMENT_VOID = 0x01,
	ELEMENT_STRING = 0x0e,
	ELEMENT_POINTER = 0x0f,
	ELEMENT_BYREF = 0x10,
	ELEMENT_VALUE_TYPE = 0x11,
	ELEMENT_CLASS = 0x12,
	ELEMENT_TYPE_PARAM = 0x13,
	ELEMENT_ARRAY = 0x14,
	ELEMENT_GENERIC = 0x15,
	ELEMENT_TYPED_REFERENCE = 0x16,
	ELEMENT_NINT = 0x18,
	ELEMENT_NUINT = 0x19,
	ELEMENT_FUNCTION = 0x1b,
	ELEMENT_OBJECT = 0x1c,
	ELEMENT_VECTOR = 0x1d,
	ELEMENT_METHOD_PARAM = 0x1e,
	ELEMENT_MODREQ = 0x1f,
	ELEMENT_MODOPT = 0x20,
	ELEMENT_INTERNAL = 0x21,
	ELEMENT_MOD_INTERNAL = 0x22,
	ELEMENT_VAR_ZAPSIG = 0x3b,
	ELEMENT_NATIVE_ARRAY = 0x3c,
	ELEMENT_NATIVE_VALUE_TYPE = 0x3d,
	ELEMENT_CANON = 0x3e,
	ELEMENT_MODULE = 0x3f,
	ELEMENT_SENTINEL = 0x41,
	ELEMENT_PINNED = 0x45,
	PRIMITIVES = ELEMENT_OBJECT + 1,
};

/* Types with an element number of their own, in both styles. */
static const char *const primitives[PRIMITIVES][2] = {
	[ELEMENT_VOID] = { "void", "System.Void" },
	[0x02] = { "bool", "System.Boolean" },
	[0x03] = { "char", "System.Char" },
	[0x04] = { "int8", "System.SByte" },
	[0x05] = { "uint8", "System.Byte" },
	[0x06] = { "int16", "System.Int16" },
	[0x07] = { "uint16", "System.UInt16" },
	[0x08] = { "int32", "System.Int32" },
	[0x09] = { "uint32", "System.UInt32" },
	[0x0a] = { "int64", "System.Int64" },
	[0x0b] = { "uint64", "System.UInt64" },
	[0x0c] = { "float32", "System.Single" },
	[0x0d] = { "float64", "System.Double" },
	[ELEMENT_STRING] = { "string", "System.String" },
	[ELEMENT_TYPED_REFERENCE] = { "typedref", "System.TypedReference" },
	[ELEMENT_NINT] = { "nint", "System.IntPtr" },
	[ELEMENT_NUINT] = { "nuint", "System.UIntPtr" },
	[ELEMENT_OBJECT] = { "object", "System.Object" },
};

void signature_init(struct signature *s, struct cursor at, const struct metadata *metadata)
{
	*s = (struct signature){
		.at = at,
		.metadata = metadata,
		.separator = ",",
		.function_open = "(*)(",
		.types_left = MAX_TYPES,
		.damaged = !cursor_ok(&at),
	};
}

/* @out is NULL where a type is only skipped. */
static void add(struct text *out, const char *chars)
{
	if (out)
		text_add(out, chars);
}

static void damage(struct signature *s, struct text *out)
{
	s->damaged = true;
	add(out, "?");
}

static const char *primitive_name(uint8_t element, enum signature_style style)
{
	return element < PRIMITIVES ? primitives[element][style] : NULL;
}

static void walk_token(struct signature *s, enum signature_style style, struct text *out)
{
	uint32_t token = metadata_compressed(&s->at);
	uint32_t rid = token >> TOKEN_TAG_BITS;
	const struct cursor resume = s->at;

	if (!s->metadata) {
		s->unnamed = true;
		add(out, "?");
		return;
	}
	switch (token & TOKEN_TAG_MASK) {
	case TOKEN_TYPE_DEF:
		if (out)
			metadata_type_name(s->metadata, rid, out);
		break;
	case TOKEN_TYPE_REF:
		if (out)
			metadata_type_ref_name(s->metadata, rid, out);
		break;
	case TOKEN_TYPE_SPEC: /* its signature lies in a heap of its own */
		s->at = cursor_over(metadata_type_spec_signature(s->metadata, rid));
		signature_add_type(s, style, out);
		s->at = resume;
		break;
	default:
		damage(s, out);
	}
}

/* A generic parameter: its argument if that is known, else !n or !!n. */
static void walk_param(struct signature *s, const char *prefix, const struct signature_args *args,
		       struct text *out)
{
	uint32_t index = metadata_compressed(&s->at);

	if (!out)
		return;
	if (args && index < args->count) {
		size_t start = index ? args->ends[index - 1] : 0;

		text_add_bytes(out, text_chars(&args->chars) + start, args->ends[index] - start);
	} else {
		text_printf(out, "%s%u", prefix, index);
	}
}

/* "[,]"; the sizes and lower bounds a signature may have are no part of a name. */
static void walk_array(struct signature *s, enum signature_style style, struct text *out)
{
	uint32_t rank, count;

	signature_add_type(s, style, out);
	rank = metadata_compressed(&s->at);
	for (unsigned int list = 0; list < 2; list++) {
		count = metadata_compressed(&s->at);
		for (uint32_t i = 0; i < count && i < MAX_ARRAY_RANK; i++)
			(void)metadata_compressed(&s->at);
	}
	if (rank == 0 || rank > MAX_ARRAY_RANK) {
		damage(s, out);
		return;
	}
	add(out, rank == 1 ? "[*" : "[");
	for (uint32_t i = 1; i < rank; i++)
		add(out, ",");
	add(out, "]");
}

void signature_add_params(struct signature *s, uint32_t params, enum signature_style style,
			  struct text *out)
{
	for (uint32_t i = 0; i < params && !s->damaged; i++) {
		if (i > 0)
			add(out, s->separator);
		signature_add_type(s, style, out);
	}
}

static void walk_generic(struct signature *s, struct text *out)
{
	uint32_t count;

	signature_add_type(s, SIGNATURE_CLR, out);
	count = metadata_compressed(&s->at);
	add(out, "[");
	signature_add_params(s, count, SIGNATURE_CLR, out);
	add(out, "]");
}

static void walk_function(struct signature *s, enum signature_style style, struct text *out)
{
	uint32_t params;

	if (!signature_begin_method(s, &params)) {
		damage(s, out);
		return;
	}
	signature_add_type(s, style, out);
	add(out, s->function_open);
	signature_add_params(s, params, style, out);
	add(out, ")");
}

/* What follows is in the words of another module. */
static void walk_module(struct signature *s, enum signature_style style, struct text *out)
{
	const struct metadata *resume = s->metadata;
	uint32_t index = metadata_compressed(&s->at);

	s->metadata = s->module ? s->module(s->module_ctx, index) : NULL;
	signature_add_type(s, style, out);
	s->metadata = resume;
}

static void walk_internal(struct signature *s, enum signature_style style, struct text *out)
{
	uint64_t handle = cursor_u64(&s->at);

	if (!s->internal) {
		s->unnamed = true;
		add(out, "?");
	} else if (out) {
		s->internal(s->internal_ctx, handle, style, out);
	}
}

/* Elements that stand before a type and do not show in its name. */
static bool skip_prefix(struct signature *s, uint8_t element)
{
	if (s->types_left == 0)
		return false;
	switch (element) {
	case ELEMENT_MODREQ:
	case ELEMENT_MODOPT:
		(void)metadata_compressed(&s->at);
		return true;
	case ELEMENT_MOD_INTERNAL:
		cursor_skip(&s->at, 1 + POINTER_BYTES);
		return true;
	case ELEMENT_NATIVE_ARRAY:
	case ELEMENT_NATIVE_VALUE_TYPE:
	case ELEMENT_SENTINEL:
	case ELEMENT_PINNED:
		return true;
	default:
		return false;
	}
}

static void walk_element(struct signature *s, uint8_t element, enum signature_style style,
			 struct text *out)
{
	switch (element) {
	case ELEMENT_POINTER:
	case ELEMENT_BYREF:
	case ELEMENT_VECTOR:
		signature_add_type(s, style, out);
		add(out, element == ELEMENT_POINTER ? "*" : element == ELEMENT_BYREF ? "&" : "[]");
		break;
	case ELEMENT_VALUE_TYPE:
	case ELEMENT_CLASS:
		walk_token(s, style, out);
		break;
	case ELEMENT_TYPE_PARAM:
		walk_param(s, "!", s->type_args, out);
		break;
	case ELEMENT_METHOD_PARAM:
		walk_param(s, "!!", s->method_args, out);
		break;
	case ELEMENT_ARRAY:
		walk_array(s, style, out);
		break;
	case ELEMENT_GENERIC:
		walk_generic(s, out);
		break;
	case ELEMENT_FUNCTION:
		walk_function(s, style, out);
		break;
	case ELEMENT_CANON:
		add(out, "System.__Canon");
		break;
	case ELEMENT_MODULE:
		walk_module(s, style, out);
		break;
	case ELEMENT_VAR_ZAPSIG: /* names a GenericParam row; cannot be told from here */
		(void)metadata_compressed(&s->at);
		add(out, "?");
		break;
	case ELEMENT_INTERNAL:
		walk_internal(s, style, out);
		break;
	default:
		damage(s, out);
	}
}

void signature_add_type(struct signature *s, enum signature_style style, struct text *out)
{
	const char *name;
	uint8_t element;

	if (s->damaged || s->types_left == 0 || s->depth == MAX_DEPTH ||
	    (out && out->length > MAX_TEXT_BYTES)) {
		damage(s, out);
		return;
	}
	do {
		s->types_left--;
		element = cursor_left(&s->at) > 0 ? *s->at.pos++ : cursor_u8(&s->at);
	} while (skip_prefix(s, element) && cursor_ok(&s->at));

	name = primitive_name(element, style);
	if (name) {
		add(out, name);
	} else {
		s->depth++;
		walk_element(s, element, style, out);
		s->depth--;
	}
	s->damaged |= !cursor_ok(&s->at);
}

void signature_skip_type(struct signature *s)
{
	signature_add_type(s, SIGNATURE_CLR, NULL);
}

bool signature_at_reference(const struct signature *s)
{
	struct cursor c = s->at;

	switch (cursor_u8(&c)) {
	case ELEMENT_STRING:
	case ELEMENT_CLASS:
	case ELEMENT_ARRAY:
	case ELEMENT_OBJECT:
	case ELEMENT_VECTOR:
		return cursor_ok(&c);
	default:
		return false;
	}
}

bool signature_begin_method(struct signature *s, uint32_t *params)
{
	uint8_t convention = cursor_u8(&s->at);
	uint8_t kind = convention & CONVENTION_MASK;

	if (convention & CONVENTION_GENERIC)
		(void)metadata_compressed(&s->at);
	*params = metadata_compressed(&s->at);
	s->damaged |=
		(kind >= CONVENTION_FIELD && kind != CONVENTION_UNMANAGED) || !cursor_ok(&s->at);
	return !s->damaged;
}

bool signature_add_method_params(struct signature *s, struct text *out)
{
	uint32_t params;

	if (!signature_begin_method(s, &params))
		return false;
	signature_skip_type(s); /* what it returns */
	signature_add_params(s, params, SIGNATURE_IL, out);
	return true;
}

void signature_spell_params(const struct metadata *metadata, uint32_t method_rid, struct text *out)
{
	struct signature signature;

	text_clear(out);
	signature_init(&signature, cursor_over(metadata_method_signature(metadata, method_rid)),
		       metadata);
	if (!signature_add_method_params(&signature, out))
		text_add_char(out, '?');
}

void signature_begin_owner(struct signature *s, struct signature_owner *owner)
{
	bool generic = false;
	uint8_t element;
	uint32_t token;

	*owner = (struct signature_owner){ .metadata = s->metadata };
	element = cursor_u8(&s->at);
	while (cursor_ok(&s->at) && s->types_left > 0) {
		s->types_left--;
		if (element == ELEMENT_MODULE) {
			owner->module = metadata_compressed(&s->at);
			s->metadata = s->module ? s->module(s->module_ctx, owner->module) : NULL;
			owner->metadata = s->metadata;
		} else if (element == ELEMENT_GENERIC && !generic) {
			generic = true;
		} else if (!skip_prefix(s, element)) {
			break;
		}
		element = cursor_u8(&s->at);
	}

	if (element == ELEMENT_CLASS || element == ELEMENT_VALUE_TYPE) {
		token = metadata_compressed(&s->at);
		if ((token & TOKEN_TAG_MASK) == TOKEN_TYPE_DEF)
			owner->type_rid = token >> TOKEN_TAG_BITS;
		else if ((token & TOKEN_TAG_MASK) == TOKEN_TYPE_REF)
			owner->type_ref_rid = token >> TOKEN_TAG_BITS;
		else
			s->damaged = true;
	} else if (primitive_name(element, SIGNATURE_CLR)) {
		owner->primitive = element;
	} else {
		s->damaged = true;
	}
	if (generic)
		owner->arg_count = metadata_compressed(&s->at);
	s->damaged |= !cursor_ok(&s->at);
}

void signature_add_owner(struct signature *s, const struct signature_owner *owner, struct text *out)
{
	if (owner->primitive) {
		text_add(out, primitive_name(owner->primitive, SIGNATURE_CLR));
	} else if (owner->metadata && owner->type_rid) {
		metadata_type_name(owner->metadata, owner->type_rid, out);
	} else if (owner->metadata && owner->type_ref_rid) {
		metadata_type_ref_name(owner->metadata, owner->type_ref_rid, out);
	} else {
		s->unnamed = true;
		text_add_char(out, '?');
	}
}

void signature_read_args(struct signature *s, uint32_t count, struct signature_args *args)
{
	for (uint32_t i = 0; i < count && !s->damaged; i++) {
		if (args->count == SIGNATURE_MAX_ARGS) {
			signature_skip_type(s);
			continue;
		}
		signature_add_type(s, SIGNATURE_CLR, &args->chars);
		args->ends[args->count++] = args->chars.length;
	}
}

void signature_args_deinit(struct signature_args *args)
{
	text_deinit(&args->chars);
	args->count = 0;
}

void signature_args_spell(const struct signature_args *args, const char *separator,
			  struct text *out)
{
	size_t start = 0;

	for (uint32_t i = 0; i < args->count; i++) {
		if (i > 0)
			text_add(out, separator);
		text_add_bytes(out, text_chars(&args->chars) + start, args->ends[i] - start);
		start = args->ends[i];
	}
}
