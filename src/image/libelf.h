/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libelf over the bytes of a file that are at hand, for what elf.h does not read by itself. */
#ifndef IMAGE_LIBELF_H
#define IMAGE_LIBELF_H

#include <gelf.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "image/cursor.h"

CLEANUP_POINTER(elf_end, Elf)

/* NULL if it is no ELF file. Ends with elf_end(). */
static inline Elf *libelf_over(struct span file)
{
	/* libelf does not write to what it is given here, it only lacks the const. */
	return elf_version(EV_CURRENT) == EV_NONE ?
		       NULL :
		       elf_memory((char *)(uintptr_t)file.start, file.size);
}

#endif
