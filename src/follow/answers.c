// SPDX-License-Identifier: GPL-2.0-or-later
/* The answers to what the programs report: a probe on what was compiled, and the thread goes on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "follow/follow_internal.h"

enum {
	STARTING_STOPS = 2, /* of a dynamic loader, until the program's own libraries are there */

	/* Sites that may turn out to be nobody's must leave room for others. */
	SPECULATIVE_SITES_MAX = FOLLOW_SITES_MAX / 2,

	/*
	 * CORJIT_FLAGS, dotnet/runtime src/coreclr/inc/corjitflags.h; the same in .NET 8, 9 and 10.
	 */
	JIT_FLAG_OSR = 7,
	JIT_FLAG_INSTRUMENTED = 18,
	JIT_FLAG_OPTIMIZED = 20,
	JIT_FLAG_TIER0 = 26,
	JIT_FLAG_TIER1 = 27,
};

static struct hold *hold_of(const struct follow *follow, uint64_t hold)
{
	return &follow->shared->holds[hold & (FOLLOW_HOLDS - 1)];
}

/* False if it did not wait so long. */
static bool answer(struct follow *follow, uint64_t hold, enum hold_state state)
{
	__u64 waiting = hold << HOLD_STATE_BITS | HOLD_WAITING;

	return __atomic_compare_exchange_n(&hold_of(follow, hold)->word, &waiting,
					   hold << HOLD_STATE_BITS | state, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static bool is_held(const struct follow *follow, uint64_t hold)
{
	__u64 found = __atomic_load_n(&hold_of(follow, hold)->word, __ATOMIC_SEQ_CST);

	return hold && (found == (hold << HOLD_STATE_BITS | HOLD_WAITING) ||
			found == (hold << HOLD_STATE_BITS | HOLD_COPY));
}

/* Calls were not counted any more when it came, and nobody was held. */
static bool is_late(const struct follow *follow, const struct follow_event_head *head)
{
	uint64_t ended_ns = atomic_load(&follow->ended_ns);

	return ended_ns && head->time_ns >= ended_ns;
}

/* The thread goes on. What trouble is it to the new body that it may already have? */
static unsigned int let_go(struct follow *follow, const struct follow_event_head *head)
{
	bool in_time = head->hold && answer(follow, head->hold, HOLD_RELEASED);

	/* Nothing counts yet, or any more. */
	if (in_time || !atomic_load(&follow->counting) || is_late(follow, head))
		return 0;
	return head->hold ? TROUBLE_TIMED_OUT : TROUBLE_NOT_HELD;
}

/* Compilations ---------------------------------------------------------------------------- */

static enum tier tier_of(uint64_t flags)
{
	if (flags >> JIT_FLAG_OSR & 1)
		return TIER_OSR;
	if (flags >> JIT_FLAG_INSTRUMENTED & 1)
		return TIER_INSTRUMENTED;
	if (flags >> JIT_FLAG_TIER1 & 1)
		return TIER_TIER1;
	if (flags >> JIT_FLAG_TIER0 & 1)
		return TIER_TIER0;
	return flags >> JIT_FLAG_OPTIMIZED & 1 ? TIER_OPTIMIZED : TIER_MINOPT;
}

static bool is_final(enum tier tier)
{
	return tier == TIER_TIER1 || tier == TIER_OPTIMIZED || tier == TIER_MINOPT;
}

/* The site of a new body of @row's method; @row is NULL if only memory says which method it is. */
static struct site *make_site(struct follow *follow, const struct compile_event *event,
			      const struct watch_row *row, bool may_be_freed, uint32_t *number)
{
	enum tier tier = tier_of(event->jit_flags);
	struct site site = {
		.method = row ? row->method : (char *)"?",
		.made_from = row ? row->made_from : NULL,
		.image = row && row->image ? row->image->name : "run-time code",
		.tier = tier,
		.state = tier == TIER_OSR ? STATE_NO_CALLS : STATE_CURRENT,
		.final = is_final(tier),
		.method_desc = event->method_desc,
		.may_be_freed = may_be_freed,
		.sources = 1u << NAME_SOURCE_METADATA,
		.address = { event->code },
		.size = event->size,
	};

	site_place_compiled(&site);
	site.stub = event->kind & COMPILE_STUB;
	if (row) {
		site.id = row->id;
		site.traits = row->traits;
	}
	return sites_add(follow->sites, &site, !row || !row->sure, number);
}

void answers_arm(struct follow *follow, struct body *body, struct follow_note *said)
{
	uint32_t evicted;
	int result = bodies_arm(follow->bodies, body, &evicted, NULL);
	uint32_t drained = scheduler_take_drained(&follow->scheduler);

	if (drained != SCHEDULER_NO_BODY && drained != evicted) {
		const struct follow_note gone = { .type = NOTE_DRAINED, .site = drained };

		follow_note(follow, &gone);
	}
	if (evicted != SCHEDULER_NO_BODY) {
		const struct follow_note lost = { .type = NOTE_LOST_REGISTER, .site = evicted };

		/* Before the counting begins there is time to wait until it is drained for sure. */
		if (!atomic_load(&follow->counting) &&
		    bodies_is_superseded(follow->bodies, evicted))
			atomic_store(&follow->settled_ns, clock_now_ns() + SCHEDULER_PUBLISHED_NS);
		else
			sites_add_trouble(follow->sites, evicted, TROUBLE_NO_REGISTER);
		follow_note(follow, &lost);
	}
	if (result == 0) {
		bodies_time(follow->bodies, body);
		return;
	}
	said->type = result == -ENOSPC ? NOTE_NO_REGISTER : NOTE_REFUSED;
	sites_add_trouble(follow->sites, body->number,
			  result == -ENOSPC ? TROUBLE_NO_REGISTER : TROUBLE_REFUSED);
}

static void keep_time(struct follow *follow, uint64_t took_ns)
{
	if (follow->time_count < TIMES_MAX)
		follow->times[follow->time_count] = took_ns;
	follow->time_count++;
}

/* A body that the first look has found, and whose compilation is reported now. */
static bool is_known_already(struct follow *follow, const struct compile_event *event)
{
	struct body *body = bodies_find_unreported(follow->bodies, (struct address){ event->code });

	if (!body || (body->method && body->method != event->method_desc))
		return false;
	bodies_report(follow->bodies, body, event->head.tid);
	return true;
}

/* Give the body the exits of its code. Why it is not to be timed; REASON_NONE: it is. */
static enum reason take_exits(struct follow *follow, const struct copy *copy, struct body *body,
			      struct site *site)
{
	enum reason why = timing_find(follow, copy, site);

	/* Its calls are counted all the same. */
	if (why) {
		body->exits_are = BODY_EXITS_REFUSED;
		return why;
	}
	timing_take_exits(body, site);
	return body->exits_are == BODY_EXITS_KNOWN ? REASON_NONE : REASON_NO_DEBUG_REGISTER;
}

static uint64_t may_wait_until(const struct follow *follow, uint64_t hold)
{
	return hold ? policy_wait_until(hold_of(follow, hold)->until_ns, follow->shared->hold_ns) :
		      0;
}

/* A site for the body, and a probe. @copy: of its code, or NULL. */
static void add_body(struct follow *follow, const struct compile_event *event,
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
		.rank = policy_rank(row ? row->rank : UINT32_MAX, follow->config.share_ns),
		.publisher = event->head.tid,
		.may_be_freed = may_be_freed,
		.reported = true,
		.entered_by_calls = tier_of(event->jit_flags) != TIER_OSR,
		.final = is_final(tier_of(event->jit_flags)),
	};
	struct site *site = make_site(follow, event, row, may_be_freed, &body.number);
	struct body *added;
	unsigned int trouble;

	if (!site) {
		follow->losses.sites++;
		let_go(follow, &event->head);
		return;
	}
	if (site->stub) {
		body.entry_flags = BREAKPOINT_STUB;
		stubs_share(follow, event, site, body.number);
	}
	if (body.entered_by_calls && copy)
		said.not_timed = take_exits(follow, copy, &body, site);
	timing_describe(follow, &body, site);
	/* A hit must find the site. */
	sites_publish(follow->sites);
	added = bodies_add(follow->bodies, &body);
	follow->scheduler.wait_until_ns = may_wait_until(follow, event->head.hold);
	if (added && body.entered_by_calls)
		answers_arm(follow, added, &said);
	else if (added)
		timing_take_osr(follow, copy, body.method);
	follow->scheduler.wait_until_ns = 0;
	trouble = let_go(follow, &event->head);
	said.took_ns = clock_now_ns() - event->head.time_ns;
	said.site = body.number;
	said.timed_out = trouble & TROUBLE_TIMED_OUT;
	if (!body.entered_by_calls) {
		said.type = NOTE_OSR;
	} else {
		said.timed = scheduler_is_timed(&follow->scheduler, body.number);
		sites_add_trouble(follow->sites, body.number, trouble);
		if (event->head.hold)
			keep_time(follow, said.took_ns);
	}
	follow_note(follow, &said);
}

static void follow_body(struct follow *follow, const struct compile_event *event,
			const struct watch_row *row, bool may_be_freed)
{
	if (event->kind & COMPILE_DYNAMIC)
		bodies_retire_method(follow->bodies, event->method_desc);
	if (is_known_already(follow, event))
		let_go(follow, &event->head);
	else if (!timing_ask(follow, event, row, may_be_freed))
		add_body(follow, event, row, may_be_freed, NULL);
}

/* It was waited for to the end. */
static void add_copied(struct follow *follow, struct copy *copy, bool complete)
{
	add_body(follow, &copy->event, copy->row, copy->may_be_freed, complete ? copy : NULL);
	copy_drop(copy);
}

void answers_give_up(struct follow *follow)
{
	for (size_t i = 0; i < COPIES_MAX; i++) {
		struct copy *copy = &follow->copies.copies[i];

		if (!copy->hold || !copy->of_code)
			continue;
		/* Nobody can call the body yet, so it comes up only now. */
		if (is_held(follow, copy->hold))
			copy->event.head.time_ns = clock_now_ns();
		add_copied(follow, copy, false);
	}
}

bool answers_ask(struct follow *follow, struct copy *copy)
{
	struct hold *hold = hold_of(follow, copy->hold);

	for (size_t i = 0; i < FOLLOW_COPIES; i++) {
		hold->copies[i].at = copy->at[i];
		hold->copies[i].size = copy->ranges[i].size;
	}
	hold->copied_limit_ns =
		copy->of_code ? follow->shared->hold_ns : follow->shared->image_hold_ns;
	if (answer(follow, copy->hold, HOLD_COPY))
		return true;
	copy_drop(copy);
	return false;
}

/* Let the programs send the image that @event's method is in. False if that cannot be done. */
static bool ask_for_image(struct follow *follow, const struct compile_event *event)
{
	const struct hold_copy ranges[FOLLOW_COPIES] = {
		{ event->layout_base, event->layout_size },
	};
	struct copy *copy = event->head.hold && event->layout_size ?
				    copies_add(&follow->copies, event, ranges) :
				    NULL;

	return copy && answers_ask(follow, copy);
}

/* Its module has no image, so what it is called is for others to find out. */
static void speculate(struct follow *follow, const struct compile_event *event)
{
	if (sites_count(follow->sites) < SPECULATIVE_SITES_MAX &&
	    scheduler_have_room(&follow->scheduler, UINT32_MAX)) {
		follow_body(follow, event, NULL, true);
	} else {
		follow->losses.unnamed++;
		let_go(follow, &event->head);
	}
}

/* A stub of a module that is known by now. */
static void on_stub(struct follow *follow, const struct compile_event *event, const uint8_t *detail)
{
	const struct watch_row *row = stubs_find(follow, event, detail);

	if (row) {
		follow_body(follow, event, row, false);
		return;
	}
	follow->losses.unnamed += watch_misses_stub(follow->watch, event);
	let_go(follow, &event->head);
}

/* The module is not known, or what is known of it may be of another by now. */
static void on_unknown_module(struct follow *follow, const struct compile_event *event,
			      const uint8_t *header)
{
	struct copy *copy = copies_find(&follow->copies, event->head.hold);
	const struct watch_row *row;
	enum watch_answer known;

	if (header) {
		known = watch_learn(follow->watch, event, header);
		if (known == WATCH_UNKNOWN && ask_for_image(follow, event))
			return;
	} else if (copy) {
		known = watch_learn_copy(follow->watch, &copy->event, copy->ranges[0].bytes,
					 copy->ranges[0].size);
		copy->ranges[0].bytes = NULL;
		copy_drop(copy);
	} else {
		known = WATCH_NO_IMAGE;
	}
	if (event->kind & COMPILE_STUB) {
		on_stub(follow, event, NULL);
		return;
	}
	if (known != WATCH_KNOWN) {
		speculate(follow, event);
		return;
	}
	row = watch_find(follow->watch, event);
	if (row)
		follow_body(follow, event, row, watch_may_be_freed(follow->watch, event->module));
	else
		let_go(follow, &event->head);
}

void answers_compiled(struct follow *follow, const struct compile_event *event,
		      const uint8_t *detail)
{
	struct copy *copy = copies_find(&follow->copies, event->head.hold);
	const struct watch_row *row = NULL;

	if (copy && copy->of_code) {
		add_copied(follow, copy, true);
		return;
	}
	/* The runtime activates each version before the thread compiles the next. */
	scheduler_note_publisher(&follow->scheduler, event->head.tid, event->begun_ns);
	if (event->kind & COMPILE_REUSED)
		bodies_retire_range(follow->bodies, (struct address){ event->code }, event->size);
	if (event->kind & COMPILE_UNKNOWN) {
		on_unknown_module(follow, event, detail);
		return;
	}
	if (event->kind & COMPILE_STUB) {
		on_stub(follow, event, detail);
		return;
	}
	if (event->kind & COMPILE_DYNAMIC)
		row = detail ? watch_find_dynamic(follow->watch, (const char *)detail) : NULL;
	else if (!(event->kind & COMPILE_UNREADABLE))
		row = watch_find(follow->watch, event);
	if (row)
		follow_body(follow, event, row, event->kind & COMPILE_DYNAMIC);
	else
		let_go(follow, &event->head);
}

/* Files and libraries --------------------------------------------------------------------- */

void answers_mapped(struct follow *follow, const struct mapped_event *event)
{
	struct follow_note said = { .type = NOTE_UPROBES, .held = event->head.hold != 0 };
	size_t attached;
	int result = loads_mapped(follow->loads, event, &attached, &said.site);
	unsigned int trouble = let_go(follow, &event->head);

	atomic_fetch_add(&follow->mapped, event->executable != 0);
	/* Who was not held may have closed the file by then, and may run its code by now. */
	if (event->executable && atomic_load(&follow->counting) && !is_late(follow, &event->head) &&
	    (result || (trouble && !attached)))
		follow->losses.others++;
	/* What it calls from now on is counted. */
	if (event->executable && result && trouble)
		loads_missed(follow->loads, &attached, &said.site);
	if (!attached)
		return;
	said.count = (uint32_t)attached;
	said.timed_out = trouble & TROUBLE_TIMED_OUT;
	said.took_ns = clock_now_ns() - event->head.time_ns;
	loads_add_trouble(follow->loads, trouble);
	follow_note(follow, &said);
}

void answers_release(struct follow *follow, uint64_t hold)
{
	(void)answer(follow, hold, HOLD_RELEASED);
}

/*
 * Where the loader stops in the beginning, the first time with the program alone or with all of its
 * libraries, the thread that names things gets time to look at what is mapped. Later it might be
 * busy, and nobody is to wait for it.
 */
static bool hand_over(struct follow *follow, const struct follow_event_head *event)
{
	static const struct follow_note note = { .type = NOTE_LOOK };

	if (!natives_wanted(follow->natives) || follow->stops == STARTING_STOPS)
		return false;
	follow->stops++;
	if (follow->stops == STARTING_STOPS && !follow_has_methods(follow))
		follow->shared->image_hold_ns = follow_image_hold_ns(follow);
	if (!is_held(follow, event->hold))
		return false;
	atomic_store(&follow->looking, event->hold);
	follow_note(follow, &note);
	return true;
}

void answers_loaded(struct follow *follow, const struct follow_event_head *event)
{
	libraries_look(follow);
	if (hand_over(follow, event))
		return;
	/* It may have compiled and loaded already what nobody knows of. */
	if ((!event->hold || !answer(follow, event->hold, HOLD_RELEASED)) &&
	    !is_late(follow, event))
		follow->losses.others++;
}
