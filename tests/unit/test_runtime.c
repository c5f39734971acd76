// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime.h by a runtime that is neither .NET nor native: what it knows of methods, bodies, frames
 * and names gets into plan, stacks and records by the interface alone. Its ranges of code:
 * test_ranges.c.
 */
#include "tests/unit/toy_runtime.h"

#include "bpf/event.h"
#include "session/resolve.h"
#include "stack/stack.h"
#include "stack/symbols.h"

struct world {
	struct mapping row;
	struct target target;
	struct toy toy;
	struct resolution resolution;
	bool destroyed;
};

static struct world set_up(void)
{
	return (struct world){
		.row = { .start = { CODE }, .end = { CODE_END }, .executable = true, .path = "" },
		.toy = { .runtime = { &toy_ops } },
	};
}

static void join(struct world *world)
{
	world->toy.destroyed = &world->destroyed;
	world->target.first = (struct maps){ .rows = &world->row, .count = 1 };
	world->resolution.target = &world->target;
	world->resolution.runtimes.list[0] = &world->toy.runtime;
	world->resolution.runtimes.count = 1;
}

static struct plan plan(struct world *world, const char *text, int matches)
{
	struct plan plan = { 0 };
	struct pattern *pattern;
	bool matched = false;
	const struct resolution_query query = {
		.patterns = &pattern,
		.count = 1,
		.registers = 4,
		.matched = &matched,
	};
	size_t dropped = 1;

	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	assert_int_equal(resolution_plan(&world->resolution, &query, &plan, &dropped, NULL), 0);
	assert_int_equal(plan.count, matches);
	assert_int_equal(dropped, 0);
	assert_true(matched);
	pattern_destroy(pattern);
	return plan;
}

UNIT_TEST(bodies_are_planned)
{
	struct world world = set_up();
	struct plan all, one;

	join(&world);
	all = plan(&world, "Toy::*", METHODS);
	one = plan(&world, "Toy::b", 1);
	for (size_t i = 0; i < METHODS; i++)
		assert_int_equal(all.sites[i].mechanism, MECHANISM_BREAKPOINT);
	assert_string_equal(one.sites[0].method, "Toy::b()");
	/* Two plans know the method by its identity, not by where it is. */
	assert_true(plan_same_method(&one.sites[0], plan_find(&all, &one.sites[0])));
	assert_int_equal(method_id_order(&one.sites[0].id, &all.sites[1].id), 0);
	assert_string_equal(resolution_source_name(&world.resolution, NAME_SOURCE_FIRST_MAP),
			    "toy.map");
	assert_string_equal(resolution_source_name(&world.resolution, NAME_SOURCE_FIRST_MAP + 1),
			    "?");
	plan_deinit(&all);
	plan_deinit(&one);
	runtimes_destroy(&world.resolution.runtimes);
	assert_true(world.destroyed);
}

/* Where one body was another is by now; the last one's place is still its own. */
UNIT_TEST(code_that_moves)
{
	struct world world = set_up();
	struct plan before;
	size_t dropped;

	join(&world);
	before = plan(&world, "Toy::*", METHODS);
	assert_int_equal(resolution_drop_changed(&world.resolution, &before, &dropped, NULL), 0);
	assert_int_equal(dropped, 0);
	assert_int_equal(runtimes_refresh(&world.resolution.runtimes, false, NULL), 1);
	assert_int_equal(world.toy.looks, 1);
	assert_int_equal(resolution_drop_changed(&world.resolution, &before, &dropped, NULL), 0);
	assert_int_equal(dropped, METHODS);
	plan_deinit(&before);
}

UNIT_TEST(frames_with_inlined_ones)
{
	struct world world = set_up();
	struct symbols *symbols;
	struct symbols_answer *answer;
	struct event_frame at = { .pc = CODE + PAGE + 0x20 };

	join(&world);
	assert_int_equal(
		frame_names_create(&symbols, &world.resolution, LINES_AS_COMPILED, NULL, NULL), 0);
	assert_int_equal(world.toy.namers, 1);
	symbols_begin(symbols);
	answer = symbols_name(symbols, &at, NULL, false);
	assert_non_null(answer);
	assert_int_equal(answer->count, 2);
	assert_string_equal(answer->frames[0].name, "inner");
	assert_true(answer->frames[0].inlined);
	assert_string_equal(answer->frames[1].name, "b()");
	assert_false(answer->frames[1].inlined);
	symbols_release(answer);
	at.pc = CODE + 2 * PAGE;
	symbols_begin(symbols);
	answer = symbols_name(symbols, &at, NULL, false);
	symbols_destroy(symbols);
	/* It is ours. */
	assert_non_null(answer);
	assert_int_equal(answer->count, 1);
	assert_string_equal(answer->frames[0].name, "c()");
	symbols_release(answer);
	assert_int_equal(world.toy.namers, 0);
}

UNIT_TEST(what_else_is_known)
{
	struct world world = set_up();
	const struct method_id id = {
		.runtime = (enum runtime_id)RUNTIME_TOY,
		.module = MODULE,
		.token = 2,
	};
	const struct method_id unknown = { .runtime = RUNTIME_DOTNET, .module = 1, .token = 1 };
	struct method_inliners found;
	struct text function = { 0 };

	join(&world);
	assert_int_equal(runtimes_inliners(&world.resolution.runtimes, &found, &id, 1), 0);
	assert_string_equal(found.method, "b()");
	assert_string_equal(found.names[0], "Toy::caller()");
	method_inliners_deinit(&found);
	/* Of another runtime's methods it is not asked, nor for what it has nothing to say to. */
	assert_int_equal(runtimes_inliners(&world.resolution.runtimes, &found, &unknown, 1), 0);
	assert_null(found.method);
	assert_false(runtimes_native_function(&world.resolution.runtimes, &id, &function));
	text_deinit(&function);
}

UNIT_MAIN(NULL, NULL)
