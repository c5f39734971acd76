// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first step of a run: argv becomes struct options, by one table. Values are read by
 * option_values.c, the words that are no options by operands.c.
 */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "bpf/event.h"
#include "base/error.h"
#include "cli/combinations.h"
#include "cli/entries.h"
#include "cli/modes.h"
#include "cli/operands.h"
#include "cli/option_values.h"

enum {
	OPERAND = 1, /* getopt's own code for a word that is no option */

	HOLD_DEFAULT_MS = 5,
	HOLD_MAX_MS = 10000,
	SHARE_DEFAULT_MS = 200,
	SHARE_MIN_MS = 20,
	SHARE_MAX_MS = 60000,
	NS_PER_MS = 1000000,
	TOP_DEFAULT_NS = 1000 * NS_PER_MS,

	FRAMES_DEFAULT = 127,

	STRING_BYTES_MAX = WATCH_COPY - 4, /* with what ends it and tells of more */
	DEPTH_MAX = 2,

	BUFFER_DEFAULT_BYTES = 8 << 20,
	MEMORY_DEFAULT_BYTES = 256 << 20,
};

/* Stands for --no-hold while the command line is read: 0 is then that neither was given. */
static const uint64_t HOLD_NEVER = UINT64_MAX;

static int add_word(const char ***words, size_t *count, size_t *capacity, const char *word,
		    struct error *err)
{
	if (vector_add(words, count, capacity, word))
		return 0;
	return error_set(err, -ENOMEM, "no memory for the command line");
}

static int set_hold(struct options *options, const struct entry *entry, const char *value,
		    struct error *err)
{
	uint64_t ms = 0;
	int result = 0;

	if (entry->code == OPT_HOLD)
		result = option_whole(entry->name, value, 1, HOLD_MAX_MS, &ms, err);
	if (result)
		return result;
	if (options->hold_ns && (options->hold_ns == HOLD_NEVER) != (entry->code == OPT_NO_HOLD))
		return error_set(err, -EINVAL, "only one of --hold and --no-hold can be given");
	options->hold_ns = entry->code == OPT_HOLD ? ms * NS_PER_MS : HOLD_NEVER;
	return 0;
}

static int set_share(struct options *options, const struct entry *entry, const char *value,
		     struct error *err)
{
	uint64_t ms = SHARE_DEFAULT_MS;
	int result =
		value ? option_whole(entry->name, value, SHARE_MIN_MS, SHARE_MAX_MS, &ms, err) : 0;

	options->share_ns = ms * NS_PER_MS;
	return result;
}

static int set_remap(struct options *options, const struct entry *entry, const char *value,
		     struct error *err)
{
	static const char *const words[] = { "never", "auto", "always", NULL };
	unsigned int when = entry->code == OPT_NO_REMAP ? REMAP_NEVER : REMAP_ALWAYS;
	int result = value ? option_word(entry->name, value, words, &when, "always, auto or never",
					 err) :
			     0;

	options->remap = (enum remap)when;
	return result;
}

/* A parameter of such a name is written with an @. */
static void set_by(struct options *options, const char *value)
{
	options->by = strcmp(value, "tid") == 0	   ? LATENCY_BY_TID :
		      strcmp(value, "caller") == 0 ? LATENCY_BY_CALLER :
						     LATENCY_BY_VALUE;
	options->by_value = options->by == LATENCY_BY_VALUE ? value : NULL;
}

void options_deinit(struct options *options)
{
	free(options->symbols);
	free(options->maps);
	free(options->calls);
	free(options->patterns);
	options->symbols = options->maps = options->calls = NULL;
	options->patterns = NULL;
	options->map_count = options->symbol_count = options->call_count = 0;
}

/* Those that set one member, and no more: false if @code is none of them. */
static bool set_member(struct options *options, int code, const char *value)
{
	bool *const flags[ENTRY_CODES] = { [OPT_ASYNC] = &options->async,
					   [OPT_NO_VALUES] = &options->no_values,
					   ['T'] = &options->wall_clock,
					   ['v'] = &options->verbose,
					   [OPT_SOURCE_MAPS] = &options->source_maps,
					   [OPT_NO_LINES] = &options->no_lines,
					   [OPT_NO_SANDBOX] = &options->no_sandbox,
					   [OPT_DEBUGINFOD] = &options->debuginfod,
					   [OPT_NESTED] = &options->request.nested,
					   [OPT_WAIT] = &options->wait,
					   [OPT_FORCE] = &options->force,
					   [OPT_STRICT] = &options->strict };
	const char **const words[ENTRY_CODES] = { [OPT_IF] = &options->filter,
						  ['o'] = &options->output_path,
						  [OPT_BASE] = &options->base_path,
						  [OPT_RECORD] = &options->record_path,
						  [OPT_REPLAY] = &options->replay_path };

	if (flags[code])
		*flags[code] = true;
	else if (words[code])
		*words[code] = value;
	return flags[code] || words[code];
}

static int apply(struct options *options, const struct entry *entry, const char *value,
		 struct error *err)
{
	static const enum mode modes[ENTRY_CODES] = { ['l'] = MODE_LIST,
						      ['n'] = MODE_DRY_RUN,
						      ['c'] = MODE_COUNT,
						      ['f'] = MODE_FOLDED,
						      [OPT_WATCH] = MODE_WATCH };
	static const char *const stacks[] = { "full", "managed", NULL };
	static const char *const means[] = { "any", "multi", "perf", NULL };
	uint64_t number = 0;
	unsigned int word = 0;
	int result = 0;

	if (set_member(options, entry->code, value))
		return 0;
	if (modes[entry->code])
		return modes_set(options, modes[entry->code], err);
	switch (entry->code) {
	case 'H':
		if (modes_set(options, MODE_HIST, err))
			return -EINVAL;
		return value ? option_linear(value, &options->linear, err) : 0;
	case OPT_TRACE:
		options->traced = true;
		return modes_set(options, MODE_TRACE, err);
	case OPT_CALLS:
		return add_word(&options->calls, &options->call_count, &options->call_capacity,
				value, err);
	case OPT_STRING_BYTES:
		result = option_whole(entry->name, value, 1, STRING_BYTES_MAX, &number, err);
		options->string_bytes = (uint32_t)number;
		return result;
	case OPT_DEPTH:
		result = option_whole(entry->name, value, 0, DEPTH_MAX, &number, err);
		options->depth = (uint32_t)number;
		options->depth_chosen = true;
		return result;
	case OPT_REDACT:
		if (!*value)
			return error_set(
				err, -EINVAL,
				"--redact takes a regular expression, not ''; ^$ hides nothing");
		options->redact = value;
		return 0;
	case OPT_TOP:
		options->top = true;
		return modes_set(options, MODE_HIST, err);
	case OPT_MIN:
		return option_time(entry->name, value, &options->slow_ns, err);
	case OPT_BY:
		set_by(options, value);
		return 0;
	case 'u':
		return modes_set_unit(options, TIME_UNIT_US, err);
	case 'm':
		return modes_set_unit(options, TIME_UNIT_MS, err);
	case 's':
		return modes_set_unit(options, TIME_UNIT_S, err);
	case 'j':
		return modes_set_format(options, FORMAT_JSON, err);
	case OPT_FORMAT:
		return modes_set_format_name(options, value, err);
	case OPT_LISTEN:
		result = option_address(entry->name, value, &options->listen, err);
		return result ? result : modes_set_format(options, FORMAT_OPENMETRICS, err);
	case OPT_FLAME:
		return modes_set_flame(options, value, err);
	case 'd':
		return option_seconds(entry->name, value, &options->duration_ns, err);
	case 'i':
		return option_seconds(entry->name, value, &options->interval_ns, err);
	case 'N':
		return option_whole(entry->name, value, 1, INT64_MAX, &options->max_hits, err);
	case OPT_EXPIRE:
		return option_time(entry->name, value, &options->expire_ns, err);
	case OPT_SAMPLE:
		return option_whole(entry->name, value, 1, INT64_MAX, &options->sample_hits, err);
	case OPT_MAX_RATE:
		result = option_whole(entry->name, value, 1, INT32_MAX, &number, err);
		options->max_rate = (uint32_t)number;
		return result;
	case 't':
		result = option_whole(entry->name, value, 1, INT32_MAX, &number, err);
		options->tid = (pid_t)number;
		return result;
	case OPT_NO_STACK:
		options->stack = STACK_MODE_NONE;
		options->stack_chosen = true;
		return 0;
	case OPT_STACK:
		result = option_word(entry->name, value, stacks, &word, "full or managed", err);
		options->stack = word ? STACK_MODE_MANAGED : STACK_MODE_FULL;
		options->stack_chosen = true;
		return result;
	case OPT_MAX_FRAMES:
		result = option_whole(entry->name, value, 1, EVENT_MAX_FRAMES, &number, err);
		options->max_frames = (unsigned int)number;
		return result;
	case OPT_BUFFER:
		return option_size(entry->name, value, &options->buffer_bytes, err);
	case OPT_MEMORY:
		return option_size(entry->name, value, &options->memory_bytes, err);
	case OPT_MAPS:
		return add_word(&options->maps, &options->map_count, &options->map_capacity, value,
				err);
	case OPT_SYMBOLS:
		return add_word(&options->symbols, &options->symbol_count,
				&options->symbol_capacity, value, err);
	case OPT_HOLD:
	case OPT_NO_HOLD:
		return set_hold(options, entry, value, err);
	case OPT_SHARE:
		return set_share(options, entry, value, err);
	case OPT_REMAP:
	case OPT_NO_REMAP:
		return set_remap(options, entry, value, err);
	case OPT_UPROBE_BY:
		result = option_word(entry->name, value, means, &word, "multi, perf or any", err);
		options->uprobe_by = (enum uprobe_by)word;
		return result;
	case OPT_COMPLETE:
		options->mode = MODE_COMPLETE;
		return 0;
	case OPT_SELF_TEST:
		options->mode = MODE_SELF_TEST;
		return 0;
	case 'V':
		options->mode = MODE_VERSION;
		return 0;
	default:
		options->mode = MODE_HELP;
		return 0;
	}
}

/*
 * getopt's two descriptions of the options. "-": it does not reorder the words, so what stood
 * before "--" and what after it is still to be seen; one that is no option comes as OPERAND.
 */
static void describe(struct option longs[ENTRIES_MAX + 1], char shorts[2 * ENTRIES_MAX + 4])
{
	size_t count = 0;
	char *s = shorts;

	*s++ = '-';
	*s++ = ':';
	for (size_t i = 0; i < entry_count; i++) {
		const struct entry *e = &entries[i];

		if (!e->name)
			continue;
		longs[count++] = (struct option){
			.name = e->name,
			.has_arg = entry_is_optional(e) ? optional_argument :
				   e->argument		? required_argument :
							  no_argument,
			.val = e->code,
		};
		if (e->code < ENTRY_LONG_ONLY) {
			*s++ = (char)e->code;
			/* A letter takes no optional argument: it would follow at once. */
			if (e->argument && !entry_is_optional(e))
				*s++ = ':';
		}
	}
	longs[count] = (struct option){ 0 };
	*s = '\0';
}

static const struct entry *entry_of(int code)
{
	for (size_t i = 0; i < entry_count; i++) {
		if (entries[i].name && entries[i].code == code)
			return &entries[i];
	}
	return NULL;
}

static int unknown_option(const char *word, struct error *err)
{
	if (optopt > 0 && optopt < ENTRY_LONG_ONLY)
		return error_set(err, -EINVAL, "there is no option -%c; --help names them all",
				 optopt);
	return error_set(err, -EINVAL, "there is no option %s; --help names them all", word);
}

/* Read the options, and gather in @argv, from its second word on, the operands among them. */
static int take_options(struct options *options, int argc, char **argv, struct operands *operands,
			struct error *err)
{
	struct option longs[ENTRIES_MAX + 1];
	char shorts[2 * ENTRIES_MAX + 4];
	int code, next = 1;

	describe(longs, shorts);
	operands->before = argv + 1;
	optind = 0;
	opterr = 0;
	while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct entry *entry = entry_of(code);
		int result;

		next = optind;
		if (code == OPERAND) {
			operands->before[operands->before_count++] = optarg;
			continue;
		}
		if (code == ':')
			return error_set(err, -EINVAL, "option %s needs a value; --help says which",
					 argv[optind - 1]);
		if (!entry)
			return unknown_option(argv[optind - 1], err);
		if (!options_is_for_replay(entry->name))
			options->live_option = entry->name;
		result = apply(options, entry, optarg, err);
		if (result || options->mode == MODE_HELP || options->mode == MODE_VERSION)
			return result;
	}
	/* Only "--" is passed over without being reported. */
	operands->separated = optind > next;
	operands->after = argv + optind;
	operands->after_count = (size_t)(argc - optind);
	return 0;
}

static int parse(struct options *options, int argc, char **argv, struct error *err)
{
	struct operands operands = { 0 };
	int result;

	*options = (struct options){
		.remap = REMAP_AUTO,
		.max_frames = FRAMES_DEFAULT,
		.buffer_bytes = BUFFER_DEFAULT_BYTES,
		.memory_bytes = MEMORY_DEFAULT_BYTES,
	};
	result = take_options(options, argc, argv, &operands, err);
	if (result || options->mode == MODE_HELP || options->mode == MODE_VERSION ||
	    options->mode == MODE_SELF_TEST)
		return result;
	if (options->hold_ns == 0)
		options->hold_ns = (uint64_t)HOLD_DEFAULT_MS * NS_PER_MS;
	else if (options->hold_ns == HOLD_NEVER)
		options->hold_ns = 0;
	/* A list says how what it needs would be probed, and no more. */
	options->top &= options->mode == MODE_HIST;
	if (options->top && !options->interval_ns)
		options->interval_ns = TOP_DEFAULT_NS;
	if (options->expire_ns &&
	    (!options->duration_ns || options->duration_ns > options->expire_ns))
		options->duration_ns = options->expire_ns;
	if ((options->mode == MODE_WATCH || options->mode == MODE_TRACE) && !options->stack_chosen)
		options->stack = STACK_MODE_NONE;
	modes_merge(options);
	result = options_check(options, err);
	return result ? result : operands_take(&operands, options, err);
}

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	int result = parse(options, argc, argv, err);

	if (result)
		options_deinit(options);
	return result;
}
