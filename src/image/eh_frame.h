/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions end, as the tables say that exceptions are unwound by. Every function of an
 * x86-64 file has a row there, also of a stripped one.
 *
 * Source of the format: Linux Standard Base Core 5.0, 10.6 (.eh_frame and .eh_frame_hdr).
 */
#ifndef IMAGE_EH_FRAME_H
#define IMAGE_EH_FRAME_H

#include "image/elf.h"

/*
 * The code of the function that begins at @address, as linked; none if there is no table, if it is
 * not as linkers write it on x86-64, or if no function begins there.
 */
struct span eh_frame_function(const struct elf *elf, uint64_t address);

/*
 * The code with an entry of its own that holds @address, and in @begin where it begins: a function,
 * or the part of one that the compiler has put elsewhere. None as above.
 */
struct span eh_frame_code(const struct elf *elf, uint64_t address, uint64_t *begin);

#endif
