/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a native function: as the linker has it, and as the source has it. */
#ifndef RUNTIME_NATIVE_NAME_H
#define RUNTIME_NATIVE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { NATIVE_NAME_FORMS = 5 };

/* All zero to begin with; may be used for one function after another. */
struct native_name {
	struct text shown; /* for people */
	/*
	 * What it may be asked for by: the symbol, that without its version ("@@GLIBC_2.34") and
	 * the marks of the compiler's copies (".constprop.0", ".isra.0"), and that demangled: with
	 * what it returns, without, and without parameters.
	 */
	char *forms[NATIVE_NAME_FORMS];
	size_t count;
};

/* Read the names of the function with @symbol. -ENOMEM. */
int native_name_read(struct native_name *name, const char *symbol);
void native_name_deinit(struct native_name *name);

/* Is it the seldom used part of a function, put elsewhere and reached by jumps? */
bool native_name_is_part(const char *symbol);

#endif
