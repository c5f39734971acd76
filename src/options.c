// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "error.h"

enum {
	OPERAND = 1, /* getopt's own code for a word that is no option */
	LONG_ONLY = 256,
	OPT_NO_STACK = LONG_ONLY,
	OPT_STACK,
	OPT_MAX_FRAMES,
	OPT_BUFFER,
	OPT_FORCE,
	OPT_STRICT,
	OPT_UPROBE_BY,
	OPT_SELF_TEST,
	OPT_NESTED,
	OPT_MAPS,
	OPT_HOLD,
	OPT_NO_HOLD,
	OPT_WAIT,
	OPT_MIN,
	OPT_BY,

	HIST_LINEAR_MAX = 1000, /* buckets */
	HOLD_DEFAULT_MS = 5,
	HOLD_MAX_MS = 10000,
	NS_PER_MS = 1000000,

	FRAMES_DEFAULT = 127,

	BUFFER_MIN_BYTES = 4096,
	BUFFER_DEFAULT_BYTES = 8 << 20,
};

/* Seconds beyond this are a slip of the hand, and would not fit in nanoseconds. */
static const double SECONDS_MAX = 1e9;
/* And less than a nanosecond would be 0, which stands for no limit. */
static const double SECONDS_MIN = 1e-9;
static const double BUFFER_MAX_BYTES = 1 << 30;
/* Stands for --no-hold while the command line is read: 0 is then that neither was given. */
static const uint64_t HOLD_NEVER = UINT64_MAX;

/* One table for getopt and for the help: an option cannot be in one and not in the other. */
static const struct entry {
	int code;
	const char *name;
	const char *argument; /* in brackets: it may be left out */
	const char *help;
} entries[] = {
	{ 0, NULL, NULL, "What to print (default: each hit with its stack)" },
	{ 'l', "list", NULL, "matched methods with every body and how it would be probed" },
	{ 'n', "dry-run", NULL, "perf commands that place the probes; attach nothing" },
	{ 'c', "count", NULL, "calls per method" },
	{ 'H', "hist", "[RANGE]", "latency histogram per method (RANGE: linear:MIN:MAX:STEP)" },
	{ OPT_MIN, "min", "DUR", "with -H: print each call that takes so long, e.g. 10ms" },
	{ OPT_BY, "by", "WHAT", "with -H: a histogram for each tid or caller" },
	{ 'u', "microseconds", NULL, "with -H: the unit (default: what fits)" },
	{ 'm', "milliseconds", NULL, "likewise" },
	{ 's', "seconds", NULL, "likewise" },
	{ 'f', "folded", NULL, "equal stacks merged and counted, for flame graphs" },
	{ 'j', "json", NULL, "JSON, one object a line (not with -n); docs: json.md" },
	{ 'T', "timestamps", NULL, "wall-clock time (default: seconds since the start)" },
	{ OPT_NO_STACK, "no-stack", NULL, "do not capture stacks" },
	{ OPT_STACK, "stack", "WHICH", "frames to print: full (default) or managed" },
	{ OPT_MAX_FRAMES, "max-frames", "N", "frames to capture, 1 to 512 (default 127)" },
	{ 'o', "output", "FILE", "write there, not to standard output" },
	{ 0, NULL, NULL, "For how long" },
	{ 'd', "duration", "SEC", "end after this many seconds" },
	{ 'i', "interval", "SEC", "with -c, -f or -H: print every so many seconds what is new" },
	{ 'N', "hits", "COUNT", "end after this many hits" },
	{ 0, NULL, NULL, "Which and how" },
	{ 't', "tid", "TID", "only this thread" },
	{ OPT_MAPS, "maps", "DIR|FILE", "use these map files as names too (repeatable)" },
	{ OPT_NESTED, "nested", NULL, "lambdas and local functions of a matched method too" },
	{ OPT_WAIT, "wait", NULL, "wait for methods and assemblies that do not exist yet" },
	{ OPT_HOLD, "hold", "MS", "new code waits up to MS ms for its probe (default 5)" },
	{ OPT_NO_HOLD, "no-hold", NULL, "it does not wait, and calls may be missed" },
	{ OPT_FORCE, "force", NULL, "allow plans that take long to detach" },
	{ OPT_BUFFER, "buffer", "SIZE", "ring buffer, e.g. 64M (default 8M)" },
	{ OPT_STRICT, "strict", NULL, "exit 5 if anything was lost or a count is a lower bound" },
	{ OPT_UPROBE_BY, "uprobe-by", "MEANS",
	  "attach by multi or perf, not the better one there is" },
	{ 0, NULL, NULL, "Other" },
	{ OPT_SELF_TEST, "self-test", NULL, "say what this kernel offers, and load every program" },
	{ 'v', "verbose", NULL, "tell on standard error what is being done" },
	{ 'V', "version", NULL, "print the version" },
	{ 'h', "help", NULL, "print this" },
};

enum { ENTRY_COUNT = sizeof(entries) / sizeof(entries[0]) };

static bool is_optional(const struct entry *entry)
{
	return entry->argument && entry->argument[0] == '[';
}

void options_print_help(FILE *to)
{
	fputs("Usage: place-probe [OPTION]... PID PATTERN...\n"
	      "       place-probe [OPTION]... PATTERN... -- COMMAND [ARG]...\n"
	      "Put probes on methods of a running .NET process, by name, from outside; or start\n"
	      "COMMAND and probe it from its first call on. (After a PID, -- ends the options.)\n"
	      "\n"
	      "A PATTERN is 'Namespace.Type::Method', with '(int,string)' for one overload,\n"
	      "a glob ('System.Threading.*::Sleep'), or /regex/ over the whole name; 'Image!'\n"
	      "before it limits it to one image. 'Image!function' with an ELF file, such as\n"
	      "'libc.so.6!malloc', is a native function, of any process.\n",
	      to);
	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		const struct entry *e = &entries[i];
		char left[40];

		if (!e->name) {
			fprintf(to, "\n%s:\n", e->help);
			continue;
		}
		snprintf(left, sizeof(left), "--%s%s%s", e->name,
			 !e->argument	? "" :
			 is_optional(e) ? "[=" :
					  "=",
			 !e->argument ? "" : e->argument + is_optional(e));
		if (e->code < LONG_ONLY)
			fprintf(to, "  -%c, %-20s %s\n", e->code, left, e->help);
		else
			fprintf(to, "      %-20s %s\n", left, e->help);
	}
	fputs("\n"
	      "Exit status: 0 ok, 1 error, 2 usage, 3 nothing matched, 4 matched but nothing can\n"
	      "be probed, 5 something was lost (with --strict).\n",
	      to);
}

static int bad_value(struct error *err, const char *name, const char *value, const char *wanted)
{
	return error_set(err, -EINVAL, "--%s takes %s, not '%s'", name, wanted, value);
}

static int parse_seconds(const char *name, const char *value, uint64_t *ns, struct error *err)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds >= SECONDS_MIN) || seconds > SECONDS_MAX)
		return bad_value(err, name, value, "a number of seconds above 0");
	*ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int parse_whole(const char *name, const char *value, uint64_t low, uint64_t high,
		       uint64_t *number, struct error *err)
{
	char wanted[80];
	char *end;

	errno = 0;
	*number = strtoull(value, &end, 10);
	if (value[0] >= '0' && value[0] <= '9' && !*end && !errno && *number >= low &&
	    *number <= high)
		return 0;
	snprintf(wanted, sizeof(wanted), "a whole number from %llu to %llu",
		 (unsigned long long)low, (unsigned long long)high);
	return bad_value(err, name, value, wanted);
}

/* A ring buffer's size must be a power of two, and of whole pages. */
static int parse_buffer(const char *value, size_t *bytes, struct error *err)
{
	static const char units[] = "KMG";
	char *end;
	double size = strtod(value, &end);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (unit) {
		size *= (double)(1ULL << (10 * (unit - units + 1)));
		end++;
	}
	if (end == value || *end || !(size >= 1) || size > BUFFER_MAX_BYTES)
		return bad_value(err, "buffer", value, "a size up to 1G, such as 64M");
	*bytes = BUFFER_MIN_BYTES;
	while ((double)*bytes < size)
		*bytes *= 2;
	return 0;
}

static int parse_word(const char *name, const char *value, const char *const *words,
		      unsigned int *index, const char *wanted, struct error *err)
{
	for (unsigned int i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) == 0) {
			*index = i;
			return 0;
		}
	}
	return bad_value(err, name, value, wanted);
}

static int set_mode(struct options *options, enum mode mode, struct error *err)
{
	bool lists = options->mode == MODE_LIST || mode == MODE_LIST;

	options->timed |= mode == MODE_HIST;
	/* What would be probed for it: both say how. */
	if (lists && options->timed) {
		options->mode = MODE_LIST;
		return 0;
	}
	if (options->mode != MODE_HITS && options->mode != mode)
		return error_set(err, -EINVAL,
				 "only one of --list, --dry-run, --count, --folded and --hist");
	options->mode = mode;
	return 0;
}

/* A number and its unit, to @end or the string's end. */
static bool read_time(const char *value, uint64_t *ns, char **end)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	double number = strtod(value, end), in_ns = -1;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && in_ns < 0; i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(*end, units[i].name, length) != 0)
			continue;
		in_ns = number * units[i].ns;
		*end += length;
	}
	if (*end == value || !(in_ns >= 0 && in_ns <= SECONDS_MAX * 1e9))
		return false;
	*ns = (uint64_t)in_ns;
	return true;
}

static int parse_time(const char *name, const char *value, uint64_t *ns, struct error *err)
{
	char *end;

	if (read_time(value, ns, &end) && *ns && !*end)
		return 0;
	return bad_value(err, name, value, "a time with its unit, such as 10ms, 500us or 1.5s");
}

/* "linear:MIN:MAX:STEP", or nothing. */
static int set_hist(struct options *options, const char *value, struct error *err)
{
	static const char kind[] = "linear:";
	struct hist_range range;
	char *end;

	if (set_mode(options, MODE_HIST, err))
		return -EINVAL;
	if (!value)
		return 0;
	if (strncmp(value, kind, strlen(kind)) == 0 &&
	    read_time(value + strlen(kind), &range.min_ns, &end) && *end == ':' &&
	    read_time(end + 1, &range.max_ns, &end) && *end == ':' &&
	    read_time(end + 1, &range.step_ns, &end) && !*end && range.step_ns &&
	    range.max_ns > range.min_ns &&
	    (range.max_ns - range.min_ns) / range.step_ns <= HIST_LINEAR_MAX) {
		options->linear = range;
		return 0;
	}
	return bad_value(
		err, "hist", value,
		"linear:MIN:MAX:STEP, such as linear:0ms:50ms:5ms with 1000 steps at most");
}

static int set_unit(struct options *options, enum time_unit unit, struct error *err)
{
	if (options->unit && options->unit != unit)
		return error_set(err, -EINVAL, "only one of -u, -m and -s");
	options->unit = unit;
	return 0;
}

static int add_maps(struct options *options, const char *path, struct error *err)
{
	const char **grown = realloc(options->maps, (options->map_count + 1) * sizeof(*grown));

	if (!grown)
		return error_set(err, -ENOMEM, "no memory for the command line");
	options->maps = grown;
	options->maps[options->map_count++] = path;
	return 0;
}

static int set_hold(struct options *options, const struct entry *entry, const char *value,
		    struct error *err)
{
	uint64_t ms = 0;
	int result = 0;

	if (entry->code == OPT_HOLD)
		result = parse_whole(entry->name, value, 1, HOLD_MAX_MS, &ms, err);
	if (result)
		return result;
	if (options->hold_ns && (options->hold_ns == HOLD_NEVER) != (entry->code == OPT_NO_HOLD))
		return error_set(err, -EINVAL, "only one of --hold and --no-hold");
	options->hold_ns = entry->code == OPT_HOLD ? ms * NS_PER_MS : HOLD_NEVER;
	return 0;
}

size_t options_linear_count(const struct options *options)
{
	const struct hist_range *range = &options->linear;

	return range->step_ns ?
		       (range->max_ns - range->min_ns + range->step_ns - 1) / range->step_ns :
		       0;
}

void options_deinit(struct options *options)
{
	free(options->maps);
	options->maps = NULL;
	options->map_count = 0;
}

static int apply(struct options *options, const struct entry *entry, const char *value,
		 struct error *err)
{
	static const char *const stacks[] = { "full", "managed", NULL };
	static const char *const bys[] = { "tid", "caller", NULL };
	static const char *const means[] = { "any", "multi", "perf", NULL };
	uint64_t number = 0;
	unsigned int word = 0;
	int result = 0;

	switch (entry->code) {
	case 'l':
		return set_mode(options, MODE_LIST, err);
	case 'n':
		return set_mode(options, MODE_DRY_RUN, err);
	case 'c':
		return set_mode(options, MODE_COUNT, err);
	case 'f':
		return set_mode(options, MODE_FOLDED, err);
	case 'H':
		return set_hist(options, value, err);
	case OPT_MIN:
		return parse_time(entry->name, value, &options->slow_ns, err);
	case OPT_BY:
		result = parse_word(entry->name, value, bys, &word, "tid or caller", err);
		options->by = (enum hist_by)(HIST_BY_TID + word);
		return result;
	case 'u':
		return set_unit(options, TIME_UNIT_US, err);
	case 'm':
		return set_unit(options, TIME_UNIT_MS, err);
	case 's':
		return set_unit(options, TIME_UNIT_S, err);
	case 'j':
		options->json = true;
		return 0;
	case 'T':
		options->wall_clock = true;
		return 0;
	case 'o':
		options->output_path = value;
		return 0;
	case 'd':
		return parse_seconds(entry->name, value, &options->duration_ns, err);
	case 'i':
		return parse_seconds(entry->name, value, &options->interval_ns, err);
	case 'N':
		return parse_whole(entry->name, value, 1, INT64_MAX, &options->max_hits, err);
	case 't':
		result = parse_whole(entry->name, value, 1, INT32_MAX, &number, err);
		options->tid = (pid_t)number;
		return result;
	case 'v':
		options->verbose = true;
		return 0;
	case OPT_NO_STACK:
		options->stack = STACK_MODE_NONE;
		return 0;
	case OPT_STACK:
		result = parse_word(entry->name, value, stacks, &word, "full or managed", err);
		options->stack = word ? STACK_MODE_MANAGED : STACK_MODE_FULL;
		return result;
	case OPT_MAX_FRAMES:
		result = parse_whole(entry->name, value, 1, EVENT_MAX_FRAMES, &number, err);
		options->max_frames = (unsigned int)number;
		return result;
	case OPT_BUFFER:
		return parse_buffer(value, &options->buffer_bytes, err);
	case OPT_MAPS:
		return add_maps(options, value, err);
	case OPT_NESTED:
		options->nested = true;
		return 0;
	case OPT_WAIT:
		options->wait = true;
		return 0;
	case OPT_HOLD:
	case OPT_NO_HOLD:
		return set_hold(options, entry, value, err);
	case OPT_FORCE:
		options->force = true;
		return 0;
	case OPT_STRICT:
		options->strict = true;
		return 0;
	case OPT_UPROBE_BY:
		result = parse_word(entry->name, value, means, &word, "multi, perf or any", err);
		options->uprobe_by = (enum uprobe_by)word;
		return result;
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
static void describe(struct option longs[ENTRY_COUNT + 1], char shorts[2 * ENTRY_COUNT + 4])
{
	size_t count = 0;
	char *s = shorts;

	*s++ = '-';
	*s++ = ':';
	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		const struct entry *e = &entries[i];

		if (!e->name)
			continue;
		longs[count++] = (struct option){
			.name = e->name,
			.has_arg = is_optional(e) ? optional_argument :
				   e->argument	  ? required_argument :
						    no_argument,
			.val = e->code,
		};
		if (e->code < LONG_ONLY) {
			*s++ = (char)e->code;
			/* A letter's optional argument would have to stand right behind it: only the name takes one. */
			if (e->argument && !is_optional(e))
				*s++ = ':';
		}
	}
	longs[count] = (struct option){ 0 };
	*s = '\0';
}

static const struct entry *entry_of(int code)
{
	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		if (entries[i].name && entries[i].code == code)
			return &entries[i];
	}
	return NULL;
}

/* What the command line has beside options: the words before "--" and those after it. */
struct operands {
	char **before;
	size_t before_count;
	char **after; /* ends with NULL */
	size_t after_count;
	bool separated; /* "--" stands there at all */
};

static int parse_pid(struct options *options, const char *word, struct error *err)
{
	uint64_t pid;
	char *end;

	errno = 0;
	pid = strtoull(word, &end, 10);
	if (word[0] < '0' || word[0] > '9' || *end || errno || pid == 0 || pid > INT32_MAX)
		return error_set(err, -EINVAL,
				 "'%s' is no process id; a COMMAND to start goes after --", word);
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
	if (count == 0)
		return error_set(err, -EINVAL, "give a PID and a PATTERN; --help tells more");
	if (parse_pid(options, words[0], err))
		return -EINVAL;
	if (count == 1)
		return error_set(
			err, -EINVAL,
			"give a PATTERN after the PID, such as 'System.Threading.Thread::Sleep'");
	options->patterns = words + 1;
	options->pattern_count = count - 1;
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
	options->patterns = operands->before;
	options->pattern_count = operands->before_count;
	options->command = operands->after;
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
static int take_operands(struct options *options, const struct operands *operands,
			 struct error *err)
{
	const char *first = operands->before_count ? operands->before[0] :
			    operands->after_count  ? operands->after[0] :
						     NULL;

	if (operands->separated && !(first && is_number(first)))
		return take_command(options, operands, err);
	return take_process(options, operands, err);
}

static int check_combination(const struct options *options, struct error *err)
{
	if (options->interval_ns && options->mode != MODE_COUNT && options->mode != MODE_FOLDED &&
	    options->mode != MODE_HIST)
		return error_set(err, -EINVAL, "-i goes with -c, -f or -H");
	if (options->mode != MODE_HIST && (options->slow_ns || options->by || options->unit))
		return error_set(err, -EINVAL, "%s goes with -H",
				 options->slow_ns ? "--min" :
				 options->by	  ? "--by" :
						    "a unit of time");
	if (options->slow_ns && (options->by || options->linear.step_ns || options->interval_ns))
		return error_set(err, -EINVAL,
				 "--min prints slow calls and no histogram, so %s has no meaning",
				 options->by		 ? "--by" :
				 options->linear.step_ns ? "--hist=linear" :
							   "-i");
	if (options->mode == MODE_FOLDED && options->stack == STACK_MODE_NONE)
		return error_set(err, -EINVAL, "--folded merges stacks, and --no-stack takes none");
	if (options->json && options->mode == MODE_DRY_RUN)
		return error_set(
			err, -EINVAL,
			"--dry-run prints commands, not JSON; --list -j has the same sites");
	if (options->wait && (options->mode == MODE_LIST || options->mode == MODE_DRY_RUN))
		return error_set(err, -EINVAL,
				 "--wait goes with probing; %s shows what there is now",
				 options->mode == MODE_LIST ? "--list" : "--dry-run");
	return 0;
}

static int unknown_option(const char *word, struct error *err)
{
	if (optopt > 0 && optopt < LONG_ONLY)
		return error_set(err, -EINVAL, "there is no option -%c", optopt);
	return error_set(err, -EINVAL, "there is no option %s", word);
}

/* Read the options, and gather in @argv, from its second word on, the operands among them. */
static int take_options(struct options *options, int argc, char **argv, struct operands *operands,
			struct error *err)
{
	struct option longs[ENTRY_COUNT + 1];
	char shorts[2 * ENTRY_COUNT + 4];
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
			return error_set(err, -EINVAL, "option %s needs a value", argv[optind - 1]);
		if (!entry)
			return unknown_option(argv[optind - 1], err);
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
		.max_frames = FRAMES_DEFAULT,
		.buffer_bytes = BUFFER_DEFAULT_BYTES,
	};
	result = take_options(options, argc, argv, &operands, err);
	if (result || options->mode == MODE_HELP || options->mode == MODE_VERSION ||
	    options->mode == MODE_SELF_TEST)
		return result;
	if (options->hold_ns == 0)
		options->hold_ns = (uint64_t)HOLD_DEFAULT_MS * NS_PER_MS;
	else if (options->hold_ns == HOLD_NEVER)
		options->hold_ns = 0;
	result = check_combination(options, err);
	return result ? result : take_operands(options, &operands, err);
}

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	int result = parse(options, argc, argv, err);

	if (result)
		options_deinit(options);
	return result;
}
