// SPDX-License-Identifier: GPL-2.0-or-later
/* Buckets, percentiles against the sorted durations, and what two looks differ by. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "latency/latency.h"

/* The bucket that bpf/latency.bpf.h has for a duration. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t power = 63 - (uint32_t)__builtin_clzll(ns | 1);

	if (ns < LATENCY_SUBS)
		return (uint32_t)ns;
	return (power - LATENCY_SUB_BITS + 1) * LATENCY_SUBS +
	       ((uint32_t)(ns >> (power - LATENCY_SUB_BITS)) & (LATENCY_SUBS - 1));
}

UNIT_TEST(buckets_follow_each_other)
{
	uint64_t low, high, last = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		latency_bucket_bounds(i, &low, &high);
		assert_int_equal(low, last);
		assert_true(high > low);
		assert_int_equal(bucket_of(low), i);
		assert_int_equal(bucket_of(high - 1), i);
		/* The middle is within 1/64 of all that is in it, but for single durations. */
		if (high - low > 1)
			assert_true((high - low + 1) / 2 <= low / 64 + 1);
		last = high;
	}
	assert_true(last == UINT64_MAX);
}

static int by_number(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Which of so many, in their order, is the first that @share of them do not exceed. */
static size_t rank_of(double share, size_t count)
{
	size_t rank = 1;

	while ((double)rank < share * (double)count)
		rank++;
	return rank;
}

UNIT_TEST(percentiles_are_within_three_percent)
{
	enum { COUNT = 100000 };
	static const double shares[] = { 0, 0.5, 0.9, 0.99, 0.999, 1 };
	static uint64_t durations[COUNT];
	static struct histogram histogram;
	uint64_t seed = 1;

	histogram.min_ns = UINT64_MAX;
	for (size_t i = 0; i < COUNT; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		/* From nanoseconds to minutes, as likely in each power of two. */
		durations[i] =
			(1ULL << (seed >> 59)) + ((seed >> 20) & ((1ULL << (seed >> 59)) - 1));
		histogram.buckets[bucket_of(durations[i])]++;
		histogram.returned++;
		if (durations[i] < histogram.min_ns)
			histogram.min_ns = durations[i];
		if (durations[i] > histogram.max_ns)
			histogram.max_ns = durations[i];
	}
	qsort(durations, COUNT, sizeof(durations[0]), by_number);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		uint64_t truth = durations[rank_of(shares[i], COUNT) - 1];
		uint64_t estimate = histogram_percentile(&histogram, shares[i]);
		uint64_t error = estimate > truth ? estimate - truth : truth - estimate;

		assert_true(error <= truth * 3 / 100);
	}
}

UNIT_TEST(no_call_has_no_percentile)
{
	static const struct histogram none;

	assert_int_equal(histogram_percentile(&none, 0.5), 0);
}

UNIT_TEST(few_calls)
{
	static struct histogram histogram;

	for (uint32_t i = 1; i <= 5; i++)
		histogram.buckets[i]++;
	histogram.min_ns = 1;
	histogram.max_ns = 5;
	assert_int_equal(histogram_percentile(&histogram, 0.5), 3);
	assert_int_equal(histogram_percentile(&histogram, 0.6), 3);
	assert_int_equal(histogram_percentile(&histogram, 0.9), 5);
	assert_int_equal(histogram_percentile(&histogram, 0), 1);
}

static struct latency_total total(uint32_t site, uint64_t by, uint64_t returned, uint64_t min_ns,
				  uint64_t max_ns)
{
	return (struct latency_total){
		.key = { .by = by, .site = site },
		.is = { .returned = returned,
			.unwound = 1,
			.sum_ns = returned * max_ns,
			.max_ns = max_ns,
			.min_inverted_ns = ~min_ns },
	};
}

UNIT_TEST(sites_and_bys_are_kept_apart)
{
	struct latency_total totals[] = { total(2, 7, 3, 10, 20), total(1, 9, 5, 4, 30),
					  total(1, 7, 2, 100, 200) };
	struct latency_count buckets[] = {
		{ { 9, 1, 12 }, 5 },
		{ { 7, 2, 15 }, 3 },
		{ { 7, 1, bucket_of(150) }, 2 },
		{ { 7, 1, LATENCY_LINEAR | 1 }, 2 },
	};
	struct latencies latencies = { totals, 3, buckets, 4 };
	static struct histogram histogram;
	uint64_t linear[4] = { 0 };

	latencies_sort(&latencies);
	memset(&histogram, 0, sizeof(histogram));
	histogram.linear = linear;
	histogram.linear_count = 2;
	histogram_add(&histogram, &latencies, &(struct latency_key){ .by = 7, .site = 1 });
	assert_int_equal(histogram.returned, 2);
	assert_int_equal(histogram.min_ns, 100);
	assert_int_equal(histogram.buckets[bucket_of(150)], 2);
	assert_int_equal(linear[1], 2);
	histogram_add(&histogram, &latencies, &(struct latency_key){ .by = 9, .site = 1 });
	assert_int_equal(histogram.returned, 7);
	assert_int_equal(histogram.unwound, 2);
	assert_int_equal(histogram.min_ns, 4);
	assert_int_equal(histogram.max_ns, 200);
	assert_int_equal(histogram.sum_ns, 5 * 30 + 2 * 200);
	assert_int_equal(histogram.buckets[12], 5);
	assert_int_equal(latencies_over(&latencies, &(struct latency_key){ .by = 9, .site = 1 }),
			 6);
	assert_int_equal(latencies_over(&latencies, &(struct latency_key){ .by = 8, .site = 1 }),
			 0);
	/* One that is not there. */
	histogram_add(&histogram, &latencies, &(struct latency_key){ .by = 8, .site = 1 });
	assert_int_equal(histogram.returned, 7);
}

UNIT_TEST(an_interval_is_what_is_new)
{
	struct latency_total before_totals[] = { total(1, 0, 5, 10, 3000) };
	struct latency_count before_buckets[] = { { { 0, 1, 10 }, 4 },
						  { { 0, 1, bucket_of(3000) }, 1 } };
	struct latency_total now_totals[] = { total(1, 0, 9, 10, 3000), total(4, 0, 2, 5, 6) };
	struct latency_count now_buckets[] = { { { 0, 1, 10 }, 4 },
					       { { 0, 1, bucket_of(800) }, 4 },
					       { { 0, 1, bucket_of(3000) }, 1 },
					       { { 0, 4, 5 }, 2 } };
	struct latencies before = { before_totals, 1, before_buckets, 2 };
	struct latencies now = { now_totals, 2, now_buckets, 4 };
	static struct histogram histogram;
	uint64_t low, high;

	memset(&histogram, 0, sizeof(histogram));
	latencies_subtract(&now, &before);
	histogram_add(&histogram, &now, &(struct latency_key){ .site = 1 });
	latency_bucket_bounds(bucket_of(800), &low, &high);
	assert_int_equal(histogram.returned, 4);
	assert_int_equal(histogram.unwound, 0);
	assert_int_equal(histogram.min_ns, low);
	assert_int_equal(histogram.max_ns, high - 1);
	assert_int_equal(histogram.buckets[10], 0);
	assert_int_equal(histogram.buckets[bucket_of(800)], 4);
	memset(&histogram, 0, sizeof(histogram));
	histogram_add(&histogram, &now, &(struct latency_key){ .site = 4 });
	assert_int_equal(histogram.returned, 2);
	assert_int_equal(histogram.max_ns, 6);
}

UNIT_MAIN(NULL, NULL)
