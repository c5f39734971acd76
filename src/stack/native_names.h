/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function that an address of the target's native code is in: code of its files, and of the vdso. */
#ifndef STACK_NATIVE_NAMES_H
#define STACK_NATIVE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "image/space.h"

struct mapping;
struct native_names;
struct native_symbol;
struct resolution;
struct target_file;

/* How the kernel lists the code that it maps into each process. */
#define VDSO_PATH "[vdso]"

/* @resolution must outlive the result. NULL for want of memory. */
struct native_names *native_names_create(struct resolution *resolution);
void native_names_destroy(struct native_names *names);

/*
 * The function at @address of @file, number @number of the resolution's, which @row maps; NULL if it is not
 * known. @offset is how far from its beginning.
 */
const struct native_symbol *native_names_in_file(struct native_names *names,
						 const struct target_file *file, size_t number,
						 const struct mapping *row, struct address address,
						 uint64_t *offset);

/* The same of the vdso, mapped at @start. */
const struct native_symbol *native_names_in_vdso(struct native_names *names, struct address start,
						 struct address address, uint64_t *offset);

#endif
