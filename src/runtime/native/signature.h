/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a native function is given and gives back, by its debug information, and where that is by
 * the calling convention: for native.c.
 */
#ifndef RUNTIME_NATIVE_SIGNATURE_H
#define RUNTIME_NATIVE_SIGNATURE_H

#include <stdint.h>

struct native_lines;
struct value_signature;
struct value_types;

/*
 * Of the function at @address, as linked, which its symbol calls @name (NULL: it has none). What
 * cannot be told says why. -ENOMEM.
 */
int native_signature(struct native_lines *lines, uint64_t address, const char *name,
		     struct value_types *types, struct value_signature *signature);

#endif
