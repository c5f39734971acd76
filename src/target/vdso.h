/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that the kernel maps into each process, and that is in no file: a copy of it, which the
 * unwinder's rows and the names of frames are made from.
 */
#ifndef TARGET_VDSO_H
#define TARGET_VDSO_H

#include "image/elf.h"

struct maps;
struct memory;

/* As /proc/PID/maps has it in place of a path. */
#define VDSO_PATH "[vdso]"

struct vdso {
	struct span bytes;    /* none: there is none, or it could not be read */
	struct address start; /* in the target */
};

/* @memory may be NULL; then there is none. */
void vdso_read(struct vdso *vdso, const struct maps *maps, struct memory *memory);
void vdso_deinit(struct vdso *vdso);

/* It as an ELF file, and how far it is loaded from where it was linked; false if there is none. */
bool vdso_elf(const struct vdso *vdso, struct elf *elf, uint64_t *bias);

#endif
