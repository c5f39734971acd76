// SPDX-License-Identifier: GPL-2.0-or-later
/* From where a runtime is told of exceptions to a probe there, and from what it saw to text. */
#include "session/thrown.h"

#include "capture/capture.h"
#include "probe/uprobes.h"
#include "runtime/runtime.h"
#include "session/resolve.h"
#include "session/session_internal.h"
#include "value/value.h"

static const char too_early[] = "it was thrown before the runtime was asked";
static const char refused[] = "the kernel refused the probe that sees them";

struct place {
	const struct target *target;
	struct uprobe_site site;
	bool found;
};

static void take_place(void *ctx, size_t file, struct file_offset offset, uint64_t cookie)
{
	struct place *place = ctx;
	const struct target_file *from = target_file(place->target, file);

	if (!from)
		return;
	place->site = (struct uprobe_site){
		.file_fd = from->fd,
		.offset = offset,
		.cookie = cookie,
	};
	place->found = true;
}

void session_watch_thrown(struct session *session)
{
	struct place place = { .target = &session->target };

	if (session->thrown.asked || session->known != TARGET_RESOLVED ||
	    session->asked.methods.count == 0)
		return;
	session->thrown.asked = true;
	session->thrown.why_not =
		runtimes_throws(&session->resolution.runtimes, RUNTIME_DOTNET, take_place, &place);
	if (place.found && !capture_watch_thrown(session->capture, &place.site))
		session->thrown.why_not = refused;
}

static struct value_items thrown_in(const struct watch_values *captured)
{
	return (struct value_items){
		(const char *)(captured + 1) + captured->entry_bytes,
		captured->exit_bytes,
	};
}

/* NULL: what was read of it tells. */
static const char *why_unknown(const struct session *session, const struct watch_values *captured)
{
	if (!session->thrown.asked)
		return too_early;
	if (session->thrown.why_not)
		return session->thrown.why_not;
	return captured->thrown & WATCH_THROWN_DOUBT ?
		       "several were under way, and it is one of them" :
		       NULL;
}

const char *session_add_thrown(const struct session *session, const struct hit_event *event,
			       const struct value_lookup *lookup, uint32_t string_bytes,
			       struct text *out)
{
	const struct watch_values *captured = hit_event_values(event);
	const struct value_items items = thrown_in(captured);
	const char *why = why_unknown(session, captured);

	if (why)
		return why;
	return value_add_thrown(&items, lookup, string_bytes,
				session->options->format == FORMAT_JSON ? VALUE_JSON : VALUE_TEXT,
				out);
}

int session_thrown_types(const struct session *session, const struct hit_event *event,
			 const struct value_lookup *lookup, const char *const *names, size_t count)
{
	const struct watch_values *captured = hit_event_values(event);
	const struct value_items items = thrown_in(captured);

	return why_unknown(session, captured) ? -1 :
						value_thrown_types(&items, lookup, names, count);
}
