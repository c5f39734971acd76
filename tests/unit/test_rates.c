// SPDX-License-Identifier: GPL-2.0-or-later
/* Which hits are reported where not all are to be (--sample, --max-rate). Needs root. */
#include "capture_bench.h"

enum {
	RATE = 20,
	CALLS = 500,
};

static char names[BODIES][8];

static void plan_method(struct bench *bench, const char *method)
{
	size_t body = bench->plan.count;
	static char image[] = "caller";

	plan_body(bench, MECHANISM_UPROBE);
	snprintf(names[body], sizeof(names[body]), "%s", method);
	bench->sites[body].method = names[body];
	bench->sites[body].image = image;
	bench->sites[body].tier = TIER_NATIVE;
}

static void begin(struct bench *bench)
{
	bench->options.mode = MODE_HITS;
	bench->options.stack = STACK_MODE_NONE;
	assert_return_code(plan_sort_methods(&bench->plan, &bench->err), 0);
	if (create(bench))
		fail_msg("%s", bench->err.text);
	capture_activate(bench->capture);
}

static void call_body(struct bench *bench, int body, int calls)
{
	assert_true(caller_do(&bench->caller, (struct caller_order){ CALL, body, 0, calls }));
}

static void end(struct bench *bench)
{
	const struct capture_handlers handlers = { .hit = on_hit,
						   .tick = capture_no_tick,
						   .ctx = bench };

	capture_end(bench->capture, &handlers);
	capture_read_counters(bench->capture, bench->counters);
	free((void *)bench->plan.by_method);
}

static size_t hits_of(const struct bench *bench, unsigned int first, unsigned int last)
{
	size_t count = 0;

	for (size_t i = 0; i < bench->hit_count; i++)
		count += bench->hits[i].site >= first && bench->hits[i].site <= last;
	return count;
}

static void check_counts(const struct bench *bench, unsigned int site, uint64_t calls)
{
	const struct site_counters *of = &bench->counters[site];

	assert_int_equal(of->hits, calls);
	assert_int_equal(of->lost, 0);
	assert_int_equal(hits_of(bench, site, site) + of->sampled_out + of->shed, calls);
}

/* Two bodies of one method have one rate, and another method has one of its own. */
static void test_rate_of_a_method(void **state)
{
	struct bench *bench = *state;
	uint64_t seconds;

	bench->options.max_rate = RATE;
	plan_method(bench, "a");
	plan_method(bench, "b");
	plan_method(bench, "a");
	begin(bench);
	seconds = clock_now_ns() / NS_PER_S;
	call_body(bench, 0, CALLS);
	call_body(bench, 2, CALLS);
	call_body(bench, 1, CALLS);
	seconds = clock_now_ns() / NS_PER_S - seconds + 1;
	end(bench);
	for (unsigned int site = 0; site < 3; site++) {
		check_counts(bench, site, CALLS);
		assert_int_equal(bench->counters[site].sampled_out, 0);
	}
	assert_in_range(hits_of(bench, 0, 0), RATE, RATE * seconds);
	assert_in_range(hits_of(bench, 1, 1), RATE, RATE * seconds);
	assert_in_range(hits_of(bench, 0, 0) + hits_of(bench, 2, 2), RATE, RATE * seconds);
}

/* The first of each ten. */
static void test_sample(void **state)
{
	struct bench *bench = *state;

	bench->options.sample_hits = 10;
	plan_method(bench, "a");
	plan_method(bench, "b");
	begin(bench);
	call_body(bench, 0, CALLS);
	call_body(bench, 1, 1);
	call_body(bench, 0, 1);
	end(bench);
	check_counts(bench, 0, CALLS + 1);
	check_counts(bench, 1, 1);
	assert_int_equal(hits_of(bench, 0, 0), CALLS / 10 + 1);
	assert_int_equal(hits_of(bench, 1, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rate_of_a_method, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sample, set_up, tear_down),
	};

	unit_needs_root("probe a process");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
