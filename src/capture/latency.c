// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --hist: what the programs are told of each site as it is attached, and reading the durations
 * that they have counted since; and the values that they are kept apart by (--by=EXPR, bpf/by.h).
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "bpf/by.h"
#include "capture/capture_internal.h"
#include "follow/follow.h"
#include "plan/timed.h"
#include "target/process.h"

enum {
	BUCKETS_A_SITE = 192, /* of a method whose durations are spread */
	BUCKETS_MIN = 1 << 14,
	TOTALS_BY = 1 << 14, /* threads or callers of all sites */
	TOTALS_LATER = 1 << 10,
	ENTRY_BYTES = 96,	/* of a hash map, beside its values */
	THREADS_MORE = 1 << 10, /* than twice those that there are now */
	THREADS_MAX = 1 << 14,
};

/* Of all CPUs' buckets together. */
static const size_t BUCKET_BYTES_MAX = 64 << 20;

static bool is_by_site(const struct capture *capture)
{
	return capture->options->by == LATENCY_BY_SITE;
}

static size_t buckets_wanted(const struct capture *capture)
{
	size_t entry = ENTRY_BYTES + sizeof(__u64) * (size_t)capture->cpu_count;
	size_t wanted = capture->plan->count * BUCKETS_A_SITE * (is_by_site(capture) ? 1 : 8);

	wanted = wanted > BUCKETS_MIN ? wanted : BUCKETS_MIN;
	return wanted < BUCKET_BYTES_MAX / entry ? wanted : BUCKET_BYTES_MAX / entry;
}

static size_t totals_wanted(const struct capture *capture)
{
	return is_by_site(capture) ? 1 : capture->plan->count + TOTALS_LATER + TOTALS_BY;
}

/* How many threads there is room for, with timed calls under way. */
static size_t threads_wanted(const struct capture *capture)
{
	long now = process_thread_count(capture->process);
	size_t wanted = THREADS_MORE + 2 * (size_t)(now > 0 ? now : 0);

	if (now < 0 || capture->options->wait)
		return LATENCY_THREADS;
	return wanted < THREADS_MAX ? wanted : THREADS_MAX;
}

int capture_size_latencies(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	bool by_site = is_by_site(capture);
	size_t sites = capture->plan->count + FOLLOW_SITES_MAX;
	size_t threads = threads_wanted(capture);
	/* What natives throw is not seen. */
	bool throws = capture->options->mode == MODE_WATCH && !capture->natives_only;
	const struct programs_map maps[] = {
		{ bpf->maps.timed_sites, sites },
		{ bpf->maps.timed_threads, threads },
		{ bpf->maps.thrown_threads, throws ? threads : 1 },
		{ bpf->maps.site_totals, by_site ? sites : 1 },
		{ bpf->maps.latency_totals, totals_wanted(capture) },
		{ bpf->maps.latency_buckets, buckets_wanted(capture) },
	};

	return programs_size_maps(maps, sizeof(maps) / sizeof(maps[0]));
}

struct programs_latency capture_latency(const struct options *options)
{
	const struct hist_range *linear = &options->linear;

	return (struct programs_latency){
		.by = options->by,
		.slow_ns = options->slow_ns,
		.linear_min_ns = linear->min_ns,
		.linear_step_ns = linear->step_ns,
		.linear_count = linear->step_ns ? hist_range_count(linear) + 1 : 0,
	};
}

/* A number has eight bytes; of strings as much as is asked for. */
static uint32_t words_of(const struct options *options)
{
	uint32_t bytes = options->string_bytes ? options->string_bytes : BY_STRING_BYTES;

	return bytes < 8 ? 1 : (bytes + 7) / 8;
}

int capture_size_by_values(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	const struct programs_map maps[] = {
		{ bpf->maps.by_values, BY_VALUES },
		{ bpf->maps.latency_totals, totals_wanted(capture) },
	};
	uint32_t words = words_of(capture->options);
	int result = programs_size_maps(maps, sizeof(maps) / sizeof(maps[0]));

	bpf->rodata->by_when = capture->options->by_of_end ? BY_END : BY_ENTRY;
	bpf->rodata->by_words = words;
	return result ? result :
			bpf_map__set_key_size(bpf->maps.by_values, BY_KEY_HEADER + 8 * words);
}

/* May code that comes up, or moves, have another kind of probe than what is planned? */
static bool expects_any_kind(const struct capture *capture)
{
	const struct options *options = capture->options;

	if (options->wait || options->remap == REMAP_ALWAYS)
		return true;
	/* Precompiled code has all kinds that there are. */
	return options->remap == REMAP_AUTO && (capture_planned(capture, MECHANISM_BREAKPOINT) ||
						!capture_planned(capture, MECHANISM_UPROBE));
}

void capture_calibrate(struct capture *capture)
{
	struct calibration calibration = {
		.latency = capture_latency(capture->options),
		.means = capture->means,
		.any_kind = expects_any_kind(capture),
	};

	calibration_want(&calibration, capture->plan);
	calibrate(&calibration, capture->costs, &capture->cost_problem);
}

void capture_time_site(const struct capture *capture, uint32_t number)
{
	const struct plan *plan = capture->plan;
	const struct site *site = &plan->sites[number], *first;
	struct timed_site timed = timed_describe(site, number, capture->costs);

	if (!plan->timed)
		return;
	first = plan_find_method(plan, site);
	if (first)
		timed.method = (uint32_t)(first - plan->sites);
	timed.ready = site->mechanism != MECHANISM_NONE && site->exits;
	/* For good, whatever the follower makes of a body that has no registers. */
	if (timed.ready && site_is_remapped(site))
		timed.uprobes = LATENCY_UPROBES | timed.ready;
	capture->timed[number] = timed;
}

void capture_time_moved(const struct capture *capture, uint32_t number)
{
	const struct site *site = &capture->plan->sites[number];
	const struct timed_site costs = timed_describe(site, number, capture->costs);
	struct timed_site *timed = &capture->timed[number];

	if (!capture->plan->timed || !site->exits)
		return;
	timed->within_ns = costs.within_ns;
	timed->entry_ns = costs.entry_ns;
	timed->exit_ns = costs.exit_ns;
	timed->emulated_exit_ns = costs.emulated_exit_ns;
	/* Breakpoints at its exits may go from now on, which .ready then says. */
	__atomic_store_n(&timed->uprobes,
			 LATENCY_UPROBES | __atomic_load_n(&timed->ready, __ATOMIC_SEQ_CST),
			 __ATOMIC_SEQ_CST);
}

void capture_mark_roots(const struct capture *capture)
{
	const struct plan *plan = capture->plan;

	for (size_t i = 0; plan->timed && i < plan->count; i++)
		__atomic_store_n(&capture->timed[i].root, plan->sites[i].root, __ATOMIC_RELAXED);
}

static void widen(struct capture_cost_range *range, uint32_t ns)
{
	if (range->most_ns == 0 || ns < range->least_ns)
		range->least_ns = ns;
	if (ns > range->most_ns)
		range->most_ns = ns;
}

struct capture_costs capture_costs(const struct capture *capture)
{
	struct capture_costs costs = {
		.problem = capture->cost_problem.text[0] ? capture->cost_problem.text : NULL,
	};
	const struct plan *plan = capture->plan;

	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];
		struct timed_site timed;
		bool emulated = false, stepped = false;

		if (site->mechanism == MECHANISM_NONE || !plan->timed)
			continue;
		timed = timed_describe(site, 0, capture->costs);
		for (uint32_t j = 0; j < site->exit_count; j++)
			*(site->exits[j].emulated ? &emulated : &stepped) = true;
		widen(&costs.entry, timed.entry_ns);
		if (stepped)
			widen(&costs.exit, timed.exit_ns);
		if (emulated)
			widen(&costs.exit, timed.emulated_exit_ns);
	}
	/* All code comes up later: whatever it may be. */
	for (int kind = 0; plan->count == 0 && kind < PROBE_KINDS; kind++) {
		if (capture->costs[kind].entry_ns == 0)
			continue;
		widen(&costs.entry, capture->costs[kind].entry_ns);
		widen(&costs.exit, capture->costs[kind].exit_ns);
	}
	return costs;
}

/* Each key of @map, with its values of all CPUs in @values. */
static int for_each_entry(const struct capture *capture, const struct bpf_map *map, void *values,
			  int (*each)(void *ctx, const struct latency_key *key), void *ctx)
{
	struct latency_key key;
	uint32_t limit = bpf_map__max_entries(map);
	struct no_preempt before = { 0 };
	int fd = bpf_map__fd(map), result = 0;

	/* Entries are never deleted, so none comes twice; but a bound costs nothing. */
	for (uint32_t i = 0; i < limit && result == 0; i++) {
		capture_no_preempt(capture, &before, i);
		if (bpf_map_get_next_key(fd, i ? &key : NULL, &key))
			break;
		if (bpf_map_lookup_elem(fd, &key, values) == 0)
			result = each(ctx, &key);
	}
	no_preempt_end(&before);
	return result;
}

struct reading {
	const struct capture *capture;
	struct latencies *latencies;
	union {
		struct latency_totals *totals; /* by CPU */
		uint64_t *counts;
	};
	size_t capacity;
};

static int take_totals(void *ctx, const struct latency_key *key)
{
	struct reading *reading = ctx;
	struct latencies *latencies = reading->latencies;
	struct latency_totals sum = { 0 };

	for (int cpu = 0; cpu < reading->capture->cpu_count; cpu++) {
		const struct latency_totals *of = &reading->totals[cpu];

		sum.returned += of->returned;
		sum.unwound += of->unwound;
		sum.untimed += of->untimed;
		sum.sum_ns += of->sum_ns;
		if (of->max_ns > sum.max_ns)
			sum.max_ns = of->max_ns;
		if (of->min_inverted_ns > sum.min_inverted_ns)
			sum.min_inverted_ns = of->min_inverted_ns;
	}
	if (!sum.returned && !sum.unwound && !sum.untimed)
		return 0;
	return vector_add(&latencies->totals, &latencies->total_count, &reading->capacity,
			  ((struct latency_total){ *key, sum })) ?
		       0 :
		       -ENOMEM;
}

static int take_bucket(void *ctx, const struct latency_key *key)
{
	struct reading *reading = ctx;
	struct latencies *latencies = reading->latencies;
	uint64_t sum = 0;

	for (int cpu = 0; cpu < reading->capture->cpu_count; cpu++)
		sum += reading->counts[cpu];
	return vector_add(&latencies->buckets, &latencies->bucket_count, &reading->capacity,
			  ((struct latency_count){ *key, sum })) ?
		       0 :
		       -ENOMEM;
}

static int take_all_totals(struct reading *reading)
{
	const struct capture *capture = reading->capture;
	size_t count = capture->plan->count +
		       (capture->follow ? sites_count(follow_sites(capture->follow)) : 0);
	int fd = bpf_map__fd(capture->bpf->maps.site_totals), result = 0;
	struct no_preempt before = { 0 };

	if (!is_by_site(capture))
		return for_each_entry(capture, capture->bpf->maps.latency_totals, reading->totals,
				      take_totals, reading);
	for (size_t i = 0; i < count && result == 0; i++) {
		const struct latency_key key = { .site = (uint32_t)i };

		capture_no_preempt(capture, &before, i);
		if (bpf_map_lookup_elem(fd, &key.site, reading->totals) == 0)
			result = take_totals(reading, &key);
	}
	no_preempt_end(&before);
	return result;
}

int capture_read_latencies(const struct capture *capture, struct latencies *latencies,
			   struct error *err)
{
	struct reading reading = { .capture = capture, .latencies = latencies };
	int result = -ENOMEM;

	*latencies = (struct latencies){ 0 };
	reading.totals = calloc((size_t)capture->cpu_count, sizeof(*reading.totals));
	if (reading.totals)
		result = take_all_totals(&reading);
	reading.capacity = 0;
	if (result == 0)
		result = for_each_entry(capture, capture->bpf->maps.latency_buckets, reading.counts,
					take_bucket, &reading);
	free(reading.totals);
	if (result) {
		latencies_deinit(latencies);
		return error_set(err, result, "no memory for the latencies");
	}
	latencies_sort(latencies);
	return 0;
}

void capture_each_by_value(const struct capture *capture,
			   void (*each)(void *ctx, uint64_t number, const struct by_key *key),
			   void *ctx)
{
	int fd = bpf_map__fd(capture->bpf->maps.by_values);
	struct by_key key = { 0 };
	struct no_preempt before = { 0 };
	uint64_t number;

	/* None is ever deleted, so none comes twice; but a bound costs nothing. */
	for (size_t i = 0; i < BY_VALUES; i++) {
		capture_no_preempt(capture, &before, i);
		if (bpf_map_get_next_key(fd, i ? &key : NULL, &key))
			break;
		if (bpf_map_lookup_elem(fd, &key, &number) == 0)
			each(ctx, number, &key);
	}
	no_preempt_end(&before);
}

/* As drop_unwound() has it in bpf/latency.bpf.h. */
static void count_left(const struct capture *capture, struct latency_totals *totals,
		       const struct timed_call *call)
{
	bool timed = latency_is_ready(&capture->timed[call->site], call->ready);
	const struct latency_key key = { .by = call->by, .site = call->site };
	const struct place_probe_bpf *bpf = capture->bpf;
	bool by_site = is_by_site(capture);
	int fd = bpf_map__fd(by_site ? bpf->maps.site_totals : bpf->maps.latency_totals);
	const void *at = by_site ? (const void *)&key.site : &key;

	if (bpf_map_lookup_elem(fd, at, totals))
		memset(totals, 0, sizeof(*totals) * (size_t)capture->cpu_count);
	totals[0].unwound += timed;
	totals[0].untimed += !timed;
	capture->bpf->bss->latency_losses.untimed += !timed;
	bpf_map_update_elem(fd, at, totals, BPF_ANY);
}

void capture_settle_latencies(const struct capture *capture)
{
	struct latency_totals *totals = calloc((size_t)capture->cpu_count, sizeof(*totals));
	struct timed_thread *thread = calloc(1, sizeof(*thread));
	int fd = bpf_map__fd(capture->bpf->maps.timed_threads);
	uint64_t id = 0, *before = NULL, stack_pointer;

	/* Threads of another PID namespace have other numbers there. */
	while (totals && thread && capture->process->initial_pid_ns &&
	       bpf_map_get_next_key(fd, before, &id) == 0) {
		before = &id;
		if (bpf_map_lookup_elem(fd, &id, thread) || thread->depth == 0)
			continue;
		stack_pointer = process_stack_pointer(capture->process, (pid_t)id);
		/* What the end was to decide stays undecided. */
		for (uint64_t i = 0; i < thread->depth && i < LATENCY_DEPTH; i++) {
			if (thread->calls[i].stack_pointer < stack_pointer &&
			    !thread->calls[i].filter)
				count_left(capture, totals, &thread->calls[i]);
		}
	}
	free(totals);
	free(thread);
}

struct latency_losses capture_latency_losses(const struct capture *capture)
{
	return capture->bpf->bss->latency_losses;
}
