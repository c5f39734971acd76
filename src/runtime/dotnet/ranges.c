// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Precompiled code in the target, and the rows that leave its frames: of PE files, of images in a
 * single-file executable, and in memory only. All other code may be the runtime's by now.
 */
#include "code/unwind_info.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "runtime/dotnet/memory_image.h"
#include "target/target.h"

/* Rows by RVA. */
static int make_rows(const void *ctx, struct unwind_rows *rows)
{
	struct unwind_info_counts counts;

	return unwind_info_image(ctx, rows, &counts, NULL);
}

/* Does @row map a section with code of @pe? Then it tells where RVA 0 would be. */
static bool find_base(struct code_range *range, const struct pe *pe, const struct mapping *row)
{
	for (unsigned int i = 0; i < pe->section_count; i++) {
		const struct pe_section *section = &pe->sections[i];
		struct file_offset offset = { range->part + section->raw_offset };
		struct address address;

		if (!section->executable || !mapping_address(row, offset, &address))
			continue;
		range->base = address.value - section->rva.value;
		range->ctx = pe;
		return true;
	}
	return false;
}

/* Of a PE, whatever it is for; else of one of the images in a single-file executable. */
static int tell_mapping(const struct dotnet *dotnet, const struct mapping *row, code_range_fn fn,
			void *ctx)
{
	const struct target_file *file = target_find_file(dotnet->target, row);
	struct code_range range = {
		.begin = row->start.value,
		.end = row->end.value,
		.unwinder = UNWINDER_ROWS,
		.make_rows = make_rows,
	};
	struct pe pe;

	if (!file)
		return 0;
	range.file = file->number;
	if (pe_init(&pe, file->bytes, NULL) == 0)
		return find_base(&range, &pe, row) ? fn(&range, ctx) : 0;
	for (size_t i = 0; i < dotnet->images.count; i++) {
		const struct dotnet_image *image = dotnet->images.images[i];

		range.part = image->slice.value;
		if (image->file == file->number && find_base(&range, &image->pe, row))
			return fn(&range, ctx);
	}
	return 0;
}

/* Sections of an image that the runtime uses code of, though no file has them mapped. */
static int tell_in_memory(const struct code_image *code, code_range_fn fn, void *ctx)
{
	const struct pe *pe = &code->image->pe;
	int result = 0;

	for (unsigned int i = 0; i < pe->section_count && result == 0; i++) {
		const struct pe_section *section = &pe->sections[i];
		struct code_range range = {
			.end = code->end.value,
			.unwinder = UNWINDER_ROWS,
			.file = DOTNET_NO_FILE,
			.part = (uintptr_t)code->image,
			.make_rows = make_rows,
			.ctx = pe,
		};
		struct address at;

		if (!section->executable || !memory_image_address(code->image, section->rva, &at) ||
		    at.value < code->start.value || at.value >= code->end.value)
			continue;
		range.begin = at.value;
		range.base = at.value - section->rva.value;
		if (section->virtual_size < range.end - range.begin)
			range.end = range.begin + section->virtual_size;
		result = fn(&range, ctx);
	}
	return result;
}

int dotnet_ranges(struct runtime *runtime, code_range_fn fn, void *ctx)
{
	const struct dotnet *dotnet = (struct dotnet *)runtime;
	const struct maps *maps = target_maps(dotnet->target);
	int result = 0;

	for (size_t i = 0; i < maps->count && result == 0; i++) {
		if (mapping_is_file_code(&maps->rows[i]))
			result = tell_mapping(dotnet, &maps->rows[i], fn, ctx);
	}
	for (size_t i = 0; dotnet->jit && i < dotnet->jit->image_count && result == 0; i++) {
		const struct code_image *code = &dotnet->jit->images[i];

		if (code->image && code->image->file == DOTNET_NO_FILE)
			result = tell_in_memory(code, fn, ctx);
	}
	return result;
}

_Static_assert((uint32_t)LAYOUT_ABSENT == UNWIND_NO_FIELD, "fields are passed on as they are");

enum unwinder dotnet_elsewhere(const struct runtime *runtime, struct unwind_layouts *layouts)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;
	const struct clr *clr = dotnet->jit ? &dotnet->jit->clr : NULL;
	const int32_t *at = clr ? clr->layout.at : NULL;

	if (!clr)
		return UNWINDER_FRAME_POINTER;
	layouts->dotnet = (struct unwind_dotnet){
		.range_map = clr->code_range_map + (uint64_t)at[RANGE_MAP_TOP],
		.fragment_next_at = (uint32_t)at[FRAGMENT_NEXT],
		.fragment_section_at = (uint32_t)at[FRAGMENT_SECTION],
		.section_begin_at = (uint32_t)at[SECTION_BEGIN],
		.section_end_at = (uint32_t)at[SECTION_END],
		.section_heap_at = (uint32_t)at[SECTION_HEAP_LIST],
		.heap_map_base_at = (uint32_t)at[HEAP_MAP_BASE],
		.heap_nibbles_at = (uint32_t)at[HEAP_NIBBLE_MAP],
		.heap_unwind_base_at = (uint32_t)at[HEAP_UNWIND_BASE],
		.code_method_at = (uint32_t)at[CODE_METHOD_DESC],
		.code_unwind_count_at = (uint32_t)at[CODE_UNWIND_COUNT],
		.code_unwinds_at = (uint32_t)at[CODE_UNWINDS],
		.nibble_map = clr->layout.nibble_map,
		.last_stub_kind = (uint32_t)clr->layout.last_stub_kind,
	};
	return UNWINDER_DOTNET;
}
