// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of source of .NET methods: each image's Portable PDB, found when it is first needed, by the
 * id in the image: beside the image as the target sees it, in it, or in a directory of the user's.
 * Between frame_names.c, which asks for a line, and pdb.h, which reads what was found.
 */
#include "runtime/dotnet/dotnet_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/vector.h"
#include "runtime/dotnet/pdb.h"
#include "runtime/frame.h"
#include "target/files.h"
#include "target/target.h"

enum {
	PDBS_MAX = 1024, /* that are open at a time */
	PDB_MAX_BYTES = 1 << 28,
	UNPACKED_MAX_BYTES = 1 << 28, /* of all that come out of images */
};

/* An image's PDB, if there is one. */
struct pdb {
	const struct dotnet_image *image;
	struct metadata *metadata; /* NULL: none was found */
	struct span file;	   /* that is mapped; or else: */
	uint8_t *unpacked;
};

struct dotnet_lines {
	struct dotnet *dotnet;
	struct pdb *pdbs; /* one of each image that was asked for */
	size_t count;
	size_t capacity;
	size_t open;
	size_t unpacked_bytes;
	struct text source;
};

/* A PDB that is looked for. */
struct search {
	struct pdb *pdb;
	struct pdb_link link;
	struct text places; /* where it is not, for people */
};

struct dotnet_lines *dotnet_lines_create(struct dotnet *dotnet)
{
	struct dotnet_lines *lines = calloc(1, sizeof(*lines));

	if (lines)
		lines->dotnet = dotnet;
	return lines;
}

static void pdb_close(struct pdb *pdb)
{
	metadata_destroy(pdb->metadata);
	target_bytes_unmap(pdb->file);
	free(pdb->unpacked);
	*pdb = (struct pdb){ .image = pdb->image };
}

void dotnet_lines_destroy(struct dotnet_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->count; i++)
		pdb_close(&lines->pdbs[i]);
	free(lines->pdbs);
	text_deinit(&lines->source);
	free(lines);
}

/* Is what the search has come upon what it is for? Else the PDB has nothing. */
static bool take(const struct search *search, struct span bytes)
{
	struct pdb *pdb = search->pdb;

	if (metadata_create(&pdb->metadata, bytes, NULL) == 0 &&
	    pdb_has_id(pdb->metadata, search->link.id))
		return true;
	pdb_close(pdb);
	return false;
}

/* @opened is closed; negative: -errno. @place is the directory, @why it may not be used, or "". */
static bool take_file(struct search *search, int opened, const char *place, const char *why)
{
	_cleanup_close_ int fd = opened;
	struct span *file = &search->pdb->file;
	struct stat st;
	bool mapped = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
		      st.st_size <= PDB_MAX_BYTES &&
		      target_bytes_map(fd, (size_t)st.st_size, file) == 0;

	if (mapped && take(search, *file))
		return true;
	text_printf(&search->places, "%s in %s", search->places.length ? "," : "", place);
	if (mapped)
		text_add(&search->places, " (not of this build)");
	else if (fd >= 0 || *why)
		text_printf(&search->places, " (%s)", fd >= 0 ? "unreadable" : why);
	return false;
}

/* In the directory of the file that has the image, as the target sees it. */
static bool find_beside(const struct dotnet_lines *lines, struct search *search)
{
	_cleanup_(text_deinit) struct text path = { 0 }, place = { 0 };
	struct target *target = lines->dotnet->target;
	size_t number = search->pdb->image->file;
	const struct target_file *file =
		number == DOTNET_NO_FILE ? NULL : target_file(target, number);
	const char *slash = file ? strrchr(file->path, '/') : NULL;
	struct error why = { .text = "" };
	int fd;

	if (!slash || file->path[0] != '/')
		return false;
	text_printf(&place, "%.*s", (int)(slash - file->path), file->path);
	text_printf(&path, "%s/%.*s", text_chars(&place), (int)search->link.name.size,
		    (const char *)search->link.name.start);
	if (!text_ok(&path))
		return false;
	fd = process_open_owned(&target->process, text_chars(&path) + 1, PDB_MAX_BYTES, &why);
	return take_file(search, fd, text_chars(&place), why.text);
}

/* In the directories that the user has named. */
static bool find_in_symbols(const struct dotnet_lines *lines, struct search *search)
{
	const struct symbol_directories *symbols = &lines->dotnet->others->symbols;

	for (size_t i = 0; i < symbols->count; i++) {
		_cleanup_(text_deinit) struct text path = { 0 };

		text_printf(&path, "%s/%.*s", symbols->paths[i], (int)search->link.name.size,
			    (const char *)search->link.name.start);
		if (!text_ok(&path) ||
		    !take_file(
			    search,
			    open(text_chars(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
			    symbols->paths[i], ""))
			continue;
		lines->dotnet->pdbs.in_symbols++;
		return true;
	}
	return false;
}

static bool find_embedded(struct dotnet_lines *lines, struct search *search)
{
	struct pdb *pdb = search->pdb;
	size_t size = 0;

	if (!search->link.embedded.start)
		return false;
	pdb->unpacked = pdb_unpack(search->link.embedded,
				   UNPACKED_MAX_BYTES - lines->unpacked_bytes, &size);
	if (!pdb->unpacked || !take(search, (struct span){ pdb->unpacked, size }))
		return false;
	lines->unpacked_bytes += size;
	return true;
}

/* For who asks why there are no lines: where they were looked for. */
static void note_missed(struct dotnet_lines *lines, const struct search *search)
{
	struct dotnet_pdbs *pdbs = &lines->dotnet->pdbs;

	pdbs->missed++;
	text_printf(&pdbs->where, "%s: no source lines: %.*s is not%s%s in the assembly itself\n",
		    search->pdb->image->name, (int)search->link.name.size,
		    (const char *)search->link.name.start, text_chars(&search->places),
		    search->places.length ? ", nor" : "");
}

/* An image whose PDB is not there is not looked at again. */
static const struct pdb *find_pdb(struct dotnet_lines *lines, const struct dotnet_image *image)
{
	struct search search = { 0 };
	struct pdb *pdb;

	for (size_t i = 0; i < lines->count; i++) {
		if (lines->pdbs[i].image == image)
			return &lines->pdbs[i];
	}
	if (!vector_add(&lines->pdbs, &lines->count, &lines->capacity,
			((struct pdb){ .image = image })))
		return NULL;
	pdb = &lines->pdbs[lines->count - 1];
	search.pdb = pdb;
	/* Metadata alone is no image. */
	if (!image->pe.file.start || lines->open == PDBS_MAX ||
	    !pdb_link_read(&search.link, &image->pe))
		return pdb;
	if ((search.link.name.start &&
	     (find_beside(lines, &search) || find_in_symbols(lines, &search))) ||
	    find_embedded(lines, &search))
		lines->open++;
	else if (search.link.name.start)
		note_missed(lines, &search);
	text_deinit(&search.places);
	return pdb;
}

void dotnet_lines_find(struct dotnet_lines *lines, const struct dotnet_image *image,
		       uint32_t method_rid, uint32_t il_offset, struct frame *frame)
{
	const struct pdb *pdb = find_pdb(lines, image);
	struct pdb_point point;

	if (!pdb || !pdb->metadata ||
	    !pdb_find_point(pdb->metadata, method_rid, il_offset, &point) ||
	    !pdb_document_name(pdb->metadata, point.document, &lines->source))
		return;
	frame->source = text_chars(&lines->source);
	frame->line = point.line;
	frame->column = point.column;
}
