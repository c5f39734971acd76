// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a hit costs the target: a function that begins with push rbp is called in a loop,
 * bare, with an empty BPF program behind a uprobe, and with place-probe's own programs
 * there. The rounds alternate, so that what disturbs the machine disturbs all alike; the
 * best round of each counts. Prints ns a call and the ratio to the empty program.
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe/uprobes.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "base/error.h"
#include "target/maps.h"
#include "target/process.h"

enum {
	CALLS = 20000, /* short, so that some rounds are not disturbed at all */
	ROUNDS = 40,
	RING_BYTES = 64 << 20,
};

enum variant { BARE, EMPTY, COUNT, REPORT_NO_STACK, REPORT, VARIANTS };

static const char *const variant_names[] = {
	"no probe", "empty BPF program", "--count", "hits, --no-stack", "hits with stack",
};

__attribute__((noinline, noclone)) static void victim(void)
{
	__asm__ volatile("push %%rbp; pop %%rbp" ::: "memory");
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int load_empty(bool multi)
{
	const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type =
			    (enum bpf_attach_type)(multi ? UPROBE_MULTI_ATTACH_TYPE : 0));

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", return_0, 2, &options);
}

static struct place_probe_bpf *load_ours(bool multi, unsigned int max_frames)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();
	struct bpf_program *program;

	if (!bpf)
		return NULL;
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf->rodata->max_frames = max_frames;
	bpf->rodata->wakeup_bytes = UINT64_MAX;
	bpf_map__set_max_entries(bpf->maps.events, RING_BYTES);
	bpf_map__set_max_entries(bpf->maps.walks,
				 (uint32_t)(libbpf_num_possible_cpus() * WALK_SCRATCHES));
	bpf_object__for_each_program(program, bpf->obj)
	{
		if (multi)
			bpf_program__set_expected_attach_type(
				program, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	}
	if (place_probe_bpf__load(bpf)) {
		place_probe_bpf__destroy(bpf);
		return NULL;
	}
	bpf->bss->active = 1;
	return bpf;
}

/* Where victim() lies in our own file. */
static struct file_offset victim_offset(struct process *self)
{
	struct file_offset offset = { 0 };
	const struct mapping *row;
	struct maps maps;

	if (maps_read(&maps, self, NULL) == 0) {
		uint64_t address = (uint64_t)(uintptr_t)victim;

		row = maps_find(&maps, (struct address){ address });
		if (row)
			offset.value = row->offset.value + (address - row->start.value);
		maps_deinit(&maps);
	}
	return offset;
}

static int discard(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

static double round_ns(struct process *self, bool multi, int program_fd, const char *name)
{
	struct uprobe_site site = { .file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
	struct uprobes *uprobes = NULL;
	struct error err = { .text = "" };
	double start, end;

	site.offset = victim_offset(self);
	if (program_fd >= 0 &&
	    (uprobes_create(&uprobes, multi ? UPROBE_MULTI : UPROBE_PERF, program_fd, self, &err) ||
	     uprobes_attach(uprobes, &site, 1, &err))) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		_exit(1);
	}
	start = now_ns();
	for (int i = 0; i < CALLS; i++)
		victim();
	end = now_ns();
	uprobes_destroy(uprobes);
	close(site.file_fd);
	return (end - start) / CALLS;
}

int main(void)
{
	double best[VARIANTS] = { 0 };
	bool multi = uprobe_multi_works();
	struct place_probe_bpf *count = load_ours(multi, 0), *no_stack = load_ours(multi, 0),
			       *stack = load_ours(multi, EVENT_MAX_FRAMES);
	struct ring_buffer *rings[2];
	struct process self;
	struct error err = { .text = "" };
	int fds[VARIANTS];

	if (!count || !no_stack || !stack || process_init(&self, getpid(), &err)) {
		fprintf(stderr, "hit_cost: the programs do not load (root?) %s\n", err.text);
		return 1;
	}
	fds[BARE] = -1;
	fds[EMPTY] = load_empty(multi);
	fds[COUNT] = bpf_program__fd(count->progs.count_hit);
	fds[REPORT_NO_STACK] = bpf_program__fd(no_stack->progs.report_hit);
	fds[REPORT] = bpf_program__fd(stack->progs.report_hit);
	rings[0] = ring_buffer__new(bpf_map__fd(no_stack->maps.events), discard, NULL, NULL);
	rings[1] = ring_buffer__new(bpf_map__fd(stack->maps.events), discard, NULL, NULL);

	for (int round = 0; round < ROUNDS; round++) {
		for (int v = 0; v < VARIANTS; v++) {
			double ns = round_ns(&self, multi, fds[v], variant_names[v]);

			best[v] = best[v] == 0 || ns < best[v] ? ns : best[v];
			ring_buffer__consume(rings[0]);
			ring_buffer__consume(rings[1]);
		}
	}
	printf("by %s, push rbp at the site, best of %d rounds of %d calls\n",
	       multi ? "uprobe_multi" : "perf events", ROUNDS, CALLS);
	for (int v = 0; v < VARIANTS; v++)
		printf("%-20s %8.1f ns a call  %5.2f x the empty program\n", variant_names[v],
		       best[v], best[v] / best[EMPTY]);
	return 0;
}
