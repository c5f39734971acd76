// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What capturing the values of a call costs beyond the same call without them, as the kernel's own
 * clock of the programs has it (BPF_STATS_RUN_TIME): the two traps of a call take ten microseconds
 * on some machines, more or less by more than what is looked for. A function is called in a loop,
 * with place-probe's programs for --watch at its entry and its exit. What they run is as it is
 * compiled, and also without src/capture/fuse.c. Then likewise --count, and with filters that
 * reject (--if). The rounds alternate; the best batch of each counts.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/fuse.h"
#include "probe/uprobes.h"
#include "target/maps.h"
#include "target/process.h"
#include "tests/bench/own_site.h"

enum {
	CALLS = 50,
	BATCHES = 40,
	ROUNDS = 20,
	RING_BYTES = 1 << 20,
	OPS = 64,
};

void watched_victim(long first, const void *second);
extern const char watched_victim_exit[];

__asm__(".pushsection .text\n"
	".globl watched_victim, watched_victim_exit\n"
	"watched_victim: push %rbp\n"
	"pop %rbp\n"
	"watched_victim_exit: jmp 1f\n"
	"1: ret\n"
	".popsection\n");

#define TAKE(cell, from)                                                               \
	{                                                                              \
		.code = WATCH_TAKE, .dst = (cell), .source = WATCH_ARGUMENT_0 + (from) \
	}
#define PUT(cell, bytes, number)                                                    \
	{                                                                           \
		.code = WATCH_PUT, .src = (cell), .size = (bytes), .slot = (number) \
	}
#define IF_ZERO(cell)                                                        \
	{                                                                    \
		.code = WATCH_IF_ZERO, .src = (cell), .otherwise = WATCH_END \
	}
#define LOAD(to, from, at, bytes, other)                                                         \
	{                                                                                        \
		.code = WATCH_LOAD, .dst = (to), .src = (from), .offset = (at), .size = (bytes), \
		.slot = WATCH_NO_SLOT, .otherwise = (other)                                      \
	}

static const struct watch_op ints[] = { TAKE(3, 0), PUT(3, 4, 0), TAKE(3, 1), PUT(3, 4, 1) };
static const struct watch_op c_string[] = {
	TAKE(3, 1),
	PUT(3, 8, 0),
	TAKE(0, 1),
	IF_ZERO(0),
	{ .code = WATCH_COPY_CSTRING, .src = 0, .offset = 12, .size = 64, .slot = 1 },
};
/* As a string of .NET: its length, and 32 characters of two bytes. */
static const struct watch_op string[] = {
	TAKE(3, 1),
	PUT(3, 8, 0),
	TAKE(0, 1),
	IF_ZERO(0),
	LOAD(3, 0, 8, 4, WATCH_END),
	{ .code = WATCH_COPY_TIMES,
	  .dst = 3,
	  .src = 0,
	  .offset = 12,
	  .immediate = 1,
	  .size = 64,
	  .slot = 1 },
};
static const struct watch_op object[] = {
	TAKE(3, 1),
	PUT(3, 8, 0),
	TAKE(0, 1),
	IF_ZERO(0),
	{ .code = WATCH_COPY_FIXED, .src = 0, .size = 24, .slot = 1 },
};

/* Filters as --if makes them: the last ops are what is said where it is so, and where it is not. */
#define ACCEPT_OR_REJECT                                    \
	{ .code = WATCH_ACCEPT }, { .code = WATCH_REJECT }, \
	{                                                   \
		.code = WATCH_UNDECIDED                     \
	}
#define IF_EQUAL(cell, value, other)                                                              \
	{                                                                                         \
		.code = WATCH_IF_EQUAL, .src = (cell), .immediate = (value), .otherwise = (other) \
	}
#define IF_SET(cell, other)                                                \
	{                                                                  \
		.code = WATCH_IF_ZERO, .src = (cell), .otherwise = (other) \
	}
#define IF_SAME(cell, at, bytes, other)                                                      \
	{                                                                                    \
		.code = WATCH_IF_SAME_BYTES, .src = (cell), .offset = (at), .size = (bytes), \
		.otherwise = (other)                                                         \
	}

static const struct watch_op int_is[] = { TAKE(0, 0),
					  { .code = WATCH_MASK, .immediate = UINT32_MAX },
					  IF_EQUAL(0, 4711, 4),
					  ACCEPT_OR_REJECT };
static const struct watch_op string_is_short[] = { TAKE(0, 1),
						   IF_SET(0, 6),
						   LOAD(1, 0, 8, 4, 7),
						   IF_EQUAL(1, 7, 6),
						   IF_SAME(0, 12, 2 * 7, 6),
						   ACCEPT_OR_REJECT };
static const struct watch_op string_is[] = {
	TAKE(0, 1),	    IF_SET(0, 6),	   LOAD(1, 0, 8, 4, 7),
	IF_EQUAL(1, 32, 6), IF_SAME(0, 12, 64, 6), ACCEPT_OR_REJECT
};
static const struct watch_op c_string_is[] = { TAKE(0, 1), IF_SET(0, 4), IF_SAME(0, 12, 33, 4),
					       ACCEPT_OR_REJECT };
static const struct watch_op field_is[] = { TAKE(0, 1),
					    IF_SET(0, 7),
					    LOAD(0, 0, 8, 4, 8),
					    { .code = WATCH_ADD, .immediate = 1U << 31 },
					    { .code = WATCH_MASK, .immediate = UINT32_MAX },
					    IF_EQUAL(0, 7 ^ 1U << 31, 7),
					    ACCEPT_OR_REJECT };

/* One read more. */
static const struct watch_op fields_are[] = { TAKE(0, 1),
					      IF_SET(0, 9),
					      LOAD(1, 0, 0, 8, 10),
					      IF_EQUAL(1, 1, 9),
					      LOAD(0, 0, 8, 4, 10),
					      { .code = WATCH_ADD, .immediate = 1U << 31 },
					      { .code = WATCH_MASK, .immediate = UINT32_MAX },
					      IF_EQUAL(0, 7 ^ 1U << 31, 9),
					      ACCEPT_OR_REJECT };

static const struct variant {
	const char *name;
	const struct watch_op *ops;
	size_t count;
	bool fused;
} filters[] = {
	{ "--count", NULL, 0, false },
	{ "an int", int_is, sizeof(int_is) / sizeof(int_is[0]), true },
	{ "a string, by its length", string_is_short,
	  sizeof(string_is_short) / sizeof(string_is_short[0]), true },
	{ "a string of 32, at once", string_is, sizeof(string_is) / sizeof(string_is[0]), true },
	{ "char * of 32, at once", c_string_is, sizeof(c_string_is) / sizeof(c_string_is[0]),
	  true },
	{ "an int in an object", field_is, sizeof(field_is) / sizeof(field_is[0]), true },
	{ "two numbers in an object", fields_are, sizeof(fields_are) / sizeof(fields_are[0]),
	  true },
};

enum { FILTERS = sizeof(filters) / sizeof(filters[0]) };

static const struct variant variants[] = {
	{ "--watch --no-values", NULL, 0, false },
	{ "two ints, op by op", ints, sizeof(ints) / sizeof(ints[0]), false },
	{ "two ints", ints, sizeof(ints) / sizeof(ints[0]), true },
	{ "char * of 32", c_string, sizeof(c_string) / sizeof(c_string[0]), true },
	{ "string of 32, op by op", string, sizeof(string) / sizeof(string[0]), false },
	{ "string of 32", string, sizeof(string) / sizeof(string[0]), true },
	{ "an object of 24 bytes", object, sizeof(object) / sizeof(object[0]), true },
};

enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static void fail(const char *what)
{
	fprintf(stderr, "watch_cost: %s (root?)\n", what);
	exit(1);
}

static struct bpf_program *program_of(const struct place_probe_bpf *bpf, bool watch)
{
	return watch ? bpf->progs.time_hit : bpf->progs.count_hit;
}

/* --watch; or, unless that is @watch, --count, which @filters. */
static struct place_probe_bpf *load(enum uprobe_means means, bool watch, bool filters_too)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();
	struct bpf_program *program, *ours = bpf ? program_of(bpf, watch) : NULL;

	if (!bpf)
		fail("the programs cannot be opened");
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf->rodata->watch_values = watch;
	bpf->rodata->watch_filters = filters_too;
	bpf->rodata->wakeup_bytes = RING_BYTES;
	bpf_object__for_each_program(program, bpf->obj)
	{
		bpf_program__set_autoload(program, program == ours);
	}
	if (means == UPROBE_MULTI)
		bpf_program__set_expected_attach_type(
			ours, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	bpf_map__set_max_entries(bpf->maps.events, RING_BYTES);
	bpf_map__set_max_entries(bpf->maps.timed_threads, LATENCY_THREADS);
	bpf_map__set_max_entries(bpf->maps.watch_ops, OPS);
	bpf_map__set_max_entries(bpf->maps.watch_slots, WATCH_CALLS + WATCH_SPARE);
	bpf_map__set_max_entries(bpf->maps.watch_free, WATCH_CALLS + WATCH_SPARE);
	bpf_map__set_max_entries(bpf->maps.filter_slots,
				 (uint32_t)libbpf_num_possible_cpus() * FILTER_SCRATCHES);
	if (place_probe_bpf__load(bpf))
		fail("the programs do not load");
	return bpf;
}

static void use(const struct place_probe_bpf *bpf, const struct variant *variant, bool filter)
{
	const struct timed_site timed = { .ready = 1 };
	const uint8_t count = (uint8_t)variant->count;
	const struct watch_program program = {
		.first = 1,
		.filter_count = filter ? count : 0,
		.entry_count = filter ? 0 : count,
	};
	struct watch_op ops[OPS] = { { 0 } };
	const uint32_t site = 0;

	for (size_t i = 0; i < variant->count; i++)
		ops[i] = variant->ops[i];
	if (variant->fused)
		fuse_ops(ops, variant->count);
	for (uint32_t i = 1; i <= variant->count; i++) {
		if (bpf_map__update_elem(bpf->maps.watch_ops, &i, sizeof(i), &ops[i - 1],
					 sizeof(ops[0]), BPF_ANY))
			fail("a program cannot be set");
	}
	if (bpf_map__update_elem(bpf->maps.watch_programs, &site, sizeof(site), &program,
				 sizeof(program), BPF_ANY) ||
	    bpf_map__update_elem(bpf->maps.timed_sites, &site, sizeof(site), &timed, sizeof(timed),
				 BPF_ANY))
		fail("a site cannot be set");
}

static int discard(void *ctx, void *data, size_t size)
{
	(void)data;
	(void)size;
	++*(size_t *)ctx;
	return 0;
}

/* At the entry and the exit, or, of --count, at the entry alone. */
static struct uprobes *attach(const struct place_probe_bpf *bpf, enum uprobe_means means,
			      bool watch)
{
	struct error err = { .text = "" };
	struct uprobes *uprobes = NULL;
	struct uprobe_site sites[2];
	struct process self;
	struct maps maps;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (process_init(&self, getpid(), &err) || maps_read(&maps, &self, &err))
		fail("we cannot be looked at");
	sites[0] = own_site(&maps, fd, (uintptr_t)watched_victim, 0);
	sites[1] = own_site(&maps, fd, (uintptr_t)watched_victim_exit, LATENCY_EXIT);
	maps_deinit(&maps);
	if (uprobes_create(&uprobes, means, bpf_program__fd(program_of(bpf, watch)), &self, &err) ||
	    uprobes_attach(uprobes, sites, watch ? 2 : 1, &err))
		fail(err.text);
	close(fd);
	return uprobes;
}

/* What the programs have taken until now. */
static uint64_t run_time_ns(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		fail("the kernel says nothing of the programs");
	return info.run_time_ns;
}

static double best_batch_ns(struct ring_buffer *ring, int fd)
{
	static const struct {
		uint64_t type;
		uint32_t length;
		char chars[65];
	} text = { 1, 32, "thirty-two characters, not more." };
	uint64_t best_ns = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = run_time_ns(fd), took_ns;

		for (int i = 0; i < CALLS; i++)
			watched_victim(i, &text);
		took_ns = run_time_ns(fd) - start;
		if (took_ns < best_ns)
			best_ns = took_ns;
		ring_buffer__consume(ring);
	}
	return (double)best_ns / CALLS;
}

/* All calls of @variant. */
static void measure(struct place_probe_bpf *bpf, struct ring_buffer *ring,
		    const struct variant *variant, bool watch, double *best)
{
	double ns;

	use(bpf, variant, !watch);
	bpf->bss->active = 1;
	ns = best_batch_ns(ring, bpf_program__fd(program_of(bpf, watch)));
	bpf->bss->active = 0;
	*best = *best == 0 || ns < *best ? ns : *best;
}

/* Only these programs are there meanwhile: of several at one place a later one takes longer. */
static void measure_all(struct place_probe_bpf *bpf, enum uprobe_means means,
			struct ring_buffer *ring, bool watch, const struct variant *of,
			size_t count, double *best)
{
	struct uprobes *uprobes = attach(bpf, means, watch);

	for (size_t v = 0; v < count; v++)
		measure(bpf, ring, &of[v], watch, &best[v]);
	uprobes_destroy(uprobes);
}

static uint64_t filtered(const struct place_probe_bpf *bpf)
{
	const uint32_t site = 0;
	struct site_counters of;

	if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.counters), &site, &of))
		fail("the counts cannot be read");
	return of.filtered;
}

static void print(const struct variant *variant, const double *best, size_t v)
{
	printf("  %-26s %8.1f ns  %6.1f more\n", variant->name, best[v], best[v] - best[0]);
}

int main(void)
{
	enum uprobe_means means = uprobe_multi_works() ? UPROBE_MULTI : UPROBE_PERF;
	struct place_probe_bpf *watch = load(means, true, false);
	struct place_probe_bpf *count = load(means, false, false);
	struct place_probe_bpf *filter = load(means, false, true);
	size_t events = 0;
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(watch->maps.events), discard, &events, NULL);
	double best[VARIANTS] = { 0 }, of_filters[FILTERS] = { 0 };

	if (!ring || bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		fail("there is no ring, or no clock of programs");
	for (int round = 0; round < ROUNDS; round++) {
		measure_all(watch, means, ring, true, variants, VARIANTS, best);
		measure_all(count, means, ring, false, filters, 1, of_filters);
		measure_all(filter, means, ring, false, filters + 1, FILTERS - 1, of_filters + 1);
	}
	if (events != (size_t)ROUNDS * VARIANTS * BATCHES * CALLS)
		fail("some calls were not reported");
	if (filtered(filter) != (uint64_t)ROUNDS * (FILTERS - 1) * BATCHES * CALLS)
		fail("some calls were not rejected");
	printf("time in the programs of a call, best of %d batches of %d calls\n", ROUNDS * BATCHES,
	       CALLS);
	for (size_t v = 0; v < VARIANTS; v++)
		print(&variants[v], best, v);
	printf("likewise of --count, with --if that rejects\n");
	for (size_t v = 0; v < FILTERS; v++)
		print(&filters[v], of_filters, v);
	return 0;
}
