// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times the calls of a native function until it is interrupted, and tells how many there were, what one
 * took in the average, without what the probes take, and what those were measured to take.
 *
 *   native_latency PID ADDRESS EXIT     EXIT: where its only return is
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "latency/latency.h"
#include "tests/helpers/native_target.h"

enum { BUFFER_BYTES = 4096 };

static bool on_hit(const struct hit_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return true;
}

static void tell(const struct capture *capture)
{
	const struct capture_costs costs = capture_costs(capture);
	struct error err = { .text = "" };
	struct latencies latencies;
	uint64_t returned = 0, sum_ns = 0;

	if (capture_read_latencies(capture, &latencies, &err)) {
		fprintf(stderr, "native_latency: %s\n", err.text);
		return;
	}
	for (size_t i = 0; i < latencies.total_count; i++) {
		returned += latencies.totals[i].is.returned;
		sum_ns += latencies.totals[i].is.sum_ns;
	}
	printf("%" PRIu64 " calls, %.1f ns each; probes take %u and %u ns%s%s\n", returned,
	       returned ? (double)sum_ns / (double)returned : 0, costs.entry.most_ns,
	       costs.exit.most_ns, costs.problem ? ": " : "", costs.problem ? costs.problem : "");
	latencies_deinit(&latencies);
}

int main(int argc, char **argv)
{
	const struct capture_handlers handlers = { .hit = on_hit, .tick = capture_no_tick };
	const struct options options = {
		.mode = MODE_HIST,
		.timed = true,
		.buffer_bytes = BUFFER_BYTES,
	};
	struct error err = { .text = "PID, ADDRESS and EXIT are needed" };
	struct native_target target = { 0 };
	struct capture *capture = NULL;
	enum capture_end end;

	if (argc != 4 || native_target_open(&target, atoi(argv[1]), &err) ||
	    native_target_time(&target, strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0),
			       &options, &capture, &err)) {
		fprintf(stderr, "native_latency: %s\n", err.text);
		return 1;
	}
	capture_activate(capture);
	if (capture_consume(capture, &handlers, &end, &err))
		fprintf(stderr, "native_latency: %s\n", err.text);
	capture_end(capture, &handlers);
	tell(capture);
	capture_destroy(capture);
	native_target_close(&target);
	return 0;
}
