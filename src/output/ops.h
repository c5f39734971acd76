/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a format is: one file that writes the records of output.h, and a row in the table of
 * output.c that says when it is asked for.
 */
#ifndef OUTPUT_OPS_H
#define OUTPUT_OPS_H

#include "output/output.h"

/* Each function may be NULL: then there is nothing to write. */
struct output_ops {
	bool whole;	    /* what it writes is read as a whole: see output_whole() */
	bool shortens;	    /* without -v it writes the first few of what may be many */
	size_t state_bytes; /* of output->state, which is all 0 at first; 0: it has none */
	bool (*begin)(struct output *output); /* fill the state; false: no memory */
	void (*site)(struct output *output, const struct output_site *site);
	void (*run)(struct output *output, const struct output_run *run);
	void (*hit)(struct output *output, const struct hit *hit);
	void (*call)(struct output *output, const struct output_call *call);
	void (*async)(struct output *output, const struct output_async *async);
	void (*async_total)(struct output *output, const struct output_async_total *total);
	void (*trace)(struct output *output, const struct output_trace *trace);
	struct output_kind *(*kind)(struct output *output, const struct hit *hit);
	void (*kind_count)(struct output *output, struct output_kind *kind, uint64_t count);
	void (*kind_release)(struct output *output, struct output_kind *kind);
	void (*counts)(struct output *output, const struct output_count *counts, size_t count);
	void (*values)(struct output *output, const struct output_values *values);
	void (*hist)(struct output *output, const struct output_hist *hist);
	void (*status)(struct output *output, const struct output_status *status);
	void (*kept)(struct output *output);
	void (*expose)(struct output *output, struct text *to); /* all so far, as a whole */
	void (*summary)(struct output *output, const struct output_summary *summary);
	void (*end)(struct output *output); /* free what is in the state; it may still write */
};

extern const struct output_ops text_output;
extern const struct output_ops list_output;
extern const struct output_ops dry_run_output;
extern const struct output_ops folded_output;
extern const struct output_ops folded_json_output;
extern const struct output_ops json_output;
extern const struct output_ops perf_script_output;
extern const struct output_ops speedscope_output;
extern const struct output_ops trace_event_output;
extern const struct output_ops openmetrics_output;
extern const struct output_ops pprof_output;
extern const struct output_ops top_output;
extern const struct output_ops flame_output;

/* How many of those that have inlined a method the format shows. */
size_t output_inliners_shown(const struct output *output);

/* What was made for kinds that nobody has released. */
void output_forget_kinds(struct output *output);

/* Write a name or path that someone else chose: control characters become '?'. */
void output_printable(const struct output *output, const char *s);

/*
 * Does its line tell a function from others? Of JavaScript it does; of others, where pictures are
 * made of functions, each line that calls would be a function of its own.
 */
static inline bool output_is_told_by_line(const struct frame *frame)
{
	return frame->source && frame->name && frame->kind != FRAME_DOTNET &&
	       frame->kind != FRAME_NATIVE;
}

/* Append a frame's name, "[MODULE]" or "[KIND]" if it has none; it is printable. */
void output_frame_name(struct text *to, const struct frame *frame);

/* In the place of each character of @these that @to has from @from on, put @by. */
void output_swap(struct text *to, size_t from, const char *these, char by);

/* Append @s as UTF-8 without control characters: what is no such is '?'. */
void output_add_utf8(struct text *to, const char *s);

/* What a format keeps of a stack may be a number of its own: is there one, and from now on. */
bool output_known_number(const struct rendering *rendering, uint32_t *number);
void output_keep_number(struct rendering *rendering, uint32_t number);

/*
 * The number of the stack of @hit: one that was kept, or what @make comes to, which is kept unless
 * it is 0, that of all stacks that there is no room for.
 */
static inline uint32_t output_stack_number(const struct hit *hit, void *state,
					   uint32_t (*make)(void *state, const struct hit *hit))
{
	/* One without frames has the method's, which is not the stack's own. */
	bool kept = hit->stack && hit->stack->count;
	struct rendering *rendering = kept ? hit->stack->rendering : NULL;
	uint32_t number;

	if (output_known_number(rendering, &number))
		return number;
	number = make(state, hit);
	if (number)
		output_keep_number(rendering, number);
	return number;
}

/* Append @reason and count of each, or "nothing". */
void output_add_losses(struct text *to, const struct output_loss *losses);

/* Put @all out, in the place of all that was put out so before if it is a file. */
void output_whole(struct output *output, const struct text *all);

/* Put output->line out, and clear it; what there was no memory for is a failure to write. */
void output_line(struct output *output);

/*
 * Append what is made of @item, by @render if @rendering, which may be NULL, has nothing of it yet:
 * then it has from now on.
 */
void output_render(struct text *to, struct rendering *rendering, const void *item,
		   void (*render)(struct text *to, const void *item));

/* Parts of one format that another has, too. */
const char *text_rest(const char *rest);

/* Append what a histogram is of: a method, and for which thread, caller or value of it. */
void text_add_hist_name(struct text *to, const struct output_hist *hist);
void text_hist(struct output *output, const struct output_hist *hist);

/* What durations are written in. */
struct time_scale {
	const char *heading;
	const char *name;
	uint64_t ns;
};

/* The one that was asked for, or in which @ns has two digits. */
const struct time_scale *text_time_scale(enum time_unit unit, uint64_t ns);

/*
 * Hand the rows that @histogram is drawn in to @row, the smallest durations first, in @scale:
 * powers of two of it, or, if it has such, those of @linear.
 */
struct hist_row {
	uint64_t low, high; /* in @scale, both included */
	uint64_t count;
	uint64_t most; /* the largest count of all rows */
};

typedef void (*hist_row_fn)(void *ctx, const struct hist_row *row);

void text_hist_rows(const struct histogram *histogram, const struct time_scale *scale,
		    const struct hist_range *linear, hist_row_fn row, void *ctx);

/* Append what is told of a histogram in numbers, a line or two of it. */
void text_add_numbers(struct text *to, const struct histogram *histogram,
		      const struct time_scale *scale);

/* Append @s as JSON, NULL as null. The same of what stands behind @before: a name, say. */
void json_string(struct text *to, const char *s);
void json_put_string(struct text *to, const char *before, const char *s);
void json_put_number(struct text *to, const char *before, uint64_t number);
void json_hit(struct output *output, const struct hit *hit);
void json_begin_hit(struct output *output, const char *type, const struct hit *hit);
void json_call(struct output *output, const struct output_call *call);

/* The words for an outcome, in JSON and text. */
extern const char *const async_outcome_names[ASYNC_OUTCOMES];
void json_folded(struct output *output, const char *stack, uint64_t count);
void json_summary(struct output *output, const struct output_summary *summary);

/* The percentiles of a histogram that are written. */
enum { HIST_SHARES = 4 };

struct hist_share {
	const char *name;
	const char *key; /* in JSON */
	double share;
};

extern const struct hist_share hist_shares[HIST_SHARES];

#endif
