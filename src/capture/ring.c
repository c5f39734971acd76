// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ring buffer of hits: mapping and reading it, and who wakes its reader when. The programs wake
 * it at most once for each time that it sleeps (wakeup_flags() in bpf/send.bpf.h). For consume.c.
 *
 * Each hit has to look how far the reader is. So it does not say so for each: that would bring the
 * target a word from another CPU each time (a hit without a stack took a fifth longer). And what
 * has come since it began to read is left for the next time: who reads what was just written keeps
 * the writer from what it is about to write.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/capture_internal.h"

enum { TOLD_PART = 64 }; /* of the buffer: so much may have been read and not be free yet */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The kernel has a page for how far it is read, one for how far written, and the data twice. */
static size_t written_bytes(const struct capture *capture)
{
	return page_bytes() + 2 * capture->ring.bytes;
}

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
	struct capture_ring *ring = &capture->ring;
	int fd = bpf_map__fd(capture->bpf->maps.events);
	void *read, *written;

	ring->bytes = bpf_map__max_entries(capture->bpf->maps.events);
	read = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (read != MAP_FAILED)
		ring->read = read;
	written =
		mmap(NULL, written_bytes(capture), PROT_READ, MAP_SHARED, fd, (off_t)page_bytes());
	if (written != MAP_FAILED)
		ring->written = written;
	if (!ring->read || !ring->written)
		return error_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
	return open_wakes(capture, fd, err);
}

void capture_close_ring(struct capture *capture)
{
	struct capture_ring *ring = &capture->ring;

	if (ring->read)
		munmap(ring->read, page_bytes());
	if (ring->written)
		munmap((void *)(uintptr_t)ring->written, written_bytes(capture));
	cleanup_close(&capture->wakes_fd);
}

static void tell_read(struct capture_ring *ring, uint64_t at)
{
	__atomic_store_n(ring->read, at, __ATOMIC_RELEASE);
}

int capture_read_ring(struct capture *capture)
{
	struct capture_ring *ring = &capture->ring;
	const char *data = (const char *)ring->written + page_bytes();
	uint64_t at = capture_ring_read(capture), told = at, end = capture_ring_written(capture);
	int result = 0;

	while (at < end && result == 0) {
		const char *record = data + (at & (ring->bytes - 1));
		uint32_t length = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);

		if (length & BPF_RINGBUF_BUSY_BIT)
			break;
		at += (BPF_RINGBUF_HDR_SZ + (length & ~BPF_RINGBUF_DISCARD_BIT) + 7) & ~UINT64_C(7);
		if (!(length & BPF_RINGBUF_DISCARD_BIT))
			result = capture_on_event(capture, record + BPF_RINGBUF_HDR_SZ, length);
		if (at - told >= ring->bytes / TOLD_PART) {
			tell_read(ring, at);
			told = at;
		}
	}
	tell_read(ring, at);
	return result;
}

uint64_t capture_ring_read(const struct capture *capture)
{
	return __atomic_load_n(capture->ring.read, __ATOMIC_ACQUIRE);
}

uint64_t capture_ring_written(const struct capture *capture)
{
	return __atomic_load_n(capture->ring.written, __ATOMIC_ACQUIRE);
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
