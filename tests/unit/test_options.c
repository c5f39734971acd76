// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "error.h"
#include "options.h"

enum { WORDS_MAX = 32 };

/* Parse a command line of words with single spaces between them. */
static int parse(const char *line, struct options *options, struct error *err)
{
	static char copy[256];
	static char name[] = "place-probe";
	static char *argv[WORDS_MAX]; /* the options borrow from it */
	char *save = NULL;
	int argc = 1;

	memset(argv, 0, sizeof(argv));
	argv[0] = name;
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word && argc < WORDS_MAX - 1;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	return options_parse(options, argc, argv, err);
}

static void defaults(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("123 T::M", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_HITS);
	assert_int_equal(o.pid, 123);
	assert_int_equal(o.pattern_count, 1);
	assert_string_equal(o.patterns[0], "T::M");
	assert_int_equal(o.max_frames, 127);
	assert_int_equal(o.buffer_bytes, 8 << 20);
	assert_int_equal(o.duration_ns, 0);
	assert_int_equal(o.stack, STACK_MODE_MANAGED);
	assert_false(o.json || o.strict || o.force || o.verbose || o.wall_clock);
}

static void every_option(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("-c -j -d 1.5 -i 0.25 -N 7 -t 9 -o out -T -v 1 A::B C::D", &o, NULL),
			 0);
	assert_int_equal(o.mode, MODE_COUNT);
	assert_true(o.json && o.wall_clock && o.verbose);
	assert_int_equal(o.duration_ns, 1500000000);
	assert_int_equal(o.interval_ns, 250000000);
	assert_int_equal(o.max_hits, 7);
	assert_int_equal(o.tid, 9);
	assert_string_equal(o.output_path, "out");
	assert_int_equal(o.pattern_count, 2);

	assert_int_equal(parse("1 A::B --stack=full --max-frames=3 --buffer=1M --force --strict "
			       "--uprobe-by=perf",
			       &o, NULL),
			 0);
	assert_int_equal(o.stack, STACK_MODE_FULL);
	assert_int_equal(o.max_frames, 3);
	assert_int_equal(o.buffer_bytes, 1 << 20);
	assert_true(o.force && o.strict);
	assert_int_equal(o.uprobe_by, UPROBE_BY_PERF);

	assert_int_equal(parse("--no-stack -l 1 A::B", &o, NULL), 0);
	assert_int_equal(o.stack, STACK_MODE_NONE);
	assert_int_equal(o.mode, MODE_LIST);
	assert_int_equal(parse("-h", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_HELP);
	assert_int_equal(parse("--version", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_VERSION);
	assert_int_equal(parse("--self-test", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_SELF_TEST);
}

static void buffer_sizes_become_powers_of_two(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(parse("--buffer=1 1 A::B", &o, NULL), 0);
	assert_int_equal(o.buffer_bytes, 4096);
	assert_int_equal(parse("--buffer=5000 1 A::B", &o, NULL), 0);
	assert_int_equal(o.buffer_bytes, 8192);
	assert_int_equal(parse("--buffer=1G 1 A::B", &o, NULL), 0);
	assert_int_equal(o.buffer_bytes, 1 << 30);
}

static void bad_command_lines(void **state)
{
	static const struct {
		const char *line;
		const char *said;
	} bad[] = {
		{ "", "give a PID and a PATTERN" },
		{ "12", "give a PATTERN after the PID" },
		{ "abc T::M", "no process id" },
		{ "0 T::M", "no process id" },
		{ "-5 T::M", "there is no option -5" },
		{ "99999999999999999999 T::M", "no process id" },
		{ "-d", "needs a value" },
		{ "-d 0 1 T::M", "--duration takes a number of seconds" },
		{ "-d x 1 T::M", "--duration takes" },
		{ "-d nan 1 T::M", "--duration takes" },
		{ "-d 1e-10 1 T::M", "--duration takes" },
		{ "-d 1e99 1 T::M", "--duration takes" },
		{ "-N 0 1 T::M", "--hits takes a whole number" },
		{ "-N 1.5 1 T::M", "--hits takes a whole number" },
		{ "--max-frames=128 1 T::M", "from 1 to 127" },
		{ "--buffer=2G 1 T::M", "--buffer takes a size up to 1G" },
		{ "--buffer=1X 1 T::M", "--buffer takes" },
		{ "--stack=all 1 T::M", "--stack takes managed or full" },
		{ "--uprobe-by=magic 1 T::M", "--uprobe-by takes" },
		{ "--nonsense 1 T::M", "there is no option --nonsense" },
		{ "-Z 1 T::M", "there is no option -Z" },
		{ "-l -n 1 T::M", "only one of" },
		{ "-n -j 1 T::M", "not JSON" },
		{ "-i 1 1 T::M", "-i goes with -c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = { .text = "" };
		struct options o;

		if (parse(bad[i].line, &o, &err) != -EINVAL || !strstr(err.text, bad[i].said))
			fail_msg("'%s' gave: %s", bad[i].line, err.text);
	}
}

/* Every option stands in the help, since both come from one table; the table itself is whole. */
static void help_names_every_option(void **state)
{
	static const char *const names[] = {
		"--list",	  "--dry-run",	       "--count",
		"--json",	  "--timestamps",      "--no-stack",
		"--stack=WHICH",  "--max-frames=N",    "--output=FILE",
		"--duration=SEC", "--interval=SEC",    "--hits=COUNT",
		"--tid=TID",	  "--force",	       "--buffer=SIZE",
		"--strict",	  "--uprobe-by=MEANS", "--self-test",
		"--verbose",	  "--version",	       "--help",
	};
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	options_print_help(stream);
	fclose(stream);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strstr(text, names[i]))
			fail_msg("%s is not in the help", names[i]);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(every_option),
		cmocka_unit_test(buffer_sizes_become_powers_of_two),
		cmocka_unit_test(bad_command_lines),
		cmocka_unit_test(help_names_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
