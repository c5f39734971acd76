// SPDX-License-Identifier: GPL-2.0-or-later
/* Which options do not go together: asked by options.c once all are read. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/modes.h"
#include "filter/filter.h"

/* One that is not there would be searched in vain, and never be told of. */
static int check_symbols(const struct options *options, struct error *err)
{
	struct stat st;

	for (size_t i = 0; i < options->symbol_count; i++) {
		const char *path = options->symbols[i];

		if (stat(path, &st) != 0)
			return error_set(err, -EINVAL,
					 "--symbols takes a directory that has PDBs, not '%s': %s",
					 path, strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return error_set(
				err, -EINVAL,
				"--symbols takes a directory that has PDBs, and '%s' is none",
				path);
	}
	return 0;
}

/* Those that say how something is printed; others are for a run. */
bool options_is_for_replay(const char *name)
{
	static const char *const names[] = { "list",	     "dry-run",	     "count",	"hist",
					     "min",	     "by",	     "folded",	"json",
					     "microseconds", "milliseconds", "seconds", "format",
					     "timestamps",   "no-stack",     "stack",	"output",
					     "interval",     "memory",	     "strict",	"verbose",
					     "record",	     "replay",	     "base",	"flame",
					     "no-sandbox" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool names_output(const struct options *options, const char *path)
{
	return options->output_path && strcmp(options->output_path, path) == 0;
}

/* What goes with how the record was made is checked when it is read (record/replay.c). */
static int check_replay(const struct options *options, struct error *err)
{
	if (options->record_path)
		return error_set(err, -EINVAL, "only one of --record and --replay");
	if (names_output(options, options->replay_path))
		return error_set(err, -EINVAL, "--replay and -o name one file");
	if (options->base_path && names_output(options, options->base_path))
		return error_set(err, -EINVAL, "--base and the page name one file");
	if (options->by_value)
		return error_set(err, -EINVAL,
				 "--by=%s is for a run, and --replay prints one that is over",
				 options->by_value);
	if (options->live_option)
		return error_set(err, -EINVAL,
				 "--%s is for a run, and --replay prints one that is over",
				 options->live_option);
	return 0;
}

/* One that only those who show values have a use for; NULL: none was given. */
static const char *option_of_values(const struct options *options)
{
	return options->depth_chosen ? "--depth" :
	       options->string_bytes ? "--string-bytes" :
	       options->redact	     ? "--redact" :
				       NULL;
}

static int check_by_value(struct options *options, struct error *err)
{
	struct filter filter;
	enum filter_operand operand;

	if (filter_parse_operand(&filter, options->by_value, err))
		return -EINVAL;
	operand = filter.nodes[filter.root].operand;
	filter_deinit(&filter);
	if (operand == FILTER_TOOK)
		return error_set(err, -EINVAL,
				 "--by takes a value, and how long calls take is what -H shows");
	if (options->mode != MODE_COUNT && options->mode != MODE_HIST)
		return error_set(err, -EINVAL, "--by=%s goes with -c or -H: give one of them too",
				 options->by_value);
	if (options->format != FORMAT_TEXT && options->format != FORMAT_JSON)
		return error_set(err, -EINVAL,
				 "--by=%s is written as text or JSON: leave the format out",
				 options->by_value);
	if (options->record_path || options->no_values)
		return error_set(
			err, -EINVAL, "%s has no place for values: leave it or --by=%s out",
			options->record_path ? "--record" : "--no-values", options->by_value);
	options->by_of_end = operand == FILTER_RESULT;
	options->timed |= options->by_of_end;
	if (options->by_of_end && options->mode == MODE_COUNT && options->max_hits)
		return error_set(
			err, -EINVAL,
			"-N counts calls that begin, and --by=%s is known when they end: leave one of them out",
			options->by_value);
	return 0;
}

static int refuse_end(const struct options *options, const struct filter *filter, struct error *err)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->nodes[i].kind == FILTER_COMPARE && filter_is_of_end(filter, i))
			return filter_refuse(
				filter, filter->nodes[i].at,
				options->mode == MODE_FOLDED ?
					"there is what only the end of a call tells, and -f has stacks of its beginning: use --watch, -H or -c" :
					"there is what only the end of a call tells, and hits are its beginning: use --watch, -H or -c",
				err);
	}
	return 0;
}

/* Which type an exception is of is told outside of the kernel, of calls that are sent. */
static int check_types(const struct options *options, const struct filter *filter,
		       struct error *err)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct filter_node *node = &filter->nodes[i];

		if (node->kind == FILTER_COMPARE && node->literal == FILTER_TYPE &&
		    options->mode != MODE_WATCH)
			return filter_refuse(
				filter, node->at,
				"there is the type of an exception, which only --watch sees: use that, or 'threw' alone",
				err);
	}
	if (options->max_hits)
		return error_set(
			err, -EINVAL,
			"-N counts calls in the kernel, and --if asks for what exceptions are of, which is told outside: leave one of them out");
	return 0;
}

/* Does it ask for what only the end of a call tells, and is that seen? */
static int look_at_filter(struct options *options, struct error *err)
{
	struct filter filter;
	int result = filter_parse(&filter, options->filter, err);

	if (result)
		return -EINVAL;
	options->filter_of_end = filter_is_of_end(&filter, filter.root);
	if (options->filter_of_end && (options->mode == MODE_HITS || options->mode == MODE_FOLDED))
		result = refuse_end(options, &filter, err);
	else if (options->filter_of_end && options->mode == MODE_COUNT && options->max_hits)
		result = error_set(
			err, -EINVAL,
			"-N counts calls that begin, and --if asks for what only their end tells: leave one of them out");
	else if (filter.type_count)
		result = check_types(options, &filter, err);
	options->timed |= options->filter_of_end;
	options->filter_types = (unsigned int)filter.type_count;
	filter_deinit(&filter);
	return result;
}

/* What is printed is not asked; a filter prints nothing, so --no-values goes with it. */
static int check_filter(struct options *options, struct error *err)
{
	bool runs = options->mode == MODE_HITS || options->mode == MODE_COUNT ||
		    options->mode == MODE_FOLDED || options->mode == MODE_HIST ||
		    options->mode == MODE_WATCH;

	if (options->filter && !runs)
		return error_set(err, -EINVAL,
				 "--if is for calls, and %s shows none: leave one of them out",
				 options->mode == MODE_LIST ? "--list" : "--dry-run");
	if (options->no_values && options->mode != MODE_WATCH && !options->filter)
		return error_set(err, -EINVAL,
				 "--no-values goes with --watch or --if: give that too");
	return options->filter ? look_at_filter(options, err) : 0;
}

static int check_watch(const struct options *options, struct error *err)
{
	const char *name = option_of_values(options);

	if (options->mode != MODE_WATCH && name && (!options->by_value || options->depth_chosen))
		return error_set(err, -EINVAL, "%s goes with --watch: give that too", name);
	if (options->mode == MODE_WATCH && options->record_path)
		return error_set(
			err, -EINVAL,
			"--record has no place for values: leave --watch out, or write to a file with -o");
	if (options->async && options->mode != MODE_WATCH)
		return error_set(err, -EINVAL, "--async goes with --watch: give that too");
	if (options->async && options->filter)
		return error_set(
			err, -EINVAL,
			"--if is for single steps, and --async shows whole calls: leave one of them out");
	if (options->no_values && name)
		return error_set(err, -EINVAL, "--no-values captures none, so leave %s out", name);
	return 0;
}

static int check_trace(const struct options *options, struct error *err)
{
	if (!options->traced && options->call_count)
		return error_set(err, -EINVAL, "--calls goes with --trace: give that too");
	if (options->traced && !options->call_count)
		return error_set(
			err, -EINVAL,
			"--trace needs to know which calls to show below those of PATTERN: name them with --calls=PATTERN");
	if (options->mode != MODE_TRACE)
		return 0;
	if (options->stack != STACK_MODE_NONE)
		return error_set(err, -EINVAL,
				 "--trace shows trees of calls and no stacks: leave --stack out");
	if (options->filter)
		return error_set(
			err, -EINVAL,
			"--if would leave gaps in the trees of --trace: leave one of them out, or use --watch");
	if (options->record_path)
		return error_set(
			err, -EINVAL,
			"--record has no place for trees: leave --trace out, or write to a file with -o");
	return 0;
}

int options_check(struct options *options, struct error *err)
{
	if (options->base_path && (!options->replay_path || options->format != FORMAT_FLAME))
		return error_set(
			err, -EINVAL,
			"--base goes with --replay and --flame: it is a page of what differs");
	if (options->replay_path)
		return check_replay(options, err);
	if (options->record_path && names_output(options, options->record_path))
		return error_set(err, -EINVAL, "--record and -o name one file");
	if (options->interval_ns && options->mode != MODE_COUNT && options->mode != MODE_FOLDED &&
	    options->mode != MODE_HIST)
		return error_set(err, -EINVAL, "-i goes with -c, -f or -H");
	if (check_watch(options, err) || check_trace(options, err) || check_filter(options, err))
		return -EINVAL;
	if (options->mode != MODE_HIST &&
	    ((options->slow_ns && options->mode != MODE_WATCH && options->mode != MODE_TRACE) ||
	     options->unit))
		return error_set(err, -EINVAL, "%s goes with -H: give that too",
				 options->slow_ns ? "--min" : "a unit of time");
	if (options->by_value && check_by_value(options, err))
		return -EINVAL;
	if (options->by && !options->by_value && options->mode != MODE_HIST &&
	    !(options->mode == MODE_FOLDED && options->by == LATENCY_BY_TID))
		return error_set(
			err, -EINVAL,
			options->mode == MODE_FOLDED ?
				"stacks have their callers: with -f there is only --by=tid" :
				"--by goes with -H, and --by=tid with -f; -c takes a value, such as id");
	if (options->top && (options->by || options->linear.step_ns || options->slow_ns))
		return error_set(err, -EINVAL, "--top is a table of methods: use -H for %s",
				 options->by		 ? "--by" :
				 options->linear.step_ns ? "--hist=linear" :
							   "--min");
	if (options->top && options->record_path)
		return error_set(err, -EINVAL, "--top cannot be recorded: use -H with --record");
	if (options->slow_ns && (options->by || options->linear.step_ns || options->interval_ns))
		return error_set(
			err, -EINVAL,
			"--min prints slow calls and no histogram, so %s has no meaning: leave one of them out",
			options->by		? "--by" :
			options->linear.step_ns ? "--hist=linear" :
						  "-i");
	if (options->top && options->format != FORMAT_TEXT)
		return error_set(err, -EINVAL,
				 "--top is for people: for programs, use -H with that format");
	if (options->mode == MODE_FOLDED && options->stack == STACK_MODE_NONE)
		return error_set(
			err, -EINVAL,
			"--folded merges stacks, and --no-stack takes none: leave one of them out");
	if (options->source_maps && options->stack == STACK_MODE_NONE)
		return error_set(
			err, -EINVAL,
			"--source-maps is for lines in stacks, and --no-stack takes none: leave one of them out");
	if (check_symbols(options, err))
		return -EINVAL;
	if (options->source_maps && options->no_lines)
		return error_set(err, -EINVAL,
				 "only one of --source-maps and --no-lines can be given");
	if (options->format == FORMAT_JSON && options->mode == MODE_DRY_RUN)
		return error_set(
			err, -EINVAL,
			"--dry-run prints commands, not JSON; --list -j has the same sites");
	if (options->wait && (options->mode == MODE_LIST || options->mode == MODE_DRY_RUN))
		return error_set(err, -EINVAL,
				 "--wait goes with probing; %s shows what there is now",
				 options->mode == MODE_LIST ? "--list" : "--dry-run");
	if ((options->sample_hits || options->max_rate) &&
	    (options->mode != MODE_HITS && options->mode != MODE_FOLDED))
		return error_set(
			err, -EINVAL,
			"%s is for hits that are reported, and -c and -H count them all: leave one of them out",
			options->sample_hits ? "--sample" : "--max-rate");
	return modes_check_format(options, err);
}
