// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After the follower's thread: what comes up when calls are not counted any more, and is reported
 * until the target has been looked at. The session's verdict asks for it.
 */
#include <bpf/libbpf.h>

#include "follow/follow_internal.h"

void late_note(struct follow *follow, const struct follow_event_head *head, size_t size)
{
	const struct compile_event *compiled = (const struct compile_event *)head;

	if (head->type == FOLLOW_MAPPED || head->type == FOLLOW_LOADED)
		follow->late_files = true;
	else if (head->type == FOLLOW_COMPILED && size >= sizeof(*compiled) &&
		 follow->late_count < LATE_MAX)
		follow->late[follow->late_count++] = compiled->code;
}

void follow_look_back(struct follow *follow)
{
	if (follow->ended)
		ring_buffer__consume(follow->ring);
	__atomic_store_n(&follow->shared->following, 0, __ATOMIC_SEQ_CST);
}

bool follow_came_late(const struct follow *follow, const struct site *site)
{
	/* Which code is in a file that was mapped, nobody has looked. */
	if (tier_is_precompiled(site->tier))
		return follow->late_files;
	for (size_t i = 0; i < follow->late_count; i++) {
		if (follow->late[i] == site->address.value)
			return true;
	}
	return false;
}
