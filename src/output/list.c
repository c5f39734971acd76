// SPDX-License-Identifier: GPL-2.0-or-later
/* --list for people: what matched, where it would be probed, at what cost, and why not. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "output/ops.h"

/* One body; its method's name stands above it. */
static void write_body(struct output *output, const struct output_site *site)
{
	fprintf(output->to, "    %-12s %-10s %-10s ", site->tier, site->state ? site->state : "-",
		site->mechanism);
	output_printable(output, site->file_offset ? site->file : site->image);
	if (site->file_offset)
		fprintf(output->to, "+0x%" PRIx64, site->file_offset);
	if (site->address)
		fprintf(output->to, "  address 0x%" PRIx64 "  %" PRIu32 " bytes", site->address,
			site->size);
	if (site->reason)
		fprintf(output->to, "  %s: %s; %s", site->reason, site->reason_text,
			site->reason_next);
	else if (site->cost)
		fprintf(output->to, "  %s", site->cost);
	fputs("  (name: ", output->to);
	for (size_t i = 0; site->names_from[i]; i++) {
		fputs(i ? ", " : "", output->to);
		output_printable(output, site->names_from[i]);
	}
	fputs(")\n", output->to);
	if (site->made_from)
		fprintf(output->to, "             %s\n", site->made_from);
}

/* "inlined into 5 precompiled methods: A::x(), B::y(), ..."; nothing if it is in none. */
static void describe_inlining(const struct output *output, const struct output_site *site,
			      struct text *out)
{
	size_t count = site->inlined_count;

	if (!site->inlined_whole)
		text_add(out, "it is not known in full which precompiled methods have inlined it");
	if (!site->inlined_whole && count)
		text_add(out, "; ");
	if (!count)
		return;
	text_printf(out, "inlined into %zu precompiled method%s: ", count, text_plural(count));
	output_add_inliners(site->inlined_into, count, out);
	if (count > output_inliners_shown(output))
		text_add(out, " (-v shows all)");
}

/* The method of @site, and what is true of all its bodies. */
static void write_method(struct output *output, const struct output_site *site)
{
	_cleanup_(text_deinit) struct text inlined = { 0 };

	fprintf(output->to, "%s\n", site->method);
	if (site->inlined_into)
		describe_inlining(output, site, &inlined);
	if (inlined.length)
		fprintf(output->to, "    %s\n", text_chars(&inlined));
	if (site->native_function)
		fprintf(output->to, "    calls %s\n", site->native_function);
}

static void list_site(struct output *output, const struct output_site *site)
{
	if (site->first)
		write_method(output, site);
	write_body(output, site);
}

const struct output_ops list_output = { .shortens = true, .site = list_site };
