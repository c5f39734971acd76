// SPDX-License-Identifier: GPL-2.0-or-later
/* --trace: from calls in the order in which they ended to a tree, also where some are missing. */
#include "base/cleanup.h"
#include "tests/unit/unit.h"

#include "base/text.h"
#include "bpf/latency.h"
#include "session/trace_tree.h"

enum { MANY = 1 << 16 };

/* What the tree of @calls is, as text: "R x1 took/self{...}". */
static void check(const struct traced_call *calls, size_t count, const char *wanted)
{
	_cleanup_(trace_tree_deinit) struct trace_tree tree;
	_cleanup_(text_deinit) struct text text = { 0 };

	assert_int_equal(trace_tree_make(&tree, calls, count), 0);
	for (size_t i = 0; i < tree.count; i++) {
		const struct trace_node *node = &tree.nodes[i];

		text_printf(&text, "%*s%c %d %d/%d", (int)node->depth, "", (char)node->method,
			    (int)node->calls, (int)node->took_ns, (int)node->self_ns);
		if (node->fates[WATCH_UNWOUND])
			text_printf(&text, " unwound %d", (int)node->fates[WATCH_UNWOUND]);
		if (node->fates[WATCH_UNSEEN])
			text_printf(&text, " unseen %d", (int)node->fates[WATCH_UNSEEN]);
		text_add_char(&text, '\n');
	}
	assert_string_equal(text_chars(&text), wanted);
}

#define CHECK(calls, wanted) check(calls, sizeof(calls) / sizeof((calls)[0]), wanted)

/* A call of @method_ that was entered at @at_ and took @took_. */
#define CALL(method_, depth_, at_, took_)                   \
	{                                                   \
		at_, took_, method_, depth_, WATCH_RETURNED \
	}

UNIT_TEST(alone)
{
	const struct traced_call calls[] = { CALL('R', 0, 10, 5) };

	CHECK(calls, "R 1 5/5\n");
	check(calls, 0, "");
}

UNIT_TEST(nested_and_merged)
{
	const struct traced_call calls[] = {
		CALL('Q', 2, 30, 3),   CALL('L', 1, 20, 10), CALL('Q', 1, 40, 2),
		CALL('Q', 2, 51, 4),   CALL('Z', 2, 60, 1),  CALL('L', 1, 50, 20),
		CALL('R', 0, 10, 100),
	};

	CHECK(calls, "R 1 100/68\n"
		     " L 2 30/22\n"
		     "  Q 2 7/7\n"
		     "  Z 1 1/1\n"
		     " Q 1 2/2\n");
}

UNIT_TEST(order_is_that_of_first_calls)
{
	const struct traced_call calls[] = {
		CALL('B', 1, 11, 1), CALL('A', 1, 13, 1), CALL('C', 1, 15, 1),
		CALL('A', 1, 17, 1), CALL('B', 1, 19, 1), CALL('R', 0, 10, 20),
	};

	CHECK(calls, "R 1 20/15\n B 2 2/2\n A 2 2/2\n C 1 1/1\n");
}

UNIT_TEST(recursion)
{
	const struct traced_call calls[] = {
		CALL('R', 3, 40, 10),
		CALL('D', 2, 30, 20),
		CALL('D', 1, 20, 30),
		CALL('R', 0, 10, 50),
	};

	CHECK(calls, "R 1 50/20\n D 1 30/10\n  D 1 20/10\n   R 1 10/10\n");
}

/* What their probes took is known by and large only. */
UNIT_TEST(self_time_is_never_below_zero)
{
	const struct traced_call calls[] = { CALL('A', 1, 20, 60), CALL('R', 0, 10, 50) };

	CHECK(calls, "R 1 50/0\n A 1 60/60\n");
}

UNIT_TEST(left_otherwise)
{
	const struct traced_call calls[] = {
		CALL('Q', 3, 40, 3),
		{ 30, 20, 'T', 2, WATCH_UNWOUND },
		{ 25, 30, 'T', 1, WATCH_UNWOUND },
		CALL('Q', 2, 71, 4),
		{ 70, 0, 'U', 1, WATCH_UNSEEN },
		CALL('R', 0, 10, 100),
	};

	CHECK(calls, "R 1 100/66\n"
		     " T 1 30/10 unwound 1\n"
		     "  T 1 20/17 unwound 1\n"
		     "   Q 1 3/3\n"
		     " U 1 4/0 unseen 1\n"
		     "  Q 1 4/4\n");
}

/* What a call had called that is missing is its caller's, never its next sibling's. */
UNIT_TEST(missing)
{
	const struct traced_call calls[] = {
		CALL('Q', 3, 30, 3),
		CALL('L', 1, 50, 10),
		CALL('Z', 4, 70, 1),
		CALL('R', 0, 10, 100),
	};

	CHECK(calls, "R 1 100/86\n Q 1 3/3\n L 1 10/10\n Z 1 1/1\n");
}

UNIT_TEST(what_is_not_within_the_root)
{
	const struct traced_call calls[] = {
		CALL('A', 1, 5, 3),    CALL('B', 0, 12, 3), CALL('C', 200, 13, 3),
		{ 14, 3, 'D', 1, 99 }, CALL('E', 1, 15, 3), CALL('R', 0, 10, 100),
	};

	CHECK(calls, "R 1 100/97\n E 1 3/3\n");
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Whatever comes: each node is within the one before it, or beside or around that. */
UNIT_TEST(anything)
{
	_cleanup_free_ struct traced_call *calls = calloc(MANY, sizeof(*calls));
	uint32_t seed = 1;

	assert_non_null(calls);
	for (int round = 0; round < 20; round++) {
		_cleanup_(trace_tree_deinit) struct trace_tree tree;
		uint64_t sum = 0;

		for (size_t i = 0; i < MANY; i++)
			calls[i] = (struct traced_call){
				.entered_ns = next_random(&seed) % (round % 2 ? 3 : MANY),
				.took_ns = next_random(&seed),
				.method = next_random(&seed) % (round + 1),
				.depth = (uint8_t)next_random(&seed),
				.fate = (uint8_t)(next_random(&seed) % (WATCH_FATES + 1)),
			};
		assert_int_equal(trace_tree_make(&tree, calls, MANY), 0);
		for (size_t i = 0; i < tree.count; i++) {
			const struct trace_node *node = &tree.nodes[i];

			sum += node->calls;
			assert_true(node->depth < LATENCY_DEPTH);
			assert_true(i ? node->depth >= 1 && node->depth <= node[-1].depth + 1 :
					node->depth == 0);
			assert_true(node->self_ns <= node->took_ns);
		}
		assert_true(sum <= MANY);
	}
}

/* As deep as calls are followed, and each of another method. */
UNIT_TEST(deep)
{
	struct traced_call calls[LATENCY_DEPTH];
	_cleanup_(trace_tree_deinit) struct trace_tree tree;

	for (uint32_t i = 0; i < LATENCY_DEPTH; i++)
		calls[LATENCY_DEPTH - 1 - i] = (struct traced_call)CALL(i, (uint8_t)i, i, 1000 - i);
	assert_int_equal(trace_tree_make(&tree, calls, LATENCY_DEPTH), 0);
	assert_int_equal(tree.count, LATENCY_DEPTH);
	for (uint32_t i = 0; i < LATENCY_DEPTH; i++)
		assert_true(tree.nodes[i].method == i && tree.nodes[i].depth == i);
}

UNIT_MAIN(NULL, NULL)
