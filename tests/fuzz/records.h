/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a fuzzer's bytes do to a made-up target: records, each of which changes something in it at
 * its time. Included behind the world's header; apply() is the fuzzer's own.
 */
#ifndef TESTS_FUZZ_RECORDS_H
#define TESTS_FUZZ_RECORDS_H

enum { RECORDS_MAX = 64 };

struct record {
	uint8_t when; /* before so many reads; 0: before the first look */
	uint8_t change;
	uint16_t field;
	uint16_t value;
} __attribute__((packed));

struct plan {
	const uint8_t *records;
	size_t count;
	uint64_t done; /* a bit each */
};

_Static_assert(RECORDS_MAX <= 64, "plan.done has so many bits");

static void apply(struct world *world, const struct record *record);

/* Those whose time has come by @reads; world->ctx is the plan. */
static inline void apply_until(struct world *world, uint64_t reads)
{
	struct plan *plan = world->ctx;

	for (size_t i = 0; i < plan->count && i < RECORDS_MAX; i++) {
		struct record record;

		memcpy(&record, plan->records + i * sizeof(record), sizeof(record));
		if (record.when > reads || plan->done >> i & 1)
			continue;
		plan->done |= (uint64_t)1 << i;
		apply(world, &record);
	}
}

#endif
