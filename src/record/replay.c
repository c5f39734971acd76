// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --replay, in the place of session/: files are opened, privileges given up, what the options ask
 * for is brought together with what the record is of, and then the record is read into an output
 * as that of the run.
 */
#include "record/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/shortage.h"
#include "base/text.h"
#include "broker/broker.h"
#include "cli/modes.h"
#include "record/reader.h"
#include "target/privileges.h"
#include "target/target.h"

CLEANUP_POINTER(record_reader_close, struct record_reader)

static const struct {
	const char *option, *holds;
} modes[] = {
	[MODE_HITS] = { "a hit", "hits, which can also be had as -f and -c" },
	[MODE_COUNT] = { "--count", "counts (-c)" },
	[MODE_FOLDED] = { "--folded", "merged stacks (-f) and counts (-c)" },
	[MODE_HIST] = { "--hist", "histograms (-H)" },
	[MODE_LIST] = { "--list", "a list of sites (-l)" },
	[MODE_DRY_RUN] = { "--dry-run", "sites (-n)" },
};

/* Of a record that is not whole, there is what comes before. */
static int tell(struct error *err, int result, const char *path)
{
	const struct error why = *err;

	if (result != -ENODATA && result != -EBADMSG)
		return error_in(err, result, path);
	return error_set(err, result, "%s: %s; docs/record.md says what is read of such a record",
			 path, why.text);
}

static int refuse(const struct record_facts *facts, const char *asked, struct error *err)
{
	return error_set(err, -EINVAL,
			 "%s cannot be had of it: it holds %s; use an option for that", asked,
			 facts->slow_ns && facts->mode == MODE_HIST ? "slow calls (-H --min)" :
								      modes[facts->mode].holds);
}

/* Without a mode, all is as the run was asked for, but for what is said of its output. */
static void take_over(struct options *options, const struct record_facts *facts)
{
	if (options->mode != MODE_HITS)
		return;
	options->mode = facts->mode;
	options->by = options->by ? options->by : facts->by;
	options->slow_ns = options->slow_ns ? options->slow_ns : facts->slow_ns;
	options->interval_ns = options->interval_ns ? options->interval_ns : facts->interval_ns;
	if (!options->linear.step_ns)
		options->linear = facts->linear;
}

static bool is_same_range(const struct hist_range *a, const struct hist_range *b)
{
	return a->min_ns == b->min_ns && a->max_ns == b->max_ns && a->step_ns == b->step_ns;
}

static int check_hist(const struct options *options, const struct record_facts *facts,
		      struct error *err)
{
	if (!options->slow_ns != !facts->slow_ns)
		return refuse(facts, options->slow_ns ? "--min" : "--hist", err);
	if (options->slow_ns < facts->slow_ns)
		return error_set(err, -EINVAL,
				 "--min: it holds calls from %" PRIu64
				 " ns on: give so much, or more",
				 facts->slow_ns);
	if (options->by != facts->by)
		return refuse(facts, options->by ? "this --by" : "--hist without its --by", err);
	if (options->linear.step_ns && !is_same_range(&options->linear, &facts->linear))
		return refuse(facts, "this range of --hist", err);
	return 0;
}

static int check_facts(const struct options *options, const struct record_facts *facts,
		       struct error *err)
{
	if (!record_holds(facts, options->mode))
		return refuse(facts, modes[options->mode].option, err);
	if (options->mode == MODE_HIST && check_hist(options, facts, err))
		return -EINVAL;
	if (options->mode == MODE_FOLDED && facts->mode == MODE_FOLDED && options->by &&
	    options->by != facts->by)
		return refuse(facts, "--by=tid", err);
	if (options->interval_ns && options->mode != facts->mode)
		return refuse(facts, "-i", err);
	if (options->interval_ns && options->interval_ns != facts->interval_ns)
		return error_set(err, -EINVAL,
				 "-i: it has %s: leave that out to have totals of the whole run",
				 facts->interval_ns ? "other intervals" : "no intervals");
	return 0;
}

/* The options of a run that would have printed what @asked says. */
static int settle(struct options *options, const struct options *asked,
		  const struct record_facts *facts, struct error *err)
{
	*options = *asked;
	options->replay_path = options->base_path = NULL;
	take_over(options, facts);
	modes_merge(options);
	if (check_facts(options, facts, err))
		return -EINVAL;
	options->timed = options->mode == MODE_HIST;
	if (!facts->stacks)
		options->stack = STACK_MODE_NONE;
	if (options_check(options, err) == 0)
		return 0;
	return facts->stacks ? -EINVAL : error_in(err, -EINVAL, "it was made with --no-stack");
}

static struct record_view view_of(const struct options *options)
{
	return (struct record_view){
		.mode = options->mode,
		.stacks = options->stack != STACK_MODE_NONE,
		.managed = options->stack == STACK_MODE_MANAGED,
		.linear = options->linear.step_ns != 0,
		.intervals = options->interval_ns != 0,
		.slow_ns = options->slow_ns,
	};
}

static void log_mapping(void *ctx, const struct record_mapping *mapping)
{
	_cleanup_(text_deinit) struct text id = { 0 };

	(void)ctx;
	for (size_t i = 0; i < mapping->build_id_bytes; i++)
		text_printf(&id, "%02x", mapping->build_id[i]);
	log_print("mapped 0x%" PRIx64 "-0x%" PRIx64 " +0x%" PRIx64 " %s%s%s%s", mapping->start,
		  mapping->end, mapping->file_offset, mapping->path,
		  mapping->deleted ? " (deleted)" : "", id.length ? " build id " : "",
		  text_chars(&id));
}

static void log_facts(const struct record_facts *facts)
{
	time_t seconds =
		((int64_t)facts->start_ns + facts->wall_offset_ns) / NS_PER_S + facts->zone_s;
	char when[32] = "?";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%F %T", &tm);
	log_print("recorded at %s on %s, %" PRIu32 " CPUs, by place-probe %s", when, facts->machine,
		  facts->cpus, facts->version);
	for (size_t i = 0; i < facts->pattern_count; i++)
		log_print("asked for: %s", facts->patterns[i]);
}

static void log_end(const struct record_reader *reader, const struct record_end *end,
		    enum mode mode)
{
	const struct record_process process = record_process(reader);

	if (!mode_attaches(mode))
		return;
	log_print("%" PRIu64 " hits of %d (%s)%s%s", end->hits, process.pid,
		  process.comm ? process.comm : "?", end->summarized ? "; lost: " : "", end->lost);
}

/* What is opened with all privileges, and read without. */
struct replay {
	FILE *record;
	FILE *base; /* NULL: there is none */
	struct output output;
	struct broker_hold *broker;
};

/* What the base, at @path, has goes to the output, as that which the other one is held against. */
static int read_base(const struct options *options, const char *path, struct replay *run,
		     struct record_end *end, struct error *err)
{
	_cleanup_(record_reader_close_at) struct record_reader *reader = NULL;
	const struct record_view view = view_of(options);
	struct output *output = &run->output;
	int result = record_take(&reader, run->base, err);

	run->base = NULL;
	if (result == 0)
		result = check_facts(options, record_facts(reader), err);
	if (result)
		return tell(err, result, path);
	output->base = true;
	record_set_times(record_facts(reader), output);
	result = record_read(reader, &view, output, end, err);
	output->base = false;
	return result ? tell(err, result, path) : 0;
}

static enum replay_status read_all(struct replay *run, struct record_reader *reader,
				   const struct options *options, const struct options *asked,
				   struct error *err)
{
	const struct record_facts *facts = record_facts(reader);
	const struct record_view view = view_of(options);
	struct error output_error = { .text = "" };
	struct record_end end = { 0 }, base_end = { 0 };
	struct output *output = &run->output;
	int result = 0;

	if (output_start(output, options, err))
		return REPLAY_FAILED;
	if (run->base)
		result = read_base(options, asked->base_path, run, &base_end, err);
	record_set_times(facts, output);
	if (options->verbose) {
		log_facts(facts);
		record_on_mapping(reader, log_mapping, NULL);
	}
	if (result == 0) {
		result = record_read(reader, &view, output, &end, err);
		if (result)
			tell(err, result, asked->replay_path);
	}
	if (record_process(reader).pid)
		log_end(reader, &end, options->mode);
	if (output_close(output, &output_error)) {
		*err = output_error;
		result = -EIO;
	}
	shortage_log();
	end.lossy |= base_end.lossy || output->left_out || shortage_count();
	if (result)
		return REPLAY_FAILED;
	if (!options->strict || !end.lossy)
		return REPLAY_OK;
	error_set(err, 0, "the run has lost hits, or counts are lower bounds (--strict)");
	return REPLAY_LOSSY;
}

static int open_record(FILE **file, const char *path, struct error *err)
{
	*file = path ? record_file(path, err) : NULL;
	return path && !*file ? error_in(err, -EIO, path) : 0;
}

/* A record is of a target's words, whoever has written it: nothing of it is read before this. */
static int give_up_privileges(struct replay *run, const struct options *asked, struct error *err)
{
	const struct broker_config config = {
		.memory_bytes = asked->memory_bytes,
		.publish_path = run->output.whole_path,
		.publish = output_replace,
	};

	if (asked->no_sandbox)
		return 0;
	target_prepare((run->output.whole_path ? PRIVILEGES_WRITE : 0) | PRIVILEGES_SPLIT);
	/* Whoever is anybody has nothing to give up. */
	return privileges_have(CAP_DAC_READ_SEARCH) ? broker_start(&run->broker, &config, err) : 0;
}

static int prepare(struct replay *run, const struct options *asked, struct error *err)
{
	int result = open_record(&run->record, asked->replay_path, err);

	if (result == 0)
		result = open_record(&run->base, asked->base_path, err);
	if (result == 0)
		result = output_reserve(&run->output, asked, err);
	return result ? result : give_up_privileges(run, asked, err);
}

static enum replay_status read_record(struct replay *run, const struct options *asked,
				      struct error *err)
{
	_cleanup_(record_reader_close_at) struct record_reader *reader = NULL;
	struct options options;
	int result = record_take(&reader, run->record, err);

	run->record = NULL;
	if (result) {
		tell(err, result, asked->replay_path);
		return REPLAY_FAILED;
	}
	if (settle(&options, asked, record_facts(reader), err)) {
		error_in(err, -EINVAL, asked->replay_path);
		return REPLAY_REFUSED;
	}
	return read_all(run, reader, &options, asked, err);
}

enum replay_status replay_run(const struct options *asked, struct error *err)
{
	struct replay run = { .record = NULL };
	enum replay_status status =
		prepare(&run, asked, err) ? REPLAY_FAILED : read_record(&run, asked, err);

	if (run.record)
		fclose(run.record);
	if (run.base)
		fclose(run.base);
	output_abandon(&run.output);
	broker_end(run.broker);
	return status;
}
