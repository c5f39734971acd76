// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the walk of V8's frames needs of the kernel and the target beside tables: where a thread's
 * pointer is, by which its isolate is found, and how often objects have moved. session/stacks.c
 * asks for the second once it knows where.
 */
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "arch/arch.h"
#include "base/error.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/capture.h"
#include "capture/capture_internal.h"
#include "probe/uprobes.h"

/* In bits, from the beginning of structure @type; its type goes into @type. -1: it is not there. */
static int64_t member_at(const struct btf *btf, uint32_t *type, const char *name)
{
	const struct btf_type *found = btf__type_by_id(btf, *type);
	const struct btf_member *members;

	if (!found || !btf_is_composite(found))
		return -1;
	members = btf_members(found);
	for (uint16_t i = 0; i < btf_vlen(found); i++) {
		const char *called = btf__name_by_offset(btf, members[i].name_off);

		if (!called || strcmp(called, name) != 0)
			continue;
		*type = members[i].type;
		return btf_member_bit_offset(found, i);
	}
	return -1;
}

uint32_t capture_thread_pointer_at(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int32_t task = btf ? btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) : -1;
	uint32_t type = (uint32_t)task;
	int64_t bits = 0;

	for (size_t i = 0; task > 0 && bits >= 0 && arch.thread_pointer[i]; i++) {
		int64_t at = member_at(btf, &type, arch.thread_pointer[i]);

		bits = at < 0 ? at : bits + at;
	}
	btf__free(btf);
	/* Without it threads are in no isolate that is known. */
	return task > 0 && bits > 0 ? (uint32_t)(bits / 8) : 0;
}

static bool attach_all(struct uprobes *uprobes, struct uprobe_site *sites, size_t count)
{
	if (uprobes_attach(uprobes, sites, count, NULL))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (sites[i].error)
			return false;
	}
	return true;
}

const struct moves_now *capture_watch_moves(struct capture *capture, struct uprobe_site *sites,
					    size_t count)
{
	struct moves_now *moves = &capture->bpf->bss->v8_moves;

	if (capture->moves)
		return moves;
	if (uprobes_create(&capture->moves, capture->means,
			   bpf_program__fd(capture->bpf->progs.note_moves), capture->process, NULL))
		return NULL;
	if (!attach_all(capture->moves, sites, count)) {
		uprobes_destroy(capture->moves);
		capture->moves = NULL;
		return NULL;
	}
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
