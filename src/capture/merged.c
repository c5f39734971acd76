// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables that the programs count equal stacks in (bpf/merge.bpf.h), as memory: what is read of
 * them costs the target nothing, and no hit is lost while it is. After load.c, for session/.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "capture/capture_internal.h"

enum { TURN_SLOTS = MERGE_SLOTS / 2 /* with so many in use the other table has its turn */ };

bool capture_merges(const struct capture *capture)
{
	return capture->options->mode == MODE_FOLDED;
}

int capture_set_merging(const struct capture *capture)
{
	const struct options *options = capture->options;
	struct place_probe_bpf *bpf = capture->bpf;
	uint64_t secret[2];

	bpf->rodata->note_codes = options_report_hits(options);
	bpf->rodata->merge_stacks = capture_merges(capture);
	bpf->rodata->merge_by_tid = options->by == LATENCY_BY_TID;
	/* Handlers are told by them: for managed stacks, which a record is asked for later. */
	bpf->rodata->merge_frame_pointers =
		options->stack == STACK_MODE_MANAGED || options->record_path;
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return errno ? -errno : -EIO;
	bpf->rodata->merge_secret[0] = secret[0];
	bpf->rodata->merge_secret[1] = secret[1];
	return 0;
}

bool capture_read_merged(const struct capture *capture, uint32_t slot, uint64_t *count)
{
	const struct merge_slot *at = &capture->merged[slot];

	*count = __atomic_load_n(&at->count, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&at->state, __ATOMIC_ACQUIRE) == MERGE_COUNTS;
}

void capture_ask_again(struct capture *capture, uint32_t slot)
{
	__atomic_store_n(&capture->merged[slot].told, 0, __ATOMIC_SEQ_CST);
}

uint64_t capture_unmerged(const struct capture *capture)
{
	return __atomic_load_n(&capture->bpf->bss->merge.full, __ATOMIC_RELAXED);
}

/* Nobody may be about to count in it, and what is known of it must have been read. */
static bool is_at_rest(struct capture *capture)
{
	const struct merge_control *merge = &capture->bpf->bss->merge;

	if (__atomic_load_n(&merge->users[capture->resting], __ATOMIC_SEQ_CST))
		return false;
	if (!capture->rests_at)
		capture->rests_at = capture_ring_written(capture);
	return capture_ring_read(capture) >= capture->rests_at;
}

bool capture_merge_turn(struct capture *capture, uint32_t *table)
{
	struct merge_control *merge = &capture->bpf->bss->merge;
	uint32_t now;

	if (!capture->merged)
		return false;
	if (!capture->is_resting) {
		now = merge->table;
		if (__atomic_load_n(&merge->used[now], __ATOMIC_RELAXED) < TURN_SLOTS)
			return false;
		capture->is_resting = true;
		capture->resting = now;
		capture->rests_at = 0;
		__atomic_store_n(&merge->table, now ^ 1, __ATOMIC_SEQ_CST);
	}
	*table = capture->resting;
	return is_at_rest(capture);
}

void capture_clear_merged(struct capture *capture)
{
	struct merge_slot *first = &capture->merged[capture->resting * MERGE_SLOTS];

	memset(first, 0, MERGE_SLOTS * sizeof(*first));
	__atomic_store_n(&capture->bpf->bss->merge.used[capture->resting], 0, __ATOMIC_SEQ_CST);
	capture->is_resting = false;
}

void capture_code_changed(struct capture *capture)
{
	__atomic_fetch_add(&capture->bpf->bss->merge.mapped, 1, __ATOMIC_SEQ_CST);
}

const uint32_t *capture_code_versions(const struct capture *capture)
{
	return capture->bpf->bss->code_versions;
}
