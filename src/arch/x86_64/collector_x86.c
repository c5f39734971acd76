// SPDX-License-Identifier: GPL-2.0-or-later
/* GCHeap::SetGCInProgress() of .NET 8, 9 and 10, as clang makes it. */
#include "code/collector_code.h"

#include <string.h>

/* push %rbp; mov %rsp,%rbp; lea GcInProgress(%rip),%rax */
static const uint8_t head[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05 };
/* mov %esi,(%rax); pop %rbp; ret */
static const uint8_t tail[] = { 0x89, 0x30, 0x5d, 0xc3 };

enum { DISPLACEMENT = 4 };

bool collector_code_stores(const uint8_t *code, size_t size)
{
	return size >= sizeof(head) + DISPLACEMENT + sizeof(tail) &&
	       memcmp(code, head, sizeof(head)) == 0 &&
	       memcmp(code + sizeof(head) + DISPLACEMENT, tail, sizeof(tail)) == 0;
}
