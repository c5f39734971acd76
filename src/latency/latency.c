// SPDX-License-Identifier: GPL-2.0-or-later
/* From the programs' totals to sums and percentiles, for session/histograms.c. */
#include "latency/latency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

static int by_key(const void *left, const void *right)
{
	const struct latency_key *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	return a->bucket < b->bucket ? -1 : a->bucket > b->bucket;
}

/* Both begin with their key. */
_Static_assert(offsetof(struct latency_total, key) == 0, "by_key() is given one");
_Static_assert(offsetof(struct latency_count, key) == 0, "by_key() is given one");

void latencies_sort(struct latencies *latencies)
{
	if (latencies->total_count)
		qsort(latencies->totals, latencies->total_count, sizeof(*latencies->totals),
		      by_key);
	if (latencies->bucket_count)
		qsort(latencies->buckets, latencies->bucket_count, sizeof(*latencies->buckets),
		      by_key);
}

void latencies_deinit(struct latencies *latencies)
{
	free(latencies->totals);
	free(latencies->buckets);
	*latencies = (struct latencies){ 0 };
}

bool latencies_copy(struct latencies *to, const struct latencies *from)
{
	size_t totals = from->total_count * sizeof(*from->totals);
	size_t buckets = from->bucket_count * sizeof(*from->buckets);

	*to = (struct latencies){
		.totals = malloc(totals + 1),
		.total_count = from->total_count,
		.buckets = malloc(buckets + 1),
		.bucket_count = from->bucket_count,
	};
	if (!to->totals || !to->buckets) {
		latencies_deinit(to);
		return false;
	}
	if (totals)
		memcpy(to->totals, from->totals, totals);
	if (buckets)
		memcpy(to->buckets, from->buckets, buckets);
	return true;
}

void latency_bucket_bounds(uint32_t bucket, uint64_t *low_ns, uint64_t *high_ns)
{
	uint32_t shift = bucket / LATENCY_SUBS ? bucket / LATENCY_SUBS - 1 : 0;
	uint64_t low = bucket < LATENCY_SUBS ? bucket : LATENCY_SUBS + bucket % LATENCY_SUBS;

	*low_ns = low << shift;
	/* Of the very last one that is 2^64. */
	*high_ns = bucket + 1 < LATENCY_BUCKETS ? (low + 1) << shift : UINT64_MAX;
}

/* The first of @count rows of @size bytes whose key is not before @key. */
static size_t first_at(const void *rows, size_t count, size_t size, const struct latency_key *key)
{
	return sorted_first(count, i, by_key((const char *)rows + i * size, key) < 0);
}

static bool same_group(const struct latency_key *a, const struct latency_key *b)
{
	return a->site == b->site && a->by == b->by;
}

/* The totals of @key's site and by; NULL if there are none. */
static const struct latency_totals *totals_of(const struct latencies *latencies,
					      const struct latency_key *key)
{
	const struct latency_key wanted = { .by = key->by, .site = key->site };
	size_t at = first_at(latencies->totals, latencies->total_count, sizeof(*latencies->totals),
			     &wanted);

	if (at == latencies->total_count || !same_group(&latencies->totals[at].key, &wanted))
		return NULL;
	return &latencies->totals[at].is;
}

/* The buckets of @key's site and by: [first, end). Linear ones are behind the others. */
static size_t buckets_of(const struct latencies *latencies, const struct latency_key *key,
			 size_t *end)
{
	const struct latency_key from = { .by = key->by, .site = key->site };
	size_t first = first_at(latencies->buckets, latencies->bucket_count,
				sizeof(*latencies->buckets), &from);

	for (*end = first;
	     *end < latencies->bucket_count && same_group(&latencies->buckets[*end].key, &from);
	     (*end)++)
		;
	return first;
}

static void bound_by_buckets(const struct latencies *latencies, struct latency_total *total)
{
	size_t end, first = buckets_of(latencies, &total->key, &end);
	uint64_t low, high;
	bool any = false;

	total->is.min_inverted_ns = total->is.max_ns = 0;
	for (size_t i = first; i < end; i++) {
		const struct latency_count *bucket = &latencies->buckets[i];

		if (bucket->count == 0 || bucket->key.bucket & LATENCY_LINEAR)
			continue;
		latency_bucket_bounds(bucket->key.bucket, &low, &high);
		if (!any)
			total->is.min_inverted_ns = ~low;
		any = true;
		total->is.max_ns = high - 1;
	}
}

void latencies_subtract(struct latencies *latencies, const struct latencies *before)
{
	for (size_t i = 0; i < latencies->bucket_count; i++) {
		struct latency_count *now = &latencies->buckets[i];
		size_t at = first_at(before->buckets, before->bucket_count,
				     sizeof(*before->buckets), &now->key);

		if (at < before->bucket_count && by_key(&before->buckets[at].key, &now->key) == 0)
			now->count -= before->buckets[at].count;
	}
	for (size_t i = 0; i < latencies->total_count; i++) {
		struct latency_total *now = &latencies->totals[i];
		const struct latency_totals *was = totals_of(before, &now->key);

		if (!was)
			continue;
		now->is.returned -= was->returned;
		now->is.unwound -= was->unwound;
		now->is.untimed -= was->untimed;
		now->is.sum_ns -= was->sum_ns;
		bound_by_buckets(latencies, now);
	}
}

static void add_totals(struct histogram *histogram, const struct latency_totals *totals)
{
	uint64_t min_ns = ~totals->min_inverted_ns;

	if (totals->returned && (histogram->returned == 0 || min_ns < histogram->min_ns))
		histogram->min_ns = min_ns;
	if (totals->returned && totals->max_ns > histogram->max_ns)
		histogram->max_ns = totals->max_ns;
	histogram->returned += totals->returned;
	histogram->unwound += totals->unwound;
	histogram->untimed += totals->untimed;
	histogram->sum_ns += totals->sum_ns;
}

void histogram_add(struct histogram *histogram, const struct latencies *latencies,
		   const struct latency_key *key)
{
	const struct latency_totals *totals = totals_of(latencies, key);
	size_t end, first = buckets_of(latencies, key, &end);

	if (totals)
		add_totals(histogram, totals);
	for (size_t i = first; i < end; i++) {
		uint32_t number = latencies->buckets[i].key.bucket & ~LATENCY_LINEAR;
		bool linear = latencies->buckets[i].key.bucket & LATENCY_LINEAR;

		if (linear && histogram->linear && number < histogram->linear_count + 2)
			histogram->linear[number] += latencies->buckets[i].count;
		else if (!linear && number < LATENCY_BUCKETS)
			histogram->buckets[number] += latencies->buckets[i].count;
	}
}

uint64_t latencies_over(const struct latencies *latencies, const struct latency_key *key)
{
	const struct latency_totals *totals = totals_of(latencies, key);

	return totals ? totals->returned + totals->unwound + totals->untimed : 0;
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
	uint64_t counted = 0, seen = 0, rank, low, high, middle;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		counted += histogram->buckets[i];
	if (counted == 0)
		return 0;
	rank = (uint64_t)ceil(share * (double)counted);
	rank = rank ? rank : 1;
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen < rank)
			continue;
		latency_bucket_bounds(i, &low, &high);
		middle = low + (high - low) / 2;
		if (middle < histogram->min_ns)
			return histogram->min_ns;
		return middle > histogram->max_ns ? histogram->max_ns : middle;
	}
	return histogram->max_ns;
}
