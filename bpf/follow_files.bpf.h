/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that follow what is loaded: they run where the target maps files, and where the
 * dynamic loader has mapped one. The thread is held until place-probe has looked at the file, or
 * the time is up. Frames are small for the reason that follow.bpf.h gives.
 */
#ifndef BPF_FOLLOW_FILES_BPF_H
#define BPF_FOLLOW_FILES_BPF_H

#include <linux/mman.h>

#include "bpf/follow.bpf.h"

/* At mmap(): code of an image is private and executable; the image as a file is only read. */
static __always_inline bool may_map_image(const bpf_user_pt_regs_t *ctx)
{
	__u32 prot = argument_of(ctx, 3), flags = argument_of(ctx, 4);

	if ((__s32)argument_of(ctx, 5) < 0 || flags & MAP_ANONYMOUS || prot & PROT_WRITE)
		return false;
	if ((flags & (MAP_SHARED | MAP_PRIVATE)) == MAP_PRIVATE)
		return prot & PROT_EXEC;
	return prot == PROT_READ;
}

static __always_inline int file_mapped(bpf_user_pt_regs_t *ctx, bool sleeps)
{
	struct mapped_event *event;
	__u64 hold = 0;

	if (!is_followed() || !may_map_image(ctx))
		return 0;
	note_mapping();
	if (sleeps)
		hold = hold_prepare(stack_pointer_of(ctx), follow.image_hold_ns);
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		ADD(follow.lost_other, 1);
		return 0;
	}
	fill_head(&event->head, FOLLOW_MAPPED, hold);
	event->address = argument_of(ctx, 1);
	event->length = argument_of(ctx, 2);
	event->offset = argument_of(ctx, 6);
	event->fd = (__s32)argument_of(ctx, 5);
	event->executable = (argument_of(ctx, 3) & PROT_EXEC) != 0;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	if (sleeps && hold)
		hold_end(hold, hold_wait(hold));
	return 0;
}

SEC("uprobe")
int map_begin(bpf_user_pt_regs_t *ctx)
{
	return file_mapped(ctx, false);
}

SEC("uprobe.s")
int map_begin_held(bpf_user_pt_regs_t *ctx)
{
	return file_mapped(ctx, true);
}

/* Where the dynamic loader lets debuggers look: what it has mapped has not run yet. */
SEC("uprobe.s")
int loader_held(bpf_user_pt_regs_t *ctx)
{
	struct follow_event_head *event;
	__u64 hold;

	if (!is_followed())
		return 0;
	hold = hold_prepare(stack_pointer_of(ctx), follow.image_hold_ns);
	event = bpf_ringbuf_reserve(&follow_events, sizeof(*event), 0);
	if (!event) {
		ADD(follow.lost_other, 1);
		return 0;
	}
	fill_head(event, FOLLOW_LOADED, hold);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	if (hold)
		hold_end(hold, hold_wait(hold));
	return 0;
}

#endif
