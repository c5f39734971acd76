/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The build ID of an ELF file: what tells it from all others, also on another machine.
 *
 * Source of the format: GNU ld manual, --build-id; <elf.h> NT_GNU_BUILD_ID.
 */
#ifndef IMAGE_BUILD_ID_H
#define IMAGE_BUILD_ID_H

#include "image/cursor.h"

struct elf;

enum { BUILD_ID_MAX_BYTES = 64 };

/* Borrowed from the file's bytes; none: it has no such note, or one that makes no sense. */
struct span build_id_of(const struct elf *elf);

#endif
