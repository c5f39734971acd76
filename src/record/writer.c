// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --record: see record.h. An output whose format is that of docs/record.md: each of the records of
 * output.h becomes one of a block, behind the strings and stacks in it that are new.
 */
#include "record/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/shortage.h"
#include "base/vector.h"
#include "latency/latency.h"
#include "output/ops.h"
#include "record/numbers.h"

struct output_kind {
	uint32_t number;
};

enum { FLUSH_S = 1 };

/* Blocks -------------------------------------------------------------------------------------- */

/* Once a part is missing, what follows makes no sense: the record ends there. */
static void fail(struct record *record, int problem)
{
	if (record->problem)
		return;
	record->problem = problem;
	log_print("the record %s ends here, the output goes on: %s", record->path,
		  strerror(-problem));
}

void record_flush(struct record *record)
{
	int result = text_ok(&record->block) && !record->tables.failed ? 0 : -ENOMEM;

	record->flushed_ns = clock_now_ns();
	if (record->problem || (result == 0 && record->block.length == 0)) {
		text_clear(&record->block);
		return;
	}
	if (result == 0)
		result = blocks_write(&record->blocks, text_chars(&record->block),
				      record->block.length);
	if (result)
		fail(record, result);
	text_clear(&record->block);
}

bool record_is_due(const struct record *record)
{
	return clock_now_ns() - record->flushed_ns >= (uint64_t)FLUSH_S * NS_PER_S;
}

struct text *record_begin(struct record *record)
{
	/* Between totals nothing may begin anew. */
	if (tables_are_full(&record->tables) && !record->in_totals) {
		tables_reset(&record->tables);
		interned_deinit(&record->mapped);
		record->mapped_room = RECORD_MAPPED_BYTES;
	}
	text_clear(&record->body);
	return &record->body;
}

void record_put(struct record *record, enum record_tag tag)
{
	if (!text_ok(&record->body))
		fail(record, -ENOMEM);
	tables_put(&record->block, tag, text_chars(&record->body), record->body.length);
	if (record->block.length >= RECORD_BLOCK_BYTES)
		record_flush(record);
}

static void add_string(struct record *record, const char *s)
{
	number_add(&record->body, tables_string(&record->tables, s));
}

void record_add_strings(struct record *record, const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	number_add(&record->body, list ? count + 1 : 0);
	for (size_t i = 0; i < count; i++)
		add_string(record, list[i]);
}

static void add_double(struct record *record, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	number_add(&record->body, bits);
}

/* Records ------------------------------------------------------------------------------------- */

static void add_hit(struct record *record, const struct hit *hit)
{
	uint32_t thread = tables_thread(&record->tables, hit);
	uint32_t stack = tables_stack(&record->tables, hit->stack);

	number_add_signed(&record->body, (int64_t)(hit->time_ns - record->last_ns));
	record->last_ns = hit->time_ns;
	number_add(&record->body, thread);
	add_string(record, hit->method);
	add_string(record, hit->tier);
	number_add(&record->body, hit->duration_ns);
	number_add(&record->body, stack);
}

static void write_hit(struct output *output, const struct hit *hit)
{
	struct record *record = output->state;

	record_begin(record);
	add_hit(record, hit);
	record_put(record, RECORD_HIT);
}

/* The lowest that is free, so that a reader's table does not grow. */
static bool take_number(struct record *record, struct output_kind *kind)
{
	if (record->free_kind_count) {
		kind->number = record->free_kinds[--record->free_kind_count];
	} else if (record->kind_count == RECORD_KINDS_MAX ||
		   !vector_add(&record->kinds, &record->kind_count, &record->kind_capacity, NULL)) {
		return false;
	} else {
		kind->number = (uint32_t)record->kind_count - 1;
	}
	record->kinds[kind->number] = kind;
	return true;
}

static struct output_kind *write_kind(struct output *output, const struct hit *hit)
{
	struct record *record = output->state;
	struct output_kind *kind = malloc(sizeof(*kind));

	if (!kind || !take_number(record, kind)) {
		shortage_note();
		free(kind);
		return NULL;
	}
	number_add(record_begin(record), kind->number);
	add_hit(record, hit);
	record_put(record, RECORD_KIND);
	return kind;
}

/* 0: those that there was no room for. */
static void write_kind_count(struct output *output, struct output_kind *kind, uint64_t count)
{
	struct record *record = output->state;
	struct text *body = record_begin(record);

	number_add(body, kind ? kind->number + 1 : 0);
	number_add(body, count);
	record_put(record, RECORD_KIND_COUNT);
}

static void release_kind(struct output *output, struct output_kind *kind)
{
	struct record *record = output->state;

	number_add(record_begin(record), kind->number);
	record_put(record, RECORD_KIND_RELEASE);
	record->kinds[kind->number] = NULL;
	if (!vector_add(&record->free_kinds, &record->free_kind_count, &record->free_kind_capacity,
			kind->number))
		fail(record, -ENOMEM);
	free(kind);
}

static void write_count(struct record *record, const struct output_count *count)
{
	struct text *body = record_begin(record);

	add_string(record, count->method);
	number_add(body, count->calls);
	number_add(body, count->body_count);
	for (size_t i = 0; i < count->body_count; i++) {
		add_string(record, count->bodies[i].tier);
		number_add(body, count->bodies[i].calls);
	}
	record_add_strings(record, count->lower_bound);
	add_double(record, count->watched);
	number_add(body, count->all_calls);
	record_put(record, RECORD_COUNT);
}

static void write_counts(struct output *output, const struct output_count *counts, size_t count)
{
	struct record *record = output->state;

	for (size_t i = 0; i < count; i++)
		write_count(record, &counts[i]);
	record_begin(record);
	record_put(record, RECORD_COUNTS_END);
}

/* Those that are not 0, each with its distance from the last. */
static void add_buckets(struct text *body, const uint64_t *buckets, size_t count)
{
	size_t used = 0, last = 0;

	for (size_t i = 0; i < count; i++)
		used += buckets[i] != 0;
	number_add(body, used);
	for (size_t i = 0; i < count; i++) {
		if (!buckets[i])
			continue;
		number_add(body, i - last);
		number_add(body, buckets[i]);
		last = i;
	}
}

static void write_hist(struct output *output, const struct output_hist *hist)
{
	struct record *record = output->state;
	const struct histogram *is = hist->histogram;
	struct text *body = record_begin(record);

	add_string(record, hist->method);
	number_add(body, hist->by);
	add_string(record, hist->caller);
	number_add(body, hist->tid);
	record_add_strings(record, hist->lower_bound);
	add_double(record, hist->watched);
	number_add(body, is->returned);
	number_add(body, is->unwound);
	number_add(body, is->untimed);
	number_add(body, is->unfinished);
	number_add(body, is->sum_ns);
	number_add(body, is->min_ns);
	number_add(body, is->max_ns);
	add_buckets(body, is->buckets, LATENCY_BUCKETS);
	number_add(body, is->linear ? is->linear_count + 2 : 0);
	if (is->linear)
		add_buckets(body, is->linear, is->linear_count + 2);
	record_put(record, RECORD_HIST);
}

static void write_kept(struct output *output)
{
	struct record *record = output->state;

	record_begin(record);
	record_put(record, RECORD_KEPT);
}

static void add_unshown(struct record *record, const struct output_unshown *list)
{
	size_t count = 0;

	while (list && list[count].method)
		count++;
	number_add(&record->body, count);
	for (size_t i = 0; i < count; i++) {
		add_string(record, list[i].method);
		number_add(&record->body, list[i].sampled_out);
		number_add(&record->body, list[i].shed);
	}
}

static void add_losses(struct record *record, const struct output_loss *losses)
{
	size_t count = 0;

	while (losses[count].reason)
		count++;
	number_add(&record->body, count);
	for (size_t i = 0; i < count; i++) {
		add_string(record, losses[i].reason);
		number_add(&record->body, losses[i].count);
	}
}

static void write_summary(struct output *output, const struct output_summary *summary)
{
	struct record *record = output->state;
	struct text *body = record_begin(record);

	number_add(body, summary->hits);
	number_add(body, summary->calls);
	add_unshown(record, summary->shed);
	add_losses(record, summary->losses);
	record_add_strings(record, summary->lower_bound);
	number_add(body, summary->stacks ? STACK_ENDS : 0);
	for (size_t i = 0; summary->stacks && i < STACK_ENDS; i++)
		number_add(body, summary->stacks->ends[i]);
	number_add(body, summary->stacks ? summary->stacks->guessed : 0);
	add_unshown(record, summary->filtered);
	record_put(record, RECORD_SUMMARY);
}

static uint64_t flags_of(const struct output_site *site)
{
	return (site->first ? RECORD_SITE_FIRST : 0) |
	       (site->inlined_whole ? RECORD_SITE_INLINED_WHOLE : 0) |
	       (site->placed ? RECORD_SITE_PLACED : 0) |
	       (site->by_address ? RECORD_SITE_BY_ADDRESS : 0) |
	       (site->remapped ? RECORD_SITE_REMAPPED : 0) |
	       (site->by_stub ? RECORD_SITE_BY_STUB : 0) |
	       (site->file_has_path ? RECORD_SITE_FILE_HAS_PATH : 0) |
	       (site->file_is_here ? RECORD_SITE_FILE_IS_HERE : 0);
}

static void write_site(struct output *output, const struct output_site *site)
{
	struct record *record = output->state;
	struct text *body = record_begin(record);

	number_add(body, flags_of(site));
	number_add(body, (uint64_t)site->pid);
	add_string(record, site->method);
	add_string(record, site->made_from);
	add_string(record, site->image);
	add_string(record, site->tier);
	add_string(record, site->state);
	add_string(record, site->mechanism);
	add_string(record, site->cost);
	add_string(record, site->reason);
	add_string(record, site->reason_text);
	record_add_strings(record, site->names_from);
	record_add_strings(record, site->inlined_into);
	number_add(body, site->inlined_count);
	add_string(record, site->native_function);
	add_string(record, site->file);
	number_add(body, site->file_offset);
	number_add(body, site->address);
	number_add(body, site->size);
	add_string(record, site->reason_next);
	record_put(record, RECORD_SITE);
}

static const struct output_ops record_ops = {
	.site = write_site,
	.run = record_write_run,
	.hit = write_hit,
	.kind = write_kind,
	.kind_count = write_kind_count,
	.kind_release = release_kind,
	.counts = write_counts,
	.hist = write_hist,
	.kept = write_kept,
	.summary = write_summary,
};

/* The run ------------------------------------------------------------------------------------- */

static void add_machine(struct record *record)
{
	char words[sizeof(struct utsname)];
	struct utsname is;

	if (uname(&is) != 0)
		is = (struct utsname){ .sysname = "Linux" };
	snprintf(words, sizeof(words), "%s %s %s", is.sysname, is.release, is.machine);
	add_string(record, words);
	number_add(&record->body, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static void write_facts(struct record *record, const struct options *options,
			const struct output *of)
{
	struct text *body = record_begin(record);

	add_string(record, PLACE_PROBE_VERSION);
	add_machine(record);
	number_add(body, options->mode);
	number_add(body, options->by);
	number_add(body, options->stack != STACK_MODE_NONE);
	number_add(body, options->linear.min_ns);
	number_add(body, options->linear.max_ns);
	number_add(body, options->linear.step_ns);
	number_add(body, options->slow_ns);
	number_add(body, options->interval_ns);
	number_add(body, of->start_ns);
	number_add_signed(body, of->wall_offset_ns);
	number_add_signed(body, of->zone_s);
	number_add(body, options->request.count);
	for (size_t i = 0; i < options->request.count; i++)
		add_string(record, options->request.patterns[i]);
	record->last_ns = of->start_ns;
	record_put(record, RECORD_FACTS);
}

int record_create(struct record **out, const struct options *options, struct output *output,
		  struct error *err)
{
	_cleanup_free_ struct record *record = calloc(1, sizeof(*record));
	int result;

	*out = NULL;
	if (!record)
		return error_set(err, -ENOMEM, "no memory for the record");
	result = blocks_create(&record->blocks, options->record_path, err);
	if (result)
		return result;
	record->path = options->record_path;
	record->mapped_room = RECORD_MAPPED_BYTES;
	record->output = (struct output){ .ops = &record_ops, .state = record };
	record->of = output;
	tables_init(&record->tables, &record->block);
	write_facts(record, options, output);
	record_flush(record);
	output->beside = &record->output;
	output->managed = options->stack == STACK_MODE_MANAGED;
	*out = cleanup_take(record);
	return 0;
}

void record_start(struct record *record)
{
	number_add(record_begin(record), record->of->start_ns);
	record_put(record, RECORD_START);
}

struct output *record_output(struct record *record)
{
	return &record->output;
}

void record_totals_begin(struct record *record)
{
	record_begin(record);
	record->in_totals = true;
	record_put(record, RECORD_TOTALS_BEGIN);
}

void record_totals_end(struct record *record)
{
	record_begin(record);
	record_put(record, RECORD_TOTALS_END);
	record->in_totals = false;
}

static void record_destroy(struct record *record)
{
	tables_deinit(&record->tables);
	interned_deinit(&record->mapped);
	text_deinit(&record->block);
	text_deinit(&record->body);
	for (size_t i = 0; i < record->kind_count; i++)
		free(record->kinds[i]);
	free(record->kinds);
	free(record->free_kinds);
	free(record);
}

int record_close(struct record *record, struct error *err)
{
	int result;

	if (!record)
		return 0;
	number_add(record_begin(record), record->of->end_ns);
	record_put(record, RECORD_END);
	record_flush(record);
	result = blocks_close(&record->blocks);
	if (record->problem)
		result = record->problem;
	if (result)
		error_fill(err, "the record %s is not whole: %s", record->path, strerror(-result));
	record_destroy(record);
	return result;
}
