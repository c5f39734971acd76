// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "output/folded.h"
#include "output/json.h"
#include "base/text.h"

enum {
	COMM_WIDTH = 15,
	KIND_WIDTH = 9, /* and a space */

	/* With more methods than this, those without a call only fill the screen. */
	COUNTS_SHOW_ZERO_MAX = 50,

	TIERS_TOLD = 20, /* methods */
};

int output_open(struct output *output, const struct options *options, struct error *err)
{
	*output = (struct output){
		.to = stdout,
		.json = options->json,
		.wall_clock = options->wall_clock,
		.verbose = options->verbose,
		.stack = options->stack,
		.unit = options->unit,
		.linear = options->linear,
		.start_ns = clock_now_ns(),
	};
	output->wall_offset_ns = (int64_t)(clock_read_ns(CLOCK_REALTIME) - output->start_ns);
	if (options->output_path)
		output->to = fopen(options->output_path, "we");
	if (!output->to)
		return error_set(err, -errno, "cannot write to %s: %s", options->output_path,
				 strerror(errno));
	if (options->mode == MODE_FOLDED)
		output->folded = folded_create();
	return options->mode == MODE_FOLDED && !output->folded ?
		       error_set(err, -ENOMEM, "no memory for stacks") :
		       0;
}

int output_flush(struct output *output)
{
	/* What could not be written is dropped: only the first failure knows why. */
	if (output->problem)
		return output->problem;
	errno = 0;
	if (fflush(output->to) != 0 || ferror(output->to))
		output->problem = errno ? -errno : -EIO;
	return output->problem;
}

int output_close(struct output *output, struct error *err)
{
	int result = output_flush(output);

	if (output->to != stdout && fclose(output->to) != 0 && result == 0)
		result = -errno;
	output->to = NULL;
	folded_destroy(output->folded);
	output->folded = NULL;
	if (result == 0 || result == -EPIPE)
		return 0;
	return error_set(err, result, "cannot write the output: %s", strerror(-result));
}

void output_printable(const struct output *output, const char *s)
{
	struct text printable = { 0 };

	text_add_printable(&printable, s);
	fputs(text_chars(&printable), output->to);
	text_deinit(&printable);
}

/* Hits ---------------------------------------------------------------------------------- */

static void text_time(const struct output *output, uint64_t time_ns)
{
	uint64_t since = time_ns > output->start_ns ? time_ns - output->start_ns : 0;
	int64_t wall = (int64_t)time_ns + output->wall_offset_ns;
	time_t seconds = wall / NS_PER_S;
	char clock[16];
	struct tm tm;

	if (!output->wall_clock) {
		fprintf(output->to, "%5" PRIu64 ".%06" PRIu64, since / NS_PER_S,
			since % NS_PER_S / NS_PER_US);
		return;
	}
	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	fprintf(output->to, "%s.%06" PRId64, clock, wall % NS_PER_S / NS_PER_US);
}

/* "        dotnet   NAME+0xOFFSET (MODULE)": what the code is stands first, so frames are aligned. */
static void text_frame(struct output *output, const struct frame *frame)
{
	fprintf(output->to, "        %-*s", KIND_WIDTH, frame_kind_name(frame->kind));
	if (frame->name) {
		fprintf(output->to, "%s+0x%" PRIx64 " (", frame->name, frame->offset);
		output_printable(output, frame->module ? frame->module : "run-time code");
		fputc(')', output->to);
	} else if (frame->module) {
		output_printable(output, frame->module);
		fprintf(output->to, "+0x%" PRIx64, frame->offset);
	} else {
		fprintf(output->to, "0x%" PRIx64, frame->address.value);
	}
	fputs(frame->guessed ? " [guessed]\n" : "\n", output->to);
}

static void text_stack(struct output *output, const struct stack *stack)
{
	static const char *const notes[] = {
		[STACK_WHOLE] = "",
		[STACK_TRUNCATED] = "        [more frames than asked for]\n",
		[STACK_UNREADABLE] = "        [callers unknown: stack not readable]\n",
		[STACK_BROKEN] = "        [callers unknown: no way up the stack]\n",
		[STACK_UNSUPPORTED] =
			"        [callers unknown: unwind information of no known kind]\n",
		[STACK_UNSURE] = "        [callers unsure: code was loaded meanwhile]\n",
		[STACK_BUSY] = "        [stack unknown: too many hits at a time]\n",
	};

	for (size_t i = 0; i < stack->count; i++)
		text_frame(output, &stack->frames[i]);
	fprintf(output->to, "%s\n", notes[stack->end]);
}

static void text_hit(struct output *output, const struct hit *hit)
{
	text_time(output, hit->time_ns);
	fputs("  ", output->to);
	output_printable(output, hit->comm);
	fprintf(output->to, "%*s %d/%d  %s [%s]",
		COMM_WIDTH > strlen(hit->comm) ? (int)(COMM_WIDTH - strlen(hit->comm)) : 0, "",
		hit->pid, hit->tid, hit->method, hit->tier);
	if (hit->duration_ns)
		fprintf(output->to, " took %.6g ms", (double)hit->duration_ns / NS_PER_MS);
	fputc('\n', output->to);
	if (hit->stack)
		text_stack(output, hit->stack);
}

void output_hit(struct output *output, const struct hit *hit)
{
	if (output->folded)
		folded_add(output->folded, hit);
	else if (output->json)
		json_hit(output, hit,
			 output->wall_clock ? hit->time_ns + (uint64_t)output->wall_offset_ns :
					      hit->time_ns);
	else
		text_hit(output, hit);
}

static void print_folded(void *ctx, const char *stack, uint64_t count)
{
	struct output *output = ctx;

	if (output->json)
		json_folded(output, stack, count);
	else
		fprintf(output->to, "%s %" PRIu64 "\n", stack, count);
}

void output_folded(struct output *output)
{
	folded_take(output->folded, print_folded, output);
}

/* Counts -------------------------------------------------------------------------------- */

/* One method: the sites [first, end) of plan->by_method. */
struct method_sites {
	const struct plan *plan;
	const uint64_t *calls; /* along plan->sites */
	size_t first;
	size_t end;
	uint64_t total;
	size_t placed;
};

/* The next method from @at on that has a site; false if there is none. */
static bool next_method(struct method_sites *sites, size_t at)
{
	const struct plan *plan = sites->plan;

	sites->total = sites->placed = 0;
	for (; at < plan->count && sites->placed == 0; at = sites->end) {
		sites->first = at;
		for (sites->end = at; sites->end < plan->count; sites->end++) {
			const struct site *site = plan->by_method[sites->end];

			if (!plan_same_method(plan->by_method[at], site))
				break;
			if (site->mechanism == MECHANISM_NONE)
				continue;
			sites->placed++;
			sites->total += sites->calls[site - plan->sites];
		}
	}
	return sites->placed != 0;
}

/* "Method [r2r 12, tier1 30]"; the number is left out where it is the only one. */
static void text_count(const struct output *output, const struct method_sites *sites)
{
	const char *separator = " [";

	fprintf(output->to, "%12" PRIu64 "  %s", sites->total,
		sites->plan->by_method[sites->first]->method);
	for (size_t i = sites->first; i < sites->end; i++) {
		const struct site *site = sites->plan->by_method[i];

		if (site->mechanism == MECHANISM_NONE)
			continue;
		fprintf(output->to, "%s%s", separator, tier_name(site->tier));
		if (sites->placed > 1)
			fprintf(output->to, " %" PRIu64, sites->calls[site - sites->plan->sites]);
		separator = ", ";
	}
	fputs("]\n", output->to);
}

void output_bound_codes(const struct plan *plan, size_t first, const struct output_bounds *bounds,
			const char *codes[OUTPUT_CODES_MAX + 1])
{
	uint32_t mask = 0;
	size_t count = 0;

	for (size_t i = first;
	     i < plan->count && plan_same_method(plan->by_method[first], plan->by_method[i]); i++)
		mask |= bounds->of_sites[plan->by_method[i] - plan->sites];
	for (unsigned int reason = 0; reason < bounds->reasons && count < OUTPUT_CODES_MAX;
	     reason++) {
		if (mask >> reason & 1 &&
		    (count == 0 || strcmp(codes[count - 1], bounds->code(reason)) != 0))
			codes[count++] = bounds->code(reason);
	}
	codes[count] = NULL;
}

static void json_count(struct output *output, const struct method_sites *sites,
		       const struct output_bounds *bounds)
{
	const char *codes[OUTPUT_CODES_MAX + 1];

	json_count_begin(output, sites->plan->by_method[sites->first], sites->total);
	for (size_t i = sites->first; i < sites->end; i++) {
		const struct site *site = sites->plan->by_method[i];

		if (site->mechanism != MECHANISM_NONE)
			json_count_body(output, site, sites->calls[site - sites->plan->sites]);
	}
	if (bounds) {
		output_bound_codes(sites->plan, sites->first, bounds, codes);
		json_count_bounds(output, codes);
	}
	json_count_end(output);
}

void output_counts(struct output *output, const struct plan *plan, const uint64_t *calls,
		   const struct output_bounds *bounds)
{
	bool show_zero = plan_placeable(plan) <= COUNTS_SHOW_ZERO_MAX;
	struct method_sites sites = { .plan = plan, .calls = calls };
	size_t silent = 0;

	if (!output->json)
		fprintf(output->to, "%12s  METHOD\n", "CALLS");
	while (next_method(&sites, sites.end)) {
		if (output->json)
			json_count(output, &sites, bounds);
		else if (sites.total || show_zero)
			text_count(output, &sites);
		else
			silent++;
	}
	if (!output->json && silent)
		fprintf(output->to, "%12s  (%zu more methods without a call)\n", "0", silent);
	if (!output->json)
		fputc('\n', output->to);
}

static const enum tier tiers[] = { TIER_R2R,	   TIER_TIER0, TIER_MINOPT, TIER_INSTRUMENTED,
				   TIER_OPTIMIZED, TIER_TIER1, TIER_NATIVE, TIER_UNKNOWN };

/* False if all calls went to one body. */
static bool describe_tiers(const struct method_sites *sites, struct text *out)
{
	size_t called = 0;

	for (size_t t = 0; t < sizeof(tiers) / sizeof(tiers[0]); t++) {
		uint64_t calls = 0;

		for (size_t i = sites->first; i < sites->end; i++) {
			const struct site *site = sites->plan->by_method[i];
			uint64_t of_site = sites->calls[site - sites->plan->sites];

			if (site->tier != tiers[t] || site->mechanism == MECHANISM_NONE)
				continue;
			calls += of_site;
			called += of_site > 0;
		}
		if (calls)
			text_printf(out, "%s%" PRIu64 " %s", out->length ? ", " : "", calls,
				    tier_name(tiers[t]));
	}
	return called > 1;
}

void output_tiers(const struct plan *plan, const uint64_t *calls, bool all,
		  void (*say)(const char *fmt, ...))
{
	struct method_sites sites = { .plan = plan, .calls = calls };
	size_t told = 0;

	while (next_method(&sites, sites.end)) {
		struct text text = { 0 };

		if (describe_tiers(&sites, &text) && (told++ < TIERS_TOLD || all))
			say("%s: %s", plan->by_method[sites.first]->method, text_chars(&text));
		text_deinit(&text);
	}
	if (told > TIERS_TOLD && !all)
		say("and %zu more methods ran in several tiers (-v shows all)", told - TIERS_TOLD);
}

void output_summary(struct output *output, uint64_t hits, const struct output_loss *losses,
		    const char *const *lower_bounds, const struct output_stacks *stacks)
{
	if (output->json)
		json_summary(output, hits, losses, lower_bounds, stacks);
}
