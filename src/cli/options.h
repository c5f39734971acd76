/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line, parsed once and const from then on. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "bpf/latency.h"
#include "method/pattern.h"

struct error;

enum mode {
	MODE_HITS,
	MODE_COUNT,
	MODE_FOLDED,
	MODE_HIST,
	MODE_WATCH,
	MODE_TRACE,
	MODE_LIST,
	MODE_DRY_RUN,
	MODE_SELF_TEST,
	MODE_COMPLETE,
	MODE_HELP,
	MODE_VERSION,
};

/* How it is written: text and JSON whatever the mode, OpenMetrics totals, others hits. */
enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_PERF_SCRIPT,
	FORMAT_SPEEDSCOPE,
	FORMAT_TRACE_EVENT,
	FORMAT_OPENMETRICS,
	FORMAT_PPROF,
	FORMAT_FLAME,
	FORMAT_COUNT,
};

enum stack_mode {
	STACK_MODE_FULL,
	STACK_MODE_MANAGED,
	STACK_MODE_NONE,
};

enum uprobe_by {
	UPROBE_BY_ANY,
	UPROBE_BY_MULTI,
	UPROBE_BY_PERF,
};

/* What latencies are printed in. */
enum time_unit {
	TIME_UNIT_FITTING, /* whatever suits the numbers */
	TIME_UNIT_US,
	TIME_UNIT_MS,
	TIME_UNIT_S,
};

/* --hist=linear:MIN:MAX:STEP; step_ns is 0 without it. */
struct hist_range {
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t step_ns;
};

/* How many buckets it has between MIN and MAX. */
static inline size_t hist_range_count(const struct hist_range *range)
{
	return range->step_ns ?
		       (range->max_ns - range->min_ns + range->step_ns - 1) / range->step_ns :
		       0;
}

/* May code compiled at run time be mapped anew, for uprobes? */
enum remap {
	REMAP_NEVER,
	REMAP_AUTO, /* where there are not registers enough, or they are not to be trusted */
	REMAP_ALWAYS,
};

struct options {
	enum mode mode;
	enum format format;
	bool format_chosen; /* by an option */
	bool wall_clock;
	bool strict;
	bool force;
	bool verbose;
	bool top;   /* with MODE_HIST: a table of methods, no histograms */
	bool timed; /* calls are followed to their end: --hist, or a --list of how they would be */
	bool source_maps;  /* lines are those of what scripts were made of, as their maps say */
	bool no_lines;	   /* no source lines, and nothing is read for them */
	bool no_sandbox;   /* privileges are kept while the target is read */
	bool debuginfod;   /* debug files that are not here come from servers */
	bool wait;	   /* for methods that do not exist yet; always with a command */
	bool stack_chosen; /* by an option */
	bool depth_chosen;
	bool async;	    /* of --watch: asynchronous calls as a whole */
	bool no_values;	    /* of --watch: none is captured */
	bool traced;	    /* --trace, or a --list of how it would be */
	bool walk_only;	    /* no option: stacks are walked, and nobody gets them (tests/bench) */
	bool by_of_end;	    /* by_value is known only at the end of a call */
	bool filter_of_end; /* --if asks for what is known only there */
	enum remap remap;
	enum stack_mode stack;
	uint32_t string_bytes; /* of a string, at most; 0: as value/ has it */
	uint32_t depth;
	enum uprobe_by uprobe_by;
	enum latency_by by;
	unsigned int filter_types; /* --if asks for so many types of exceptions */
	uint32_t max_rate;	   /* of a body, at most so many in each second; 0: no limit */
	const char *by_value;	   /* --by=EXPR, with LATENCY_BY_VALUE; or NULL */
	const char *filter;	   /* --if: of which calls; NULL: of all */
	const char *redact; /* a regex of names whose values are not shown; NULL: the default */
	struct hist_range linear;
	enum time_unit unit;
	unsigned int max_frames;
	uint64_t slow_ns;     /* --min: print calls that take so long at least; 0: the histogram */
	uint64_t duration_ns; /* 0: until interrupted */
	uint64_t expire_ns;   /* the probes go after so long, whatever happens; 0: they do not */
	uint64_t interval_ns; /* 0: none */
	uint64_t max_hits;    /* 0: no limit */
	uint64_t sample_hits; /* report one hit in so many; 0: each */
	uint64_t share_ns;    /* bodies take turns on debug registers, of so long; 0: they do not */
	uint64_t hold_ns;     /* how long new code waits for its probe; 0: it does not */
	size_t buffer_bytes;  /* of the ring buffer, a power of two */
	size_t memory_bytes;  /* for stacks that are kept, and what is written of them */
	const char *output_path; /* NULL: stdout */
	const char *flame_path;	 /* --flame, which then is where output goes; NULL */
	const char *record_path; /* where the run is recorded, too; or NULL */
	const char *replay_path; /* of a record, which takes the place of a run; or NULL */
	const char *base_path;	 /* of another one, that the replayed one is held against; NULL */
	const char *live_option; /* one that only a run can follow; NULL: there is none */
	struct sockaddr_storage listen; /* where totals are served; ss_family 0: nowhere */
	pid_t tid;			/* 0: every thread */
	pid_t pid;			/* 0: there is a command */
	char **command;	   /* ends with NULL, borrowed from argv; NULL: there is a PID */
	const char **maps; /* files and directories; owned, its strings borrowed from argv */
	size_t map_count;
	size_t map_capacity;
	const char **symbols; /* directories with debug files; likewise */
	size_t symbol_count;
	size_t symbol_capacity;
	const char **calls; /* --calls, likewise */
	size_t call_count;
	size_t call_capacity;
	char **patterns;	/* with --trace: all of @request; owned, its strings borrowed */
	struct request request; /* its patterns borrowed from argv, or @patterns */
};

/*
 * Parse @argv, whose words are put in another order. -EINVAL with @err set if it cannot be
 * understood.
 */
int options_parse(struct options *options, int argc, char **argv, struct error *err);

/* Of a mode that looks at methods: does it put probes on them? Else it only tells of them. */
static inline bool mode_attaches(enum mode mode)
{
	return mode != MODE_LIST && mode != MODE_DRY_RUN;
}

/* Is each hit, or each slow call, reported? Else the kernel counts, and the end tells. */
bool options_report_hits(const struct options *options);

/* May code compiled at run time be mapped anew, by itself or since that was asked for? */
static inline bool options_may_remap(const struct options *options)
{
	return options->remap != REMAP_NEVER;
}

void options_deinit(struct options *options);

void options_print_help(FILE *to);

#endif
