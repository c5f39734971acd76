// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a pattern to bodies: for native.c, of what is mapped, and of what the follower sees before
 * it is. If calls are timed, with where they end.
 */
#include "runtime/native/find.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "image/cfi.h"
#include "base/text.h"
#include "method/pattern.h"
#include "runtime/native/name_filter.h"
#include "target/target.h"

enum { COLD_PARTS_MAX = 8 /* of one function */ };

/* For struct exit_body: tables in a file; @ctx is its struct elf. */
static bool read_elf(void *ctx, uint64_t at, void *to, size_t size)
{
	return span_copy(elf_bytes(ctx, at, size), to, size);
}

/* Exits --------------------------------------------------------------------------------------- */

/*
 * NativeAOT's code is in a section of its own, and its runtime looks at that as .NET's other one
 * does (src/coreclr/nativeaot/Runtime/unix/UnixNativeCodeManager.cpp,
 * TrailingEpilogueInstructionsCount()).
 */
static bool is_managed(const struct elf *elf, uint64_t address)
{
	struct span code;
	uint64_t begin;

	return elf_section(elf, "__managedcode", &code, &begin) && address - begin < code.size;
}

static struct exit_part part_of_symbol(const struct elf *elf, const struct native_symbol *symbol,
				       enum exit_part_kind kind)
{
	return (struct exit_part){
		.code = elf_bytes(elf, symbol->begin, symbol->size),
		.begin = symbol->begin,
		.kind = kind,
	};
}

/* The part at @address that a function goes on in. False: none, or another function. */
static bool find_cold_at(const struct elf *elf, struct native_symbols *symbols, uint64_t address,
			 bool with_frame, struct exit_part *part)
{
	const struct native_symbol *symbol = native_symbols_find(symbols, address);

	if (symbol && !native_name_is_part(symbol->name))
		return false;
	if (symbol) {
		*part = part_of_symbol(elf, symbol, EXIT_PART_COLD);
		return true;
	}
	/* Its name was taken out. Nobody goes to another function with a frame up. */
	part->kind = EXIT_PART_COLD;
	part->code = with_frame ? eh_frame_code(elf, address, &part->begin) : (struct span){ 0 };
	return part->code.start;
}

/* Where @exits says that the function goes on outside its parts. */
static bool find_cold(const struct exits *exits, const struct elf *elf,
		      struct native_symbols *symbols, struct exit_part *part)
{
	if (exits->refusal == EXITS_LEAVES_FRAME)
		return find_cold_at(elf, symbols, exits->refused_target, true, part);
	for (size_t i = 0; i < exits->count; i++) {
		const struct exit_site *site = &exits->sites[i];

		if ((site->kind == EXIT_JUMP || site->kind == EXIT_BRANCH) &&
		    find_cold_at(elf, symbols, site->target, false, part))
			return true;
	}
	return false;
}

int native_find_exits(struct exits *exits, const struct elf *elf, struct native_symbols *symbols,
		      const struct native_symbol *function, struct error *err)
{
	struct exit_part parts[1 + COLD_PARTS_MAX] = {
		part_of_symbol(elf, function, EXIT_PART_HOT),
	};
	struct exit_body body = {
		.parts = parts,
		.part_count = 1,
		.unwound_by_code = is_managed(elf, function->begin),
		.read = read_elf,
		.ctx = (void *)(uintptr_t)elf, /* which is only read */
	};
	int result;

	for (;;) {
		result = exits_find(exits, &body, err);
		if (result || body.part_count == 1 + COLD_PARTS_MAX ||
		    !find_cold(exits, elf, symbols, &parts[body.part_count]))
			return result;
		body.part_count++;
	}
}

/* Bodies -------------------------------------------------------------------------------------- */

/*
 * A probe that is not on the first byte of an instruction destroys the target, and a symbol is only
 * a word. .eh_frame, where it says anything of the place, must say that a function begins there;
 * else all of the function must decode.
 */
static int begins_function(struct native_search *search, const struct native_symbol *symbol,
			   bool *begins, struct error *err)
{
	const struct exit_part part = part_of_symbol(&search->elf, symbol, EXIT_PART_HOT);
	const struct exit_body body = {
		.parts = &part,
		.part_count = 1,
		.read = read_elf,
		.ctx = &search->elf,
	};
	uint64_t begin;
	int result;

	*begins = eh_frame_function(&search->elf, symbol->begin).start != NULL;
	if (*begins || eh_frame_code(&search->elf, symbol->begin, &begin).start)
		return 0;
	result = exits_find(&search->of_unlisted, &body, err);
	*begins = result == 0 && search->of_unlisted.refusal != EXITS_UNREADABLE &&
		  search->of_unlisted.refusal != EXITS_TOO_LARGE &&
		  search->of_unlisted.refusal != EXITS_UNDECODABLE &&
		  search->of_unlisted.refusal != EXITS_INTO_INSTRUCTION;
	return result;
}

/* Exits are placed by their distance from the entry, which must be the same in the file. */
static bool exits_in_segment(const struct elf *elf, const struct exits *exits, uint64_t entry,
			     struct file_offset offset)
{
	for (size_t i = 0; i < exits->count; i++) {
		struct file_offset at;

		if (!elf_code_offset(elf, exits->sites[i].at, &at) ||
		    at.value - offset.value != exits->sites[i].at - entry)
			return false;
	}
	return true;
}

static int find_exits(struct native_search *search, const struct native_symbol *symbol,
		      struct method_body *body, struct error *err)
{
	int result = native_find_exits(&search->exits, &search->elf, search->symbols, symbol, err);

	if (result)
		return result;
	if (exits_in_segment(&search->elf, &search->exits, symbol->begin, body->offset))
		body->exits = &search->exits;
	body->exits_entry = symbol->begin;
	return 0;
}

uint64_t native_module(const struct elf *elf, uint64_t place)
{
	struct span id = build_id_of(elf);

	if (id.start)
		return hash_bytes(HASH_START, id.start, id.size) | 1;
	return place ? hash_number(HASH_START, place) | 1 : 0;
}

/* By its address as linked, whatever it is called; none where that is beyond what tokens hold. */
static struct method_id identify(struct native_search *search, const struct native_symbol *symbol)
{
	struct method_id id = { .runtime = RUNTIME_NATIVE };

	if (symbol->begin > UINT32_MAX)
		return id;
	if (search->module_of != search->elf.file.start) {
		search->module_of = search->elf.file.start;
		search->module = native_module(&search->elf, search->place);
	}
	id.module = search->module;
	id.token = (uint32_t)symbol->begin;
	return id;
}

static struct address address_of(const struct native_search *search, struct file_offset offset)
{
	const struct target *target = search->target;

	return target ? target_address(target, target_file(target, search->file), offset) :
			(struct address){ 1 };
}

static int add_function(struct native_search *search, const struct native_symbol *symbol,
			struct error *err)
{
	const struct body_code code = {
		.bytes = elf_bytes(&search->elf, symbol->begin, symbol->size),
	};
	struct method_body body = {
		.method = text_chars(&search->name.shown),
		.image = search->image,
		.id = identify(search, symbol),
		.traits = { .single = true },
		.tier = TIER_NATIVE,
		.state = STATE_CURRENT,
		.final = true,
		.sources = 1u << NAME_SOURCE_SYMBOLS,
		.absent = symbol->indirect ? BODY_INDIRECT : BODY_PRESENT,
		.file = search->file,
		.size = symbol->size > UINT32_MAX ? UINT32_MAX : (uint32_t)symbol->size,
		.code = &code,
		.code_count = 1,
	};
	int result = 0;

	search->matched++;
	if (elf_code_offset(&search->elf, symbol->begin, &body.offset)) {
		body.address = address_of(search, body.offset);
		result = begins_function(search, symbol, &body.function_start, err);
		if (result == 0 && search->timed && body.function_start)
			result = find_exits(search, symbol, &body, err);
	}
	return result ? result : search->fn(&body, search->ctx);
}

static int match(struct native_search *search, const struct native_symbol *symbol,
		 struct error *err)
{
	int result = native_name_read(&search->name, symbol->name);

	if (result)
		return error_set(err, result, "no memory for the name of a function");
	result = pattern_matches_native(search->pattern, search->name.forms, search->name.count,
					err);
	return result > 0 ? add_function(search, symbol, err) : result;
}

int native_search_run(struct native_search *search, struct error *err)
{
	_cleanup_free_ struct native_symbol *symbols = NULL;
	struct name_filter filter;
	size_t count = 0;
	int result = 0;

	name_filter_init(&filter, pattern_native_literals(search->pattern));
	if (search->symbols)
		result = native_symbols_pick(search->symbols, &filter, &symbols, &count);
	if (result)
		return error_set(err, result, "no memory for the names of native functions");
	for (size_t i = 0; i < count && result == 0; i++)
		result = match(search, &symbols[i], err);
	return result;
}

void native_search_deinit(struct native_search *search)
{
	exits_deinit(&search->exits);
	exits_deinit(&search->of_unlisted);
	native_name_deinit(&search->name);
}
