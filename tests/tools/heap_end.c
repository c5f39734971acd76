// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * heap_end PID ADDRESS: where the target's runtime notes how far the code heap with ADDRESS is used,
 * and what it says there. For tests that have it say something else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "runtime/dotnet/codeheap.h"
#include "runtime/dotnet/jit.h"
#include "tests/tools/dotnet_of.h"

static int print_end(const struct clr *clr, uint64_t address, struct error *err)
{
	struct code_heap_nodes nodes;
	int found = 1;

	if (code_heap_nodes_read(&nodes, clr, err))
		return 1;
	for (size_t i = 0; i < nodes.count; i++) {
		struct look look = look_into(clr->memory);
		uint64_t at = nodes.list[i].at;
		uint64_t start = clr_u64(clr, &look, at, HEAP_START);
		uint64_t end = clr_u64(clr, &look, at, HEAP_END);

		if (look.bad || address < start || address >= end)
			continue;
		printf("0x%" PRIx64 " 0x%" PRIx64 "\n", clr_field(clr, &look, at, HEAP_END), end);
		found = 0;
	}
	code_heap_nodes_deinit(&nodes);
	return found;
}

int main(int argc, char **argv)
{
	struct target target = TARGET_NONE;
	struct resolution resolution;
	struct error err = { .text = "" };
	int result;

	if (argc != 3 || target_init(&target, atoi(argv[1]), &err) ||
	    resolution_init(&resolution, &target, &err)) {
		fprintf(stderr, "heap_end: %s\n", argc != 3 ? "which PID and ADDRESS?" : err.text);
		return 1;
	}
	result = print_end(&dotnet_of(&resolution)->jit->clr, strtoull(argv[2], NULL, 0), &err);
	resolution_deinit(&resolution);
	target_deinit(&target);
	return result;
}
