// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which IL a body was made of, by the debug info that its header points to. See debug_info.h, which
 * reads what is found here.
 */
#include "base/cleanup.h"
#include "runtime/dotnet/debug_info.h"
#include "runtime/dotnet/jit.h"

enum {
	/* EXTRA_DEBUG_INFO_FLAGS: what comes before the rest (vm/debuginfostore.cpp). */
	HAS_PATCHPOINTS = 1,
	HAS_RICH = 2,
	LOCALS_MAX = 1 << 16,
	RICH_MAX_BYTES = 1 << 24,
	BOUNDS_MAX_BYTES = 1 << 20,
};

/* Where the rest begins. */
static uint64_t skip_extras(const struct clr *clr, struct look *look, uint64_t at)
{
	uint8_t flags = look_u8(look, at++);

	if (flags & HAS_PATCHPOINTS) {
		uint32_t locals = clr_u32(clr, look, at, PATCHPOINT_LOCALS);

		look->bad |= locals > LOCALS_MAX;
		at = clr_field(clr, look, at, PATCHPOINT_SIZE) + locals * sizeof(uint32_t);
	}
	if (flags & HAS_RICH) {
		uint32_t size = look_u32(look, at);

		look->bad |= size > RICH_MAX_BYTES;
		at += sizeof(size) + size;
	}
	look->bad |= (flags & ~(HAS_PATCHPOINTS | HAS_RICH)) != 0;
	return at;
}

/* It may be shorter, and what follows need not be there. */
static struct span read_head(struct memory *memory, uint64_t at,
			     uint8_t head[DEBUG_INFO_HEAD_BYTES])
{
	struct look look = look_into(memory);
	size_t size = 0;

	while (size < DEBUG_INFO_HEAD_BYTES) {
		head[size] = look_u8(&look, at + size);
		if (look.bad)
			break;
		size++;
	}
	return (struct span){ head, size };
}

bool jit_find_il(struct jit *jit, struct address code, uint32_t offset, uint32_t *il_offset)
{
	const struct clr *clr = &jit->clr;
	const enum debug_info_format format = clr->layout.debug_info;
	struct look look = look_into(clr->memory);
	uint64_t header = look_u64(&look, code.value - CODE_HEADER_BYTES);
	uint64_t info = clr_u64(clr, &look, header, CODE_DEBUG_INFO);
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t head[DEBUG_INFO_HEAD_BYTES];
	struct debug_info_bounds bounds;

	if (look.bad || !info)
		return false;
	if (format != DEBUG_INFO_SIZED)
		info = skip_extras(clr, &look, info);
	if (look.bad ||
	    !debug_info_read_head(read_head(clr->memory, info, head), format, &bounds) ||
	    bounds.size > BOUNDS_MAX_BYTES || bounds.offset > BOUNDS_MAX_BYTES)
		return false;
	bytes = memory_read_once(clr->memory, info + bounds.offset, bounds.size);
	return bytes &&
	       debug_info_find_il((struct span){ bytes, bounds.size }, format, offset, il_offset);
}
