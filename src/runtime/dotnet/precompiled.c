// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A precompiled body's place and code: for bodies.c, on the way to the plan, and for follow.c when
 * its file is mapped.
 */
#include "runtime/dotnet/precompiled.h"

bool precompiled_describe(const struct dotnet_image *image, const struct r2r_body *r2r_body,
			  struct method_body *body, struct body_code codes[BODY_PARTS_MAX])
{
	struct r2r_part parts[BODY_PARTS_MAX];
	size_t count = r2r_body_parts(r2r_body, parts, BODY_PARTS_MAX);
	struct file_offset in_image;

	count = count < BODY_PARTS_MAX ? count : BODY_PARTS_MAX;
	if (count == 0 || !pe_rva_to_offset(&image->pe, r2r_body->rva, &in_image))
		return false;
	body->tier = TIER_R2R;
	if (image->file != DOTNET_NO_FILE)
		body->offset.value = image->slice.value + in_image.value;
	body->size = parts[0].size;
	body->function_start = parts[0].rva.value == r2r_body->rva.value && !parts[0].funclet &&
			       !parts[0].cold && pe_is_code(&image->pe, r2r_body->rva);
	for (size_t i = 0; i < count; i++) {
		codes[i].bytes = pe_bytes(&image->pe, parts[i].rva, parts[i].size);
		codes[i].from_entry = (int64_t)parts[i].rva.value - (int64_t)r2r_body->rva.value;
	}
	body->code = codes;
	body->code_count = count;
	return true;
}
