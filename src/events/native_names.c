// SPDX-License-Identifier: GPL-2.0-or-later
#include "events/native_names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "image/elf.h"
#include "native/debug_file.h"
#include "native/symbols.h"
#include "resolve.h"
#include "target/debug_files.h"
#include "target/memory.h"

enum { VDSO_MAX_BYTES = 64 << 10 };

/* Those of one file of the resolution's. */
struct file_names {
	size_t file;			  /* its number */
	struct native_symbols *functions; /* NULL: there are none */
	struct span debug;		  /* the debug file that they are from, if it is one */
};

struct native_names {
	struct resolution *resolution;
	void *files;   /* of struct file_names, <search.h> */
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

static void file_names_destroy(void *node)
{
	struct file_names *names = node;

	native_symbols_destroy(names->functions);
	if (names->debug.start)
		target_bytes_unmap(names->debug);
	free(names);
}

void native_names_destroy(struct native_names *names)
{
	if (!names)
		return;
	tdestroy(names->files, file_names_destroy);
	native_symbols_destroy(names->vdso_functions);
	free(names->vdso);
	free(names);
}

static int by_file(const void *left, const void *right)
{
	const struct file_names *a = left, *b = right;

	return a->file < b->file ? -1 : a->file > b->file;
}

/* A file that was stripped may have a debug file, which knows more. */
static void read_debug_file(struct native_names *names, const struct target_file *file,
			    struct file_names *of_file)
{
	struct native_symbols *functions = NULL;
	struct span debug;
	uint64_t shift;

	if (!target_debug_file_open(&names->resolution->process, file->path, file->bytes, &debug))
		return;
	if (debug_file_shift(file->bytes, debug, &shift) &&
	    native_symbols_create_from_debug(&functions, debug, shift, NULL) == 0 &&
	    native_symbols_complete(functions)) {
		native_symbols_destroy(of_file->functions);
		of_file->functions = functions;
		of_file->debug = debug;
		return;
	}
	native_symbols_destroy(functions);
	target_bytes_unmap(debug);
}

/* Read when the first frame of the file comes by, and once. NULL if it has none. */
static const struct native_symbols *functions_of(struct native_names *names, size_t number,
						 const struct target_file *file)
{
	struct file_names key = { .file = number }, *of_file;
	struct file_names **node = tsearch(&key, &names->files, by_file);

	if (!node)
		return NULL;
	if (*node != &key)
		return (*node)->functions;
	of_file = calloc(1, sizeof(*of_file));
	if (!of_file) {
		tdelete(&key, &names->files, by_file);
		return NULL;
	}
	of_file->file = number;
	*node = of_file;
	if (native_symbols_create(&of_file->functions, file->bytes, NULL))
		of_file->functions = NULL;
	else if (!native_symbols_complete(of_file->functions))
		read_debug_file(names, file, of_file);
	return of_file->functions;
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
	return find(functions_of(names, number, file), address.value - bias, offset);
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
