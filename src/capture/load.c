// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which BPF programs a run needs, and loading them, which session/ has begun beside all else by
 * opening them; then there is something to attach (attach.c) and a ring buffer to read (consume.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "probe/breakpoint_event.h"
#include "registers/policy.h"
#include "capture/capture_internal.h"
#include "follow/follow.h"
#include "target/process.h"
#include "target/refusal.h"
#include "unwind/tables.h"

enum {
	WAKEUP_PART = 8, /* or until this part of the ring buffer is full */
	RING_MIN_BYTES = 4096,
	BREAKPOINT_ADDRESSES = 4096, /* where breakpoints can be in the course of a run */

	MOVING_THREADS = 1 << 15, /* in the moment between a breakpoint and a uprobe */
	COPIED_PAGES = 1 << 17,	  /* half a gigabyte of code */

	/*
	 * Of .NET's methods and modules so many are known to the programs; of what is beyond, the
	 * follower is asked at each compilation. A table takes as long to be made as it is big.
	 */
	WATCHED_METHODS = 1 << 15,
	MODULES = 1 << 13,
	STUB_SITES = 1 << 14,
	/* Under way at a time. A CPU may keep so many to itself. */
	COMPILES_MIN = 1 << 12,
	COMPILES_A_CPU = 1 << 8,

	FOLLOW_RING_BYTES = 8 << 20,   /* an image in memory is sent through it */
	NATIVE_RING_BYTES = 256 << 10, /* where there are only files that are mapped */
	SPARE_ROWS = 1 << 18,	       /* for images that are loaded during a run */
	/* For a program that has loaded nothing yet. A framework in one image has 0.9 million. */
	STARTING_ROWS = 1 << 21,
	NO_ROWS = 1,	      /* as few as a map can have */
	EXPECTED_SITES = 256, /* of a plan that is still being made */
	LIBBPF_ERRORS = 4000, /* where its own begin */
};

/* Opening ------------------------------------------------------------------------------------- */

struct capture_opening {
	pthread_t thread;
	pthread_mutex_t waiting; /* a thread is joined once, whoever waits for it */
	bool running;
	bool has_multi;
	struct place_probe_bpf *bpf; /* NULL: it has been taken, or there is none */
};

static void *open_beside(void *arg)
{
	struct capture_opening *opening = arg;

	opening->has_multi = uprobe_multi_works();
	opening->bpf = place_probe_bpf__open();
	return NULL;
}

static void await(struct capture_opening *opening)
{
	pthread_mutex_lock(&opening->waiting);
	if (opening->running)
		pthread_join(opening->thread, NULL);
	opening->running = false;
	pthread_mutex_unlock(&opening->waiting);
}

struct capture_opening *capture_opening_begin(void)
{
	struct capture_opening *opening = calloc(1, sizeof(*opening));

	if (!opening)
		return NULL;
	pthread_mutex_init(&opening->waiting, NULL);
	opening->running = pthread_create(&opening->thread, NULL, open_beside, opening) == 0;
	if (opening->running)
		return opening;
	pthread_mutex_destroy(&opening->waiting);
	free(opening);
	return NULL;
}

struct place_probe_bpf *capture_opening_take(struct capture_opening *opening)
{
	struct place_probe_bpf *bpf = NULL;

	if (opening) {
		await(opening);
		bpf = opening->bpf;
		opening->bpf = NULL;
	}
	return bpf ? bpf : place_probe_bpf__open();
}

bool capture_opening_has_multi(struct capture_opening *opening)
{
	if (!opening)
		return uprobe_multi_works();
	await(opening);
	return opening->has_multi;
}

void capture_opening_destroy(struct capture_opening *opening)
{
	if (!opening)
		return;
	await(opening);
	place_probe_bpf__destroy(opening->bpf);
	pthread_mutex_destroy(&opening->waiting);
	free(opening);
}

/* Choosing and loading ------------------------------------------------------------------------ */

size_t capture_planned(const struct capture *capture, enum mechanism mechanism)
{
	size_t count = 0;

	for (size_t i = 0; i < capture->plan->count; i++)
		count += capture->plan->sites[i].mechanism == mechanism;
	return count;
}

static int choose_means(struct capture *capture, struct error *err)
{
	/* The kernel ties a link to the main thread's memory, which is gone with that thread. */
	bool main_alive = process_thread_alive(capture->process, capture->process->pid);
	bool multi = capture_opening_has_multi(capture->opening);

	if (capture->options->uprobe_by == UPROBE_BY_MULTI && !(multi && main_alive))
		return error_set(err, -ENOTSUP,
				 "%s, so --uprobe-by=multi cannot work: leave it out",
				 multi ? "the target's main thread has exited" :
					 "this kernel has no uprobe_multi");
	capture->means = multi && main_alive && capture->options->uprobe_by != UPROBE_BY_PERF ?
				 UPROBE_MULTI :
				 UPROBE_PERF;
	return 0;
}

static void set_constants(struct capture *capture, struct place_probe_bpf *bpf)
{
	const struct options *options = capture->options;
	const struct process *process = capture->process;
	const struct programs_latency latency = capture_latency(options);

	programs_set_target(bpf, process);
	bpf->rodata->target_tid = (uint32_t)options->tid;
	if (!process->initial_pid_ns && options->tid)
		bpf->rodata->target_tid = (uint32_t)process_thread_ns_id(process, options->tid);
	bpf->rodata->max_frames =
		options->stack == STACK_MODE_NONE ? 0 : (uint32_t)options->max_frames;
	bpf->rodata->walk_only = options->walk_only;
	bpf->rodata->max_hits = options->max_hits;
	if (capture->needs_isolates)
		bpf->rodata->thread_pointer_at = programs_thread_pointer_at();
	bpf->rodata->wakeup_bytes = options->buffer_bytes / WAKEUP_PART;
	bpf->rodata->sample_hits = options->sample_hits;
	bpf->rodata->max_rate = options->max_rate;
	bpf->rodata->trace_calls = options->mode == MODE_TRACE;
	bpf->rodata->counters_cpus = (uint32_t)capture->cpu_count;
	bpf->rodata->counters_of_cpu = capture_sites_with_counters(capture);
	programs_set_latency(bpf, &latency);
}

struct bpf_program *capture_uprobe_program(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;

	return capture->plan->timed		    ? bpf->progs.time_hit :
	       capture->options->mode == MODE_COUNT ? bpf->progs.count_hit :
						      bpf->progs.report_hit;
}

struct bpf_program *capture_breakpoint_program(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;

	return capture->plan->timed		    ? bpf->progs.time_break :
	       capture->options->mode == MODE_COUNT ? bpf->progs.count_break :
						      bpf->progs.report_break;
}

static void use_program(const struct capture *capture, struct bpf_program *program)
{
	bpf_program__set_autoload(program, true);
	if (capture->means == UPROBE_MULTI && bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
		bpf_program__set_expected_attach_type(
			program, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
}

/* Can there be any? */
static bool has_breakpoints(const struct capture *capture)
{
	return !capture->natives_only && breakpoint_events_fire();
}

/* Whoever holds a thread must be able to sleep, which not every kernel's programs can. */
static void choose_programs(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj)
	{
		bpf_program__set_autoload(program, false);
	}
	use_program(capture, capture_uprobe_program(capture));
	if (capture->plan->timed)
		use_program(capture, bpf->progs.forget_thread);
	if (options_report_hits(capture->options))
		use_program(capture, bpf->progs.note_moves);
	use_program(capture, capture->can_hold ? bpf->progs.map_begin_held : bpf->progs.map_begin);
	if (capture->can_hold && capture->options->command)
		use_program(capture, bpf->progs.loader_held);
	/* The kernel takes as long to check the rest as for all else that there is before a hit. */
	if (capture->natives_only)
		return;
	if (has_breakpoints(capture))
		use_program(capture, capture_breakpoint_program(capture));
	if (capture->options->mode == MODE_WATCH)
		use_program(capture, bpf->progs.note_thrown);
	if (capture->options->async)
		use_program(capture, bpf->progs.note_collected);
	if (has_breakpoints(capture) && debug_registers_are_virtual())
		use_program(capture, bpf->progs.note_spurious_trap);
	use_program(capture, bpf->progs.compile_begin);
	use_program(capture,
		    capture->can_hold ? bpf->progs.compile_end_held : bpf->progs.compile_end);
}

/* Where a breakpoint has been is not forgotten: a hit may come late. */
static size_t breakpoint_addresses(const struct capture *capture)
{
	size_t bodies = BREAKPOINT_ADDRESSES + FOLLOW_SITES_MAX;

	if (!has_breakpoints(capture))
		return 1;
	return capture->plan->timed ? bodies * (1 + POLICY_EXITS_MAX) : bodies;
}

static int size_maps(const struct capture *capture)
{
	const struct options *options = capture->options;
	const struct place_probe_bpf *bpf = capture->bpf;
	const size_t compiles = (size_t)capture->cpu_count * COMPILES_A_CPU;
	const size_t sites = capture_sites_with_counters(capture);
	/* What only code compiled at run time needs. */
	const struct programs_map compiled[] = {
		{ bpf->maps.watched, WATCHED_METHODS },
		{ bpf->maps.modules, MODULES },
		{ bpf->maps.stub_sites, STUB_SITES },
		{ bpf->maps.compiles, compiles > COMPILES_MIN ? compiles : COMPILES_MIN },
	};
	const struct programs_map maps[] = {
		{ bpf->maps.counters, (size_t)capture->cpu_count * sites },
		{ bpf->maps.shed_sites, options->sample_hits || options->max_rate ? sites : 1 },
		{ bpf->maps.events,
		  options_report_hits(options) ? options->buffer_bytes : RING_MIN_BYTES },
		{ bpf->maps.merged, capture_merges(capture) ? MERGE_TABLES * MERGE_SLOTS : 1 },
		{ bpf->maps.walks, (size_t)capture->cpu_count * WALK_SCRATCHES },
		{ bpf->maps.unwind_rows, capture->row_capacity },
		{ bpf->maps.follow_events,
		  capture->natives_only ? NATIVE_RING_BYTES : FOLLOW_RING_BYTES },
		{ bpf->maps.breakpoint_sites, breakpoint_addresses(capture) },
		{ bpf->maps.moving_sites, options_may_remap(options) ? sites : 1 },
		{ bpf->maps.moving_marks, options_may_remap(options) ? MOVING_THREADS : 1 },
		{ bpf->maps.copied_pages, options_may_remap(options) ? COPIED_PAGES : 1 },
	};
	int result = programs_size_maps(maps, sizeof(maps) / sizeof(maps[0]));

	if (result == 0 && !capture->natives_only)
		result = programs_size_maps(compiled, sizeof(compiled) / sizeof(compiled[0]));
	if (result == 0 && capture_runs_programs(options))
		result = capture_size_watch(capture);
	if (result == 0 && capture->plan->timed)
		result = capture_size_latencies(capture);
	if (result == 0 && options->by_value)
		result = capture_size_by_values(capture);
	return result;
}

void capture_unload(struct capture *capture)
{
	for (size_t i = 0; i < capture->mapped_count; i++)
		munmap(capture->mapped[i].iov_base, capture->mapped[i].iov_len);
	capture->mapped_count = 0;
	programs_destroy(capture->loaded);
	place_probe_bpf__destroy(capture->bpf);
	capture->loaded = NULL;
	capture->bpf = NULL;
}

static int open_and_load(struct capture *capture, bool quiet)
{
	const struct programs_how how = {
		.object = PROGRAMS_PLACE_PROBE,
		.quiet = quiet,
		.verbose = capture->options->verbose,
	};
	int result;

	capture->bpf = capture_opening_take(capture->opening);
	/* What is built in is well-formed: libelf, which libbpf has errors for, lacks memory. */
	if (!capture->bpf)
		return errno < LIBBPF_ERRORS ? -errno : -ENOMEM;
	set_constants(capture, capture->bpf);
	choose_programs(capture);
	result = capture_set_merging(capture);
	if (result == 0)
		result = size_maps(capture);
	if (result == 0)
		result = programs_load(&capture->loaded, capture->bpf->skeleton, &how);
	if (result)
		capture_unload(capture);
	return result;
}

static int load_programs(struct capture *capture, struct error *err)
{
	int result = choose_means(capture, err);

	if (result)
		return result;
	/* Where the first try fails, what it complains of is not what is wrong. */
	capture->can_hold = true;
	result = open_and_load(capture, true);
	if (result && result != -EPERM) {
		capture->can_hold = false;
		result = open_and_load(capture, false);
	}
	return result ? refusal_of_programs(err, result) : 0;
}

/* What the programs have as arrays, and this run needs, as memory. */
static int map_tables(struct capture *capture, struct error *err)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	bool runs = capture_runs_programs(capture->options);
	const struct {
		void **to;
		const struct bpf_map *map;
		bool wanted;
	} tables[CAPTURE_TABLES] = {
		{ (void **)&capture->counters, bpf->maps.counters, true },
		{ (void **)&capture->rows, bpf->maps.unwind_rows, true },
		{ (void **)&capture->ranges, bpf->maps.unwind_ranges, true },
		{ (void **)&capture->rates, bpf->maps.shed_sites, capture->options->max_rate },
		{ (void **)&capture->timed, bpf->maps.timed_sites, capture->plan->timed },
		{ (void **)&capture->programs, bpf->maps.watch_programs, runs },
		{ (void **)&capture->ops, bpf->maps.watch_ops, runs },
		{ (void **)&capture->kept, bpf->maps.watch_slots,
		  capture->options->mode == MODE_WATCH },
		{ (void **)&capture->async_sites, bpf->maps.async_sites, runs },
		{ (void **)&capture->async_totals, bpf->maps.async_totals, runs },
		{ (void **)&capture->merged, bpf->maps.merged, capture_merges(capture) },
	};

	for (size_t i = 0; i < CAPTURE_TABLES; i++) {
		const struct bpf_map *map = tables[i].map;
		size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
		void *table;

		if (!tables[i].wanted)
			continue;
		table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
		if (table == MAP_FAILED)
			return error_set(err, -errno, "cannot map the BPF programs' tables: %s",
					 strerror(errno));
		*tables[i].to = table;
		capture->mapped[capture->mapped_count++] = (struct iovec){ table, bytes };
	}
	return 0;
}

/*
 * In a thread of its own ------------------------------------------------------------------------
 */

/* Of a program that has nothing yet anything may come. @layouts is NULL: nothing is unwound. */
static void expect(struct capture *capture, size_t rows, const struct unwind_layouts *layouts)
{
	const struct options *options = capture->options;

	capture->site_room = capture->plan->count;
	capture->row_capacity = !layouts ? NO_ROWS : rows ? rows + SPARE_ROWS : STARTING_ROWS;
	capture->needs_isolates = options->stack != STACK_MODE_NONE &&
				  options_report_hits(options) &&
				  (options->command || (layouts && layouts->v8.present));
}

static void *load_beside(void *arg)
{
	struct capture *capture = arg;

	capture->load_result = load_programs(capture, &capture->load_problem);
	return NULL;
}

bool capture_loads_before_plan(const struct options *options)
{
	return mode_attaches(options->mode) && !options->timed && options->remap != REMAP_ALWAYS &&
	       !capture_runs_programs(options);
}

void capture_begin_load(struct capture *capture, const struct unwind_expected *expected)
{
	expect(capture, expected ? expected->rows : 0, expected ? &expected->layouts : NULL);
	if (capture->site_room < EXPECTED_SITES)
		capture->site_room = EXPECTED_SITES;
	capture->loading = pthread_create(&capture->loader, NULL, load_beside, capture) == 0;
}

void capture_await_load(struct capture *capture)
{
	if (capture->loading)
		pthread_join(capture->loader, NULL);
	capture->loading = false;
}

/* Is what was loaded meanwhile of use? */
static bool has_room(const struct capture *capture, bool unwinds, size_t rows)
{
	return capture->bpf && capture->site_room >= capture->plan->count &&
	       (!unwinds || capture->row_capacity >= rows + SPARE_ROWS / 2);
}

static int load_or_await(struct capture *capture, const struct unwind_tables *unwind,
			 struct error *err)
{
	size_t rows = unwind ? unwind->rows.count : 0;
	bool began = capture->loading;

	capture_await_load(capture);
	if (began && capture->load_result) {
		*err = capture->load_problem;
		return capture->load_result;
	}
	if (began && has_room(capture, unwind, rows))
		return 0;
	capture_unload(capture);
	expect(capture, rows, unwind ? &unwind->layouts : NULL);
	return load_programs(capture, err);
}

int capture_load(struct capture *capture, const struct unwind_tables *unwind, struct error *err)
{
	int result = load_or_await(capture, unwind, err);

	if (result == 0)
		result = map_tables(capture, err);
	if (result)
		return result;
	if (unwind && capture->row_capacity > NO_ROWS)
		capture_set_unwind(capture, unwind);
	capture_begin_rates(capture);
	if (capture->plan->timed)
		capture_calibrate(capture);
	/* Before anything is attached: signals are read like events, in their turn. */
	result = capture_open_signals(capture, err);
	return result ? result : capture_open_ring(capture, err);
}
