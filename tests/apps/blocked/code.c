// SPDX-License-Identifier: GPL-2.0-or-later
/* Code as .NET's runtime has it: written through one view of a file in memory, executed in another. */
#include "blocked.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static uint8_t *code;

void code_map(void)
{
	size_t size = CODE_PAGES * (size_t)PAGE_BYTES;
	int fd = memfd_create("blocked-code", MFD_CLOEXEC);
	uint8_t *view;

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		abort();
	view = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (view == MAP_FAILED || code == MAP_FAILED)
		abort();
	for (uint32_t i = 0; i < CODE_PAGES; i++) {
		/* push %rbx; mov $i, %eax; pop %rbx; ret */
		uint8_t function[] = { 0x53, 0xb8, 0, 0, 0, 0, 0x5b, 0xc3 };

		memcpy(function + 2, &i, sizeof(i));
		memcpy(view + i * (size_t)PAGE_BYTES, function, sizeof(function));
	}
	munmap(view, size);
}

int code_check(void)
{
	int wrong = 0;

	for (int i = 0; i < CODE_PAGES; i++) {
		int (*function)(void);
		uint8_t *at = code + i * (size_t)PAGE_BYTES;

		memcpy(&function, &at, sizeof(function));
		wrong += function() != i;
	}
	return wrong;
}
