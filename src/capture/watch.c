// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --watch and --if: the programs that capture values, or filter, on their way to the kernel, by
 * site, and what is still kept there at the end of calls that are under way. What programs do is
 * bpf/watch.h's. And --async: which sites are of asynchronous methods, and what the programs have
 * counted of whole calls.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/thrown.h"
#include "capture/capture_internal.h"
#include "capture/fuse.h"
#include "follow/follow.h"
#include "target/process.h"

enum {
	/* For what is planned, and for what comes later: 25 MB at most. */
	OPS_A_SITE = 2 * WATCH_OPS,
	OPS_MIN = 1 << 14,
	OPS_MAX = 1 << 20,
	CONSTANTS = 1 << 12, /* of all filters */
	LOOKED_AT = 1 << 17, /* boxes at a time, at most */
};

_Static_assert(WATCH_OPS <= UINT8_MAX, "struct watch_program counts them");

/* What of them there is room for, with FOLLOW_SITES_MAX more sites. */
static size_t ops_wanted(const struct capture *capture)
{
	size_t wanted = capture->plan->count * OPS_A_SITE + OPS_MIN;

	return wanted < OPS_MAX ? wanted : OPS_MAX;
}

bool capture_runs_programs(const struct options *options)
{
	return options->mode == MODE_WATCH || options->filter || options->by_value;
}

static int size_async(const struct capture *capture)
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

int capture_size_watch(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	bool watch = capture->options->mode == MODE_WATCH, filters = capture->options->filter;
	bool scratches = filters || capture->options->by_value;
	int result;
	const struct programs_map maps[] = {
		{ bpf->maps.watch_programs, capture->plan->count + FOLLOW_SITES_MAX },
		{ bpf->maps.watch_ops, ops_wanted(capture) },
		{ bpf->maps.watch_constants, filters ? CONSTANTS : 1 },
		{ bpf->maps.watch_slots, watch ? WATCH_CALLS + WATCH_SPARE : 1 },
		{ bpf->maps.watch_free, watch ? WATCH_CALLS + WATCH_SPARE : 1 },
		{ bpf->maps.filter_slots,
		  scratches ? (size_t)capture->cpu_count * FILTER_SCRATCHES : 1 },
	};

	bpf->rodata->watch_values = watch;
	bpf->rodata->thrown_bytes = capture->options->no_values ? 0 : THROWN_MESSAGE_BYTES;
	bpf->rodata->watch_filters = filters;
	bpf->rodata->filters_at_end = capture->options->filter_of_end;
	bpf->rodata->filter_types = capture->options->filter_types;
	result = programs_size_maps(maps, sizeof(maps) / sizeof(maps[0]));
	return result ? result : size_async(capture);
}

bool capture_watch_thrown(struct capture *capture, struct uprobe_site *site)
{
	if (!capture->thrown)
		capture->thrown =
			capture_probe_all(capture, capture->bpf->progs.note_thrown, site, 1);
	return capture->thrown;
}

static void number_constants(struct watch_op *ops, size_t count, uint32_t first)
{
	for (size_t i = 0; i < count; i++) {
		if (ops[i].code == WATCH_IF_SAME_BYTES)
			ops[i].immediate += first;
	}
}

/* Constants are numbered anew, among those of all filters. */
static int add_constants(struct capture *capture, const struct watch_filter_of *filter,
			 struct watch_op *ops, struct watch_op *exit_ops)
{
	const struct bpf_map *map = capture->bpf->maps.watch_constants;
	uint32_t first = (uint32_t)capture->constant_count;

	if (filter->constant_count > bpf_map__max_entries(map) - first)
		return -ENOSPC;
	for (uint32_t i = 0; i < filter->constant_count; i++) {
		const uint32_t number = first + i;

		if (bpf_map_update_elem(bpf_map__fd(map), &number, &filter->constants[i], BPF_ANY))
			return -errno;
	}
	number_constants(ops, filter->ops.count, first);
	number_constants(exit_ops, filter->exit.count, first);
	capture->constant_count += filter->constant_count;
	return 0;
}

static struct watch_op *copy_ops(struct watch_op *to, const struct watch_ops_of *ops)
{
	if (ops->count) {
		memcpy(to, ops->ops, ops->count * sizeof(*to));
		fuse_ops(to, ops->count);
	}
	return to + ops->count;
}

/* Number 0 has no ops: a site without a program has that. */
int capture_add_program(struct capture *capture, const struct watch_filter_of *filter,
			const struct watch_ops_of *entry, const struct watch_ops_of *exit,
			struct watch_program *program)
{
	size_t room = bpf_map__max_entries(capture->bpf->maps.watch_ops);
	size_t count = filter->ops.count + entry->count + exit->count + filter->exit.count;
	struct watch_op *at;

	/* By where it begins a program is known, so each has a place. */
	count += !count;
	if (capture->op_count == 0)
		capture->op_count = 1;
	if (filter->ops.count > WATCH_OPS || filter->exit.count > WATCH_OPS ||
	    entry->count > WATCH_OPS || exit->count > WATCH_OPS || count > room - capture->op_count)
		return -ENOSPC;
	at = copy_ops(capture->ops + capture->op_count, &filter->ops);
	at = copy_ops(copy_ops(at, entry), exit);
	(void)copy_ops(at, &filter->exit);
	if (add_constants(capture, filter, capture->ops + capture->op_count, at))
		return -ENOSPC;
	*program = (struct watch_program){
		.first = (uint32_t)capture->op_count,
		.filter_count = (uint8_t)filter->ops.count,
		.entry_count = (uint8_t)entry->count,
		.exit_count = (uint8_t)exit->count,
		.filter_exit_count = (uint8_t)filter->exit.count,
	};
	capture->op_count += count;
	return 0;
}

void capture_use_program(const struct capture *capture, uint32_t site,
			 const struct watch_program *program)
{
	uint64_t word;

	/* The programs, and who follows methods, read it meanwhile. */
	memcpy(&word, program, sizeof(word));
	__atomic_store_n((uint64_t *)&capture->programs[site], word, __ATOMIC_SEQ_CST);
}

/* The frame of a call that is under way is not below the thread's stack pointer. */
static bool is_left(const struct capture *capture, const struct watch_slot *slot)
{
	const struct hit_event *event = (const struct hit_event *)slot->hit;

	return capture->process->initial_pid_ns &&
	       slot->stack_pointer < process_stack_pointer(capture->process, (pid_t)event->tid);
}

void capture_note_left(const struct capture *capture)
{
	for (size_t i = 0; capture->kept && i < WATCH_CALLS + WATCH_SPARE; i++) {
		struct watch_slot *slot = &capture->kept[i];

		if (slot->use == WATCH_KEPT)
			slot->values.fate = is_left(capture, slot) ? WATCH_UNSEEN : WATCH_RUNNING;
	}
}

void capture_each_kept(const struct capture *capture, uint64_t now_ns,
		       const struct capture_handlers *handlers)
{
	for (size_t i = 0; capture->kept && i < WATCH_CALLS + WATCH_SPARE; i++) {
		struct watch_slot *slot = &capture->kept[i];
		struct hit_event *event = (struct hit_event *)slot->hit;

		if (slot->use != WATCH_KEPT || slot->used > 2 * WATCH_BYTES ||
		    slot->verdict == WATCH_LATER || slot->async.kind != ASYNC_NONE)
			continue;
		event->time_ns = now_ns;
		event->duration_ns =
			slot->values.fate == WATCH_RUNNING && now_ns > slot->entered_ns ?
				now_ns - slot->entered_ns :
				0;
		event->watched = (uint32_t)(sizeof(slot->values) + slot->values.entry_bytes);
		(void)handlers->hit(event, handlers->ctx);
	}
}

struct watch_losses capture_watch_losses(const struct capture *capture)
{
	return capture->bpf->bss->watch_losses;
}

/* Asynchronous calls, see bpf/async.bpf.h ------------------------------------------------------ */

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
