// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records on their way to a format: each goes to that of the output, without what it does not
 * show, and to the one beside it, which is a record of the run (record/).
 */
#include <stdlib.h>

#include "output/ops.h"

/* With an output beside it, what each of the two has of it. */
struct both_kinds {
	LIST_ENTRY(both_kinds) others;
	struct output_kind *own;
	struct output_kind *beside;
};

/* Without the inliners that the format does not show. */
static void write_site(struct output *output, const struct output_site *site)
{
	const char *shown[OUTPUT_INLINERS_SHOWN + 1] = { NULL };
	struct output_site narrowed = *site;
	size_t count = 0;

	if (!site->inlined_into || output_inliners_shown(output) > OUTPUT_INLINERS_SHOWN) {
		output->ops->site(output, site);
		return;
	}
	for (; count < OUTPUT_INLINERS_SHOWN && site->inlined_into[count]; count++)
		shown[count] = site->inlined_into[count];
	narrowed.inlined_into = shown;
	output->ops->site(output, &narrowed);
}

void output_site(struct output *output, const struct output_site *site)
{
	if (output->beside)
		output_site(output->beside, site);
	if (output->ops->site)
		write_site(output, site);
}

/* Make output_@name(), which hands a record as it is to both, if they have a place for it. */
#define DISTRIBUTE(name)                                                              \
	void output_##name(struct output *output, const struct output_##name *record) \
	{                                                                             \
		if (output->beside)                                                   \
			output_##name(output->beside, record);                        \
		if (output->ops->name)                                                \
			output->ops->name(output, record);                            \
	}

DISTRIBUTE(run)
DISTRIBUTE(call)
DISTRIBUTE(async)
DISTRIBUTE(async_total)
DISTRIBUTE(trace)
DISTRIBUTE(values)
DISTRIBUTE(hist)
DISTRIBUTE(status)
DISTRIBUTE(summary)

/* What the output shows of @hit. */
static struct hit shown_of(struct output *output, const struct hit *hit)
{
	struct hit shown = *hit;

	if (output->managed && hit->stack && stack_narrow(&output->narrowed, hit->stack))
		shown.stack = &output->narrowed;
	return shown;
}

void output_hit(struct output *output, const struct hit *hit)
{
	if (output->beside)
		output_hit(output->beside, hit);
	if (output->ops->hit) {
		const struct hit shown = shown_of(output, hit);

		output->ops->hit(output, &shown);
	}
}

static struct output_kind *own_kind(struct output *output, const struct hit *hit)
{
	return output->ops->kind ? output->ops->kind(output, hit) : NULL;
}

struct output_kind *output_kind(struct output *output, const struct hit *hit)
{
	struct both_kinds *both;
	struct hit shown;

	if (!output->beside)
		return own_kind(output, hit);
	both = calloc(1, sizeof(*both));
	if (!both)
		return NULL;
	shown = shown_of(output, hit);
	both->own = own_kind(output, &shown);
	both->beside = output_kind(output->beside, hit);
	LIST_INSERT_HEAD(&output->both, both, others);
	return (struct output_kind *)both;
}

static void own_count(struct output *output, struct output_kind *kind, uint64_t count)
{
	if (output->ops->kind_count)
		output->ops->kind_count(output, kind, count);
}

void output_kind_count(struct output *output, struct output_kind *kind, uint64_t count)
{
	const struct both_kinds *both = (struct both_kinds *)kind;

	if (!output->beside) {
		own_count(output, kind, count);
		return;
	}
	own_count(output, both ? both->own : NULL, count);
	output_kind_count(output->beside, both ? both->beside : NULL, count);
}

static void own_release(struct output *output, struct output_kind *kind)
{
	if (kind && output->ops->kind_release)
		output->ops->kind_release(output, kind);
}

void output_kind_release(struct output *output, struct output_kind *kind)
{
	struct both_kinds *both = (struct both_kinds *)kind;

	if (!output->beside || !both) {
		own_release(output, kind);
		return;
	}
	own_release(output, both->own);
	if (both->beside)
		output_kind_release(output->beside, both->beside);
	LIST_REMOVE(both, others);
	free(both);
}

void output_forget_kinds(struct output *output)
{
	for (struct both_kinds *both; (both = LIST_FIRST(&output->both));) {
		LIST_REMOVE(both, others);
		free(both);
	}
}

void output_counts(struct output *output, const struct output_count *counts, size_t count)
{
	if (output->beside)
		output_counts(output->beside, counts, count);
	if (output->ops->counts)
		output->ops->counts(output, counts, count);
}

void output_kept(struct output *output)
{
	if (output->beside)
		output_kept(output->beside);
	if (output->ops->kept)
		output->ops->kept(output);
}

void output_expose(struct output *output, struct text *to)
{
	if (output->ops->expose)
		output->ops->expose(output, to);
}

size_t output_inliners_shown(const struct output *output)
{
	return output->ops->shortens && !output->verbose ? OUTPUT_INLINERS_SHOWN : SIZE_MAX;
}

size_t output_inliners(const struct output *output)
{
	return output->beside ? SIZE_MAX : output_inliners_shown(output);
}
