/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which method of the metadata a compiler-made one belongs to: the async method or iterator
 * of a state machine, the method around a lambda or local function.
 */
#ifndef RUNTIME_DOTNET_SOURCE_METHOD_H
#define RUNTIME_DOTNET_SOURCE_METHOD_H

#include "runtime/dotnet/metadata.h"
#include "method/source_name.h"

struct source_methods {
	const struct metadata *metadata;
	const struct source_name *source;
	const char *made_type; /* short name of the type that @source was parsed from */
	uint32_t type_rid;     /* the type in the source */
	uint32_t next;
	uint32_t end;
};

/*
 * Walk the methods that may be the source of a method of TypeDef @made_rid, for which
 * source_name_parse() gave @source: exactly one where the compiler left an attribute
 * (StateMachineAttribute), else all overloads of the name.
 */
void source_methods_begin(struct source_methods *methods, const struct metadata *metadata,
			  uint32_t made_rid, const struct source_name *source);

/* The next MethodDef, or 0. */
uint32_t source_methods_next(struct source_methods *methods);

#endif
