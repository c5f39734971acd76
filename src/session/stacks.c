// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of a run, between consume.c and stack/: what they are unwound by, kept up to date, and
 * what becomes of each.
 */
#include "base/clock.h"
#include "base/log.h"
#include "session/session_internal.h"
#include "stack/known.h"
#include "stack/symbols.h"
#include "unwind/tables.h"

enum {
	/*
	 * The list of mappings is read again for a frame that nothing was known of, but not all
	 * the time.
	 */
	AGAIN_MS = 200,
	AGAIN_PART = 20, /* nor for more than one part in so many of our time, if nothing is new */
	NEW_PART = 2,
	LOOK_MS = 1000, /* and so often without a reason */
};

/* What stacks are unwound by ------------------------------------------------------------------ */

static bool wants_stacks(const struct session *session)
{
	return options_report_hits(session->options) && session->options->stack != STACK_MODE_NONE;
}

static int read_tables(struct session *session, struct error *err)
{
	const struct resolution *resolution = &session->resolution;

	session->stacks.version = resolution->version;
	if (!session->stacks.complete) {
		session->stacks.problems_told = runtimes_reach(&resolution->runtimes).problems;
		session->stacks.unreadable_told = resolution->target->files.unreadable;
	}
	session->stacks.complete = true;
	return unwind_tables_read(session->stacks.tables, &resolution->runtimes, err);
}

int session_read_unwind(struct session *session, struct error *err)
{
	int result;

	if (!wants_stacks(session))
		return 0;
	result = unwind_tables_create(&session->stacks.tables, err);
	/* A program that is being started has nothing yet. */
	if (result || session->known != TARGET_RESOLVED)
		return result;
	return read_tables(session, err);
}

int session_begin_load(struct session *session, struct error *err)
{
	struct unwind_expected expected;
	int result;

	if (session->capture)
		return 0;
	result = capture_create(&session->capture, session->options, &session->target.process,
				&session->plan, err);
	if (result)
		return result;
	capture_prepare(session->capture, session->opening, session->asked.methods.count == 0);
	if (session->known != TARGET_RESOLVED)
		return 0;
	if (wants_stacks(session))
		expected = unwind_tables_expect(&session->resolution.runtimes);
	capture_begin_load(session->capture, wants_stacks(session) ? &expected : NULL);
	return 0;
}

static void hand_over(struct session *session)
{
	size_t left_out = capture_set_unwind(session->capture, session->stacks.tables) +
			  session->stacks.tables->counts.left_out;

	if (left_out && !session->stacks.told_room) {
		log_print(
			"so much code has been loaded that there is no room for how to unwind all of it: stacks may lack callers (run again, for what is loaded now)");
		session->stacks.told_room = true;
	}
}

/* What tells whether ranges have changed. */
static uint64_t sum_of_ranges(const struct session *session)
{
	const struct unwind_tables *tables = session->stacks.tables;
	uint64_t sum = tables->range_count;

	for (size_t i = 0; i < tables->range_count; i++)
		sum = sum * 31 +
		      (tables->ranges[i].begin ^ (uint64_t)tables->ranges[i].first_row << 48);
	return sum;
}

/* A program that is being started: it has libraries before it has a runtime. */
static bool read_early(struct session *session)
{
	uint64_t before = sum_of_ranges(session);
	struct resolution early;
	bool is_new;
	int result;

	if (target_look(&session->target, NULL) < 0)
		return false;
	result = resolution_begin(&early, &session->target, NULL);
	if (result == 0)
		result = unwind_tables_read(session->stacks.tables, &early.runtimes, NULL);
	resolution_deinit(&early);
	is_new = result == 0 && sum_of_ranges(session) != before;
	if (is_new)
		hand_over(session);
	return is_new;
}

/* What of the images that have come cannot be read: each kind is told once. */
static void log_unreadable(struct session *session)
{
	const struct resolution *resolution = &session->resolution;
	const struct target_files *files = &resolution->target->files;
	bool problems =
		runtimes_reach(&resolution->runtimes).problems > session->stacks.problems_told;

	if (files->unreadable > session->stacks.unreadable_told && !session->stacks.told_files)
		log_print(
			"a file that the target has loaded since cannot be read (see whether root may read it): %s",
			files->first_error ? files->first_error->text : "?");
	session->stacks.told_files |= files->unreadable > session->stacks.unreadable_told;
	if (problems && !session->stacks.told_images)
		log_print(
			"an image that the target has loaded since cannot be read in full: its frames may lack names (--maps takes them from a map)");
	session->stacks.told_images |= problems;
}

void places_add(void *ctx, size_t file, struct file_offset offset, uint64_t cookie)
{
	struct places *places = ctx;
	const struct target_file *from = target_file(places->target, file);

	if (from && places->count < PLACES_MAX)
		places->sites[places->count++] = (struct uprobe_site){
			.file_fd = from->fd,
			.offset = offset,
			.cookie = cookie,
		};
}

/* Frames are named by objects that may have moved by then. */
void session_watch_moves(struct session *session)
{
	struct places moves = { .target = &session->target };
	const struct runtimes *runtimes = &session->resolution.runtimes;

	if (!wants_stacks(session) || session->known != TARGET_RESOLVED)
		return;
	runtimes_moves(runtimes, places_add, &moves);
	if (moves.count == 0)
		return;
	runtimes_watch_moves(runtimes,
			     capture_watch_moves(session->capture, moves.sites, moves.count));
	session->stacks.fading = true;
}

/* At once, of what is known by now. */
void session_make_unwind(struct session *session)
{
	if (read_tables(session, NULL) == 0)
		hand_over(session);
	session_watch_moves(session);
}

/* The target may be gone: what was read before still holds. */
static bool read_again(struct session *session)
{
	struct resolution *resolution = &session->resolution;

	(void)resolution_refresh(resolution, NULL);
	if (session->known != TARGET_RESOLVED)
		(void)session_refresh_early(session);
	if (session->stacks.complete && session->stacks.version == resolution->version)
		return false;
	capture_code_changed(session->capture);
	session_make_unwind(session);
	log_unreadable(session);
	return true;
}

/*
 * At once for a frame that nothing was known of. That code has gone, and other code come in its
 * place, no frame tells: so now and then as well, if there are hits.
 */
void session_refresh_unwind(struct session *session)
{
	uint64_t now = clock_now_ns(), took;
	bool due = session->stacks.stale ||
		   (session->stacks.used && now >= session->stacks.look_ns) ||
		   session->known != TARGET_RESOLVED ||
		   session->stacks.version != session->resolution.version;
	bool is_new;

	if (!session->stacks.tables || !due || now < session->stacks.again_ns)
		return;
	session->stacks.stale = session->stacks.used = false;
	is_new = session->known != TARGET_UNKNOWN ? read_again(session) : read_early(session);
	took = clock_now_ns() - now;
	session->stacks.again_ns =
		now + AGAIN_MS * NS_PER_MS + (is_new ? NEW_PART : AGAIN_PART) * took;
	session->stacks.look_ns = now + LOOK_MS * NS_PER_MS;
}

/* What the raw frames tell of the tables that they were found by. */
static void judge_unwinding(struct session *session, const struct hit_event *event)
{
	bool of_stub = false;

	session->stacks.used = true;
	/* A guess that led nowhere. */
	session->stacks.stale |=
		event->stack_end == STACK_BROKEN || event->stack_end == STACK_UNREADABLE;
	for (uint32_t i = 0; i < event->frame_count; i += event_frame_slots(&event->frames[i])) {
		bool guessed = (event->frames[i].flags & EVENT_FRAME_GUESSED) != 0;

		/* Its callee is what nothing was known of; of stubs there never is anything. */
		session->stacks.stale |= guessed && !of_stub;
		of_stub = (event->frames[i].flags & EVENT_FRAME_STUB) != 0;
	}
	session->stacks.totals.ends[event->stack_end] += !event->merged;
}

/* Code that is on the stack is not replaced, but this may be read long after the hit. */
static bool has_same_codes(const struct session *session, const struct hit_event *event)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; session->symbols && i < event->frame_count; i++)
		sum += symbols_code_version(session->symbols, &event->frames[i]);
	return sum == event->codes;
}

/* A record has all. */
static enum stack_frames frames_of(const struct session *session)
{
	return session->record				  ? STACK_FRAMES_MARKED :
	       session->options->stack == STACK_MODE_FULL ? STACK_FRAMES_ALL :
							    STACK_FRAMES_MANAGED;
}

struct known_stack *session_resolve_stack(struct session *session, const struct hit_event *event)
{
	const struct site *site = &session->plan.sites[event->site];
	bool lasts = !event->merged || has_same_codes(session, event);
	struct known_stack *stack;

	judge_unwinding(session, event);
	stack = known_stacks_get(session->stacks.known, lasts ? session->symbols : NULL, event,
				 site->address, frames_of(session));
	if (!event->merged)
		session->stacks.totals.guessed += stack ? stack->stack.guessed : 0;
	session->stacks.moved += stack ? stack->stack.moved : 0;
	return stack;
}
