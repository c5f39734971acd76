// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three figures are measured for a kind of probe. Calls that are entered by one and left unseen
 * give what an entry costs. Calls that are left by a probe too give what both cost together, and
 * how long the programs themselves say that a call took which takes no time. Each is the median of
 * short batches, in turns with the others, so that what else the machine does spoils some of them
 * and not the result.
 *
 * within_ns   what the programs report of a call that takes no time; subtracted from each call
 *             that is entered by such a probe
 * entry_ns    calls with a probe at the entry that leave by a return without one, less the same
 *             without probes; subtracted from the calls around
 * exit_ns     calls with both probes, less the above; likewise
 *
 * Calls without an exit would be taken for abandoned by the next, and looking after them would be
 * measured too: so each of a batch has its stack pointer further down, as if it was made within the
 * one before. Real exits are single-stepped, so the measured one is. An emulated exit is taken to
 * cost what an emulated entry does, since a difference of single steps is not precise enough. A
 * perf uprobe takes 80 ms to remove, so with those the exit's figure stands for a single-stepped
 * entry too. Hits of breakpoints can be signals (docs/limits.md), so SIGTRAP is handled meanwhile.
 */
#include "latency/calibrate.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/breakpoints.h"
#include "probe/online_cpus.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "arch/calibrate_functions.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "plan/plan.h"
#include "target/maps.h"
#include "target/process.h"

enum {
	CALLS = 32, /* of a batch; within each other at most LATENCY_DEPTH of them are followed */
	BATCHES = 21,
	KEYS = 64, /* of totals: sites, and their callers */
	BUCKETS = 1024,
	UPROBES = PROBE_BREAKPOINT + 1, /* an entry of each kind, and the exit of all */
};

_Static_assert((int)CALLS < (int)LATENCY_DEPTH, "calls are within each other");

/* The clock at the entry is read by a function of this kind; its number is that of its site. */
struct victim {
	void (*function)(uint32_t by_exit);
	void (*exit)(void);
	uint64_t exit_cookie;
};

static const struct victim victims[PROBE_KINDS] = {
	[PROBE_EMULATED] = { calibrate_emulated, calibrate_exit, LATENCY_EXIT | PROBE_EMULATED },
	/* Their exit is the same, and has its probe already. */
	[PROBE_SINGLE_STEPPED] = { calibrate_stepped, NULL, 0 },
	[PROBE_PATCHABLE] = { calibrate_patchable, NULL, 0 },
	[PROBE_BREAKPOINT] = { calibrate_broken, calibrate_broken_exit,
			       LATENCY_EXIT | PROBE_BREAKPOINT },
};

struct bench {
	const struct calibration *calibration;
	struct process process; /* we */
	struct place_probe_bpf *bpf;
	struct programs *loaded;
	struct uprobes *uprobes;
	struct breakpoints *breakpoints;
	struct latency_totals *totals; /* by CPU */
	int cpu_count;
};

/* What of a plan is timed ----------------------------------------------------------------- */

void calibration_want(struct calibration *calibration, const struct plan *plan)
{
	bool *wanted = calibration->wanted;
	bool all = plan->count == 0 || calibration->any_kind;

	wanted[PROBE_EMULATED] = true;
	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		all |= site->tier == TIER_NATIVE;

		/* What may be compiled anew, and what waits for a register, gets a breakpoint. */
		if (site->mechanism == MECHANISM_BREAKPOINT || runtime_compiles(site->id.runtime) ||
		    site->reason == REASON_NO_DEBUG_REGISTER)
			wanted[PROBE_BREAKPOINT] = true;
		if (site->mechanism == MECHANISM_UPROBE && site->patchable)
			wanted[PROBE_PATCHABLE] = true;
		else if (site->mechanism == MECHANISM_UPROBE && site->cost == INSN_SINGLE_STEPPED)
			wanted[PROBE_SINGLE_STEPPED] = true;
	}
	wanted[PROBE_SINGLE_STEPPED] |= all;
	wanted[PROBE_PATCHABLE] |= all;
	wanted[PROBE_BREAKPOINT] |= plan->count == 0;
}

/* Loading --------------------------------------------------------------------------------- */

static void choose_programs(struct bench *bench)
{
	const struct calibration *calibration = bench->calibration;
	struct bpf_program *program;

	bpf_object__for_each_program(program, bench->bpf->obj)
	{
		bpf_program__set_autoload(program, false);
	}
	bpf_program__set_autoload(bench->bpf->progs.time_hit, true);
	bpf_program__set_autoload(bench->bpf->progs.time_break,
				  calibration->wanted[PROBE_BREAKPOINT]);
	if (calibration->means == UPROBE_MULTI)
		bpf_program__set_expected_attach_type(
			bench->bpf->progs.time_hit, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
}

static int size_maps(const struct place_probe_bpf *bpf)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const struct programs_map maps[] = {
		{ bpf->maps.counters, PROBE_KINDS },
		{ bpf->maps.timed_sites, PROBE_KINDS },
		{ bpf->maps.timed_threads, 1 },
		{ bpf->maps.site_totals, PROBE_KINDS },
		{ bpf->maps.latency_totals, KEYS },
		{ bpf->maps.latency_buckets, BUCKETS },
		{ bpf->maps.breakpoint_sites, 2 * BREAKPOINTS_MAX },
		{ bpf->maps.events, page_bytes },
		{ bpf->maps.follow_events, page_bytes },
	};

	return programs_size_maps(maps, sizeof(maps) / sizeof(maps[0]));
}

static int load(struct bench *bench, struct error *err)
{
	const struct programs_how how = { .object = PROGRAMS_PLACE_PROBE, .ourselves = true };
	struct programs_latency latency = bench->calibration->latency;
	int result;

	/* No call is to be reported. */
	latency.slow_ns = 0;
	bench->bpf = place_probe_bpf__open();
	if (!bench->bpf)
		return error_set(err, -errno, "no memory for BPF programs");
	programs_set_target(bench->bpf, &bench->process);
	programs_set_latency(bench->bpf, &latency);
	choose_programs(bench);
	result = size_maps(bench->bpf);
	if (result == 0)
		result = programs_load(&bench->loaded, bench->bpf->skeleton, &how);
	if (result)
		return error_set(err, result,
				 "the kernel does not load the BPF programs: %s (-v shows why)",
				 strerror(-result));
	for (uint32_t kind = 0; kind < PROBE_KINDS && result == 0; kind++) {
		const struct timed_site timed = { .ready = 1 };

		result = bpf_map_update_elem(bpf_map__fd(bench->bpf->maps.timed_sites), &kind,
					     &timed, BPF_ANY);
	}
	bench->bpf->bss->active = 1;
	return result ? error_set(err, result, "cannot fill a BPF map: %s", strerror(-result)) : 0;
}

/* Attaching ------------------------------------------------------------------------------- */

static struct address address_of(void (*function)(void))
{
	return (struct address){ (uint64_t)(uintptr_t)function };
}

static struct uprobe_site site_at(const struct maps *maps, int fd, struct address address,
				  uint64_t cookie)
{
	const struct mapping *mapping = maps_find(maps, address);

	return (struct uprobe_site){
		.file_fd = fd,
		.offset = mapping ? mapping_offset(mapping, address) : (struct file_offset){ 0 },
		.cookie = cookie,
	};
}

/* By perf events closing a probe takes UPROBE_PERF_CLOSE_MS, so there are as few as possible. */
static bool is_measured(const struct bench *bench, enum probe_kind kind)
{
	bool guessed = kind == PROBE_SINGLE_STEPPED && bench->calibration->means == UPROBE_PERF;

	return bench->calibration->wanted[kind] && !guessed;
}

/* Returns how many @sites there are. Our own code lies in our executable. */
static size_t choose_sites(const struct bench *bench, const struct maps *maps, int fd,
			   struct uprobe_site sites[UPROBES])
{
	const struct victim *first = &victims[PROBE_EMULATED];
	size_t count = 0;

	sites[count++] = site_at(maps, fd, address_of(first->exit), first->exit_cookie);
	for (enum probe_kind kind = 0; kind < PROBE_BREAKPOINT; kind++) {
		if (is_measured(bench, kind))
			sites[count++] = site_at(
				maps, fd, address_of((void (*)(void))victims[kind].function), kind);
	}
	return count;
}

static int attach_uprobes(struct bench *bench, struct error *err)
{
	_cleanup_close_ int fd = process_open(&bench->process, "exe", O_RDONLY | O_CLOEXEC);
	struct uprobe_site sites[UPROBES];
	_cleanup_(maps_deinit) struct maps maps = { 0 };
	size_t count = 0;
	int result;

	if (fd < 0)
		return error_set(err, fd, "cannot open our own executable: %s", strerror(-fd));
	result = maps_read(&maps, &bench->process, err);
	if (result == 0) {
		count = choose_sites(bench, &maps, fd, sites);
		result = uprobes_create(&bench->uprobes, bench->calibration->means,
					programs_fd(bench->loaded, bench->bpf->progs.time_hit),
					&bench->process, err);
	}
	if (result == 0)
		result = uprobes_attach(bench->uprobes, sites, count, err);
	for (size_t i = 0; i < count && result == 0; i++) {
		if (sites[i].error)
			result = error_set(
				err, sites[i].error,
				"a uprobe was refused: %s (--self-test says what this kernel offers)",
				strerror(-sites[i].error));
	}
	return result;
}

static int arm_breakpoints(struct bench *bench, struct error *err)
{
	const struct breakpoints_config config = {
		.program_fd = programs_fd(bench->loaded, bench->bpf->progs.time_break),
		.sites_fd = bpf_map__fd(bench->bpf->maps.breakpoint_sites),
		.process = &bench->process,
		.tid = gettid(),
	};
	const struct victim *victim = &victims[PROBE_BREAKPOINT];
	int result = breakpoints_create(&bench->breakpoints, &config, err);

	if (result == 0)
		result = breakpoints_add(bench->breakpoints, address_of(victim->exit),
					 victim->exit_cookie, err);
	if (result >= 0)
		result = breakpoints_add(bench->breakpoints,
					 address_of((void (*)(void))victim->function),
					 PROBE_BREAKPOINT, err);
	return result < 0 ? result : 0;
}

/* Measuring ------------------------------------------------------------------------------- */

static void add_totals(const struct bench *bench, struct latency_totals *sum)
{
	for (int cpu = 0; cpu < bench->cpu_count; cpu++) {
		sum->returned += bench->totals[cpu].returned;
		sum->sum_ns += bench->totals[cpu].sum_ns;
	}
}

/* What the programs have counted so far of the calls of @kind, whoever they are kept apart by. */
static struct latency_totals read_totals(const struct bench *bench, enum probe_kind kind)
{
	struct latency_totals sum = { 0 };
	int fd = bpf_map__fd(bench->bpf->maps.latency_totals);
	struct latency_key key;
	const uint32_t site = kind;

	if (bench->calibration->latency.by == LATENCY_BY_SITE) {
		fd = bpf_map__fd(bench->bpf->maps.site_totals);
		if (bpf_map_lookup_elem(fd, &site, bench->totals) == 0)
			add_totals(bench, &sum);
		return sum;
	}
	for (int i = 0; i < KEYS && bpf_map_get_next_key(fd, i ? &key : NULL, &key) == 0; i++) {
		if (key.site == site && bpf_map_lookup_elem(fd, &key, bench->totals) == 0)
			add_totals(bench, &sum);
	}
	return sum;
}

static uint64_t batch_ns(void (*function)(uint32_t by_exit), bool by_exit)
{
	uint64_t start = clock_now_ns();

	calibrate_call(function, CALLS, by_exit);
	return clock_now_ns() - start;
}

static int by_value(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* What the calls of a batch took, to what one did. */
static uint32_t median_ns(int64_t batches[BATCHES])
{
	int64_t median;

	qsort(batches, BATCHES, sizeof(*batches), by_value);
	median = batches[BATCHES / 2] / CALLS;
	return median < 0 ? 0 : median > NS_PER_MS ? NS_PER_MS : (uint32_t)median;
}

static int measure(const struct bench *bench, enum probe_kind kind, struct probe_cost *cost,
		   struct error *err)
{
	int64_t entries[BATCHES], both[BATCHES], within[BATCHES];
	const struct victim *victim = &victims[kind];
	uint32_t both_ns;

	for (int i = 0; i < BATCHES; i++) {
		struct latency_totals before, now;
		uint64_t bare_ns = batch_ns(calibrate_bare, true);

		entries[i] = (int64_t)(batch_ns(victim->function, false) - bare_ns);
		/* The programs find out that those were left, which is not to be timed. */
		calibrate_call(victim->function, 1, true);
		before = read_totals(bench, kind);
		both[i] = (int64_t)(batch_ns(victim->function, true) - bare_ns);
		now = read_totals(bench, kind);
		if (now.returned - before.returned != CALLS)
			return error_set(
				err, -EIO,
				"of %d calls of a function of our own %d were timed (run again on a less busy machine)",
				CALLS, (int)(now.returned - before.returned));
		within[i] = (int64_t)(now.sum_ns - before.sum_ns);
	}
	both_ns = median_ns(both);
	cost->within_ns = median_ns(within);
	cost->entry_ns = median_ns(entries);
	cost->exit_ns = both_ns > cost->entry_ns ? both_ns - cost->entry_ns : 0;
	return 0;
}

/* A single-stepped entry costs what such an exit does; what it costs more is within the call. */
static void guess_stepped_entry(struct probe_cost costs[PROBE_KINDS])
{
	const struct probe_cost *emulated = &costs[PROBE_EMULATED];
	struct probe_cost *stepped = &costs[PROBE_SINGLE_STEPPED];

	stepped->entry_ns = stepped->exit_ns;
	stepped->within_ns = emulated->within_ns;
	if (stepped->entry_ns > emulated->entry_ns)
		stepped->within_ns += stepped->entry_ns - emulated->entry_ns;
}

static int measure_uprobes(struct bench *bench, struct probe_cost costs[PROBE_KINDS],
			   struct error *err)
{
	int result = attach_uprobes(bench, err);

	for (enum probe_kind kind = 0; kind < PROBE_BREAKPOINT && result == 0; kind++) {
		if (is_measured(bench, kind))
			result = measure(bench, kind, &costs[kind], err);
	}
	if (result) {
		memset(costs, 0, PROBE_BREAKPOINT * sizeof(*costs));
		return result;
	}
	/*
	 * The exit that all these functions have is single-stepped. The difference to an emulated
	 * one is small against what others do to the machine while that is measured, so one is
	 * taken to cost what an emulated entry does.
	 */
	costs[PROBE_SINGLE_STEPPED].exit_ns = costs[PROBE_EMULATED].exit_ns;
	costs[PROBE_EMULATED].exit_ns = costs[PROBE_EMULATED].entry_ns;
	if (bench->calibration->wanted[PROBE_SINGLE_STEPPED] &&
	    !is_measured(bench, PROBE_SINGLE_STEPPED))
		guess_stepped_entry(costs);
	return 0;
}

static void ignore_trap(int signal)
{
	(void)signal;
}

/* Where debug_registers_are_virtual() a hit can become a signal, which would end us. */
static int measure_breakpoints(struct bench *bench, struct probe_cost *cost, struct error *err)
{
	const struct sigaction ours = { .sa_handler = ignore_trap, .sa_flags = SA_RESTART };
	struct sigaction before;
	int result;

	if (sigaction(SIGTRAP, &ours, &before) != 0)
		return error_set(err, -errno, "cannot handle SIGTRAP: %s", strerror(errno));
	result = arm_breakpoints(bench, err);
	if (result == 0)
		result = measure(bench, PROBE_BREAKPOINT, cost, err);
	breakpoints_destroy(bench->breakpoints);
	sigaction(SIGTRAP, &before, NULL);
	return result;
}

static int run(struct bench *bench, struct probe_cost costs[PROBE_KINDS], struct error *err)
{
	struct error uprobe_err = { .text = "" };
	int result = load(bench, err), uprobe_result;

	if (result)
		return result;
	bench->cpu_count = possible_cpus(err);
	if (bench->cpu_count < 0)
		return bench->cpu_count;
	bench->totals = calloc((size_t)bench->cpu_count, sizeof(*bench->totals));
	if (!bench->totals)
		return error_set(err, -ENOMEM, "no memory");
	/* Either kind is good without the other. */
	uprobe_result = measure_uprobes(bench, costs, &uprobe_err);
	if (bench->calibration->wanted[PROBE_BREAKPOINT])
		result = measure_breakpoints(bench, &costs[PROBE_BREAKPOINT], err);
	if (uprobe_result && err)
		*err = uprobe_err;
	return uprobe_result ? uprobe_result : result;
}

int calibrate(const struct calibration *calibration, struct probe_cost costs[PROBE_KINDS],
	      struct error *err)
{
	struct bench bench = { .calibration = calibration };
	int result;

	memset(costs, 0, PROBE_KINDS * sizeof(*costs));
	result = process_init(&bench.process, getpid(), err);
	if (result)
		return result;
	result = run(&bench, costs, err);
	uprobes_destroy(bench.uprobes);
	programs_destroy(bench.loaded);
	place_probe_bpf__destroy(bench.bpf);
	process_deinit(&bench.process);
	free(bench.totals);
	return result;
}
