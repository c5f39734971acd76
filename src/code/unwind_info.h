/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How .NET code is unwound, precompiled or not: the unwind information of each function, made into
 * unwind rows. Its form is the machine's, so each architecture reads it in a file that carries this
 * name (arch/x86_64/unwind_info_x86.c). It describes the prologue; an epilogue has no rows of its
 * own, since no call is made there.
 *
 * Source of the format on x86-64: Microsoft "x64 exception handling"; dotnet/runtime
 * src/coreclr/inc/win64unwind.h for what other systems have besides (UWOP_SET_FPREG_LARGE).
 */
#ifndef CODE_UNWIND_INFO_H
#define CODE_UNWIND_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/cursor.h"

struct error;
struct pe;
struct unwind_rows;

/* What came of it. */
struct unwind_info_counts {
	uint64_t functions;
	uint64_t damaged; /* functions that do not parse; their rows say unsupported */
};

/*
 * Add the rows of one function from @begin on. @info begins with its UNWIND_INFO and may go on
 * behind it. False if it does not parse: then there is one row, UNWIND_UNSUPPORTED. One that
 * continues another's (UNW_FLAG_CHAININFO) is not known from its own information alone: false too.
 */
bool unwind_info_rows(struct span info, uint32_t begin, struct unwind_rows *rows);

/*
 * How long the one at the beginning of @info is that the JIT has written behind a body, with all
 * that belongs to it. 0 if it does not parse.
 */
size_t unwind_info_bytes(struct span info);

/* The least that it can be. */
enum { UNWIND_INFO_LEAST_BYTES = 8 };

/*
 * Add the rows of all functions of @pe, by RVA, to @rows, which is empty. What lies between
 * functions is UNWIND_UNKNOWN. -ENOMEM with @err set.
 */
int unwind_info_image(const struct pe *pe, struct unwind_rows *rows,
		      struct unwind_info_counts *counts, struct error *err);

#endif
