/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that goes to standard output (or to -o FILE): records come in, and the format that was
 * asked for writes them. Records are plain values; src/session/ makes them. What is said to people
 * meanwhile goes to standard error, elsewhere.
 */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/text.h"
#include "bpf/latency.h"
#include "bpf/watch.h"
#include "cli/options.h"
#include "stack/stack.h"

struct error;
struct histogram;
struct output_ops;

/* The records. Strings belong to the caller; lists of strings end with NULL ------------------- */

/* One body of a method, or of a native function, and how it is probed. */
struct output_site {
	const char *method;
	const char *made_from; /* by what it matched, if not by its own name; or NULL */
	const char *image;
	const char *tier;
	const char *state; /* NULL: it has none */
	const char *mechanism;
	const char *cost;	 /* of a uprobe, for people; or NULL */
	const char *reason;	 /* a code: why it has no probe, or is not of use; or NULL */
	const char *reason_text; /* the same in a sentence */
	const char *reason_next; /* what to do then; NULL as the reason is */
	const char *const *names_from;
	/* Precompiled methods, as many as output_inliners() says; NULL: none are known. */
	const char *const *inlined_into;
	size_t inlined_count;	     /* of all */
	const char *native_function; /* that a P/Invoke calls; or NULL */
	const char *file;	     /* as the target sees its path; NULL: it is in none */
	uint64_t file_offset;	     /* 0: not known */
	uint64_t address;	     /* 0: not mapped */
	uint32_t size;
	pid_t pid;
	bool first;	    /* of its method's; what is true of a method is alike in all */
	bool inlined_whole; /* there are no more in inlined_into */
	bool placed;	    /* it is probed: */
	bool by_address;    /* by a debug register, not in the file */
	bool remapped;	    /* in code that is mapped anew for it */
	bool by_stub;	    /* in code that other methods may go by, too */
	bool file_has_path; /* that leads to it from here: */
	bool file_is_here;  /* the same path */
};

/* A call with what was captured of it, in the words of the format: text or JSON. */
struct output_call {
	const struct hit *hit;
	const char *name;      /* of the method, without parameters */
	bool is_instance;      /* in which it is said what code that is shared was called for */
	const char *arguments; /* NULL: they are not known, */
	const char *result;    /* NULL: there is none, or it is not known */
	const char *why;       /* and this is why; NULL: none were asked for */
	const char *exception; /* that has left it; NULL: none has, or it is not known, */
	const char *why_not;   /* and this is why */
	enum watch_fate fate;
	bool native; /* longjmp() leaves it, too */
};

/* An asynchronous call as a whole. */
struct output_async {
	const struct hit *hit; /* its end, in the thread that has made the last step */
	const char *name;      /* as above, likewise: */
	const char *arguments;
	const char *why;
	uint64_t id; /* tells it from others of the run */
	uint64_t took_ns;
	enum async_outcome outcome;
	const char *exception; /* type of what it has faulted by; NULL: not known */
};

/* All of one method. */
struct output_async_total {
	const char *method;
	uint64_t started;
	uint64_t synchronous;
	uint64_t ended[ASYNC_OUTCOMES];
	uint64_t paired;
	uint64_t not_paired; /* ended, and of when they had begun nothing is known */
	uint64_t unknown;    /* steps that may have been the last or not */
	uint64_t no_room;
	uint64_t open;	  /* with .open_known: have begun and not ended */
	uint64_t mean_ns; /* of all; 0: not all have ended, or not known */
	bool open_known;
};

/* Within a trace, the calls of one method by those of another. */
struct output_traced {
	const char *method;
	bool native;
	uint32_t depth; /* 0: the root, which comes first; each comes behind what it is within */
	uint64_t calls;
	uint64_t took_ns;
	uint64_t self_ns; /* of that, not in those within it */
	uint64_t unwound; /* of them, left otherwise than by an exit: at most so long */
	uint64_t unseen;  /* whose end was not seen: only what is within them is in .took_ns */
	uint64_t thread_ended;
};

/* One call of a root, with all that was traced below it. */
struct output_trace {
	const struct hit *hit;
	const struct output_traced *calls;
	size_t count;
	/* Calls that are not among them: lost, not followed (65535: or more), or too many. */
	uint64_t missing, not_followed, left_out;
};

/* Calls of one body, and of all bodies of a method, since the last time. */
struct output_body {
	const char *tier;
	uint64_t calls;
};

struct output_count {
	const char *method;
	uint64_t calls;
	const struct output_body *bodies;
	size_t body_count;
	const char *const *lower_bound; /* codes: why there may be more; NULL: not known yet */
	/* Likewise, of the whole run: which part of the time it was watched, and all its calls. */
	double watched;
	uint64_t all_calls;
};

/* Calls of a method by a value that they have, since the last time: the most frequent first. */
struct output_value {
	const char *value; /* in the words of the format: text or JSON */
	const char *rest;  /* NULL, or .value is: "other", for which there was no room; "unknown" */
	uint64_t calls;
};

struct output_values {
	const char *method;
	const char *value_of; /* as it was asked for */
	const struct output_value *list;
	size_t count;
};

/* Durations of calls since the last time. */
struct output_hist {
	const char *method;
	enum latency_by by;
	const char *caller; /* by caller: its name */
	uint64_t tid;	    /* by thread */
	/* By value: of what; it is in .caller, in the words of the format. */
	const char *value_of;
	const char *rest; /* "other", "unknown": it is of all values that are not told */
	const struct histogram *histogram;
	const char *const *lower_bound; /* as above */
	double watched;
};

/* Bodies of one tier. */
struct output_tier {
	const char *tier; /* NULL: the end of a list */
	uint64_t bodies;
	uint64_t probed; /* of them, by now or once */
	uint64_t calls;
};

/* What is traced: said once the probes are there, and again when the run is over. */
struct output_run {
	pid_t pid;
	const char *name;      /* of the program */
	char *const *patterns; /* as asked for */
	size_t pattern_count;
	char *const *command; /* that was started for it, ends with NULL; NULL: it ran before */
	uint64_t duration_ns; /* 0: it is not over */
	const struct output_tier *tiers; /* NULL: likewise */
};

/* The reason of a loss that is the format's own: what it has left out. */
#define OUTPUT_NO_ROOM "no-room-in-format"

/* Why hits are missing from the output, or may be. */
struct output_loss {
	const char *reason; /* code, as in JSON */
	uint64_t count;
};

/* How the stacks were that have been written. */
struct output_stacks {
	uint64_t ends[STACK_ENDS]; /* by enum stack_end */
	uint64_t guessed; /* frames found by a frame pointer, for want of anything better */
};

/* Hits of a method that were counted and not written: of two kinds, as the list has it. */
struct output_unshown {
	const char *method; /* NULL: the end of a list */
	union {
		uint64_t sampled_out; /* by --sample */
		uint64_t filtered;    /* --if did not ask for them */
	};
	union {
		uint64_t shed;	    /* by --max-rate */
		uint64_t undecided; /* it could not be told whether --if does */
	};
};

struct output_summary {
	uint64_t hits;			       /* that were written, or if none are, counted */
	uint64_t calls;			       /* that were counted */
	const struct output_unshown *shed;     /* NULL: there are none */
	const struct output_unshown *filtered; /* likewise */
	const struct output_loss *losses;      /* ends with a NULL reason */
	const char *const *lower_bound;	       /* codes: why counts may be below the truth */
	const struct output_stacks *stacks;    /* NULL: none were asked for */
};

/* How a run stands, so far. */
struct output_status {
	uint64_t elapsed_ns;
	uint64_t hits;
	const struct output_loss *losses; /* that are known by now; ends with a NULL reason */
	const struct output_tier *tiers;  /* likewise with a NULL tier */
	size_t registers;		  /* debug registers that are in use, */
	size_t registers_max;		  /* and how many a CPU has */
	pid_t pid;
	const char *comm;
	bool over; /* the counts that come are the last ones */
};

/* Writing them -------------------------------------------------------------------------------- */

struct output {
	FILE *to;
	const struct output_ops *ops;
	void *state;	       /* of the format */
	struct output *beside; /* that gets all records too, with nothing left out; or NULL */
	LIST_HEAD(output_kinds, both_kinds) both; /* with that: the kinds that there are */
	size_t memory_bytes;			  /* that are left for what a format keeps */
	const char *path;			  /* of @to; NULL: it is standard output */
	const char *whole_path; /* of a format that is read as a whole: where it goes; or NULL */
	char *buffer;		/* of the same */
	struct text line;	/* of the record that is written */
	uint64_t left_out;	/* hits that a format knows only to be others, for want of room */
	int problem;		/* the first time that something could not be written: -errno */
	bool wall_clock;
	bool verbose;
	bool by_tid;	       /* stacks of two threads are never the same */
	bool base;	       /* what comes is of the run that the other is held against */
	bool managed;	       /* of marked stacks (stack.h), what is managed; with @beside */
	struct stack narrowed; /* the last of them */
	enum time_unit unit;
	struct hist_range linear;
	uint64_t interval_ns;	/* of a run that is over: how long its intervals were; else 0 */
	uint64_t start_ns;	/* CLOCK_MONOTONIC at the start */
	uint64_t end_ns;	/* likewise, when it was closed */
	int64_t wall_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	int64_t zone_s;		/* local time - UTC, at the start: a run's times do not jump */
};

/*
 * Open @options->output_path or standard output, and leave what is there; then begin to write, in
 * the format that @options ask for. Of the second the mode and how times are printed may be new:
 * what they are may be known later than what may be opened.
 */
int output_reserve(struct output *output, const struct options *options, struct error *err);
int output_start(struct output *output, const struct options *options, struct error *err);

/* What was reserved is not written to. */
void output_abandon(struct output *output);

/* Both. */
int output_open(struct output *output, const struct options *options, struct error *err);

/* Write what is buffered. -EPIPE once nobody reads any more, or another errno. */
int output_flush(struct output *output);
int output_close(struct output *output, struct error *err);

/* A format may have nothing to write for some of these, or keep them for later. */
void output_site(struct output *output, const struct output_site *site);
void output_run(struct output *output, const struct output_run *run);
void output_hit(struct output *output, const struct hit *hit);
void output_call(struct output *output, const struct output_call *call);
void output_async(struct output *output, const struct output_async *async);
void output_async_total(struct output *output, const struct output_async_total *total);
void output_trace(struct output *output, const struct output_trace *trace);
void output_counts(struct output *output, const struct output_count *counts, size_t count);
void output_values(struct output *output, const struct output_values *values);
void output_hist(struct output *output, const struct output_hist *hist);

/*
 * Hits that are counted elsewhere: what they are, as @hit is, then how many more there were. NULL:
 * there is no room for one more kind, or no format for it; such are counted together.
 */
struct output_kind;
struct output_kind *output_kind(struct output *output, const struct hit *hit);
void output_kind_count(struct output *output, struct output_kind *kind, uint64_t count);
void output_kind_release(struct output *output, struct output_kind *kind);

/* Before the counts or histograms of an interval, or of the run. */
void output_status(struct output *output, const struct output_status *status);

/* Time to write what was kept: an interval is over, or the run. */
void output_kept(struct output *output);

/* Append what has come so far, of a format that --listen serves. */
void output_expose(struct output *output, struct text *to);

/* At the end of a run that has gone well. */
void output_summary(struct output *output, const struct output_summary *summary);

/* Was it watched all the time? Registers are moved within microseconds. */
static inline bool output_is_whole(double watched)
{
	return watched >= 0.9995;
}

/* Was it watched for so long that it says something of the rest? */
static inline bool output_has_estimate(double watched)
{
	return watched >= 0.0005;
}

/* About how many calls there were, if they were as many when nobody watched. */
static inline uint64_t output_estimate(const struct output_count *count)
{
	double estimate = (double)count->all_calls / count->watched + 0.5;

	/* Of what was hardly watched nothing can be said. */
	return estimate < (double)UINT64_MAX ? (uint64_t)estimate : UINT64_MAX;
}

/* How many of the methods that have inlined another a site's record has to name. */
enum { OUTPUT_INLINERS_SHOWN = 3 };
size_t output_inliners(const struct output *output);

/* Append "A::x(), B::y(), ...": the methods in @names, which are the first of @count. */
void output_add_inliners(const char *const *names, size_t count, struct text *out);

/* Put @bytes into the place of the file at @path, as a whole. -errno. */
int output_replace(const char *path, const char *bytes, size_t length);

#endif
