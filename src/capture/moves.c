// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the walk of V8's frames needs of the target beside tables: how often objects have moved.
 * session/stacks.c asks for it once it knows where.
 */
#include <stdint.h>

#include "capture/capture_internal.h"

struct uprobes *capture_probe_all(const struct capture *capture, const struct bpf_program *program,
				  struct uprobe_site *sites, size_t count)
{
	struct uprobes *uprobes;
	int result;

	if (uprobes_create(&uprobes, capture->means, programs_fd(capture->loaded, program),
			   capture->process, NULL))
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
