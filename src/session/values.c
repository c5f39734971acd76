// SPDX-License-Identifier: GPL-2.0-or-later
/* See values.h. A program is a method's, or an instantiation's, and serves all of its bodies. */
#include "session/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/sorted.h"
#include "base/tree.h"
#include "base/vector.h"
#include "follow/follow.h"
#include "session/session_internal.h"
#include "value/redaction.h"

enum {
	METHODS_MAX = 1 << 16,
	ASKED_MAX = 4,
	ASK_AGAIN_MS = 700,
	WHY_SHOWN = 4,
};

static const char no_room[] = "there are programs for too many methods";

struct newest_of {
	uint64_t key; /* first: base/tree.h */
	struct method_values *method;
};

/* Making and freeing ---------------------------------------------------------------------- */

static struct value_options options_of(const struct options *options, struct redaction *redaction)
{
	return (struct value_options){
		.string_bytes = options->string_bytes ? options->string_bytes : VALUE_STRING_BYTES,
		.elements = VALUE_ELEMENTS,
		.depth = options->depth_chosen ? options->depth : VALUE_DEPTH,
		.redacts = redaction_hides,
		.ctx = redaction,
	};
}

/* What --if and --by=EXPR say. -EINVAL or -ENOMEM with @err set. */
static int expressions_init(struct expressions *expressions, const struct options *options,
			    struct error *err)
{
	int result = 0;

	if (options->filter) {
		expressions->compiled = calloc(1, sizeof(*expressions->compiled));
		if (!expressions->compiled)
			return error_set(err, -ENOMEM, "no memory for --if");
		result = filter_parse(&expressions->filter, options->filter, err);
	}
	if (result == 0 && options->by_value)
		result = filter_parse_operand(&expressions->value, options->by_value, err);
	return result;
}

static void expressions_deinit(struct expressions *expressions)
{
	filter_deinit(&expressions->filter);
	filter_deinit(&expressions->value);
	free(expressions->compiled);
}

int session_values_create(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	struct session_values *values;
	int result;

	if (options->mode != MODE_WATCH && !options->filter && !options->by_value)
		return 0;
	values = calloc(1, sizeof(*values));
	if (values)
		values->types = value_types_create();
	session->values = values;
	if (!values || !values->types)
		return error_set(err, -ENOMEM, "no memory for the values of calls");
	result = redaction_create(&values->redaction,
				  options->redact ? options->redact : REDACTION_DEFAULT, err);
	if (result)
		return result;
	values->options = options_of(options, values->redaction);
	return expressions_init(&values->expressions, options, err);
}

void session_values_destroy(struct session_values *values)
{
	if (!values)
		return;
	for (size_t i = 0; i < values->count; i++) {
		value_watch_destroy(values->list[i]->watch);
		free(values->list[i]);
	}
	free(values->list);
	tdestroy(values->newest, free);
	free(values->programs);
	value_types_destroy(values->types);
	redaction_destroy(values->redaction);
	expressions_deinit(&values->expressions);
	call_names_deinit(&values->names);
	text_deinit(&values->name);
	text_deinit(&values->arguments);
	text_deinit(&values->result);
	text_deinit(&values->exception);
	free(values);
}

/* Programs -------------------------------------------------------------------------------- */

/* Programs are added one behind the other, so they are in order. */
const struct method_values *values_of_program(const struct session_values *values, uint32_t first)
{
	size_t i = sorted_first(values->program_count, i_,
				values->programs[i_]->program.first < first);

	return first && i < values->program_count && values->programs[i]->program.first == first ?
		       values->programs[i] :
		       NULL;
}

/* Have both the same parameters, in the same places? */
static bool is_of(const struct method_values *method, const struct site *site)
{
	if (!site->id.token || method_id_order(&method->id, &site->id) != 0)
		return false;
	return site->traits.single || method->method_desc == site->method_desc;
}

/* Of all that is_of() takes for one, it is the same, but where it is known of some sites only. */
static uint64_t key_of(const struct site *site)
{
	uint64_t key =
		hash_number(hash_number(HASH_START, site->id.module), site->id.instantiation);

	key = hash_number(key, site->id.token);
	return hash_number(key, site->traits.single ? 0 : site->method_desc);
}

struct method_values *values_find(const struct session_values *values, const struct site *site)
{
	const struct newest_of *newest =
		site->id.token ? tree_find(&values->newest, key_of(site)) : NULL;
	struct method_values *method = newest ? newest->method : NULL;

	while (method && !is_of(method, site))
		method = method->older;
	return method;
}

/* It is found from now on. False for want of memory. */
static bool enlist(struct session_values *values, const struct site *site,
		   struct method_values *method)
{
	bool is_new;
	struct newest_of *newest =
		tree_take(&values->newest, key_of(site), sizeof(*newest), &is_new);

	if (!newest || values->count >= METHODS_MAX ||
	    !vector_add(&values->list, &values->count, &values->capacity, method))
		return false;
	method->older = newest->method;
	newest->method = method;
	return true;
}

/* Why it is not known of which types exceptions are that leave calls of @method; or NULL. */
static const char *why_no_types(const struct session *session, const struct method_values *method)
{
	if (method->id.runtime != RUNTIME_DOTNET)
		return "native code throws nothing whose type is seen";
	return session->thrown.asked ? session->thrown.why_not : NULL;
}

/* The first method that --if or --by does not fit is a mistake of the user's: only that is told. */
static struct error *problem_of(struct expressions *expressions)
{
	return expressions->problem.text[0] ? NULL : &expressions->problem;
}

static int refuse_types(const struct filter *filter, const char *method, const char *why,
			struct error *err)
{
	_cleanup_(text_deinit) struct text what = { 0 };
	size_t i = 0;

	while (i < filter->count &&
	       (filter->nodes[i].kind != FILTER_COMPARE || filter->nodes[i].literal != FILTER_TYPE))
		i++;
	text_printf(&what,
		    "there is the type of an exception, and of %s none is known: %s (leave it out)",
		    method, why);
	return filter_refuse(filter, filter->nodes[i].at, text_chars(&what), err);
}

/* What filters calls of @method; what does not fit it leaves them undecided. */
static void filter_calls(struct session *session, const struct method_values *method,
			 struct watch_filter_of *filter)
{
	static const struct watch_op undecided = { .code = WATCH_UNDECIDED };
	struct expressions *expressions = &session->values->expressions;
	const struct value_filter *compiled = expressions->compiled;
	const char *no_types = why_no_types(session, method);

	if (!session->options->filter)
		return;
	if ((no_types && expressions->filter.type_count &&
	     refuse_types(&expressions->filter, method->name, no_types, problem_of(expressions))) ||
	    value_filter_compile(expressions->compiled, &expressions->filter, method->name,
				 &method->signature, problem_of(expressions))) {
		filter->ops = (struct watch_ops_of){ &undecided, 1 };
		return;
	}
	filter->ops = (struct watch_ops_of){ compiled->ops, compiled->count };
	filter->exit = (struct watch_ops_of){ compiled->exit_ops, compiled->exit_count };
	filter->constants = compiled->constants;
	filter->constant_count = compiled->constant_count;
}

/*
 * What takes the value of calls of @method, at the entry or the exit, until the next one is made.
 * The type of it; NULL: it is not to be had.
 */
static const struct value_type *take_value(struct session *session,
					   const struct method_values *method,
					   struct watch_ops_of *entry, struct watch_ops_of *exit)
{
	struct expressions *expressions = &session->values->expressions;
	struct value_by *by = &expressions->by;

	if (!session->options->by_value ||
	    value_by_compile(by, &expressions->value, method->name, &method->signature,
			     &session->values->options, problem_of(expressions)))
		return NULL;
	*(by->at_end ? exit : entry) = (struct watch_ops_of){ by->ops, by->count };
	return by->type;
}

static int add_program(struct session *session, struct method_values *method)
{
	struct watch_ops_of entry = { NULL, 0 }, exit = { NULL, 0 };
	struct watch_filter_of filter = { .constant_count = 0 };

	filter_calls(session, method, &filter);
	method->by = take_value(session, method, &entry, &exit);
	if (method->watch) {
		entry.ops = value_watch_entry(method->watch, &entry.count);
		exit.ops = value_watch_exit(method->watch, &exit.count);
	}
	return capture_add_program(session->capture, &filter, &entry, &exit, &method->program);
}

/* What cannot be captured leaves the calls as they are, with the reason. */
static int compile(struct session *session, const struct site *site, struct method_values *method)
{
	struct session_values *values = session->values;
	struct watch_ops_of unused;
	int result = runtimes_signature(&session->resolution.runtimes, &site->id, site->method_desc,
					site->method, values->types, &method->signature);

	if (result)
		return result;
	method->signature.seen = &method->seen;
	method->why = method->signature.why;
	if (method->why) {
		/* Which is said, if it is asked for at the start. */
		filter_calls(session, method, &(struct watch_filter_of){ .constant_count = 0 });
		(void)take_value(session, method, &unused, &unused);
		return 0;
	}
	if (session->options->mode == MODE_WATCH && !session->options->no_values)
		result = value_watch_create(&method->watch, &method->signature, &values->options,
					    NULL);
	if (result)
		return result;
	if (add_program(session, method))
		method->why = no_room;
	return 0;
}

/*
 * A library that has come since is to be among the target's files, or nothing is known of it. It is
 * told of before it is mapped, so it may be there only when it is asked for @again.
 */
static void look_for_files(struct session *session, bool again)
{
	const struct follow *follow = session->followed.follow;
	uint64_t mapped = follow ? follow_mapped(follow) : 0;

	if (mapped == session->values->mapped && !again)
		return;
	session->values->mapped = mapped;
	(void)resolution_refresh(&session->resolution, NULL);
}

/* @before: what there is of it, which is asked for again; or NULL. */
static struct method_values *add_method(struct session *session, const struct site *site,
					const struct method_values *before)
{
	struct session_values *values = session->values;
	_cleanup_free_ struct method_values *method = calloc(1, sizeof(*method));

	if (!method || !enlist(values, site, method))
		return NULL;
	if (site->id.runtime == RUNTIME_NATIVE)
		look_for_files(session, before);
	method->id = site->id;
	method->method_desc = site->method_desc;
	method->name = value_types_name(values->types, site->method);
	method->asked_ms = clock_now_ms();
	method->asked = before ? before->asked + 1 : 1;
	if (before)
		method->seen = before->seen;
	method->seen_before = method->seen.count;
	if (compile(session, site, method))
		method->why = "no memory for what it is given";
	if (method->program.first && !vector_add(&values->programs, &values->program_count,
						 &values->program_capacity, method))
		method->program.first = 0;
	return cleanup_take(method);
}

static void add_site(struct session *session, uint32_t number)
{
	const struct site *site = &session->plan.sites[number];
	struct method_values *method;

	/* Nobody comes by. */
	if (site->mechanism == MECHANISM_NONE && site->reason != REASON_NOT_COMPILED &&
	    site->reason != REASON_NO_DEBUG_REGISTER)
		return;
	method = values_find(session->values, site);
	if (!method)
		method = add_method(session, site, NULL);
	if (method && method->program.first)
		capture_use_program(session->capture, number, &method->program);
}

/* What only memory names may still turn out to be another method. */
static size_t sites_known(const struct session *session)
{
	const struct followed *followed = &session->followed;

	if (session->known == TARGET_UNKNOWN)
		return 0;
	return followed->follow ? followed->first + followed->named : session->plan.count;
}

/* May more be known of what calls are given than the program knows? */
static bool may_know_more(const struct method_values *method)
{
	bool more = method->seen.count > method->seen_before ||
		    (method->signature.incomplete && method->asked < ASKED_MAX);

	return more && (method->asked == 1 || clock_now_ms() - method->asked_ms >= ASK_AGAIN_MS);
}

void values_ask_again(struct session *session, uint32_t number)
{
	struct session_values *values = session->values;
	const struct site *site = &session->plan.sites[number];
	struct method_values *before = values_find(values, site), *method = NULL;

	if (before && may_know_more(before))
		method = add_method(session, site, before);
	if (!method)
		return;
	/* That is told of the last one, if at all; where there is no room, what there is stays. */
	method->why = before->program.first ? NULL : method->why;
	before->why = NULL;
	if (!method->program.first)
		return;
	for (size_t i = 0; i < values->sites; i++) {
		if (is_of(method, &session->plan.sites[i]))
			capture_use_program(session->capture, (uint32_t)i, &method->program);
	}
}

/* Calls of what is not known well enough are not seen, but counted. */
static void ask_of_undecided(struct session *session)
{
	const struct session_values *values = session->values;
	struct site_counters counters;

	for (size_t i = 0; i < values->sites; i++) {
		const struct method_values *method = values_find(values, &session->plan.sites[i]);

		if (!method || !method->signature.incomplete || method->asked >= ASKED_MAX)
			continue;
		capture_read_site(session->capture, (uint32_t)i, &counters);
		if (counters.undecided || (session->options->by_value && counters.hits))
			values_ask_again(session, (uint32_t)i);
	}
}

void session_values_add(struct session *session)
{
	struct session_values *values = session->values;

	if (values && session->options->mode == MODE_WATCH)
		values_watch_thrown(session);
	/* Without any of these nobody asks what methods are given. */
	if (!values ||
	    (session->options->no_values && !session->options->filter && !session->options->async))
		return;
	for (; values->sites < sites_known(session) && values->sites < session->plan.count;
	     values->sites++)
		add_site(session, (uint32_t)values->sites);
	if (session->options->mode != MODE_WATCH || session->options->filter)
		ask_of_undecided(session);
	session_async_add(session);
}

const char *session_values_why(const struct session *session, const char *method)
{
	const struct session_values *values = session->values;

	for (size_t i = values->count; i-- > 0;) {
		if (strcmp(values->list[i]->name, method) == 0)
			return values->list[i]->why;
	}
	return NULL;
}

int session_values_check(const struct session *session, struct error *err)
{
	if (!session->values || !session->values->expressions.problem.text[0])
		return 0;
	*err = session->values->expressions.problem;
	return -EINVAL;
}

/* The log --------------------------------------------------------------------------------- */

void session_values_log(const struct session *session)
{
	const struct session_values *values = session->values;
	size_t count = 0;
	bool all = session->options->verbose;

	/* Of others it is told how many calls are undecided. */
	if (session->options->mode != MODE_WATCH)
		return;
	for (size_t i = 0; values && i < values->count; i++) {
		const struct method_values *method = values->list[i];

		if (!method->why)
			continue;
		if (count++ < WHY_SHOWN || all)
			log_print("%s is shown without values: %s (docs/limits.md tells more)",
				  method->name, method->why);
	}
	if (count > WHY_SHOWN && !all)
		log_print("and so %s %zu more method%s (-v names them)",
			  text_are(count - WHY_SHOWN), count - WHY_SHOWN,
			  text_plural(count - WHY_SHOWN));
}
