// SPDX-License-Identifier: GPL-2.0-or-later
/* The clock of each body: between bodies.c, which gives registers, and what is told of a count. */
#include "registers/bodies.h"

#include "base/clock.h"

uint64_t body_last_hit_ns(const struct body *body, const struct scheduler *scheduler)
{
	int slot = scheduler_slot_of(scheduler, body->number);
	uint64_t last = slot < 0 ? 0 : slot_last_hit_ns(scheduler, slot);

	/* That of whoever had the register before is none of its own. */
	return body->watched && last > body->slice_ns ? last : body->last_hit_ns;
}

void body_note_last_hit(struct body *body, uint64_t last_hit_ns)
{
	struct policy_body turn = { .slice_ns = body->slice_ns, .last_hit_ns = last_hit_ns };

	if (last_hit_ns > body->slice_ns)
		body->last_hit_ns = last_hit_ns;
	body->busy = policy_is_hit(&turn, clock_now_ns());
}

static void end_slice(struct body *body, uint64_t now)
{
	if (body->watched && now > body->slice_ns)
		body->watched_ns += now - body->slice_ns;
	body->slice_ns = now;
}

void body_begin_slice(struct body *body)
{
	end_slice(body, clock_now_ns());
}

void body_note_register(struct body *body, const struct scheduler *scheduler)
{
	bool has = scheduler_has_entry(scheduler, body->number) && !body->draining;

	if (body->left_ns || has == body->watched)
		return;
	end_slice(body, clock_now_ns());
	body->watched = has;
	body->first = has && !body->tried;
	body->tried |= has;
}

void body_leave(struct body *body)
{
	if (body->left_ns)
		return;
	body->left_ns = clock_now_ns();
	end_slice(body, body->left_ns);
	body->watched = false;
}

void body_let_go(struct body *body)
{
	if (body->left_ns)
		return;
	body->added_ns = body->slice_ns = clock_now_ns();
	body->watched_ns = 0;
}

void body_count_from(struct body *body, uint64_t since_ns)
{
	if (body->added_ns >= since_ns)
		return;
	body->added_ns = since_ns;
	body->watched_ns = 0;
	if (body->slice_ns < since_ns)
		body->slice_ns = since_ns;
}

struct body_time body_time(const struct body *body, uint64_t now)
{
	uint64_t end = body->left_ns && body->left_ns < now ? body->left_ns : now;
	struct body_time time = { 0 };

	if (end <= body->added_ns)
		return time;
	time.called_ns = end - body->added_ns;
	time.watched_ns = body->watched_ns;
	if (body->watched && end > body->slice_ns)
		time.watched_ns += end - body->slice_ns;
	if (time.watched_ns > time.called_ns)
		time.watched_ns = time.called_ns;
	return time;
}
