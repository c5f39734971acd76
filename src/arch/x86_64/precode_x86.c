// SPDX-License-Identifier: GPL-2.0-or-later
/* The same in .NET 8 to 11. */
#include "code/precode.h"

#include <string.h>

/* jmp *target(%rip); mov method(%rip),%r10; jmp *thunk(%rip) */
static const struct {
	uint8_t at;
	uint8_t size;
	uint8_t bytes[3];
} parts[] = {
	{ 0, 2, { 0xff, 0x25 } },
	{ 6, 3, { 0x4c, 0x8b, 0x15 } },
	{ 13, 2, { 0xff, 0x25 } },
};

enum { METHOD_AT = 9, METHOD_END = 13 };

bool precode_method_slot(struct span code, uint64_t address, uint64_t *slot)
{
	int32_t distance;

	if (code.size < PRECODE_BYTES)
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (memcmp(code.start + parts[i].at, parts[i].bytes, parts[i].size) != 0)
			return false;
	}
	memcpy(&distance, code.start + METHOD_AT, sizeof(distance));
	*slot = address + METHOD_END + (uint64_t)(int64_t)distance;
	return true;
}
