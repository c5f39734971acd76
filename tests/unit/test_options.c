// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/options.h"

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

UNIT_TEST(shedding)
{
	struct options o;

	assert_int_equal(parse("--sample=10 --max-rate 100 123 T::M", &o, NULL), 0);
	assert_int_equal(o.sample_hits, 10);
	assert_int_equal(o.max_rate, 100);
	assert_int_equal(parse("--expire=2s 123 T::M", &o, NULL), 0);
	assert_int_equal(o.expire_ns, 2000000000);
	assert_int_equal(o.duration_ns, 2000000000);
	assert_int_equal(parse("--expire=2s -d 1 123 T::M", &o, NULL), 0);
	assert_int_equal(o.duration_ns, 1000000000);
	assert_int_equal(parse("-f --sample=10 123 T::M", &o, NULL), 0);
	assert_int_equal(parse("--sample=0 123 T::M", &o, NULL), -EINVAL);
	assert_int_equal(parse("--max-rate=-1 123 T::M", &o, NULL), -EINVAL);
	assert_int_equal(parse("-c --sample=10 123 T::M", &o, NULL), -EINVAL);
	assert_int_equal(parse("-H --max-rate=10 123 T::M", &o, NULL), -EINVAL);
}

UNIT_TEST(top)
{
	struct options o;

	assert_int_equal(parse("--top 1 A::B", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_HIST);
	assert_true(o.top && o.timed);
	assert_int_equal(o.interval_ns, 1000000000);
	assert_int_equal(parse("--top -H -m -i 5 --format=text 1 A::B", &o, NULL), 0);
	assert_int_equal(o.interval_ns, 5000000000);
	/* What would be timed, and how. */
	assert_int_equal(parse("--top -l -j 1 A::B", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_LIST);
	assert_true(o.timed && !o.top && !o.interval_ns);
}

UNIT_TEST(trace)
{
	struct options o;
	struct error err = { .text = "" };

	assert_int_equal(parse("--trace 1 A::B C::D --calls X::* --min 5ms --calls=Y::*", &o, NULL),
			 0);
	assert_int_equal(o.mode, MODE_TRACE);
	assert_true(o.timed && options_report_hits(&o));
	assert_int_equal(o.stack, STACK_MODE_NONE);
	assert_int_equal(o.slow_ns, 5000000);
	assert_int_equal(o.request.roots, 2);
	assert_int_equal(o.request.count, 4);
	assert_string_equal(o.request.patterns[0], "A::B");
	assert_string_equal(o.request.patterns[1], "C::D");
	assert_string_equal(o.request.patterns[2], "X::*");
	assert_string_equal(o.request.patterns[3], "Y::*");
	options_deinit(&o);
	assert_int_equal(parse("--trace --calls=X::* -j -N 3 --no-stack -T -t 7 1 A::B", &o, NULL),
			 0);
	options_deinit(&o);
	assert_int_equal(parse("--trace --calls X::* A::B -- true", &o, NULL), 0);
	assert_int_equal(o.request.roots, 1);
	assert_int_equal(o.request.count, 2);
	options_deinit(&o);
	/* How they would be probed. */
	assert_int_equal(parse("--trace -l --calls X::* 1 A::B", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_LIST);
	assert_true(o.timed);
	assert_int_equal(o.request.count, 2);
	options_deinit(&o);
	assert_int_equal(parse("--trace 1 A::B", &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--calls"));
	assert_int_equal(parse("--calls X::* 1 A::B", &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--trace"));
	{
		static const char *const refused[] = {
			"-c",	      "-H",	     "--watch",	     "-f",
			"-i 1",	      "--by=tid",    "--record=x",   "--format=perf-script",
			"--sample=2", "-u",	     "--stack=full", "--if id>1",
			"--depth=1",  "--no-values", "--flame=x",    "--replay=x",
			"--dry-run",
		};

		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
			char line[128];

			snprintf(line, sizeof(line), "--trace --calls X::* %s 1 A::B", refused[i]);
			assert_int_equal(parse(line, &o, NULL), -EINVAL);
		}
	}
}

UNIT_TEST(watch)
{
	struct error err = { .text = "" };
	struct options o;

	assert_int_equal(parse("--watch 1 A::B", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_WATCH);
	assert_true(o.timed && options_report_hits(&o));
	assert_int_equal(o.stack, STACK_MODE_NONE);
	assert_false(o.no_values);
	assert_int_equal(parse("--watch --stack=managed -j -T -N 5 -d 1 -t 7 1 A::B", &o, NULL), 0);
	assert_int_equal(o.stack, STACK_MODE_MANAGED);
	assert_int_equal(parse("--watch --no-stack 1 A::B", &o, NULL), 0);
	assert_int_equal(o.stack, STACK_MODE_NONE);
	assert_int_equal(
		parse("--watch --string-bytes=1020 --depth 0 --redact card --min=1ms 1 A::B", &o,
		      NULL),
		0);
	assert_int_equal(o.string_bytes, 1020);
	assert_true(o.depth_chosen && o.depth == 0);
	assert_string_equal(o.redact, "card");
	assert_int_equal(o.slow_ns, 1000000);
	assert_int_equal(parse("--watch --no-values A::B -- true", &o, NULL), 0);
	assert_true(o.no_values && o.command);
	assert_int_equal(parse("--watch --async A::B -- true", &o, NULL), 0);
	assert_true(o.async);
	assert_int_equal(parse("--watch --if id>1 --no-values 1 A::B", &o, NULL), 0);
	assert_string_equal(o.filter, "id>1");
	assert_int_equal(parse("-c --if id>1 --no-values 1 A::B", &o, NULL), 0);
	assert_true(!o.timed && !o.filter_of_end && o.no_values);
	assert_int_equal(parse("-c --if result 1 A::B", &o, NULL), 0);
	assert_true(o.timed && o.filter_of_end);
	assert_int_equal(parse("-c --by id --string-bytes=9 --redact=x 1 A::B", &o, NULL), 0);
	assert_string_equal(o.by_value, "id");
	assert_true(o.by == LATENCY_BY_VALUE && !o.timed && !o.by_of_end);
	assert_int_equal(parse("-c --by result.Code 1 A::B", &o, NULL), 0);
	assert_true(o.timed && o.by_of_end);
	assert_int_equal(parse("-H --by @tid 1 A::B", &o, NULL), 0);
	assert_string_equal(o.by_value, "@tid");
	assert_int_equal(parse("--watch -l 1 A::B", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_LIST);
	assert_true(o.timed);
	for (size_t i = 0; i < 14; i++) {
		static const char *const bad[] = {
			"--watch -c 1 A::B",	     "--watch -H 1 A::B",
			"--watch -i 1 1 A::B",	     "--watch --by=tid 1 A::B",
			"--watch --record=x 1 A::B", "--watch --format=perf-script 1 A::B",
			"--watch --sample=2 1 A::B", "--watch -u 1 A::B",
			"--watch --depth=3 1 A::B",  "--watch --string-bytes=0 1 A::B",
			"--watch --redact= 1 A::B",  "--watch --no-values --depth=1 1 A::B",
			"--no-values 1 A::B",	     "-c --redact=x 1 A::B",
		};

		err.text[0] = '\0';
		assert_int_equal(parse(bad[i], &o, &err), -EINVAL);
		assert_true(strlen(err.text) > 20);
	}
}

UNIT_TEST(formats)
{
	struct options o;

	assert_int_equal(parse("--format=json 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_JSON);
	assert_int_equal(parse("-j --format=json -c 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_JSON);
	assert_int_equal(o.mode, MODE_COUNT);
	assert_int_equal(parse("--format=text -n 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_TEXT);
	assert_int_equal(parse("--format=folded -f -j 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_JSON);
	assert_int_equal(o.mode, MODE_FOLDED);
	assert_int_equal(parse("--format perf-script 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_PERF_SCRIPT);
	assert_int_equal(parse("--format=trace-event -T --no-stack 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_TRACE_EVENT);
	assert_int_equal(parse("--format=openmetrics -c -i 1 -o x 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_OPENMETRICS);
	assert_int_equal(parse("--format=openmetrics -H --by=tid 1 A::B", &o, NULL), 0);
	assert_int_equal(parse("--format=pprof -H --min=1ms -o x 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_PPROF);
	/* A page goes where it says; the stacks are merged on the way. */
	assert_int_equal(parse("--flame=x 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_FLAME);
	assert_int_equal(o.mode, MODE_FOLDED);
	assert_string_equal(o.output_path, "x");
	assert_int_equal(parse("--format=flame -o y -f --by=tid 1 A::B", &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_FLAME);
	assert_string_equal(o.output_path, "y");
	assert_int_equal(parse("-H -i 1 --flame=x --by=caller 1 A::B", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_HIST);
	assert_int_equal(parse("-H --min=1ms --flame x 1 A::B", &o, NULL), 0);
	/* What a record is of is known once it is read. */
	assert_int_equal(parse("--replay=a --base=b --flame=x", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_HITS);
	assert_string_equal(o.base_path, "b");
	assert_int_equal(parse("--format=perf-script -H --min=1ms -T 1 A::B", &o, NULL), 0);
}

static void check_listen(const char *line, int family, const char *host, unsigned int port)
{
	char found[INET6_ADDRSTRLEN];
	struct options o;

	assert_int_equal(parse(line, &o, NULL), 0);
	assert_int_equal(o.format, FORMAT_OPENMETRICS);
	assert_int_equal(o.listen.ss_family, family);
	if (family == AF_INET6) {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&o.listen;

		assert_non_null(inet_ntop(family, &six->sin6_addr, found, sizeof(found)));
		assert_int_equal(ntohs(six->sin6_port), port);
	} else {
		const struct sockaddr_in *four = (const struct sockaddr_in *)&o.listen;

		assert_non_null(inet_ntop(family, &four->sin_addr, found, sizeof(found)));
		assert_int_equal(ntohs(four->sin_port), port);
	}
	assert_string_equal(found, host);
}

UNIT_TEST(listen_addresses)
{
	static const char *const refused[] = {
		"",
		":",
		"x",
		"65536",
		"-1",
		"1x",
		"+1",
		"000080",
		"1.2.3.4",
		"1.2.3.4:",
		"1.2.3:80",
		"::1",
		"::1:80",
		"[::1]",
		"[::1]80",
		"[]:80",
		"[1.2.3.4]:80",
		"[::1:80",
		"host:80",
		"1.2.3.4:80x",
		"http://1:80",
		"[fe80::1%lo]:80",
		"1.2.3.4:80:80",
	};
	struct options o;

	check_listen("-c --listen 1 A::B", AF_INET, "127.0.0.1", 9464);
	check_listen("-H --listen=80 1 A::B", AF_INET, "127.0.0.1", 80);
	check_listen("-c --listen=:0 1 A::B", AF_INET, "127.0.0.1", 0);
	check_listen("-c --listen=0.0.0.0:65535 1 A::B", AF_INET, "0.0.0.0", 65535);
	check_listen("-c --listen=[::1]:9464 1 A::B", AF_INET6, "::1", 9464);
	check_listen("-c --format=openmetrics --listen=[::]:1 -o x -i 1 1 A::B", AF_INET6, "::", 1);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char line[100];

		snprintf(line, sizeof(line), "-c --listen=%s 1 A::B", refused[i]);
		assert_int_equal(parse(line, &o, NULL), -EINVAL);
	}
}

UNIT_TEST(what_listen_does_not_go_with)
{
	static const char *const lines[] = {
		"--listen",	  "-f --listen",      "-l --listen",	       "-n --listen",
		"-c -j --listen", "--listen -c -i 1", "--listen -H --min=1ms", "-c --listen -T"
	};
	struct options o;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char line[100];

		snprintf(line, sizeof(line), "%s 1 A::B", lines[i]);
		assert_int_equal(parse(line, &o, NULL), -EINVAL);
	}
}

UNIT_TEST(defaults)
{
	struct options o;

	assert_int_equal(parse("123 T::M", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_HITS);
	assert_int_equal(o.pid, 123);
	assert_int_equal(o.request.count, 1);
	assert_string_equal(o.request.patterns[0], "T::M");
	assert_int_equal(o.max_frames, 127);
	assert_int_equal(o.stack, STACK_MODE_FULL);
	assert_int_equal(o.buffer_bytes, 8 << 20);
	assert_int_equal(o.duration_ns, 0);
	assert_int_equal(o.stack, STACK_MODE_FULL);
	assert_int_equal(o.hold_ns, 5000000);
	assert_null(o.command);
	assert_false(o.wait);
	assert_int_equal(o.format, FORMAT_TEXT);
	assert_false(o.strict || o.force || o.verbose || o.wall_clock || o.source_maps ||
		     o.no_lines);
}

UNIT_TEST(every_option)
{
	struct options o;

	assert_int_equal(parse("-c -j -d 1.5 -i 0.25 -N 7 -t 9 -o out -T -v 1 A::B C::D", &o, NULL),
			 0);
	assert_int_equal(o.mode, MODE_COUNT);
	assert_int_equal(o.format, FORMAT_JSON);
	assert_true(o.wall_clock && o.verbose);
	assert_int_equal(o.duration_ns, 1500000000);
	assert_int_equal(o.interval_ns, 250000000);
	assert_int_equal(o.max_hits, 7);
	assert_int_equal(o.tid, 9);
	assert_string_equal(o.output_path, "out");
	assert_int_equal(o.request.count, 2);

	assert_int_equal(
		parse("1 A::B -f -i 2 --stack=managed --max-frames=3 --buffer=1M --force --strict "
		      "--uprobe-by=perf --source-maps",
		      &o, NULL),
		0);
	assert_true(o.source_maps);
	assert_int_equal(parse("--symbols /dev --symbols=/proc/self 1 A::B", &o, NULL), 0);
	assert_int_equal(o.symbol_count, 2);
	assert_string_equal(o.symbols[0], "/dev");
	assert_string_equal(o.symbols[1], "/proc/self");
	options_deinit(&o);
	assert_int_equal(parse("--complete", &o, NULL), 0);
	assert_true(o.mode == MODE_COMPLETE && o.pid == 0);
	assert_int_equal(parse("--complete 1", &o, NULL), 0);
	assert_true(o.pid == 1 && o.request.count == 0);
	assert_int_equal(parse("--complete 1 A", &o, NULL), 0);
	assert_string_equal(o.request.patterns[0], "A");
	assert_false(o.debuginfod);
	assert_int_equal(parse("--debuginfod -l 1 A::B", &o, NULL), 0);
	assert_true(o.debuginfod);
	assert_int_equal(parse("--no-lines 1 A::B", &o, NULL), 0);
	assert_true(o.no_lines);
	assert_int_equal(parse("1 A::B -f -i 2 --stack=managed --max-frames=3 --buffer=1M --force "
			       "--strict --uprobe-by=perf",
			       &o, NULL),
			 0);
	assert_int_equal(o.mode, MODE_FOLDED);
	assert_int_equal(o.stack, STACK_MODE_MANAGED);
	assert_int_equal(o.max_frames, 3);
	assert_int_equal(o.buffer_bytes, 1 << 20);
	assert_true(o.force && o.strict);
	assert_int_equal(o.uprobe_by, UPROBE_BY_PERF);

	assert_int_equal(parse("-H -m --by=caller -i 1 1 A::B", &o, NULL), 0);
	assert_int_equal(o.mode, MODE_HIST);
	assert_int_equal(o.unit, TIME_UNIT_MS);
	assert_int_equal(o.by, LATENCY_BY_CALLER);
	assert_int_equal(o.linear.step_ns, 0);
	assert_int_equal(parse("--hist=linear:0us:1.5ms:100us 1 A::B", &o, NULL), 0);
	assert_int_equal(o.linear.max_ns, 1500000);
	assert_int_equal(o.linear.step_ns, 100000);
	assert_int_equal(parse("-H --min=2.5ms 1 A::B", &o, NULL), 0);
	assert_int_equal(o.slow_ns, 2500000);

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

UNIT_TEST(hold_and_wait)
{
	struct options o;

	assert_int_equal(parse("--hold=1 1 A::B", &o, NULL), 0);
	assert_int_equal(o.hold_ns, 1000000);
	assert_int_equal(parse("1 A::B --hold 10000", &o, NULL), 0);
	assert_int_equal(o.hold_ns, 10000000000);
	assert_int_equal(parse("--hold=3 --hold=7 1 A::B", &o, NULL), 0);
	assert_int_equal(o.hold_ns, 7000000);
	assert_int_equal(parse("1 A::B", &o, NULL), 0);
	assert_int_equal(o.share_ns, 0);
	assert_int_equal(parse("--share 1 A::B", &o, NULL), 0);
	assert_int_equal(o.share_ns, 200000000);
	assert_int_equal(parse("--share=1000 1 A::B", &o, NULL), 0);
	assert_int_equal(o.share_ns, 1000000000);
	assert_int_equal(o.remap, REMAP_AUTO);
	assert_int_equal(parse("-c --remap 1 A::B", &o, NULL), 0);
	assert_int_equal(o.remap, REMAP_ALWAYS);
	assert_int_equal(parse("-c --remap=auto 1 A::B", &o, NULL), 0);
	assert_int_equal(o.remap, REMAP_AUTO);
	assert_int_equal(parse("-c --remap=auto --no-remap 1 A::B", &o, NULL), 0);
	assert_int_equal(o.remap, REMAP_NEVER);
	assert_int_equal(parse("--no-hold --no-hold 1 A::B", &o, NULL), 0);
	assert_int_equal(o.hold_ns, 0);
	assert_false(o.wait);
	assert_int_equal(parse("-c --wait 1 A::B", &o, NULL), 0);
	assert_true(o.wait);
	assert_int_equal(o.hold_ns, 5000000);
}

/* Words, with single spaces between them. */
static void assert_words(char **words, size_t count, const char *wanted)
{
	char joined[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%s", i ? " " : "",
					 words[i]);
	assert_string_equal(joined, wanted);
}

UNIT_TEST(what_follows_two_dashes)
{
	static const struct {
		const char *line;
		pid_t pid;
		const char *patterns;
		const char *command; /* NULL: there is none */
	} lines[] = {
		{ "A::B -- app", 0, "A::B", "app" },
		{ "-c A::B -d 1 C::D -j -- dotnet app.dll -c --json", 0, "A::B C::D",
		  "dotnet app.dll -c --json" },
		{ "A::B -- 4711", 0, "A::B", "4711" },
		{ "A::B 12 -- app", 0, "A::B 12", "app" },
		{ "12x -- app", 0, "12x", "app" },
		{ "A::B -- env -- app --", 0, "A::B", "env -- app --" },
		{ "A::B -- -app", 0, "A::B", "-app" },
		{ "-o -- A::B -- app", 0, "A::B", "app" },
		{ "--wait --hold 9 A::B -- app", 0, "A::B", "app" },
		{ "-N 5 -i 1 -c A::B -- app", 0, "A::B", "app" },

		/* After a PID it ends the options, as it does in every program. */
		{ "1 -- -A::B", 1, "-A::B", NULL },
		{ "1 A::B -- -C::D", 1, "A::B -C::D", NULL },
		{ "-c 1 A::B -j C::D -- -E::F --", 1, "A::B C::D -E::F --", NULL },
		{ "-c -- 1 -A::B", 1, "-A::B", NULL },
		{ "1 A::B --", 1, "A::B", NULL },
		{ "-l -t 5 1 -- A::B", 1, "A::B", NULL },
		{ "1 A::B -o --", 1, "A::B", NULL },
		{ "1 A::B -c C::D -j", 1, "A::B C::D", NULL },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct error err = { .text = "" };
		size_t count = 0;
		struct options o;

		if (parse(lines[i].line, &o, &err))
			fail_msg("'%s' gave: %s", lines[i].line, err.text);
		assert_int_equal(o.pid, lines[i].pid);
		assert_words(o.request.patterns, o.request.count, lines[i].patterns);
		assert_int_equal(o.command != NULL, lines[i].command != NULL);
		while (o.command && o.command[count])
			count++;
		assert_words(o.command, count, lines[i].command ? lines[i].command : "");
		assert_int_equal(o.wait, o.command != NULL);
		options_deinit(&o);
	}
}

UNIT_TEST(buffer_sizes_become_powers_of_two)
{
	struct options o;

	assert_int_equal(parse("--buffer=1 1 A::B", &o, NULL), 0);
	assert_int_equal(o.buffer_bytes, 4096);
	assert_int_equal(parse("--buffer=5000 1 A::B", &o, NULL), 0);
	assert_int_equal(o.buffer_bytes, 8192);
	assert_int_equal(parse("--buffer=1G 1 A::B", &o, NULL), 0);
	assert_int_equal(o.buffer_bytes, 1 << 30);
}

UNIT_TEST(recorded_and_replayed)
{
	struct options o;

	assert_int_equal(parse("--record=r -o out -c 1 A::B", &o, NULL), 0);
	assert_string_equal(o.record_path, "r");
	assert_null(o.replay_path);
	/* Whether they go together is known when the record is. */
	assert_int_equal(parse("--replay=r -o out --format=pprof -T -u -i 1 --min=1ms --by=tid "
			       "--stack=managed --no-stack --memory=1M --strict -v",
			       &o, NULL),
			 0);
	assert_string_equal(o.replay_path, "r");
	assert_int_equal(o.pid, 0);
}

UNIT_TEST(bad_command_lines)
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
		{ "--max-frames=769 1 T::M", "from 1 to 768" },
		{ "--buffer=2G 1 T::M", "--buffer takes a size up to 1G" },
		{ "--buffer=1X 1 T::M", "--buffer takes" },
		{ "--stack=all 1 T::M", "--stack takes full or managed" },
		{ "--uprobe-by=magic 1 T::M", "--uprobe-by takes" },
		{ "--format=xml 1 T::M", "--format takes text, json, " },
		{ "--format=Text 1 T::M", "--format takes text, json, " },
		{ "--format=text -j 1 T::M",
		  "only one format can be written: text was asked for, and json" },
		{ "--format=folded -c 1 T::M", "only one of" },
		{ "--format=json -n 1 T::M", "not JSON" },
		{ "--format=perf-script -j 1 T::M", "only one format" },
		{ "--format=perf-script -f 1 T::M", "are two formats: leave one out" },
		{ "--format=perf-script -l 1 T::M", "and --list attaches nothing" },
		{ "-n --format=perf-script 1 T::M", "and --dry-run attaches nothing" },
		{ "--format=perf-script -c 1 T::M", "with -H --min=DUR; -c counts" },
		{ "--format=perf-script -H 1 T::M", "with -H --min=DUR; -H counts" },
		{ "--format=perf-script --no-stack 1 T::M", "--no-stack takes none" },
		{ "--format=perf-script -H --min=1s -m 1 T::M", "-u, -m and -s are for text" },
		{ "--format=perf-script -i 1 1 T::M", "-i goes with -c, -f or -H" },
		{ "--format=trace-event -c 1 T::M", "with -H --min=DUR; -c counts" },
		{ "--format=trace-event --format=json 1 T::M", "only one format" },
		{ "--format=pprof -T 1 T::M", "-T is for the time of each hit" },
		{ "--format=pprof -H 1 T::M", "with -H --min=DUR; -H counts" },
		{ "--format=pprof --no-stack 1 T::M", "--no-stack takes none" },
		{ "--flame=x -c 1 T::M", "--flame is for stacks and latencies" },
		{ "-l --flame=x 1 T::M", "--flame is for stacks and latencies" },
		{ "--flame=x -o y 1 T::M", "both say where the page goes" },
		{ "-j --flame=x 1 T::M", "leave the other format out" },
		{ "--flame=x -j 1 T::M",
		  "only one format can be written: flame was asked for, and json" },
		{ "--flame=x -f --no-stack 1 T::M", "--no-stack takes none" },
		{ "--flame=x -H --min=1s --no-stack 1 T::M", "--no-stack takes none" },
		{ "--base=b --flame=x 1 T::M", "--base goes with --replay and --flame" },
		{ "--replay=a --base=b --flame=b", "--base and the page name one file" },
		{ "--replay=a --base=b -f", "--base goes with --replay and --flame" },
		{ "--flame=x -T 1 T::M", "-T is for the time of each hit" },
		{ "--flame=x -H -m 1 T::M", "-u, -m and -s are for text" },
		{ "--format=openmetrics 1 T::M", "is for totals: it goes with -c and -H" },
		{ "--format=openmetrics -f 1 T::M", "is for totals: it goes with -c and -H" },
		{ "--format=openmetrics -l 1 T::M", "is for totals: it goes with -c and -H" },
		{ "--format=openmetrics -H --min=1s 1 T::M", "--min prints single calls" },
		{ "--format=openmetrics -c -i 1 1 T::M", "name it with -o FILE" },
		{ "--format=openmetrics -c -T 1 T::M", "-T is for the time of each hit" },
		{ "--format=openmetrics -H -m 1 T::M", "-u, -m and -s are for text" },
		{ "--format=speedscope -T 1 T::M", "-T is for the time of each hit" },
		{ "--format=speedscope -c 1 T::M", "with -H --min=DUR; -c counts" },
		{ "--format=speedscope --no-stack 1 T::M", "--no-stack takes none" },
		{ "--nonsense 1 T::M", "there is no option --nonsense" },
		{ "-Z 1 T::M", "there is no option -Z" },
		{ "-l -n 1 T::M", "only one of" },
		{ "-n -j 1 T::M", "not JSON" },
		{ "-i 1 1 T::M", "-i goes with -c, -f or -H" },
		{ "-c -f 1 T::M", "only one of" },
		{ "-c -H 1 T::M", "only one of" },
		{ "--hist=log 1 T::M", "--hist takes linear:MIN:MAX:STEP" },
		{ "--hist=linear:1ms:1ms:1us 1 T::M", "--hist takes linear:MIN:MAX:STEP" },
		{ "--hist=linear:0ms:1s:1us 1 T::M", "--hist takes linear:MIN:MAX:STEP" },
		{ "--hist=linear:0:10:1 1 T::M", "--hist takes linear:MIN:MAX:STEP" },
		{ "-H --min 5 1 T::M", "--min takes a time with its unit" },
		{ "-H --min 0ms 1 T::M", "--min takes a time with its unit" },
		{ "-H --min -5ms 1 T::M", "--min takes a time with its unit" },
		{ "-H --by 7pid 1 T::M", "--by '7pid': at character 1 the name of a parameter" },
		{ "-H --by pid>3 1 T::M", "--by 'pid>3': at character 4 there should be the end" },
		{ "-H --by took 1 T::M", "how long calls take is what -H shows" },
		{ "-f --by id 1 T::M", "--by=id goes with -c or -H" },
		{ "--watch --by id 1 T::M", "--by=id goes with -c or -H" },
		{ "-c --by id --record=x 1 T::M", "--record has no place for values" },
		{ "-c --by id --no-values --if id 1 T::M", "--no-values has no place for values" },
		{ "-c --by id --format=openmetrics 1 T::M", "--by=id is written as text or JSON" },
		{ "-c --by result -N 3 1 T::M", "-N counts calls that begin" },
		{ "--top --by id 1 T::M", "--top is a table of methods" },
		{ "--if 1 1 T::M", "--if '1': at character 1 the name of a parameter" },
		{ "--if took>5ms 1 T::M",
		  "--if 'took>5ms': at character 1 there is what only the end" },
		{ "-f --if result 1 T::M", "-f has stacks of its beginning" },
		{ "-c --if threw\tis\tE 1 T::M", "the type of an exception, which only --watch" },
		{ "--watch -N 1 --if threw\tis\tE 1 T::M", "which is told outside" },
		{ "-c -N 1 --if result 1 T::M", "-N counts calls that begin" },
		{ "-l --if id 1 T::M", "--if is for calls, and --list shows none" },
		{ "-c --no-values 1 T::M", "--no-values goes with --watch or --if" },
		{ "-H --async 1 T::M", "--async goes with --watch" },
		{ "--watch --async --if id>1 1 T::M", "--async shows whole calls" },
		{ "-H -u -m 1 T::M", "only one of -u, -m and -s" },
		{ "--top --by tid 1 T::M", "--top is a table of methods: use -H for --by" },
		{ "--top --min 5ms 1 T::M", "use -H for --min" },
		{ "--top --hist=linear:0ms:50ms:5ms 1 T::M", "use -H for --hist=linear" },
		{ "--top -j 1 T::M", "--top is for people" },
		{ "--top -c 1 T::M", "only one of" },
		{ "--top --record=a 1 T::M", "--top cannot be recorded" },
		{ "--min 5ms 1 T::M", "--min goes with -H" },
		{ "-c --by tid 1 T::M", "--by goes with -H, and --by=tid with -f" },
		{ "-f --by caller 1 T::M", "there is only --by=tid" },
		{ "-m 1 T::M", "a unit of time goes with -H" },
		{ "-H --min 5ms -i 1 1 T::M", "--min prints slow calls" },
		{ "-f --no-stack 1 T::M", "--folded merges stacks" },
		{ "--hold=0 1 T::M", "--hold takes a whole number from 1 to 10000, not '0'" },
		{ "--hold=10001 1 T::M", "from 1 to 10000" },
		{ "--hold=1.5 1 T::M", "from 1 to 10000" },
		{ "--hold=-1 1 T::M", "from 1 to 10000" },
		{ "--hold 1 T::M", "'T::M' is no process id" },
		{ "--hold", "needs a value" },
		{ "--no-hold=1 1 T::M", "there is no option --no-hold=1" },
		{ "--share=5 1 T::M", "--share takes a whole number from 20 to 60000, not '5'" },
		{ "--hold=5 --no-hold 1 T::M", "only one of --hold and --no-hold" },
		{ "--no-hold --hold=5 1 T::M", "only one of --hold and --no-hold" },
		{ "--source-maps --no-stack 1 T::M", "--source-maps is for lines in stacks" },
		{ "--source-maps --no-lines 1 T::M", "only one of --source-maps and --no-lines" },
		{ "--symbols= 1 T::M", "--symbols takes a directory" },
		{ "--symbols=/nowhere 1 T::M", "not '/nowhere': No such file" },
		{ "--symbols=/dev/null 1 T::M", "'/dev/null' is none" },
		{ "--wait -l 1 T::M", "--wait goes with probing; --list shows" },
		{ "-n --wait 1 T::M", "--wait goes with probing; --dry-run shows" },
		{ "T::M", "a COMMAND to start after --" },
		{ "T::M app", "a COMMAND to start after --" },
		{ "T::M --", "give a COMMAND after --" },
		{ "-o -- T::M --", "give a COMMAND after --" },
		{ "--", "give a COMMAND after --" },
		{ "-- app", "give a PATTERN before --" },
		{ "-c -- app 1", "give a PATTERN before --" },
		{ "-t 5 T::M -- app", "-t goes with a PID" },
		{ "--no-hold T::M -- app", "--no-hold goes with a PID" },
		{ "--maps=x T::M -- app", "--maps goes with a PID" },
		{ "-l T::M -- app", "--list goes with a PID" },
		{ "-n T::M -- app", "--dry-run goes with a PID" },
		{ "--wait -l T::M -- app", "--wait goes with probing" },
		{ "0 T::M -- app", "'0' is no process id" },
		{ "99999999999999999999 -- app", "is no process id" },
		{ "-- 12", "give a PATTERN after the PID" },
		{ "12 --", "give a PATTERN after the PID" },
		{ "--record=r", "give a PID and a PATTERN" },
		{ "--record=r --replay=r", "only one of --record and --replay" },
		{ "--record=r -o r 1 T::M", "--record and -o name one file" },
		{ "--replay=r -o r", "--replay and -o name one file" },
		{ "--replay=r 1 T::M", "--replay takes no PID, PATTERN or COMMAND: '1'" },
		{ "--replay=r -- app", "--replay takes no PID, PATTERN or COMMAND: 'app'" },
		{ "--replay=r -t 5", "--tid is for a run, and --replay prints one that is over" },
		{ "--replay=r --remap", "--remap is for a run" },
		{ "--remap=often 1 T::M", "--remap takes always, auto or never, not 'often'" },
		{ "-N 3 --replay=r", "--hits is for a run" },
		{ "--no-lines --replay=r", "--no-lines is for a run" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = { .text = "" };
		struct options o;

		if (parse(bad[i].line, &o, &err) != -EINVAL || !strstr(err.text, bad[i].said))
			fail_msg("'%s' gave: %s", bad[i].line, err.text);
	}
}

/* Every option stands in the help, since both come from one table; the table itself is whole. */
UNIT_TEST(help_names_every_option)
{
	static const char *const names[] = {
		"--list",	  "--dry-run",	    "--count",
		"--json",	  "--timestamps",   "--no-stack",
		"--hist[=RANGE]", "--min=DUR",	    "--by=WHAT",
		"--microseconds", "--stack=WHICH",  "--max-frames=N",
		"--output=FILE",  "--duration=SEC", "--interval=SEC",
		"--hits=COUNT",	  "--tid=TID",	    "--force",
		"--buffer=SIZE",  "--strict",	    "--uprobe-by=MEANS",
		"--self-test",	  "--verbose",	    "--version",
		"--help",	  "--hold=MS",	    "--no-hold",
		"--wait",	  "-- COMMAND",	    "--source-maps",
		"--format=NAME",  "--no-lines",	    "--symbols=DIR",
		"--record=FILE",  "--replay=FILE",  "--top",
	};
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	options_print_help(stream);
	fclose(stream);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strstr(text, names[i]))
			fail_msg("%s is not in the help", names[i]);
	}
	free(text);
}

UNIT_MAIN(NULL, NULL)
