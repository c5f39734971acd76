// SPDX-License-Identifier: GPL-2.0-or-later
/* --list: what matched, where it would be probed, at what cost, and why not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "resolve.h"

static const char *cost_text(enum insn_probe cost)
{
	return cost == INSN_EMULATED ? "emulated (cheap)" : "single-stepped (several times dearer)";
}

static void text_sources(struct output *output, const struct site *site,
			 const struct resolution *resolution)
{
	const char *separator = "";

	for (unsigned int bit = 0; bit < NAME_SOURCES_MAX; bit++) {
		if (!(site->sources >> bit & 1))
			continue;
		fputs(separator, output->to);
		output_printable(output, resolution_source_name(resolution, bit));
		separator = ", ";
	}
}

/* One body; its method's name stands above it. */
static void text_body(struct output *output, const struct site *site,
		      const struct resolution *resolution)
{
	fprintf(output->to, "    %-8s %-10s ", tier_name(site->tier),
		mechanism_name(site->mechanism));
	output_printable(output, site->offset.value ? resolution->files.files[site->file].path :
						      site->image);
	if (site->offset.value)
		fprintf(output->to, "+0x%" PRIx64 "  address 0x%" PRIx64 "  %" PRIu32 " bytes",
			site->offset.value, site->address.value, site->size);
	if (site->reason == REASON_NONE)
		fprintf(output->to, "  %s", cost_text(site->cost));
	else
		fprintf(output->to, "  %s: %s", reason_code(site->reason),
			reason_text(site->reason));
	fputs("  (name: ", output->to);
	text_sources(output, site, resolution);
	fputs(")\n", output->to);
	if (site->made_from)
		fprintf(output->to, "             %s\n", site->made_from);
}

static int by_method(const void *left, const void *right)
{
	const struct site *a = *(const struct site *const *)left;
	const struct site *b = *(const struct site *const *)right;
	int order = strcmp(a->method, b->method);

	/* The plan's own order otherwise. */
	return order ? order : a < b ? -1 : a > b;
}

void output_plan(struct output *output, const struct plan *plan,
		 const struct resolution *resolution)
{
	const struct site **sites = calloc(plan->count + 1, sizeof(*sites));

	if (!sites)
		return;
	for (size_t i = 0; i < plan->count; i++)
		sites[i] = &plan->sites[i];
	qsort(sites, plan->count, sizeof(*sites), by_method);
	for (size_t i = 0; i < plan->count; i++) {
		if (output->json) {
			json_site(output, sites[i], resolution);
			continue;
		}
		if (i == 0 || strcmp(sites[i - 1]->method, sites[i]->method) != 0)
			fprintf(output->to, "%s\n", sites[i]->method);
		text_body(output, sites[i], resolution);
	}
	free(sites);
}
