// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --watch --async: which sites are of asynchronous methods, on their way to the kernel, and what
 * the programs have counted of whole calls. What they do is bpf/async.bpf.h's.
 */
#include <bpf/bpf.h>
#include <string.h>

#include "capture/capture_internal.h"
#include "follow/follow.h"

enum { LOOKED_AT = 1 << 17 }; /* boxes at a time, at most */

int capture_size_async(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	bool async = capture->options->async;
	const struct programs_map maps[] = {
		{ bpf->maps.async_sites, async ? capture->plan->count + FOLLOW_SITES_MAX : 1 },
		{ bpf->maps.async_totals, async ? ASYNC_METHODS : 1 },
		{ bpf->maps.async_boxes, async ? ASYNC_BOXES : 1 },
	};

	bpf->rodata->watch_async = async;
	return programs_size_maps(maps, sizeof(maps) / sizeof(maps[0]));
}

bool capture_watch_collections(struct capture *capture, struct uprobe_site *site)
{
	if (!capture->collections)
		capture->collections =
			capture_probe_all(capture, capture->bpf->progs.note_collected, site, 1);
	if (capture->collections)
		__atomic_store_n(&capture->bpf->bss->async_counts, 1, __ATOMIC_SEQ_CST);
	return capture->collections;
}

void capture_watch_faults(struct capture *capture, const uint64_t at[ASYNC_HOPS])
{
	memcpy(&capture->bpf->bss->async_fault_at[1], &at[1], (ASYNC_HOPS - 1) * sizeof(at[0]));
	__atomic_store_n(&capture->bpf->bss->async_fault_at[0], at[0], __ATOMIC_SEQ_CST);
}

void capture_unwatch_collections(struct capture *capture)
{
	__atomic_store_n(&capture->bpf->bss->async_counts, 0, __ATOMIC_SEQ_CST);
	uprobes_destroy(capture->collections);
	capture->collections = NULL;
}

void capture_use_async(const struct capture *capture, uint32_t site, const struct async_site *about)
{
	struct async_site *to = &capture->async_sites[site];
	uint16_t kind = about->kind;

	if (to->kind != ASYNC_NONE)
		return;
	*to = *about;
	to->kind = ASYNC_NONE;
	__atomic_store_n(&to->kind, kind, __ATOMIC_RELEASE);
}

struct async_totals capture_async_totals(const struct capture *capture, uint32_t method)
{
	return capture->async_totals[method];
}

/* What is of another epoch is never found again. */
void capture_sweep_async(struct capture *capture)
{
	uint32_t epoch = __atomic_load_n(&capture->bpf->bss->async_epoch, __ATOMIC_SEQ_CST);
	int map = bpf_map__fd(capture->bpf->maps.async_boxes);
	uint64_t key = 0, next;
	bool at_key = false;

	if (epoch == capture->async_swept)
		return;
	capture->async_swept = epoch;
	for (int i = 0; i < LOOKED_AT; i++) {
		struct async_box box;
		bool more = bpf_map_get_next_key(map, at_key ? &key : NULL, &next) == 0;

		/* Not before the next one is known; and more collections may have come by now. */
		if (at_key && bpf_map_lookup_elem(map, &key, &box) == 0 &&
		    (int32_t)(epoch - box.epoch) > 1)
			(void)bpf_map_delete_elem(map, &key);
		if (!more)
			break;
		key = next;
		at_key = true;
	}
}
