// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The answers to files that are mapped and to stops of the dynamic loader: from the event loop
 * (follow.c) to loader/, which probes the file, and back to the held thread. And what comes too
 * late for an answer.
 */
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "follow/follow_internal.h"

enum { STARTING_STOPS = 2 /* of a dynamic loader, until the program's own libraries are there */ };

/* Sites of what @event mapped have probes. */
static void note_probed(struct follow *follow, const struct mapped_event *event,
			unsigned int trouble)
{
	const struct loads *loads = follow->loads;
	const struct follow_note said = {
		.type = NOTE_UPROBES,
		.held = event->head.hold != 0,
		.site = loads->latest[0],
		.count = (uint32_t)loads->latest_count,
		.timed_out = trouble & TROUBLE_TIMED_OUT,
		.took_ns = clock_now_ns() - event->head.time_ns,
	};

	if (!loads->latest_count)
		return;
	for (size_t i = 0; i < loads->latest_count; i++)
		sites_add_trouble(follow->messages.sites, loads->latest[i], trouble);
	messages_note(&follow->messages, &said);
}

void answers_mapped(struct follow *follow, const struct mapped_event *event)
{
	bool waits = hold_is_waiting(&follow->messages, event->head.hold);
	int result = loads_mapped(follow->loads, event);
	unsigned int trouble = hold_release(&follow->messages, &event->head);

	atomic_fetch_add(&follow->mapped, event->executable != 0);
	/* Who was not held may have closed the file by then, and may run its code by now. */
	if (event->executable && atomic_load(&follow->messages.counting) &&
	    !messages_is_late(&follow->messages, &event->head) &&
	    (result || (trouble && !follow->loads->latest_count)))
		follow->messages.losses.others++;
	if (event->executable && (!waits || trouble)) {
		follow->missed = *event;
		follow->missed_trouble |= trouble;
	}
	note_probed(follow, event, trouble);
}

void answers_look_again(struct follow *follow)
{
	const struct mapped_event missed = follow->missed;

	if (!missed.executable)
		return;
	loads_missed(follow->loads);
	note_probed(follow, &missed, follow->missed_trouble);
	follow->missed.executable = false;
	follow->missed_trouble = 0;
}

/*
 * Where the loader stops in the beginning, the first time with the program alone or with all of its
 * libraries, the thread that names things gets time to look at what is mapped. Later it might be
 * busy, and nobody is to wait for it.
 */
static bool hand_over(struct follow *follow, const struct follow_event_head *event)
{
	if (!natives_wanted(follow->loads) || follow->stops == STARTING_STOPS)
		return false;
	follow->stops++;
	if (follow->stops == STARTING_STOPS && !follow_has_methods(follow))
		follow->shared->image_hold_ns = follow_image_hold_ns(follow);
	if (!hold_is_waiting(&follow->messages, event->hold))
		return false;
	atomic_store(&follow->looking, event->hold);
	messages_note(&follow->messages, &(struct follow_note){ .type = NOTE_LOOK });
	return true;
}

void answers_loaded(struct follow *follow, const struct follow_event_head *event)
{
	libraries_look(follow);
	if (hand_over(follow, event))
		return;
	/* It may have compiled and loaded already what nobody knows of. */
	if ((!event->hold || !hold_answer(&follow->messages, event->hold, HOLD_RELEASED)) &&
	    !messages_is_late(&follow->messages, event))
		follow->messages.losses.others++;
}

void answers_late(struct follow *follow, const struct follow_event_head *head, size_t size)
{
	const struct compile_event *compiled = (const struct compile_event *)head;

	if (head->type == FOLLOW_MAPPED || head->type == FOLLOW_LOADED)
		follow->late_files = true;
	else if (head->type == FOLLOW_COMPILED && size >= sizeof(*compiled) &&
		 follow->late_count < LATE_MAX)
		follow->late[follow->late_count++] = compiled->code;
}

/* The main thread ----------------------------------------------------------------------------- */

bool follow_waits_for_look(const struct follow *follow)
{
	return atomic_load(&follow->looking) != 0;
}

void follow_let_go(struct follow *follow)
{
	uint64_t hold = atomic_exchange(&follow->looking, 0);

	if (hold)
		(void)hold_answer(&follow->messages, hold, HOLD_RELEASED);
}

uint64_t follow_mapped(const struct follow *follow)
{
	return atomic_load(&follow->mapped);
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
