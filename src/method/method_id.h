/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which method it is, by value: nothing in here points anywhere, so that it can be compared, kept
 * in a file and sent to another process. Made by the runtimes, held by the plan's sites.
 */
#ifndef METHOD_METHOD_ID_H
#define METHOD_METHOD_ID_H

#include <stdbool.h>
#include <stdint.h>

enum runtime_id {
	RUNTIME_NONE,
	RUNTIME_NATIVE, /* functions of ELF files */
	RUNTIME_DOTNET,
	RUNTIME_V8, /* names frames; its functions are not found yet */
};

/* May its methods be compiled anew while they run? */
static inline bool runtime_compiles(enum runtime_id id)
{
	return id > RUNTIME_NATIVE;
}

struct method_id {
	uint64_t module; /* which file or image, and which build of it; 0: not known */
	/* method_name_instantiation(): 0 if it is none, or which one is not known (yet). */
	uint64_t instantiation;
	uint32_t token; /* within the module, as the runtime has it; 0: not known */
	enum runtime_id runtime;
};

/* 0 if they are one. */
int method_id_order(const struct method_id *a, const struct method_id *b);

/*
 * The same of their definitions, whatever the instantiations: for what is known of a method by its
 * definition only, and where the instantiation of one may not be known yet.
 */
int method_id_definition_order(const struct method_id *a, const struct method_id *b);

/* What is known of a method beside its name; false where it is not known. */
struct method_traits {
	bool defined;	   /* its id is that of its definition, not of a reference to it */
	bool single;	   /* it is no instantiation of several */
	bool call_inlined; /* callers may contain it: a P/Invoke that they make themselves */
	bool may_inline;   /* the runtime's compiler may put it into its callers */
};

#endif
