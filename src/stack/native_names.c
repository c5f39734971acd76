// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/native_names.h"

#include <stdlib.h>
#include <string.h>

#include "image/elf.h"
#include "runtime/native/symbols.h"
#include "session/resolve.h"
#include "target/memory.h"

enum { VDSO_MAX_BYTES = 64 << 10 };

struct native_names {
	struct resolution *resolution;
	uint8_t *vdso; /* a copy; NULL: it could not be read */
	size_t vdso_size;
	struct address vdso_start;
	struct native_symbols *vdso_functions;
};

/* It is in no file. The target may have exited when its first frame is looked at: so beforehand. */
static void read_vdso(struct native_names *names)
{
	const struct maps *maps = resolution_maps(names->resolution);
	const struct mapping *row = NULL;
	struct look look;

	for (size_t i = 0; i < maps->count && !row; i++) {
		if (strcmp(maps->rows[i].path, VDSO_PATH) == 0)
			row = &maps->rows[i];
	}
	if (!row || !names->resolution->memory ||
	    row->end.value - row->start.value > VDSO_MAX_BYTES)
		return;
	names->vdso_size = (size_t)(row->end.value - row->start.value);
	names->vdso_start = row->start;
	/* With a zero, so that a string at the end ends. */
	names->vdso = calloc(1, names->vdso_size + 1);
	if (!names->vdso)
		return;
	look = look_into(names->resolution->memory);
	look_copy_once(&look, row->start.value, names->vdso, names->vdso_size);
	if (look.bad || native_symbols_create(&names->vdso_functions,
					      (struct span){ names->vdso, names->vdso_size }, NULL))
		names->vdso_functions = NULL;
}

struct native_names *native_names_create(struct resolution *resolution)
{
	struct native_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->resolution = resolution;
	read_vdso(names);
	return names;
}

void native_names_destroy(struct native_names *names)
{
	if (!names)
		return;
	native_symbols_destroy(names->vdso_functions);
	free(names->vdso);
	free(names);
}

static const struct native_symbol *find(const struct native_symbols *functions, uint64_t address,
					uint64_t *offset)
{
	const struct native_symbol *symbol =
		functions ? native_symbols_find(functions, address) : NULL;

	if (symbol)
		*offset = address - symbol->begin;
	return symbol;
}

const struct native_symbol *native_names_in_file(struct native_names *names,
						 const struct target_file *file, size_t number,
						 const struct mapping *row, struct address address,
						 uint64_t *offset)
{
	struct elf elf;
	uint64_t bias;

	if (!elf_init(&elf, file->bytes) || !elf_load_bias(&elf, row->offset, row->start, &bias))
		return NULL;
	return find(resolution_functions(names->resolution, number, file), address.value - bias,
		    offset);
}

const struct native_symbol *native_names_in_vdso(struct native_names *names, struct address start,
						 struct address address, uint64_t *offset)
{
	struct elf elf;
	uint64_t bias;

	/* An exec maps another one; this is that of the program as it was. */
	if (!names->vdso || start.value != names->vdso_start.value ||
	    !elf_init(&elf, (struct span){ names->vdso, names->vdso_size }) ||
	    !elf_load_bias(&elf, (struct file_offset){ 0 }, start, &bias))
		return NULL;
	return find(names->vdso_functions, address.value - bias, offset);
}
