// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sealed PID: which bodies that the target's runtime has compiled lie on pages that it never writes
 * again: "sealed" or "open", address, tier and name, one a line. For tests, and to see shares.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "method/method_name.h"
#include "runtime/sealed.h"
#include "target/settle.h"
#include "tests/tools/dotnet_of.h"

enum { SETTLE_MS = 10000 };

static void print_bodies(struct jit *jit, const struct sealed_pages *pages)
{
	struct method_name name = { 0 };
	struct text spelled = { 0 };
	size_t sealed = 0;

	for (size_t i = 0; i < jit->body_count; i++) {
		const struct jit_body *body = &jit->bodies[i];
		bool first = sealed_pages_have(pages, body->start.value);
		bool all = first && sealed_pages_have(pages, body->start.value + body->size - 1);

		text_clear(&spelled);
		if (body->method && jit_method_name(jit, body->method, &name))
			method_name_spell(&name, &spelled);
		printf("%s 0x%" PRIx64 " %s %s\n", all ? "sealed" : "open", body->start.value,
		       tier_name(body->tier), text_chars(&spelled));
		sealed += all;
	}
	fprintf(stderr, "%zu of %zu bodies are sealed, in %zu pieces\n", sealed, jit->body_count,
		pages->count);
	method_name_deinit(&name);
	text_deinit(&spelled);
}

int main(int argc, char **argv)
{
	struct target target = TARGET_NONE;
	struct resolution resolution;
	struct sealed_pages pages = { 0 };
	struct error err = { .text = "" };

	if (argc != 2 || target_init(&target, atoi(argv[1]), &err) ||
	    resolution_init(&resolution, &target, &err) ||
	    runtimes_read_sealed(&resolution.runtimes, &pages, &err) ||
	    process_settle(&target.process, SETTLE_MS, &err)) {
		fprintf(stderr, "sealed: %s\n", argc != 2 ? "which PID?" : err.text);
		return 1;
	}
	if (!dotnet_of(&resolution)->jit)
		return 1;
	print_bodies(dotnet_of(&resolution)->jit, &pages);
	sealed_pages_deinit(&pages);
	resolution_deinit(&resolution);
	target_deinit(&target);
	return 0;
}
