/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signatures: the bytes that say which types a method takes, or which arguments
 * an instantiation has, turned into spelled names.
 *
 * Bytes that make no sense turn the signature damaged, which sticks, and are
 * spelled "?". Depth, number of types and length of the text are capped, so
 * that no signature can take long.
 *
 * Source of the format: ECMA-335 II.23.2; for ReadyToRun's additions dotnet/runtime
 * docs/design/coreclr/botr/readytorun-format.md and src/coreclr/inc/corhdr.h.
 */
#ifndef RUNTIME_DOTNET_SIGNATURE_H
#define RUNTIME_DOTNET_SIGNATURE_H

#include "image/cursor.h"
#include "base/text.h"

struct metadata;

enum signature_style {
	SIGNATURE_IL,  /* int32, string, object: as method_name.h spells parameters */
	SIGNATURE_CLR, /* System.Int32: as it spells arguments of generic types */
};

enum { SIGNATURE_MAX_ARGS = 64 };

/* Spelled arguments of a generic type or method, for what !n or !!n stands for. */
struct signature_args {
	struct text chars; /* all of them, one after the other */
	size_t ends[SIGNATURE_MAX_ARGS];
	uint32_t count;
};

struct signature {
	struct cursor at;
	const struct metadata *metadata; /* of tokens; if NULL they are spelled "?" */
	const char *separator;		 /* between arguments: "," unless changed */
	const char *function_open;	 /* "RETURN(*)(...)" unless changed */

	/* The metadata of another module of a ReadyToRun image. NULL: none is known. */
	const struct metadata *(*module)(const void *ctx, uint32_t index);
	const void *module_ctx;

	/* Appends the type of a handle, in signatures that the runtime keeps. NULL: becomes "?". */
	void (*internal)(const void *ctx, uint64_t handle, enum signature_style style,
			 struct text *out);
	const void *internal_ctx;

	/* What generic parameters stand for. NULL: they are spelled !n and !!n. */
	const struct signature_args *type_args;
	const struct signature_args *method_args;

	uint32_t types_left;
	unsigned int depth;
	bool damaged;
	bool unnamed; /* a type's metadata is not at hand, so it became "?" */
};

/* The type whose member a method is, without its arguments. */
struct signature_owner {
	const struct metadata *metadata; /* of the token below and of the method's own */
	uint32_t module;		 /* index in the image, 0 for its own */
	uint32_t type_rid;		 /* TypeDef, or 0 */
	uint32_t type_ref_rid;		 /* TypeRef, or 0 */
	uint32_t arg_count;
	uint8_t primitive; /* element type if it is one, e.g. string; or 0 */
};

/* A signature that begins at @at and whose tokens are those of @metadata (may be NULL). */
void signature_init(struct signature *s, struct cursor at, const struct metadata *metadata);

/* Append the spelling of the type that follows. */
void signature_add_type(struct signature *s, enum signature_style style, struct text *out);

void signature_skip_type(struct signature *s);

/* Is the type that follows one of references, which the collector tracks? */
bool signature_at_reference(const struct signature *s);

/*
 * Read the head of a method's signature; its return type follows, then @params types.
 * False if it is not a method's, or damaged.
 */
bool signature_begin_method(struct signature *s, uint32_t *params);

/* Append the @params types that follow. */
void signature_add_params(struct signature *s, uint32_t params, enum signature_style style,
			  struct text *out);

/* Append the parameters, in IL style, of the method whose signature follows; false as above. */
bool signature_add_method_params(struct signature *s, struct text *out);

/* Spell those of a MethodDef into @out, which is cleared first; "?" if they make no sense. */
void signature_spell_params(const struct metadata *metadata, uint32_t method_rid, struct text *out);

/*
 * Read the owner type of a method in a ReadyToRun signature up to its arguments,
 * of which owner->arg_count follow; they are in the context of owner->metadata.
 */
void signature_begin_owner(struct signature *s, struct signature_owner *owner);

/* Append the open name of @owner in CLR style. */
void signature_add_owner(struct signature *s, const struct signature_owner *owner,
			 struct text *out);

/* Read @count types as arguments; those beyond SIGNATURE_MAX_ARGS are only skipped. */
void signature_read_args(struct signature *s, uint32_t count, struct signature_args *args);
void signature_args_deinit(struct signature_args *args);

/* Append the arguments with @separator between them. */
void signature_args_spell(const struct signature_args *args, const char *separator,
			  struct text *out);

#endif
