// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first step of a run: argv becomes struct options, by one table, and the words that are no
 * options a PID or a COMMAND, and the patterns. Values are read by option_values.c.
 */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "bpf/event.h"
#include "base/error.h"
#include "cli/entries.h"
#include "cli/modes.h"
#include "cli/option_values.h"

enum {
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

/* The words that are no options: those before "--" and those after it. */
struct operands {
	char **before;
	size_t before_count;
	char **after; /* ends with NULL */
	size_t after_count;
	bool separated; /* "--" stands there at all */
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
	static const enum mode alone[ENTRY_CODES] = { [OPT_COMPLETE] = MODE_COMPLETE,
						      [OPT_SELF_TEST] = MODE_SELF_TEST,
						      ['V'] = MODE_VERSION,
						      ['h'] = MODE_HELP };
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
	default:
		options->mode = alone[entry->code];
		return 0;
	}
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

	entries_describe(longs, shorts);
	operands->before = argv + 1;
	optind = 0;
	opterr = 0;
	while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct entry *entry = entry_of(code);
		int result;

		next = optind;
		if (code == ENTRY_OPERAND) {
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

/* Words that are no options ------------------------------------------------------------------- */

static int parse_pid(struct options *options, const char *word, struct error *err)
{
	uint64_t pid;
	char *end;

	errno = 0;
	pid = strtoull(word, &end, 10);
	if (word[0] < '0' || word[0] > '9' || *end || errno || pid == 0 || pid > INT32_MAX)
		return error_set(
			err, -EINVAL,
			"'%s' is no process id: give a PID, or a COMMAND to start after --", word);
	options->pid = (pid_t)pid;
	return 0;
}

/* PID PATTERN...; "--" anywhere between them only says that no option follows. */
static int take_process(struct options *options, const struct operands *operands, struct error *err)
{
	char **words = operands->before;
	size_t count = operands->before_count + operands->after_count;

	/* The words after "--" follow at some distance: close up. */
	memmove(words + operands->before_count, operands->after,
		operands->after_count * sizeof(*words));
	if (options->mode == MODE_COMPLETE && count == 0)
		return 0;
	if (count == 0)
		return error_set(err, -EINVAL, "give a PID and a PATTERN; --help tells more");
	if (parse_pid(options, words[0], err))
		return -EINVAL;
	if (count == 1 && options->mode != MODE_COMPLETE)
		return error_set(
			err, -EINVAL,
			"give a PATTERN after the PID, such as 'System.Threading.Thread::Sleep'");
	options->request.patterns = words + 1;
	options->request.count = count - 1;
	return 0;
}

/* PATTERN... -- COMMAND [ARG]... */
static int take_command(struct options *options, const struct operands *operands, struct error *err)
{
	if (operands->after_count == 0)
		return error_set(err, -EINVAL, "give a COMMAND after --");
	if (operands->before_count == 0)
		return error_set(err, -EINVAL,
				 "give a PATTERN before --, and the COMMAND after it");
	if (options->tid)
		return error_set(
			err, -EINVAL,
			"-t goes with a PID: a COMMAND that is yet to start has no threads");
	if (options->mode == MODE_LIST || options->mode == MODE_DRY_RUN)
		return error_set(err, -EINVAL,
				 "%s goes with a PID: a COMMAND that is yet to start has no code",
				 options->mode == MODE_LIST ? "--list" : "--dry-run");
	if (options->hold_ns == 0)
		return error_set(
			err, -EINVAL,
			"--no-hold goes with a PID: the start of a COMMAND that nobody holds is missed");
	if (options->map_count)
		return error_set(err, -EINVAL,
				 "--maps goes with a PID: no image of the COMMAND is there yet");
	options->wait = true;
	options->request.patterns = operands->before;
	options->request.count = operands->before_count;
	options->command = operands->after;
	return 0;
}

/* With --trace: those that were given are the roots, and --calls come behind them. */
static int add_calls(struct options *options, struct error *err)
{
	struct request *request = &options->request;
	size_t count = request->count + options->call_count;

	options->patterns = calloc(count, sizeof(*options->patterns));
	if (!options->patterns)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	memcpy(options->patterns, request->patterns, request->count * sizeof(char *));
	memcpy(options->patterns + request->count, options->calls,
	       options->call_count * sizeof(char *));
	request->roots = request->count;
	request->patterns = options->patterns;
	request->count = count;
	return 0;
}

static bool is_number(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0';
}

/*
 * "--" has long ended the options of `place-probe PID -- PATTERN`, and no pattern is a bare
 * number: so after a number it still does, and after anything else a command follows.
 */
static int take_operands(const struct operands *operands, struct options *options,
			 struct error *err)
{
	const char *first = operands->before_count ? operands->before[0] :
			    operands->after_count  ? operands->after[0] :
						     NULL;
	int result;

	if (options->replay_path)
		return first ? error_set(err, -EINVAL,
					 "--replay takes no PID, PATTERN or COMMAND: '%s'", first) :
			       0;
	if (operands->separated && !(first && is_number(first)))
		result = take_command(options, operands, err);
	else
		result = take_process(options, operands, err);
	return result || !options->traced ? result : add_calls(options, err);
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
	return result ? result : take_operands(&operands, options, err);
}

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	int result = parse(options, argc, argv, err);

	if (result)
		options_deinit(options);
	return result;
}
