// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"
#include "tests/unit/v8_world.h"

#include "runtime/v8/js_string.h"

struct fixture {
	struct world world;
	struct text text;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	world_init(&f->world, 12, 4);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	text_deinit(&f->text);
	world_deinit(&f->world);
	free(f);
	return 0;
}

static void assert_reads(struct fixture *f, uint64_t string, const char *expected)
{
	text_clear(&f->text);
	assert_true(v8_string_add(world_now(&f->world), string, V8_NAME_MAX, &f->text));
	assert_string_equal(text_chars(&f->text), expected);
}

static void assert_fails(struct fixture *f, uint64_t string)
{
	text_clear(&f->text);
	assert_false(v8_string_add(world_now(&f->world), string, V8_NAME_MAX, &f->text));
}

static uint64_t cons(struct world *world, uint64_t first, uint64_t second)
{
	uint32_t length = v8_string_length(world_now(world), first) +
			  v8_string_length(world_now(world), second);

	return world_made_of(world, WORLD_CONS, length, first, second);
}

UNIT_TEST_WITHIN(test_flat, setup, teardown)
{
	static const uint16_t wide[] = {
		'a', 0xe9, 0x540d, 0xd83d, 0xde00, 0xd800, 'b', 0xdc00, 0
	};
	struct fixture *f = *state;

	assert_reads(f, world_string(&f->world, "plain"), "plain");
	assert_reads(f, world_string(&f->world, ""), "");
	assert_reads(f, world_string(&f->world, "caf\xe9"), "caf\xc3\xa9");
	/* A pair, halves without the other one, and what would end the string. */
	assert_reads(f, world_two_byte(&f->world, wide, 9),
		     "a\xc3\xa9\xe5\x90\x8d\xf0\x9f\x98\x80\xef\xbf\xbd"
		     "b\xef\xbf\xbd\xef\xbf\xbd");
	assert_reads(f, world_two_byte(&f->world, wide + 5, 1), "\xef\xbf\xbd");
}

UNIT_TEST_WITHIN(test_long, setup, teardown)
{
	struct fixture *f = *state;
	char chars[3001];

	memset(chars, 'x', 3000);
	chars[3000] = '\0';
	text_clear(&f->text);
	assert_true(v8_string_add(world_now(&f->world), world_string(&f->world, chars), 5000,
				  &f->text));
	assert_int_equal(f->text.length, 3000);
	/* Of names only the beginning is read. */
	assert_int_equal(
		(text_clear(&f->text),
		 v8_string_add(world_now(&f->world), world_string(&f->world, chars), 10, &f->text)),
		true);
	assert_string_equal(text_chars(&f->text), "xxxxxxxxxx");
}

UNIT_TEST_WITHIN(test_made_of_others, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t one = world_string(world, "one"), two = world_string(world, "two");
	uint64_t both = cons(world, one, two);
	uint64_t thin = world_made_of(world, WORLD_THIN, 6, both, 0);
	uint64_t sliced = world_made_of(world, WORLD_SLICED, 4, thin, world_smi(1));
	uint64_t empty = world_string(world, "");

	assert_reads(f, both, "onetwo");
	assert_reads(f, cons(world, both, cons(world, empty, both)), "onetwoonetwo");
	assert_reads(f, thin, "onetwo");
	assert_reads(f, sliced, "netw");
	/* A part of a part, before, across and behind where two meet. */
	assert_reads(f, world_made_of(world, WORLD_SLICED, 2, sliced, world_smi(0)), "ne");
	assert_reads(f, world_made_of(world, WORLD_SLICED, 2, sliced, world_smi(1)), "et");
	assert_reads(f, world_made_of(world, WORLD_SLICED, 2, sliced, world_smi(2)), "tw");
	assert_true(v8_string_is(world_now(world), sliced, "netw"));
	assert_false(v8_string_is(world_now(world), sliced, "netx"));
	assert_false(v8_string_is(world_now(world), sliced, "net"));
}

UNIT_TEST_WITHIN(test_external, setup, teardown)
{
	static const uint16_t wide[] = { 0x540d, 'a' };
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t at = world_alloc(world, 16);

	memcpy(world_at(world, at, 8), "external", 8);
	assert_reads(f, world_made_of(world, WORLD_EXTERNAL | WORLD_ONE_BYTE, 8, 0, at),
		     "external");
	memcpy(world_at(world, at, sizeof(wide)), wide, sizeof(wide));
	assert_reads(f, world_made_of(world, WORLD_EXTERNAL, 2, 0, at),
		     "\xe5\x90\x8d"
		     "a");
	/* One that does not know where its characters are, and one that is wrong about it. */
	assert_fails(f, world_made_of(world, WORLD_EXTERNAL | WORLD_ONE_BYTE | 16, 8, 0, at));
	assert_fails(f, world_made_of(world, WORLD_EXTERNAL | WORLD_ONE_BYTE, 8, 0, 0x1000));
}

UNIT_TEST_WITHIN(test_circles, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t part = world_string(world, "x");
	uint64_t left = world_made_of(world, WORLD_CONS, 1000, part, part);
	uint64_t right = world_made_of(world, WORLD_CONS, 1000, part, part);
	uint64_t thin = world_made_of(world, WORLD_THIN, 5, part, 0);
	uint64_t sliced = world_made_of(world, WORLD_SLICED, 5, part, world_smi(0));

	world_word(world, left, 16, left);
	assert_fails(f, left);
	world_word(world, right, 24, right);
	assert_fails(f, right);
	world_word(world, thin, 16, thin);
	assert_fails(f, thin);
	world_word(world, sliced, 16, sliced);
	assert_fails(f, sliced);
}

UNIT_TEST_WITHIN(test_damaged, setup, teardown)
{
	struct fixture *f = *state;
	struct world *world = &f->world;
	uint64_t one = world_string(world, "one"), deep = one;
	uint64_t huge = world_string(world, "huge"), longer = world_string(world, "longer");

	assert_fails(f, world_smi(5));
	assert_fails(f, 0x1001);
	assert_fails(f, world->undefined);
	/* It says that it is longer than memory is, or than strings can be. */
	world_u32(world, longer, 12, 1 << 20);
	text_clear(&f->text);
	assert_false(v8_string_add(world_now(world), longer, 1 << 20, &f->text));
	world_u32(world, huge, 12, UINT32_MAX);
	assert_int_equal(v8_string_length(world_now(world), huge), 0);
	/* Parts that do not have what the whole says. */
	assert_fails(f, world_made_of(world, WORLD_CONS, 9, one, one));
	assert_fails(f, world_made_of(world, WORLD_SLICED, 3, one, world_smi(1)));
	assert_fails(f, world_made_of(world, WORLD_SLICED, 1, one, world_smi(-1)));
	assert_fails(f, world_made_of(world, WORLD_SLICED, 1, one, one));
	assert_fails(f, world_made_of(world, WORLD_THIN, 3, world->undefined, 0));
	/* Deeper to the left than anything of sense. */
	for (int i = 0; i < 100; i++)
		deep = cons(world, deep, one);
	assert_fails(f, deep);
}

static bool stop_at_once(void *ctx, const uint16_t *chars, size_t count)
{
	(void)chars;
	*(size_t *)ctx += count;
	return false;
}

UNIT_TEST_WITHIN(test_enough, setup, teardown)
{
	struct fixture *f = *state;
	uint64_t both =
		cons(&f->world, world_string(&f->world, "one"), world_string(&f->world, "two"));
	size_t seen = 0;

	assert_true(v8_string_each(world_now(&f->world), both, 6, stop_at_once, &seen));
	assert_int_equal(seen, 3);
}

/* Whatever is moved while it is read has its new address where its Map was. */
UNIT_TEST_WITHIN(test_moved, setup, teardown)
{
	struct fixture *f = *state;
	uint64_t one = world_string(&f->world, "one");

	assert_true(v8_is_string(world_now(&f->world), one));
	world_word(&f->world, one, 0, one - 1);
	assert_int_equal(v8_type(world_now(&f->world), one), -1);
	world_word(&f->world, one, 0, one);
	assert_int_equal(v8_type(world_now(&f->world), one), -1);
	assert_fails(f, one);
}

UNIT_MAIN(NULL, NULL)
