// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a piece of the code that the runtime makes itself, to get from one method to another, is
 * for: the last that frame_names.c asks. See jit.h.
 *
 * Source of the format: dotnet/runtime src/coreclr/vm/codeman.h, StubCodeBlockKind, RangeSection,
 * CodeRangeMapRangeList.
 */
#include "bpf/nibble_map.h"
#include "runtime/dotnet/jit.h"

enum {
	FRAGMENTS_MAX = 64, /* of one part of the map */

	KIND_PRECODE = 2,

	UNITS_MAX = 256, /* that are gone back: a block of stubs is no longer */
};

static const char *name_of_kind(const struct clr *clr, uint64_t kind)
{
	static const char *const names[] = {
		[1] = "JumpStub",	 [KIND_PRECODE] = "Precode", [3] = "DynamicHelper",
		[4] = "StubPrecode",	 [5] = "FixupPrecode",	     [6] = "VSD_DispatchStub",
		[7] = "VSD_ResolveStub", [8] = "VSD_LookupStub",     [9] = "VSD_VTableStub",
	};

	/* .NET 11 has no blocks of precodes of all sorts any more. */
	if (clr->layout.no_precode_kind && kind >= KIND_PRECODE)
		kind++;
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

/* The range section that holds @address; 0 if none does. */
static uint64_t find_section(const struct clr *clr, struct look *look, uint64_t address)
{
	uint64_t at = clr->code_range_map + (uint64_t)clr->layout.at[RANGE_MAP_TOP];

	for (int level = RANGE_MAP_LEVELS - 1; level >= 0; level--) {
		uint64_t index = address >> (RANGE_MAP_LOWEST_BIT + level * RANGE_MAP_LEVEL_BITS) &
				 ((1u << RANGE_MAP_LEVEL_BITS) - 1);

		at = look_u64(look, at + index * sizeof(at)) & ~(uint64_t)RANGE_MAP_MARK;
		if (look->bad || !at)
			return 0;
	}
	for (int i = 0; i < FRAGMENTS_MAX && at && !look->bad; i++) {
		uint64_t section = clr_u64(clr, look, at, FRAGMENT_SECTION);

		if (address >= clr_u64(clr, look, section, SECTION_BEGIN) &&
		    address < clr_u64(clr, look, section, SECTION_END))
			return look->bad ? 0 : section;
		at = clr_u64(clr, look, at, FRAGMENT_NEXT) & ~(uint64_t)RANGE_MAP_MARK;
	}
	return 0;
}

/* A block of stubs in a code heap is marked as a body is, and has its kind in place of a header. */
static const char *name_in_heap(const struct clr *clr, struct look *look, uint64_t section,
				uint64_t address)
{
	uint64_t heap = clr_u64(clr, look, section, SECTION_HEAP_LIST);
	uint64_t base = clr_u64(clr, look, heap, HEAP_MAP_BASE);
	uint64_t nibbles = clr_u64(clr, look, heap, HEAP_NIBBLE_MAP);
	uint64_t index = (address - base) / NIBBLE_UNIT_BYTES, start = 0, kind;
	uint32_t offset = (uint32_t)((address - base) % NIBBLE_UNIT_BYTES);
	uint32_t version = clr->layout.nibble_map;

	if (look->bad || address < base)
		return NULL;
	for (int i = 0; i < UNITS_MAX && !start; i++) {
		uint32_t unit = look_u32(look, nibbles + index * sizeof(unit));

		if (look->bad)
			return NULL;
		unit = nibble_before(version, unit, offset);
		start = nibble_last(version, base, index, unit);
		if (index-- == 0)
			break;
		offset = NIBBLE_UNIT_BYTES - 1;
	}
	kind = start ? look_u64(look, start - CODE_HEADER_BYTES) : 0;
	return look->bad || kind > clr->layout.last_stub_kind ? NULL : name_of_kind(clr, kind);
}

const char *jit_stub_name(struct jit *jit, struct address address)
{
	const struct clr *clr = &jit->clr;
	struct look look = look_into(clr->memory);
	uint64_t section, list;
	uint32_t flags, kind;

	memory_forget(clr->memory);
	/* Kinds are those of the versions that the table knows. */
	if (!layout_has(&clr->layout, SECTION_RANGE_LIST) ||
	    !layout_has(&clr->layout, RANGE_LIST_KIND))
		return NULL;
	section = find_section(clr, &look, address.value);
	if (!section)
		return NULL;
	flags = clr_u32(clr, &look, section, SECTION_FLAGS);
	if (flags & SECTION_IS_STUBS) {
		list = clr_u64(clr, &look, section, SECTION_RANGE_LIST);
		kind = clr_u32(clr, &look, list, RANGE_LIST_KIND);
		return look.bad ? NULL : name_of_kind(clr, kind);
	}
	return flags & SECTION_IS_CODE_HEAP ? name_in_heap(clr, &look, section, address.value) :
					      NULL;
}
