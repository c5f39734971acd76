// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The answers to compilations: from an event of the BPF programs to a site and a probe on what was
 * compiled, and the thread goes on.
 */
#include <errno.h>

#include "base/clock.h"
#include "follow/jit/compilations_internal.h"

enum {
	/* To get another debug register: soon, as others may have one for a moment, and later. */
	TRY_AGAIN_FIRST_MS = 10,
	TRY_AGAIN_MS = 500,

	/* Sites that may turn out to be nobody's must leave room for others. */
	SPECULATIVE_SITES_MAX = FOLLOW_SITES_MAX / 2,
};

void compilations_name(struct site *site, const struct watch_row *row)
{
	site->method = (char *)row->is.method;
	site->made_from = (char *)row->is.made_from;
	site->image = row->is.image ? row->is.image : "run-time code";
	site->id = row->is.id;
	site->traits = row->is.traits;
	site->root = row->root;
}

/* The site of a new body of @row's method; @row is NULL if only memory says which method it is. */
static struct site *make_site(struct compilations *jit, const struct compile_event *event,
			      const struct watch_row *row, bool may_be_freed, uint32_t *number)
{
	const struct runtime_follow_ops *ops = watch_images(jit->watch)->ops;
	bool final;
	enum tier tier = ops->tier_of(event->jit_flags, &final);
	struct site site = {
		.method = (char *)"?",
		.image = "run-time code",
		.id.runtime = ops->id,
		.tier = tier,
		.state = tier == TIER_OSR ? STATE_NO_CALLS : STATE_CURRENT,
		.final = final,
		.method_desc = event->method_desc,
		.may_be_freed = may_be_freed,
		.sources = 1u << NAME_SOURCE_METADATA,
		.address = { event->code },
		.size = event->size,
	};

	site_place_compiled(&site);
	site.stub = event->kind & COMPILE_STUB;
	if (row)
		compilations_name(&site, row);
	return sites_add(jit->messages->sites, &site, !row || !row->is.sure, number);
}

void compilations_arm(struct compilations *jit, struct body *body, struct follow_note *said)
{
	uint32_t evicted;
	int result = bodies_arm(jit->bodies, body, &evicted, NULL);
	uint32_t drained = scheduler_take_drained(&jit->scheduler);

	if (drained != SCHEDULER_NO_BODY && drained != evicted) {
		messages_note(jit->messages,
			      &(struct follow_note){ .type = NOTE_DRAINED, .site = drained });
	}
	if (evicted != SCHEDULER_NO_BODY) {
		const struct body *early = atomic_load(&jit->messages->counting) ?
						   NULL :
						   bodies_find(jit->bodies, evicted);

		/* Before the counting begins there is time to wait until it is drained for sure. */
		if (early && early->superseded)
			atomic_store(&jit->settled_ns, clock_now_ns() + SCHEDULER_PUBLISHED_NS);
		else
			sites_add_trouble(jit->messages->sites, evicted, TROUBLE_NO_REGISTER);
		messages_note(jit->messages,
			      &(struct follow_note){ .type = NOTE_LOST_REGISTER, .site = evicted });
	}
	if (result == 0) {
		bodies_time(jit->bodies, body);
		return;
	}
	said->type = result == -ENOSPC ? NOTE_NO_REGISTER : NOTE_REFUSED;
	sites_add_trouble(jit->messages->sites, body->number,
			  result == -ENOSPC ? TROUBLE_NO_REGISTER : TROUBLE_REFUSED);
}

void compilations_rank(struct compilations *jit, const struct watch_row *row, struct body *body)
{
	uint32_t rank = row ? row->rank : UINT32_MAX, named = row ? row->named : UINT32_MAX;

	if (!jit->many && watch_row_count(jit->watch) > POLICY_GUARANTEED) {
		jit->many = true;
		bodies_are_many(jit->bodies);
	}
	body->rank_of_many = policy_rank(rank, named, jit->turns, false);
	body->rank = jit->many ? body->rank_of_many : policy_rank(rank, named, jit->turns, true);
}

static void keep_time(struct compilations *jit, uint64_t took_ns)
{
	if (jit->time_count < TIMES_MAX)
		jit->times[jit->time_count] = took_ns;
	jit->time_count++;
}

/* A body that the first look has found, and whose compilation is reported now. */
static bool is_known_already(struct compilations *jit, const struct compile_event *event)
{
	struct body *body = bodies_find_unreported(jit->bodies, (struct address){ event->code });

	if (!body || (body->method && body->method != event->method_desc))
		return false;
	bodies_report(jit->bodies, body, event->head.tid);
	return true;
}

/* Give the body the exits of its code. Why it is not to be timed; REASON_NONE: it is. */
static enum reason take_exits(struct compilations *jit, const struct copy *copy, struct body *body,
			      struct site *site)
{
	enum reason why = timing_find(jit, copy, site);

	/* Its calls are counted all the same. */
	if (why) {
		body->exits_are = BODY_EXITS_REFUSED;
		return why;
	}
	timing_take_exits(body, site);
	return body->exits_are == BODY_EXITS_KNOWN ? REASON_NONE : REASON_NO_DEBUG_REGISTER;
}

/* A site for the body, and a probe. @copy: of its code, or NULL. */
static void add_body(struct compilations *jit, const struct compile_event *event,
		     const struct watch_row *row, bool may_be_freed, const struct copy *copy)
{
	struct follow_note said = {
		.type = NOTE_ARMED,
		.held = event->head.hold != 0,
		.compiled_ns = event->head.time_ns - event->begun_ns,
	};
	struct body body = {
		.address = { event->code },
		.size = event->size,
		.method = event->method_desc,
		.publisher = event->head.tid,
		.may_be_freed = may_be_freed,
		.reported = true,
	};
	struct site *site = make_site(jit, event, row, may_be_freed, &body.number);
	struct body *added;
	unsigned int trouble;

	if (!site) {
		jit->messages->losses.sites++;
		hold_release(jit->messages, &event->head);
		return;
	}
	compilations_rank(jit, row, &body);
	body.entered_by_calls = site->tier != TIER_OSR;
	body.final = site->final;
	body.promoted = tier_is_promoted(site->tier);
	if (site->stub) {
		body.entry_flags = BREAKPOINT_STUB;
		stubs_share(jit, event, site, body.number);
	}
	if (body.entered_by_calls && copy)
		said.not_timed = take_exits(jit, copy, &body, site);
	timing_describe(jit, &body, site);
	/* A hit must find the site. */
	sites_publish(jit->messages->sites);
	added = bodies_add(jit->bodies, &body);
	if (event->head.hold)
		jit->scheduler.wait_until_ns =
			policy_wait_until(hold_of(jit->messages, event->head.hold)->until_ns,
					  jit->messages->shared->hold_ns);
	if (added && body.entered_by_calls)
		compilations_arm(jit, added, &said);
	else if (added)
		timing_take_osr(jit, copy, body.method);
	jit->scheduler.wait_until_ns = 0;
	/* If the bound is over calls have gone to it before, and that is told. */
	if (added && event->head.hold)
		body_let_go(added);
	trouble = hold_release(jit->messages, &event->head);
	said.took_ns = clock_now_ns() - event->head.time_ns;
	said.site = body.number;
	said.timed_out = trouble & TROUBLE_TIMED_OUT;
	if (!body.entered_by_calls) {
		said.type = NOTE_OSR;
	} else {
		said.timed = scheduler_is_timed(&jit->scheduler, body.number);
		sites_add_trouble(jit->messages->sites, body.number, trouble);
		if (event->head.hold)
			keep_time(jit, said.took_ns);
	}
	messages_note(jit->messages, &said);
}

static void follow_body(struct compilations *jit, const struct compile_event *event,
			const struct watch_row *row, bool may_be_freed)
{
	if (event->kind & COMPILE_DYNAMIC)
		bodies_retire_method(jit->bodies, event->method_desc);
	if (is_known_already(jit, event))
		hold_release(jit->messages, &event->head);
	else if (!timing_ask(jit, event, row, may_be_freed))
		add_body(jit, event, row, may_be_freed, NULL);
}

/* It was waited for to the end. */
static void add_copied(struct compilations *jit, struct copy *copy, bool complete)
{
	add_body(jit, &copy->event, copy->row, copy->may_be_freed, complete ? copy : NULL);
	copy_drop(copy);
}

void compilations_give_up(struct compilations *jit)
{
	for (struct copy *copy = jit->copies.copies; copy < jit->copies.copies + COPIES_MAX;
	     copy++) {
		if (!copy->hold || !copy->of_code)
			continue;
		/* Nobody can call the body yet, so it comes up only now. */
		if (hold_is_waiting(jit->messages, copy->hold))
			copy->event.head.time_ns = clock_now_ns();
		add_copied(jit, copy, false);
	}
}

bool compilations_ask(struct compilations *jit, struct copy *copy)
{
	struct hold *hold = hold_of(jit->messages, copy->hold);

	for (size_t i = 0; i < FOLLOW_COPIES; i++) {
		hold->copies[i].at = copy->at[i];
		hold->copies[i].size = copy->ranges[i].size;
	}
	hold->copied_limit_ns = copy->of_code ? jit->messages->shared->hold_ns :
						jit->messages->shared->image_hold_ns;
	if (hold_answer(jit->messages, copy->hold, HOLD_COPY))
		return true;
	copy_drop(copy);
	return false;
}

/* Let the programs send the image that @event's method is in. False if that cannot be done. */
static bool ask_for_image(struct compilations *jit, const struct compile_event *event)
{
	const struct hold_copy ranges[FOLLOW_COPIES] = {
		{ event->layout_base, event->layout_size },
	};
	struct copy *copy = event->head.hold && event->layout_size ?
				    copies_add(&jit->copies, event, ranges) :
				    NULL;

	return copy && compilations_ask(jit, copy);
}

/* Its module has no image, so what it is called is for others to find out. */
static void speculate(struct compilations *jit, const struct compile_event *event)
{
	if (sites_count(jit->messages->sites) < SPECULATIVE_SITES_MAX &&
	    scheduler_have_room(&jit->scheduler, UINT32_MAX)) {
		follow_body(jit, event, NULL, true);
	} else {
		jit->messages->losses.unnamed++;
		hold_release(jit->messages, &event->head);
	}
}

/* A stub of a module that is known by now. */
static void on_stub(struct compilations *jit, const struct compile_event *event,
		    const uint8_t *detail)
{
	const struct watch_row *row = stubs_find(jit, event, detail);

	if (row) {
		follow_body(jit, event, row, false);
		return;
	}
	jit->messages->losses.unnamed += watch_misses_stub(jit->watch, event);
	hold_release(jit->messages, &event->head);
}

/* The module is not known, or what is known of it may be of another by now. */
static void on_unknown_module(struct compilations *jit, const struct compile_event *event,
			      const uint8_t *header)
{
	struct copy *copy = copies_find(&jit->copies, event->head.hold);
	const struct watch_row *row;
	enum watch_answer known;

	if (header) {
		known = watch_learn(jit->watch, event, header);
		if (known == WATCH_UNKNOWN && ask_for_image(jit, event))
			return;
	} else if (copy) {
		known = watch_learn_copy(jit->watch, &copy->event, copy->ranges[0].bytes,
					 copy->ranges[0].size);
		copy->ranges[0].bytes = NULL;
		copy_drop(copy);
	} else {
		known = WATCH_NO_IMAGE;
	}
	if (event->kind & COMPILE_STUB) {
		on_stub(jit, event, NULL);
		return;
	}
	if (known != WATCH_KNOWN) {
		speculate(jit, event);
		return;
	}
	row = watch_find(jit->watch, event);
	if (row)
		follow_body(jit, event, row, watch_may_be_freed(jit->watch, event->module));
	else
		hold_release(jit->messages, &event->head);
}

void compilations_answer(struct compilations *jit, const struct compile_event *event,
			 const uint8_t *detail)
{
	struct copy *copy = copies_find(&jit->copies, event->head.hold);
	const struct watch_row *row = NULL;

	if (copy && copy->of_code) {
		add_copied(jit, copy, true);
		return;
	}
	/* The runtime activates each version before the thread compiles the next. */
	scheduler_note_publisher(&jit->scheduler, event->head.tid, event->begun_ns);
	if (event->kind & COMPILE_REUSED)
		bodies_retire_range(jit->bodies, (struct address){ event->code }, event->size);
	if (event->kind & COMPILE_UNKNOWN) {
		on_unknown_module(jit, event, detail);
		return;
	}
	if (event->kind & COMPILE_STUB) {
		on_stub(jit, event, detail);
		return;
	}
	if (event->kind & COMPILE_DYNAMIC)
		row = detail ? watch_find_dynamic(jit->watch, (const char *)detail) : NULL;
	else if (!(event->kind & COMPILE_UNREADABLE))
		row = watch_find(jit->watch, event);
	if (row)
		follow_body(jit, event, row, event->kind & COMPILE_DYNAMIC);
	else
		hold_release(jit->messages, &event->head);
}

/* Now and then ------------------------------------------------------------------------------ */

/* One more, if there is one; whoever has it now may give it back. */
static void take_register(struct compilations *jit)
{
	int have = scheduler_reserved(&jit->scheduler);

	if (have == BREAKPOINTS_MAX || clock_now_ns() < jit->try_again_ns)
		return;
	if (scheduler_reserve(&jit->scheduler, have + 1, false)) {
		/* Where others have had some the rest may still be theirs. */
		if (atomic_load(&jit->registers) <= have)
			atomic_store(&jit->registers, have + 1);
		jit->try_again_ms = 0;
		return;
	}
	atomic_store(&jit->registers, have);
	jit->try_again_ms = jit->try_again_ms ? 2 * jit->try_again_ms : TRY_AGAIN_FIRST_MS;
	if (jit->try_again_ms > TRY_AGAIN_MS)
		jit->try_again_ms = TRY_AGAIN_MS;
	jit->try_again_ns = clock_now_ns() + (uint64_t)jit->try_again_ms * NS_PER_MS;
}

void compilations_tick(struct compilations *jit)
{
	uint64_t active_ns = atomic_load(&jit->messages->active_ns);
	/* By need only once it shows who is called. */
	bool multiplexed =
		jit->turns == POLICY_ALIKE || (jit->turns == POLICY_BY_NEED && active_ns);

	if (active_ns && !jit->active) {
		jit->active = true;
		bodies_count_from(jit->bodies, active_ns);
	}
	if (bodies_tend(jit->bodies, multiplexed))
		take_register(jit);
	if (multiplexed)
		multiplexing_tend(jit->bodies, jit->turns,
				  jit->config.share_ns ? jit->config.share_ns : POLICY_SLICE_NS);
}
