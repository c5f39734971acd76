// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ring buffer of hits: mapping it, and who wakes its reader when. The programs wake it at most
 * once for each time that it sleeps (wakeup_flags() in bpf/place_probe.bpf.c). For consume.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/error.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/capture_internal.h"

enum { POSITION_PAGES = 2 }; /* the kernel's: of the reader, and of the programs */

/* Where it can be seen that the programs have woken somebody, and not that there is anything. */
static int open_wakes(struct capture *capture, int ring_fd, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	capture->wakes_fd = epoll_create1(EPOLL_CLOEXEC);
	if (capture->wakes_fd < 0 ||
	    epoll_ctl(capture->wakes_fd, EPOLL_CTL_ADD, ring_fd, &event) != 0)
		return error_set(err, -errno, "cannot wait for the ring buffer: %s",
				 strerror(errno));
	return 0;
}

int capture_open_ring(struct capture *capture, struct error *err)
{
	int fd = bpf_map__fd(capture->bpf->maps.events);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *positions;

	capture->ring = ring_buffer__new(fd, capture_on_event, capture, NULL);
	if (!capture->ring)
		return error_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
	positions = mmap(NULL, POSITION_PAGES * page, PROT_READ, MAP_SHARED, fd, 0);
	if (positions == MAP_FAILED)
		return error_set(err, -errno, "cannot map the ring buffer's positions: %s",
				 strerror(errno));
	capture->ring_at = positions;
	return open_wakes(capture, fd, err);
}

void capture_close_ring(struct capture *capture)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (capture->ring_at)
		munmap((void *)(uintptr_t)capture->ring_at, POSITION_PAGES * page);
	if (capture->wakes_fd >= 0)
		close(capture->wakes_fd);
	ring_buffer__free(capture->ring);
}

uint64_t capture_ring_read(const struct capture *capture)
{
	return __atomic_load_n(&capture->ring_at[0], __ATOMIC_ACQUIRE);
}

uint64_t capture_ring_written(const struct capture *capture)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE) / sizeof(*capture->ring_at);

	return __atomic_load_n(&capture->ring_at[page], __ATOMIC_ACQUIRE);
}

/* As the programs have it. */
static bool is_enough(const struct capture *capture, uint64_t bytes)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	bool urgent =
		__atomic_load_n(&bpf->bss->v8_moves.count.all, __ATOMIC_RELAXED) != 0 ||
		(bpf->rodata->max_hits &&
		 __atomic_load_n(&bpf->bss->hits_taken, __ATOMIC_RELAXED) >= bpf->rodata->max_hits);

	return bytes && (urgent || bytes >= bpf->rodata->wakeup_bytes);
}

bool capture_may_sleep(struct capture *capture)
{
	/* First this, then the look: what comes in between is seen here or wakes. */
	__atomic_store_n(&capture->bpf->bss->reader_waits, 1, __ATOMIC_SEQ_CST);
	return !is_enough(capture, capture_ring_written(capture) - capture_ring_read(capture));
}

void capture_wakes(struct capture *capture)
{
	struct epoll_event event;

	(void)epoll_wait(capture->wakes_fd, &event, 1, 0);
	__atomic_store_n(&capture->bpf->bss->reader_waits, 0, __ATOMIC_SEQ_CST);
}
