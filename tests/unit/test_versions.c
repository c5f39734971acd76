// SPDX-License-Identifier: GPL-2.0-or-later
/* versions.h: which tier a body is of, whether calls go to it, and whether that may change. */
#include "tests/unit/clr_methods.h"
#include "tests/unit/golden.h"

#include "runtime/dotnet/versions.h"

/* Rows of tests/golden/tiny-bodies.dll by their IL; types own two, two and one. */
enum { CCTOR = 1, SMALL, NOT_SURE, HUGE, DAMAGED };

/* Rows of tests/golden/tiny-flags.dll. */
enum { NO_FLAGS = 1, NO_OPTIMIZATION, AGGRESSIVE };

/* As the runtime numbers them. */
enum { R_TIER0, R_TIER1, R_OSR, R_OPTIMIZED, R_INSTRUMENTED, R_TIER1_INSTRUMENTED };

enum {
	TIERED = WORLD_METHOD_TIERED | WORLD_METHOD_SLOT,
	ONCE = WORLD_METHOD_SLOT,
	COUNTS_NODE = 1, /* CallCountingInfo: whose calls, and how far */
	COUNTS_OWN = 2,
	COUNTING = 1,
	COUNTED = 4,
};

struct books {
	struct world world;
	struct world_heap heap;
	struct jit *jit;
	uint64_t bodies; /* modules */
	uint64_t flags;
};

static void books_init(struct books *b, unsigned int major)
{
	world_init(&b->world, major, WORLD_ROOM);
	b->bodies = world_file_module(&b->world, "tiny-bodies.dll");
	b->flags = world_file_module(&b->world, "tiny-flags.dll");
	b->heap = world_heap(&b->world, 65536, false);
	assert_int_equal(world_create_jit(&b->world, &b->jit, NULL), 0);
}

static void books_deinit(struct books *b)
{
	jit_destroy(b->jit);
	world_deinit(&b->world);
}

static void for_each_version(void (*test)(struct books *b))
{
	for (unsigned int major = 8; major <= 10; major++) {
		struct books b;

		books_init(&b, major);
		test(&b);
		books_deinit(&b);
	}
}

static uint64_t method(struct books *b, uint64_t module, uint32_t rid, unsigned int what)
{
	uint32_t type = rid <= 2 ? 2 : rid <= 4 ? 3 : 4;

	return world_method(&b->world, world_type(&b->world, module, type), rid, what);
}

/* A body with so much code that its method's IL is looked at. */
static uint64_t body(struct books *b, uint64_t desc)
{
	return world_body(&b->world, &b->heap, 4096, desc);
}

/* A method with a body that is its own version. */
static uint64_t own_body(struct books *b, uint64_t module, uint32_t rid, unsigned int what)
{
	uint64_t desc = method(b, module, rid, what), start = body(b, desc);

	if (what & WORLD_METHOD_SLOT)
		world_set_own(&b->world, desc, start);
	return start;
}

static uint64_t desc_of(struct books *b, uint64_t start)
{
	uint64_t header = world_get(&b->world, start - 8, 8);

	return world_get(&b->world, world_field(&b->world, header, CODE_METHOD_DESC), 8);
}

static void look(struct books *b)
{
	assert_int_equal(jit_read(b->jit, NULL), 0);
	assert_int_equal(b->jit->unreadable, 0);
}

#define assert_body(b, at, expected_tier, expected_state, expected_final)                       \
	do {                                                                                    \
		const struct jit_body *found = jit_find_body((b)->jit, (struct address){ at }); \
                                                                                                \
		assert_non_null(found);                                                         \
		assert_string_equal(tier_name(found->tier), tier_name(expected_tier));          \
		assert_int_equal(found->state, expected_state);                                 \
		assert_int_equal(found->final, expected_final);                                 \
	} while (0)

/* Methods that are compiled once ------------------------------------------------------------ */

EACH_VERSION(compiled_once, struct books *b)
{
	uint64_t small = own_body(b, b->bodies, SMALL, ONCE);
	uint64_t without_slot = own_body(b, b->bodies, SMALL, 0);
	uint64_t not_sure = own_body(b, b->bodies, NOT_SURE, ONCE);
	uint64_t huge = own_body(b, b->bodies, HUGE, ONCE);
	uint64_t damaged = own_body(b, b->bodies, DAMAGED, ONCE);
	uint64_t no_optimization = own_body(b, b->flags, NO_OPTIMIZATION, ONCE);
	uint64_t aggressive = own_body(b, b->flags, AGGRESSIVE, ONCE);
	uint64_t debug = own_body(b, b->bodies, SMALL, ONCE);

	look(b);
	assert_body(b, small, TIER_OPTIMIZED, STATE_CURRENT, true);
	assert_body(b, without_slot, TIER_OPTIMIZED, STATE_CURRENT, true);
	assert_body(b, not_sure, TIER_UNKNOWN, STATE_CURRENT, true);
	assert_body(b, huge, TIER_MINOPT, STATE_CURRENT, true);
	assert_body(b, damaged, TIER_UNKNOWN, STATE_CURRENT, true);
	assert_body(b, no_optimization, TIER_MINOPT, STATE_CURRENT, true);
	assert_body(b, aggressive, TIER_OPTIMIZED, STATE_CURRENT, true);

	world_set(&b->world, b->bodies, MODULE_FLAGS, 0, 4); /* built for debugging */
	look(b);
	assert_body(b, debug, TIER_MINOPT, STATE_CURRENT, true);
	assert_body(b, not_sure, TIER_MINOPT, STATE_CURRENT, true);
	assert_body(b, aggressive, TIER_OPTIMIZED, STATE_CURRENT, true);
}

/* DOTNET_JITMinOpts is 1. */
EACH_VERSION(never_optimized, struct books *b)
{
	static const uint8_t signature[] = { 0x00, 0x00, 0x01 };
	uint64_t small = own_body(b, b->bodies, SMALL, ONCE);
	uint64_t type = world_type(&b->world, b->flags, 2);
	uint64_t dynamic =
		body(b, world_dynamic(&b->world, type, "Made", signature, sizeof(signature)));

	look(b);
	assert_body(b, dynamic, TIER_OPTIMIZED, STATE_CURRENT, true);
	world_config(&b->world, CONFIG_MIN_OPTS, 1);
	look(b);
	assert_body(b, small, TIER_MINOPT, STATE_CURRENT, true);
	assert_body(b, dynamic, TIER_MINOPT, STATE_CURRENT, true);
	/* What is neither yes nor no is no setting. */
	world_config(&b->world, CONFIG_MIN_OPTS, 77);
	look(b);
	assert_body(b, small, TIER_OPTIMIZED, STATE_CURRENT, true);
	world_config(&b->world, CONFIG_MIN_OPTS, 0);
	world_set(&b->world, b->flags, MODULE_FLAGS, 0, 4);
	look(b);
	assert_body(b, dynamic, TIER_MINOPT, STATE_CURRENT, true);
}

/* The JIT of .NET 8 does not optimise .cctor. */
EACH_VERSION(class_constructors, struct books *b)
{
	uint64_t once = own_body(b, b->bodies, CCTOR, ONCE);
	uint64_t tiered = own_body(b, b->bodies, CCTOR, TIERED);
	bool plain = b->world.major == 8;

	world_count_calls(&b->world, desc_of(b, tiered), COUNTS_OWN, COUNTED);
	look(b);
	assert_body(b, once, plain ? TIER_MINOPT : TIER_OPTIMIZED, STATE_CURRENT, true);
	assert_body(b, tiered, plain ? TIER_MINOPT : TIER_OPTIMIZED, STATE_CURRENT, true);
}

/* The slot holds other code than the only body: it is being put there, or was. */
EACH_VERSION(other_code_in_the_slot, struct books *b)
{
	uint64_t once = own_body(b, b->bodies, SMALL, ONCE);
	uint64_t tiered = own_body(b, b->bodies, SMALL, TIERED);

	world_set_own(&b->world, desc_of(b, once), 0);
	world_set_own(&b->world, desc_of(b, tiered), 0);
	look(b);
	assert_body(b, once, TIER_UNKNOWN, STATE_UNKNOWN, false);
	assert_body(b, tiered, TIER_UNKNOWN, STATE_UNKNOWN, false);
}

/* Methods that tier up ---------------------------------------------------------------------- */

EACH_VERSION(own_versions, struct books *b)
{
	uint64_t first = own_body(b, b->bodies, SMALL, TIERED);
	uint64_t not_sure = own_body(b, b->bodies, NOT_SURE, TIERED);
	uint64_t counting = own_body(b, b->bodies, SMALL, TIERED);
	uint64_t counted = own_body(b, b->bodies, SMALL, TIERED);
	uint64_t other = own_body(b, b->bodies, SMALL, TIERED);

	world_count_calls(&b->world, desc_of(b, counting), COUNTS_OWN, COUNTING);
	world_count_calls(&b->world, desc_of(b, counted), COUNTS_OWN, COUNTED);
	world_count_calls(&b->world, desc_of(b, other), COUNTS_NODE, COUNTED);
	look(b);
	assert_body(b, first, TIER_TIER0, STATE_CURRENT, false);
	assert_body(b, not_sure, TIER_UNKNOWN, STATE_CURRENT, false);
	assert_body(b, counting, TIER_TIER0, STATE_CURRENT, false);
	assert_body(b, counted, TIER_OPTIMIZED, STATE_CURRENT, true);
	assert_body(b, other, TIER_TIER0, STATE_CURRENT, false);
	world_config(&b->world, CONFIG_PGO_ONLY_HOT, 0);
	look(b);
	assert_body(b, first, TIER_INSTRUMENTED, STATE_CURRENT, false);
	world_config(&b->world, CONFIG_PGO, 0);
	look(b);
	assert_body(b, first, TIER_TIER0, STATE_CURRENT, false);
}

/* .NET 8 compiles what is to be optimised aggressively as tier 1 at once. */
EACH_VERSION(aggressive_methods, struct books *b)
{
	uint64_t start = own_body(b, b->flags, AGGRESSIVE, TIERED);
	bool at_once = b->world.major == 8;

	look(b);
	assert_body(b, start, at_once ? TIER_TIER1 : TIER_TIER0, STATE_CURRENT, at_once);
}

/* From tier 0 by instrumented code to tier 1, seen at each step. */
EACH_VERSION(tiering_up, struct books *b)
{
	uint64_t desc = method(b, b->bodies, SMALL, TIERED | WORLD_METHOD_IMPL);
	uint64_t own = body(b, desc), instrumented = body(b, desc), last = body(b, desc);
	uint64_t state, nodes[2];

	world_set_own(&b->world, desc, own);
	state = world_state(&b->world, desc, true);
	nodes[0] = world_version(&b->world, state, 0, 1, R_INSTRUMENTED, false);
	look(b);
	assert_body(b, own, TIER_TIER0, STATE_CURRENT, false);
	assert_body(b, instrumented, TIER_UNKNOWN, STATE_UNKNOWN, false);

	world_set(&b->world, nodes[0], VERSION_CODE, instrumented, 8);
	look(b);
	assert_body(b, own, TIER_TIER0, STATE_CURRENT, false);
	assert_body(b, instrumented, TIER_INSTRUMENTED, STATE_PENDING, false);

	world_set(&b->world, state, VERSIONING_FLAGS, 0, 1);
	world_set(&b->world, nodes[0], VERSION_FLAGS, 1, 4);
	nodes[1] = world_version(&b->world, state, last, 2, R_TIER1, false);
	look(b);
	assert_body(b, own, TIER_TIER0, STATE_SUPERSEDED, false);
	assert_body(b, instrumented, TIER_INSTRUMENTED, STATE_CURRENT, false);
	assert_body(b, last, TIER_TIER1, STATE_PENDING, false);

	world_set(&b->world, nodes[0], VERSION_FLAGS, 0, 4);
	world_set(&b->world, nodes[1], VERSION_FLAGS, 1, 4);
	look(b);
	assert_body(b, own, TIER_TIER0, STATE_SUPERSEDED, false);
	assert_body(b, instrumented, TIER_INSTRUMENTED, STATE_SUPERSEDED, false);
	assert_body(b, last, TIER_TIER1, STATE_CURRENT, true);
}

/* One active version of @tier of a method, in books that say that its own is not. */
static uint64_t version(struct books *b, uint32_t rid, uint32_t tier, bool active)
{
	uint64_t desc = method(b, b->bodies, rid, TIERED | WORLD_METHOD_OVERRIDE);
	uint64_t start = body(b, desc);

	world_set_own(&b->world, desc, 0x7000000);
	(void)world_version(&b->world, world_state(&b->world, desc, !active), start, 1, tier,
			    active);
	return start;
}

EACH_VERSION(tiers_of_versions, struct books *b)
{
	uint64_t tier0 = version(b, SMALL, R_TIER0, true);
	uint64_t optimized = version(b, SMALL, R_OPTIMIZED, true);
	uint64_t osr = version(b, SMALL, R_OSR, false);
	uint64_t instrumented = version(b, SMALL, R_TIER1_INSTRUMENTED, true);
	uint64_t strange = version(b, SMALL, 77, true);

	look(b);
	assert_body(b, tier0, TIER_TIER0, STATE_CURRENT, false);
	assert_body(b, optimized, TIER_OPTIMIZED, STATE_CURRENT, true);
	assert_body(b, osr, TIER_OSR, STATE_NO_CALLS, false);
	assert_body(b, instrumented, TIER_INSTRUMENTED, STATE_CURRENT, false);
	assert_body(b, strange, TIER_UNKNOWN, STATE_CURRENT, false);
}

/* The runtime uses no code that the JIT would not optimise: what is used has been. */
EACH_VERSION(versions_of_huge_methods, struct books *b)
{
	uint64_t used = version(b, HUGE, R_TIER1, true);
	uint64_t huge = version(b, HUGE, R_TIER1, false);
	uint64_t not_sure = version(b, NOT_SURE, R_TIER1, false);
	uint64_t tier0 = version(b, NOT_SURE, R_TIER0, true);
	uint64_t instrumented = version(b, NOT_SURE, R_TIER1_INSTRUMENTED, false);

	look(b);
	assert_body(b, used, TIER_TIER1, STATE_CURRENT, true);
	assert_body(b, huge, TIER_MINOPT, STATE_PENDING, false);
	assert_body(b, not_sure, TIER_UNKNOWN, STATE_PENDING, false);
	assert_body(b, tier0, TIER_UNKNOWN, STATE_CURRENT, false);
	assert_body(b, instrumented, TIER_UNKNOWN, STATE_PENDING, false);
}

/* Which of several books is open is not looked up: the state is not known then. */
EACH_VERSION(rewritten_versions, struct books *b)
{
	uint64_t desc = method(b, b->bodies, SMALL, TIERED), start = body(b, desc);
	uint64_t state = world_state(&b->world, desc, false);
	uint64_t node = world_version(&b->world, state, start, 1, R_TIER1, true);

	world_set(&b->world, node, VERSION_IL_VERSION, 1, 8);
	look(b);
	assert_body(b, start, TIER_TIER1, STATE_UNKNOWN, false);
}

/* A generic method's MethodDesc is longer, and its slot behind what it has more. */
EACH_VERSION(slots_of_generic_methods, struct books *b)
{
	uint64_t start = own_body(b, b->bodies, SMALL,
				  TIERED | WORLD_METHOD_INSTANTIATED | WORLD_METHOD_IMPL |
					  WORLD_METHOD_OVERRIDE);

	look(b);
	assert_body(b, start, TIER_TIER0, STATE_CURRENT, false);
}

/* Books that cannot be right --------------------------------------------------------------- */

static void assert_unknown(struct books *b, uint64_t start)
{
	look(b);
	assert_body(b, start, TIER_UNKNOWN, STATE_UNKNOWN, false);
}

EACH_VERSION(damaged_lists, struct books *b)
{
	uint64_t desc = method(b, b->bodies, SMALL, TIERED), start = body(b, desc);
	uint64_t state = world_state(&b->world, desc, false);
	uint64_t node = world_version(&b->world, state, start, 1, R_TIER1, true);

	look(b);
	assert_body(b, start, TIER_TIER1, STATE_CURRENT, true);
	world_set(&b->world, node, VERSION_NEXT, 0x1000, 8); /* not mapped */
	assert_unknown(b, start);
	world_set(&b->world, node, VERSION_NEXT, node, 8); /* a circle */
	assert_unknown(b, start);
	world_set(&b->world, node, VERSION_NEXT, 0, 8);
	world_set(&b->world, node, VERSION_METHOD_DESC, desc + 8, 8); /* another method's */
	assert_unknown(b, start);
}

/* As many versions as there is room for are read, and one more is too many. */
EACH_VERSION(long_lists, struct books *b)
{
	uint64_t desc = method(b, b->bodies, SMALL, TIERED), start = body(b, desc);
	uint64_t state = world_state(&b->world, desc, false);

	(void)world_version(&b->world, state, start, 1, R_TIER1, true);
	for (uint32_t i = 2; i <= CLR_VERSIONS_MAX; i++)
		(void)world_version(&b->world, state, 0, i, R_OSR, false);
	look(b);
	assert_body(b, start, TIER_TIER1, STATE_CURRENT, true);
	(void)world_version(&b->world, state, 0, CLR_VERSIONS_MAX + 1, R_OSR, false);
	assert_unknown(b, start);
}

/* Tables of the runtime's that are damaged say nothing, and nothing else is lost. */
EACH_VERSION(damaged_tables, struct books *b)
{
	uint64_t counted = own_body(b, b->bodies, SMALL, TIERED);
	uint64_t size = world_field(&b->world, b->world.counting, HASH_SIZE);
	uint64_t table;

	world_count_calls(&b->world, desc_of(b, counted), COUNTS_OWN, COUNTED);
	table = world_get(&b->world, world_field(&b->world, b->world.counting, HASH_TABLE), 8);
	world_put(&b->world, table, 0x1000, 8); /* an entry that is not mapped */
	look(b);
	assert_body(b, counted, TIER_OPTIMIZED, STATE_CURRENT, true);
	world_put(&b->world, size, UINT32_MAX, 4);
	look(b);
	assert_body(b, counted, TIER_TIER0, STATE_CURRENT, false);
	world_put(&b->world, size, 1 << 20, 4); /* more than is mapped */
	look(b);
	assert_body(b, counted, TIER_TIER0, STATE_CURRENT, false);
	world_put(&b->world, size, WORLD_HASH_SIZE, 4);
	world_set(&b->world, b->world.allocator, ALLOCATOR_CALL_COUNTING, 0, 8);
	look(b);
	assert_body(b, counted, TIER_TIER0, STATE_CURRENT, false);
}

/* Without the settings, what is compiled first is taken for what it is by default. */
EACH_VERSION(no_settings, struct books *b)
{
	uint64_t start = own_body(b, b->bodies, SMALL, TIERED);

	world_config(&b->world, CONFIG_PGO_ONLY_HOT, 0);
	world_put(&b->world, b->world.dac_table + 8ull * b->world.layout.dac_config, 0x1000, 8);
	look(b);
	assert_body(b, start, TIER_TIER0, STATE_CURRENT, false);
}

UNIT_MAIN(NULL, NULL)
