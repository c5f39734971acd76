// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The runtime's functions by name (qcalls.h), in small ELF files made of bytes: where the table is
 * as it should be, and where anything in it is not.
 */
#include "tests/unit/unit.h"

#include "runtime/dotnet/qcalls.h"
#include "tests/unit/tiny_elf.h"

enum {
	NAME = TINY_DECOY,
	ROW = TINY_VTABLE_2,
	FUNCTION = TINY_OTHERS,
};

static const char name[] = "AppendFrame";

/* With a table of that many rows, all of them @name; row @i is of function @i of @functions. */
static void make(struct tiny_elf *tiny, const uint64_t *functions, size_t rows)
{
	tiny_init(tiny);
	/* Behind another name, whose end it is. */
	tiny_copy(tiny, NAME, "Rhp", 3);
	tiny_copy(tiny, NAME + 3, name, sizeof(name));
	for (size_t i = 0; i < rows; i++) {
		tiny_point(tiny, ROW + 16 * i, NAME + 3);
		tiny_point(tiny, ROW + 16 * i + 8, functions[i]);
	}
}

static bool find(const struct tiny_elf *tiny, const char *wanted, uint64_t *at)
{
	struct file_offset offset = { 0 };
	bool found = qcall_find(tiny_span(tiny), wanted, &offset);

	*at = offset.value;
	return found;
}

UNIT_TEST(functions_are_found_by_name)
{
	for (enum tiny_relocations kind = 0; kind < TINY_RELOCATIONS_KINDS; kind++) {
		struct tiny_elf tiny;
		uint64_t at;

		make(&tiny, (uint64_t[]){ FUNCTION }, 1);
		tiny_finish(&tiny, kind);
		assert_true(find(&tiny, name, &at));
		assert_int_equal(at, FUNCTION);
		/* Nobody points to these, or they are nowhere. */
		assert_false(find(&tiny, "Frame", &at));
		assert_false(find(&tiny, "RhpAppendFrame", &at));
		assert_false(find(&tiny, "Append", &at));
		assert_false(find(&tiny, "AppendFrames", &at));
		assert_false(find(&tiny, "", &at));
	}
}

UNIT_TEST(several_rows_must_be_of_one_function)
{
	struct tiny_elf tiny;
	uint64_t at;

	make(&tiny, (uint64_t[]){ FUNCTION, FUNCTION }, 2);
	tiny_finish(&tiny, TINY_RELA);
	assert_true(find(&tiny, name, &at));
	make(&tiny, (uint64_t[]){ FUNCTION, FUNCTION + 16 }, 2);
	tiny_finish(&tiny, TINY_RELA);
	assert_false(find(&tiny, name, &at));
}

UNIT_TEST(what_is_no_code_is_no_function)
{
	struct tiny_elf tiny;
	uint64_t at;

	make(&tiny, (uint64_t[]){ TINY_OBJECT }, 1);
	tiny_finish(&tiny, TINY_RELA);
	assert_false(find(&tiny, name, &at));
	/* A name without anything behind it. */
	make(&tiny, NULL, 0);
	tiny_point(&tiny, ROW, NAME + 3);
	tiny_finish(&tiny, TINY_RELA);
	assert_false(find(&tiny, name, &at));
}

/* Whatever is damaged, what is found is in the file's code. */
UNIT_TEST(damage_leads_nowhere)
{
	static const uint64_t words[] = { 0, 1, 7, UINT64_MAX, 1ULL << 63, TINY_BYTES, 0x1000 };
	size_t found = 0;

	for (enum tiny_relocations kind = 0; kind < TINY_RELOCATIONS_KINDS; kind++) {
		for (uint64_t i = 0; i + 8 <= TINY_BYTES; i += 4) {
			struct tiny_elf tiny;
			uint64_t at;

			make(&tiny, (uint64_t[]){ FUNCTION }, 1);
			tiny_finish(&tiny, kind);
			tiny_put(&tiny, i, words[i / 4 % (sizeof(words) / sizeof(words[0]))], 8);
			if (!find(&tiny, name, &at))
				continue;
			found++;
			assert_in_range(at, 0, TINY_BYTES - 1);
		}
	}
	assert_true(found > 0);
}

UNIT_TEST(a_file_that_ends_anywhere)
{
	struct tiny_elf tiny;
	struct file_offset offset;

	make(&tiny, (uint64_t[]){ FUNCTION }, 1);
	tiny_finish(&tiny, TINY_RELA);
	for (size_t size = 0; size < ROW + 16; size++) {
		/* Of its own, so that a sanitizer sees its end. */
		uint8_t *bytes = malloc(size + 1);

		assert_non_null(bytes);
		memcpy(bytes, tiny.bytes, size);
		assert_false(qcall_find((struct span){ bytes, size }, name, &offset) &&
			     offset.value >= size);
		free(bytes);
	}
}

/* A name that is everywhere, and a table without end, take a bounded time. */
UNIT_TEST(names_without_end)
{
	struct tiny_elf tiny;
	uint64_t at;

	make(&tiny, (uint64_t[]){ FUNCTION }, 1);
	tiny_finish(&tiny, TINY_RELA);
	memset(tiny.bytes + TINY_OTHERS, 'a', 0x100);
	for (uint64_t i = TINY_OTHERS; i < TINY_OTHERS + 0x100; i += 2)
		tiny_put(&tiny, i, 'x', 2);
	(void)find(&tiny, "x", &at);
	assert_true(find(&tiny, name, &at));
}

int main(void)
{
	return unit_run(NULL, NULL);
}
