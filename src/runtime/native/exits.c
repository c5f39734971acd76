// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the calls of a function end, for find.c if calls are timed. */
#include "runtime/native/exits.h"

#include "image/cfi.h"
#include "image/elf.h"
#include "runtime/native/name.h"
#include "runtime/native/symbols.h"

enum { COLD_PARTS_MAX = 8 /* of one function */ };

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
		.read = exit_read_elf,
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

bool exit_read_elf(void *ctx, uint64_t at, void *to, size_t size)
{
	return span_copy(elf_bytes(ctx, at, size), to, size);
}
