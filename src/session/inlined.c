// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which calls no probe sees, since the callee has been inlined: for the log, before and after the
 * run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "session/session_internal.h"

/*
 * A method of the plan, and its first site: images say who has inlined a definition, not which
 * instantiation of it.
 */
struct told {
	struct method_id method;
	size_t site;
};

static int by_method(const void *left, const void *right)
{
	const struct told *a = left, *b = right;
	int order = method_id_definition_order(&a->method, &b->method);

	return order ? order : a->site < b->site ? -1 : a->site > b->site;
}

static int by_site(const void *left, const void *right)
{
	const struct told *a = left, *b = right;

	return a->site < b->site ? -1 : a->site > b->site;
}

/* Each method of the plan once, as its sites come. Bodies of one method share what is said. */
static size_t list_methods(const struct plan *plan, struct told *methods)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].id.module)
			methods[count++] = (struct told){ plan->sites[i].id, i };
	}
	qsort(methods, count, sizeof(*methods), by_method);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 ||
		    method_id_definition_order(&methods[kept - 1].method, &methods[i].method) != 0)
			methods[kept++] = methods[i];
	}
	qsort(methods, kept, sizeof(*methods), by_site);
	return kept;
}

/* False if nobody has inlined it. */
static bool add_sentence(struct text *sentence, const struct resolution *resolution,
			 const struct method_id *id, bool all)
{
	size_t named = all ? SIZE_MAX : OUTPUT_INLINERS_SHOWN;
	_cleanup_(method_inliners_deinit) struct method_inliners inliners;

	text_clear(sentence);
	if (runtimes_inliners(&resolution->runtimes, &inliners, id, named) || !inliners.count)
		return false;
	text_add(sentence, "calls of ");
	text_add(sentence, inliners.method);
	text_add(sentence, " from precompiled ");
	output_add_inliners((const char *const *)inliners.names, inliners.count, sentence);
	text_printf(sentence, " are not seen: %s inlined it; probe %s",
		    inliners.count == 1 ? "that method has" : "they have",
		    inliners.count == 1 ? "that" : "those");
	return true;
}

void inlined_log(const struct resolution *resolution, const struct plan *plan, bool all, FILE *to)
{
	_cleanup_free_ struct told *methods = calloc(plan->count + 1, sizeof(*methods));
	_cleanup_(text_deinit) struct text first = { 0 }, other = { 0 };
	size_t count, told = 0;

	if (!methods)
		return;
	count = list_methods(plan, methods);
	for (size_t i = 0; i < count; i++) {
		struct text *to_tell = all || told == 0 ? &first : &other;

		if (!add_sentence(to_tell, resolution, &methods[i].method, all))
			continue;
		told++;
		if (all)
			fprintf(to, "place-probe: %s\n", text_chars(to_tell));
	}
	if (told && !all) {
		if (told > 1)
			text_printf(&first, "; so it is with %zu more (-v names them)", told - 1);
		fprintf(to, "place-probe: %s\n", text_chars(&first));
	}
}

/* The same type and name, whatever the parameters: those stand together in the plan's by_method. */
static bool same_name(const struct site *a, const struct site *b)
{
	const char *end_of_a = strrchr(a->method, '('), *end_of_b = strrchr(b->method, '(');
	size_t length = end_of_a ? (size_t)(end_of_a - a->method) : strlen(a->method);

	return length == (end_of_b ? (size_t)(end_of_b - b->method) : strlen(b->method)) &&
	       memcmp(a->method, b->method, length) == 0;
}

/*
 * Of the overloads from @first on: one that has code, may be inlined, was watched all the time and
 * not called, nor was any other of them, which nobody will miss then. NULL if there is none; @end
 * is behind the last.
 */
static const struct site *never_entered(const struct plan *plan, const uint64_t *calls,
					const double *watched, size_t first, size_t *end)
{
	const struct site *found = NULL;
	size_t method = first;
	bool called = false;

	for (*end = first; *end < plan->count; (*end)++) {
		const struct site *site = plan->by_method[*end];

		if (!same_name(plan->by_method[first], site))
			break;
		if (!plan_same_method(plan->by_method[method], site))
			method = *end;
		called |= calls[site - plan->sites] != 0;
		if (!found && site->mechanism != MECHANISM_NONE && site->traits.may_inline &&
		    output_is_whole(watched[method]))
			found = site;
	}
	return called ? NULL : found;
}

void inlined_hint(const struct plan *plan, const uint64_t *calls, const double *watched, bool all)
{
	const struct site *shown = NULL;
	size_t told = 0, end;

	for (size_t first = 0; first < plan->count; first = end) {
		const struct site *site = never_entered(plan, calls, watched, first, &end);

		if (!site)
			continue;
		if (all)
			log_print(
				"%s was not entered; if it should have been, callers have inlined it: probe those",
				site->method);
		shown = told++ ? shown : site;
	}
	if (all || !told)
		return;
	if (told == 1)
		log_print(
			"%s was not entered; if it should have been, callers have inlined it: probe those",
			shown->method);
	else
		log_print(
			"%s was not entered, nor were %zu more (-v names them); if they should have been, callers have inlined them: probe those",
			shown->method, told - 1);
}
