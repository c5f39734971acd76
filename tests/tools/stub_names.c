// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stub_names PID FILE: what the runtime's own code is at each of the file's addresses, hexadecimal and one a line;
 * "-" if it is none. For tests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "tests/tools/dotnet_of.h"

enum { LINE_BYTES = 64 };

int main(int argc, char **argv)
{
	struct target target = TARGET_NONE;
	struct resolution resolution;
	struct error err = { .text = "" };
	char line[LINE_BYTES];
	FILE *addresses = argc > 2 ? fopen(argv[2], "re") : NULL;

	if (!addresses || target_init(&target, atoi(argv[1]), &err) ||
	    resolution_init(&resolution, &target, &err)) {
		fprintf(stderr, "stub_names: %s\n", addresses ? err.text : "which PID and file?");
		return 1;
	}
	if (!dotnet_of(&resolution)->jit) {
		fprintf(stderr, "stub_names: %s\n", dotnet_of(&resolution)->jit_problem->text);
		return 1;
	}
	while (fgets(line, sizeof(line), addresses)) {
		const struct address address = { strtoull(line, NULL, 16) };
		const char *name = jit_stub_name(dotnet_of(&resolution)->jit, address);

		printf("%" PRIx64 " %s\n", address.value, name ? name : "-");
	}
	fclose(addresses);
	resolution_deinit(&resolution);
	target_deinit(&target);
	return 0;
}
