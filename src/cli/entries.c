// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of options, what getopt is told of them, and the help that is made of it. */
#include "cli/entries.h"

#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"

static const struct entry entries[] = {
	{ 0, NULL, NULL, "What to print (default: each hit with its stack)" },
	{ 'l', "list", NULL, "matched methods with every body and how it would be probed" },
	{ 'n', "dry-run", NULL, "perf commands that place the probes; attach nothing" },
	{ 'c', "count", NULL, "calls per method" },
	{ 'H', "hist", "[RANGE]", "latency histogram per method (RANGE: linear:MIN:MAX:STEP)" },
	{ OPT_TOP, "top", NULL,
	  "a table of methods: calls, times, exceptions; every second, or -i" },
	{ OPT_MIN, "min", "DUR",
	  "with -H, --watch or --trace: calls that take so long, e.g. 10ms" },
	{ OPT_BY, "by", "WHAT",
	  "with -H for each tid, caller or value, such as id; -c value; -f tid" },
	{ 'u', "microseconds", NULL, "with -H: the unit (default: what fits)" },
	{ 'm', "milliseconds", NULL, "likewise" },
	{ 's', "seconds", NULL, "likewise" },
	{ OPT_WATCH, "watch", NULL, "each call with arguments, result and time, without stack" },
	{ OPT_ASYNC, "async", NULL,
	  "with --watch: asynchronous calls of .NET as a whole, one line each" },
	{ OPT_TRACE, "trace", NULL,
	  "each call as a tree of the --calls below it, with their times" },
	{ OPT_CALLS, "calls", "PATTERN", "with --trace: what is in the tree (repeatable)" },
	{ 'f', "folded", NULL, "equal stacks merged and counted, for flame graphs" },
	{ 'j', "json", NULL, "JSON, one object a line (not with -n); docs: json.md" },
	{ OPT_FORMAT, "format", "NAME",
	  "text, json, folded, perf-script, speedscope, trace-event,\n"
	  "                           openmetrics, pprof, flame; see outputs.md" },
	{ OPT_FLAME, "flame", "FILE", "one HTML page with the flame graph of all stacks" },
	{ 'T', "timestamps", NULL, "wall-clock time (default: seconds since the start)" },
	{ OPT_IF, "if", "EXPR", "only calls so: 'id > 9 && name == \"x\" || took > 5ms'" },
	{ OPT_STRING_BYTES, "string-bytes", "N",
	  "with --watch: of a string, 1 to 1020 (default 64)" },
	{ OPT_DEPTH, "depth", "LEVELS", "with --watch: of fields in objects, 0 to 2 (default 1)" },
	{ OPT_NO_VALUES, "no-values", NULL, "with --watch: calls and times only" },
	{ OPT_REDACT, "redact", "REGEX",
	  "with --watch: hide values of such names; see the manual" },
	{ OPT_NO_STACK, "no-stack", NULL, "do not capture stacks" },
	{ OPT_STACK, "stack", "WHICH", "frames to print: full (default) or managed" },
	{ OPT_MAX_FRAMES, "max-frames", "N", "frames to capture, 1 to 768 (default 127)" },
	{ 'o', "output", "FILE", "write there, not to standard output" },
	{ OPT_RECORD, "record", "FILE", "record the run there, too; see record.md" },
	{ OPT_REPLAY, "replay", "FILE", "print what a record has, without PID, PATTERN and root" },
	{ OPT_LISTEN, "listen", "[ADDR:PORT]", "serve openmetrics by HTTP (127.0.0.1:9464)" },
	{ OPT_BASE, "base", "FILE", "with --replay and --flame: what differs from this record" },
	{ 0, NULL, NULL, "For how long" },
	{ 'd', "duration", "SEC", "end after this many seconds" },
	{ OPT_EXPIRE, "expire", "DUR", "likewise, and if it is stopped by then, it is killed" },
	{ 'i', "interval", "SEC", "with -c, -f or -H: print every so many seconds what is new" },
	{ 'N', "hits", "COUNT", "end after this many hits" },
	{ 0, NULL, NULL, "Which and how" },
	{ 't', "tid", "TID", "only this thread" },
	{ OPT_SAMPLE, "sample", "N", "report one hit in N; all are counted" },
	{ OPT_MAX_RATE, "max-rate", "N", "report at most N hits of a body a second; likewise" },
	{ OPT_MAPS, "maps", "DIR|FILE", "use these map files as names too (repeatable)" },
	{ OPT_SOURCE_MAPS, "source-maps", NULL,
	  "lines of what scripts were made of: TypeScript, ..." },
	{ OPT_NO_LINES, "no-lines", NULL, "no source lines in stacks, and read nothing for them" },
	{ OPT_SYMBOLS, "symbols", "DIR", "look for debug files (PDBs) here too (repeatable)" },
	{ OPT_DEBUGINFOD, "debuginfod", NULL, "have DEBUGINFOD_URLS asked for debug files, too" },
	{ OPT_NESTED, "nested", NULL, "lambdas and local functions of a matched method too" },
	{ OPT_WAIT, "wait", NULL, "wait for methods and assemblies that do not exist yet" },
	{ OPT_HOLD, "hold", "MS", "new code waits up to MS ms for its probe (default 5)" },
	{ OPT_NO_HOLD, "no-hold", NULL, "it does not wait, and calls may be missed" },
	{ OPT_SHARE, "share", "[MS]", "take turns of MS ms (default 200) on debug registers" },
	{ OPT_REMAP, "remap", "[WHEN]",
	  "any number of run-time compiled methods: always (auto: if needed)" },
	{ OPT_NO_REMAP, "no-remap", NULL, "map no code anew: debug registers only" },
	{ OPT_FORCE, "force", NULL, "allow plans that take long to detach" },
	{ OPT_BUFFER, "buffer", "SIZE", "ring buffer, e.g. 64M (default 8M)" },
	{ OPT_MEMORY, "memory", "SIZE", "for stacks that are kept, e.g. 64M (default 256M)" },
	{ OPT_STRICT, "strict", NULL, "exit 5 if anything was lost or a count is a lower bound" },
	{ OPT_UPROBE_BY, "uprobe-by", "MEANS",
	  "attach by multi or perf, not the better one there is" },
	{ OPT_NO_SANDBOX, "no-sandbox", NULL,
	  "keep root's privileges while the target is read; for debugging" },
	{ 0, NULL, NULL, "Other" },
	{ OPT_COMPLETE, "complete", NULL, "for shells: processes, or of [PID [WORD]] the names" },
	{ OPT_SELF_TEST, "self-test", NULL, "say what this kernel offers, and load every program" },
	{ 'v', "verbose", NULL, "tell on standard error what is being done" },
	{ 'V', "version", NULL, "print the version" },
	{ 'h', "help", NULL, "print this" },
};

static const size_t entry_count = sizeof(entries) / sizeof(entries[0]);

_Static_assert(sizeof(entries) / sizeof(entries[0]) <= ENTRIES_MAX, "options.c has room for them");

static bool is_optional(const struct entry *entry)
{
	return entry->argument && entry->argument[0] == '[';
}

void entries_describe(struct option longs[ENTRIES_MAX + 1], char shorts[2 * ENTRIES_MAX + 4])
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
			.has_arg = is_optional(e) ? optional_argument :
				   e->argument	  ? required_argument :
						    no_argument,
			.val = e->code,
		};
		if (e->code < ENTRY_LONG_ONLY) {
			*s++ = (char)e->code;
			/* A letter takes no optional argument: it would follow at once. */
			if (e->argument && !is_optional(e))
				*s++ = ':';
		}
	}
	longs[count] = (struct option){ 0 };
	*s = '\0';
}

const struct entry *entry_of(int code)
{
	for (size_t i = 0; i < entry_count; i++) {
		if (entries[i].name && entries[i].code == code)
			return &entries[i];
	}
	return NULL;
}

void options_print_help(FILE *to)
{
	fputs("Usage: place-probe [OPTION]... PID PATTERN...\n"
	      "       place-probe [OPTION]... PATTERN... -- COMMAND [ARG]...\n"
	      "Put probes on methods of a running .NET process, or on native functions of any, by\n"
	      "name, from outside, with stacks through native code, .NET and JavaScript; or start\n"
	      "COMMAND and probe it from its first call on. (After a PID, -- ends the options.)\n"
	      "\n"
	      "A PATTERN is 'Namespace.Type::Method', with '(int,string)' for one overload,\n"
	      "a glob ('System.Threading.*::Sleep'), or /regex/ over the whole name; 'Image!'\n"
	      "before it limits it to one image. 'Image!function' with an ELF file, such as\n"
	      "'libc.so.6!malloc', is a native function, of any process.\n",
	      to);
	for (size_t i = 0; i < entry_count; i++) {
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
		if (e->code < ENTRY_LONG_ONLY)
			fprintf(to, "  -%c, %-20s %s\n", e->code, left, e->help);
		else
			fprintf(to, "      %-20s %s\n", left, e->help);
	}
	fputs("\n"
	      "Exit status: 0 ok, 1 error, 2 usage, 3 nothing matched, 4 matched but nothing can\n"
	      "be probed, 5 something was lost (with --strict).\n",
	      to);
}
