// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What timing a call costs beyond the two probes that it takes: a function is called in a loop, bare, with
 * empty BPF programs behind uprobes at its entry and its exit, and with place-probe's own there, also
 * kept apart by thread and by caller. Once with a jump as its exit, which the kernel emulates, so that
 * the difference is not lost in what single steps take; and once with a return, as it is in life. The rounds
 * alternate; the best batch of each counts.
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/uprobes.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "base/clock.h"
#include "base/error.h"
#include "target/maps.h"
#include "target/process.h"
#include "tests/bench/own_site.h"

enum {
	CALLS = 50, /* of a batch: short, so that some are not disturbed at all */
	BATCHES = 40,
	ROUNDS = 20,
	TARGET_NS = 400,
};

enum variant { BARE, EMPTY, BY_SITE, BY_TID, BY_CALLER, LINEAR, VARIANTS };

static const char *const variant_names[] = {
	"no probe",	   "empty BPF programs", "--hist",
	"--hist --by tid", "--hist --by caller", "--hist=linear",
};

void victim_jump(void);
void victim_jump_exit(void);
void victim_return(void);
void victim_return_exit(void);

__asm__(".pushsection .text\n"
	".globl victim_jump, victim_jump_exit, victim_return, victim_return_exit\n"
	"victim_jump: push %rbp\n"
	"pop %rbp\n"
	"victim_jump_exit: jmp 1f\n"
	"1: ret\n"
	"victim_return: push %rbp\n"
	"pop %rbp\n"
	"victim_return_exit: ret\n"
	".popsection\n");

struct victim {
	const char *name;
	void (*function)(void);
	void (*exit)(void);
};

static const struct victim victims[] = {
	{ "a jump as exit (emulated)", victim_jump, victim_jump_exit },
	{ "a return as exit (single-stepped)", victim_return, victim_return_exit },
};

static void fail(const char *what, const struct error *err)
{
	fprintf(stderr, "latency_cost: %s (root?) %s\n", what, err->text);
	exit(1);
}

static int load_nothing(enum uprobe_means means)
{
	const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options);

	if (means == UPROBE_MULTI)
		options.expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE;
	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", return_0, 2, &options);
}

/* As a run has it: the maps are as large. */
static int load_ours(enum uprobe_means means, enum variant variant)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();
	const struct timed_site timed = { .ready = 1, .within_ns = 1, .entry_ns = 1, .exit_ns = 1 };
	struct bpf_program *program;
	const uint32_t site = 0;

	if (!bpf)
		return -1;
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf->rodata->latency_by = variant == BY_TID    ? LATENCY_BY_TID :
				  variant == BY_CALLER ? LATENCY_BY_CALLER :
							 LATENCY_BY_SITE;
	bpf->rodata->linear_step_ns = variant == LINEAR ? 100 : 0;
	bpf->rodata->linear_count = variant == LINEAR ? 1000 : 0;
	bpf_map__set_max_entries(bpf->maps.timed_threads, LATENCY_THREADS);
	bpf_map__set_max_entries(bpf->maps.site_totals, 1024);
	bpf_map__set_max_entries(bpf->maps.latency_totals, 1024);
	bpf_map__set_max_entries(bpf->maps.latency_buckets, 1 << 14);
	bpf_object__for_each_program(program, bpf->obj)
	{
		bpf_program__set_autoload(program, program == bpf->progs.time_hit);
	}
	if (means == UPROBE_MULTI)
		bpf_program__set_expected_attach_type(
			bpf->progs.time_hit, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	if (place_probe_bpf__load(bpf) ||
	    bpf_map_update_elem(bpf_map__fd(bpf->maps.timed_sites), &site, &timed, BPF_ANY))
		return -1;
	bpf->bss->active = 1;
	return bpf_program__fd(bpf->progs.time_hit);
}

static double best_batch_ns(const struct victim *victim)
{
	uint64_t best_ns = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = clock_now_ns(), took_ns;

		for (int i = 0; i < CALLS; i++)
			victim->function();
		took_ns = clock_now_ns() - start;
		if (took_ns < best_ns)
			best_ns = took_ns;
	}
	return (double)best_ns / CALLS;
}

static double round_ns(const struct victim *victim, struct process *self, enum uprobe_means means,
		       int program_fd)
{
	struct error err = { .text = "" };
	struct uprobes *uprobes = NULL;
	struct uprobe_site sites[2];
	struct maps maps;
	double best_ns;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (maps_read(&maps, self, &err))
		fail("our mappings cannot be read", &err);
	sites[0] = own_site(&maps, fd, (uintptr_t)victim->function, 0);
	sites[1] = own_site(&maps, fd, (uintptr_t)victim->exit, LATENCY_EXIT);
	maps_deinit(&maps);
	if (program_fd >= 0 && (uprobes_create(&uprobes, means, program_fd, self, &err) ||
				uprobes_attach(uprobes, sites, 2, &err)))
		fail("the probes cannot be attached", &err);
	best_ns = best_batch_ns(victim);
	uprobes_destroy(uprobes);
	close(fd);
	return best_ns;
}

static void bench(const struct victim *victim, struct process *self, enum uprobe_means means,
		  const int programs[VARIANTS])
{
	double best[VARIANTS] = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		for (int v = 0; v < VARIANTS; v++) {
			double ns = round_ns(victim, self, means, programs[v]);

			best[v] = round == 0 || ns < best[v] ? ns : best[v];
		}
	}
	printf("%s, best of %d batches of %d calls\n", victim->name, ROUNDS * BATCHES, CALLS);
	for (int v = 0; v < VARIANTS; v++) {
		printf("  %-20s %8.1f ns a call", variant_names[v], best[v]);
		if (v > EMPTY)
			printf("  %6.1f more than two bare probes (wanted: %d)",
			       best[v] - best[EMPTY], TARGET_NS);
		printf("\n");
	}
}

int main(void)
{
	enum uprobe_means means = uprobe_multi_works() ? UPROBE_MULTI : UPROBE_PERF;
	struct error err = { .text = "" };
	struct process self;
	int programs[VARIANTS];

	if (process_init(&self, getpid(), &err))
		fail("we cannot be looked at", &err);
	programs[BARE] = -1;
	programs[EMPTY] = load_nothing(means);
	for (enum variant v = BY_SITE; v < VARIANTS; v++)
		programs[v] = load_ours(means, v);
	for (int v = EMPTY; v < VARIANTS; v++) {
		if (programs[v] < 0)
			fail("the programs do not load", &err);
	}
	for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++)
		bench(&victims[i], &self, means, programs);
	return 0;
}
