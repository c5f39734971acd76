/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .gnu_debugdata ("mini debug info"): a small ELF file, compressed by xz, in one that was stripped.
 * It has the names of functions that .dynsym has not.
 *
 * Source of the format: GDB manual, "Debugging information in a special section".
 */
#ifndef RUNTIME_NATIVE_DEBUG_DATA_H
#define RUNTIME_NATIVE_DEBUG_DATA_H

#include "image/cursor.h"

/* What is in @file's, at @bytes; to be freed. NULL: it has none that can be read. */
uint8_t *debug_data_unpack(struct span file, struct span *bytes);

#endif
