// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes a native function with a part of what place-probe does there, until it is interrupted, for
 * tests/bench to hold the whole against. Says "attached" on standard error.
 *
 *   native_floor PID ADDRESS empty     a program that does nothing
 *   native_floor PID ADDRESS record    room for a hit without a stack in a ring buffer, left as it is
 *   native_floor PID ADDRESS walk      the stack, which nobody gets
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/event.h"
#include "probe/uprobes.h"
#include "tests/helpers/native_target.h"

enum {
	BUFFER_BYTES = 8 << 20, /* as place-probe's, if nothing else is asked for */
	LOOK_MS = 50,		/* likewise */
};

static int load(const struct bpf_insn *insns, size_t count, bool multi)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type =
			    (enum bpf_attach_type)(multi ? UPROBE_MULTI_ATTACH_TYPE : 0));

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", insns, count, &options);
}

#define RETURN_0                                                       \
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 }, \
	{                                                              \
		.code = BPF_JMP | BPF_EXIT                             \
	}

static int load_empty(bool multi)
{
	const struct bpf_insn insns[] = { RETURN_0 };

	return load(insns, sizeof(insns) / sizeof(insns[0]), multi);
}

static int load_record(bool multi, int ring_fd)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW, /* and BPF_IMM, which is 0 as BPF_LD is */
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = ring_fd },
		{ .code = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_2,
		  .imm = HIT_EVENT_HEADER_BYTES },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_reserve },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 3 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_2,
		  .imm = BPF_RB_NO_WAKEUP },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_submit },
		RETURN_0,
	};

	return load(insns, sizeof(insns) / sizeof(insns[0]), multi);
}

static int discard(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

/* Until a signal that is blocked. @ring is NULL: nothing is read. */
static void wait_for_end(struct ring_buffer *ring)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fprintf(stderr, "attached\n");
	while (sigtimedwait(&signals, NULL, &look) < 0) {
		if (ring)
			ring_buffer__consume(ring);
	}
}

static int run_program(struct native_target *target, uint64_t address, bool records,
		       struct error *err)
{
	const struct mapping *row =
		target_find_mapping(&target->target, (struct address){ address });
	const struct target_file *file = row ? target_find_file(&target->target, row) : NULL;
	bool multi = uprobe_multi_works();
	int ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, BUFFER_BYTES, NULL);
	struct ring_buffer *ring = ring_buffer__new(ring_fd, discard, NULL, NULL);
	int program_fd = records ? load_record(multi, ring_fd) : load_empty(multi);
	struct uprobe_site site = { 0 };
	struct uprobes *uprobes = NULL;
	int result;

	if (!file || program_fd < 0 || !ring)
		return error_set(err, -EINVAL, "no file, or no program");
	site.file_fd = file->fd;
	site.offset = mapping_offset(row, (struct address){ address });
	result = uprobes_create(&uprobes, multi ? UPROBE_MULTI : UPROBE_PERF, program_fd,
				&target->target.process, err);
	result = result ? result : uprobes_attach(uprobes, &site, 1, err);
	if (result == 0)
		wait_for_end(ring);
	uprobes_destroy(uprobes);
	ring_buffer__free(ring);
	close(program_fd);
	close(ring_fd);
	return result;
}

static int run_walk(struct native_target *target, uint64_t address, struct error *err)
{
	const struct options options = {
		.mode = MODE_HITS,
		.stack = STACK_MODE_FULL,
		.max_frames = EVENT_MAX_FRAMES,
		.buffer_bytes = BUFFER_BYTES,
		.walk_only = true,
	};
	struct capture *capture;
	int result = native_target_read_unwind(target, err);

	result = result ? result : native_target_probe(target, address, &options, &capture, err);
	if (result)
		return result;
	capture_activate(capture);
	wait_for_end(NULL);
	capture_destroy(capture);
	return 0;
}

int main(int argc, char **argv)
{
	struct error err = { .text = "PID, ADDRESS and empty, record or walk are needed" };
	struct native_target target = { 0 };
	uint64_t address;
	int result;

	if (argc != 4 || native_target_open(&target, atoi(argv[1]), &err)) {
		fprintf(stderr, "native_floor: %s\n", err.text);
		return 1;
	}
	address = strtoull(argv[2], NULL, 0);
	result = strcmp(argv[3], "walk") == 0 ?
			 run_walk(&target, address, &err) :
			 run_program(&target, address, strcmp(argv[3], "record") == 0, &err);
	if (result)
		fprintf(stderr, "native_floor: %s\n", err.text);
	native_target_close(&target);
	return result ? 1 : 0;
}
