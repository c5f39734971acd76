// SPDX-License-Identifier: GPL-2.0-or-later
/* vdso.h: the copy is that of this very process, and what cannot be copied is none. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "target/maps.h"
#include "target/memory.h"
#include "target/vdso.h"

static ssize_t read_own(void *ctx, void *to, size_t size, uint64_t at)
{
	memcpy(to, (const void *)(uintptr_t)at, size);
	*(unsigned int *)ctx += 1;
	return (ssize_t)size;
}

static ssize_t read_nothing(void *ctx, void *to, size_t size, uint64_t at)
{
	(void)ctx, (void)to, (void)size, (void)at;
	return 0;
}

/* The vdso of what is mapped at [start, end), whose memory @read gives. */
static struct vdso read_mapped(uint64_t start, uint64_t end, memory_source read)
{
	struct mapping rows[] = {
		{ .start = { 0x1000 }, .end = { 0x2000 }, .path = "/bin/sh" },
		{ .start = { start }, .end = { end }, .path = VDSO_PATH },
	};
	struct maps maps = { .rows = rows, .count = start ? 2 : 1 };
	struct memory *memory = NULL;
	unsigned int reads = 0;
	struct vdso vdso;

	if (read)
		assert_int_equal(memory_create(&memory, read, &reads, NULL), 0);
	vdso_read(&vdso, &maps, memory);
	memory_destroy(memory);
	return vdso;
}

static uint64_t own_end(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[256];
	uint64_t end = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, VDSO_PATH))
			end = strtoull(strchr(line, '-') + 1, NULL, 16);
	}
	fclose(file);
	return end;
}

UNIT_TEST(own_copy)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), end = own_end(), bias;
	struct vdso vdso = read_mapped(start, end, read_own);
	struct elf elf;

	assert_int_equal(vdso.bytes.size, end - start);
	assert_memory_equal(vdso.bytes.start, (const void *)(uintptr_t)start, end - start);
	assert_int_equal(vdso.start.value, start);
	assert_true(vdso_elf(&vdso, &elf, &bias));
	assert_int_equal(start - bias, elf.segments[0].address);
	vdso_deinit(&vdso);
	assert_false(vdso_elf(&vdso, &elf, &bias));
}

UNIT_TEST(none)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);

	assert_null(read_mapped(0, 0, read_own).bytes.start);
	assert_null(read_mapped(start, start, read_own).bytes.start);
	assert_null(read_mapped(start, start + (64 << 10) + 1, read_own).bytes.start);
	assert_null(read_mapped(start, start + 0x1000, read_nothing).bytes.start);
	assert_null(read_mapped(start, start + 0x1000, NULL).bytes.start);
}

UNIT_MAIN(NULL, NULL)
