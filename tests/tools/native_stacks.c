// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints the stack of each call of a native function, as addresses, until it is interrupted. Says
 * "attached" on standard error, and at the end how many calls there were, and how many were lost.
 *
 *   native_stacks PID ADDRESS
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/helpers/native_target.h"

enum { BUFFER_BYTES = 8 << 20 }; /* as place-probe's, if nothing else is asked for */

static bool on_hit(const struct hit_event *event, void *ctx)
{
	uint64_t *frames = ctx;

	*frames += event->frame_count;
	for (int i = 0; i < event->frame_count; i++)
		printf(" %llx", (unsigned long long)event->frames[i].pc);
	putchar('\n');
	return true;
}

int main(int argc, char **argv)
{
	const struct options options = {
		.mode = MODE_HITS,
		.stack = STACK_MODE_FULL,
		.max_frames = EVENT_MAX_FRAMES,
		.buffer_bytes = BUFFER_BYTES,
	};
	uint64_t frames = 0, seen;
	const struct capture_handlers handlers = {
		.hit = on_hit,
		.tick = capture_no_tick,
		.ctx = &frames,
	};
	struct site_counters counters = { 0 };
	struct native_target target = { 0 };
	struct capture *capture = NULL;
	struct error err = { .text = "PID and ADDRESS are needed" };
	enum capture_end end;

	if (argc != 3 || native_target_open(&target, atoi(argv[1]), &err) ||
	    native_target_read_unwind(&target, &err) ||
	    native_target_probe(&target, strtoull(argv[2], NULL, 0), &options, &capture, &err)) {
		fprintf(stderr, "native_stacks: %s\n", err.text);
		return 1;
	}
	capture_activate(capture);
	fprintf(stderr, "attached\n");
	if (capture_consume(capture, &handlers, &end, &err))
		fprintf(stderr, "native_stacks: %s\n", err.text);
	capture_end(capture, &handlers);
	capture_read_counters(capture, &counters);
	seen = counters.hits - counters.lost;
	fprintf(stderr, "%llu calls, %llu lost, %.1f frames each\n",
		(unsigned long long)counters.hits, (unsigned long long)counters.lost,
		seen ? (double)frames / (double)seen : 0);
	capture_destroy(capture);
	native_target_close(&target);
	return 0;
}
