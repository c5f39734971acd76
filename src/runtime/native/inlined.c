// SPDX-License-Identifier: GPL-2.0-or-later
/* Which function of a unit an address is in, and what was inlined there, for lines.c. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vector.h"
#include "runtime/native/lines_internal.h"

enum {
	DEPTH_MAX = 128,	 /* of what is in one another: namespaces, functions, blocks */
	DIE_RANGES_MAX = 4096,	 /* of one function or call */
	FUNCTIONS_MAX = 1 << 20, /* of a unit */
};

static bool look_at_clock(struct lines_clock *clock)
{
	if (clock_now_ms() > clock->end_ms)
		clock->over = true;
	return clock->over;
}

bool lines_clock_is_over(struct lines_clock *clock)
{
	if (++clock->steps % LINES_STEPS == 0)
		(void)look_at_clock(clock);
	return clock->over;
}

bool die_each_range(Dwarf_Die *die, struct lines_clock *clock, die_range_fn fn, void *ctx)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;

	for (int i = 0; i < DIE_RANGES_MAX && !lines_clock_is_over(clock); i++) {
		offset = dwarf_ranges(die, offset, &base, &begin, &end);
		if (offset <= 0)
			return i > 0;
		if (begin < end && fn(ctx, begin, end))
			break;
	}
	return true;
}

/* Walking ------------------------------------------------------------------------------------- */

enum visit { VISIT_SKIP, VISIT_ENTER, VISIT_END };

/*
 * Call @visit for what is in @root, which says whether to look into it too. Ends where that says
 * so, and then @found is the one.
 */
static bool walk(Dwarf_Die *root, struct lines_clock *clock,
		 enum visit (*visit)(void *ctx, Dwarf_Die *die), void *ctx, Dwarf_Die *found)
{
	Dwarf_Die outer[DEPTH_MAX], die, child;
	size_t depth = 0;
	int next;

	if (dwarf_child(root, &die) != 0)
		return false;
	while (!lines_clock_is_over(clock)) {
		enum visit what = visit(ctx, &die);

		if (what == VISIT_END) {
			*found = die;
			return true;
		}
		if (what == VISIT_ENTER && depth < DEPTH_MAX && dwarf_child(&die, &child) == 0) {
			outer[depth++] = die;
			die = child;
			continue;
		}
		while ((next = dwarf_siblingof(&die, &die)) != 0) {
			/* The next of one that was looked into may be behind all that is in it. */
			if (next < 0 || depth == 0 || look_at_clock(clock))
				return false;
			die = outer[--depth];
		}
	}
	return false;
}

/* Functions of a unit ------------------------------------------------------------------------- */

struct collection {
	struct unit_functions *functions;
	struct lines_clock *clock;
	uint64_t die;
	bool failed;
};

static bool add_range(void *ctx, uint64_t begin, uint64_t end)
{
	struct collection *collection = ctx;
	struct unit_functions *functions = collection->functions;
	const struct function_range range = { begin, end, collection->die };

	if (functions->count >= FUNCTIONS_MAX ||
	    !vector_add(&functions->list, &functions->count, &functions->capacity, range))
		collection->failed = true;
	return collection->failed;
}

/* Functions can be in types, and those in functions. */
static enum visit collect(void *ctx, Dwarf_Die *die)
{
	struct collection *collection = ctx;

	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		collection->die = dwarf_dieoffset(die);
		die_each_range(die, collection->clock, add_range, collection);
		return collection->failed ? VISIT_END : VISIT_ENTER;
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return VISIT_ENTER;
	default:
		return VISIT_SKIP;
	}
}

bool unit_functions_read(struct unit_functions *functions, Dwarf_Die *unit,
			 struct lines_clock *clock)
{
	struct collection collection = { .functions = functions, .clock = clock };
	Dwarf_Die ignored;

	functions->count = 0;
	walk(unit, clock, collect, &collection, &ignored);
	return !collection.failed;
}

const struct function_range *unit_functions_find(const struct unit_functions *functions,
						 uint64_t address)
{
	const struct function_range *best = NULL;

	for (size_t i = 0; i < functions->count; i++) {
		const struct function_range *range = &functions->list[i];

		if (address - range->begin < range->end - range->begin &&
		    (!best || range->end - range->begin < best->end - best->begin))
			best = range;
	}
	return best;
}

/* Inlined calls ------------------------------------------------------------------------------- */

struct sought {
	uint64_t address;
	struct lines_clock *clock;
	bool covered;
};

static bool covers(void *ctx, uint64_t begin, uint64_t end)
{
	struct sought *sought = ctx;

	sought->covered = sought->address - begin < end - begin;
	return sought->covered;
}

static enum visit seek(void *ctx, Dwarf_Die *die)
{
	struct sought *sought = ctx;
	int tag = dwarf_tag(die);
	bool has_code;

	if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block)
		return VISIT_SKIP;
	sought->covered = false;
	has_code = die_each_range(die, sought->clock, covers, sought);
	if (tag == DW_TAG_inlined_subroutine)
		return sought->covered ? VISIT_END : VISIT_SKIP;
	return sought->covered || !has_code ? VISIT_ENTER : VISIT_SKIP;
}

bool die_find_inlined(Dwarf_Die *die, uint64_t address, struct lines_clock *clock,
		      Dwarf_Die *inlined)
{
	struct sought sought = { .address = address, .clock = clock };

	return walk(die, clock, seek, &sought, inlined);
}
