// SPDX-License-Identifier: GPL-2.0-or-later
/* Native code of the target, and the rows that leave its frames: ELF files and the vdso. */
#include "image/cfi.h"
#include "image/elf.h"
#include "runtime/native/native.h"
#include "target/target.h"
#include "target/vdso.h"

/* Rows by the address that the file is linked to. */
static int make_rows(const void *ctx, struct unwind_rows *rows)
{
	struct cfi_section section = { 0 };
	struct cfi_counts counts;

	if (!elf_section(ctx, ".eh_frame", &section.bytes, &section.address)) {
		if (!elf_section(ctx, ".debug_frame", &section.bytes, &section.address))
			return 0;
		section.debug_frame = true;
	}
	return cfi_rows(&section, rows, &counts, NULL);
}

int native_ranges(struct runtime *runtime, code_range_fn fn, void *ctx)
{
	const struct target *target = ((struct native *)runtime)->target;
	const struct maps *maps = target_maps(target);
	struct vdso vdso;
	int result = 0;

	vdso_read(&vdso, maps, target->memory);
	for (size_t i = 0; i < maps->count && result == 0; i++) {
		const struct mapping *row = &maps->rows[i];
		const struct target_file *file =
			mapping_is_file_code(row) ? target_find_file(target, row) : NULL;
		struct elf elf;
		struct code_range range = {
			.begin = row->start.value,
			.end = row->end.value,
			.unwinder = UNWINDER_ROWS,
			.file = file ? file->number : BODY_NO_FILE,
			.make_rows = make_rows,
			.ctx = &elf,
		};

		if ((file || row->start.value == vdso.start.value) &&
		    elf_init(&elf, file ? file->bytes : vdso.bytes) &&
		    elf_part_bias(&elf, row->offset, row->start, &range.base))
			result = fn(&range, ctx);
	}
	vdso_deinit(&vdso);
	return result;
}
