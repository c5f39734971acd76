// SPDX-License-Identifier: GPL-2.0-or-later
/* A copy of the vdso, for names and unwind rows of native code. */
#include "target/vdso.h"

#include <stdlib.h>
#include <string.h>

#include "target/maps.h"
#include "target/memory.h"

enum { VDSO_MAX_BYTES = 64 << 10 };

static const struct mapping *find_row(const struct maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		if (strcmp(maps->rows[i].path, VDSO_PATH) == 0)
			return &maps->rows[i];
	}
	return NULL;
}

void vdso_read(struct vdso *vdso, const struct maps *maps, struct memory *memory)
{
	const struct mapping *row = find_row(maps);
	uint64_t size = row ? row->end.value - row->start.value : 0;
	struct look look = look_into(memory);
	uint8_t *bytes;

	*vdso = (struct vdso){ 0 };
	if (!memory || size == 0 || size > VDSO_MAX_BYTES)
		return;
	/* With a zero, so that a string at the end ends. */
	bytes = calloc(1, size + 1);
	if (!bytes)
		return;
	look_copy_once(&look, row->start.value, bytes, size);
	if (look.bad)
		free(bytes);
	else
		*vdso = (struct vdso){ { bytes, size }, row->start };
}

void vdso_deinit(struct vdso *vdso)
{
	free((void *)(uintptr_t)vdso->bytes.start);
	*vdso = (struct vdso){ 0 };
}

bool vdso_elf(const struct vdso *vdso, struct elf *elf, uint64_t *bias)
{
	return vdso->bytes.start && elf_init(elf, vdso->bytes) &&
	       elf_load_bias(elf, (struct file_offset){ 0 }, vdso->start, bias);
}
