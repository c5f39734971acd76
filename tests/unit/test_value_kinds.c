// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values whose types are known when they come: what an object has beyond what it is declared as,
 * tasks and delegates.
 */
#include <uchar.h>

#include "filter/filter.h"
#include "tests/unit/value_fixture.h"
#include "value/filter.h"

enum {
	OBJECT_AT = 0x10000,
	FIRST_AT = 0x20000,
	SECOND_AT = 0x30000,
	TABLE = 0x50000,
	OTHER_TABLE = 0x60000,
	STRING_TABLE = 0x70000,
};

/* MethodTables: flags and BaseSize. */
static const uint32_t table_of_64[2] = { 0, 64 };
static const uint32_t table_of_strings[2] = { 0x80000002, 22 };

struct string_object {
	uint64_t table;
	uint32_t length;
	char16_t chars[14];
};

struct world {
	struct scene *scene;
	struct value_seen seen;
	uint64_t object[8];
	struct string_object first, second;
};

static const struct value_type *declared, *other;

/* Types by their tables. */
static const struct value_type *by_table(void *ctx, uint64_t handle)
{
	(void)ctx;
	return handle == TABLE ? declared : handle == OTHER_TABLE ? other : NULL;
}

static void set_up_world(struct world *world)
{
	struct scene *scene = scene_new();

	*world = (struct world){
		.scene = scene,
		.first = { STRING_TABLE, 3, u"Ada" },
		.second = { STRING_TABLE, 5, u"Grace" },
	};
	scene->signature.seen = &world->seen;
	scene->lookup = (struct value_lookup){ .object_type = by_table };
	scene->machine.arguments[0] = OBJECT_AT;
	add_memory(scene, OBJECT_AT, world->object, sizeof(world->object));
	add_memory(scene, FIRST_AT, &world->first, sizeof(world->first));
	add_memory(scene, SECOND_AT, &world->second, sizeof(world->second));
	add_memory(scene, TABLE, table_of_64, sizeof(table_of_64));
	add_memory(scene, OTHER_TABLE, table_of_64, sizeof(table_of_64));
	add_memory(scene, STRING_TABLE, table_of_strings, sizeof(table_of_strings));
}

static void expect(struct world *world, const char *text)
{
	assert_string_equal(scene_show(world->scene, VALUE_TEXT, true), text);
}

static void expect_json(struct world *world, const char *text)
{
	assert_string_equal(scene_show(world->scene, VALUE_JSON, true), text);
}

UNIT_TEST(what_only_a_derived_type_has_is_there_from_the_second_call_on)
{
	struct world world;
	struct value_type *base, *derived;
	const struct value_type *string;

	set_up_world(&world);
	string = type_of(world.scene, VALUE_STRING, "string", 8);
	declared = base = type_of(world.scene, VALUE_OBJECT, "Base", 8);
	other = derived = type_of(world.scene, VALUE_OBJECT, "Derived", 8);
	add_field(world.scene, base, "Name", string, 0);
	/* Behind what is followed of objects in any case. */
	add_field(world.scene, derived, "Title", string, 40);
	add_field(world.scene, derived, "Name", string, 0);
	add_slot(world.scene, "o", base, VALUE_IN_REGISTER, 0);
	world.object[0] = OTHER_TABLE;
	world.object[1] = FIRST_AT;
	world.object[6] = SECOND_AT;
	expect(&world, "o: Derived{Title: ..., Name: \"Ada\"}");
	assert_int_equal(world.seen.count, 1);
	expect(&world, "o: Derived{Title: \"Grace\", Name: \"Ada\"}");
	/* What has the name once already is not captured again, and nothing new is seen. */
	assert_int_equal(world.seen.count, 1);
	/* Of another type there is not: the program looks at the table. */
	world.object[0] = TABLE;
	expect(&world, "o: Base{Name: \"Ada\"}");
	world.object[0] = OTHER_TABLE;
	world.object[6] = 0;
	expect(&world, "o: Derived{Title: null, Name: \"Ada\"}");
	world.object[6] = 0x6666;
	expect(&world, "o: Derived{Title: <not in memory>, Name: \"Ada\"}");
	scene_free(world.scene);
}

UNIT_TEST(an_array_that_is_declared_as_an_object)
{
	struct world world;

	set_up_world(&world);
	declared = type_of(world.scene, VALUE_OBJECT, "object", 8);
	other = type_over(world.scene, VALUE_ARRAY, "long[]",
			  type_of(world.scene, VALUE_SIGNED, "long", 8));
	add_slot(world.scene, "o", declared, VALUE_IN_REGISTER, 0);
	world.object[0] = OTHER_TABLE;
	world.object[1] = 2;
	world.object[2] = 7;
	world.object[3] = (uint64_t)-8;
	expect(&world, "o: long[2]{...}");
	expect(&world, "o: long[2]{7, -8}");
	expect_json(&world, "[{\"name\":\"o\",\"type\":\"long[]\",\"length\":2,\"elements\":["
			    "{\"type\":\"long\",\"value\":7},{\"type\":\"long\",\"value\":-8}]}]");
	scene_free(world.scene);
}

UNIT_TEST(a_struct_in_an_object)
{
	struct world world;
	struct value_type *boxed;

	set_up_world(&world);
	declared = type_of(world.scene, VALUE_OBJECT, "object", 8);
	other = boxed = type_of(world.scene, VALUE_STRUCT, "Pair", 16);
	add_field(world.scene, boxed, "Text", type_of(world.scene, VALUE_STRING, "string", 8), 0);
	add_field(world.scene, boxed, "Number", type_of(world.scene, VALUE_SIGNED, "int", 4), 8);
	add_slot(world.scene, "o", declared, VALUE_IN_REGISTER, 0);
	world.object[0] = OTHER_TABLE;
	world.object[1] = FIRST_AT;
	world.object[2] = 5;
	expect(&world, "o: Pair{Text: ..., Number: 5}");
	expect(&world, "o: Pair{Text: \"Ada\", Number: 5}");
	scene_free(world.scene);
}

UNIT_TEST(no_more_types_are_noted_than_there_is_room_for)
{
	struct world world;
	struct value_type *derived;

	set_up_world(&world);
	declared = type_of(world.scene, VALUE_OBJECT, "Base", 8);
	add_slot(world.scene, "o", declared, VALUE_IN_REGISTER, 0);
	world.object[0] = OTHER_TABLE;
	other = derived = type_of(world.scene, VALUE_OBJECT, "Derived", 8);
	add_field(world.scene, derived, "Words",
		  type_over(world.scene, VALUE_ARRAY, "long[]",
			    type_of(world.scene, VALUE_SIGNED, "long", 8)),
		  0);
	for (size_t i = 0; i < VALUE_SEEN_MAX; i++) {
		world.seen.list[i].handle = 8 * i + 8;
		world.seen.list[i].type = derived;
	}
	world.seen.count = VALUE_SEEN_MAX;
	scene_show(world.scene, VALUE_TEXT, true);
	assert_int_equal(world.seen.count, VALUE_SEEN_MAX);
	scene_free(world.scene);
}

/* Tasks and delegates -------------------------------------------------------------------------- */

static const struct value_member states[] = {
	{ "Faulted", 0x200000 },
	{ VALUE_TASK_DONE, 0x1000000 },
	{ "WaitingForActivation", 0x2000000 },
	{ "Created", 0 },
};

static struct value_type *task_type(struct scene *scene)
{
	struct value_type *state = type_of(scene, VALUE_STATE, "TaskStatus", 4);
	struct value_type *task = type_of(scene, VALUE_OBJECT, "Task<int>", 8);

	state->members = states;
	state->member_count = sizeof(states) / sizeof(states[0]);
	add_field(scene, task, "state", state, 0);
	add_field(scene, task, "result", type_of(scene, VALUE_SIGNED, "int", 4), 4);
	task->well_known = VALUE_TASK;
	return task;
}

UNIT_TEST(a_task_has_a_result_once_it_is_done)
{
	struct world world;

	set_up_world(&world);
	declared = task_type(world.scene);
	add_slot(world.scene, "t", declared, VALUE_IN_REGISTER, 0);
	world.object[0] = TABLE;
	world.object[1] = 7ULL << 32 | 0x2000400;
	expect(&world, "t: Task<int>{WaitingForActivation}");
	world.object[1] = 7ULL << 32 | 0x3000400;
	expect(&world, "t: Task<int>{RanToCompletion, result: 7}");
	world.object[1] = 7ULL << 32 | 0x1200400;
	expect(&world, "t: Task<int>{Faulted}");
	world.object[1] = 0;
	expect(&world, "t: Task<int>{Created}");
	world.object[1] = 8ULL << 32 | 0x1000000;
	expect_json(&world,
		    "[{\"name\":\"t\",\"type\":\"Task<int>\",\"fields\":["
		    "{\"name\":\"state\",\"type\":\"TaskStatus\",\"value\":\"RanToCompletion\"},"
		    "{\"name\":\"result\",\"type\":\"int\",\"value\":8}]}]");
	world.scene->options.depth = 0;
	expect(&world, "t: Task<int>{...}");
	scene_free(world.scene);
}

UNIT_TEST(a_value_task_is_done_has_a_task_or_something_else)
{
	struct world world;
	struct value_slot *slot;
	struct value_type *value_task;

	set_up_world(&world);
	declared = task_type(world.scene);
	other = type_of(world.scene, VALUE_OBJECT, "App.Source", 8);
	value_task = type_of(world.scene, VALUE_STRUCT, "ValueTask<int>", 16);
	value_task->well_known = VALUE_VALUE_TASK;
	add_field(world.scene, value_task, "_obj", type_of(world.scene, VALUE_OBJECT, "object", 8),
		  0);
	add_field(world.scene, value_task, "_result", type_of(world.scene, VALUE_SIGNED, "int", 4),
		  8);
	slot = add_slot(world.scene, "v", value_task, VALUE_IN_REGISTER, 0);
	add_part(slot, VALUE_IN_REGISTER, 1);
	world.scene->machine.arguments[0] = 0;
	world.scene->machine.arguments[1] = 42;
	expect(&world, "v: ValueTask<int>{RanToCompletion, result: 42}");
	expect_json(&world, "[{\"name\":\"v\",\"type\":\"ValueTask<int>\",\"fields\":["
			    "{\"name\":\"state\",\"type\":\"System.Threading.Tasks.TaskStatus\","
			    "\"value\":\"RanToCompletion\"},"
			    "{\"name\":\"result\",\"type\":\"int\",\"value\":42}]}]");
	world.scene->machine.arguments[0] = OBJECT_AT;
	world.object[0] = TABLE;
	world.object[1] = 0x2000000;
	expect(&world, "v: ValueTask<int>{WaitingForActivation}");
	expect_json(&world, "[{\"name\":\"v\",\"type\":\"ValueTask<int>\",\"fields\":["
			    "{\"name\":\"state\",\"type\":\"TaskStatus\","
			    "\"value\":\"WaitingForActivation\"}]}]");
	world.object[1] = 9ULL << 32 | 0x1000000;
	expect(&world, "v: ValueTask<int>{RanToCompletion, result: 9}");
	world.object[0] = OTHER_TABLE;
	expect(&world, "v: ValueTask<int>{source: App.Source}");
	world.scene->machine.arguments[0] = 0x6666;
	expect(&world, "v: <not in memory>");
	scene_free(world.scene);
}

/* What --if says of a call of the scene. */
static enum watch_code verdict_of(struct scene *scene, const char *text)
{
	static struct value_filter compiled;
	uint64_t cells[WATCH_CELLS] = { 0 };
	struct filter filter;
	size_t pc = 0;

	assert_int_equal(filter_parse(&filter, text, NULL), 0);
	assert_int_equal(value_filter_compile(&compiled, &filter, "A::B", &scene->signature, NULL),
			 0);
	filter_deinit(&filter);
	while (compiled.ops[pc].code < WATCH_ACCEPT) {
		const struct watch_op *op = &compiled.ops[pc];

		assert_true(pc < compiled.count && (!op->otherwise || op->otherwise > pc));
		pc = step(&scene->machine, 0, op, cells) || !op->otherwise ? pc + 1 : op->otherwise;
	}
	return (enum watch_code)compiled.ops[pc].code;
}

UNIT_TEST(a_filter_takes_the_result_of_a_task_that_is_done)
{
	struct world world;

	set_up_world(&world);
	declared = task_type(world.scene);
	add_slot(world.scene, "t", declared, VALUE_IN_REGISTER, 0);
	world.object[0] = TABLE;
	world.object[1] = 7ULL << 32 | 0x3000400;
	assert_int_equal(verdict_of(world.scene, "t.result == 7"), WATCH_ACCEPT);
	assert_int_equal(verdict_of(world.scene, "t.result == 8"), WATCH_REJECT);
	world.object[1] = 7ULL << 32 | 0x2000400;
	assert_int_equal(verdict_of(world.scene, "t.result == 7"), WATCH_UNDECIDED);
	assert_int_equal(verdict_of(world.scene, "t.result != 7"), WATCH_UNDECIDED);
	world.object[1] = 7ULL << 32 | 0x1200400;
	assert_int_equal(verdict_of(world.scene, "t.result == 7"), WATCH_UNDECIDED);
	world.scene->machine.arguments[0] = 0;
	assert_int_equal(verdict_of(world.scene, "t.result == 7"), WATCH_REJECT);
	scene_free(world.scene);
}

UNIT_TEST(a_filter_takes_the_result_of_a_value_task_that_has_no_object)
{
	struct world world;
	struct value_type *type;

	set_up_world(&world);
	type = type_of(world.scene, VALUE_STRUCT, "ValueTask<int>", 16);
	type->well_known = VALUE_VALUE_TASK;
	add_field(world.scene, type, "_obj", type_of(world.scene, VALUE_OBJECT, "object", 8), 0);
	add_field(world.scene, type, "_result", type_of(world.scene, VALUE_SIGNED, "int", 4), 8);
	add_part(add_slot(world.scene, "v", type, VALUE_IN_REGISTER, 0), VALUE_IN_REGISTER, 1);
	world.scene->machine.arguments[0] = 0;
	world.scene->machine.arguments[1] = 42;
	assert_int_equal(verdict_of(world.scene, "v._result == 42"), WATCH_ACCEPT);
	assert_int_equal(verdict_of(world.scene, "v._result == 0"), WATCH_REJECT);
	world.scene->machine.arguments[0] = OBJECT_AT;
	assert_int_equal(verdict_of(world.scene, "v._result == 42"), WATCH_UNDECIDED);
	scene_free(world.scene);
}

static bool method_at(void *ctx, uint64_t code, struct text *out)
{
	(void)ctx;
	if (code == 0x1234)
		text_add(out, "App.Shop::Checkout");
	return code == 0x1234;
}

UNIT_TEST(a_delegate_has_the_object_whose_method_it_calls)
{
	struct world world;
	struct value_type *delegate;
	const struct value_type *object, *word;
	uint64_t target[8] = { OTHER_TABLE };

	set_up_world(&world);
	other = type_of(world.scene, VALUE_OBJECT, "App.Shop", 8);
	declared = delegate = type_of(world.scene, VALUE_OBJECT, "Action", 8);
	object = type_of(world.scene, VALUE_OBJECT, "object", 8);
	word = type_of(world.scene, VALUE_SIGNED, "nint", 8);
	add_field(world.scene, delegate, "_target", object, 0);
	add_field(world.scene, delegate, "_methodPtr", word, 8);
	add_field(world.scene, delegate, "_methodPtrAux", word, 16);
	add_field(world.scene, delegate, "_invocationCount", word, 24);
	delegate->well_known = VALUE_DELEGATE;
	add_slot(world.scene, "d", delegate, VALUE_IN_REGISTER, 0);
	add_memory(world.scene, 0x40000, target, sizeof(target));
	world.object[0] = TABLE;
	world.object[1] = 0x40000;
	world.object[2] = 0x1234;
	expect(&world, "d: Action{target: App.Shop}");
	expect_json(&world, "[{\"name\":\"d\",\"type\":\"Action\",\"fields\":["
			    "{\"name\":\"target\",\"type\":\"App.Shop\",\"cut\":true}]}]");
	world.scene->lookup.add_method = method_at;
	expect(&world, "d: Action{target: App.Shop, method: App.Shop::Checkout}");
	expect_json(&world, "[{\"name\":\"d\",\"type\":\"Action\",\"fields\":["
			    "{\"name\":\"target\",\"type\":\"App.Shop\",\"cut\":true},"
			    "{\"name\":\"method\",\"type\":\"method\","
			    "\"value\":\"App.Shop::Checkout\"}]}]");
	world.object[2] = 0x5678;
	expect(&world, "d: Action{target: App.Shop}");
	world.object[3] = 0x1234;
	expect(&world, "d: Action{method: App.Shop::Checkout}");
	/* A static method: what is in the target's place is the delegate itself. */
	world.object[1] = OBJECT_AT;
	world.object[3] = 0x5678;
	expect(&world, "d: Action{...}");
	world.object[3] = 0;
	world.object[4] = 2;
	expect(&world, "d: Action{...}");
	expect_json(&world, "[{\"name\":\"d\",\"type\":\"Action\",\"fields\":[]}]");
	world.scene->options.depth = 0;
	expect(&world, "d: Action{...}");
	scene_free(world.scene);
}

UNIT_MAIN(NULL, NULL)
