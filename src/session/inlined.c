// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/inlined.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/inlining.h"
#include "runtime/dotnet/metadata.h"
#include "session/resolve.h"
#include "base/say.h"
#include "base/text.h"

enum {
	NAMES_SHOWN = 3,
	METHODS_TOLD = 3,
};

/* "A::x(), B::y(), ..." */
static void add_names(const struct dotnet_inliners *inliners, bool all, struct text *out)
{
	for (size_t i = 0; i < inliners->count; i++) {
		if (i > 0)
			text_add(out, ", ");
		if (i == NAMES_SHOWN && !all) {
			text_add(out, "...");
			return;
		}
		dotnet_method_spell(&inliners->methods[i], out);
	}
}

void inlined_describe(const struct resolution *resolution, const struct site *site, bool all,
		      struct text *out)
{
	struct dotnet_inliners inliners;
	int known;

	if (!resolution->inlining || !site->definition.metadata)
		return;
	known = dotnet_inliners_find(&inliners, resolution->inlining, &site->definition, NULL);
	if (known == 0)
		text_add(out, "it is not known in full which precompiled methods have inlined it");
	if (known == 0 && inliners.count > 0)
		text_add(out, "; ");
	if (known >= 0 && inliners.count > 0) {
		text_printf(out, "inlined into %zu precompiled method%s: ", inliners.count,
			    inliners.count == 1 ? "" : "s");
		add_names(&inliners, all, out);
		if (inliners.count > NAMES_SHOWN && !all)
			text_add(out, " (-v shows all)");
	}
	dotnet_inliners_deinit(&inliners);
}

/* A method of the plan, and its first site. */
struct told {
	struct r2r_method method;
	size_t site;
};

static int by_method(const void *left, const void *right)
{
	const struct told *a = left, *b = right;

	if (a->method.metadata != b->method.metadata)
		return a->method.metadata < b->method.metadata ? -1 : 1;
	if (a->method.method_rid != b->method.method_rid)
		return a->method.method_rid < b->method.method_rid ? -1 : 1;
	if (a->method.member_ref_rid != b->method.member_ref_rid)
		return a->method.member_ref_rid < b->method.member_ref_rid ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static int by_site(const void *left, const void *right)
{
	const struct told *a = left, *b = right;

	return a->site < b->site ? -1 : a->site > b->site;
}

static bool same_method(const struct r2r_method *a, const struct r2r_method *b)
{
	return a->metadata == b->metadata && a->method_rid == b->method_rid &&
	       a->member_ref_rid == b->member_ref_rid;
}

/* Each method of the plan once, as its sites come. Bodies of one method share what is said. */
static size_t list_methods(const struct plan *plan, struct told *methods)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].definition.metadata)
			methods[count++] = (struct told){ plan->sites[i].definition, i };
	}
	qsort(methods, count, sizeof(*methods), by_method);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || !same_method(&methods[kept - 1].method, &methods[i].method))
			methods[kept++] = methods[i];
	}
	qsort(methods, kept, sizeof(*methods), by_site);
	return kept;
}

/* False if nobody has inlined it. */
static bool add_sentence(struct text *sentence, const struct resolution *resolution,
			 const struct r2r_method *method, bool all)
{
	struct dotnet_inliners inliners;
	bool inlined;

	text_clear(sentence);
	inlined = dotnet_inliners_find(&inliners, resolution->inlining, method, NULL) >= 0 &&
		  inliners.count > 0;
	if (inlined) {
		text_add(sentence, "calls of ");
		dotnet_method_spell(method, sentence);
		text_add(sentence, " from precompiled ");
		add_names(&inliners, all, sentence);
		text_printf(sentence, " are not seen: %s inlined it",
			    inliners.count == 1 ? "that method has" : "they have");
	}
	dotnet_inliners_deinit(&inliners);
	return inlined;
}

void inlined_tell(const struct resolution *resolution, const struct plan *plan, bool all, FILE *to)
{
	struct told *methods = calloc(plan->count + 1, sizeof(*methods));
	struct text sentence = { 0 };
	size_t count, told = 0;

	if (!methods || !resolution->inlining) {
		free(methods);
		return;
	}
	count = list_methods(plan, methods);
	for (size_t i = 0; i < count; i++) {
		if (!add_sentence(&sentence, resolution, &methods[i].method, all))
			continue;
		if (told++ == METHODS_TOLD && !all) {
			fputs("place-probe: and other methods were inlined into their callers (-v tells of all)\n",
			      to);
			break;
		}
		fprintf(to, "place-probe: %s\n", text_chars(&sentence));
	}
	text_deinit(&sentence);
	free(methods);
}

/* ECMA-335 II.23.1.11 */
enum {
	IMPL_NO_INLINING = 0x8,
	IMPL_NO_OPTIMIZATION = 0x40,
};

static bool may_be_inlined(const struct site *site)
{
	const struct r2r_method *definition = &site->definition;
	struct metadata_import import;
	uint16_t flags;

	/* Of P/Invokes the verdict speaks. */
	if (!definition->metadata || !definition->method_rid ||
	    metadata_method_import(definition->metadata, definition->method_rid, &import))
		return false;
	flags = metadata_method_impl_flags(definition->metadata, definition->method_rid);
	return !(flags & (IMPL_NO_INLINING | IMPL_NO_OPTIMIZATION));
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
 * Of the overloads from @first on: one that has code, may be inlined, and was not called, nor was any
 * other of them, which nobody will miss then. NULL if there is none; @end is behind the last.
 */
static const struct site *never_entered(const struct plan *plan, const uint64_t *calls,
					size_t first, size_t *end)
{
	const struct site *found = NULL;
	bool called = false;

	for (*end = first; *end < plan->count; (*end)++) {
		const struct site *site = plan->by_method[*end];

		if (!same_name(plan->by_method[first], site))
			break;
		called |= calls[site - plan->sites] != 0;
		if (!found && site->mechanism != MECHANISM_NONE && may_be_inlined(site))
			found = site;
	}
	return called ? NULL : found;
}

void inlined_hint(const struct plan *plan, const uint64_t *calls, bool all)
{
	size_t told = 0, end;

	for (size_t first = 0; first < plan->count; first = end) {
		const struct site *site = never_entered(plan, calls, first, &end);

		if (!site || (told++ >= METHODS_TOLD && !all))
			continue;
		say("%s was not entered; if it should have been, callers have inlined it: probe those",
		    site->method);
	}
	if (told > METHODS_TOLD && !all)
		say("nor were %zu more methods that callers may have inlined (-v shows all)",
		    told - METHODS_TOLD);
}
