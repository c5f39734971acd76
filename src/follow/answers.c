// SPDX-License-Identifier: GPL-2.0-or-later
/* The answers to what the programs report: a probe on what was compiled, and the thread goes on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "follow/follow_internal.h"

enum {
	/* Sites that may turn out to be nobody's must leave room for others. */
	SPECULATIVE_SITES_MAX = FOLLOW_SITES_MAX / 2,

	/* CORJIT_FLAGS, dotnet/runtime src/coreclr/inc/corjitflags.h; the same in .NET 8, 9 and 10. */
	JIT_FLAG_OSR = 7,
	JIT_FLAG_INSTRUMENTED = 18,
	JIT_FLAG_OPTIMIZED = 20,
	JIT_FLAG_TIER0 = 26,
	JIT_FLAG_TIER1 = 27,
};

/* False if it did not wait so long. */
static bool answer(struct follow *follow, uint64_t hold, enum hold_state state)
{
	__u64 *word = &follow->shared->holds[hold & (FOLLOW_HOLDS - 1)].word;
	__u64 waiting = hold << HOLD_STATE_BITS | HOLD_WAITING;

	return __atomic_compare_exchange_n(word, &waiting, hold << HOLD_STATE_BITS | state, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* The thread goes on. What trouble is it to the new body that it may already have? */
static unsigned int let_go(struct follow *follow, const struct follow_event_head *head)
{
	bool in_time = head->hold && answer(follow, head->hold, HOLD_RELEASED);

	/* Nothing counts yet. */
	if (in_time || !atomic_load(&follow->counting))
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
		.mechanism = tier == TIER_OSR ? MECHANISM_NONE : MECHANISM_BREAKPOINT,
		.reason = tier == TIER_OSR ? REASON_OSR_BODY : REASON_NONE,
		.file = PLAN_NO_FILE,
		.address = { event->code },
		.size = event->size,
	};

	if (row && row->image)
		site.definition = (struct r2r_method){ row->image->metadata, row->rid, 0 };
	return bodies_new_site(follow->bodies, &site, !row || !row->sure, number);
}

void answers_arm(struct follow *follow, struct body *body, struct follow_note *said)
{
	uint32_t loser;
	int result = bodies_arm(follow->bodies, body, &loser, NULL);
	uint32_t left = slots_left(&follow->slots);

	if (left != SLOTS_NO_SITE && left != loser) {
		const struct follow_note gone = { .type = NOTE_LEFT, .site = left };

		follow_note(follow, &gone);
	}
	if (loser != SLOTS_NO_SITE) {
		const struct follow_note lost = { .type = NOTE_LOST_REGISTER, .site = loser };

		/* Before the counting begins there is time to wait until it is left for sure. */
		if (!atomic_load(&follow->counting) && bodies_is_superseded(follow->bodies, loser))
			atomic_store(&follow->settled_ns, clock_now_ns() + SLOTS_LEFT_NS);
		else
			bodies_add_trouble(follow->bodies, loser, TROUBLE_NO_REGISTER);
		follow_note(follow, &lost);
	}
	if (result == 0)
		return;
	said->type = result == -ENOSPC ? NOTE_NO_REGISTER : NOTE_REFUSED;
	bodies_add_trouble(follow->bodies, body->site,
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
	struct body *body = bodies_find_known(follow->bodies, (struct address){ event->code });

	if (!body || (body->method && body->method != event->method_desc))
		return false;
	bodies_confirm(follow->bodies, body, event->head.tid);
	return true;
}

static void follow_body(struct follow *follow, const struct compile_event *event,
			const struct watch_row *row, bool may_be_freed)
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
		.rank = row ? row->rank : UINT32_MAX,
		.thread = event->head.tid,
		.may_be_freed = may_be_freed,
		.known_by_event = true,
		.entered_by_calls = tier_of(event->jit_flags) != TIER_OSR,
	};
	struct body *added;
	unsigned int trouble;

	if (event->kind & COMPILE_DYNAMIC)
		bodies_bury(follow->bodies, event->method_desc);
	if (is_known_already(follow, event)) {
		let_go(follow, &event->head);
		return;
	}
	if (!make_site(follow, event, row, may_be_freed, &body.site)) {
		follow->losses.sites++;
		let_go(follow, &event->head);
		return;
	}
	/* A hit must find the site. */
	bodies_publish(follow->bodies);
	added = bodies_add(follow->bodies, &body);
	if (added && body.entered_by_calls)
		answers_arm(follow, added, &said);
	trouble = let_go(follow, &event->head);
	said.took_ns = clock_now_ns() - event->head.time_ns;
	said.site = body.site;
	said.timed_out = trouble & TROUBLE_TIMED_OUT;
	if (!body.entered_by_calls) {
		said.type = NOTE_OSR;
	} else {
		bodies_add_trouble(follow->bodies, body.site, trouble);
		if (event->head.hold)
			keep_time(follow, said.took_ns);
	}
	follow_note(follow, &said);
}

/* Let the programs send the image that @event's method is in. False if that cannot be done. */
static bool ask_for_image(struct follow *follow, const struct compile_event *event)
{
	struct image_copy *copy = NULL;

	for (size_t i = 0; i < COPIES_MAX && !copy; i++) {
		if (!follow->copies[i].hold)
			copy = &follow->copies[i];
	}
	if (!copy || !event->head.hold || event->layout_size > FOLLOW_IMAGE_MAX_BYTES)
		return false;
	/* The last piece is sent in full. */
	copy->bytes = calloc(1, (size_t)event->layout_size + FOLLOW_CHUNK_BYTES);
	if (!copy->bytes)
		return false;
	copy->hold = event->head.hold;
	copy->event = *event;
	copy->size = event->layout_size;
	if (answer(follow, event->head.hold, HOLD_COPY))
		return true;
	free(copy->bytes);
	*copy = (struct image_copy){ 0 };
	return false;
}

static struct image_copy *find_copy(struct follow *follow, uint64_t hold)
{
	for (size_t i = 0; hold && i < COPIES_MAX; i++) {
		if (follow->copies[i].hold == hold)
			return &follow->copies[i];
	}
	return NULL;
}

void answers_chunk(struct follow *follow, const struct chunk_event *chunk)
{
	const struct image_copy *copy = find_copy(follow, chunk->for_hold);

	if (copy && chunk->size <= FOLLOW_CHUNK_BYTES && chunk->at <= copy->size)
		memcpy(copy->bytes + chunk->at, chunk->bytes, chunk->size);
}

/* Its module has no image, so what it is called is for others to find out. */
static void speculate(struct follow *follow, const struct compile_event *event)
{
	if (bodies_site_count(follow->bodies) < SPECULATIVE_SITES_MAX &&
	    slots_have_room(&follow->slots)) {
		follow_body(follow, event, NULL, true);
	} else {
		follow->losses.unnamed++;
		let_go(follow, &event->head);
	}
}

/* The module is not known, or what is known of it may be of another by now. */
static void on_unknown_module(struct follow *follow, const struct compile_event *event,
			      const uint8_t *header)
{
	struct image_copy *copy = find_copy(follow, event->head.hold);
	const struct watch_row *row;
	enum watch_answer known;

	if (header) {
		known = watch_learn(follow->watch, event, header);
		if (known == WATCH_UNKNOWN && ask_for_image(follow, event))
			return;
	} else if (copy) {
		known = watch_learn_copy(follow->watch, &copy->event, copy->bytes, copy->size);
		*copy = (struct image_copy){ 0 };
	} else {
		known = WATCH_NO_IMAGE;
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
	const struct watch_row *row = NULL;

	slots_note_thread(&follow->slots, event->head.tid, event->begun_ns);
	if (event->kind & COMPILE_REUSED)
		bodies_bury_range(follow->bodies, (struct address){ event->code }, event->size);
	if (event->kind & COMPILE_UNKNOWN) {
		on_unknown_module(follow, event, detail);
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

	/* Who was not held may have closed the file by then, and may run its code by now. */
	if (event->executable && atomic_load(&follow->counting) &&
	    (result || (trouble && !attached)))
		follow->losses.others++;
	if (!attached)
		return;
	said.count = (uint32_t)attached;
	said.timed_out = trouble & TROUBLE_TIMED_OUT;
	said.took_ns = clock_now_ns() - event->head.time_ns;
	for (size_t i = 0; i < attached; i++)
		bodies_add_trouble(follow->bodies, said.site + i, trouble);
	follow_note(follow, &said);
}

void answers_loaded(struct follow *follow, const struct follow_event_head *event)
{
	libraries_look(follow);
	/* It may have compiled and loaded already what nobody knows of. */
	if (!event->hold || !answer(follow, event->hold, HOLD_RELEASED))
		follow->losses.others++;
}
