// SPDX-License-Identifier: GPL-2.0-or-later
/* GCHeap::SetGCInProgress() of .NET 8 to 11, as clang makes it. */
#include "code/collector_code.h"

#include <string.h>

enum { DISPLACEMENT = 4 };

struct form {
	uint8_t head_bytes, tail_bytes;
	uint8_t head[7], tail[4]; /* with the displacement of GcInProgress in between */
};

static const struct form forms[] = {
	/* push %rbp; mov %rsp,%rbp; lea GcInProgress(%rip),%rax; mov %esi,(%rax); pop %rbp; ret */
	{ 7, 4, { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05 }, { 0x89, 0x30, 0x5d, 0xc3 } },
	/* .NET 11: push %rbp; mov %rsp,%rbp; mov %esi,GcInProgress(%rip); pop %rbp; ret */
	{ 6, 2, { 0x55, 0x48, 0x89, 0xe5, 0x89, 0x35 }, { 0x5d, 0xc3 } },
};

static bool is_form(const struct form *form, const uint8_t *code, size_t size)
{
	size_t tail = form->head_bytes + DISPLACEMENT;

	return size >= tail + form->tail_bytes && memcmp(code, form->head, form->head_bytes) == 0 &&
	       memcmp(code + tail, form->tail, form->tail_bytes) == 0;
}

bool collector_code_stores(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (is_form(&forms[i], code, size))
			return true;
	}
	return false;
}
