/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF unwinder goes by: the rows of every image that the target has mapped, made once for
 * each, and which code of the target they are for.
 */
#ifndef UNWIND_TABLES_H
#define UNWIND_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct dotnet_images;
struct error;
struct jit;
struct maps;
struct memory;
struct target_files;
struct unwind_tables;

/* What came of it, for people. */
struct unwind_tables_counts {
	size_t images;
	size_t rows;
	size_t without;	 /* images that say nothing of how to unwind them */
	size_t left_out; /* mappings of code that there was no room for, by the last read */
	uint64_t damaged;
	uint64_t unsupported;
};

/* -ENOMEM with @err set. */
int unwind_tables_create(struct unwind_tables **tables, struct error *err);
void unwind_tables_destroy(struct unwind_tables *tables);

/* What the target has. Files must stay open: by their inodes images are known again. */
struct unwind_sources {
	const struct maps *maps;
	const struct target_files *files;
	const struct dotnet_images *images; /* those in single-file executables; NULL: none */
	const struct jit *jit;		    /* the runtime, and images in memory; NULL: none */
	struct memory *memory;		    /* for the vdso; NULL: without it */
};

/*
 * Make rows for what has none yet, and note where everything is now. -ENOMEM with @err set; an
 * image that cannot be read is counted.
 */
int unwind_tables_read(struct unwind_tables *tables, const struct unwind_sources *sources,
		       struct error *err);

/* All rows, the frames that they number, and ranges by address. Valid until the next read. */
const struct unwind_row *unwind_tables_rows(const struct unwind_tables *tables, size_t *count);
const struct unwind_frame *unwind_tables_frames(const struct unwind_tables *tables, size_t *count);
const struct unwind_range *unwind_tables_ranges(const struct unwind_tables *tables, size_t *count);

/* What leaves the frames of code that is in no range. */
enum unwinder unwind_tables_elsewhere(const struct unwind_tables *tables);

/* Where the runtime keeps what it knows of its code. */
const struct unwind_runtime *unwind_tables_runtime(const struct unwind_tables *tables);

struct unwind_tables_counts unwind_tables_counts(const struct unwind_tables *tables);

#endif
