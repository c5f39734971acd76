// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --flame: one HTML page that needs nothing else: the flame graph of all stacks, the latencies,
 * and what was traced. The page is made when place-probe is built (page/), but for its data: JSON
 * that is written into it at the end of the run. What the target has chosen is in strings of that.
 */
#include "output/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>

#ifndef FLAME_PAGE /* the Makefile says where it is */
#define FLAME_PAGE "build/page/top.html"
#endif

/* clang-format off */
__asm__(".pushsection .rodata\n"
	"flame_page:\n"
	".incbin \"" FLAME_PAGE "\"\n"
	"flame_page_end:\n"
	".balign 8\n"
	"flame_page_bytes:\n"
	".quad flame_page_end - flame_page\n"
	".popsection\n");
/* clang-format on */

/* Up to where its data begins. */
extern const char flame_page[];
extern const uint64_t flame_page_bytes;

struct output_kind {
	LIST_ENTRY(output_kind) others;
	uint32_t node;
};

struct flame {
	struct flame_tree tree;
	struct flame_times times;
	LIST_HEAD(kinds, output_kind) kinds; /* that nobody has released */
	struct text runs[FLAME_RUNS];	     /* what was traced, in JSON */
	struct text summaries[FLAME_RUNS];   /* how it ended; empty: it has failed */
	bool any;			     /* there is something to write */
	bool timed;			     /* it is of calls */
};

/* Stacks -------------------------------------------------------------------------------------- */

static void add(struct output *output, uint32_t number, uint64_t count, uint64_t time_ns)
{
	struct flame *flame = output->state;
	struct flame_node *node = (struct flame_node *)flame->tree.nodes.rows + number;

	flame->any = true;
	node->count[flame_run_of(output)] += count;
	node->time_ns[flame_run_of(output)] += time_ns;
	if (number == FLAME_OTHERS)
		output->left_out += count;
}

static void write_hit(struct output *output, const struct hit *hit)
{
	struct flame *flame = output->state;
	uint64_t after_ns = hit->time_ns > output->start_ns ? hit->time_ns - output->start_ns : 0;

	add(output, flame_tree_add(&flame->tree, hit, output->by_tid, &output->memory_bytes), 1,
	    hit->duration_ns);
	if (!hit->duration_ns)
		return;
	flame->timed = true;
	flame_times_add_call(&flame->times, flame_run_of(output), hit, after_ns,
			     &output->memory_bytes);
}

static struct output_kind *make_kind(struct output *output, const struct hit *hit)
{
	struct flame *flame = output->state;
	uint32_t node = flame_tree_add(&flame->tree, hit, output->by_tid, &output->memory_bytes);
	struct output_kind *kind = node == FLAME_OTHERS ? NULL : malloc(sizeof(*kind));

	if (!kind)
		return NULL;
	kind->node = node;
	LIST_INSERT_HEAD(&flame->kinds, kind, others);
	return kind;
}

static void count_kind(struct output *output, struct output_kind *kind, uint64_t count)
{
	add(output, kind ? kind->node : FLAME_OTHERS, count, 0);
}

static void release_kind(struct output *output, struct output_kind *kind)
{
	(void)output;
	LIST_REMOVE(kind, others);
	free(kind);
}

static void write_hist(struct output *output, const struct output_hist *hist)
{
	struct flame *flame = output->state;
	uint64_t dropped = flame->times.dropped;

	flame->any = true;
	flame_times_add(&flame->times, output, hist, &output->memory_bytes);
	output->left_out += flame->times.dropped - dropped;
}

static void cut(struct output *output)
{
	struct flame *flame = output->state;

	flame_times_cut(&flame->times, output);
}

/* What was traced ----------------------------------------------------------------------------- */

static void add_strings(struct text *to, const char *key, const char *const *list, size_t count)
{
	text_printf(to, ",\"%s\":[", key);
	for (size_t i = 0; i < count && list[i]; i++) {
		text_add(to, i ? "," : "");
		flame_string(to, list[i]);
	}
	text_add_char(to, ']');
}

static void add_tiers(struct text *to, const struct output_tier *tiers)
{
	text_add(to, ",\"tiers\":[");
	for (size_t i = 0; tiers && tiers[i].tier; i++) {
		text_add(to, i ? ",{\"tier\":" : "{\"tier\":");
		flame_string(to, tiers[i].tier);
		text_printf(to,
			    ",\"bodies\":%" PRIu64 ",\"probed\":%" PRIu64 ",\"calls\":%" PRIu64 "}",
			    tiers[i].bodies, tiers[i].probed, tiers[i].calls);
	}
	text_add_char(to, ']');
}

static void write_run(struct output *output, const struct output_run *run)
{
	struct flame *flame = output->state;
	struct text *to = &flame->runs[flame_run_of(output)];
	int64_t began_ns = (int64_t)output->start_ns + output->wall_offset_ns;

	text_clear(to);
	text_printf(to, "\"pid\":%d,\"name\":", (int)run->pid);
	flame_string(to, run->name);
	add_strings(to, "patterns", (const char *const *)run->patterns, run->pattern_count);
	if (run->command)
		add_strings(to, "command", (const char *const *)run->command, SIZE_MAX);
	text_printf(to, ",\"began_ms\":%" PRId64 ",\"duration_ns\":%" PRIu64, began_ns / 1000000,
		    run->duration_ns);
	add_tiers(to, run->tiers);
}

static void add_losses(struct text *to, const struct output_loss *losses)
{
	text_add(to, ",\"losses\":[");
	for (size_t i = 0; losses[i].reason; i++) {
		text_add(to, i ? ",{\"reason\":" : "{\"reason\":");
		flame_string(to, losses[i].reason);
		text_printf(to, ",\"count\":%" PRIu64 "}", losses[i].count);
	}
	text_add_char(to, ']');
}

static void add_shed(struct text *to, const struct output_unshown *shed)
{
	text_add(to, ",\"shed\":[");
	for (size_t i = 0; shed && shed[i].method; i++) {
		text_add(to, i ? ",{\"method\":" : "{\"method\":");
		flame_string(to, shed[i].method);
		text_printf(to, ",\"sampled_out\":%" PRIu64 ",\"shed\":%" PRIu64 "}",
			    shed[i].sampled_out, shed[i].shed);
	}
	text_add_char(to, ']');
}

static void add_stacks(struct text *to, const struct output_stacks *stacks)
{
	text_printf(to, ",\"guessed\":%" PRIu64 ",\"stacks\":{", stacks->guessed);
	for (enum stack_end end = 0; end < STACK_ENDS; end++)
		text_printf(to, "%s\"%s\":%" PRIu64, end ? "," : "", stack_end_name(end),
			    stacks->ends[end]);
	text_add_char(to, '}');
}

static void write_summary(struct output *output, const struct output_summary *summary)
{
	struct flame *flame = output->state;
	struct text *to = &flame->summaries[flame_run_of(output)];

	flame->any = true;
	text_printf(to, "\"hits\":%" PRIu64, summary->hits);
	add_losses(to, summary->losses);
	add_strings(to, "lower_bound", summary->lower_bound, SIZE_MAX);
	add_shed(to, summary->shed);
	if (summary->stacks)
		add_stacks(to, summary->stacks);
}

/* The page ------------------------------------------------------------------------------------ */

static void write_what(struct output *output, const char *key, enum flame_run run)
{
	const struct flame *flame = output->state;
	const struct text *what = &flame->runs[run], *how = &flame->summaries[run];

	if (!text_ok(what) || !text_ok(how))
		output->line.failed = true;
	text_printf(&output->line, "\"%s\":{%s%s%s},\n", key, text_chars(what),
		    what->length ? ",\n" : "", how->length ? text_chars(how) : "\"failed\":true");
	output_line(output);
}

static void write_page(struct output *output)
{
	struct flame *flame = output->state;

	fwrite(flame_page, 1, flame_page_bytes, output->to);
	fprintf(output->to, "{\"program\":\"place-probe " PLACE_PROBE_VERSION "\",\"timed\":%s,\n",
		flame->timed ? "true" : "false");
	write_what(output, "run", RUN_NOW);
	if (flame->summaries[RUN_BASE].length)
		write_what(output, "base", RUN_BASE);
	flame_times_write(&flame->times, output);
	fputs(",\n", output->to);
	flame_tree_write(&flame->tree, output);
	fputs("}\n</script>\n</body>\n</html>\n", output->to);
}

static bool begin(struct output *output)
{
	struct flame *flame = output->state;

	return flame_tree_init(&flame->tree);
}

static void end(struct output *output)
{
	struct flame *flame = output->state;

	if (flame->any)
		write_page(output);
	for (struct output_kind *kind = LIST_FIRST(&flame->kinds), *next; kind; kind = next) {
		next = LIST_NEXT(kind, others);
		free(kind);
	}
	flame_tree_deinit(&flame->tree);
	flame_times_deinit(&flame->times);
	for (enum flame_run run = 0; run < FLAME_RUNS; run++) {
		text_deinit(&flame->runs[run]);
		text_deinit(&flame->summaries[run]);
	}
}

const struct output_ops flame_output = {
	.state_bytes = sizeof(struct flame),
	.begin = begin,
	.run = write_run,
	.hit = write_hit,
	.kind = make_kind,
	.kind_count = count_kind,
	.kind_release = release_kind,
	.hist = write_hist,
	.kept = cut,
	.summary = write_summary,
	.end = end,
};
