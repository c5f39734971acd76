// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows and ranges that stacks are unwound by (unwind/tables.h), in memory that the programs
 * share: filled as the programs are loaded, and again when the target has loaded more code.
 */
#include <string.h>
#include <unistd.h>

#include "capture/capture_internal.h"
#include "unwind/tables.h"

/* The map comes last: a program that finds one finds all that belongs to it. */
static void set_dotnet(struct unwind_dotnet *to, struct unwind_dotnet dotnet)
{
	const __u64 range_map = dotnet.range_map;

	if (to->range_map == range_map)
		return;
	dotnet.range_map = 0;
	*to = dotnet;
	__atomic_store_n(&to->range_map, range_map, __ATOMIC_RELEASE);
}

/* Likewise, that it is there. */
static void set_v8(struct unwind_v8 *to, struct unwind_v8 v8)
{
	const __u32 present = v8.present;

	if (memcmp(to, &v8, sizeof(v8)) == 0)
		return;
	v8.present = 0;
	*to = v8;
	__atomic_store_n(&to->present, present, __ATOMIC_RELEASE);
}

/*
 * They are written through the kernel's mapping of them: of ours each page is touched for the first
 * time, which in some virtual machines takes 15 us, so that to copy the rows of node took 20 ms.
 */
static void add_rows(struct capture *capture, const struct unwind_row *rows, size_t count)
{
	const size_t from = capture->row_count, bytes = (count - from) * sizeof(*rows);
	struct iovec to = { capture->rows + from, bytes };
	struct iovec what = { (void *)(uintptr_t)(rows + from), bytes };

	/* What may not be, or is no such system call, is done in the usual way. */
	if (process_vm_writev(getpid(), &what, 1, &to, 1, 0) != (ssize_t)bytes)
		memcpy(capture->rows + from, rows + from, bytes);
	capture->row_count = count;
}

/*
 * Frames and rows are only added; ranges are written where no walk looks, but one that began two
 * versions ago and is told so, before walks are sent there.
 */
size_t capture_set_unwind(struct capture *capture, const struct unwind_tables *unwind)
{
	struct unwind_table *table = &capture->bpf->bss->unwind_table;
	const struct unwind_rows *rows = &unwind->rows;
	size_t room = rows->count < capture->row_capacity ? rows->count : capture->row_capacity;
	size_t count = 0;
	uint64_t version = table->version + 1;
	struct unwind_range *half = capture->ranges + (version & 1 ? UNWIND_RANGES_MAX : 0);

	memcpy(capture->bpf->bss->unwind_frames, unwind->frames.frames,
	       unwind->frames.count * sizeof(*unwind->frames.frames));
	if (room > capture->row_count)
		add_rows(capture, rows->rows, room);
	/* Before the first of them, whatever the order in which the compiler and the CPU store. */
	__atomic_store_n(&table->written, version, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = 0; i < unwind->range_count; i++) {
		const struct unwind_range *range = &unwind->ranges[i];

		if ((uint64_t)range->first_row + range->row_count <= room)
			half[count++] = *range;
	}
	set_dotnet(&capture->bpf->bss->unwind_dotnet, unwind->layouts.dotnet);
	set_v8(&capture->bpf->bss->unwind_v8, unwind->layouts.v8);
	table->elsewhere = unwind->elsewhere;
	table->counts[version & 1] = (uint32_t)count;
	__atomic_store_n(&table->version, version, __ATOMIC_RELEASE);
	return rows->count - room;
}

/* How often V8 has moved objects: the walk of its frames notes it. */
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
