/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A method's IL, as far as it decides how the JIT compiles it: methods beyond certain sizes are
 * never optimised, whatever tier they are compiled for.
 *
 * Source: dotnet/runtime src/coreclr/jit/compiler.cpp, compInitOptions() (DEFAULT_MIN_OPTS_*);
 * ECMA-335 II.25.4 for the format.
 */
#ifndef DOTNET_IL_H
#define DOTNET_IL_H

#include <stdint.h>

struct dotnet_image;

enum il_size_class {
	IL_SMALL,    /* below every limit */
	IL_HUGE,     /* above one */
	IL_NOT_SURE, /* it depends on more than was looked at, or it cannot be read */
};

enum il_size_class il_size_class(const struct dotnet_image *image, uint32_t method_rid);

#endif
