// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs are told of pages that are copies, and what they say of those: between
 * session/remap.c and bpf/copied.bpf.h.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "capture/capture_internal.h"

enum { PAGE_BITS = 12 };

int capture_add_copy(struct capture *capture, uint64_t address, struct error *err)
{
	int fd = bpf_map__fd(capture->bpf->maps.copied_pages);
	struct follow_shared *shared = &capture->bpf->bss->follow;
	uint64_t page = address >> PAGE_BITS;
	uint32_t one = 1;

	if (bpf_map_update_elem(fd, &page, &one, BPF_NOEXIST) == 0)
		__atomic_fetch_add(&shared->copied, 1, __ATOMIC_SEQ_CST);
	else if (errno != EEXIST)
		return error_set(err, -errno, "cannot note that the page of 0x%llx has probes: %s",
				 (unsigned long long)address, strerror(errno));
	return 0;
}

uint64_t capture_overwritten(const struct capture *capture)
{
	return __atomic_load_n(&capture->bpf->bss->follow.overwritten, __ATOMIC_SEQ_CST);
}

uint64_t capture_forget_copies(struct capture *capture)
{
	struct follow_shared *shared = &capture->bpf->bss->follow;

	__atomic_store_n(&shared->copied, 0, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&shared->overwritten_late, __ATOMIC_SEQ_CST);
}

uint64_t capture_compilations(const struct capture *capture)
{
	return __atomic_load_n(&capture->bpf->bss->follow.compilations, __ATOMIC_SEQ_CST);
}
