// SPDX-License-Identifier: GPL-2.0-or-later
/* The mode and the format of a run, for options.c; combinations.c asks whether they go together. */
#include "cli/modes.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/option_values.h"

/* In the order of enum format; "folded", which is a mode, comes after them. */
static const char *const names[] = { "text",	    "json",	   "perf-script", "speedscope",
				     "trace-event", "openmetrics", "pprof",	  "flame",
				     "folded",	    NULL };

enum { FOLDED = FORMAT_COUNT };

_Static_assert(sizeof(names) / sizeof(names[0]) == FORMAT_COUNT + 2, "each format has its name");

int modes_set(struct options *options, enum mode mode, struct error *err)
{
	bool lists = options->mode == MODE_LIST || mode == MODE_LIST;

	options->timed |= mode == MODE_HIST || mode == MODE_WATCH || mode == MODE_TRACE;
	/* What would be probed for it: both say how. */
	if (lists && options->timed) {
		options->mode = MODE_LIST;
		return 0;
	}
	if (options->mode != MODE_HITS && options->mode != mode)
		return error_set(
			err, -EINVAL,
			"only one of --list, --dry-run, --count, --folded, --hist, --watch and --trace can be given");
	options->mode = mode;
	return 0;
}

int modes_set_unit(struct options *options, enum time_unit unit, struct error *err)
{
	if (options->unit && options->unit != unit)
		return error_set(err, -EINVAL, "only one of -u, -m and -s can be given");
	options->unit = unit;
	return 0;
}

int modes_set_format(struct options *options, enum format format, struct error *err)
{
	if (options->format_chosen && options->format != format)
		return error_set(
			err, -EINVAL,
			"only one format can be written: %s was asked for, and %s; leave one out",
			names[options->format], names[format]);
	options->format = format;
	options->format_chosen = true;
	return 0;
}

int modes_set_format_name(struct options *options, const char *name, struct error *err)
{
	unsigned int number;
	int result = option_word(
		"format", name, names, &number,
		"text, json, folded, perf-script, speedscope, trace-event, openmetrics, pprof or "
		"flame",
		err);

	if (result)
		return result;
	if (number == FOLDED)
		return modes_set(options, MODE_FOLDED, err);
	return modes_set_format(options, (enum format)number, err);
}

int modes_set_flame(struct options *options, const char *path, struct error *err)
{
	if (options->format_chosen)
		return error_set(err, -EINVAL, "--flame writes a page: leave the other format out");
	options->flame_path = path;
	return modes_set_format(options, FORMAT_FLAME, err);
}

void modes_merge(struct options *options)
{
	/* What a record is of is known once it is read. */
	if (options->format == FORMAT_FLAME && options->mode == MODE_HITS && !options->replay_path)
		options->mode = MODE_FOLDED;
	if (options->flame_path && !options->output_path)
		options->output_path = options->flame_path;
}

bool options_report_hits(const struct options *options)
{
	return options->mode == MODE_HITS || options->mode == MODE_FOLDED ||
	       options->mode == MODE_WATCH || options->mode == MODE_TRACE ||
	       (options->mode == MODE_HIST && options->slow_ns);
}

static int check_no_unit(const struct options *options, struct error *err)
{
	if (!options->unit)
		return 0;
	return error_set(
		err, -EINVAL,
		"-u, -m and -s are for text, and --format=%s has a unit of its own: leave one out",
		names[options->format]);
}

static int check_no_time(const struct options *options, struct error *err)
{
	if (!options->wall_clock)
		return 0;
	return error_set(
		err, -EINVAL,
		"-T is for the time of each hit, which --format=%s does not have: leave one out",
		names[options->format]);
}

/* Those that write hits and nothing else. */
static int check_hits(const struct options *options, struct error *err)
{
	const char *name = names[options->format];

	if (options->mode == MODE_FOLDED)
		return error_set(err, -EINVAL,
				 "--folded and --format=%s are two formats: leave one out", name);
	if (!mode_attaches(options->mode))
		return error_set(
			err, -EINVAL,
			"--format=%s is for hits, and %s attaches nothing: leave one out, or use -j",
			name, options->mode == MODE_LIST ? "--list" : "--dry-run");
	if (!options_report_hits(options))
		return error_set(
			err, -EINVAL,
			"--format=%s is for hits, and for calls with -H --min=DUR; %s counts: leave that out, or use --format=openmetrics",
			name, options->mode == MODE_COUNT ? "-c" : "-H");
	if (options->stack == STACK_MODE_NONE && options->format != FORMAT_TRACE_EVENT)
		return error_set(
			err, -EINVAL,
			"--format=%s is for stacks, and --no-stack takes none: leave one out",
			name);
	return check_no_unit(options, err);
}

static int check_totals(const struct options *options, struct error *err)
{
	const char *name = names[options->format];

	if (options->listen.ss_family && options->mode != MODE_COUNT && options->mode != MODE_HIST)
		return error_set(err, -EINVAL, "--listen serves totals: it goes with -c and -H");
	if (options->slow_ns)
		return error_set(
			err, -EINVAL,
			"--format=%s is for totals, and --min prints single calls: leave one out",
			name);
	if (options->mode != MODE_COUNT && options->mode != MODE_HIST)
		return error_set(err, -EINVAL, "--format=%s is for totals: it goes with -c and -H",
				 name);
	if (options->interval_ns && !options->output_path)
		return error_set(err, -EINVAL,
				 "-i has --format=%s write a file anew: name it with -o FILE",
				 name);
	return check_no_unit(options, err);
}

/* It would be commands to a terminal. */
static int check_binary(const struct options *options, struct error *err)
{
	if (options->output_path || !isatty(STDOUT_FILENO))
		return 0;
	return error_set(err, -EINVAL,
			 "--format=%s is binary, and standard output is a terminal: name a file "
			 "with -o FILE",
			 names[options->format]);
}

/* Stacks, which equal ones are merged of, or latencies. */
static int check_page(const struct options *options, struct error *err)
{
	if (options->flame_path && options->output_path != options->flame_path)
		return error_set(
			err, -EINVAL,
			"--flame=FILE and -o FILE both say where the page goes: leave -o out");
	if (options->mode != MODE_FOLDED && options->mode != MODE_HIST)
		return error_set(err, -EINVAL,
				 "--flame is for stacks and latencies: it goes with -f and -H, or "
				 "alone");
	if (options->stack == STACK_MODE_NONE && options_report_hits(options))
		return error_set(err, -EINVAL, "--flame is for stacks, and --no-stack takes none");
	return check_no_unit(options, err);
}

/* Values and trees have a place in text and JSON only. */
static int check_plain(const struct options *options, struct error *err)
{
	bool watch = options->mode == MODE_WATCH;

	if (options->format == FORMAT_TEXT || options->format == FORMAT_JSON)
		return 0;
	return error_set(
		err, -EINVAL,
		"%s prints %s, for which --format=%s has no place: leave one out, or use -j",
		watch ? "--watch" : "--trace", watch ? "values" : "trees", names[options->format]);
}

int modes_check_format(const struct options *options, struct error *err)
{
	if (options->mode == MODE_WATCH || options->mode == MODE_TRACE)
		return check_plain(options, err);
	switch (options->format) {
	case FORMAT_SPEEDSCOPE:
		return check_no_time(options, err) ? -EINVAL : check_hits(options, err);
	case FORMAT_PPROF:
		if (check_no_time(options, err) || check_hits(options, err))
			return -EINVAL;
		return check_binary(options, err);
	case FORMAT_PERF_SCRIPT:
	case FORMAT_TRACE_EVENT:
		return check_hits(options, err);
	case FORMAT_OPENMETRICS:
		return check_no_time(options, err) ? -EINVAL : check_totals(options, err);
	case FORMAT_FLAME:
		return check_no_time(options, err) ? -EINVAL : check_page(options, err);
	default:
		return 0;
	}
}
