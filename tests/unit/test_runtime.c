// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime.h by a runtime that is neither .NET nor native: what it knows of methods, bodies, frames
 * and names gets into plan, stacks and records by the interface alone.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "bpf/event.h"
#include "method/method_name.h"
#include "method/pattern.h"
#include "runtime/frame.h"
#include "runtime/method_notes.h"
#include "runtime/runtime.h"
#include "session/frame_names.h"
#include "session/method_notes.h"
#include "session/resolve.h"
#include "stack/stack.h"
#include "stack/symbols.h"

enum {
	RUNTIME_TOY = 100, /* one that nobody has heard of */
	CODE = 0x10000,	   /* a body every 0x100 bytes, which moves by as much */
	CODE_END = 0x20000,
	PAGE = 0x100,
	METHODS = 3,
	MODULE = 0x7074,
};

static const uint8_t push_ret[] = { 0x55, 0xc3 };

struct toy {
	struct runtime runtime;
	uint64_t moved;	     /* so far has its code moved */
	unsigned int looks;  /* it was asked to look again */
	unsigned int namers; /* that live */
	bool *destroyed;
};

static struct toy *toy_of(struct runtime *runtime)
{
	return (struct toy *)runtime;
}

static const char *const methods[METHODS] = { "a()", "b()", "c()" };

static uint64_t address_of(const struct toy *toy, size_t method)
{
	return CODE + toy->moved + method * PAGE;
}

/* Of each method an old body and a new one, which is another method's place by then. */
static int find(struct runtime *runtime, const struct body_query *query, body_fn fn, void *ctx,
		struct error *err)
{
	const struct body_code code = { .bytes = { push_ret, sizeof(push_ret) } };
	int result = 0;

	for (size_t i = 0; i < METHODS && result == 0; i++) {
		struct method_name name = { 0 };
		char spelled[16];
		struct method_body body = {
			.method = spelled,
			.image = "toy.bin",
			.id = { .runtime = (enum runtime_id)RUNTIME_TOY,
				.module = MODULE,
				.token = (uint32_t)i + 1 },
			.traits = { .defined = true, .single = true },
			.tier = TIER_TIER1,
			.state = STATE_CURRENT,
			.method_desc = i + 1,
			.sources = 1u << NAME_SOURCE_FIRST_MAP,
			.file = BODY_NO_FILE,
			.address = { address_of(toy_of(runtime), i) },
			.size = sizeof(push_ret),
			.function_start = true,
			.code = &code,
			.code_count = 1,
		};

		snprintf(spelled, sizeof(spelled), "Toy::%s", methods[i]);
		text_add(&name.type, "Toy");
		text_add_char(&name.name, methods[i][0]);
		if (pattern_matches(query->pattern, &name, err) == 1)
			result = fn(&body, ctx);
		method_name_deinit(&name);
	}
	return result;
}

/* Its code moves each time that it is looked at, and no mapping tells. */
static int refresh(struct runtime *runtime, bool mapped, struct error *err)
{
	struct toy *toy = toy_of(runtime);

	(void)mapped;
	(void)err;
	toy->looks++;
	toy->moved += PAGE;
	return 1;
}

static bool is_unchanged(struct runtime *runtime, struct address start, const char *method,
			 bool stub)
{
	size_t at = (start.value - address_of(toy_of(runtime), 0)) / PAGE;

	(void)stub;
	return start.value >= address_of(toy_of(runtime), 0) && at < METHODS &&
	       strcmp(method + strlen("Toy::"), methods[at]) == 0;
}

/* What is at 0x10 and more of a body was inlined into it. */
static void name_frame(void *ctx, const struct raw_frame *raw, struct named_frames *named)
{
	struct toy *toy = ctx;
	uint64_t in_code = raw->look_at.value - address_of(toy, 0);

	if (raw->place != RAW_IN_MEMORY || in_code / PAGE >= METHODS)
		return;
	named->count = in_code % PAGE >= 0x10 ? 2 : 1;
	for (size_t i = 0; i < named->count; i++)
		named->frames[i] = (struct frame){
			.kind = FRAME_V8,
			.name = i + 1 < named->count ? "inner" : methods[in_code / PAGE],
			.inlined = i + 1 < named->count,
		};
}

static void destroy_namer(void *ctx)
{
	struct toy *toy = ctx;

	toy->namers--;
}

static int frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err)
{
	struct toy *toy = toy_of(runtime);

	(void)err;
	toy->namers++;
	*namer = (struct frame_namer){ name_frame, NULL, destroy_namer, toy };
	return 0;
}

static int inliners(struct runtime *runtime, struct method_inliners *found,
		    const struct method_id *id, size_t named)
{
	(void)runtime;
	assert_int_equal(named, 1);
	found->method = strdup(methods[id->token - 1]);
	found->names = calloc(2, sizeof(*found->names));
	found->names[0] = strdup("Toy::caller()");
	found->count = 1;
	return 0;
}

static const char *map_name(const struct runtime *runtime, size_t map)
{
	(void)runtime;
	return map == 0 ? "toy.map" : NULL;
}

static bool is_present(const struct runtime *runtime)
{
	(void)runtime;
	return true;
}

static void destroy(struct runtime *runtime)
{
	struct toy *toy = toy_of(runtime);

	assert_int_equal(toy->namers, 0);
	*toy->destroyed = true;
}

static const struct runtime_ops ops = {
	.id = (enum runtime_id)RUNTIME_TOY,
	.destroy = destroy,
	.is_present = is_present,
	.refresh = refresh,
	.find = find,
	.is_unchanged = is_unchanged,
	.inliners = inliners,
	.map_name = map_name,
	.frame_namer = frame_namer,
};

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
		.toy = { .runtime = { &ops } },
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

static void bodies_are_planned(void **state)
{
	struct world world = set_up();
	struct plan all, one;

	(void)state;
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
static void code_that_moves(void **state)
{
	struct world world = set_up();
	struct plan before;
	size_t dropped;

	(void)state;
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

static void frames_with_inlined_ones(void **state)
{
	struct world world = set_up();
	struct symbols *symbols;
	const struct frame *frames;
	struct event_frame at = { .pc = CODE + PAGE + 0x20 };

	(void)state;
	join(&world);
	assert_int_equal(frame_names_create(&symbols, &world.resolution, NULL), 0);
	assert_int_equal(world.toy.namers, 1);
	symbols_begin(symbols);
	assert_int_equal(symbols_name(symbols, &at, false, &frames), 2);
	assert_string_equal(frames[0].name, "inner");
	assert_true(frames[0].inlined);
	assert_string_equal(frames[1].name, "b()");
	assert_false(frames[1].inlined);
	at.pc = CODE + 2 * PAGE;
	symbols_begin(symbols);
	assert_int_equal(symbols_name(symbols, &at, false, &frames), 1);
	assert_string_equal(frames[0].name, "c()");
	symbols_destroy(symbols);
	assert_int_equal(world.toy.namers, 0);
}

static void what_else_is_known(void **state)
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

	(void)state;
	join(&world);
	assert_int_equal(method_inliners_find(&found, &world.resolution, &id, 1), 0);
	assert_string_equal(found.method, "b()");
	assert_string_equal(found.names[0], "Toy::caller()");
	method_inliners_deinit(&found);
	/* Of another runtime's methods it is not asked, nor for what it has nothing to say to. */
	assert_int_equal(method_inliners_find(&found, &world.resolution, &unknown, 1), 0);
	assert_null(found.method);
	assert_false(method_native_function(&world.resolution, &id, &function));
	text_deinit(&function);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_are_planned),
		cmocka_unit_test(code_that_moves),
		cmocka_unit_test(frames_with_inlined_ones),
		cmocka_unit_test(what_else_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
