// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel's description of itself says: where a task's thread pointer is, by which the walk
 * of V8's frames finds a thread's isolate, and whether a mapping outlives what fails to replace it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "image/btf.h"
#include "probe/programs.h"

/* Where the kernel has its own types. */
static const char kernel_types[] = "/sys/kernel/btf/vmlinux";

enum { KERNEL_TYPES_MAX = 64 << 20 };

/* As long as there is more, which comes a page at a time. */
static bool read_all(int fd, uint8_t *to, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t got = pread(fd, to + at, bytes - at, (off_t)at);

		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

/* Linux 6.16 and later map them; before, they are copied. For munmap(); MAP_FAILED: neither. */
static void *map_types(int fd, size_t bytes)
{
	void *types = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);

	if (types != MAP_FAILED)
		return types;
	types = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (types != MAP_FAILED && !read_all(fd, types, bytes)) {
		munmap(types, bytes);
		return MAP_FAILED;
	}
	return types;
}

/* As btf_member_at(), of the kernel. */
static int64_t member_at(const char *const *path)
{
	_cleanup_close_ int fd = open(kernel_types, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	size_t bytes;
	int64_t bits;
	void *types;

	if (fd < 0 || fstat(fd, &stat) || stat.st_size <= 0 || stat.st_size > KERNEL_TYPES_MAX)
		return -1;
	bytes = (size_t)stat.st_size;
	types = map_types(fd, bytes);
	if (types == MAP_FAILED)
		return -1;
	bits = btf_member_at((struct span){ types, bytes }, path);
	munmap(types, bytes);
	return bits;
}

uint32_t programs_thread_pointer_at(void)
{
	/* Without it threads are in no isolate that is known. */
	int64_t bits = member_at(arch.thread_pointer);

	return bits > 0 ? (uint32_t)(bits / 8) : 0;
}

bool programs_keep_replaced(void)
{
	/* What is to be unmapped is gathered in it first, and put back (mm/vma.c, from 6.12 on). */
	return member_at((const char *const[]){ "vma_munmap_struct", "vma_count", NULL }) >= 0;
}
