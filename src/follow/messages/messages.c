// SPDX-License-Identifier: GPL-2.0-or-later
/* How the follower answers held threads, and tells the main thread: the last step of each event. */
#include "follow/messages/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "follow/messages/sites.h"

int messages_init(struct messages *messages, struct follow_shared *shared, size_t first_site,
		  struct error *err)
{
	*messages = (struct messages){ .shared = shared, .notes = { -1, -1 } };
	if (pipe2(messages->notes, O_CLOEXEC | O_NONBLOCK) != 0)
		return error_set(err, -errno, "cannot open a pipe: %s", strerror(errno));
	return sites_create(&messages->sites, first_site, err);
}

void messages_deinit(struct messages *messages)
{
	sites_destroy(messages->sites);
	cleanup_close(&messages->notes[0]);
	cleanup_close(&messages->notes[1]);
}

void messages_note(struct messages *messages, const struct follow_note *note)
{
	ssize_t written = write(messages->notes[1], note, sizeof(*note));

	(void)written;
}

struct hold *hold_of(const struct messages *messages, uint64_t hold)
{
	return &messages->shared->holds[hold & (FOLLOW_HOLDS - 1)];
}

bool hold_answer(const struct messages *messages, uint64_t hold, enum hold_state state)
{
	__u64 waiting = hold << HOLD_STATE_BITS | HOLD_WAITING;

	return __atomic_compare_exchange_n(&hold_of(messages, hold)->word, &waiting,
					   hold << HOLD_STATE_BITS | state, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

bool hold_is_waiting(const struct messages *messages, uint64_t hold)
{
	__u64 found = __atomic_load_n(&hold_of(messages, hold)->word, __ATOMIC_SEQ_CST);

	return hold && (found == (hold << HOLD_STATE_BITS | HOLD_WAITING) ||
			found == (hold << HOLD_STATE_BITS | HOLD_COPY));
}

bool messages_is_late(const struct messages *messages, const struct follow_event_head *head)
{
	uint64_t ended_ns = atomic_load(&messages->ended_ns);

	return ended_ns && head->time_ns >= ended_ns;
}

unsigned int hold_release(const struct messages *messages, const struct follow_event_head *head)
{
	bool in_time = head->hold && hold_answer(messages, head->hold, HOLD_RELEASED);

	/* Nothing counts yet, or any more. */
	if (in_time || !atomic_load(&messages->counting) || messages_is_late(messages, head))
		return 0;
	return head->hold ? TROUBLE_TIMED_OUT : TROUBLE_NOT_HELD;
}
