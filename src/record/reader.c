// SPDX-License-Identifier: GPL-2.0-or-later
/* See reader.h: block by block, record by record, to the end of the run. */
#include "record/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "output/ops.h"
#include "record/numbers.h"
#include "record/reading.h"

enum {
	LOSSES_MAX = 64,
	LOSSES_OWN = 2, /* what the output has no room for, and the end of the list */
};

/* Records of a block -------------------------------------------------------------------------- */

bool read_next(struct cursor *c, enum record_tag *tag, struct cursor *body)
{
	uint64_t size;
	struct span bytes;

	if (!cursor_left(c))
		return false;
	*tag = (enum record_tag)cursor_u8(c);
	size = number_take(c);
	if (size > cursor_left(c))
		c->bad = true;
	if (!cursor_ok(c))
		return false;
	bytes = cursor_take(c, (size_t)size);
	*body = cursor_over(bytes);
	return true;
}

static int damaged(const struct record_reader *reader, struct error *err)
{
	if (reader->tables.no_memory)
		return error_set(err, -ENOMEM, "no memory for what is in it");
	return error_set(err, -EBADMSG,
			 "it is damaged: its record %" PRIu64 ", in block %" PRIu32
			 ", makes no sense",
			 reader->records, reader->blocks.count - 1);
}

/* Numbers begin anew; of what they were, nothing may be left. */
static void reset(struct record_reader *reader)
{
	read_tables_deinit(&reader->tables);
	read_counts_clear(&reader->counts);
	text_clear(&reader->totals);
	text_clear(&reader->fresh_totals);
	reader->in_totals = false;
}

/* The end of a run ---------------------------------------------------------------------------- */

/* What it has of losses, with what there was no room for in its place (session/report.c). */
static size_t take_losses(struct record_reader *reader, struct cursor *c,
			  struct output_loss losses[LOSSES_MAX + LOSSES_OWN])
{
	const struct record_view *view = reader->view;
	uint64_t left_out = reader->judged ? reader->left_out : reader->output->left_out;
	const struct output_loss no_room = { .reason = OUTPUT_NO_ROOM, .count = left_out };
	uint64_t number = number_take(c);
	size_t count = 0;
	bool told = left_out == 0;

	c->bad |= number > LOSSES_MAX;
	for (uint64_t i = 0; i < number && cursor_ok(c); i++) {
		struct output_loss loss = { .reason = read_printable(&reader->tables, c) };
		bool of_stacks = strcmp(loss.reason, "v8-moved") == 0;
		bool of_hits = strcmp(loss.reason, "ring-buffer-full") == 0;

		loss.count = number_take(c);
		/* It is of another format's room. */
		if (strcmp(loss.reason, OUTPUT_NO_ROOM) == 0)
			continue;
		if (of_stacks && !told) {
			losses[count++] = no_room;
			told = true;
		}
		/* Where hits are not written, nothing that they are lost by can happen. */
		if ((of_stacks && (!view->stacks || read_is_counting(view))) ||
		    (of_hits && read_is_counting(view)))
			continue;
		losses[count++] = loss;
	}
	if (!told)
		losses[count++] = no_room;
	losses[count] = (struct output_loss){ 0 };
	return count;
}

static bool take_stacks(struct cursor *c, struct output_stacks *stacks)
{
	uint64_t ends = number_take(c);

	for (uint64_t i = 0; i < ends && cursor_ok(c); i++) {
		uint64_t count = number_take(c);

		if (i < STACK_ENDS)
			stacks->ends[i] = count;
	}
	stacks->guessed = number_take(c);
	return ends;
}

/* What has been counted goes before it. */
static bool give_kept(struct record_reader *reader)
{
	bool good = reader->view->intervals || read_play_totals(reader);

	output_kept(reader->output);
	reader->kept = false;
	return good;
}

static void note_losses(struct record_end *end, const struct output_loss *losses)
{
	_cleanup_(text_deinit) struct text lost = { 0 };

	output_add_losses(&lost, losses);
	snprintf(end->lost, sizeof(end->lost), "%s",
		 text_ok(&lost) ? text_chars(&lost) : "not known, as memory was refused");
}

static void read_summary(struct record_reader *reader, struct cursor *c)
{
	struct output_loss losses[LOSSES_MAX + LOSSES_OWN];
	_cleanup_free_ struct output_unshown *shed = NULL, *not_asked_for = NULL;
	const struct record_view *view = reader->view;
	struct output_summary summary = { .losses = losses };
	struct output_stacks stacks = { .guessed = 0 };
	bool filtered = view->slow_ns > reader->facts.slow_ns, counting = read_is_counting(view),
	     has_stacks;
	_cleanup_free_ const char **codes = NULL;
	size_t loss_count;

	/* With intervals it was, for the last one. */
	if (mode_attaches(view->mode) && !view->intervals)
		c->bad |= !give_kept(reader);
	summary.hits = number_take(c);
	summary.calls = number_take(c);
	shed = read_unshown(&reader->tables, c);
	loss_count = take_losses(reader, c, losses);
	codes = read_strings(&reader->tables, c, true);
	has_stacks = take_stacks(c, &stacks);
	not_asked_for = read_unshown(&reader->tables, c);
	if (!cursor_ok(c) || !codes || !shed || !not_asked_for) {
		c->bad = true;
		return;
	}
	summary.lower_bound = codes;
	summary.filtered = not_asked_for;
	summary.shed = counting ? NULL : shed;
	if (counting)
		reader->end->hits = summary.hits = summary.calls;
	else if (filtered)
		summary.hits = reader->end->hits;
	if (has_stacks && view->stacks && !counting)
		summary.stacks = filtered ? &reader->stacks : &stacks;
	output_summary(reader->output, &summary);
	reader->end->summarized = true;
	reader->end->lossy = loss_count || codes[0];
	note_losses(reader->end, losses);
}

/* --------------------------------------------------------------------------------------------- */

static void end_totals(struct record_reader *reader)
{
	struct text last = reader->totals;

	reader->totals = reader->fresh_totals;
	reader->fresh_totals = last;
	text_clear(&reader->fresh_totals);
	reader->in_totals = false;
}

/* They are kept as they are, until it is known that they are the last. */
static void keep_total(struct record_reader *reader, enum record_tag tag, struct cursor *body)
{
	struct text *to = &reader->fresh_totals;
	size_t size = cursor_left(body);

	if (size > RECORD_TOTALS_MAX_BYTES - to->length) {
		body->bad = true;
		return;
	}
	text_add_char(to, (char)tag);
	number_add(to, size);
	text_add_bytes(to, (const char *)body->pos, size);
	reader->tables.no_memory |= !text_ok(to);
}

static void dispatch(struct record_reader *reader, enum record_tag tag, struct cursor *body)
{
	switch (tag) {
	case RECORD_STRING:
	case RECORD_FRAME:
	case RECORD_STACK:
	case RECORD_THREAD:
		read_table_record(&reader->tables, tag, body,
				  reader->view && reader->view->managed);
		break;
	case RECORD_RESET:
		reset(reader);
		break;
	case RECORD_FACTS:
		body->bad = true; /* they come once, and first */
		break;
	case RECORD_START:
		reader->output->start_ns = number_take(body);
		break;
	case RECORD_TARGET:
		read_target(reader, body);
		break;
	case RECORD_MAPPING:
		read_mapping(reader, body);
		break;
	case RECORD_TOTALS_BEGIN:
		text_clear(&reader->fresh_totals);
		reader->in_totals = true;
		break;
	case RECORD_TOTALS_END:
		end_totals(reader);
		break;
	case RECORD_SUMMARY:
		read_summary(reader, body);
		break;
	case RECORD_END:
		reader->output->end_ns = number_take(body);
		reader->ended = cursor_ok(body);
		break;
	default:
		if (reader->in_totals)
			keep_total(reader, tag, body);
		else
			read_record(reader, tag, body);
		break;
	}
}

/* The records that are left of the block, or with @until_facts those to the facts. */
static int read_block(struct record_reader *reader, bool until_facts, struct error *err)
{
	struct cursor c = cursor_over(reader->block), body;
	enum record_tag tag;

	while (!reader->ended && read_next(&c, &tag, &body)) {
		bool is_facts = tag == RECORD_FACTS;

		reader->records++;
		if (is_facts == until_facts && is_facts)
			read_facts(reader, &body);
		else if (!until_facts || tag == RECORD_STRING)
			dispatch(reader, tag, &body);
		else
			body.bad = true;
		if (!cursor_ok(&body) || reader->tables.no_memory)
			return damaged(reader, err);
		if (is_facts && until_facts) {
			reader->block = (struct span){ c.pos, cursor_left(&c) };
			return 0;
		}
	}
	reader->block = (struct span){ 0 };
	return cursor_ok(&c) && !until_facts ? 0 : damaged(reader, err);
}

static int begin(struct record_reader *reader, struct error *err)
{
	int result = blocks_read(&reader->blocks, &reader->block, err);

	if (result == 0)
		return error_set(err, -ENODATA,
				 "it ends behind its header: its writer was killed, or it was cut");
	return result < 0 ? result : read_block(reader, true, err);
}

int record_take(struct record_reader **out, FILE *from, struct error *err)
{
	struct record_reader *reader = calloc(1, sizeof(*reader));
	int result;

	*out = NULL;
	if (!reader) {
		fclose(from);
		return error_set(err, -ENOMEM, "no memory to read it");
	}
	result = blocks_begin(&reader->blocks, from, err);
	if (result == 0)
		result = begin(reader, err);
	if (result)
		record_reader_close(reader);
	else
		*out = reader;
	return result;
}

FILE *record_file(const char *path, struct error *err)
{
	bool piped = strcmp(path, "-") == 0;
	FILE *from =
		piped ? fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "r") : fopen(path, "re");

	if (!from)
		error_set(err, -errno, "it cannot be opened: %s", strerror(errno));
	return from;
}

void record_reader_close(struct record_reader *reader)
{
	if (!reader)
		return;
	blocks_end(&reader->blocks);
	read_tables_deinit(&reader->tables);
	read_counts_clear(&reader->counts);
	free(reader->counts.list);
	free(reader->kinds);
	text_deinit(&reader->totals);
	text_deinit(&reader->fresh_totals);
	for (size_t i = 0; i < reader->facts.pattern_count; i++)
		free((char *)reader->facts.patterns[i]);
	free((void *)reader->facts.patterns);
	free((char *)reader->facts.version);
	free((char *)reader->facts.machine);
	free((char *)reader->process.comm);
	free((char *)reader->process.command_line);
	free(reader);
}

const struct record_facts *record_facts(const struct record_reader *reader)
{
	return &reader->facts;
}

struct record_process record_process(const struct record_reader *reader)
{
	return reader->process;
}

void record_on_mapping(struct record_reader *reader,
		       void (*tell)(void *ctx, const struct record_mapping *mapping), void *ctx)
{
	reader->tell_mapping = tell;
	reader->tell_ctx = ctx;
}

void record_set_times(const struct record_facts *facts, struct output *output)
{
	output->start_ns = facts->start_ns;
	output->wall_offset_ns = facts->wall_offset_ns;
	output->zone_s = facts->zone_s;
	output->interval_ns = facts->interval_ns;
}

bool record_holds(const struct record_facts *facts, enum mode mode)
{
	static const unsigned int held[] = {
		[MODE_HITS] = 1U << MODE_HITS | 1U << MODE_FOLDED | 1U << MODE_COUNT,
		[MODE_COUNT] = 1U << MODE_COUNT,
		[MODE_FOLDED] = 1U << MODE_FOLDED | 1U << MODE_COUNT,
		[MODE_HIST] = 1U << MODE_HIST,
		[MODE_LIST] = 1U << MODE_LIST,
		[MODE_DRY_RUN] = 1U << MODE_DRY_RUN,
	};

	return held[facts->mode] >> mode & 1;
}

struct record_view record_view_whole(const struct record_facts *facts)
{
	return (struct record_view){
		.mode = facts->mode,
		.stacks = true,
		.linear = facts->linear.step_ns != 0,
		.intervals = facts->interval_ns != 0,
		.slow_ns = facts->slow_ns,
	};
}

static int read_all(struct record_reader *reader, struct error *err)
{
	int result;

	do {
		result = read_block(reader, false, err);
		/* Nobody reads any more, or there is no room for it. */
		if (result || reader->ended || (reader->output->to && output_flush(reader->output)))
			return result;
		result = blocks_read(&reader->blocks, &reader->block, err);
	} while (result > 0);
	if (result == 0)
		result = error_set(
			err, -ENODATA,
			"it ends before the run does: its writer was killed, or it was cut");
	return result;
}

int record_read(struct record_reader *reader, const struct record_view *view, struct output *output,
		struct record_end *end, struct error *err)
{
	int result;

	*end = (struct record_end){ 0 };
	reader->view = view;
	reader->output = output;
	reader->end = end;
	result = read_all(reader, err);
	end->whole = reader->ended;
	/* What was to come with the end of the run is told as it is known. */
	if (result && !end->summarized && mode_attaches(view->mode)) {
		output->end_ns = reader->last_ns;
		if (reader->kept || reader->totals.length)
			(void)give_kept(reader);
	}
	read_release_kinds(reader);
	return result;
}
