// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where calls of a new body end, for compilations.c. Its code is not yet in its place when its
 * thread is held: it is copied from where the JIT has written it, with what describes its parts.
 * Copying is the held thread's own work: ranges are named in its hold, the program sends them and
 * then the compilation once more (HOLD_COPY). Exits, jump tables included, are found in the copy. A
 * hold takes 0.3 ms by that instead of 0.1; its bound begins anew when the copy has been sent.
 */
#include <stdlib.h>

#include "follow/jit/compilations_internal.h"
#include "plan/timed.h"

enum {
	/* What is copied. */
	COPY_WRITTEN = 0,
	COPY_UNWINDS = 1,
};

/* Memory of the target at @begin, of which there is a copy. */
struct written {
	struct span bytes;
	uint64_t begin;
};

/* For struct exit_body: tables in it, which @ctx is. */
static bool read_written(void *ctx, uint64_t at, void *to, size_t size)
{
	const struct written *from = ctx;

	return span_copy(span_part(from->bytes, at - from->begin, size), to, size);
}

bool timing_ask(struct compilations *jit, const struct compile_event *event,
		const struct watch_row *row, bool may_be_freed)
{
	const struct runtime_follow_ops *ops = watch_images(jit->watch)->ops;
	const struct hold_copy ranges[FOLLOW_COPIES] = {
		[COPY_WRITTEN] = { event->written_at, event->written_size },
		[COPY_UNWINDS] = { event->unwinds_at,
				   (uint64_t)event->unwind_count * ops->unwind_bytes },
	};
	struct copy *copy;

	/* Where the code lies is not even looked for if nothing is timed. */
	if (!event->head.hold || !event->written_at || event->unwind_count == 0 ||
	    event->unwind_count > EXITS_PARTS_MAX || event->written_size > EXITS_BODY_MAX_BYTES ||
	    event->written_size < ops->header_bytes + (uint64_t)event->size)
		return false;
	copy = copies_add(&jit->copies, event, ranges);
	if (!copy)
		return false;
	copy->of_code = true;
	copy->row = row;
	copy->may_be_freed = may_be_freed;
	return compilations_ask(jit, copy);
}

/* All or none: those of an OSR body go to the body that calls enter, beside its own. */
void timing_take_exits(struct body *body, const struct site *site)
{
	if (body->exits_are == BODY_EXITS_REFUSED)
		return;
	body->exits_are = BODY_EXITS_REFUSED;
	if (!site->exits || body->exit_count + site->exit_count > POLICY_EXITS_MAX)
		return;
	for (uint32_t i = 0; i < site->exit_count; i++) {
		const struct site_probe probe = site_probe(site, body->number, i);

		body_add_exit(body, probe.address, probe.cookie - body->number);
	}
	if (site->leaves_at_entry)
		body->entry_flags = site_entry_flags(site);
	body->exits_are = BODY_EXITS_KNOWN;
}

enum reason timing_find(struct compilations *jit, const struct copy *copy, struct site *site)
{
	const struct compile_event *event = &copy->event;
	const struct runtime_follow_ops *ops = watch_images(jit->watch)->ops;
	struct written written = { copy_bytes(copy, COPY_WRITTEN),
				   event->code - ops->header_bytes };
	struct span code = span_part(written.bytes, ops->header_bytes, event->size);
	struct exit_part parts[EXITS_PARTS_MAX];
	const struct exit_body body = {
		.parts = parts,
		.part_count = ops->find_parts((struct address){ event->code }, code,
					      copy_bytes(copy, COPY_UNWINDS), parts),
		.entered_midway = site->tier == TIER_OSR,
		.left_midway = tier_may_be_left(site->tier),
		.unwound_by_code = true,
		.read = read_written,
		.ctx = &written,
	};

	enum reason why;

	if (exits_find(&jit->exits, &body, NULL) ||
	    site_take_exits(site, &jit->exits, site->address.value, &why, NULL))
		return reason_of_exits(EXITS_UNREADABLE);
	return why;
}

void timing_describe(struct compilations *jit, const struct body *body, const struct site *site)
{
	const struct body *other = bodies_find_method(jit->bodies, body->method, body->number);
	struct timed_site *timed = jit->config.timed;

	if (!timed)
		return;
	timed[body->number] = timed_describe(site, body->number, jit->config.costs);
	if (other)
		timed[body->number].method = timed[other->number].method;
}

/*
 * A call that began in a body that calls enter may go on in this one, and end there. If it cannot
 * be seen there, calls of neither are timed.
 */
void timing_take_osr(struct compilations *jit, const struct copy *copy, uint64_t method)
{
	struct body *entered = bodies_find_entered(jit->bodies, method);
	struct site site = { .tier = TIER_OSR, .mechanism = MECHANISM_BREAKPOINT };

	if (!jit->config.timed || !entered)
		return;
	site.address = entered->address;
	if (copy && entered->exits_are == BODY_EXITS_KNOWN)
		(void)timing_find(jit, copy, &site);
	if (site.exits) {
		timing_take_exits(entered, &site);
		bodies_time(jit->bodies, entered);
	}
	if (!scheduler_is_timed(&jit->scheduler, entered->number))
		bodies_leave_unseen(jit->bodies, method);
	free(site.exits);
}
