// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/dotnet/clr.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/memory_image.h"
#include "code/unwind_info.h"
#include "base/error.h"
#include "image/elf.h"
#include "image/unwind_rows.h"
#include "image/cfi.h"
#include "target/files.h"
#include "target/maps.h"
#include "target/vdso.h"

/* One that has been read. */
struct image {
	uint64_t inode; /* 0: the vdso, or in memory */
	uint32_t major;
	uint32_t minor;
	uint64_t slice;			      /* where in the file it begins */
	const struct dotnet_image *in_memory; /* NULL: it is in a file, or the vdso */
	uint32_t first_row;
	uint32_t row_count;
};

struct unwind_tables {
	struct unwind_frames frames;
	struct unwind_rows rows; /* of all images, one after the other */
	struct unwind_range *ranges;
	size_t range_count;
	struct image *images;
	size_t image_count;
	size_t image_capacity;
	enum unwinder elsewhere; /* what leaves the frames of code that is in no range */
	struct unwind_runtime runtime;
	struct unwind_tables_counts counts;
};

int unwind_tables_create(struct unwind_tables **out, struct error *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : error_set(err, -ENOMEM, "no memory for unwind information");
}

void unwind_tables_destroy(struct unwind_tables *tables)
{
	if (!tables)
		return;
	unwind_rows_deinit(&tables->rows);
	free(tables->ranges);
	free(tables->images);
	free(tables);
}

/* Images -------------------------------------------------------------------------------------- */

static const struct image *find_image(const struct unwind_tables *tables, const struct image *key)
{
	for (size_t i = 0; i < tables->image_count; i++) {
		const struct image *image = &tables->images[i];

		if (image->inode == key->inode && image->major == key->major &&
		    image->minor == key->minor && image->slice == key->slice &&
		    image->in_memory == key->in_memory)
			return image;
	}
	return NULL;
}

/* Take over the rows of a new image. -ENOMEM. */
static int add_image(struct unwind_tables *tables, struct image image,
		     const struct unwind_rows *rows)
{
	size_t all = tables->rows.count + rows->count;

	if (!vector_reserve(&tables->images, &tables->image_capacity, tables->image_count + 1) ||
	    !vector_reserve(&tables->rows.rows, &tables->rows.capacity, all))
		return -ENOMEM;
	image.first_row = (uint32_t)tables->rows.count;
	image.row_count = (uint32_t)rows->count;
	if (rows->count)
		memcpy(tables->rows.rows + tables->rows.count, rows->rows,
		       rows->count * sizeof(*rows->rows));
	tables->rows.count = all;
	tables->images[tables->image_count++] = image;
	tables->counts.images++;
	tables->counts.without += rows->count == 0;
	return 0;
}

/* Rows by the address that the file is linked to. -ENOMEM. */
static int read_elf(struct unwind_tables *tables, const struct elf *elf, struct unwind_rows *rows)
{
	struct cfi_section section = { 0 };
	struct cfi_counts counts;
	int result;

	if (!elf_section(elf, ".eh_frame", &section.bytes, &section.address)) {
		if (!elf_section(elf, ".debug_frame", &section.bytes, &section.address))
			return 0;
		section.debug_frame = true;
	}
	result = cfi_rows(&section, 0, rows, &counts, NULL);
	tables->counts.damaged += counts.damaged;
	tables->counts.unsupported += counts.unsupported;
	return result;
}

/* Rows by RVA. -ENOMEM. */
static int read_pe(struct unwind_tables *tables, const struct pe *pe, struct unwind_rows *rows)
{
	struct unwind_info_counts counts;
	int result = unwind_info_image(pe, rows, &counts, NULL);

	tables->counts.damaged += counts.damaged;
	return result;
}

/* The image with @key; if it is new, read as an ELF file or a PE. NULL for want of memory. */
static const struct image *image_of(struct unwind_tables *tables, const struct image *key,
				    const struct elf *elf, const struct pe *pe)
{
	const struct image *known = find_image(tables, key);
	struct unwind_rows rows = { .frames = &tables->frames };
	int result;

	if (known)
		return known;
	result = pe ? read_pe(tables, pe, &rows) : read_elf(tables, elf, &rows);
	if (result == 0)
		result = add_image(tables, *key, &rows);
	unwind_rows_deinit(&rows);
	return result ? NULL : &tables->images[tables->image_count - 1];
}

/* Ranges -------------------------------------------------------------------------------------- */

static int add_range(struct unwind_tables *tables, uint64_t begin, uint64_t end, uint64_t base,
		     const struct image *image)
{
	struct unwind_range *range;
	uint32_t count;

	if (!image)
		return -ENOMEM;
	if (image->row_count == 0)
		return 0;
	if (tables->range_count == UNWIND_RANGES_MAX) {
		tables->counts.left_out++;
		return 0;
	}
	count = image->row_count < UNWIND_ROWS_MAX ? image->row_count : UNWIND_ROWS_MAX;
	range = &tables->ranges[tables->range_count++];
	*range = (struct unwind_range){
		.begin = begin,
		.end = end,
		.base = base,
		.first_row = image->first_row,
		.row_count = count & UNWIND_ROWS_MAX,
		.unwinder = UNWINDER_ROWS,
	};
	return 0;
}

static int add_row_range(struct unwind_tables *tables, const struct mapping *row, uint64_t base,
			 const struct image *image)
{
	return add_range(tables, row->start.value, row->end.value, base, image);
}

/* Where the image with RVA 0 would be, told by one of its sections that @row has mapped. */
static bool pe_base(const struct pe *pe, uint64_t slice, const struct mapping *row, uint64_t *base)
{
	for (unsigned int i = 0; i < pe->section_count; i++) {
		const struct pe_section *section = &pe->sections[i];
		struct file_offset offset = { slice + section->raw_offset };
		struct address address;

		if (!section->executable || !mapping_address(row, offset, &address))
			continue;
		*base = address.value - section->rva.value;
		return true;
	}
	return false;
}

static int add_pe(struct unwind_tables *tables, const struct pe *pe, uint64_t slice,
		  const struct mapping *row, bool *found)
{
	const struct image key = {
		.inode = row->inode,
		.major = row->major,
		.minor = row->minor,
		.slice = slice,
	};
	uint64_t base;

	*found = pe_base(pe, slice, row, &base);
	return *found ? add_row_range(tables, row, base, image_of(tables, &key, NULL, pe)) : 0;
}

/* Of a single-file executable: the image in it that @row maps, if it does. */
static int add_slice(struct unwind_tables *tables, const struct unwind_sources *sources,
		     size_t file, const struct mapping *row, bool *found)
{
	const struct dotnet_images *images = sources->images;
	int result = 0;

	*found = false;
	for (size_t i = 0; images && i < images->count && result == 0 && !*found; i++) {
		const struct dotnet_image *image = images->images[i];

		if (image->file == file)
			result = add_pe(tables, &image->pe, image->slice.value, row, found);
	}
	return result;
}

static int add_mapping(struct unwind_tables *tables, const struct unwind_sources *sources,
		       const struct mapping *row)
{
	const struct target_file *file = target_files_find(sources->files, row);
	const struct image key = {
		.inode = row->inode,
		.major = row->major,
		.minor = row->minor,
		.slice = UINT64_MAX,
	};
	bool managed;
	struct elf elf;
	uint64_t bias;
	struct pe pe;
	int result;

	if (!file)
		return 0;
	if (pe_init(&pe, file->bytes, NULL) == 0)
		return add_pe(tables, &pe, 0, row, &managed);
	result = add_slice(tables, sources, file->number, row, &managed);
	if (result || managed || !elf_init(&elf, file->bytes) ||
	    !elf_load_bias(&elf, row->offset, row->start, &bias))
		return result;
	return add_row_range(tables, row, bias, image_of(tables, &key, &elf, NULL));
}

static int add_vdso(struct unwind_tables *tables, const struct unwind_sources *sources,
		    const struct mapping *row)
{
	const struct image key = { 0 };
	struct vdso vdso;
	struct elf elf;
	uint64_t bias;
	int result = 0;

	vdso_read(&vdso, sources->maps, sources->memory);
	if (vdso_elf(&vdso, &elf, &bias))
		result = add_row_range(tables, row, bias, image_of(tables, &key, &elf, NULL));
	vdso_deinit(&vdso);
	return result;
}

/* Precompiled code that the runtime uses and that no file has mapped. */
static int add_in_memory(struct unwind_tables *tables, const struct jit_image *code)
{
	const struct dotnet_image *image = code->image;
	const struct image key = { .in_memory = image };
	int result = 0;

	for (unsigned int i = 0; i < image->pe.section_count && result == 0; i++) {
		const struct pe_section *section = &image->pe.sections[i];
		struct address at;
		uint64_t end;

		if (!section->executable || !memory_image_address(image, section->rva, &at))
			continue;
		end = at.value + section->virtual_size;
		if (at.value < code->start.value || at.value >= code->end.value)
			continue;
		result = add_range(tables, at.value, end < code->end.value ? end : code->end.value,
				   at.value - section->rva.value,
				   image_of(tables, &key, NULL, &image->pe));
	}
	return result;
}

/* What the BPF side needs of the runtime's layout. Any code may be new code of such a runtime. */
static void note_runtime(struct unwind_tables *tables, const struct clr *clr)
{
	const struct layout *layout = &clr->layout;

	tables->elsewhere = UNWINDER_DOTNET;
	tables->runtime = (struct unwind_runtime){
		.range_map = clr->code_range_map + (uint64_t)layout->at[RANGE_MAP_TOP],
		.fragment_next_at = (uint32_t)layout->at[FRAGMENT_NEXT],
		.fragment_section_at = (uint32_t)layout->at[FRAGMENT_SECTION],
		.section_begin_at = (uint32_t)layout->at[SECTION_BEGIN],
		.section_end_at = (uint32_t)layout->at[SECTION_END],
		.section_heap_at = (uint32_t)layout->at[SECTION_HEAP_LIST],
		.heap_map_base_at = (uint32_t)layout->at[HEAP_MAP_BASE],
		.heap_nibbles_at = (uint32_t)layout->at[HEAP_NIBBLE_MAP],
		.heap_unwind_base_at = layout_has(layout, HEAP_UNWIND_BASE) ?
					       (uint32_t)layout->at[HEAP_UNWIND_BASE] :
					       UNWIND_NO_FIELD,
		.code_method_at = (uint32_t)layout->at[CODE_METHOD_DESC],
		.code_unwind_count_at = (uint32_t)layout->at[CODE_UNWIND_COUNT],
		.code_unwinds_at = (uint32_t)layout->at[CODE_UNWINDS],
		.nibble_map = layout->nibble_map,
		.last_stub_kind = (uint32_t)layout->last_stub_kind,
	};
}

static int by_begin(const void *left, const void *right)
{
	const struct unwind_range *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* The unwinder halves the list. What lies over other code is not sure to be there. */
static void sort_ranges(struct unwind_tables *tables)
{
	size_t kept = 0;

	if (tables->range_count)
		qsort(tables->ranges, tables->range_count, sizeof(*tables->ranges), by_begin);
	for (size_t i = 0; i < tables->range_count; i++) {
		if (kept == 0 || tables->ranges[kept - 1].end <= tables->ranges[i].begin)
			tables->ranges[kept++] = tables->ranges[i];
		else
			tables->counts.damaged++;
	}
	tables->range_count = kept;
}

int unwind_tables_read(struct unwind_tables *tables, const struct unwind_sources *sources,
		       struct error *err)
{
	int result = 0;

	if (!tables->ranges)
		tables->ranges = calloc(UNWIND_RANGES_MAX, sizeof(*tables->ranges));
	if (!tables->ranges)
		return error_set(err, -ENOMEM, "no memory for unwind information");
	tables->range_count = 0;
	tables->counts.left_out = 0;
	if (sources->jit)
		note_runtime(tables, jit_clr(sources->jit));
	for (size_t i = 0; i < sources->maps->count && result == 0; i++) {
		const struct mapping *row = &sources->maps->rows[i];

		if (mapping_is_file_code(row))
			result = add_mapping(tables, sources, row);
		else if (strcmp(row->path, VDSO_PATH) == 0)
			result = add_vdso(tables, sources, row);
	}
	for (size_t i = 0; sources->jit && i < jit_image_count(sources->jit) && result == 0; i++) {
		const struct jit_image *code = jit_image(sources->jit, i);

		if (code->image && code->image->file == DOTNET_NO_FILE)
			result = add_in_memory(tables, code);
	}
	sort_ranges(tables);
	return result ? error_set(err, result, "no memory for unwind information") : 0;
}

const struct unwind_row *unwind_tables_rows(const struct unwind_tables *tables, size_t *count)
{
	*count = tables->rows.count;
	return tables->rows.rows;
}

const struct unwind_frame *unwind_tables_frames(const struct unwind_tables *tables, size_t *count)
{
	*count = tables->frames.count;
	return tables->frames.frames;
}

const struct unwind_range *unwind_tables_ranges(const struct unwind_tables *tables, size_t *count)
{
	*count = tables->range_count;
	return tables->ranges;
}

enum unwinder unwind_tables_elsewhere(const struct unwind_tables *tables)
{
	return tables->elsewhere;
}

const struct unwind_runtime *unwind_tables_runtime(const struct unwind_tables *tables)
{
	return &tables->runtime;
}

struct unwind_tables_counts unwind_tables_counts(const struct unwind_tables *tables)
{
	struct unwind_tables_counts counts = tables->counts;

	counts.rows = tables->rows.count;
	return counts;
}
