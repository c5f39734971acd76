// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads one map file, for map_names.c. */
#include "runtime/dotnet/mapfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "method/method_name.h"

enum {
	OS_LINUX = 2, /* as perfmap headers number them */
	ARCH_X64 = 3,

	DEBUG_PERFMAP = 21,		  /* IMAGE_DEBUG_TYPE_PERFMAP */
	DEBUG_PERFMAP_MAGIC = 0x4d523252, /* "R2RM" */
	SIGNATURE_BYTES = 16,

	/* A map of which more than one row in so many is wrong belongs to another build. */
	WRONG_ROWS_PART = 16,

	KEY_MAX = 4096,
};

/* One walk over a map. */
struct walk {
	struct mapfile *file;
	bool checking; /* the first time: count, call nobody */
	mapfile_fn fn;
	void *ctx;
	mapfile_tell tell;
	void *tell_ctx;
	struct method_name row_name;
	struct method_name body_name;
	struct mapparse_name map_name; /* of the body, as crossgen2 would have put it */
	struct text spelled;
};

bool mapfile_is_named_so(const char *path)
{
	static const char *const endings[] = { ".map", ".map.csv", ".r2rmap" };
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
			return true;
	}
	return false;
}

static void set_part(struct text *part, struct mapparse_slice slice)
{
	text_clear(part);
	text_add_bytes(part, slice.start, slice.length);
}

void mapfile_name_parts(const struct mapparse_name *from, struct method_name *name)
{
	set_part(&name->type, from->type);
	set_part(&name->type_args, from->type_args);
	set_part(&name->name, from->method);
	set_part(&name->method_args, from->method_args);
	set_part(&name->params, from->params);
}

static bool same_part(struct mapparse_slice slice, const struct text *part)
{
	return slice.length == part->length &&
	       memcmp(slice.start, text_chars(part), slice.length) == 0;
}

/* Does the row's mangled symbol stand for the body's method? */
static bool mangled_agrees(struct walk *walk, const struct mapparse_row *row)
{
	const struct metadata *metadata = walk->file->image->metadata;
	char row_key[KEY_MAX], body_key[KEY_MAX];
	_cleanup_free_ char *mangled = NULL;
	size_t row_length, body_length;

	if (row->raw_name.length >= KEY_MAX)
		return false;
	mangled = mapparse_name_mangle(&walk->map_name,
				       metadata ? metadata_assembly_name(metadata) : "");
	if (!mangled || strlen(mangled) >= KEY_MAX)
		return false;
	row_length = mapparse_mangled_key(row->raw_name.start, row->raw_name.length, row_key);
	body_length = mapparse_mangled_key(mangled, strlen(mangled), body_key);
	return row_length == body_length && memcmp(row_key, body_key, row_length) == 0;
}

/* Is the row's name one of the names of the body that the image has there? */
static bool agrees(struct walk *walk, const struct mapparse_row *row, const struct r2r_body *body)
{
	const struct mapparse_name *name = row->name;
	struct method_name *own = &walk->body_name;

	r2r_body_name(body, own);
	if (same_part(name->type, &own->type) && same_part(name->type_args, &own->type_args) &&
	    same_part(name->method, &own->name) &&
	    (!name->has_params || same_part(name->params, &own->params)))
		return true;
	/* crossgen2 puts the arguments in place of the generic parameters. */
	text_clear(&walk->spelled);
	r2r_body_map_name(body, &walk->spelled);
	if (mapparse_name_parse(&walk->map_name, MAPPARSE_SPELLING_CLR, text_chars(&walk->spelled),
				walk->spelled.length) != 0)
		return false;
	if (walk->file->format == MAPPARSE_FORMAT_CROSSGEN2_MAP ||
	    walk->file->format == MAPPARSE_FORMAT_CROSSGEN2_CSV)
		return mangled_agrees(walk, row);
	return mapparse_name_equal(name, &walk->map_name);
}

/*
 * Does a function begin where the row says, and is it as long? A map counts a method's handlers,
 * which follow it, as part of it.
 */
static bool is_well_placed(const struct mapfile *file, const struct mapparse_row *row)
{
	struct rva rva = { (uint32_t)row->address };
	struct pe_function function;
	int found;

	if (row->is_absolute || row->address > UINT32_MAX || !pe_is_code(&file->image->pe, rva))
		return false;
	found = pe_function_at(&file->image->pe, rva, &function);
	if (found <= 0)
		return found == -ENOENT; /* no table, so this cannot be known */
	return row->size == function.size ||
	       (row->size > function.size && function.next < rva.value + row->size);
}

static int on_row(void *user, const struct mapparse_row *row)
{
	struct walk *walk = user;
	struct mapfile *file = walk->file;
	struct r2r_body body = { 0 };
	struct mapfile_method method = {
		.file = file,
		.name = &walk->row_name,
		.rva = { (uint32_t)row->address },
		.size = row->size > UINT32_MAX ? UINT32_MAX : (uint32_t)row->size,
	};
	bool known, same;

	if (row->kind != MAPPARSE_KIND_METHOD || !row->name)
		return 0;
	file->rows += walk->checking;
	if (!is_well_placed(file, row)) {
		file->misplaced += walk->checking;
		return 0;
	}
	known = file->image->r2r && r2r_find_rva(file->image->r2r, method.rva, &body) == 1;
	if (known && body.rva.value != method.rva.value)
		return 0; /* a cold part or a funclet, listed by itself */
	same = known && agrees(walk, row, &body);
	if (walk->checking) {
		file->disagree += known && !same;
		return 0;
	}
	method.body = known ? &body : NULL;
	method.agrees = same;
	method.partial = !row->name->has_params;
	mapfile_name_parts(row->name, &walk->row_name);
	return walk->fn(&method, walk->ctx);
}

/* What a map says of itself stands before its rows. */
static int stop_at_row(void *user, const struct mapparse_row *row)
{
	(void)user;
	(void)row;
	return 1;
}

static void on_diagnostic(void *user, const struct mapparse_diagnostic *diagnostic)
{
	const struct walk *walk = user;

	if (walk->tell)
		walk->tell(walk->tell_ctx, walk->file, diagnostic->line, diagnostic->reason);
}

static void walk_deinit(struct walk *walk)
{
	method_name_deinit(&walk->row_name);
	method_name_deinit(&walk->body_name);
	mapparse_name_deinit(&walk->map_name);
	text_deinit(&walk->spelled);
}

CLEANUP_POINTER(mapparse_reader_destroy, struct mapparse_reader)

/* Read the file once; with @header what it says of itself. */
static int walk_run(struct walk *walk, struct mapparse_header *header, struct error *err)
{
	struct mapfile *file = walk->file;
	const struct metadata *metadata = file->image ? file->image->metadata : NULL;
	struct mapparse_options options = {
		.row = file->image ? on_row : stop_at_row,
		.diagnostic = walk->checking ? on_diagnostic : NULL,
		.user = walk,
		.skip_names = file->image == NULL,
		.assembly = metadata ? metadata_assembly_name(metadata) : NULL,
	};
	_cleanup_(mapparse_reader_destroy_at) struct mapparse_reader *reader =
		mapparse_reader_create(&options);
	int result;

	if (!reader || lseek(file->fd, 0, SEEK_SET) < 0)
		return error_set(err, -ENOMEM,
				 "%s cannot be read again: give --maps a file that does not change",
				 file->name);
	result = mapparse_reader_read_fd(reader, file->fd);
	if (header)
		*header = *mapparse_reader_header(reader);
	file->bad_rows = mapparse_reader_counts(reader)->bad;
	/* Otherwise it is the callback's failure, which it has told itself. */
	if (result < 0 && *mapparse_reader_error(reader))
		error_fill(err, "%s: %s", file->name, mapparse_reader_error(reader));
	return result > 0 && !file->image ? 0 : result;
}

/* Ties to an image ---------------------------------------------------------------------- */

/* "app" of app.map, app.ni.{MVID}.map, app.ni.r2rmap and app.map.csv means app.dll. */
static const struct dotnet_image *find_image(const struct dotnet_images *images,
					     struct mapparse_slice stem)
{
	for (size_t i = 0; i < images->count; i++) {
		const char *name = images->images[i]->name;
		const char *dot = strrchr(name, '.');
		size_t length = dot ? (size_t)(dot - name) : strlen(name);

		if (length == stem.length && memcmp(name, stem.start, length) == 0)
			return images->images[i];
	}
	return NULL;
}

static int another_build(const struct mapfile *file, const char *why, struct error *err)
{
	return error_set(
		err, -ESTALE,
		"%s is the map of another build of %s: %s; give --maps that of the build that runs",
		file->name, file->image->name, why);
}

static int check_signature(const struct mapfile *file, const struct mapparse_header *header,
			   struct error *err)
{
	struct cursor c = cursor_over(pe_debug_data(&file->image->pe, DEBUG_PERFMAP));
	bool has_entry = cursor_u32(&c) == DEBUG_PERFMAP_MAGIC;
	struct span signature = cursor_take(&c, SIGNATURE_BYTES);

	/*
	 * Without an entry the image was compiled without a map. And an equal signature only says
	 * that the same IL was compiled: in both cases the rows have to tell.
	 */
	if (!header->has_signature || !has_entry || !signature.start ||
	    memcmp(signature.start, header->signature, SIGNATURE_BYTES) == 0)
		return 0;
	return another_build(file, "their signatures differ", err);
}

/* {8b5bc209-7ef4-428f-a28c-60fda6632e1a}: the first three groups are little-endian numbers. */
static bool mvid_is(struct span mvid, struct mapparse_slice text)
{
	static const int order[SIGNATURE_BYTES] = { 3, 2, 1,  0,  5,  4,  7,  6,
						    8, 9, 10, 11, 12, 13, 14, 15 };
	char spelled[2 * SIGNATURE_BYTES + 1], given[2 * SIGNATURE_BYTES + 1] = "";
	size_t used = 0;

	for (size_t i = 0; i < SIGNATURE_BYTES; i++)
		snprintf(spelled + 2 * i, 3, "%02x", mvid.start[order[i]]);
	for (size_t i = 0; i < text.length && used < sizeof(given) - 1; i++) {
		if (text.start[i] != '-')
			given[used++] = text.start[i];
	}
	return strcasecmp(spelled, given) == 0;
}

static int check_mvid(const struct mapfile *file, struct mapparse_slice mvid, struct error *err)
{
	const struct metadata *metadata = file->image->metadata;
	struct span own = metadata ? metadata_mvid(metadata) : (struct span){ 0 };

	/* Maps of composites carry an id of the compilation, not of a module. */
	if (!mvid.length || !own.start || file->image->kind != R2R_IMAGE || mvid_is(own, mvid))
		return 0;
	return another_build(file, "the module's version ids differ", err);
}

/* crossgen2 --map lists the sections: they must be the image's. */
static int check_sections(const struct mapfile *file, const struct mapparse_header *header,
			  struct error *err)
{
	const struct pe *pe = &file->image->pe;

	for (unsigned int i = 0; i < header->section_count; i++) {
		const struct mapparse_section *section = &header->sections[i];
		bool found = false;

		for (unsigned int j = 0; j < pe->section_count; j++)
			found |= pe->sections[j].rva.value == section->rva &&
				 pe->sections[j].raw_offset == section->file_offset;
		if (!found)
			return another_build(file, "their sections lie elsewhere", err);
	}
	return 0;
}

static int check_target(const struct mapfile *file, const struct mapparse_header *header,
			struct error *err)
{
	if ((header->os == 0 || header->os == OS_LINUX) &&
	    (header->arch == 0 || header->arch == ARCH_X64))
		return 0;
	return error_set(
		err, -ESTALE,
		"%s is for another system (OS %u, architecture %u), not for x64 Linux; give --maps one that is",
		file->name, header->os, header->arch);
}

static int check_rows(struct walk *walk, struct error *err)
{
	struct mapfile *file = walk->file;
	int result;

	walk->checking = true;
	result = walk_run(walk, NULL, err);
	if (result < 0)
		return result;
	if (file->rows == 0)
		return error_set(
			err, -EINVAL,
			"%s has no row of a method: give --maps a map that crossgen wrote (mapparse shows what is in one)",
			file->name);
	if ((file->misplaced + file->disagree) > file->rows / WRONG_ROWS_PART)
		return another_build(file, "its methods are not where the image's functions begin",
				     err);
	return 0;
}

int mapfile_init(struct mapfile *file, int fd, const char *name, const struct dotnet_images *images,
		 mapfile_tell tell, void *ctx, struct error *err)
{
	_cleanup_(walk_deinit) struct walk walk = { .file = file, .tell = tell, .tell_ctx = ctx };
	struct mapparse_header header = { 0 };
	struct mapparse_file_name parts;
	int result;

	*file = (struct mapfile){ .fd = fd, .name = strdup(name) };
	mapparse_file_name_parse(&parts, name);
	result = file->name ? walk_run(&walk, &header, err) :
			      error_set(err, -ENOMEM, "no memory for %s", name);
	file->format = header.format;
	if (result == 0 && (header.format == MAPPARSE_FORMAT_PERF_MAP ||
			    header.format == MAPPARSE_FORMAT_PERFINFO))
		result = error_set(
			err, -EINVAL,
			"%s is the map of a process, not of an image: leave it out, place-probe finds the target's own by itself",
			name);
	if (result == 0 && (file->image = find_image(images, parts.image))) {
		result = check_target(file, &header, err);
		result = result ? result : check_signature(file, &header, err);
		result = result ? result : check_mvid(file, parts.mvid, err);
		result = result ? result : check_sections(file, &header, err);
		result = result ? result : check_rows(&walk, err);
		result = result ? result : 1;
	}
	if (result != 1)
		mapfile_deinit(file);
	return result;
}

void mapfile_deinit(struct mapfile *file)
{
	free(file->name);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct mapfile){ .fd = -1 };
}

int mapfile_each(const struct mapfile *file, mapfile_fn fn, void *ctx, struct error *err)
{
	struct mapfile copy = *file; /* counting is over, but the walk writes to its file */
	_cleanup_(walk_deinit) struct walk walk = { .file = &copy, .fn = fn, .ctx = ctx };

	return walk_run(&walk, NULL, err);
}
