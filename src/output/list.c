// SPDX-License-Identifier: GPL-2.0-or-later
/* --list: what matched, where it would be probed, at what cost, and why not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "session/imported.h"
#include "session/inlined.h"
#include "output/json.h"
#include "session/resolve.h"
#include "base/text.h"

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
	const char *state = body_state_name(site->state);
	bool in_file = site->offset.value != 0;

	fprintf(output->to, "    %-12s %-10s %-10s ", tier_name(site->tier), state ? state : "-",
		mechanism_name(site->mechanism));
	output_printable(output, in_file ? target_file(&resolution->target, site->file)->path :
					   site->image);
	if (in_file)
		fprintf(output->to, "+0x%" PRIx64, site->offset.value);
	if (site->address.value)
		fprintf(output->to, "  address 0x%" PRIx64 "  %" PRIu32 " bytes",
			site->address.value, site->size);
	if (site->reason != REASON_NONE)
		fprintf(output->to, "  %s: %s", reason_code(site->reason),
			reason_text(site->reason));
	else if (site->mechanism == MECHANISM_UPROBE)
		fprintf(output->to, "  %s", cost_text(site->cost));
	fputs("  (name: ", output->to);
	text_sources(output, site, resolution);
	fputs(")\n", output->to);
	if (site->made_from)
		fprintf(output->to, "             %s\n", site->made_from);
}

/* The method of @site, and what is true of all its bodies. */
static void text_method(struct output *output, const struct site *site,
			struct resolution *resolution)
{
	struct text inlined = { 0 }, function = { 0 };

	fprintf(output->to, "%s\n", site->method);
	inlined_describe(resolution, site, output->verbose, &inlined);
	if (inlined.length)
		fprintf(output->to, "    %s\n", text_chars(&inlined));
	if (imported_function(resolution, &site->id, &function))
		fprintf(output->to, "    calls %s\n", text_chars(&function));
	text_deinit(&function);
	text_deinit(&inlined);
}

void output_plan(struct output *output, const struct plan *plan, struct resolution *resolution)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = plan->by_method[i];

		if (output->json) {
			json_site(output, site, resolution);
			continue;
		}
		if (i == 0 || strcmp(plan->by_method[i - 1]->method, site->method) != 0)
			text_method(output, site, resolution);
		text_body(output, site, resolution);
	}
}
