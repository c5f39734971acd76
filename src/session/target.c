// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When it is known what the target is made of. One that was started has nothing to begin with; what
 * native functions are called is known as soon as its libraries are there, the names of methods
 * once it has a runtime: then it is resolved anew. Where its loader stops for the first two times
 * the follower waits for a look at what is mapped, before the program is let go.
 */
#include "stack/symbols.h"
#include "follow/follow.h"
#include "session/session_internal.h"
#include "stack/known.h"

bool session_wants_natives(const struct session *session)
{
	return patterns_have_image(session->asked.patterns, session->options->request.count);
}

/*
 * What was looked at does not count. An exec may follow, and memory is that of one program. The
 * last snapshot goes on reading what there is.
 */
static void give_up(struct session *session)
{
	resolution_deinit(&session->resolution);
	if (!session->snapshot)
		target_close_memory(&session->target);
}

static void forget_early(struct session *session)
{
	session_state_change(&session->known, EVENT_RUNTIME);
	symbols_destroy(session->symbols);
	session->symbols = NULL;
	known_stacks_forget(session->stacks.known);
	give_up(session);
	session->stacks.complete = false;
}

/* Look at all of it. What has no runtime is taken only @without_runtime. */
static bool resolve(struct session *session, bool without_runtime)
{
	/* Before exec it is a copy of ourselves, and a script may execute yet another program. */
	if (session->command.launch && session->state < RUN_CONSUME)
		return false;
	if (resolution_init(&session->resolution, &session->target, NULL)) {
		give_up(session);
		return false;
	}
	session->stacks.stale = true;
	if (session->resolution.managed) {
		session_state_change(&session->known, EVENT_RESOLVED);
		return true;
	}
	if (without_runtime) {
		session_state_change(&session->known, EVENT_NO_RUNTIME);
		session->command.early_version = 0;
		return true;
	}
	give_up(session);
	return false;
}

/* Has what was looked at too early got a runtime? Each of its files is looked at once. */
static bool has_runtime_by_now(struct session *session)
{
	struct resolution *resolution = &session->resolution;

	(void)resolution_refresh(resolution, NULL);
	if (session->command.early_version == resolution->version)
		return false;
	session->command.early_version = resolution->version;
	return runtimes_have_come(&resolution->runtimes);
}

bool session_try_resolve(struct session *session)
{
	if (session->known == TARGET_RESOLVED)
		return true;
	if (session->known == TARGET_UNKNOWN)
		return resolve(session, false);
	if (!has_runtime_by_now(session))
		return false;
	forget_early(session);
	return resolve(session, true) && session->known == TARGET_RESOLVED;
}

/* Has something been mapped since it was looked at? */
static bool is_outdated(struct session *session)
{
	uint64_t mapped = session->followed.follow ? follow_mapped(session->followed.follow) : 0;
	bool outdated = session->known == TARGET_EARLY && mapped != session->command.early_mapped;

	session->command.early_mapped = mapped;
	return outdated;
}

int session_name_frames(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	const struct symbol_directories directories = { options->symbols, options->symbol_count };
	enum source_lines lines = options->no_lines    ? LINES_NONE :
				  options->source_maps ? LINES_BY_SOURCE_MAPS :
							 LINES_AS_COMPILED;
	int result = frame_names_create(&session->symbols, &session->resolution, lines,
					&directories, err);

	if (result == 0)
		symbols_watch_codes(session->symbols, capture_code_versions(session->capture));
	return result;
}

void session_prepare_names(struct session *session)
{
	if (is_outdated(session))
		(void)session_try_resolve(session);
	if (session->symbols)
		return;
	if (session->known == TARGET_UNKNOWN && !resolve(session, session_wants_natives(session)))
		return;
	(void)session_name_frames(session, NULL);
	session->stacks.stale = true;
}

void session_settle_names(struct session *session)
{
	if (!options_report_hits(session->options))
		return;
	session_prepare_names(session);
	if (session->known != TARGET_UNKNOWN)
		(void)resolution_refresh(&session->resolution, NULL);
}

bool session_refresh_early(struct session *session)
{
	uint64_t before = session->resolution.version;

	if (session_try_resolve(session)) {
		session_prepare_names(session);
		return true;
	}
	return session->known == TARGET_EARLY && session->resolution.version != before;
}

void session_look_early(struct session *session)
{
	struct follow *follow = session->followed.follow;

	if (!follow || !follow_waits_for_look(follow))
		return;
	if (session->known == TARGET_EARLY)
		(void)session_refresh_early(session);
	session_prepare_names(session);
	if (session->stacks.tables && session->known != TARGET_UNKNOWN)
		session_make_unwind(session);
	if (session->values)
		(void)session_absorb(session, false, NULL);
	follow_let_go(follow);
}
