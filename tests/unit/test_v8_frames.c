// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"
#include "tests/unit/v8_world.h"

#include "runtime/v8/frame.h"
#include "runtime/v8/function.h"
#include "runtime/v8/js_string.h"
#include "runtime/v8/script.h"

enum { NATIVE = 1 << 5, CLASS = 3 /* kind of function */, MEMBERS = 24 };

static const uint8_t code[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
/* Positions 12 at offset 0, 20 at offset 4; as before V8 14. */
static const uint8_t positions[] = { 2, 52, 8, 32 };
static const char source[] = "first\nsecond line\nthird line";

struct fixture {
	struct world world;
	struct v8_namer *namer;
	struct v8_frames frames;
	struct v8_raw raw; /* of an interpreted frame */
	uint64_t script;
	uint64_t bytecodes;
	uint64_t list; /* of scripts, whose last is .script */
};

static void begin(struct fixture *f, unsigned int major, unsigned int minor)
{
	struct world *world = &f->world;

	world_init(world, major, minor);
	assert_int_equal(v8_namer_create(&f->namer, world->memory, &world->layout, NULL), 0);
	f->script = world_script(world, 5, "app.js", world_string(world, source));
	f->bytecodes = world_bytecodes(world, code, sizeof(code), positions, sizeof(positions));
	f->raw = (struct v8_raw){
		.place = V8_IN_BLOB,
		.marker = world->undefined,
		.bytecodes = f->bytecodes,
		.offset = world_smi(world->layout.at[V8_BYTECODES_DATA] - 1 + 5),
		.function = world_function(world,
					   &(struct world_function){
						   .name = "run",
						   .script = f->script,
						   .literal_id = 9,
						   .bytecodes = f->bytecodes,
					   }),
	};
}

static void end(struct fixture *f)
{
	text_deinit(&f->frames.strings);
	v8_namer_destroy(f->namer);
	world_deinit(&f->world);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	begin(f, 12, 4);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	end(*state);
	free(*state);
	return 0;
}

static const struct v8_frame *name(struct fixture *f)
{
	(void)world_now(&f->world);
	v8_namer_name(f->namer, &f->raw, &f->frames);
	assert_true(f->frames.count >= 1);
	return &f->frames.frames[0];
}

static void assert_named(struct fixture *f, const char *expected)
{
	const struct v8_frame *frame = name(f);

	assert_int_equal(frame->kind, V8_FUNCTION);
	assert_string_equal(frame->name, expected);
}

static uint64_t function(struct fixture *f, const char *own_name, uint32_t flags)
{
	return world_function(&f->world, &(struct world_function){
						 .name = own_name,
						 .script = f->script,
						 .flags = flags,
						 .bytecodes = f->bytecodes,
					 });
}

/* An object that a function has made, its properties, and those that it inherits. */
static uint64_t object(struct fixture *f, uint64_t prototype, const struct world_property *own,
		       size_t count, bool dictionary)
{
	return world_js_object(&f->world, world_receiver_type(&f->world), prototype, own, count,
			       dictionary);
}

/* Kinds of code ---------------------------------------------------------------------------- */

UNIT_TEST(test_interpreted)
{
	static const struct {
		unsigned int major, minor;
	} versions[] = { { 9, 3 }, { 10, 2 }, { 11, 3 }, { 12, 4 }, { 13, 6 } };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct fixture f = { .script = 0 };
		const struct v8_frame *frame;

		begin(&f, versions[i].major, versions[i].minor);
		frame = name(&f);
		assert_int_equal(f.frames.count, 1);
		assert_int_equal(frame->kind, V8_FUNCTION);
		assert_int_equal(frame->reason, V8_NO_REASON);
		assert_int_equal(frame->tier, V8_TIER_INTERPRETER);
		assert_string_equal(frame->name, "run");
		assert_string_equal(frame->function, "run");
		assert_string_equal(frame->script, "app.js");
		assert_int_equal(frame->line, 3);
		assert_int_equal(frame->column, 3);
		assert_int_equal(frame->script_id, 5);
		assert_int_equal(frame->literal_id, 9);
		end(&f);
	}
}

UNIT_TEST_WITHIN(test_moved, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t map = world_map(world, world->layout.at[V8_TYPE_JS_FUNCTION_FIRST]);

	/* It is being moved, then something else is there, and then nothing. */
	world_word(world, f->raw.function, 0, f->raw.function - 1);
	assert_int_equal(name(f)->kind, V8_UNKNOWN);
	assert_int_equal(name(f)->reason, V8_MOVED);
	world_word(world, f->raw.function, 0, world_map(world, WORLD_ONE_BYTE));
	assert_int_equal(name(f)->reason, V8_MOVED);
	world_word(world, f->raw.function, 0, map);
	assert_int_equal(name(f)->reason, V8_NO_REASON);
	world_set(world, f->raw.function, V8_FUNCTION_SHARED, f->script);
	assert_int_equal(name(f)->reason, V8_MOVED);
	f->raw.function = 0x1001;
	assert_int_equal(name(f)->reason, V8_MOVED);
	assert_null(name(f)->name);
	/* Another function is where it was, which has bytecode of its own. */
	f->raw.function = function(f, "other", 0);
	assert_string_equal(name(f)->name, "other");
	f->raw.bytecodes = world_bytecodes(world, code, sizeof(code), positions, sizeof(positions));
	assert_int_equal(name(f)->kind, V8_UNKNOWN);
	assert_int_equal(name(f)->reason, V8_MOVED);
}

UNIT_TEST_WITHIN(test_no_position, setup, teardown)
{
	struct fixture *f = *state;

	/* The table has moved: the function is known, but not where it is. */
	world_set(&f->world, f->bytecodes, V8_BYTECODES_SOURCE_POSITIONS, f->bytecodes);
	assert_string_equal(name(f)->name, "run");
	assert_int_equal(name(f)->reason, V8_NO_POSITION);
	assert_int_equal(name(f)->line, 0);
}

/* An isolate that has the script, which has the function, as number 9. */
static uint64_t add_isolate(struct fixture *f, uint64_t shared)
{
	struct world *world = &f->world;
	uint64_t isolate = world_alloc(world, 1 << 14), functions[10] = { 0 };
	uint64_t others = world_object(world, V8_TYPE_WEAK_LIST);
	uint64_t list = world_object(world, V8_TYPE_WEAK_LIST);

	f->list = list;
	functions[9] = shared | 2;
	world_set(world, f->script, V8_SCRIPT_FUNCTIONS,
		  world_array(world, V8_TYPE_WEAK_ARRAY, functions, 10));
	world_word(world, others, 16, world_smi(1));
	world_word(world, others, 24, shared | 2);
	world_word(world, list, 16, world_smi(3));
	world_word(world, list, 24, 3); /* a script that has gone */
	world_word(world, list, 32, world_script(world, 4, NULL, world_string(world, source)) | 2);
	world_word(world, list, 40, f->script | 2);
	world_put(world, isolate + 0x100, others, 8);
	world_put(world, isolate + 0x1c70, list, 8);
	return isolate;
}

UNIT_TEST_WITHIN(test_found_again, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t shared = v8_field(world_now(world), f->raw.function, V8_FUNCTION_SHARED);

	f->raw.isolate = add_isolate(f, shared);
	f->raw.script_id = 5;
	f->raw.literal_id = 9;
	f->raw.receiver = object(f, 0, NULL, 0, false);
	assert_named(f, "Object.run");
	/* Its closure has moved, and what was on the stack with it. */
	f->raw.function = function(f, "other", 0);
	assert_named(f, "run");
	assert_int_equal(name(f)->line, 3);
	f->raw.function = 0x1001;
	f->raw.bytecodes = 0x1001;
	assert_named(f, "run");
	assert_int_equal(name(f)->line, 3);
	/* There is no such script, no such function of it, no such isolate. */
	f->raw.script_id = 6;
	assert_int_equal(name(f)->reason, V8_MOVED);
	f->raw.script_id = 5;
	f->raw.literal_id = 8;
	assert_int_equal(name(f)->reason, V8_MOVED);
	f->raw.literal_id = 10;
	assert_int_equal(name(f)->reason, V8_MOVED);
	f->raw.literal_id = 9;
	f->raw.isolate += 0x2000;
	assert_int_equal(name(f)->reason, V8_MOVED);
	f->raw.isolate = 0x1000;
	assert_int_equal(name(f)->reason, V8_MOVED);
}

/* Once old objects have moved only what is found from the isolate's roots is believed. */
UNIT_TEST_WITHIN(test_dead_function, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	const struct world_function same = {
		.name = "again", .script = f->script, .literal_id = 9, .bytecodes = f->bytecodes
	};
	uint64_t shared = v8_field(world_now(world), f->raw.function, V8_FUNCTION_SHARED);
	uint64_t functions;

	f->raw.isolate = add_isolate(f, shared);
	f->raw.shared = shared;
	f->raw.script_id = 5;
	f->raw.literal_id = 9;
	f->raw.receiver = object(f, 0, NULL, 0, false);
	f->raw.aged = true;
	assert_named(f, "Object.run");
	assert_int_equal(name(f)->line, 3);
	assert_true(v8_namer_has_function(f->namer, &f->raw));
	/* Nothing refers to it any more, though all of it is where it was. */
	functions = v8_field(world_now(world), f->script, V8_SCRIPT_FUNCTIONS);
	world_word(world, functions, V8_ARRAY_DATA + 8 * 9, 3);
	assert_int_equal(name(f)->kind, V8_UNKNOWN);
	assert_int_equal(name(f)->reason, V8_MOVED);
	assert_false(v8_namer_has_function(f->namer, &f->raw));
	/* It was compiled anew: what else was captured is not that one's. */
	world_word(world, functions, V8_ARRAY_DATA + 8 * 9, world_shared(world, &same) | 2);
	assert_named(f, "again");
	/* The same of the script, whose place is remembered until it may be another's. */
	world_word(world, f->list, 40, 3);
	assert_named(f, "again");
	v8_namer_forget_places(f->namer);
	assert_int_equal(name(f)->reason, V8_MOVED);
	/* What could not be read as it was captured, and is none of the language's. */
	f->raw.script_id = f->raw.literal_id = 0;
	assert_int_equal(name(f)->reason, V8_MOVED);
	f->raw.aged = false;
	assert_named(f, "Object.run");
}

/* Each version's structures fit its own layout, and not if one thing is elsewhere. */
UNIT_TEST_WITHIN(test_layout_fits, setup, teardown)
{
	static const enum v8_field moved[] = { V8_SHARED_LITERAL_ID, V8_SHARED_SCRIPT,
					       V8_SCRIPT_FUNCTIONS,  V8_TYPE_SCRIPT,
					       V8_TYPE_SHARED,	     V8_TYPE_WEAK_LIST };
	struct fixture *f = *state;
	struct v8_layout *layout = &f->world.layout;
	uint64_t shared = v8_field(world_now(&f->world), f->raw.function, V8_FUNCTION_SHARED);
	uint64_t isolate = add_isolate(f, shared);

	assert_true(v8_layout_fits(world_now(&f->world), isolate));
	assert_false(v8_layout_fits(world_now(&f->world), isolate + 0x2000));
	assert_false(v8_layout_fits(world_now(&f->world), isolate + 1));
	assert_false(v8_layout_fits(world_now(&f->world), 0));
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		layout->at[moved[i]] += 8;
		assert_false(v8_layout_fits(world_now(&f->world), isolate));
		layout->at[moved[i]] -= 8;
	}
}

UNIT_TEST_WITHIN(test_moved_bytecode, setup, teardown)
{
	struct fixture *f = *state;

	f->raw.bytecodes = 0x1001;
	assert_int_equal(name(f)->tier, V8_TIER_INTERPRETER);
	assert_int_equal(name(f)->line, 3);
	/* On being entered it is not there yet, and neither is the offset. */
	f->raw.innermost = true;
	assert_int_equal(name(f)->line, 0);
	assert_string_equal(name(f)->name, "run");
}

UNIT_TEST_WITHIN(test_builtins_and_stubs, setup, teardown)
{
	struct fixture *f = *state;
	const struct world_function shown = { .name = "map", .builtin = true, .flags = NATIVE };
	const struct world_function hidden = { .name = "resolve", .builtin = true };
	const struct world_function own = {
		.name = "run", .script = f->script, .literal_id = 9, .builtin = true
	};

	f->raw.function = world_function(&f->world, &shown);
	assert_int_equal(name(f)->kind, V8_FUNCTION);
	assert_int_equal(name(f)->tier, V8_TIER_BUILTIN);
	assert_null(name(f)->script);
	assert_int_equal(name(f)->reason, V8_NO_REASON);
	f->raw.function = world_function(&f->world, &hidden);
	assert_int_equal(name(f)->kind, V8_STUB);
	/* What has a script is somebody's, whatever it has for a body just now. */
	f->raw.function = world_function(&f->world, &own);
	assert_int_equal(name(f)->kind, V8_FUNCTION);
	assert_string_equal(name(f)->name, "run");
	f->raw.marker = (uint64_t)f->world.layout.at[V8_FRAME_CONSTRUCT] << 1;
	assert_int_equal(name(f)->kind, V8_STUB);
	assert_string_equal(name(f)->name, "construct");
	f->raw.marker = 2000;
	assert_null(name(f)->name);
	f->raw.marker = (uint64_t)f->world.layout.at[V8_FRAME_BUILTIN_EXIT] << 1;
	f->raw.function = world_function(&f->world, &shown);
	assert_string_equal(name(f)->name, "map");
	f->raw.function = f->world.undefined;
	assert_int_equal(name(f)->kind, V8_UNKNOWN);
	assert_int_equal(name(f)->reason, V8_MOVED);
}

UNIT_TEST_WITHIN(test_baseline, setup, teardown)
{
	static const uint8_t sizes[3 * 9] = { 0, 1, 1, 1, 4, 4, 1, 1, 1 };
	static const uint8_t plain[] = { 4, 0, 0, 0, 5, 0, 0, 0 }, offsets[] = { 10, 6, 6 };
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t start, compiled, own;

	world->layout.bytecode_sizes = sizes;
	world->layout.bytecode_count = 9;
	f->raw.bytecodes =
		world_bytecodes(world, plain, sizeof(plain), positions, sizeof(positions));
	compiled = world_code(world, world->layout.at[V8_KIND_BASELINE], 64, NULL, 0, &start);
	world_set(world, compiled, V8_CODE_POSITIONS,
		  world_bytes(world, V8_TYPE_BYTE_ARRAY, 16, offsets, sizeof(offsets)));
	f->raw.function = world_function(world, &(struct world_function){
							.name = "run",
							.script = f->script,
							.literal_id = 9,
							.bytecodes = f->raw.bytecodes,
						});
	f->raw.place = V8_IN_HEAP;
	f->raw.lowest.value = WORLD_BASE;
	f->raw.offset = world->undefined;
	f->raw.pc.value = start + 16;
	assert_int_equal(name(f)->tier, V8_TIER_BASELINE);
	assert_int_equal(name(f)->line, 2);
	f->raw.pc.value = start + 17;
	assert_int_equal(name(f)->line, 3);
	/* Where nothing has returned to, the next instruction counts. */
	f->raw.pc.value = start + 16;
	f->raw.innermost = true;
	assert_int_equal(name(f)->line, 3);
	f->raw.innermost = false;
	/* Old objects have moved: the code may be dead, unless the function has it. */
	own = v8_field(world_now(world), f->raw.function, V8_FUNCTION_SHARED);
	f->raw.isolate = add_isolate(f, own);
	f->raw.script_id = 5;
	f->raw.literal_id = 9;
	f->raw.aged = true;
	assert_int_equal(name(f)->kind, V8_UNKNOWN);
	assert_int_equal(name(f)->tier, V8_TIER_BASELINE);
	world_set(world, compiled, V8_CODE_BYTECODES, f->raw.bytecodes);
	world_set(world, own, V8_SHARED_DATA, compiled);
	assert_named(f, "run");
	assert_int_equal(name(f)->line, 2);
}

UNIT_TEST_WITHIN(test_optimized, setup, teardown)
{
	/* Position 20 in the first that is inlined, which is called at position 12. */
	static const uint8_t table[] = { 2, 0xd4, 0x80, 0x80, 0x80, 0x10 };
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t inlined = world_shared(
		world,
		&(struct world_function){ .name = "inner", .script = f->script, .literal_id = 3 });
	const uint64_t literals[] = { world->undefined, inlined | 2 };
	uint8_t array[16] = { 13 << 1, 0, 0, 0, 0, 0, 0, 0, 1 };
	uint64_t data[8] = { 0 }, start, object_of_code, own;

	data[world->layout.at[V8_DEOPT_LITERALS]] =
		world_array(world, V8_TYPE_WEAK_ARRAY, literals, 2);
	data[world->layout.at[V8_DEOPT_INLINING]] =
		world_bytes(world, V8_TYPE_BYTE_ARRAY, 16, array, sizeof(array));
	own = v8_field(world_now(world), f->raw.function, V8_FUNCTION_SHARED);
	data[world->layout.at[V8_DEOPT_SHARED]] = own;
	object_of_code =
		world_code(world, world->layout.at[V8_KIND_BASELINE] + 2, 64, NULL, 0, &start);
	world_set(world, object_of_code, V8_CODE_POSITIONS,
		  world_bytes(world, V8_TYPE_TRUSTED_BYTE_ARRAY, 16, table, sizeof(table)));
	world_set(world, object_of_code, V8_CODE_DEOPT_DATA,
		  world_array(world, V8_TYPE_PROTECTED_ARRAY, data, 8));
	f->raw.place = V8_IN_HEAP;
	f->raw.lowest.value = WORLD_BASE;
	f->raw.pc.value = start + 20;
	assert_string_equal(name(f)->name, "inner");
	assert_int_equal(f->frames.count, 2);
	assert_true(f->frames.frames[0].inlined && !f->frames.frames[1].inlined);
	assert_int_equal(f->frames.frames[0].tier, V8_TIER_TURBOFAN);
	assert_int_equal(f->frames.frames[0].line, 3);
	assert_int_equal(f->frames.frames[0].literal_id, 3);
	assert_string_equal(f->frames.frames[1].name, "run");
	assert_int_equal(f->frames.frames[1].line, 2);
	/* The function on the stack has moved: the code says which it was made for. */
	f->raw.receiver = object(f, 0, NULL, 0, false);
	assert_string_equal((name(f), f->frames.frames[1].name), "Object.run");
	f->raw.function = function(f, "other", 0);
	assert_string_equal((name(f), f->frames.frames[1].name), "run");
	f->raw.function = 0x1001;
	assert_string_equal((name(f), f->frames.frames[1].name), "run");
	/* The literal is something else by now: the function on the stack is still known. */
	world_word(world, inlined, 0, world_map(world, WORLD_ONE_BYTE));
	assert_int_equal(name(f)->kind, V8_UNKNOWN);
	assert_int_equal(f->frames.count, 2);
	assert_string_equal(f->frames.frames[1].name, "run");
	/* Nothing tells whether the code is alive, and with it what it refers to. */
	f->raw.aged = true;
	assert_int_equal(name(f)->kind, V8_UNKNOWN);
	assert_int_equal(name(f)->tier, V8_TIER_TURBOFAN);
	assert_int_equal(f->frames.count, 1);
}

UNIT_TEST_WITHIN(test_code_is_found, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t first, second, other;

	(void)world_code(world, world->layout.at[V8_KIND_BASELINE], 512, NULL, 0, &first);
	other = world_code(world, world->layout.at[V8_KIND_BASELINE] + 1, 64, NULL, 0, &second);
	f->raw.place = V8_IN_HEAP;
	f->raw.lowest.value = WORLD_BASE;
	f->raw.pc.value = first + 300;
	assert_int_equal(name(f)->tier, V8_TIER_BASELINE);
	f->raw.pc.value = second + 1;
	assert_int_equal(name(f)->tier, V8_TIER_MAGLEV);
	/* A call may be the last of its instructions; behind that there is none. */
	f->raw.pc.value = second + 64;
	assert_int_equal(name(f)->tier, V8_TIER_MAGLEV);
	f->raw.offset = world->undefined;
	f->raw.pc.value = second + 65;
	assert_int_equal(name(f)->reason, V8_NO_CODE);
	/* It begins before where the search may go. */
	f->raw.pc.value = second + 1;
	f->raw.lowest.value = second;
	assert_int_equal(name(f)->tier, V8_TIER_MAGLEV); /* known from before */
	f->raw.pc.value = second + 2;
	assert_int_equal(name(f)->reason, V8_NO_CODE);
	/* What was found once is looked at again. */
	f->raw.pc.value = second + 1;
	world_word(world, other, 0, world_map(world, WORLD_ONE_BYTE));
	assert_int_equal(name(f)->reason, V8_NO_CODE);
}

/* Names ------------------------------------------------------------------------------------ */

UNIT_TEST_WITHIN(test_plain_names, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;

	f->raw.receiver = world->undefined;
	assert_named(f, "run");
	f->raw.construct = true;
	assert_named(f, "new run");
	f->raw.function = function(f, NULL, 0);
	assert_named(f, "new <anonymous>");
	f->raw.construct = false;
	assert_named(f, "<anonymous>");
	assert_string_equal(name(f)->function, "");
	world_set(world, f->script, V8_SCRIPT_FLAGS, world_smi(1));
	assert_named(f, "eval");
	f->raw.function = function(f, "x", MEMBERS);
	assert_named(f, "<instance_members_initializer>");
}

/* A name that has moved or cannot be read is not none: that is another function. */
UNIT_TEST_WITHIN(test_lost_names, setup, teardown)
{
	static const uint64_t lost[] = { 0x1001, WORLD_BASE + 1 };
	struct fixture *f = *state;
	uint64_t shared = v8_field(world_now(&f->world), f->raw.function, V8_FUNCTION_SHARED);

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		world_set(&f->world, shared, V8_SHARED_NAME, lost[i]);
		assert_int_equal(name(f)->kind, V8_FUNCTION);
		assert_null(name(f)->name);
		assert_null(name(f)->function);
		assert_int_equal(name(f)->line, 3);
	}
}

UNIT_TEST_WITHIN(test_receivers, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;

	f->raw.receiver = object(f, 0, NULL, 0, false);
	assert_named(f, "Object.run");
	f->raw.receiver = world_smi(5);
	assert_named(f, "Number.run");
	f->raw.receiver = world_string(world, "text");
	assert_named(f, "String.run");
	f->raw.receiver = world_object(world, V8_TYPE_PROXY);
	assert_named(f, "Proxy.run");
	f->raw.receiver = world_object(world, V8_TYPE_GLOBAL_PROXY);
	assert_named(f, "run");
	/* A class by its name, and a function that is none. */
	f->raw.receiver = function(f, "Shape", CLASS);
	assert_named(f, "Shape.run");
	f->raw.receiver = function(f, "shape", 0);
	assert_named(f, "Function.run");
	/* It has gone. */
	f->raw.receiver = 0x1001;
	assert_named(f, "run");
}

UNIT_TEST_WITHIN(test_types, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t tag = world_object(world, V8_TYPE_SYMBOL);
	const struct world_property maker = { .name = "constructor",
					      .value = function(f, "Shape", CLASS) };
	const struct world_property tagged = { .key = tag, .value = world_string(world, "Tag") };
	uint64_t prototype = object(f, 0, &maker, 1, false), made;

	world_set(world, tag, V8_SYMBOL_NAME, world_string(world, "Symbol.toStringTag"));
	f->raw.receiver = object(f, prototype, NULL, 0, false);
	assert_named(f, "Shape.run");
	f->raw.receiver = object(f, prototype, &tagged, 1, true);
	assert_named(f, "Tag.run");
	/* The Map says it, if the object is none that others inherit from. */
	made = object(f, prototype, NULL, 0, false);
	world_put(world, v8_address(v8_word(world_now(world), made, 0), V8_MAP_BITS_2), 1, 1);
	world_word(world, v8_word(world_now(world), made, 0), V8_MAP_CONSTRUCTOR,
		   function(f, "Circle", CLASS));
	f->raw.receiver = made;
	assert_named(f, "Circle.run");
	/* While objects are being moved what is not found is not taken for another type. */
	f->raw.moving = true;
	assert_named(f, "Circle.run");
	assert_false(f->frames.plain);
	world_word(world, v8_word(world_now(world), made, 0), V8_MAP_CONSTRUCTOR, 0x1001);
	assert_named(f, "run");
	assert_true(f->frames.plain);
	f->raw.receiver = object(f, 0, NULL, 0, false);
	assert_named(f, "run");
	f->raw.moving = false;
	assert_named(f, "Object.run");
	assert_false(f->frames.plain);
}

UNIT_TEST_WITHIN(test_methods, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t pair = world_object(world, V8_TYPE_ACCESSOR_PAIR);
	const struct world_property other = { .name = "other", .value = f->raw.function };
	const struct world_property same[] = { { .name = "run", .value = f->raw.function }, other };
	const struct world_property two[] = { { .name = "one", .value = f->raw.function }, other };
	const struct world_property hidden = { .name = "hidden",
					       .value = f->raw.function,
					       .hidden = true };
	struct world_property got = { .name = "size", .value = pair, .accessor = true };

	f->raw.receiver = object(f, 0, &other, 1, false);
	assert_named(f, "Object.run [as other]");
	f->raw.receiver = object(f, object(f, 0, &other, 1, true), NULL, 0, false);
	assert_named(f, "Object.run [as other]");
	f->raw.receiver = object(f, 0, same, 2, false);
	assert_named(f, "Object.run");
	/* Which of them it was called by cannot be told, or is not said. */
	f->raw.receiver = object(f, 0, two, 2, false);
	assert_named(f, "Object.run");
	f->raw.receiver = object(f, 0, &hidden, 1, false);
	assert_named(f, "Object.run");
	f->raw.function = function(f, "get size", 0);
	world_set(world, pair, V8_PAIR_GETTER, f->raw.function);
	f->raw.receiver = object(f, 0, &got, 1, false);
	assert_named(f, "get size");
	world->layout.at[V8_NAMES_GETTERS_TWICE] = 1;
	assert_named(f, "get size [as size]");
	f->raw.function = function(f, NULL, 0);
	assert_named(f, "Object.<anonymous>");
	f->raw.receiver =
		object(f, 0, &(struct world_property){ .name = "made", .value = f->raw.function },
		       1, false);
	assert_named(f, "Object.made");
}

/* The name of a closure may be another than that of its source. */
UNIT_TEST_WITHIN(test_renamed, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	const struct world_property renamed = { .name = "name",
						.value = world_string(world, "[called]") };
	uint64_t shared = v8_field(world_now(world), f->raw.function, V8_FUNCTION_SHARED);

	f->raw.function = world_js_object(world, world->layout.at[V8_TYPE_JS_FUNCTION_FIRST], 0,
					  &renamed, 1, false);
	world_set(world, f->raw.function, V8_FUNCTION_SHARED, shared);
	assert_named(f, "[called]");
	assert_string_equal(name(f)->function, "run");
	f->raw.receiver = object(f, 0, NULL, 0, false);
	assert_named(f, "[called]");
}

UNIT_TEST_WITHIN(test_circles_of_objects, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t one = object(f, 0, NULL, 0, false), map = v8_word(world_now(world), one, 0);

	world_word(world, map, V8_MAP_PROTOTYPE, one);
	world_word(world, map, V8_MAP_CONSTRUCTOR, map);
	world_put(world, v8_address(map, V8_MAP_BITS_2), 1, 1);
	f->raw.receiver = one;
	assert_named(f, "Object.run");
}

/* Where a function's name is in its ScopeInfo depends on what else is there. */
UNIT_TEST(test_scopes)
{
	static const struct {
		unsigned int major, minor;
		uint32_t flags; /* beside the names' */
		int32_t before; /* words before the name, beside two for each local variable */
	} scopes[] = {
		{ 9, 3, 0, 0 },	      { 9, 3, 1 << 7, 1 },   { 9, 3, 3 << 7, 0 }, { 12, 4, 0, 0 },
		{ 12, 4, 1 << 7, 0 }, { 12, 4, 1 << 10, 1 }, { 12, 4, 3, 1 },	  { 13, 6, 0, 0 },
		{ 13, 6, 5, 1 },      { 13, 6, 1 << 10, 1 },
	};

	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		uint32_t flags = scopes[i].flags | 1 << 12 | 1 << 14;
		struct v8_function found;
		struct world world;
		uint64_t scope, shared;
		int32_t name_at;

		world_init(&world, scopes[i].major, scopes[i].minor);
		name_at = 8 + 8 * (world.layout.at[V8_SCOPE_FIRST] + 4 + scopes[i].before);
		scope = world_object(&world, V8_TYPE_SCOPE_INFO);
		world_word(&world, scope, 8, world_smi((int32_t)flags));
		world_word(&world, scope, 8 + 8 * world.layout.at[V8_SCOPE_LOCALS], world_smi(2));
		world_word(&world, scope, name_at, world_string(&world, "own"));
		world_word(&world, scope, name_at + 16, world_string(&world, "inferred"));
		if (!world.layout.at[V8_SCOPE_POSITIONS_END])
			name_at = 8 + 8 * 3 - 24;
		world_word(&world, scope, name_at + 24, world_smi(100));
		world_word(&world, scope, name_at + 32, world_smi(120));
		shared = world_shared(&world, &(struct world_function){ .flags = 0 });
		world_set(&world, shared, V8_SHARED_NAME, scope);
		assert_true(v8_function_read(world_now(&world), shared, &found));
		assert_true(v8_string_is(&world.heap, found.name, "own"));
		assert_true(v8_string_is(&world.heap, found.inferred, "inferred"));
		assert_int_equal(found.start, 100);
		assert_int_equal(found.end, 120);
		world_deinit(&world);
	}
}

/* Scripts ---------------------------------------------------------------------------------- */

static void assert_place(struct fixture *f, int32_t at, uint32_t line, uint32_t column)
{
	struct v8_scripts scripts = { 0 };
	uint32_t found_line, found_column;

	v8_scripts_begin(&scripts);
	assert_true(v8_script_position(&scripts, world_now(&f->world), 1, f->script, at,
				       &found_line, &found_column));
	assert_int_equal(found_line, line);
	assert_int_equal(found_column, column);
	v8_scripts_deinit(&scripts);
}

UNIT_TEST_WITHIN(test_lines, setup, teardown)
{
	static const uint16_t ends[] = { 'a', '\r', '\n', 'b', '\r', 'c', 0x2028, '\n', 'd', '\r' };
	struct fixture *f = *state;
	struct v8_scripts scripts = { 0 };
	uint32_t line, column;

	world_set(&f->world, f->script, V8_SCRIPT_SOURCE, world_two_byte(&f->world, ends, 10));
	assert_place(f, 0, 1, 1);
	assert_place(f, 2, 1, 3);
	assert_place(f, 3, 2, 1);
	assert_place(f, 5, 3, 1);
	assert_place(f, 7, 4, 1);
	assert_place(f, 8, 5, 1);
	assert_place(f, 10, 6, 1);
	v8_scripts_begin(&scripts);
	assert_false(v8_script_position(&scripts, world_now(&f->world), 1, f->script, 11, &line,
					&column));
	assert_false(v8_script_position(&scripts, world_now(&f->world), 1, f->script, -1, &line,
					&column));
	assert_false(v8_script_position(&scripts, world_now(&f->world), 1, f->raw.function, 0,
					&line, &column));
	v8_scripts_deinit(&scripts);
}

UNIT_TEST_WITHIN(test_parts_of_scripts, setup, teardown)
{
	struct fixture *f = *state;

	world_set(&f->world, f->script, V8_SCRIPT_LINE_OFFSET, world_smi(10));
	world_set(&f->world, f->script, V8_SCRIPT_COLUMN_OFFSET, world_smi(7));
	assert_place(f, 2, 11, 10);
	assert_place(f, 7, 12, 2);
}

UNIT_TEST_WITHIN(test_lines_of_the_engine, setup, teardown)
{
	struct fixture *f = *state;
	const uint64_t ends[] = { world_smi(3), world_smi(9), world_smi(30) };

	world_set(&f->world, f->script, V8_SCRIPT_LINE_ENDS,
		  world_array(&f->world, V8_TYPE_ARRAY, ends, 3));
	assert_place(f, 4, 2, 1);
	assert_place(f, 30, 3, 21);
}

/* Ids are of an isolate each, and a script's lines are counted once. */
UNIT_TEST_WITHIN(test_kept_lines, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	struct v8_scripts scripts = { 0 };
	uint64_t other = world_script(world, 5, "other.js", world_string(world, "\n\n\n\n"));
	uint32_t line, column;

	v8_scripts_begin(&scripts);
	for (int i = 0; i < 2; i++) {
		assert_true(v8_script_position(&scripts, world_now(world), 1, f->script, 20, &line,
					       &column));
		assert_int_equal(line, 3);
		assert_true(v8_script_position(&scripts, world_now(world), 2, other, 3, &line,
					       &column));
		assert_int_equal(line, 4);
	}
	/* More scripts than are kept: each is right all the same. */
	for (int32_t i = 0; i < 600; i++) {
		world_set(world, f->script, V8_SCRIPT_ID, world_smi(100 + i % 300));
		assert_true(v8_script_position(&scripts, world_now(world), 1, f->script, 20, &line,
					       &column));
		assert_int_equal(line, 3);
	}
	v8_scripts_deinit(&scripts);
}

#define ENDLESS (UINT64_C(1) << 46) /* from there on all memory is there, and full of spaces */

static ssize_t read_endless(void *ctx, void *to, size_t size, uint64_t at)
{
	if (at < ENDLESS)
		return world_read(ctx, to, size, at);
	memset(to, ' ', size);
	return (ssize_t)size;
}

/* However many scripts a frame has, and however long they are, their lines are soon counted. */
UNIT_TEST_WITHIN(test_long_sources, setup, teardown)
{
	enum { LENGTH = V8_SOURCE_MAX / 4 * 3 };
	struct fixture *f = *state;
	struct world *world = &f->world;
	struct v8_heap heap = { .layout = &world->layout };
	struct v8_scripts scripts = { 0 };
	uint64_t others[2];
	uint32_t line, column;

	for (int32_t i = 0; i < 2; i++)
		others[i] = world_script(
			world, 6 + i, "long.js",
			world_made_of(world, WORLD_EXTERNAL | WORLD_ONE_BYTE, LENGTH, 0, ENDLESS));
	assert_int_equal(memory_create(&heap.memory, read_endless, world, NULL), 0);
	v8_scripts_begin(&scripts);
	assert_true(v8_script_position(&scripts, &heap, 1, others[0], 9, &line, &column));
	assert_int_equal(column, 10);
	assert_false(v8_script_position(&scripts, &heap, 1, others[1], 9, &line, &column));
	/* What is counted already, or is short, has a place all the same. */
	assert_true(v8_script_position(&scripts, &heap, 1, others[0], 19, &line, &column));
	assert_true(v8_script_position(&scripts, &heap, 1, f->script, 20, &line, &column));
	v8_scripts_begin(&scripts);
	assert_true(v8_script_position(&scripts, &heap, 1, others[1], 9, &line, &column));
	v8_scripts_deinit(&scripts);
	memory_destroy(heap.memory);
}

UNIT_TEST_WITHIN(test_script_names, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;

	world_set(world, f->script, V8_SCRIPT_SOURCE_URL, world_string(world, "from-comment.js"));
	assert_string_equal(name(f)->script, "from-comment.js");
	world_set(world, f->script, V8_SCRIPT_SOURCE_URL, world->undefined);
	world_set(world, f->script, V8_SCRIPT_NAME, world->undefined);
	assert_null(name(f)->script);
	assert_int_equal(name(f)->line, 3);
}

UNIT_MAIN(NULL, NULL)
