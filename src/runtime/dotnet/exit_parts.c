// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts of a body that code/exits.h looks for exits in, for bodies.c and follow.c.
 */
#include "runtime/dotnet/exit_parts.h"

#include "image/pe.h"
#include "runtime/dotnet/codeheap.h"
#include "runtime/dotnet/r2r.h"

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

int r2r_find_exits(struct exits *exits, const struct pe *pe, const struct r2r_body *body,
		   struct error *err)
{
	struct exit_part parts[EXITS_PARTS_MAX];
	const struct exit_body exit_body = {
		.parts = parts,
		.part_count = exit_parts_precompiled(pe, body, parts),
		.unwound_by_code = true,
		.read = exit_read_pe,
		.ctx = (void *)(uintptr_t)pe, /* which is only read */
	};

	return exits_find(exits, &exit_body, err);
}

size_t exit_parts_unwound(struct address code, struct span bytes, struct span unwinds,
			  struct exit_part parts[EXITS_PARTS_MAX])
{
	struct cursor cursor = cursor_over(unwinds);
	size_t count = unwinds.size / CODE_UNWIND_BYTES;
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

size_t exit_parts_compiled(const struct clr *clr, struct address code, struct span bytes,
			   struct exit_part parts[EXITS_PARTS_MAX])
{
	struct look look = look_into(clr->memory);
	uint64_t header = look_u64(&look, code.value - CODE_HEADER_BYTES);
	uint32_t count = clr_u32(clr, &look, header, CODE_UNWIND_COUNT);
	uint64_t at = clr_field(clr, &look, header, CODE_UNWINDS);
	uint8_t unwinds[EXITS_PARTS_MAX * CODE_UNWIND_BYTES];
	struct span list = { .start = unwinds };

	if (look.bad || count > EXITS_PARTS_MAX)
		return 0;
	list.size = (size_t)count * CODE_UNWIND_BYTES;
	look_copy(&look, at, unwinds, list.size);
	return look.bad ? 0 : exit_parts_unwound(code, bytes, list, parts);
}

bool exit_read_pe(void *ctx, uint64_t at, void *to, size_t size)
{
	return at <= UINT32_MAX &&
	       span_copy(pe_bytes(ctx, (struct rva){ (uint32_t)at }, (uint32_t)size), to, size);
}

bool exit_read_memory(void *ctx, uint64_t at, void *to, size_t size)
{
	struct look look = look_into(ctx);

	look_copy(&look, at, to, size);
	return !look.bad;
}
