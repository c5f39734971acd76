/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of tests/golden, held in memory that ends where they do, so that ASAN sees overruns. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include <string.h>

#include "base/cleanup.h"
#include "image/cursor.h"
#include "tests/unit/unit.h"

struct golden {
	uint8_t *bytes;
	size_t size;
};

static inline struct span golden_span(const struct golden *golden)
{
	return (struct span){ golden->bytes, golden->size };
}

/* The first @size bytes of @bytes in a block of their own. */
static inline struct golden golden_copy(const uint8_t *bytes, size_t size)
{
	struct golden copy = { malloc(size ? size : 1), size };

	assert_non_null(copy.bytes);
	if (size)
		memcpy(copy.bytes, bytes, size);
	return copy;
}

static inline void golden_free(struct golden *golden)
{
	free(golden->bytes);
	*golden = (struct golden){ 0 };
}

/* The whole of tests/golden/NAME; tests run in the top of the tree. */
static inline struct golden golden_read(const char *name)
{
	enum { MOST = 1 << 20 };
	_cleanup_(golden_free) struct golden golden = { malloc(MOST), 0 };
	struct golden exact;
	char path[256];
	FILE *file;

	assert_non_null(golden.bytes);
	snprintf(path, sizeof(path), "tests/golden/%s", name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("cannot open %s", path);
	golden.size = fread(golden.bytes, 1, MOST, file);
	fclose(file);
	exact = golden_copy(golden.bytes, golden.size);
	return exact;
}

/* A sequence of numbers that is the same in every run. */
static inline uint32_t golden_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/*
 * Call @look on every truncation of the file, and on @rounds copies with a few bits
 * flipped: it may find anything, but must neither crash nor read outside.
 */
static inline void golden_torture(const char *name, unsigned int rounds,
				  void (*look)(struct span bytes))
{
	_cleanup_(golden_free) struct golden whole = golden_read(name);
	uint32_t state = 20261121;

	if (whole.size == 0)
		fail_msg("%s is empty", name);
	for (size_t size = 0; size < whole.size; size++) {
		_cleanup_(golden_free) struct golden cut = golden_copy(whole.bytes, size);

		look(golden_span(&cut));
	}
	for (unsigned int round = 0; round < rounds && whole.size > 0; round++) {
		_cleanup_(golden_free) struct golden flipped = golden_copy(whole.bytes, whole.size);
		uint32_t flips = 1 + golden_random(&state) % 8;

		for (uint32_t i = 0; i < flips; i++)
			flipped.bytes[golden_random(&state) % whole.size] ^=
				(uint8_t)(1u << golden_random(&state) % 8);
		look(golden_span(&flipped));
	}
}

#endif
