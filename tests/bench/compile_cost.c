// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What following costs each compilation of a method that nobody asks for. A function that stands for
 * the JIT's compileMethod is called in a loop with a method laid out as .NET 10 has it, of a module
 * that is known: bare, with an empty BPF program behind each of its two uprobes, and with
 * place-probe's own programs there. The rounds alternate; the best of each counts. Prints ns a call,
 * and what our probes cost in terms of the empty ones.
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/uprobes.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "base/clock.h"
#include "runtime/dotnet/layout.h"
#include "base/error.h"
#include "target/maps.h"
#include "target/process.h"

enum {
	CALLS = 500, /* short, so that some rounds are not disturbed at all */
	ROUNDS = 40,
	RING_BYTES = 1 << 16,
	COMPILES = 1 << 12,
	KNOWN = 16, /* modules, and methods */
	MAJOR = 10,
	RID = 0x1234,
	MODULE = 0x12340,
	OBJECT_BYTES = 256,
};

enum variant { BARE, EMPTY, OURS, OURS_ARMED, VARIANTS };

static const char *const variant_names[] = {
	"no probes",
	"two empty BPF programs",
	"ours, not asked for",
	"ours, with a body that may be freed",
};

/* First instruction, arguments and the one ret as the real one has them. */
int compile_method(void *this, void *jit_info, const void *method_info, unsigned int flags,
		   uint8_t **code, uint32_t *size);
extern const uint8_t compile_method_return[];

__asm__(".text\n"
	".p2align 4\n"
	".globl compile_method, compile_method_return\n"
	".type compile_method, @function\n"
	"compile_method:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	xor %eax, %eax\n"
	"	pop %rbp\n"
	"compile_method_return:\n"
	"	ret\n"
	".size compile_method, . - compile_method\n");

/* A method as the runtime has it. */
struct method {
	uint64_t table[OBJECT_BYTES / 8];
	uint64_t chunk[OBJECT_BYTES / 8]; /* its MethodDesc is in there */
	const void *info;		  /* CORINFO_METHOD_INFO: begins with the MethodDesc */
	uint64_t jit_info[OBJECT_BYTES / 8];
	uint8_t *code;
	uint32_t size;
};

/* What is put behind the two probes. */
struct programs {
	int begin_fd;
	int end_fd;
};

struct bench {
	struct process self;
	enum uprobe_means means;
	struct place_probe_bpf *bpf;
	struct method method;
	int file_fd;
};

static void die(const char *what, const struct error *err)
{
	fprintf(stderr, "compile_cost: %s %s\n", what, err->text);
	exit(1);
}

static int load_empty(enum uprobe_means means)
{
	const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)(
			    means == UPROBE_MULTI ? UPROBE_MULTI_ATTACH_TYPE : 0));

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", return_0, 2, &options);
}

static void load_ours(struct bench *bench)
{
	const struct error none = { .text = "" };
	struct bpf_program *program;
	struct place_probe_bpf *bpf = place_probe_bpf__open();

	if (!bpf)
		die("the programs cannot be opened", &none);
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf_map__set_max_entries(bpf->maps.events, RING_BYTES);
	bpf_map__set_max_entries(bpf->maps.follow_events, RING_BYTES);
	bpf_map__set_max_entries(bpf->maps.compiles, COMPILES);
	bpf_map__set_max_entries(bpf->maps.watched, KNOWN);
	bpf_map__set_max_entries(bpf->maps.modules, KNOWN);
	bpf_object__for_each_program(program, bpf->obj)
	{
		bpf_program__set_autoload(program, program == bpf->progs.compile_begin ||
							   program == bpf->progs.compile_end_held);
		if (bench->means == UPROBE_MULTI)
			bpf_program__set_expected_attach_type(
				program, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	}
	if (place_probe_bpf__load(bpf))
		die("the programs do not load (root?)", &none);
	bench->bpf = bpf;
}

static void set(void *object, const struct layout *layout, enum layout_field field, uint64_t value,
		size_t size)
{
	memcpy((uint8_t *)object + layout->at[field], &value, size);
}

/* Method RID of MODULE, where the layout has each field. */
static void make_method(struct method *method, const struct layout *layout)
{
	enum { INDEX = 3 }; /* its place in the chunk, in words */
	uint8_t *chunk = (uint8_t *)method->chunk;
	uint8_t *desc = chunk + layout->at[CHUNK_SIZE] + 8 * INDEX;

	set(method->table, layout, TABLE_MODULE_FIELD, MODULE, 8);
	set(chunk, layout, CHUNK_METHOD_TABLE, (uint64_t)(uintptr_t)method->table, 8);
	set(chunk, layout, CHUNK_TOKEN_RANGE, RID >> layout->token_bits, 2);
	set(desc, layout, METHOD_TOKEN, RID & ((1u << layout->token_bits) - 1), 2);
	set(desc, layout, METHOD_CHUNK_INDEX, INDEX, 1);
	method->info = desc;
}

/* As follow_create() leaves it. */
static void prepare(struct bench *bench)
{
	const uint64_t module = MODULE;
	const uint32_t known = MODULE_KNOWN;
	struct follow_shared *shared = &bench->bpf->bss->follow;
	struct error err = { .text = "" };
	struct layout layout;

	if (layout_init(&layout, MAJOR, NULL, &err) || layout_for_programs(&layout, shared, &err) ||
	    bpf_map_update_elem(bpf_map__fd(bench->bpf->maps.modules), &module, &known, BPF_ANY))
		die("the programs cannot be set up", &err);
	make_method(&bench->method, &layout);
	shared->hold_ns = 5 * NS_PER_MS;
	shared->image_hold_ns = 5 * NS_PER_MS;
	shared->holding = 1;
	shared->following = 1;
}

/* Where @address lies in our own file. */
static struct file_offset offset_of(struct process *self, const void *address)
{
	struct file_offset offset = { 0 };
	const struct mapping *row;
	struct maps maps;

	if (maps_read(&maps, self, NULL) == 0) {
		uint64_t at = (uint64_t)(uintptr_t)address;

		row = maps_find(&maps, (struct address){ at });
		if (row)
			offset.value = row->offset.value + (at - row->start.value);
		maps_deinit(&maps);
	}
	return offset;
}

static struct uprobes *attach(struct bench *bench, int program_fd, const void *address)
{
	struct uprobe_site site = {
		.file_fd = bench->file_fd,
		.offset = offset_of(&bench->self, address),
	};
	struct error err = { .text = "" };
	struct uprobes *uprobes = NULL;

	if (program_fd < 0)
		return NULL;
	if (uprobes_create(&uprobes, bench->means, program_fd, &bench->self, &err) ||
	    uprobes_attach(uprobes, &site, 1, &err))
		die("cannot attach:", &err);
	return uprobes;
}

static double round_ns(struct bench *bench, struct programs programs)
{
	struct uprobes *at_end = attach(bench, programs.end_fd, compile_method_return);
	struct uprobes *at_begin = attach(bench, programs.begin_fd, (const void *)compile_method);
	struct method *method = &bench->method;
	uint64_t start = clock_now_ns(), end;

	for (int i = 0; i < CALLS; i++)
		compile_method(NULL, method->jit_info, &method->info, 0, &method->code,
			       &method->size);
	end = clock_now_ns();
	uprobes_destroy(at_begin);
	uprobes_destroy(at_end);
	return (double)(end - start) / CALLS;
}

/* Each was seen, taken for what it is, and nobody was told. */
static void check(const struct bench *bench)
{
	const struct follow_shared *shared = &bench->bpf->bss->follow;
	const struct error none = { .text = "" };

	if (shared->compilations != 2ull * ROUNDS * CALLS)
		die("the programs have not seen each compilation", &none);
	if (shared->next_hold || shared->lost || shared->unreadable || shared->failed)
		die("the programs have taken it for one that was asked for", &none);
}

int main(void)
{
	double best[VARIANTS] = { 0 };
	struct bench bench = { .file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
	struct programs programs[VARIANTS];
	struct error err = { .text = "" };

	if (process_init(&bench.self, getpid(), &err))
		die("we are not there:", &err);
	bench.means = uprobe_multi_works() ? UPROBE_MULTI : UPROBE_PERF;
	load_ours(&bench);
	prepare(&bench);
	programs[BARE] = (struct programs){ -1, -1 };
	programs[EMPTY] = (struct programs){ load_empty(bench.means), load_empty(bench.means) };
	programs[OURS] = (struct programs){
		bpf_program__fd(bench.bpf->progs.compile_begin),
		bpf_program__fd(bench.bpf->progs.compile_end_held),
	};
	programs[OURS_ARMED] = programs[OURS];

	for (int round = 0; round < ROUNDS; round++) {
		for (int v = 0; v < VARIANTS; v++) {
			double ns;

			bench.bpf->bss->follow.armed[0] = v == OURS_ARMED ? UINT64_MAX / 2 : 0;
			ns = round_ns(&bench, programs[v]);
			best[v] = best[v] == 0 || ns < best[v] ? ns : best[v];
		}
	}
	check(&bench);
	printf("by %s, at the entry and at the return, best of %d rounds of %d calls\n",
	       bench.means == UPROBE_MULTI ? "uprobe_multi" : "perf events", ROUNDS, CALLS);
	for (int v = 0; v < VARIANTS; v++)
		printf("%-36s %8.1f ns a call  %5.2f x two empty programs\n", variant_names[v],
		       best[v], (best[v] - best[BARE]) / (best[EMPTY] - best[BARE]));
	place_probe_bpf__destroy(bench.bpf);
	process_deinit(&bench.self);
	close(bench.file_fd);
	return 0;
}
