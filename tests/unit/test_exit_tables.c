// SPDX-License-Identifier: GPL-2.0-or-later
/* exits.h: jumps through tables, bodies entered midway, where the parts of bodies come from. */
#include "tests/unit/exits_fixture.h"

#include "runtime/dotnet/clr.h"
#include "runtime/dotnet/exit_parts.h"

/* Jump tables --------------------------------------------------------------------------------- */

static void put(struct body *body, size_t entry, uint64_t value, size_t size)
{
	assert_true((entry + 1) * size <= TABLE_BYTES);
	memcpy(body->table + entry * size, &value, size);
	if (body->table_size < (entry + 1) * size)
		body->table_size = (entry + 1) * size;
}

/* A switch of RyuJIT's in a method without a frame, between @compare with @n and its jump @jcc. */
static void switch_by_offsets(struct body *body, uint8_t n, uint8_t jcc)
{
	HOT(body, 0x83, 0xff, n, jcc, 27, /* cmp edi, n; ja or jae 32 */
	    0x8b, 0xc7,			  /* mov eax, edi */
	    0x48, 0x8d, 0x0d, LE32(TABLE - BEGIN - 14), 0x8b, 0x0c, 0x81, /* lea rcx, [table];
									     mov ecx, [rcx+rax*4] */
	    0x48, 0x8d, 0x15, LE32(-24), 0x48, 0x01, 0xd1, /* lea rdx, [0]; add rcx, rdx */
	    0xff, 0xe1,					   /* jmp rcx */
	    0x31, 0xc0, 0xc3, 0xc3);			   /* 29: xor eax, eax; 31: ret; 32: ret */
	put(body, 0, 29, sizeof(uint32_t));
	put(body, 1, 31, sizeof(uint32_t));
}

static void expect_switch(struct body *body)
{
	const struct exits *exits = find(body);

	assert_int_equal(exits->refusal, EXITS_KNOWN);
	assert_int_equal(exits->tables, 1);
	assert_int_equal(exits->count, BOTH);
	assert_int_equal(exits->sites[0].kind, EXIT_RETURN);
	assert_int_equal(exits->sites[0].depth, 0);
	assert_int_equal(exits->sites[1].kind, EXIT_RETURN);
	done(body);
}

UNIT_TEST(switches_of_ryujit)
{
	enum { JA = 0x77, JAE = 0x73 };
	struct body body = { 0 };

	switch_by_offsets(&body, 1, JA);
	expect_switch(&body);
	switch_by_offsets(&body, 2, JAE);
	expect_switch(&body);
	/* What comes behind it is none of its own. */
	switch_by_offsets(&body, 1, JA);
	put(&body, 2, 0x5000, sizeof(uint32_t));
	expect_switch(&body);

	/* One more by the check: not in the table, or into an instruction, or out. */
	switch_by_offsets(&body, 2, JA);
	expect_refusal(&body, EXITS_AMBIGUOUS_JUMP, BEGIN + 27);
	switch_by_offsets(&body, 2, JA);
	put(&body, 2, 30, sizeof(uint32_t));
	expect_refusal(&body, EXITS_AMBIGUOUS_JUMP, BEGIN + 27);
	switch_by_offsets(&body, 2, JA);
	put(&body, 2, 33, sizeof(uint32_t));
	expect_refusal(&body, EXITS_AMBIGUOUS_JUMP, BEGIN + 27);
	/* Nobody can read it. */
	switch_by_offsets(&body, 1, JA);
	body.table_size = 0;
	expect_refusal(&body, EXITS_AMBIGUOUS_JUMP, BEGIN + 27);
}

/* Where no check is found, the table ends where what stands in it is no longer one. */
UNIT_TEST(switches_without_a_check)
{
	struct body body = { 0 };

	switch_by_offsets(&body, 0, 0x77);
	memset(body.code[0].bytes, 0x90, 5);
	expect_switch(&body);
	switch_by_offsets(&body, 0, 0x77);
	memset(body.code[0].bytes, 0x90, 5);
	put(&body, 1, 30, sizeof(uint32_t));
	expect_refusal(&body, EXITS_AMBIGUOUS_JUMP, BEGIN + 27);
}

UNIT_TEST(switches_of_gcc)
{
	struct body body = { 0 };

	/* cmp edi, 1; ja 27; mov edi, edi; lea rdx, [table]; movsxd rax, [rdx+rdi*4]; add rax, rdx;
	 * notrack jmp rax; 24: xor eax, eax; 26: ret; 27: ret */
	HOT(&body, 0x83, 0xff, 1, 0x77, 22, 0x89, 0xff, 0x48, 0x8d, 0x15, LE32(TABLE - BEGIN - 14),
	    0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0x3e, 0xff, 0xe0, 0x31, 0xc0, 0xc3, 0xc3);
	put(&body, 0, (uint32_t)(BEGIN + 24 - TABLE), sizeof(uint32_t));
	put(&body, 1, (uint32_t)(BEGIN + 26 - TABLE), sizeof(uint32_t));
	expect_switch(&body);

	/* cmp edi, 1; ja 15; jmp [rdi*8+table]; 12: xor eax, eax; 14: ret; 15: ret */
	HOT(&body, 0x83, 0xff, 1, 0x77, 10, 0xff, 0x24, 0xfd, LE32(TABLE), 0x31, 0xc0, 0xc3, 0xc3);
	put(&body, 0, BEGIN + 12, sizeof(uint64_t));
	put(&body, 1, BEGIN + 14, sizeof(uint64_t));
	expect_switch(&body);

	/* By a register: mov rax, [rdi*8+table]; jmp rax; 15: xor eax, eax; 17: ret; ret */
	HOT(&body, 0x83, 0xff, 1, 0x77, 13, 0x48, 0x8b, 0x04, 0xfd, LE32(TABLE), 0xff, 0xe0, 0x31,
	    0xc0, 0xc3, 0xc3);
	put(&body, 0, BEGIN + 15, sizeof(uint64_t));
	put(&body, 1, BEGIN + 17, sizeof(uint64_t));
	expect_switch(&body);
}

UNIT_TEST(tables_of_functions)
{
	struct body body = { 0 };

	/* cmp edi, 1; ja 12; jmp [rdi*8+table]; ret */
	HOT(&body, 0x83, 0xff, 1, 0x77, 7, 0xff, 0x24, 0xfd, LE32(TABLE), 0xc3);
	put(&body, 0, COLD, sizeof(uint64_t));
	put(&body, 1, COLD + 16, sizeof(uint64_t));
	expect(find(&body), 0, 5, EXIT_JUMP_MEMORY, 0);
	expect(&body.exits, 1, 12, EXIT_RETURN, 0);
	assert_int_equal(body.exits.tables, 0);
	done(&body);
	/* Nobody knows what is in this one: jmp [rsi+rdi*8]; ret */
	REFUSED(EXITS_AMBIGUOUS_JUMP, 0, 0xff, 0x24, 0xfe, 0xc3);
	/* lea rax, [rsi+rdi*8]; mov rax, [rax]; jmp rax */
	REFUSED(EXITS_AMBIGUOUS_JUMP, 7, 0x48, 0x8d, 0x04, 0xfe, 0x48, 0x8b, 0x00, 0xff, 0xe0);
	/* shl rdi, 3; add rdi, rsi; jmp [rdi] */
	REFUSED(EXITS_AMBIGUOUS_JUMP, 7, 0x48, 0xc1, 0xe7, 3, 0x48, 0x01, 0xf7, 0xff, 0x27);
	/* lea rax, [rip to 0]; jmp rax: a place in this body */
	REFUSED(EXITS_AMBIGUOUS_JUMP, 7, 0x48, 0x8d, 0x05, LE32(-7), 0xff, 0xe0);
}

/* OSR ---------------------------------------------------------------------------------- */

UNIT_TEST(bodies_entered_midway)
{
	struct body body = { .midway = true };
	const struct exits *exits;

	/* sub rsp, 0x18; je 13; add rsp, 0x50; pop rbp; ret; add rsp, 0x50; pop rbp; jmp out */
	HOT(&body, 0x48, 0x83, 0xec, 0x18, 0x74, 6, 0x48, 0x83, 0xc4, 0x50, 0x5d, 0xc3, 0x48, 0x83,
	    0xc4, 0x50, 0x5d, 0xe9, 0, 1, 0, 0);
	exits = find(&body);
	assert_int_equal(exits->count, BOTH);
	expect(exits, 0, 11, EXIT_RETURN, -0x40);
	expect(exits, 1, 17, EXIT_JUMP, -0x40);
	/* As a body that is called it returns to nowhere. */
	body.midway = false;
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 11);
	/* je 4; pop rbp; ret; pop rax; pop rbp; ret */
	body.midway = true;
	HOT(&body, 0x74, 2, 0x5d, 0xc3, 0x58, 0x5d, 0xc3);
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 6);
	/* je 8; pop rbp; jmp out; pop rax; pop rbp; jmp out: without a ret to go by */
	body.midway = true;
	HOT(&body, 0x74, 6, 0x5d, 0xe9, 0, 1, 0, 0, 0x58, 0x5d, 0xe9, 0, 1, 0, 0);
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 10);
}

/* A loop goes on in such a body by a jump to what a call has given, with its frame. */
UNIT_TEST(bodies_left_midway)
{
	struct body body = { .left = true };
	const struct exits *exits;

	/* push rax; call out; jmp rax; pop rax; ret */
	HOT(&body, 0x50, 0xe8, 0, 1, 0, 0, 0xff, 0xe0, 0x58, 0xc3);
	exits = find(&body);
	assert_int_equal(exits->count, 1);
	expect(exits, 0, 9, EXIT_RETURN, EXIT_DEPTH_UNKNOWN);
	body.left = false;
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 6);
	/* jmp rcx; nop in between; jmp [rax]; and one that others jump to */
	body.left = true;
	HOT(&body, 0x50, 0xe8, 0, 1, 0, 0, 0xff, 0xe1, 0x58, 0xc3);
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 6);
	HOT(&body, 0x50, 0xe8, 0, 1, 0, 0, 0x90, 0xff, 0xe0, 0x58, 0xc3);
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 7);
	HOT(&body, 0x50, 0xe8, 0, 1, 0, 0, 0xff, 0x20, 0x58, 0xc3);
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 6);
	HOT(&body, 0x50, 0x74, 5, 0xe8, 0, 1, 0, 0, 0xff, 0xe0, 0x58, 0xc3);
	expect_refusal(&body, EXITS_UNBALANCED, BEGIN + 8);
}

/* Where the parts come from ------------------------------------------------------------ */

enum {
	CODE_AT = 0x7000, /* in the memory of a process that has compiled one body */
	HEADER_AT = 0x7800,
	COUNT_AT = 32, /* in the header */
	UNWINDS_AT = 36,
	ALL_BYTES = 0x20,
};

struct process {
	uint8_t bytes[0x1000]; /* from CODE_AT - 8 on */
};

static ssize_t read_process(void *ctx, void *to, size_t size, uint64_t at)
{
	const struct process *process = ctx;
	uint64_t offset = at - (CODE_AT - 8);

	/* Memory is read by pages, of which the first is only partly there. */
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] =
			offset + i < sizeof(process->bytes) ? process->bytes[offset + i] : 0;
	return (ssize_t)size;
}

static void put_u32(struct process *process, uint64_t at, uint32_t value)
{
	memcpy(process->bytes + (at - (CODE_AT - 8)), &value, sizeof(value));
}

static size_t parts_of(const struct process *process, struct exit_part *parts)
{
	static const uint8_t code[ALL_BYTES];
	struct clr clr = { 0 };
	size_t count;

	assert_int_equal(memory_create(&clr.memory, read_process, (void *)(uintptr_t)process, NULL),
			 0);
	clr.layout.at[CODE_UNWIND_COUNT] = COUNT_AT;
	clr.layout.at[CODE_UNWINDS] = UNWINDS_AT;
	count = exit_parts_compiled(&clr, (struct address){ CODE_AT },
				    (struct span){ code, sizeof(code) }, parts);
	memory_destroy(clr.memory);
	return count;
}

static void put_unwind(struct process *process, unsigned int index, uint32_t begin, uint32_t end)
{
	put_u32(process, HEADER_AT + UNWINDS_AT + 12 * index, 0x500 + begin);
	put_u32(process, HEADER_AT + UNWINDS_AT + 12 * index + 4, 0x500 + end);
}

UNIT_TEST(parts_of_compiled_code)
{
	static struct exit_part parts[EXITS_PARTS_MAX];
	struct process process = { 0 };

	put_u32(&process, CODE_AT - 8, HEADER_AT);
	assert_int_equal(parts_of(&process, parts), 0); /* no part is no body */
	put_u32(&process, HEADER_AT + COUNT_AT, 2);
	put_unwind(&process, 0, 0, 0x10);
	put_unwind(&process, 1, 0x10, ALL_BYTES);
	assert_int_equal(parts_of(&process, parts), 2);
	assert_int_equal(parts[0].begin, CODE_AT);
	assert_int_equal(parts[0].kind, EXIT_PART_HOT);
	assert_int_equal(parts[1].begin, CODE_AT + 0x10);
	assert_int_equal(parts[1].code.size, 0x10);
	assert_int_equal(parts[1].kind, EXIT_PART_HANDLER);
	/* Beyond what was read; and not in order; and of no size. */
	put_unwind(&process, 1, 0x10, ALL_BYTES + 1);
	assert_int_equal(parts_of(&process, parts), 0);
	put_unwind(&process, 1, 8, ALL_BYTES);
	assert_int_equal(parts_of(&process, parts), 0);
	put_unwind(&process, 1, 0x10, 0x10);
	assert_int_equal(parts_of(&process, parts), 0);
	put_unwind(&process, 1, UINT32_MAX, 0x10);
	assert_int_equal(parts_of(&process, parts), 0);
}

UNIT_MAIN(NULL, NULL)
