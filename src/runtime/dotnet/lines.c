// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/dotnet/lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vector.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/pdb.h"
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
	const struct dotnet *dotnet;
	struct pdb *pdbs; /* one of each image that was asked for */
	size_t count;
	size_t capacity;
	size_t open;
	size_t unpacked_bytes;
	struct text source;
};

struct dotnet_lines *dotnet_lines_create(const struct dotnet *dotnet)
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

/* Is what @pdb has the PDB of @link? Else it has nothing. */
static bool take(struct pdb *pdb, const struct pdb_link *link, struct span bytes)
{
	if (metadata_create(&pdb->metadata, bytes, NULL) == 0 &&
	    pdb_has_id(pdb->metadata, link->id))
		return true;
	pdb_close(pdb);
	return false;
}

/* @fd is closed; negative: there is no such file. */
static bool take_file(struct pdb *pdb, const struct pdb_link *link, int opened)
{
	_cleanup_close_ int fd = opened;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > PDB_MAX_BYTES || target_bytes_map(fd, (size_t)st.st_size, &pdb->file) != 0)
		return false;
	return take(pdb, link, pdb->file);
}

/* In the directory of the file that has the image, as the target sees it. */
static bool find_beside(const struct dotnet_lines *lines, struct pdb *pdb,
			const struct pdb_link *link)
{
	_cleanup_(text_deinit) struct text path = { 0 };
	struct target *target = lines->dotnet->target;
	const struct target_file *file =
		pdb->image->file == DOTNET_NO_FILE ? NULL : target_file(target, pdb->image->file);
	const char *slash = file ? strrchr(file->path, '/') : NULL;

	if (!slash || file->path[0] != '/')
		return false;
	text_printf(&path, "%.*s/%.*s", (int)(slash - file->path), file->path, (int)link->name.size,
		    (const char *)link->name.start);
	return text_ok(&path) &&
	       take_file(pdb, link,
			 process_open_owned(&target->process, text_chars(&path) + 1, PDB_MAX_BYTES,
					    NULL));
}

/* In the directories that the user has named. */
static bool find_in_symbols(const struct dotnet_lines *lines, struct pdb *pdb,
			    const struct pdb_link *link)
{
	const struct symbol_directories *symbols = &lines->dotnet->others->symbols;

	for (size_t i = 0; i < symbols->count; i++) {
		_cleanup_(text_deinit) struct text path = { 0 };

		text_printf(&path, "%s/%.*s", symbols->paths[i], (int)link->name.size,
			    (const char *)link->name.start);
		if (text_ok(&path) && take_file(pdb, link,
						open(text_chars(&path),
						     O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)))
			return true;
	}
	return false;
}

static bool find_embedded(struct dotnet_lines *lines, struct pdb *pdb, const struct pdb_link *link)
{
	size_t size = 0;

	if (!link->embedded.start)
		return false;
	pdb->unpacked =
		pdb_unpack(link->embedded, UNPACKED_MAX_BYTES - lines->unpacked_bytes, &size);
	if (!pdb->unpacked || !take(pdb, link, (struct span){ pdb->unpacked, size }))
		return false;
	lines->unpacked_bytes += size;
	return true;
}

/* An image whose PDB is not there is not looked at again. */
static const struct pdb *find_pdb(struct dotnet_lines *lines, const struct dotnet_image *image)
{
	struct pdb_link link;
	struct pdb *pdb;

	for (size_t i = 0; i < lines->count; i++) {
		if (lines->pdbs[i].image == image)
			return &lines->pdbs[i];
	}
	if (!vector_add(&lines->pdbs, &lines->count, &lines->capacity,
			((struct pdb){ .image = image })))
		return NULL;
	pdb = &lines->pdbs[lines->count - 1];
	/* Metadata alone is no image. */
	if (!image->pe.file.start || lines->open == PDBS_MAX || !pdb_link_read(&link, &image->pe))
		return pdb;
	lines->open += (link.name.start &&
			(find_beside(lines, pdb, &link) || find_in_symbols(lines, pdb, &link))) ||
		       find_embedded(lines, pdb, &link);
	return pdb;
}

bool dotnet_lines_find(struct dotnet_lines *lines, const struct dotnet_image *image,
		       uint32_t method_rid, uint32_t il_offset, struct dotnet_line *line)
{
	const struct pdb *pdb = find_pdb(lines, image);
	struct pdb_point point;

	if (!pdb || !pdb->metadata ||
	    !pdb_find_point(pdb->metadata, method_rid, il_offset, &point) ||
	    !pdb_document_name(pdb->metadata, point.document, &lines->source))
		return false;
	*line = (struct dotnet_line){ text_chars(&lines->source), point.line, point.column };
	return true;
}
