// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an address to source lines, for frame_names.c: which unit of the file's DWARF it is of, that
 * unit's line table, and what inlined.c finds in it. What has been read of units is thrown away
 * when it gets much.
 */
#include "runtime/native/lines_internal.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/shortage.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/tree.h"
#include "base/vector.h"
#include "image/elf.h"

enum {
	UNITS_MAX = 1 << 20,
	RANGES_MAX = 4 << 20,
	/* Of line programs and of DIEs that libdw has read, before it has to begin anew. */
	KEPT_LINE_BYTES = 1 << 20,
	KEPT_UNIT_BYTES = 128 << 20,
	/* For less libdw is not asked. */
	LINES_NEED_BYTES = 64 << 10,
};

/* A unit that a frame was in. */
struct read_unit {
	uint64_t die; /* first */
	bool good;
	struct unit_functions functions;
};

struct native_lines {
	struct span file;
	uint64_t shift;
	Elf *elf;
	uint8_t *image; /* that it is of, if not of the file */
	Dwarf *dwarf;
	bool begun;
	struct lines_clock clock;
	struct unit_range *ranges; /* by where they begin */
	size_t range_count;
	size_t range_capacity;
	uint64_t longest;
	void *units; /* of struct read_unit */
	struct read_unit *unit;
	uint64_t line_bytes;
	uint64_t unit_bytes;
	struct text paths[NATIVE_LINES_MAX]; /* of what was found last */
};

bool native_lines_are_in(struct span file)
{
	struct elf elf;
	struct span bytes;
	uint64_t address;

	return elf_init(&elf, file) && (elf_section(&elf, ".debug_info", &bytes, &address) ||
					elf_section(&elf, ".zdebug_info", &bytes, &address));
}

struct native_lines *native_lines_create(struct span file, uint64_t shift)
{
	struct native_lines *lines = calloc(1, sizeof(*lines));

	if (lines)
		*lines = (struct native_lines){ .file = file, .shift = shift };
	return lines;
}

static void forget_unit(void *node)
{
	struct read_unit *unit = node;

	free(unit->functions.list);
	free(unit);
}

void native_lines_forget(struct native_lines *lines)
{
	tdestroy(lines->units, forget_unit);
	lines->units = NULL;
	lines->unit = NULL;
	lines->line_bytes = lines->unit_bytes = 0;
	dwarf_end(lines->dwarf);
	lines->dwarf = NULL;
}

void native_lines_destroy(struct native_lines *lines)
{
	if (!lines)
		return;
	native_lines_forget(lines);
	elf_end(lines->elf);
	free(lines->image);
	free(lines->ranges);
	for (size_t i = 0; i < NATIVE_LINES_MAX; i++)
		text_deinit(&lines->paths[i]);
	free(lines);
}

/* Units --------------------------------------------------------------------------------------- */

struct unit_adding {
	struct native_lines *lines;
	struct unit_range unit;
	bool failed;
};

static bool add_range(void *ctx, uint64_t begin, uint64_t end)
{
	struct unit_adding *adding = ctx;
	struct native_lines *lines = adding->lines;

	adding->unit.begin = begin;
	adding->unit.end = end;
	if (end - begin > lines->longest)
		lines->longest = end - begin;
	adding->failed = lines->range_count >= RANGES_MAX ||
			 !vector_add(&lines->ranges, &lines->range_count, &lines->range_capacity,
				     adding->unit);
	return adding->failed;
}

/* Where each unit's code is. What cannot be read ends it. */
static void read_units(struct native_lines *lines)
{
	struct unit_adding adding = { .lines = lines };
	Dwarf_Off at = 0, next, abbreviations;
	Dwarf_Half version;
	size_t header;
	uint8_t address_size, offset_size;

	for (int i = 0; i < UNITS_MAX && !lines_clock_is_over(&lines->clock); i++) {
		Dwarf_Die die;

		if (dwarf_next_unit(lines->dwarf, at, &next, &header, &version, &abbreviations,
				    &address_size, &offset_size, NULL, NULL) != 0 ||
		    next <= at)
			break;
		adding.unit.die = at + header;
		adding.unit.abbreviations = abbreviations;
		adding.unit.size = next - at;
		at = next;
		if (!dwarf_offdie(lines->dwarf, adding.unit.die, &die) ||
		    dwarf_tag(&die) != DW_TAG_compile_unit)
			continue;
		die_each_range(&die, &lines->clock, add_range, &adding);
		if (adding.failed)
			break;
	}
	if (lines->range_count)
		qsort(lines->ranges, lines->range_count, sizeof(*lines->ranges), by_leading_number);
}

static bool open_elf(struct native_lines *lines)
{
	_cleanup_(elf_end_at) Elf *elf = libelf_over(lines->file);
	struct span image = { 0 };
	bool packed;

	if (!elf || !lines_check_file(elf, &packed))
		return false;
	if (packed) {
		lines->image = lines_image_make(elf, &image.size);
		image.start = lines->image;
		lines->elf = lines->image ? libelf_over(image) : NULL;
	} else {
		lines->elf = cleanup_take(elf);
	}
	return lines->elf != NULL;
}

/* libdw cannot go on, and takes no return from here: else it would say so in its own words. */
static __attribute__((noreturn)) void end_without_memory(void)
{
	fputs("place-probe: memory was refused to libdw, which has to end the run for that: run it again with --no-lines, or where there is more memory\n",
	      stderr);
	exit(EXIT_FAILURE);
}

/* Have libdw on the file, for the first time or again. */
static bool begin(struct native_lines *lines)
{
	if (lines->clock.over)
		return false;
	if (lines->line_bytes > KEPT_LINE_BYTES || lines->unit_bytes > KEPT_UNIT_BYTES)
		native_lines_forget(lines);
	if (lines->dwarf)
		return true;
	if (lines->begun && !lines->range_count)
		return false;
	if (!lines->elf && !open_elf(lines))
		lines->clock.over = true;
	if (!lines->clock.over)
		lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	if (lines->dwarf)
		(void)dwarf_new_oom_handler(lines->dwarf, end_without_memory);
	if (lines->dwarf && !lines->begun)
		read_units(lines);
	lines->begun = true;
	return lines->dwarf != NULL;
}

static const struct unit_range *find_unit(const struct native_lines *lines, uint64_t address)
{
	size_t i = sorted_up_to(lines->ranges, lines->range_count, sizeof(*lines->ranges), address);

	/* One that begins before another may go on behind it. */
	while (i-- > 0) {
		const struct unit_range *range = &lines->ranges[i];

		if (address < range->end)
			return range;
		if (address - range->begin >= lines->longest)
			break;
	}
	return NULL;
}

/* Read what is asked of a unit again and again. */
static bool enter_unit(struct native_lines *lines, const struct unit_range *range, Dwarf_Die *die)
{
	uint64_t line_bytes = 0;
	bool is_new;

	if (!dwarf_offdie(lines->dwarf, range->die, die))
		return false;
	lines->unit = tree_take(&lines->units, range->die, sizeof(*lines->unit), &is_new);
	if (!lines->unit || !is_new)
		return lines->unit && lines->unit->good;
	lines->unit->good = lines_check_unit(lines->elf, range, die, &line_bytes) &&
			    unit_functions_read(&lines->unit->functions, die, &lines->clock);
	lines->line_bytes += line_bytes;
	lines->unit_bytes += range->size;
	return lines->unit->good && !lines->clock.over;
}

/* Lines and names ----------------------------------------------------------------------------- */

static const char *function_name(Dwarf_Die *die)
{
	const char *linked = lines_text_of(die, DW_AT_linkage_name);

	if (!linked)
		linked = lines_text_of(die, DW_AT_MIPS_linkage_name);
	return linked ? linked : lines_text_of(die, DW_AT_name);
}

static uint32_t number_of(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	if (!dwarf_attr(die, attribute, &found) || dwarf_formudata(&found, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Where the function of @inlined was called. */
static void take_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct native_line *to)
{
	uint32_t file = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	to->line = number_of(inlined, DW_AT_call_line);
	to->column = number_of(inlined, DW_AT_call_column);
	if (dwarf_hasattr(inlined, DW_AT_call_file) &&
	    dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		to->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void take_line(Dwarf_Die *unit, uint64_t address, struct native_line *to)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line)
		return;
	to->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		to->line = (uint32_t)number;
	if (dwarf_linecol(line, &number) == 0 && number > 0)
		to->column = (uint32_t)number;
}

/*
 * The functions at @address from the outside in, with each the call of the next; then @found is put
 * the other way round. Of more than there is room for those in the middle are left out.
 */
static size_t take_functions(struct native_lines *lines, Dwarf_Die *unit, Dwarf_Die *function,
			     uint64_t address, struct native_line *found)
{
	Dwarf_Die die = *function, inlined;
	size_t count = 1;

	found[0].function = function_name(function);
	while (die_find_inlined(&die, address, &lines->clock, &inlined)) {
		if (count == NATIVE_LINES_MAX)
			memmove(&found[1], &found[2], (--count - 1) * sizeof(*found));
		take_call(unit, &inlined, &found[count - 1]);
		found[count++] = (struct native_line){ .function = function_name(&inlined) };
		die = inlined;
	}
	take_line(unit, address, &found[count - 1]);
	for (size_t i = 0; i < count / 2; i++) {
		struct native_line other = found[i];

		found[i] = found[count - 1 - i];
		found[count - 1 - i] = other;
	}
	return count;
}

/* Some compilers name files from where they were started. */
static void complete_paths(struct native_lines *lines, Dwarf_Die *unit, struct native_line *found,
			   size_t count)
{
	const char *directory = lines_text_of(unit, DW_AT_comp_dir);

	for (size_t i = 0; i < count; i++) {
		struct text *path = &lines->paths[i];

		if (!directory || !found[i].file || found[i].file[0] == '/')
			continue;
		text_clear(path);
		text_printf(path, "%s/%s", directory, found[i].file);
		found[i].file = text_chars(path);
	}
}

/* Whom libdw asks for memory in vain, it ends, in part by assertions of its own. */
static bool memory_is_left(void)
{
	void *some = malloc(LINES_NEED_BYTES);
	bool is_left = some != NULL;

	free(some);
	if (!is_left)
		shortage_note();
	return is_left;
}

/* The unit that has what is @there, read; NULL: there is none. */
static const struct unit_range *unit_at(struct native_lines *lines, uint64_t there, Dwarf_Die *unit)
{
	const struct unit_range *range;

	lines->clock.end_ms = clock_now_ms() + LINES_MAX_MS;
	if (!memory_is_left() || !begin(lines) || lines->clock.over)
		return NULL;
	range = find_unit(lines, there);
	return range && enter_unit(lines, range, unit) ? range : NULL;
}

bool native_lines_function(struct native_lines *lines, uint64_t address,
			   struct function_die *function)
{
	const uint64_t there = address - lines->shift;
	const struct function_range *found;
	const struct unit_range *range;
	Dwarf_Die unit;

	range = unit_at(lines, there, &unit);
	found = range ? unit_functions_find(&lines->unit->functions, there) : NULL;
	if (!found || !dwarf_offdie(lines->dwarf, found->die, &function->die))
		return false;
	function->unit_begin = range->die;
	function->unit_end = range->die + range->size;
	function->clock = &lines->clock;
	return true;
}

size_t native_lines_find(struct native_lines *lines, uint64_t address,
			 struct native_line found[NATIVE_LINES_MAX])
{
	const uint64_t there = address - lines->shift;
	const struct function_range *function;
	Dwarf_Die unit, die;
	size_t count = 0;

	if (!unit_at(lines, there, &unit))
		return 0;
	found[0] = (struct native_line){ 0 };
	function = unit_functions_find(&lines->unit->functions, there);
	if (function && dwarf_offdie(lines->dwarf, function->die, &die)) {
		count = take_functions(lines, &unit, &die, there, found);
		found[count - 1].begin = function->begin + lines->shift;
	} else {
		/* As of assembly, which has lines and no functions. */
		take_line(&unit, there, &found[0]);
		count = found[0].file ? 1 : 0;
	}
	complete_paths(lines, &unit, found, count);
	return count;
}
