// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a breakpoint to a uprobe while hits are counted, for code that is mapped so that uprobes
 * fire there: what the programs are told of it, and of its pages, by session/moving.c and remap.c.
 * See bpf/moving.bpf.h for how each hit counts once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "capture/capture_internal.h"

/* Breakpoints look for the uprobe from now on, or do not any more. */
static int tell_programs(const struct capture *capture, const uint32_t *numbers, size_t count,
			 uint32_t moving)
{
	int fd = bpf_map__fd(capture->bpf->maps.moving_sites), result = 0;

	for (size_t i = 0; i < count && result == 0; i++)
		result = bpf_map_update_elem(fd, &numbers[i], &moving, BPF_ANY) ? -errno : 0;
	return result;
}

static void drop_marks(const struct capture *capture)
{
	int fd = bpf_map__fd(capture->bpf->maps.moving_marks);
	uint64_t thread;

	while (bpf_map_get_next_key(fd, NULL, &thread) == 0) {
		if (bpf_map_delete_elem(fd, &thread))
			break;
	}
}

int capture_announce_move(struct capture *capture, const uint32_t *numbers, size_t count,
			  struct error *err)
{
	int result;

	drop_marks(capture);
	__atomic_store_n(&capture->bpf->bss->moving, 1, __ATOMIC_SEQ_CST);
	result = tell_programs(capture, numbers, count, 1);
	return result ? error_set(err, result, "cannot tell the programs of new probes: %s",
				  strerror(-result)) :
			0;
}

void capture_recall_move(struct capture *capture, const uint32_t *numbers, size_t count)
{
	(void)tell_programs(capture, numbers, count, 0);
}

int capture_move(struct capture *capture, const uint32_t *numbers, size_t count, int private_fd,
		 struct error *err)
{
	const struct plan *plan = capture->plan;
	struct uprobe_site *sites;
	size_t probes = 0;
	int result;

	for (size_t i = 0; i < count; i++)
		probes += site_probe_count(&plan->sites[numbers[i]]);
	sites = calloc(probes + 1, sizeof(*sites));
	if (!sites)
		return error_set(err, -ENOMEM, "no memory for %zu probes", probes);
	probes = 0;
	for (size_t i = 0; i < count; i++)
		probes += capture_list_probes(plan, numbers[i], private_fd, &sites[probes]);
	result = capture_attach_uprobes(capture, sites, probes, err);
	/* It is thought of all that they have one. */
	for (size_t i = 0; i < probes && result == 0; i++) {
		if (sites[i].error)
			result = error_set(
				err, sites[i].error,
				"the kernel refused a probe in code that is private: %s (give --no-remap to do without such)",
				strerror(-sites[i].error));
	}
	if (result == 0)
		capture->uprobe_count += count;
	free(sites);
	return result;
}

void capture_moved(struct capture *capture)
{
	drop_marks(capture);
	__atomic_store_n(&capture->bpf->bss->moving, 0, __ATOMIC_SEQ_CST);
}

/* Pages that are copies, see bpf/copied.bpf.h -------------------------------------------------- */

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
