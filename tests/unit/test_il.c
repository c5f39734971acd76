// SPDX-License-Identifier: GPL-2.0-or-later
/* il.h: how large a method's IL is, which decides how the JIT compiles it. */
#include "base/cleanup.h"
#include "tests/unit/golden.h"

#include "runtime/dotnet/il.h"
#include "runtime/dotnet/images.h"

/* Methods of tests/golden/tiny-bodies.dll by what their IL is. */
enum { IL_TINY = 1, IL_NOPS, IL_BRANCHES, IL_LOADS, IL_DAMAGED, ROWS = IL_DAMAGED };

enum { LARGE = 1 << 16, MOST = 80000 }; /* native code that leaves it open; bytes of IL here */

/* The class of @count instructions, each of the same bytes. */
static enum il_size_class class_of(const char *instruction, size_t size, size_t count,
				   uint32_t locals)
{
	_cleanup_(golden_free) struct golden code = { malloc(size * count + 1), size * count };
	_cleanup_(golden_free) struct golden exact;
	enum il_size_class is;

	assert_non_null(code.bytes);
	for (size_t i = 0; i < count; i++)
		memcpy(code.bytes + i * size, instruction, size);
	exact = golden_copy(code.bytes, code.size);
	is = il_code_size_class(golden_span(&exact), locals);
	return is;
}

#define CLASS_OF(instruction, count) class_of(instruction, sizeof(instruction) - 1, count, 0)

UNIT_TEST(limits)
{
	/* Bytes: ldc.i8, which is the longest. */
	assert_int_equal(CLASS_OF("\x21********", 6666), IL_SMALL);
	assert_int_equal(CLASS_OF("\x21********", 6667), IL_HUGE);
	/* Instructions: nop. */
	assert_int_equal(CLASS_OF("\x00", 0), IL_SMALL);
	assert_int_equal(CLASS_OF("\x00", 19799), IL_SMALL);
	assert_int_equal(CLASS_OF("\x00", 19800), IL_NOT_SURE);
	assert_int_equal(CLASS_OF("\x00", 20000), IL_NOT_SURE);
	assert_int_equal(CLASS_OF("\x00", 20001), IL_HUGE);
	/* References to locals: ldloc.0, ldloc.s, ldloc. */
	assert_int_equal(CLASS_OF("\x06", 7799), IL_SMALL);
	assert_int_equal(CLASS_OF("\x06", 8000), IL_NOT_SURE);
	assert_int_equal(CLASS_OF("\x06", 8001), IL_HUGE);
	assert_int_equal(CLASS_OF("\x11\x05", 8001), IL_HUGE);
	assert_int_equal(CLASS_OF("\xfe\x0c\x05\x00", 8001), IL_HUGE);
	/* Blocks, which are counted at most: br.s, beq, ret. */
	assert_int_equal(CLASS_OF("\x2b\x00", 999), IL_SMALL); /* too short to reach a limit */
	assert_int_equal(CLASS_OF("\x2b\x00", 1000), IL_NOT_SURE);
	assert_int_equal(CLASS_OF("\x3b\x00\x00\x00\x00", 899), IL_SMALL);
	assert_int_equal(CLASS_OF("\x3b\x00\x00\x00\x00", 900), IL_NOT_SURE);
	assert_int_equal(CLASS_OF("\x2a", 2000), IL_NOT_SURE);
	/* Locals. */
	assert_int_equal(class_of("\x00", 1, 10, 1799), IL_SMALL);
	assert_int_equal(class_of("\x00", 1, 10, 1800), IL_NOT_SURE);
	assert_int_equal(class_of("\x00", 1, 10, 2000), IL_NOT_SURE);
	assert_int_equal(class_of("\x00", 1, 10, 2001), IL_HUGE);
	assert_int_equal(class_of("\x00", 1, 10, UINT32_MAX), IL_HUGE);
}

UNIT_TEST(switches)
{
	uint8_t code[MOST] = { 0x45, 0xd0, 0x07 }; /* 2000 targets */

	assert_int_equal(il_code_size_class((struct span){ code, 5 + 4 * 2000 }, 0), IL_NOT_SURE);
	code[1] = 0x64; /* 100: the rest are nops */
	code[2] = 0;
	assert_int_equal(il_code_size_class((struct span){ code, 5 + 4 * 2000 }, 0), IL_SMALL);
	memset(code + 1, 0xff, 4); /* more than there is */
	assert_int_equal(il_code_size_class((struct span){ code, 5 + 4 * 2000 }, 0), IL_NOT_SURE);
}

/* In code that is long enough to be looked at, each opcode alone and cut short. */
UNIT_TEST(every_opcode)
{
	enum { LONG = 2100 };
	uint8_t code[LONG] = { 0 };
	unsigned int known[2] = { 0 };

	for (unsigned int two = 0; two < 2; two++) {
		for (unsigned int opcode = 0; opcode < 256; opcode++) {
			struct golden exact;

			if (two)
				code[0] = 0xfe;
			code[two] = (uint8_t)opcode;
			known[two] +=
				il_code_size_class((struct span){ code, LONG }, 0) == IL_SMALL;
			/* As the last byte: what it lacks is not read. */
			code[two] = 0;
			code[0] = 0;
			if (two)
				code[LONG - 2] = 0xfe;
			code[LONG - 1] = (uint8_t)opcode;
			exact = golden_copy(code, LONG);
			assert_int_not_equal(il_code_size_class(golden_span(&exact), 0), IL_HUGE);
			golden_free(&exact);
			code[LONG - 2] = code[LONG - 1] = 0;
		}
	}
	/*
	 * As many as there are, ECMA-335 III.1.2.1: 00-23, 25-76, 79-a5, b3-ba, c2, c3, c6, d0-e0,
	 * and the prefix, which is arglist with the nop behind it; fe 00-07, 09-0f, 11-1a, 1c-1e.
	 */
	assert_int_equal(known[0], 36 + 82 + 45 + 8 + 3 + 17 + 1);
	assert_int_equal(known[1], 8 + 7 + 10 + 3);
}

struct image {
	struct golden file;
	struct dotnet_image image;
};

static void image_init(struct image *i, const char *name)
{
	*i = (struct image){ .file = golden_read(name) };
	assert_int_equal(pe_init(&i->image.pe, golden_span(&i->file), NULL), 0);
	assert_int_equal(metadata_create(&i->image.metadata, metadata_of_pe(&i->image.pe), NULL),
			 0);
}

static void image_deinit(struct image *i)
{
	metadata_destroy(i->image.metadata);
	golden_free(&i->file);
}

UNIT_TEST(methods)
{
	_cleanup_(image_deinit) struct image i;

	image_init(&i, "tiny-bodies.dll");
	assert_int_equal(il_size_class(&i.image, IL_TINY, LARGE), IL_SMALL);
	assert_int_equal(il_size_class(&i.image, IL_NOPS, LARGE), IL_SMALL);
	assert_int_equal(il_size_class(&i.image, IL_BRANCHES, LARGE), IL_NOT_SURE);
	assert_int_equal(il_size_class(&i.image, IL_LOADS, LARGE), IL_HUGE);
	assert_int_equal(il_size_class(&i.image, IL_DAMAGED, LARGE), IL_NOT_SURE);
	assert_int_equal(il_size_class(&i.image, ROWS + 1, LARGE), IL_SMALL); /* no such row */
	/* Little native code says enough. */
	assert_int_equal(il_size_class(&i.image, IL_DAMAGED, 3999), IL_SMALL);
	assert_int_equal(il_size_class(&i.image, IL_DAMAGED, 4000), IL_NOT_SURE);
}

UNIT_TEST(nothing_to_read)
{
	_cleanup_(image_deinit) struct image i;
	struct pe none = { 0 };

	image_init(&i, "tiny-il.dll"); /* its methods have no IL */
	assert_int_equal(il_size_class(&i.image, IL_TINY, LARGE), IL_SMALL);
	image_deinit(&i);
	image_init(&i, "tiny-bodies.dll");
	assert_int_equal(il_size_class(NULL, IL_TINY, LARGE), IL_NOT_SURE);
	i.image.pe = none; /* of Reflection.Emit: there are no sections */
	assert_int_equal(il_size_class(&i.image, IL_TINY, LARGE), IL_NOT_SURE);
	metadata_destroy(i.image.metadata);
	i.image.metadata = NULL;
	assert_int_equal(il_size_class(&i.image, IL_TINY, LARGE), IL_NOT_SURE);
}

/* Cut off anywhere: the size is what it was, or is not known. */
UNIT_TEST(truncated)
{
	_cleanup_(image_deinit) struct image whole;

	image_init(&whole, "tiny-bodies.dll");
	for (size_t size = 0; size < whole.file.size; size += 13) {
		struct golden cut = golden_copy(whole.file.bytes, size);
		struct dotnet_image image = { .metadata = whole.image.metadata };

		if (pe_init(&image.pe, golden_span(&cut), NULL) == 0) {
			for (uint32_t rid = 1; rid <= ROWS; rid++) {
				enum il_size_class is = il_size_class(&image, rid, LARGE);

				assert_true(is == IL_NOT_SURE ||
					    is == il_size_class(&whole.image, rid, LARGE));
			}
		}
		golden_free(&cut);
	}
}

UNIT_MAIN(NULL, NULL)
