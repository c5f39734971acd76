// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks from raw frames: who is asked for names, what is remembered, and which frames are shown.
 * The target is made up, and so is its runtime, which inlines.
 */
#include "unit.h"

#include <string.h>

#include "bpf/event.h"
#include "stack/known.h"
#include "stack/stack.h"
#include "stack/symbols.h"
#include "target/target.h"

enum {
	MEMORY = 0x1000000, /* of the runtime; a method every 0x100 bytes */
	LIBRARY = 0x9000000,
	END = 0xa000000,
	DESC = 0x77,
	STACKS = 200, /* of so many frames that some take the places of others of their stack */
};

struct world {
	struct mapping rows[2];
	struct target target;
	uint64_t version;
	uint64_t named_version;
	unsigned int refreshed;
	unsigned int asked;   /* the runtime */
	unsigned int inlined; /* calls in each of its methods */
	bool transient;
	bool framed;
	char name[32];
	struct symbols *symbols;
	struct stack stack;
	struct known_stacks *known;
	struct known_stack *held;
};

static bool refresh(void *ctx)
{
	((struct world *)ctx)->refreshed++;
	return false;
}

/*
 * A method "m<HUNDREDS>" of memory, or the one that the walk has found; what is at 0x90 of each is
 * a handler.
 */
static void name_managed(void *ctx, const struct raw_frame *raw, struct named_frames *named)
{
	struct world *world = ctx;
	uint64_t in_memory = raw->look_at.value - MEMORY;

	if (raw->place != RAW_IN_MEMORY && raw->method != DESC)
		return;
	world->asked++;
	snprintf(world->name, sizeof(world->name), "m%d",
		 raw->method ? DESC : (int)(in_memory >> 8));
	named->count = world->inlined + 1;
	named->transient = world->transient;
	for (size_t i = 0; i < named->count; i++)
		named->frames[i] = (struct frame){
			.kind = FRAME_DOTNET,
			.name = i < world->inlined ? "inner" : world->name,
			.module = "app.dll",
			.inlined = i < world->inlined,
			.offset = (in_memory & 0xff) + raw->step,
			.funclet = (in_memory & 0xff) == 0x90,
			.framed = world->framed,
		};
}

static uint64_t managed_version(const void *ctx)
{
	return ((const struct world *)ctx)->named_version;
}

static void name_native(void *ctx, const struct raw_frame *raw, struct named_frames *named)
{
	(void)ctx;
	if (raw->place == RAW_IN_FILE) {
		named_frames_only(named)->kind = FRAME_NATIVE;
		named->frames[0].module = mapping_file_name(raw->row);
	}
}

static void nothing_to_destroy(void *ctx)
{
	assert_non_null(ctx);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct symbol_sources sources = {
		.target = &world->target,
		.version = &world->version,
		.refresh = refresh,
		.ctx = world,
		.namers = { { .name = name_managed,
			      .version = managed_version,
			      .destroy = nothing_to_destroy,
			      .ctx = world },
			    { .name = name_native, .destroy = nothing_to_destroy, .ctx = world } },
		.namer_count = 2,
	};

	assert_non_null(world);
	world->rows[0] = (struct mapping){
		.start = { MEMORY }, .end = { LIBRARY }, .executable = true, .path = ""
	};
	world->rows[1] = (struct mapping){ .start = { LIBRARY },
					   .end = { END },
					   .executable = true,
					   .inode = 7,
					   .path = "/lib/libx.so" };
	world->target.first = (struct maps){ .rows = world->rows, .count = 2 };
	assert_int_equal(symbols_create(&world->symbols, &sources, NULL), 0);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	symbols_destroy(world->symbols);
	known_stacks_destroy(world->known);
	known_stack_release(world->held);
	stack_deinit(&world->stack);
	free(world);
	return 0;
}

/* What the names of @stack's frames are, from the inside out; "?" if there is none. */
static const char *names_of(const struct stack *stack)
{
	static char names[256];
	size_t length = 0;

	for (size_t i = 0; i < stack->count && length < sizeof(names); i++) {
		const char *name = stack->frames[i].name;

		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   i ? " " : "", name ? name : "?");
	}
	return names;
}

static void resolve(struct world *world, const struct hit_event *event, enum stack_frames frames)
{
	stack_resolve(&world->stack, world->symbols, event, (struct address){ MEMORY + 0x500 },
		      frames);
}

/* Of a marked stack, what is in it, and what is left of it as a managed one. */
static void check_marked(struct world *world, const struct hit_event *event, const char *all,
			 const char *managed)
{
	struct stack narrowed = { .frames = NULL };

	resolve(world, event, STACK_FRAMES_MARKED);
	assert_string_equal(names_of(&world->stack), all);
	assert_true(stack_narrow(&narrowed, &world->stack));
	assert_string_equal(names_of(&narrowed), managed);
	assert_int_equal(narrowed.end, world->stack.end);
	assert_int_equal(narrowed.guessed, world->stack.guessed);
	stack_deinit(&narrowed);
}

UNIT_TEST_WITHIN(frames_in_order, set_up, tear_down)
{
	static const struct hit_event event = {
		.frame_count = 4,
		.stack_end = STACK_BROKEN,
		.frames = { { .pc = MEMORY + 0x100 },
			    { .pc = MEMORY + 0x200 },
			    { .pc = LIBRARY + 8, .flags = EVENT_FRAME_GUESSED },
			    { .pc = 1, .method = DESC } },
	};
	struct world *world = *state;
	const struct frame *frames;

	resolve(world, &event, STACK_FRAMES_ALL);
	frames = world->stack.frames;
	/* The caller ends with its call: what it returns to is the next method's. */
	assert_string_equal(names_of(&world->stack), "m1 m1 ? m119");
	assert_int_equal(world->stack.end, STACK_BROKEN);
	assert_int_equal(frames[0].offset, 0);
	assert_int_equal(frames[1].offset, 0x100);
	assert_int_equal(frames[1].address.value, MEMORY + 0x200);
	assert_string_equal(frames[1].module, "app.dll");
	assert_int_equal(frames[2].kind, FRAME_NATIVE);
	assert_string_equal(frames[2].module, "libx.so");
	assert_true(frames[2].guessed);
	assert_false(frames[1].guessed);
	/* Whose method is known needs no mapping. */
	assert_int_equal(world->refreshed, 0);
	resolve(world, &event, STACK_FRAMES_MANAGED);
	assert_string_equal(names_of(&world->stack), "m1 m1 m119");
	check_marked(world, &event, "m1 m1 ? m119", "m1 m1 m119");
}

/* The code of the guess' callee was found out about meanwhile; that of the next one's was not. */
UNIT_TEST_WITHIN(settled_guesses, set_up, tear_down)
{
	static const struct hit_event event = {
		.frame_count = 4,
		.frames = { { .pc = MEMORY, .flags = EVENT_FRAME_V8 },
			    { .pc = LIBRARY + 8, .flags = EVENT_FRAME_GUESSED },
			    { .pc = MEMORY + 0x200, .flags = EVENT_FRAME_GUESSED },
			    { .pc = LIBRARY + 8, .flags = EVENT_FRAME_GUESSED } },
	};
	struct world *world = *state;

	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->stack.guessed, 3);
	assert_true(world->stack.frames[1].guessed);
	world->version++;
	world->framed = true;
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->stack.guessed, 2);
	assert_false(world->stack.frames[1].guessed);
	assert_true(world->stack.frames[2].guessed);
	/* It was not left as the runtime's code is left. */
	assert_true(world->stack.frames[3].guessed);
}

UNIT_TEST_WITHIN(inlined_frames, set_up, tear_down)
{
	static const struct hit_event event = {
		.frame_count = 2,
		.frames = { { .pc = MEMORY }, { .pc = MEMORY + 0x310 } },
	};
	struct world *world = *state;

	world->inlined = 2;
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_string_equal(names_of(&world->stack), "inner inner m0 inner inner m3");
	assert_true(world->stack.frames[1].inlined);
	assert_false(world->stack.frames[2].inlined);
	assert_int_equal(world->stack.frames[4].address.value, MEMORY + 0x310);
	/* The same, remembered. */
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_string_equal(names_of(&world->stack), "inner inner m0 inner inner m3");
	assert_int_equal(world->asked, 2);
}

UNIT_TEST_WITHIN(names_are_remembered, set_up, tear_down)
{
	static const struct hit_event event = { .frame_count = 1, .frames = { { .pc = MEMORY } } };
	struct world *world = *state;

	resolve(world, &event, STACK_FRAMES_ALL);
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->asked, 1);
	/* Until other code may be there. */
	world->version++;
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->asked, 2);
	world->named_version++;
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->asked, 3);
	world->version++;
	world->transient = true;
	resolve(world, &event, STACK_FRAMES_ALL);
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->asked, 5);
}

/* The cache has room for all names of few stacks, and where they go for few of one stack. */
UNIT_TEST_WITHIN(names_outlive_the_cache, set_up, tear_down)
{
	static struct hit_event event = { .frame_count = EVENT_MAX_FRAMES };
	struct world *world = *state;
	char expected[16];

	for (unsigned int i = 0; i < STACKS; i++) {
		for (unsigned int j = 0; j < EVENT_MAX_FRAMES; j++)
			event.frames[j].pc = MEMORY + 1 + 0x100 * (i * EVENT_MAX_FRAMES + j);
		resolve(world, &event, STACK_FRAMES_ALL);
		assert_int_equal(world->asked, (i + 1) * EVENT_MAX_FRAMES);
		for (unsigned int j = 0; j < EVENT_MAX_FRAMES; j++) {
			snprintf(expected, sizeof(expected), "m%u", i * EVENT_MAX_FRAMES + j);
			assert_string_equal(world->stack.frames[j].name, expected);
		}
	}
}

/* While a handler runs, its method's callees are still on the stack. */
UNIT_TEST_WITHIN(what_an_exception_has_left, set_up, tear_down)
{
	static const struct hit_event event = {
		.frame_count = 5,
		.frames = { { .pc = MEMORY + 0x100 },
			    { .pc = MEMORY + 0x391, .frame_pointer = 5 },
			    { .pc = MEMORY + 0x410, .frame_pointer = 2 },
			    { .pc = MEMORY + 0x310, .frame_pointer = 5 },
			    { .pc = MEMORY + 0x610, .frame_pointer = 9 } },
	};
	struct world *world = *state;

	resolve(world, &event, STACK_FRAMES_MANAGED);
	assert_string_equal(names_of(&world->stack), "m1 m3 m6");
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_string_equal(names_of(&world->stack), "m1 m3 m4 m3 m6");
	check_marked(world, &event, "m1 m3 m4 m3 m6", "m1 m3 m6");
}

UNIT_TEST_WITHIN(calls_that_have_ended, set_up, tear_down)
{
	struct hit_event event = {
		.frame_count = 1,
		.duration_ns = 5,
		.frames = { { .pc = MEMORY + 0x5f0 } },
	};
	struct world *world = *state;

	resolve(world, &event, STACK_FRAMES_ALL);
	assert_string_equal(names_of(&world->stack), "m5");
	assert_int_equal(world->stack.frames[0].offset, 0);
	event.duration_ns = 0;
	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->stack.frames[0].offset, 0xf0);
}

UNIT_TEST_WITHIN(no_names, set_up, tear_down)
{
	static const struct hit_event event = {
		.frame_count = 2,
		.frames = { { .pc = 0x42 }, { .pc = 0x43, .flags = EVENT_FRAME_STUB } },
	};
	struct world *world = *state;

	resolve(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->stack.count, 2);
	assert_int_equal(world->stack.frames[0].kind, FRAME_UNKNOWN);
	assert_null(world->stack.frames[0].module);
	assert_int_equal(world->stack.frames[0].address.value, 0x42);
	assert_int_equal(world->stack.frames[1].kind, FRAME_STUB);
	/* Once for both: not so often. */
	assert_int_equal(world->refreshed, 1);
	/* Nobody who knows names. */
	stack_resolve(&world->stack, NULL, &event, (struct address){ 0 }, STACK_FRAMES_ALL);
	assert_int_equal(world->stack.count, 2);
	assert_int_equal(world->stack.frames[1].address.value, 0x43);
	assert_int_equal(stack_caller(NULL, (struct address){ 5 }).address.value, 5);
	assert_string_equal(stack_caller(world->symbols, (struct address){ MEMORY + 0x100 }).name,
			    "m0");
}

/* Stacks that were seen before ----------------------------------------------------------------*/

static void know(struct world *world, size_t bytes_max)
{
	assert_int_equal(known_stacks_create(&world->known, bytes_max, NULL), 0);
}

/* It is released with the next. */
static const struct known_stack *get(struct world *world, const struct hit_event *event,
				     enum stack_frames frames)
{
	struct known_stack *stack = known_stacks_get(world->known, world->symbols, event,
						     (struct address){ MEMORY + 0x500 }, frames);

	assert_non_null(stack);
	assert_int_equal(stack->stack.end, event->stack_end);
	known_stack_release(world->held);
	world->held = stack;
	return stack;
}

UNIT_TEST_WITHIN(stacks_are_known_again, set_up, tear_down)
{
	static struct hit_event event = {
		.frame_count = 3,
		.frames = { { .pc = MEMORY + 0x100, .frame_pointer = 7 },
			    { .pc = MEMORY + 0x220 },
			    { .pc = 1, .method = DESC, .offset = 5 } },
	};
	struct world *world = *state;
	const struct known_stack *first;

	know(world, 1 << 20);
	first = get(world, &event, STACK_FRAMES_ALL);
	assert_string_equal(names_of(&first->stack), "m1 m2 m119");
	assert_ptr_equal(first->stack.rendering, &first->rendering);
	/* Another thread has other frame pointers. */
	event.frames[0].frame_pointer = 8;
	assert_ptr_equal(get(world, &event, STACK_FRAMES_ALL), first);
	assert_int_equal(world->asked, 3);
	/* Whatever else is another is another stack. */
	event.stack_end = STACK_BROKEN;
	assert_ptr_not_equal(get(world, &event, STACK_FRAMES_ALL), first);
	event.stack_end = STACK_WHOLE;
	event.frames[1].flags = EVENT_FRAME_GUESSED;
	assert_ptr_not_equal(get(world, &event, STACK_FRAMES_ALL), first);
	event.frames[1].flags = 0;
	event.frames[2].offset = 6;
	assert_ptr_not_equal(get(world, &event, STACK_FRAMES_ALL), first);
	event.frames[2].offset = 5;
	event.duration_ns = 1;
	assert_string_equal(names_of(&get(world, &event, STACK_FRAMES_ALL)->stack), "m5 m2 m119");
	event.duration_ns = 0;
	event.frame_count = 2;
	assert_int_equal(get(world, &event, STACK_FRAMES_ALL)->stack.count, 2);
	event.frame_count = 3;
	assert_ptr_equal(get(world, &event, STACK_FRAMES_ALL), first);
}

/* Other code may be there by now. */
UNIT_TEST_WITHIN(stacks_are_named_anew, set_up, tear_down)
{
	static const struct hit_event event = {
		.frame_count = 1,
		.frames = { { .pc = MEMORY + 0x100 } },
	};
	struct world *world = *state;

	know(world, 1 << 20);
	get(world, &event, STACK_FRAMES_ALL);
	get(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->asked, 1);
	world->named_version++;
	get(world, &event, STACK_FRAMES_ALL);
	assert_int_equal(world->asked, 2);
	world->transient = true;
	world->version++;
	for (int i = 0; i < 3; i++)
		assert_null(get(world, &event, STACK_FRAMES_ALL)->stack.rendering);
	assert_int_equal(world->asked, 5);
}

/* What frame pointers decide is decided each time. */
UNIT_TEST_WITHIN(handlers_are_not_remembered, set_up, tear_down)
{
	static struct hit_event event = {
		.frame_count = 4,
		.frames = { { .pc = MEMORY + 0x190, .frame_pointer = 1 },
			    { .pc = MEMORY + 0x220, .frame_pointer = 2 },
			    { .pc = MEMORY + 0x150, .frame_pointer = 1 },
			    { .pc = MEMORY + 0x320, .frame_pointer = 4 } },
	};
	struct world *world = *state;

	know(world, 1 << 20);
	assert_int_equal(get(world, &event, STACK_FRAMES_MANAGED)->stack.count, 2);
	event.frames[2].frame_pointer = 3;
	assert_int_equal(get(world, &event, STACK_FRAMES_MANAGED)->stack.count, 1);
	assert_null(world->held->stack.rendering);
	get(world, &event, STACK_FRAMES_MARKED);
	assert_null(world->held->stack.rendering);
	get(world, &event, STACK_FRAMES_ALL);
	assert_non_null(world->held->stack.rendering);
}

/* They never take more than they may, and who has one keeps it. */
UNIT_TEST_WITHIN(stacks_are_evicted, set_up, tear_down)
{
	struct hit_event event = { .frame_count = 1 };
	struct world *world = *state;
	struct known_stack *kept;

	know(world, 4096);
	event.frames[0].pc = MEMORY + 0x100;
	kept = known_stacks_get(world->known, world->symbols, &event, (struct address){ 0 },
				STACK_FRAMES_ALL);
	for (int i = 0; i < STACKS; i++) {
		event.frames[0].pc = MEMORY + 0x100 * (uint64_t)(i + 2);
		get(world, &event, STACK_FRAMES_ALL);
	}
	assert_in_range(known_stacks_evicted(world->known), STACKS / 2, STACKS);
	assert_string_equal(names_of(&kept->stack), "m1");
	known_stacks_destroy(world->known);
	world->known = NULL;
	assert_string_equal(names_of(&kept->stack), "m1");
	known_stack_release(kept);
}

UNIT_MAIN(NULL, NULL)
