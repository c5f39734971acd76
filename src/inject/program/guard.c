// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps rows from before they are made private until after they are shared again. */
#include "inject/program/guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static bool same_row(const struct inject_row *a, const struct inject_row *b)
{
	return a->address == b->address && a->length == b->length && a->offset == b->offset &&
	       a->fd == b->fd;
}

static size_t find_row(const struct guard *guard, const struct inject_row *row)
{
	size_t i = 0;

	while (i < guard->count && !same_row(&guard->rows[i], row))
		i++;
	return i;
}

bool guard_add(struct guard *guard, const struct inject_row *rows, size_t count)
{
	if (count > INJECT_GUARDED_MAX - guard->count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (find_row(guard, &rows[i]) == guard->count)
			guard->rows[guard->count++] = rows[i];
	}
	return true;
}

void guard_remove(struct guard *guard, const struct inject_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = find_row(guard, &rows[i]);

		if (at < guard->count)
			guard->rows[at] = guard->rows[--guard->count];
	}
}

/*
 * As many of them as go into one burst, the last ones; those that are not there any more are
 * forgotten.
 */
static size_t take_rows(struct guard *guard, struct subject *subject, struct inject_row *rows)
{
	struct row_state states[INJECT_ROWS_MAX];
	size_t wanted = guard->count < INJECT_ROWS_MAX ? guard->count : INJECT_ROWS_MAX, kept = 0;

	memcpy(rows, &guard->rows[guard->count - wanted], wanted * sizeof(*rows));
	if (!subject_rows(subject, rows, wanted, states))
		memset(states, 0, sizeof(states));
	for (size_t i = 0; i < wanted; i++) {
		if (states[i].expected)
			rows[kept++] = rows[i];
	}
	guard->count -= wanted;
	memcpy(&guard->rows[guard->count], rows, kept * sizeof(*rows));
	guard->count += kept;
	return kept;
}

enum inject_result guard_restore(struct guard *guard, struct subject *subject,
				 struct inject_answer *answer, burst_abort abort, void *ctx)
{
	struct inject_row rows[INJECT_ROWS_MAX];
	enum inject_result result = INJECT_DONE;

	while (guard->count && result == INJECT_DONE) {
		size_t count;

		result = subject_look(subject, &answer->detail);
		if (result)
			break;
		count = take_rows(guard, subject, rows);
		for (size_t i = 0; i < count; i++)
			answer->copies += subject_copies(subject, &rows[i], NULL);
		result = burst_run(subject, rows, count, true, answer, abort, ctx);
		if (result == INJECT_DONE)
			guard->count -= count;
	}
	if (result == INJECT_GONE)
		guard->count = 0;
	return result == INJECT_GONE ? INJECT_DONE : result;
}

bool guard_sees_probes(const struct guard *guard, struct subject *subject)
{
	int detail;

	if (subject_look(subject, &detail))
		return false;
	for (size_t i = 0; i < guard->count; i++) {
		char name[32];
		_cleanup_close_ int fd = -1;

		snprintf(name, sizeof(name), "fd/%d", guard->rows[i].fd);
		fd = subject_open(subject, subject->view, name, O_RDONLY);
		if (fd >= 0 && subject_copies(subject, &guard->rows[i], &fd))
			return true;
	}
	return false;
}
