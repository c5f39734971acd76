// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/exit_parts.h"

#include <string.h>

#include "runtime/dotnet/clr.h"
#include "runtime/dotnet/r2r.h"
#include "image/eh_frame.h"
#include "image/elf.h"
#include "image/pe.h"
#include "runtime/native/symbols.h"
#include "target/memory.h"

enum {

	COLD_PARTS_MAX = 8, /* of one native function */
};

size_t exit_parts_precompiled(const struct pe *pe, const struct r2r_body *body,
			      struct exit_part parts[EXITS_PARTS_MAX])
{
	struct r2r_part list[EXITS_PARTS_MAX];
	size_t count = r2r_body_parts(body, list, EXITS_PARTS_MAX);

	for (size_t i = 0; i < count && i < EXITS_PARTS_MAX; i++) {
		parts[i] = (struct exit_part){
			.code = pe_bytes(pe, list[i].rva, list[i].size),
			.begin = list[i].rva.value,
			.kind = list[i].funclet ? EXIT_PART_HANDLER :
				list[i].cold	? EXIT_PART_COLD :
						  EXIT_PART_HOT,
		};
	}
	return count;
}

size_t exit_parts_compiled(const struct clr *clr, struct address code, struct span bytes,
			   struct exit_part parts[EXITS_PARTS_MAX])
{
	struct look look = look_into(clr->memory);
	uint64_t header = look_u64(&look, code.value - EXIT_CODE_HEADER_BYTES);
	uint32_t count = clr_u32(clr, &look, header, CODE_UNWIND_COUNT);
	uint64_t at = clr_field(clr, &look, header, CODE_UNWINDS);
	uint8_t unwinds[EXITS_PARTS_MAX * EXIT_UNWIND_BYTES];

	if (look.bad || count > EXITS_PARTS_MAX)
		return 0;
	look_copy(&look, at, unwinds, (size_t)count * EXIT_UNWIND_BYTES);
	if (look.bad)
		return 0;
	return exit_parts_unwound(
		code, bytes, (struct span){ unwinds, (size_t)count * EXIT_UNWIND_BYTES }, parts);
}

size_t exit_parts_unwound(struct address code, struct span bytes, struct span unwinds,
			  struct exit_part parts[EXITS_PARTS_MAX])
{
	struct cursor cursor = cursor_over(unwinds);
	size_t count = unwinds.size / EXIT_UNWIND_BYTES;
	uint32_t first = 0, done = 0;

	if (count > EXITS_PARTS_MAX)
		return 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t begin = cursor_u32(&cursor), end = cursor_u32(&cursor);

		cursor_u32(&cursor); /* the unwind information itself */
		first = i == 0 ? begin : first;
		begin -= first;
		end -= first;
		/* They are in the order of their code. */
		if (cursor.bad || begin < done || end <= begin || end > bytes.size)
			return 0;
		parts[i] = (struct exit_part){
			.code = { bytes.start + begin, end - begin },
			.begin = code.value + begin,
			.kind = i == 0 ? EXIT_PART_HOT : EXIT_PART_HANDLER,
		};
		done = end;
	}
	return count;
}

static bool is_cold(const struct native_symbol *symbol)
{
	return strstr(symbol->name, ".cold") != NULL;
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
static bool find_cold_at(const struct elf *elf, const struct native_symbols *symbols,
			 uint64_t address, bool with_frame, struct exit_part *part)
{
	const struct native_symbol *symbol = native_symbols_find(symbols, address);

	if (symbol && !is_cold(symbol))
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
		      const struct native_symbols *symbols, struct exit_part *part)
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

int exit_find_native(struct exits *exits, const struct elf *elf,
		     const struct native_symbols *symbols, const struct native_symbol *function,
		     struct error *err)
{
	struct exit_part parts[1 + COLD_PARTS_MAX] = {
		part_of_symbol(elf, function, EXIT_PART_HOT),
	};
	struct exit_body body = {
		.parts = parts,
		.part_count = 1,
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

static bool copy(struct span bytes, void *to, size_t size)
{
	if (!bytes.start)
		return false;
	memcpy(to, bytes.start, size);
	return true;
}

bool exit_read_pe(void *ctx, uint64_t at, void *to, size_t size)
{
	return at <= UINT32_MAX &&
	       copy(pe_bytes(ctx, (struct rva){ (uint32_t)at }, (uint32_t)size), to, size);
}

bool exit_read_elf(void *ctx, uint64_t at, void *to, size_t size)
{
	return copy(elf_bytes(ctx, at, size), to, size);
}

bool exit_read_copy(void *ctx, uint64_t at, void *to, size_t size)
{
	const struct exit_copy *from = ctx;

	return copy(span_part(from->bytes, at - from->begin, size), to, size);
}

bool exit_read_memory(void *ctx, uint64_t at, void *to, size_t size)
{
	struct look look = look_into(ctx);

	look_copy(&look, at, to, size);
	return !look.bad;
}
