// SPDX-License-Identifier: GPL-2.0-or-later
/* See async.h. */
#include "session/async.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/tree.h"
#include "base/vector.h"
#include "bpf/event.h"
#include "capture/capture.h"
#include "output/output.h"
#include "probe/uprobes.h"
#include "runtime/runtime.h"
#include "session/session_internal.h"
#include "session/values_internal.h"

enum {
	CALLS_MAX = 1 << 14, /* whose arguments are kept for their end */
	OBJECT_HEADER_BYTES = 8,
};

static const char of_machine[] = "state machine of ";
static const char refused[] = "the kernel refused the probe that sees collections";

/* A call of which not all has come. */
struct async_call {
	uint64_t id; /* first: base/tree.h */
	char *arguments;
	const char *why; /* there are none */
	bool begun;
	bool ended;
	uint32_t method;
	struct output_async end;
	char comm[EVENT_COMM_BYTES];
};

struct session_async {
	char **methods; /* by number */
	size_t method_count;
	size_t method_capacity;
	uint32_t *of_sites; /* method number + 1; 0: not known yet */
	size_t site_count;
	size_t site_capacity;
	void *calls; /* of struct async_call by id */
	size_t call_count;
	uint64_t oldest;
	bool asked; /* the runtime, for collections */
	bool no_room;
	struct text name;
};

int session_async_create(struct session *session, struct error *err)
{
	if (!session->options->async)
		return 0;
	session->async = calloc(1, sizeof(*session->async));
	return session->async ? 0 : error_set(err, -ENOMEM, "no memory for asynchronous calls");
}

static void free_call(void *node)
{
	free(((struct async_call *)node)->arguments);
	free(node);
}

void session_async_destroy(struct session_async *async)
{
	if (!async)
		return;
	for (size_t i = 0; i < async->method_count; i++)
		free(async->methods[i]);
	free(async->methods);
	free(async->of_sites);
	tdestroy(async->calls, free_call);
	text_deinit(&async->name);
	free(async);
}

/* Sites -------------------------------------------------------------------------------------- */

static const struct value_field *find_field(const struct value_type *type, const char *name)
{
	for (size_t i = 0; type && i < type->field_count; i++) {
		if (strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	}
	return NULL;
}

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
	const struct value_field *state = find_field(machine, "<>1__state");
	const struct value_field *builder = find_field(machine, "<>t__builder");
	const struct value_field *task = builder && is_known_builder(builder->type) ?
						 find_field(builder->type, "m_task") :
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

static void take_place(void *ctx, size_t file, struct file_offset offset, uint64_t cookie)
{
	struct session *session = ctx;
	const struct target_file *from = target_file(&session->target, file);
	struct uprobe_site site = { .offset = offset, .cookie = cookie };

	if (!from)
		return;
	site.file_fd = from->fd;
	if (!capture_watch_collections(session->capture, &site))
		log_print("asynchronous calls that wait are counted, and not shown: %s", refused);
}

/* As soon as the runtime is known. */
static void watch_collections(struct session *session)
{
	const char *why;

	if (session->async->asked || session->known != TARGET_RESOLVED)
		return;
	session->async->asked = true;
	why = runtimes_collects(&session->resolution.runtimes, RUNTIME_DOTNET, take_place, session);
	if (why)
		log_print(
			"asynchronous calls that wait are counted, and not shown: %s (docs/limits.md tells more)",
			why);
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
		log_print("%zu asynchronous methods are followed as a whole", async->method_count);
	capture_sweep_async(session->capture);
}

/* Calls -------------------------------------------------------------------------------------- */

static void drop(struct session_async *async, struct async_call *call)
{
	tdelete(call, &async->calls, by_leading_number);
	free_call(call);
	async->call_count--;
}

static void write_call(struct session *session, struct async_call *call)
{
	struct session_async *async = session->async;
	struct hit hit = {
		.time_ns = call->end.time_ns,
		.pid = session->pid,
		.tid = call->end.tid,
		.comm = call->comm,
		.method = async->methods[call->method],
		.tier = NULL,
		.duration_ns = call->end.took_ns,
	};

	text_clear(&async->name);
	call_name_add_plain(&async->name, hit.method);
	call->end.hit = &hit;
	call->end.name = text_chars(&async->name);
	call->end.arguments = call->arguments;
	call->end.why = call->begun ? call->why : "its beginning was lost";
	output_async(&session->output, &call->end);
	session->counts.shown++;
}

/* The oldest is shown without its arguments if its end has come, else forgotten. */
static void make_room(struct session *session)
{
	struct session_async *async = session->async;

	while (async->call_count > CALLS_MAX) {
		struct async_call *call = tree_find(&async->calls, async->oldest++);

		if (!call)
			continue;
		if (call->ended)
			write_call(session, call);
		drop(async, call);
	}
}

static void note_begun(struct async_call *call, const struct output_call *from)
{
	call->begun = true;
	call->arguments = from->arguments ? strdup(from->arguments) : NULL;
	call->why = from->arguments ? NULL : from->why;
}

static void note_ended(struct async_call *call, const struct hit_event *event,
		       const struct watch_values *values)
{
	call->ended = true;
	memcpy(call->comm, event->comm, EVENT_COMM_BYTES);
	call->comm[EVENT_COMM_BYTES - 1] = '\0';
	call->end.time_ns = event->time_ns;
	call->end.tid = (pid_t)event->tid;
	call->end.took_ns = values->async_ns;
	call->end.id = values->async_id;
	call->end.outcome = values->async_outcome < ASYNC_OUTCOMES ?
				    (enum async_outcome)values->async_outcome :
				    ASYNC_COMPLETED;
}

bool session_async_take(struct session *session, const struct hit_event *event,
			const struct output_call *from)
{
	const struct watch_values *values = hit_event_values(event);
	struct session_async *async = session->async;
	struct async_call *call;
	bool is_new;

	if (!async || !values->async_news || event->site >= async->site_count ||
	    !async->of_sites[event->site])
		return false;
	call = tree_take(&async->calls, values->async_id, sizeof(*call), &is_new);
	if (!call)
		return true;
	async->call_count += is_new;
	call->method = async->of_sites[event->site] - 1;
	if (values->async_news & ASYNC_BEGUN && !call->begun)
		note_begun(call, from);
	if (values->async_news & ASYNC_ENDED && !call->ended)
		note_ended(call, event, values);
	if (call->begun && call->ended) {
		write_call(session, call);
		drop(async, call);
	}
	make_room(session);
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
	if (total.open_known && total.open == 0 && ended)
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
	for (; async->call_count && async->oldest < UINT64_MAX; async->oldest++) {
		struct async_call *call = tree_find(&async->calls, async->oldest);

		if (call && call->ended)
			write_call(session, call);
		if (call)
			drop(async, call);
	}
	for (size_t i = 0; i < async->method_count; i++)
		known &= write_total(session, (uint32_t)i);
	if (async->no_room)
		log_print(
			"not all asynchronous methods are followed as a whole: there are more than %d",
			ASYNC_METHODS);
	if (!known)
		log_print(
			"of some asynchronous calls it is not known whether they are over: a collection came "
			"while a step ran, or there was no room (docs/limits.md tells more)");
	return known && !async->no_room;
}
