// SPDX-License-Identifier: GPL-2.0-or-later
/* --list: what matched, where it would be probed, at what cost, and why not. */
#include <inttypes.h>

#include "output/json.h"
#include "resolve.h"

static const char *cost_text(enum insn_probe cost)
{
	return cost == INSN_EMULATED ? "emulated (cheap)" : "single-stepped (several times dearer)";
}

static void text_site(struct output *output, const struct site *site, const char *file)
{
	fprintf(output->to, "%s\n    %-8s %-10s ", site->method, tier_name(site->tier),
		mechanism_name(site->mechanism));
	output_printable(output, site->offset.value ? file : site->image);
	if (site->offset.value)
		fprintf(output->to, "+0x%" PRIx64 "  address 0x%" PRIx64 "  %" PRIu32 " bytes",
			site->offset.value, site->address.value, site->size);
	if (site->reason == REASON_NONE)
		fprintf(output->to, "  %s\n", cost_text(site->cost));
	else
		fprintf(output->to, "  %s: %s\n", reason_code(site->reason),
			reason_text(site->reason));
}

void output_plan(struct output *output, const struct plan *plan,
		 const struct resolution *resolution)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];
		const char *file = resolution->files.files[site->file].path;

		if (output->json)
			json_site(output, site, file);
		else
			text_site(output, site, file);
	}
}
