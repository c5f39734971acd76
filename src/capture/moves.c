// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the walk of V8's frames needs of the kernel and the target beside tables: where a thread's
 * pointer is, by which its isolate is found, and how often objects have moved. session/stacks.c
 * asks for the second once it knows where.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/capture.h"
#include "capture/capture_internal.h"
#include "image/btf.h"
#include "probe/uprobes.h"

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

uint32_t capture_thread_pointer_at(void)
{
	_cleanup_close_ int fd = open(kernel_types, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	size_t bytes;
	int64_t bits;
	void *types;

	/* Without it threads are in no isolate that is known. */
	if (fd < 0 || fstat(fd, &stat) || stat.st_size <= 0 || stat.st_size > KERNEL_TYPES_MAX)
		return 0;
	bytes = (size_t)stat.st_size;
	types = map_types(fd, bytes);
	if (types == MAP_FAILED)
		return 0;
	bits = btf_member_at((struct span){ types, bytes }, arch.thread_pointer);
	munmap(types, bytes);
	return bits > 0 ? (uint32_t)(bits / 8) : 0;
}

struct uprobes *capture_probe_all(const struct capture *capture, const struct bpf_program *program,
				  struct uprobe_site *sites, size_t count)
{
	struct uprobes *uprobes;
	int result;

	if (uprobes_create(&uprobes, capture->means, bpf_program__fd(program), capture->process,
			   NULL))
		return NULL;
	result = uprobes_attach(uprobes, sites, count, NULL);
	for (size_t i = 0; i < count && result == 0; i++)
		result = sites[i].error;
	if (result == 0)
		return uprobes;
	uprobes_destroy(uprobes);
	return NULL;
}

const struct moves_now *capture_watch_moves(struct capture *capture, struct uprobe_site *sites,
					    size_t count)
{
	struct moves_now *moves = &capture->bpf->bss->v8_moves;

	if (capture->moves)
		return moves;
	capture->moves = capture_probe_all(capture, capture->bpf->progs.note_moves, sites, count);
	if (!capture->moves)
		return NULL;
	/* Not before all are seen. */
	moves->count = (struct event_moves){ 1, 1 };
	return moves;
}

void capture_unwatch_moves(struct capture *capture)
{
	struct event_moves *count = &capture->bpf->bss->v8_moves.count;

	if (!capture->moves)
		return;
	__atomic_fetch_add(&count->all, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&count->old, 1, __ATOMIC_SEQ_CST);
	uprobes_destroy(capture->moves);
	capture->moves = NULL;
}
