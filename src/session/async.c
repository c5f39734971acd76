// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --watch --async: which method each site is of is told to the programs, and what they send of a
 * call is put together by async_calls.h. For consume.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "base/vector.h"
#include "bpf/event.h"
#include "runtime/runtime.h"
#include "session/async_calls.h"
#include "session/call_name.h"
#include "session/session_internal.h"
#include "session/values.h"

enum {
	CALLS_MAX = 1 << 14, /* whose arguments are kept for their end */
	OBJECT_HEADER_BYTES = 8,
};

static const char of_machine[] = "state machine of ";
static const char refused[] = "the kernel refused the probe that sees collections";

struct session_async {
	char **methods; /* by number */
	size_t method_count;
	size_t method_capacity;
	uint32_t *of_sites; /* method number + 1; 0: not known yet */
	size_t site_count;
	size_t site_capacity;
	struct async_calls calls;
	bool asked; /* the runtime, for collections */
	bool no_room;
	struct text name;
};

static void write_call(void *ctx, const struct async_call *call)
{
	struct session *session = ctx;
	struct session_async *async = session->async;
	const struct async_end *end = &call->end;
	const struct hit hit = {
		.time_ns = end->time_ns,
		.pid = session->pid,
		.tid = end->tid,
		.comm = end->comm,
		.method = async->methods[end->method],
		.duration_ns = end->took_ns,
	};
	struct output_async out = {
		.hit = &hit,
		.id = call->id,
		.arguments = call->arguments,
		.why = call->why,
		.took_ns = end->took_ns,
		.outcome = end->outcome,
		.exception = end->exception,
	};

	text_clear(&async->name);
	call_name_add_plain(&async->name, hit.method);
	out.name = text_chars(&async->name);
	output_async(&session->output, &out);
	session->counts.shown++;
}

int session_async_create(struct session *session, struct error *err)
{
	if (!session->options->async)
		return 0;
	session->async = calloc(1, sizeof(*session->async));
	if (!session->async)
		return error_set(err, -ENOMEM, "no memory for asynchronous calls");
	session->async->calls = (struct async_calls){
		.limit = CALLS_MAX,
		.write = write_call,
		.ctx = session,
	};
	return 0;
}

void session_async_destroy(struct session_async *async)
{
	if (!async)
		return;
	for (size_t i = 0; i < async->method_count; i++)
		free(async->methods[i]);
	free(async->methods);
	free(async->of_sites);
	async_calls_deinit(&async->calls);
	text_deinit(&async->name);
	free(async);
}

/* Sites -------------------------------------------------------------------------------------- */

/* Their Task is the state machine's object once it waits; of others that is not so. */
static bool is_known_builder(const struct value_type *type)
{
	static const char *const names[] = {
		"System.Runtime.CompilerServices.AsyncTaskMethodBuilder",
		"System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (strncmp(type->name, names[i], length) == 0 &&
		    (type->name[length] == '\0' || type->name[length] == '<'))
			return true;
	}
	return false;
}

/* Where the state machine, that is `this`, has what is asked of it. False: not known. */
static bool read_machine(const struct value_signature *signature, struct async_site *about)
{
	const struct value_type *this =
		signature->argument_count ? signature->arguments[0].type : NULL;
	bool by_object = this && this->kind == VALUE_OBJECT;
	const struct value_type *machine =
		this && this->kind == VALUE_REFERENCE ? this->element : this;
	const struct value_field *state = value_type_field(machine, "<>1__state");
	const struct value_field *builder = value_type_field(machine, "<>t__builder");
	const struct value_field *task = builder && is_known_builder(builder->type) ?
						 value_type_field(builder->type, "m_task") :
						 NULL;
	const struct value_type *tasks = task ? task->type : NULL;
	uint32_t header = by_object ? OBJECT_HEADER_BYTES : 0;

	if (!state || !tasks || tasks->well_known != VALUE_TASK || !tasks->field_count ||
	    header + builder->offset + task->offset > UINT16_MAX ||
	    header + state->offset > UINT16_MAX || tasks->fields[0].offset > UINT16_MAX / 2)
		return false;
	about->kind = ASYNC_STEP;
	about->by_object = by_object;
	about->state_at = (uint16_t)(header + state->offset);
	about->task_at = (uint16_t)(header + builder->offset + task->offset);
	about->flags_at = (uint16_t)(OBJECT_HEADER_BYTES + tasks->fields[0].offset);
	return true;
}

/* The number of the method of that name, from 1 on; 0: there is none. */
static uint32_t find_method(const struct session_async *async, const char *name)
{
	for (size_t i = 0; i < async->method_count; i++) {
		if (strcmp(async->methods[i], name) == 0)
			return (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t add_method(struct session_async *async, const char *name)
{
	uint32_t number = find_method(async, name);
	char *copy;

	if (number)
		return number;
	copy = async->method_count < ASYNC_METHODS ? strdup(name) : NULL;
	if (copy &&
	    vector_add(&async->methods, &async->method_count, &async->method_capacity, copy))
		return (uint32_t)async->method_count;
	free(copy);
	async->no_room = true;
	return 0;
}

static void use_site(struct session *session, size_t number, uint32_t method,
		     struct async_site *about)
{
	about->method = (uint16_t)(method - 1);
	session->async->of_sites[number] = method;
	capture_use_async(session->capture, (uint32_t)number, about);
}

static void add_step(struct session *session, size_t number)
{
	const struct site *site = &session->plan.sites[number];
	const struct method_values *method = values_find(session->values, site);
	struct async_site about = { .kind = ASYNC_NONE };
	uint32_t of;

	if (!method || strncmp(site->made_from, of_machine, sizeof(of_machine) - 1) != 0 ||
	    !read_machine(&method->signature, &about))
		return;
	of = add_method(session->async, site->made_from + sizeof(of_machine) - 1);
	if (of)
		use_site(session, number, of, &about);
}

static void tell_not_shown(const char *why)
{
	log_print(
		"asynchronous calls that wait are counted, and not shown: %s (docs/limits.md tells more)",
		why);
}

/* As soon as the runtime is known. */
static void watch_collections(struct session *session)
{
	uint64_t fault_at[ASYNC_HOPS];
	struct places places = { .target = &session->target };
	const char *why;

	if (session->async->asked || session->known != TARGET_RESOLVED)
		return;
	session->async->asked = true;
	if (runtimes_fault_path(&session->resolution.runtimes, RUNTIME_DOTNET, fault_at))
		capture_watch_faults(session->capture, fault_at);
	why = runtimes_collects(&session->resolution.runtimes, RUNTIME_DOTNET, places_add, &places);
	if (places.count && !capture_watch_collections(session->capture, &places.sites[0]))
		why = refused;
	if (why)
		tell_not_shown(why);
}

void session_async_add(struct session *session)
{
	struct session_async *async = session->async;
	size_t methods;

	if (!async)
		return;
	watch_collections(session);
	methods = async->method_count;
	while (async->site_count < session->values->sites) {
		if (!vector_add(&async->of_sites, &async->site_count, &async->site_capacity, 0U))
			return;
	}
	for (size_t i = 0; i < async->site_count; i++) {
		if (!async->of_sites[i] && session->plan.sites[i].made_from)
			add_step(session, i);
	}
	for (size_t i = 0; i < async->site_count && async->method_count; i++) {
		const struct site *site = &session->plan.sites[i];
		struct async_site about = { .kind = ASYNC_START };
		uint32_t method = !async->of_sites[i] && !site->made_from ?
					  find_method(async, site->method) :
					  0;

		if (method)
			use_site(session, i, method, &about);
	}
	if (methods != async->method_count && session->options->verbose)
		log_print("%zu asynchronous method%s followed as a whole", async->method_count,
			  async->method_count == 1 ? " is" : "s are");
	capture_sweep_async(session->capture);
}

/* Calls -------------------------------------------------------------------------------------- */

/* The name of an exception's type; NULL: it is not known, or that is none. */
static const char *exception_name(const struct session *session, uint64_t handle)
{
	const struct value_type *type =
		handle ? runtimes_object_type(&session->resolution.runtimes, RUNTIME_DOTNET, handle,
					      session->values->types) :
			 NULL;

	if (!type || !value_type_field(type, "_message") ||
	    !value_type_field(type, "_innerException"))
		return NULL;
	return type->name;
}

static struct async_end end_of(const struct session *session, const struct hit_event *event,
			       uint32_t method)
{
	const struct watch_values *values = hit_event_values(event);
	struct async_end end = {
		.time_ns = event->time_ns,
		.took_ns = values->async_ns,
		.method = method,
		.tid = (pid_t)event->tid,
		.outcome = (enum async_outcome)values->async_outcome,
		.exception = exception_name(session, values->async_fault),
	};

	memcpy(end.comm, event->comm, EVENT_COMM_BYTES);
	end.comm[EVENT_COMM_BYTES - 1] = '\0';
	return end;
}

bool session_async_take(struct session *session, const struct hit_event *event,
			const struct output_call *from)
{
	const struct watch_values *values = hit_event_values(event);
	struct session_async *async = session->async;
	struct async_end end;

	if (!async || !values->async_news || event->site >= async->site_count ||
	    !async->of_sites[event->site])
		return false;
	if (values->async_news & ASYNC_BEGUN)
		async_calls_begun(&async->calls, values->async_id, from->arguments, from->why);
	if (!(values->async_news & ASYNC_ENDED) || values->async_outcome >= ASYNC_OUTCOMES)
		return true;
	end = end_of(session, event, async->of_sites[event->site] - 1);
	async_calls_ended(&async->calls, values->async_id, &end);
	return true;
}

/* False: not all is known. */
static bool write_total(struct session *session, uint32_t number)
{
	const struct async_totals counted = capture_async_totals(session->capture, number);
	struct output_async_total total = {
		.method = session->async->methods[number],
		.started = counted.started,
		.synchronous = counted.synchronous,
		.paired = counted.paired,
		.unknown = counted.unknown,
		.no_room = counted.no_room,
	};
	uint64_t ended = 0;

	for (int i = 0; i < ASYNC_OUTCOMES; i++) {
		total.ended[i] = counted.ended[i];
		ended += counted.ended[i];
	}
	total.not_paired = ended > counted.paired ? ended - counted.paired : 0;
	total.open_known = counted.unknown == 0 && ended <= counted.started;
	total.open = total.open_known ? counted.started - ended : 0;
	/* An end before all beginnings is of a call that was under way before the run. */
	if (total.open_known && total.open == 0 && ended && (int64_t)counted.sum_ns > 0)
		total.mean_ns = counted.sum_ns / ended;
	output_async_total(&session->output, &total);
	return total.open_known;
}

bool session_async_report(struct session *session)
{
	struct session_async *async = session->async;
	bool known = true;

	if (!async)
		return true;
	async_calls_finish(&async->calls);
	for (size_t i = 0; i < async->method_count; i++)
		known &= write_total(session, (uint32_t)i);
	if (async->no_room)
		log_print(
			"not all asynchronous methods are followed as a whole: there are more than %d, so narrow the pattern",
			ASYNC_METHODS);
	if (!known)
		log_print(
			"of some asynchronous calls it is not known whether they are over: a collection came "
			"while a step ran, or there was no room (docs/limits.md tells more)");
	return known && !async->no_room;
}
