// SPDX-License-Identifier: GPL-2.0-or-later
/* From traced calls to trees (trace_tree.h), for consume.c. The programs are in bpf/trace.bpf.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/tree.h"
#include "base/vector.h"
#include "bpf/event.h"
#include "session/session_internal.h"
#include "session/trace_tree.h"

enum {
	CALLS_MAX = 1 << 17, /* of one trace; more are left out of its tree */
	MEMORY_PART = 4,     /* of --memory, for the calls of all traces that are under way */
};

/* The trace that is under way in a thread. */
struct thread_trace {
	uint64_t tid;		   /* first: base/tree.h */
	uint32_t number;	   /* of the trace: struct trace_counts */
	struct traced_call *calls; /* .method is the site until the tree is made */
	size_t count;
	size_t capacity;
	uint64_t came; /* all that were sent and have arrived */
	uint64_t left_out;
	uint64_t last_ns; /* when the last one ended */
};

struct session_traces {
	void *threads; /* of struct thread_trace, <search.h> */
	size_t kept;   /* calls of all of them */
	size_t kept_max;
	size_t thread_count;
	uint64_t incomplete; /* traces that are shown, and some of their calls are not */
	uint64_t no_memory;  /* traces that are not shown for want of it */
};

int session_traces_create(struct session *session, struct error *err)
{
	const struct options *options = session->options;

	if (options->mode != MODE_TRACE)
		return 0;
	session->traces = calloc(1, sizeof(*session->traces));
	if (!session->traces)
		return error_set(err, -ENOMEM, "no memory for traces");
	session->traces->kept_max =
		options->memory_bytes / MEMORY_PART / sizeof(struct traced_call);
	return 0;
}

static void free_thread(void *thread)
{
	free(((struct thread_trace *)thread)->calls);
	free(thread);
}

void session_traces_destroy(struct session_traces *traces)
{
	if (!traces)
		return;
	tdestroy(traces->threads, free_thread);
	free(traces);
}

static void forget(struct session_traces *traces, struct thread_trace *thread)
{
	traces->kept -= thread->count;
	traces->thread_count--;
	tdelete(thread, &traces->threads, by_leading_number);
	free_thread(thread);
}

struct oldest {
	const struct thread_trace *but;
	struct thread_trace *thread;
};

static void take_older(const void *node, VISIT which, void *ctx)
{
	struct thread_trace *thread = *(struct thread_trace *const *)node;
	struct oldest *oldest = ctx;

	if ((which == postorder || which == leaf) && thread != oldest->but &&
	    (!oldest->thread || thread->last_ns < oldest->thread->last_ns))
		oldest->thread = thread;
}

/*
 * Make room by the trace that nothing has come of for the longest time: of a thread that is gone,
 * if what would have told of that was lost. Not that of @thread.
 */
static void forget_oldest(struct session_traces *traces, const struct thread_trace *thread)
{
	struct oldest oldest = { .but = thread };

	twalk_r(traces->threads, take_older, &oldest);
	if (oldest.thread)
		forget(traces, oldest.thread);
}

/* The trace that @event is of. One before it that has not ended here never will: that was lost. */
static struct thread_trace *trace_of(struct session_traces *traces, const struct hit_event *event)
{
	bool is_new;
	struct thread_trace *thread =
		tree_take(&traces->threads, event->tid, sizeof(*thread), &is_new);

	if (!thread)
		return NULL;
	traces->thread_count += is_new;
	if (traces->thread_count > LATENCY_THREADS)
		forget_oldest(traces, thread);
	thread->last_ns = event->time_ns;
	if (thread->number != event->trace) {
		traces->kept -= thread->count;
		thread->count = 0;
		thread->came = thread->left_out = 0;
		thread->number = event->trace;
	}
	return thread;
}

static void keep(struct session_traces *traces, struct thread_trace *thread,
		 const struct hit_event *event)
{
	const struct traced_call call = {
		.entered_ns = event->entered_ns,
		.took_ns = event->duration_ns,
		.method = event->site,
		.depth = event->traced.depth,
		.fate = event->traced.fate,
	};
	bool has_room;

	if (traces->kept >= traces->kept_max)
		forget_oldest(traces, thread);
	/* The root itself has a place in any case. */
	has_room = event->traced.depth == 0 ||
		   (thread->count < CALLS_MAX && traces->kept < traces->kept_max);
	thread->came++;
	if (has_room && vector_add(&thread->calls, &thread->count, &thread->capacity, call))
		traces->kept++;
	else
		thread->left_out++;
}

/* Bodies of one method are at several sites. What is of a method that nobody asked for goes. */
static void name_methods(const struct plan *plan, struct thread_trace *thread)
{
	for (size_t i = 0; i < thread->count; i++) {
		struct traced_call *call = &thread->calls[i];
		const struct site *site = &plan->sites[call->method];
		const struct site *first = plan_find_method(plan, site);

		if (site->reason == REASON_OTHER_METHOD)
			call->depth = UINT8_MAX;
		if (first)
			call->method = (uint32_t)(first - plan->sites);
	}
}

static void write_tree(struct session *session, const struct trace_tree *tree,
		       struct output_trace *trace)
{
	_cleanup_free_ struct output_traced *calls = calloc(tree->count + 1, sizeof(*calls));

	for (size_t i = 0; calls && i < tree->count; i++) {
		const struct trace_node *node = &tree->nodes[i];
		const struct site *site = &session->plan.sites[node->method];

		calls[i] = (struct output_traced){
			.method = site->method,
			.native = site->id.runtime == RUNTIME_NATIVE,
			.depth = node->depth,
			.calls = node->calls,
			.took_ns = node->took_ns,
			.self_ns = node->self_ns,
			.unwound = node->fates[WATCH_UNWOUND],
			.unseen = node->fates[WATCH_UNSEEN],
			.thread_ended = node->fates[WATCH_THREAD_ENDED],
		};
	}
	trace->calls = calls;
	trace->count = tree->count;
	if (calls && tree->count) {
		output_trace(&session->output, trace);
		session->counts.shown++;
	}
	session->traces->no_memory += !calls;
}

/* The root of @thread's trace has ended, as @event tells. */
static void write_trace(struct session *session, struct thread_trace *thread,
			const struct hit_event *event, const struct hit *hit)
{
	struct session_traces *traces = session->traces;
	struct output_trace trace = {
		.hit = hit,
		.missing = event->ended > thread->came ? event->ended - thread->came : 0,
		.not_followed = event->traced.missed,
		.left_out = thread->left_out,
	};
	_cleanup_(trace_tree_deinit) struct trace_tree tree;

	name_methods(&session->plan, thread);
	if (trace_tree_make(&tree, thread->calls, thread->count)) {
		traces->no_memory++;
		return;
	}
	traces->incomplete += trace.missing || trace.not_followed || trace.left_out;
	write_tree(session, &tree, &trace);
}

void session_trace(struct session *session, const struct hit_event *event, const struct hit *hit)
{
	struct session_traces *traces = session->traces;
	struct thread_trace *thread = trace_of(traces, event);
	bool is_root = event->traced.depth == 0;

	if (!thread) {
		traces->no_memory += is_root;
		return;
	}
	keep(traces, thread, event);
	if (!is_root)
		return;
	/* It is a root as far as is known by now, and it is known that it took so long. */
	if (session->plan.sites[event->site].root && event->traced.fate != WATCH_UNSEEN &&
	    event->duration_ns >= session->options->slow_ns)
		write_trace(session, thread, event, hit);
	forget(traces, thread);
}

void session_traces_log(const struct session *session)
{
	const struct session_traces *traces = session->traces;

	if (!traces)
		return;
	if (traces->incomplete)
		log_print(
			"%" PRIu64
			" of the traces %s not complete, as each of them says (ask for fewer --calls, or a larger --buffer)",
			traces->incomplete, text_are(traces->incomplete));
	if (traces->no_memory)
		log_print("%" PRIu64
			  " trace%s not shown for want of memory (ask for fewer --calls)",
			  traces->no_memory, traces->no_memory == 1 ? " is" : "s are");
	if (traces->thread_count)
		log_print("%zu trace%s had not ended, and %s not shown (-d gives %s more time)",
			  traces->thread_count, text_plural(traces->thread_count),
			  text_are(traces->thread_count),
			  traces->thread_count == 1 ? "it" : "them");
}
