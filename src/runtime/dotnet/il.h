/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A method's IL, as far as it decides how the JIT compiles it: methods beyond certain sizes are
 * never optimised, whatever tier they are compiled for.
 *
 * Source: dotnet/runtime src/coreclr/jit/compiler.cpp, compSetOptimizationLevel() with the
 * DEFAULT_MIN_OPTS_* of compiler.h; ECMA-335 II.25.4 and III for the format.
 */
#ifndef RUNTIME_DOTNET_IL_H
#define RUNTIME_DOTNET_IL_H

#include <stdint.h>

#include "image/cursor.h"

struct dotnet_image;

enum il_size_class {
	IL_SMALL,    /* below every limit */
	IL_HUGE,     /* above one */
	IL_NOT_SURE, /* close to one, or it cannot be read */
};

/* Of a row of @image, whose code compiled at run time has @native_bytes. */
enum il_size_class il_size_class(const struct dotnet_image *image, uint32_t method_rid,
				 uint32_t native_bytes);

/* Of the IL itself, without its header. */
enum il_size_class il_code_size_class(struct span code, uint32_t locals);

#endif
