// SPDX-License-Identifier: GPL-2.0-or-later
/* The ring buffer of hits: who wakes its reader, and how often. Needs root. */
#include "capture_bench.h"

#include <sys/epoll.h>

static bool was_woken(const struct bench *bench)
{
	struct epoll_event event;

	return epoll_wait(bench->capture->wakes_fd, &event, 1, 0) == 1;
}

static void call_body(struct bench *bench, int calls)
{
	assert_true(caller_do(&bench->caller, (struct caller_order){ CALL, 0, 0, calls }));
}

/* Who sleeps is woken by one hit once there is enough, and then by none until it sleeps again. */
UNIT_TEST_WITHIN(test_woken_once, set_up, tear_down)
{
	const struct capture_handlers handlers = { .hit = on_hit,
						   .tick = capture_no_tick,
						   .ctx = *state };
	struct bench *bench = *state;
	const unsigned int *waits;

	bench->options.mode = MODE_HITS;
	bench->options.stack = STACK_MODE_NONE;
	bench->options.buffer_bytes = 4096;
	plan_body(bench, MECHANISM_UPROBE);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	waits = &bench->capture->bpf->bss->reader_waits;
	capture_activate(bench->capture);
	assert_true(capture_may_sleep(bench->capture));
	call_body(bench, 4);
	assert_false(was_woken(bench));
	assert_int_equal(*waits, 1);
	call_body(bench, 20);
	assert_true(was_woken(bench));
	assert_int_equal(*waits, 0);
	/* It has not read anything yet: no hit of these, which fill the ring, wakes it again. */
	call_body(bench, 1000);
	assert_false(was_woken(bench));
	assert_false(capture_may_sleep(bench->capture));
	assert_int_equal(capture_drain(bench->capture, &handlers, false), false);
	assert_true(bench->hit_count > 24);
	assert_true(capture_may_sleep(bench->capture));
	call_body(bench, 40);
	assert_true(was_woken(bench));
	capture_end(bench->capture, &handlers);
	capture_read_counters(bench->capture, bench->counters);
	assert_int_equal(bench->counters[0].hits, 1064);
	assert_int_equal(bench->hit_count, 1064 - bench->counters[0].lost);
}

/* The hit that is the last one asked for does not wait for others. */
UNIT_TEST_WITHIN(test_last_hit_wakes, set_up, tear_down)
{
	struct bench *bench = *state;

	bench->options.mode = MODE_HITS;
	bench->options.max_hits = 3;
	plan_body(bench, MECHANISM_UPROBE);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	capture_activate(bench->capture);
	assert_true(capture_may_sleep(bench->capture));
	call_body(bench, 2);
	assert_false(was_woken(bench));
	call_body(bench, 1);
	assert_true(was_woken(bench));
}

int main(void)
{
	unit_needs_root("probe a process");
	return unit_run(NULL, NULL);
}
