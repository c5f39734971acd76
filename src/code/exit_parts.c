// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/exit_parts.h"

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

bool exit_read_copy(void *ctx, uint64_t at, void *to, size_t size)
{
	const struct exit_copy *from = ctx;

	return span_copy(span_part(from->bytes, at - from->begin, size), to, size);
}
