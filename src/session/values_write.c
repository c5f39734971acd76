// SPDX-License-Identifier: GPL-2.0-or-later
/* See values.h: what was captured of one call, and by which exception it was left, as text. */
#include "bpf/event.h"
#include "runtime/runtime.h"
#include "session/session_internal.h"
#include "session/values.h"

static const char too_late[] = "its code came up before what it is given was known";
static const char too_early[] = "it was thrown before the runtime was asked";
static const char refused[] = "the kernel refused the probe that sees them";

struct lookup_by {
	struct session *session;
	enum runtime_id runtime;
};

static const struct value_type *object_type(void *ctx, uint64_t handle)
{
	const struct lookup_by *by = ctx;

	return runtimes_object_type(&by->session->resolution.runtimes, by->runtime, handle,
				    by->session->values->types);
}

static bool base_type(void *ctx, uint64_t handle, uint64_t *base)
{
	const struct lookup_by *by = ctx;

	return runtimes_base_type(&by->session->resolution.runtimes, by->runtime, handle, base);
}

static bool add_method_of(void *ctx, uint64_t code, struct text *out)
{
	const struct lookup_by *by = ctx;

	return call_name_add_code(&by->session->values->names, &by->session->resolution.runtimes,
				  by->runtime, code, out);
}

static struct value_lookup lookup_of(struct lookup_by *by)
{
	return (struct value_lookup){
		.object_type = object_type,
		.base_type = base_type,
		.ctx = by,
		.add_method = add_method_of,
	};
}

static enum value_format format_of(const struct session *session)
{
	return session->options->format == FORMAT_JSON ? VALUE_JSON : VALUE_TEXT;
}

static const char *why_none(const struct session *session, const struct hit_event *event)
{
	const struct method_values *method;

	if (session->options->no_values)
		return NULL;
	method = values_find(session->values, &session->plan.sites[event->site]);
	return method && method->why ? method->why : too_late;
}

/* With the text of what was captured, if anything was. */
static void describe(struct session *session, const struct hit_event *event,
		     struct output_call *call)
{
	const struct watch_values *captured = hit_event_values(event);
	struct session_values *values = session->values;
	const struct method_values *method = values_of_program(values, captured->program);
	const char *bytes = (const char *)(captured + 1);
	struct lookup_by by = { session, method ? method->id.runtime : RUNTIME_NONE };
	const struct value_lookup lookup = lookup_of(&by);
	const struct value_call is = {
		.entry = { bytes, captured->entry_bytes },
		.exit = { bytes + captured->entry_bytes, captured->exit_bytes },
		.exited = captured->fate == WATCH_RETURNED,
	};

	if (!method || session->options->no_values) {
		call->why = why_none(session, event);
		return;
	}
	call->is_instance = call_name_add_instance(
		&values->names, &session->resolution.runtimes, method->id.runtime,
		call->hit->method, method->signature.context_is,
		value_call_context(method->watch, &is), &values->name);
	value_add_arguments(method->watch, &is, &lookup, format_of(session), &values->arguments);
	call->arguments = text_chars(&values->arguments);
	if (!is.exited || !value_has_result(method->watch))
		return;
	value_add_result(method->watch, &is, &lookup, format_of(session), &values->result);
	call->result = text_chars(&values->result);
}

/* Exceptions ---------------------------------------------------------------------------------- */

void values_watch_thrown(struct session *session)
{
	struct places places = { .target = &session->target };

	if (session->thrown.asked || session->known != TARGET_RESOLVED ||
	    session->asked.methods.count == 0)
		return;
	session->thrown.asked = true;
	session->thrown.why_not =
		runtimes_throws(&session->resolution.runtimes, RUNTIME_DOTNET, places_add, &places);
	if (places.count && !capture_watch_thrown(session->capture, &places.sites[0]))
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

/* Native code has no exceptions that are known here. */
static void describe_exception(struct session *session, const struct hit_event *event,
			       struct output_call *call)
{
	struct session_values *values = session->values;
	const struct watch_values *captured = hit_event_values(event);
	const struct value_items items = thrown_in(captured);
	enum runtime_id runtime = session->plan.sites[event->site].id.runtime;
	struct lookup_by by = { session, runtime };
	const struct value_lookup lookup = lookup_of(&by);

	if (call->fate != WATCH_UNWOUND || runtime != RUNTIME_DOTNET)
		return;
	call->why_not = why_unknown(session, captured);
	if (!call->why_not)
		call->why_not = value_add_thrown(
			&items, &lookup,
			session->options->no_values ? 0 : values->options.string_bytes,
			format_of(session), &values->exception);
	if (!call->why_not)
		call->exception = text_chars(&values->exception);
}

/* A half of a value is none. That memory was refused is told at the end, too. */
static void leave_out_halves(const struct session_values *values, struct output_call *call)
{
	static const char why[] = "there was no memory for it";

	if (!text_ok(&values->arguments) || !text_ok(&values->result)) {
		call->arguments = NULL;
		call->result = NULL;
		call->why = why;
	}
	if (!text_ok(&values->exception)) {
		call->exception = NULL;
		call->why_not = why;
	}
}

bool session_values_decide(struct session *session, const struct hit_event *event)
{
	const struct filter *filter = &session->values->expressions.filter;
	const struct watch_values *captured = hit_event_values(event);
	const struct value_items items = thrown_in(captured);
	uint32_t asked = captured->types;
	struct lookup_by by = { session, session->plan.sites[event->site].id.runtime };
	const struct value_lookup lookup = lookup_of(&by);
	int types;

	if (!asked)
		return true;
	types = why_unknown(session, captured) ?
			-1 :
			value_thrown_types(&items, &lookup, filter->types, filter->type_count);
	if (types < 0)
		return false;
	capture_decide(session->capture, event->site, asked >> types & 1);
	return asked >> types & 1;
}

void session_values_write(struct session *session, const struct hit_event *event,
			  const struct hit *hit)
{
	struct session_values *values = session->values;
	struct output_call call = {
		.hit = hit,
		.fate = (enum watch_fate)hit_event_values(event)->fate,
		.native = session->plan.sites[event->site].id.runtime == RUNTIME_NATIVE,
	};

	text_clear(&values->name);
	text_clear(&values->arguments);
	text_clear(&values->result);
	text_clear(&values->exception);
	describe(session, event, &call);
	if (!call.is_instance)
		call_name_add_plain(&values->name, hit->method);
	call.name = text_chars(&values->name);
	describe_exception(session, event, &call);
	leave_out_halves(values, &call);
	if (!session_async_take(session, event, &call)) {
		output_call(&session->output, &call);
		session->counts.shown++;
	}
	values_ask_again(session, event->site);
}
