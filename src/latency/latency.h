/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Durations of calls as the BPF programs have counted them (bpf/latency.h), and what is computed of
 * them: sums over sites, differences between two looks, percentiles.
 */
#ifndef LATENCY_LATENCY_H
#define LATENCY_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/latency.h"

struct latency_total {
	struct latency_key key;
	struct latency_totals is;
};

struct latency_count {
	struct latency_key key;
	uint64_t count;
};

/* One look: sorted by site, then by what they are kept apart by, then by bucket. */
struct latencies {
	struct latency_total *totals;
	size_t total_count;
	struct latency_count *buckets;
	size_t bucket_count;
};

void latencies_sort(struct latencies *latencies);
void latencies_deinit(struct latencies *latencies);

/* False if there is no memory. */
bool latencies_copy(struct latencies *to, const struct latencies *from);

/*
 * Take off what was there @before. The shortest and the longest of what is left are not known; they
 * are set to the bounds of the buckets that they are in.
 */
void latencies_subtract(struct latencies *latencies, const struct latencies *before);

/* The durations in a bucket: from @low_ns on, below @high_ns. */
void latency_bucket_bounds(uint32_t bucket, uint64_t *low_ns, uint64_t *high_ns);

enum { LATENCY_BUCKETS = (64 - LATENCY_SUB_BITS + 1) * LATENCY_SUBS };

/* Of one method, or of what else is printed as one. */
struct histogram {
	uint64_t returned;
	uint64_t unwound;
	uint64_t untimed;
	uint64_t unfinished; /* begun in the run, neither left nor given up; 0 if not known */
	uint64_t sum_ns;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t buckets[LATENCY_BUCKETS];
	uint64_t *linear; /* @linear_count + 2 of them, the caller's; NULL: there are none */
	size_t linear_count;
};

/* Add what is known of @key's site and by; its bucket has no meaning. */
void histogram_add(struct histogram *histogram, const struct latencies *latencies,
		   const struct latency_key *key);

/* How many calls of @key's site and by are over, in one way or another. */
uint64_t latencies_over(const struct latencies *latencies, const struct latency_key *key);

/* An estimate, at most 1/64 off: @share of the calls, from 0 to 1, took that long or less. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

#endif
