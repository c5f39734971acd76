/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF program that counts the hits of uprobes by their cookies: for who wants to know no more. */
#ifndef TESTS_HELPERS_HIT_COUNTER_H
#define TESTS_HELPERS_HIT_COUNTER_H

#include <bpf/bpf.h>
#include <stdint.h>

#include "probe/uprobes.h"

/* The table of the counts of @count cookies, from 0 on; negative: there is none. */
static inline int hit_counter_map(uint32_t count)
{
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "counts", sizeof(uint32_t), sizeof(uint64_t),
			      count, NULL);
}

/* A program that adds 1 to the number of its cookie in @map; negative: it is not loaded. */
static inline int hit_counter_load(int map, enum uprobe_means means)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)(
			    means == UPROBE_MULTI ? UPROBE_MULTI_ATTACH_TYPE : 0));
	const struct bpf_insn code[] = {
		/* *(u32 *)(r10 - 4) = bpf_get_attach_cookie(r1); r2 = r10 - 4; r1 = map */
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie },
		{ .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ .code = 0 },
		/* r0 = bpf_map_lookup_elem(r1, r2); if (r0) atomically *r0 += 1 */
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .src_reg = 1, .imm = BPF_ADD },
		/* return 0 */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count", "GPL", code,
			     sizeof(code) / sizeof(code[0]), &options);
}

static inline uint64_t hit_counter_read(int map, uint32_t cookie)
{
	uint64_t count = 0;

	return bpf_map_lookup_elem(map, &cookie, &count) ? 0 : count;
}

#endif
