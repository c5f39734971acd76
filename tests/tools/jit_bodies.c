// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit_bodies PID [REPEAT]: every body that the target's runtime has compiled, one a line, and on
 * standard error how much CPU time finding and naming them took. For tests and benchmarks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "method/method_name.h"
#include "target/memory.h"
#include "tests/tools/dotnet_of.h"

/* Of this process alone: what else the machine does matters less. */
static uint64_t cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void print_bodies(struct jit *jit, FILE *to)
{
	struct method_name name = { 0 };
	struct text spelled = { 0 };

	for (size_t i = 0; i < jit->method_count; i++) {
		const struct jit_method *method = &jit->methods[i];

		jit_method_name(jit, method, &name);
		text_clear(&spelled);
		method_name_spell(&name, &spelled);
		for (size_t b = 0; b < method->body_count; b++) {
			const struct jit_body *body = jit_method_body(jit, method, b);
			const char *state = body_state_name(body->state);

			if (to)
				fprintf(to, "0x%" PRIx64 " %" PRIu32 " %s %s %s%s\n",
					body->start.value, body->size, tier_name(body->tier),
					state ? state : "-", body->final ? "final " : "",
					text_chars(&spelled));
		}
	}
	method_name_deinit(&name);
	text_deinit(&spelled);
}

int main(int argc, char **argv)
{
	struct target target = TARGET_NONE;
	struct resolution resolution;
	struct error err = { .text = "" };
	int repeat = argc > 2 ? atoi(argv[2]) : 1;

	if (argc < 2 || target_init(&target, atoi(argv[1]), &err) ||
	    resolution_init(&resolution, &target, &err)) {
		fprintf(stderr, "jit_bodies: %s\n", argc < 2 ? "which PID?" : err.text);
		return 1;
	}
	if (!dotnet_of(&resolution)->jit) {
		fprintf(stderr, "jit_bodies: %s\n", dotnet_of(&resolution)->jit_problem->text);
		return 1;
	}
	print_bodies(dotnet_of(&resolution)->jit, stdout);
	for (int i = 0; i < repeat; i++) {
		uint64_t begin = cpu_now_ns(), read;
		uint64_t reads = memory_source_reads(resolution.target->memory);

		if (jit_read(dotnet_of(&resolution)->jit, &err)) {
			fprintf(stderr, "jit_bodies: %s\n", err.text);
			return 1;
		}
		read = cpu_now_ns();
		print_bodies(dotnet_of(&resolution)->jit, NULL);
		fprintf(stderr,
			"%zu bodies of %zu methods, %zu unreadable: read in %.1f ms (%" PRIu64
			" reads), named in %.1f ms\n",
			dotnet_of(&resolution)->jit->body_count,
			dotnet_of(&resolution)->jit->method_count,
			dotnet_of(&resolution)->jit->unreadable, (double)(read - begin) / 1e6,
			memory_source_reads(resolution.target->memory) - reads,
			(double)(cpu_now_ns() - read) / 1e6);
	}
	resolution_deinit(&resolution);
	target_deinit(&target);
	return 0;
}
