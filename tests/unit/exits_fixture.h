/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A body of a few bytes, and what is found in it: exits.h. */
#ifndef TESTS_UNIT_EXITS_FIXTURE_H
#define TESTS_UNIT_EXITS_FIXTURE_H

#include <string.h>

#include "code/exits.h"
#include "tests/unit/golden.h"
#include "tests/unit/unit.h"

enum {
	BEGIN = 0x10000, /* of the hot part */
	COLD = 0x20000,	 /* and of others */
	TABLE = 0x30000, /* of the data that the code refers to */
	PARTS_MAX = 3,
	TABLE_BYTES = 64,
	BOTH = 2,
};

/* A body with its data; what a test does not set is not there. */
struct body {
	struct golden code[PARTS_MAX];
	struct exit_part parts[PARTS_MAX];
	size_t part_count;
	bool midway;
	bool left;    /* .left_midway */
	bool unwound; /* .unwound_by_code */
	uint8_t table[TABLE_BYTES];
	size_t table_size;
	struct exits exits;
};

static inline bool read_table(void *ctx, uint64_t at, void *to, size_t size)
{
	const struct body *body = ctx;

	if (at < TABLE || at - TABLE > body->table_size || size > body->table_size - (at - TABLE))
		return false;
	memcpy(to, body->table + (at - TABLE), size);
	return true;
}

static inline void add_part(struct body *body, enum exit_part_kind kind, uint64_t begin,
			    const uint8_t *code, size_t size)
{
	struct golden *copy = &body->code[body->part_count];

	*copy = golden_copy(code, size);
	body->parts[body->part_count++] = (struct exit_part){
		.code = golden_span(copy),
		.begin = begin,
		.kind = kind,
	};
}

static inline const struct exits *find(struct body *body)
{
	const struct exit_body as_given = {
		.parts = body->parts,
		.part_count = body->part_count,
		.entered_midway = body->midway,
		.left_midway = body->left,
		.unwound_by_code = body->unwound,
		.read = body->table_size ? read_table : NULL,
		.ctx = body,
	};

	assert_int_equal(exits_find(&body->exits, &as_given, NULL), 0);
	if (body->exits.refusal)
		assert_int_equal(body->exits.count, 0);
	return &body->exits;
}

static inline void done(struct body *body)
{
	for (size_t i = 0; i < body->part_count; i++)
		golden_free(&body->code[i]);
	exits_deinit(&body->exits);
	*body = (struct body){ 0 };
}

#define ARRAY(...)          \
	(const uint8_t[])   \
	{                   \
		__VA_ARGS__ \
	}
#define BYTES(...)	       ARRAY(__VA_ARGS__), sizeof(ARRAY(__VA_ARGS__))
#define HOT(body, ...)	       add_part(body, EXIT_PART_HOT, BEGIN, BYTES(__VA_ARGS__))
#define OTHER(body, kind, ...) add_part(body, kind, COLD, BYTES(__VA_ARGS__))

/* The 32 bits of a displacement, as bytes of an instruction. */
#define LE32(n)                                                                      \
	(uint8_t)(n), (uint8_t)((uint32_t)(n) >> 8), (uint8_t)((uint32_t)(n) >> 16), \
		(uint8_t)((uint32_t)(n) >> 24)

static inline void expect_refusal(struct body *body, enum exits_refusal refusal, uint64_t at)
{
	const struct exits *exits = find(body);

	assert_int_equal(exits->refusal, refusal);
	assert_int_equal(exits->refused_at, at);
	done(body);
}

#define REFUSED(why, at, ...)                              \
	do {                                               \
		struct body body_ = { 0 };                 \
		HOT(&body_, __VA_ARGS__);                  \
		expect_refusal(&body_, why, BEGIN + (at)); \
	} while (0)

static inline void expect(const struct exits *exits, size_t index, uint32_t offset,
			  enum exit_kind kind, int32_t depth)
{
	const struct exit_site *site = &exits->sites[index];

	assert_int_equal(exits->refusal, EXITS_KNOWN);
	assert_true(index < exits->count);
	assert_int_equal(site->offset, offset);
	assert_int_equal(site->kind, kind);
	assert_int_equal(site->depth, depth);
}

/* A body with one exit. */
#define ONE_EXIT(offset, kind, depth, ...)                                   \
	do {                                                                 \
		struct body body_ = { 0 };                                   \
		HOT(&body_, __VA_ARGS__);                                    \
		expect(find(&body_), 0, offset, kind, depth);                \
		assert_int_equal(body_.exits.count, 1);                      \
		assert_int_equal(body_.exits.sites[0].at, BEGIN + (offset)); \
		done(&body_);                                                \
	} while (0)

#endif
