// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See fuse.h. An op that stands for several is put in place of the first of them, and what it reads
 * of the others has not been looked at yet: so the program is gone through from its beginning.
 */
#include "capture/fuse.h"

#include <stdbool.h>
#include <stdint.h>

struct program_of {
	struct watch_op *ops;
	size_t count;
};

static bool is_at(const struct program_of *program, size_t i, enum watch_code code)
{
	return i < program->count && program->ops[i].code == code;
}

/* Words that are put ----------------------------------------------------------------------- */

/* Is there a word at @i that is put by @cell as item @slot? */
static bool puts_word(const struct program_of *program, size_t i, uint8_t cell, uint16_t slot)
{
	const struct watch_op *take = &program->ops[i], *put = take + 1;

	return is_at(program, i, WATCH_TAKE) && is_at(program, i + 1, WATCH_PUT) &&
	       take->dst == cell && put->src == cell && put->slot == slot && put->size >= 1 &&
	       put->size <= 8 && take->source < WATCH_WORDS;
}

static bool fuse_puts(const struct program_of *program, size_t i)
{
	struct watch_op *op = &program->ops[i];
	struct watch_op fused = { .code = WATCH_PUT_WORDS, .dst = op->dst };
	size_t at = i;

	if (!is_at(program, i + 1, WATCH_PUT))
		return false;
	fused.slot = op[1].slot;
	while (fused.size < WATCH_PUTS &&
	       puts_word(program, at, op->dst, (uint16_t)(fused.slot + fused.size))) {
		uint64_t put = program->ops[at].source | (uint64_t)(program->ops[at + 1].size - 1)
								 << WATCH_PUT_SIZE_SHIFT;

		fused.immediate |= put << 8 * fused.size++;
		at += 2;
	}
	if (at == i)
		return false;
	fused.more = (uint16_t)(at - i - 1);
	*op = fused;
	return true;
}

/* Words that are tested -------------------------------------------------------------------- */

/* How many bytes a mask leaves; 0: it is another one. */
static uint16_t bytes_of_mask(uint64_t mask)
{
	for (uint16_t size = 1; size <= 8; size++) {
		if (mask == UINT64_MAX >> (64 - 8 * size))
			return size;
	}
	return 0;
}

static bool changes(const struct program_of *program, size_t i, enum watch_code code, uint8_t cell)
{
	return is_at(program, i, code) && program->ops[i].dst == cell &&
	       program->ops[i].src == cell;
}

static bool is_test(const struct watch_op *op, uint8_t cell)
{
	return op->src == cell && op->code >= WATCH_IF_ZERO && op->code <= WATCH_IF_BELOW_SIGNED;
}

static bool sets(const struct watch_op *op, uint8_t cell)
{
	return op->dst == cell && ((op->code >= WATCH_TAKE && op->code <= WATCH_SUBTRACT) ||
				   op->code == WATCH_PUT_WORDS || op->code == WATCH_TEST_WORD ||
				   op->code == WATCH_TEST_LOADED);
}

/* Nothing sets the cell, so it is 0, and the op jumps in any case. */
static bool jumps_always(const struct program_of *program, size_t i)
{
	if (!is_at(program, i, WATCH_IF_ZERO))
		return false;
	for (size_t j = 0; j < program->count; j++) {
		if (sets(&program->ops[j], program->ops[i].src))
			return false;
	}
	return true;
}

/* Where it goes on from @i in the end. All jumps are to what is further on. */
static size_t goes_on_at(const struct program_of *program, size_t i)
{
	while (jumps_always(program, i) && program->ops[i].otherwise > i)
		i = program->ops[i].otherwise;
	return i;
}

/* A word that is tested, of a register or of memory. */
struct test {
	uint16_t size; /* so many of its bytes count */
	bool turned;   /* the highest bit of them is the other way round */
	const struct watch_op *is;
	size_t next; /* of the op behind it */
};

/* What is tested has been put in @cell before @at, all of it but @size bytes being 0. */
static bool find_test(const struct program_of *program, size_t at, uint8_t cell, uint16_t size,
		      struct test *test)
{
	uint64_t half = 0;

	test->size = size;
	if (changes(program, at, WATCH_ADD, cell)) {
		half = program->ops[at++].immediate;
		/* It carries, unless what is above is masked. */
		test->size = 8;
	}
	if (changes(program, at, WATCH_MASK, cell))
		test->size = bytes_of_mask(program->ops[at++].immediate);
	if (at >= program->count || !test->size || test->size > size ||
	    !is_test(&program->ops[at], cell) || (half && half != 1ULL << (8 * test->size - 1)))
		return false;
	test->turned = half != 0;
	test->is = &program->ops[at];
	test->next = at + 1;
	return true;
}

/* What an op says that stands for those from @i to a test; which of both it is, its maker adds. */
static struct watch_op fused_test(const struct program_of *program, size_t i,
				  const struct test *test)
{
	return (struct watch_op){
		.dst = program->ops[i].dst,
		.size = test->size,
		.immediate = test->is->immediate,
		.otherwise = (uint16_t)goes_on_at(program, test->is->otherwise),
		.more = (uint16_t)(goes_on_at(program, test->next) - i - 1),
	};
}

static bool fuse_test(const struct program_of *program, size_t i)
{
	struct watch_op *op = &program->ops[i], fused;
	struct test test;

	if (!find_test(program, i + 1, op->dst, 8, &test))
		return false;
	fused = fused_test(program, i, &test);
	fused.code = WATCH_TEST_WORD;
	fused.source = op->source;
	fused.src = test.is->code;
	fused.slot = WATCH_NO_SLOT;
	fused.offset = test.turned;
	*op = fused;
	return true;
}

/* Only what is undecided where it cannot be read. */
static bool fuse_loaded(const struct program_of *program, size_t i)
{
	struct watch_op *op = &program->ops[i], fused;
	struct test test;

	if (op->slot != WATCH_NO_SLOT || !is_at(program, op->otherwise, WATCH_UNDECIDED) ||
	    op->size < 1 || op->size > 8 || !find_test(program, i + 1, op->dst, op->size, &test) ||
	    test.size != op->size)
		return false;
	fused = fused_test(program, i, &test);
	fused.code = WATCH_TEST_LOADED;
	fused.src = op->src;
	fused.source = test.is->code;
	fused.slot = test.turned;
	fused.offset = op->offset;
	*op = fused;
	return true;
}

void fuse_ops(struct watch_op *ops, size_t count)
{
	const struct program_of program = { ops, count };

	for (size_t i = 0; i < count; i++) {
		if (is_at(&program, i, WATCH_TAKE) && !fuse_puts(&program, i))
			(void)fuse_test(&program, i);
		else if (is_at(&program, i, WATCH_LOAD))
			(void)fuse_loaded(&program, i);
	}
}
