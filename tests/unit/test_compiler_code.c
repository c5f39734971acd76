// SPDX-License-Identifier: GPL-2.0-or-later
/* compiler_code.h: functions that can be probed at both ends, and those that cannot. */
#include "tests/unit/golden.h"
#include "tests/unit/tiny_elf.h"

#include "code/compiler_code.h"

struct sample {
	const char *what; /* NULL: it is as it should be */
	uint8_t code[24];
	uint8_t size;
	uint8_t exit;
	uint8_t entry;
};

#define CODE(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

static const struct sample good[] = {
	{ NULL, CODE(0x55, 0x5d, 0xc3), 2, 0 },
	/* endbr64 */
	{ NULL, CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x5d, 0xc3), 6, 4 },
	/* push %rbp; mov %rsp,%rbp; and $-32,%rsp; sub $64,%rsp; leave; ret */
	{ NULL,
	  CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x40, 0xc9, 0xc3),
	  13, 0 },
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub %rax,%rsp; lea -8(%rbp),%rsp; pop; pop; ret */
	{ NULL,
	  CODE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x29, 0xc4, 0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d,
	       0xc3),
	  14, 0 },
	/* push %rbp; push %rax; lea 8(%rsp),%rbp; mov %rbp,%rsp; pop %rbp; ret */
	{ NULL, CODE(0x55, 0x50, 0x48, 0x8d, 0x6c, 0x24, 0x08, 0x48, 0x89, 0xec, 0x5d, 0xc3), 11,
	  0 },
	/* push %rbp; push %rax; lea 8(%rsp),%rsp; pop %rbp; ret */
	{ NULL, CODE(0x55, 0x50, 0x48, 0x8d, 0x64, 0x24, 0x08, 0x5d, 0xc3), 8, 0 },
	/* push %rbp; a: dec %eax; jne a; pop %rbp; ret */
	{ NULL, CODE(0x55, 0xff, 0xc8, 0x75, 0xfc, 0x5d, 0xc3), 6, 0 },
	/* push %rbp; jne b; a: pop %rbp; ret; b: push %rax; pop %rcx; jmp a */
	{ NULL, CODE(0x55, 0x75, 0x02, 0x5d, 0xc3, 0x50, 0x59, 0xeb, 0xfa), 4, 0 },
	/* push %rbp; pop %rbp; ret; ud2, and code that nothing leads to, which ends anywhere */
	{ NULL, CODE(0x55, 0x5d, 0xc3, 0x0f, 0x0b, 0x90), 2, 0 },
	/* push %rbp; call the entry; pop %rbp; ret */
	{ NULL, CODE(0x55, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0x5d, 0xc3), 7, 0 },
};

static const struct sample bad[] = {
	{ "more than one ret", CODE(0x55, 0x75, 0x02, 0x5d, 0xc3, 0x5d, 0xc3), 0, 0 },
	{ "no ret", CODE(0x55, 0x5d, 0x0f, 0x0b), 0, 0 },
	{ "does not begin with push", CODE(0x53, 0x5b, 0xc3), 0, 0 },
	{ "does not begin with push", CODE(0x48, 0x55, 0x5d, 0xc3), 0, 0 },
	{ "does not begin with push", CODE(0xf3, 0x0f, 0x1e, 0xfa, 0xc3), 0, 0 },
	{ "runs on", CODE(0x55, 0x5d), 0, 0 },
	/* pop %rbp; jmp elsewhere */
	{ "jumps to another", CODE(0x55, 0x75, 0x02, 0x5d, 0xc3, 0x5d, 0xeb, 0x70), 0, 0 },
	{ "not known to be a part", CODE(0x55, 0x75, 0x70, 0x5d, 0xc3), 0, 0 },
	{ "not known to be a part", CODE(0x55, 0x0f, 0x85, 0, 0, 0, 0x80, 0x5d, 0xc3), 0, 0 },
	{ "not known to be a part", CODE(0x55, 0x75, 0xf0, 0x5d, 0xc3), 0, 0 },
	{ "jumps to another", CODE(0x55, 0x5d, 0xc3, 0xeb, 0x7f), 0, 0 },
	{ "does not say", CODE(0x55, 0x5d, 0xff, 0xe0, 0xc3), 0, 0 },	  /* jmp *%rax */
	{ "does not say", CODE(0x55, 0x5d, 0xff, 0x20, 0xc3), 0, 0 },	  /* jmp *(%rax) */
	{ "does not say", CODE(0x55, 0x5d, 0xc2, 0x08, 0x00), 0, 0 },	  /* ret $8 */
	{ "does not say", CODE(0x55, 0x5d, 0xf3, 0xc3), 0, 0 },		  /* rep ret */
	{ "between segments", CODE(0x55, 0x5d, 0xcb, 0xc3), 0, 0 },	  /* lret */
	{ "between segments", CODE(0x55, 0x5d, 0xcf, 0xc3), 0, 0 },	  /* iret */
	{ "between segments", CODE(0x55, 0xff, 0x18, 0x5d, 0xc3), 0, 0 }, /* lcall *(%rax) */
	{ "not all of its bytes", CODE(0x55, 0x06, 0x5d, 0xc3), 0, 0 },
	{ "not all of its bytes", CODE(0x55, 0x5d, 0xc3, 0x48), 0, 0 },
	{ "middle of an instruction", CODE(0x55, 0x75, 0x01, 0x48, 0x90, 0x5d, 0xc3), 0, 0 },
	{ "back to its entry", CODE(0x55, 0x5d, 0x75, 0xfc, 0xc3), 0, 0 },
	{ "back to its entry", CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x5d, 0x75, 0xf8, 0xc3), 0, 0 },
	/* call behind itself, to learn where it is */
	{ "into its own middle", CODE(0x55, 0xe8, 0, 0, 0, 0, 0x58, 0x5d, 0xc3), 0, 0 },
	{ "runs on", CODE(0x55, 0x75, 0x02, 0x5d, 0xc3, 0x90), 0, 0 },
	{ "runs on", CODE(0x55, 0x75, 0x02, 0x5d, 0xc3, 0x75, 0xfc), 0, 0 },
	{ "not known", CODE(0x55, 0xeb, 0x02, 0x5d, 0xc3, 0x0f, 0x0b), 0, 0 },
	{ "not that of its entry", CODE(0x55, 0xc3), 0, 0 },
	{ "not that of its entry", CODE(0x55, 0x5d, 0x5d, 0xc3), 0, 0 },
	{ "not that of its entry", CODE(0x55, 0x48, 0x83, 0xec, 0x10, 0x5d, 0xc3), 0, 0 },
	{ "not that of its entry",
	  CODE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x5d, 0xc3), 0, 0 },
	/* push %rbp; jne a; push %rax; a: pop %rbp; ret */
	{ "not known", CODE(0x55, 0x75, 0x01, 0x50, 0x5d, 0xc3), 0, 0 },
	/* a: push %rax; jne a */
	{ "not known", CODE(0x55, 0x50, 0x75, 0xfd, 0x5d, 0xc3), 0, 0 },
	{ "not known", CODE(0x55, 0x48, 0x29, 0xc4, 0x5d, 0xc3), 0, 0 }, /* sub %rax,%rsp */
	{ "not known", CODE(0x55, 0x5c, 0xc3), 0, 0 },			 /* pop %rsp */
	{ "not known", CODE(0x55, 0x66, 0x5d, 0xc3), 0, 0 },		 /* pop %bp */
	{ "not known", CODE(0x55, 0xc9, 0xc3), 0, 0 },			 /* leave */
	{ "not known", CODE(0x55, 0x89, 0xc4, 0x5d, 0xc3), 0, 0 },	 /* mov %eax,%esp */
	{ "not known", CODE(0x55, 0x48, 0x94, 0x5d, 0xc3), 0, 0 },	 /* xchg %rax,%rsp */
	{ "not known",
	  CODE(0x55, 0x48, 0x81, 0xec, 0, 0, 0, 0x70, 0x48, 0x81, 0xc4, 0, 0, 0, 0x70, 0x5d, 0xc3),
	  0, 0 },
	/* push %rbp; mov %rsp,%rbp; xor %ebp,%ebp; leave; ret */
	{ "not known", CODE(0x55, 0x48, 0x89, 0xe5, 0x31, 0xed, 0xc9, 0xc3), 0, 0 },
};

static const char *check(const struct sample *sample, struct code_ends *ends)
{
	return compiler_check((struct span){ sample->code, sample->size }, ends);
}

UNIT_TEST(code_as_it_should_be)
{
	struct code_ends ends;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *problem = check(&good[i], &ends);

		if (problem)
			fail_msg("sample %zu: %s", i, problem);
		assert_int_equal(ends.entry, good[i].entry);
		assert_int_equal(ends.exit, good[i].exit);
	}
}

UNIT_TEST(code_that_cannot_be_probed)
{
	struct code_ends ends;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *problem = check(&bad[i], &ends);

		if (!problem || !strstr(problem, bad[i].what))
			fail_msg("sample %zu: %s, not \"%s\"", i, problem ? problem : "it is good",
				 bad[i].what);
	}
}

/* Every truncation of code, in memory that ends where it does. */
UNIT_TEST(truncated_code)
{
	struct code_ends ends;

	for (size_t size = 0; size <= sizeof(tiny_compile_method); size++) {
		struct golden cut = golden_copy(tiny_compile_method, size);
		const char *problem = compiler_check(golden_span(&cut), &ends);

		/* The call behind the ret is jumped to, and may not come back. */
		assert_int_equal(problem == NULL, size == sizeof(tiny_compile_method));
		golden_free(&cut);
	}
}

UNIT_TEST(long_code)
{
	uint8_t code[COMPILER_CODE_MAX + 1];
	struct code_ends ends;

	memset(code, 0x90, sizeof(code));
	code[0] = 0x55;
	code[COMPILER_CODE_MAX - 2] = 0x5d;
	code[COMPILER_CODE_MAX - 1] = 0xc3;
	assert_null(compiler_check((struct span){ code, COMPILER_CODE_MAX }, &ends));
	assert_int_equal(ends.exit, COMPILER_CODE_MAX - 1);
	assert_non_null(compiler_check((struct span){ code, COMPILER_CODE_MAX + 1 }, &ends));

	/* A jump to each next instruction, each of which moves the stack. */
	for (size_t i = 1; i + 4 < COMPILER_CODE_MAX; i += 3) {
		code[i] = 0x50;
		code[i + 1] = 0x75;
		code[i + 2] = 0xfd;
	}
	(void)compiler_check((struct span){ code, COMPILER_CODE_MAX }, &ends);
}

UNIT_TEST(references)
{
	struct code_reference found[COMPILER_REFERENCES_MAX];
	static const uint8_t load[] = { 0x48, 0x8b, 0x05, 0xf8, 0xff, 0xff, 0xff }; /* -8(%rip) */
	uint8_t many[20 * sizeof(load)];
	struct tiny_elf tiny;

	tiny_init(&tiny);
	assert_int_equal(compiler_references((struct span){ tiny.bytes + TINY_GET_JIT, 31 },
					     tiny_address(TINY_GET_JIT), found),
			 2);
	assert_int_equal(found[0].address, tiny_address(TINY_DECOY));
	assert_int_equal(found[1].address, tiny_address(TINY_OBJECT));
	assert_false(found[1].is_loaded);
	for (size_t i = 0; i < sizeof(many); i += sizeof(load))
		memcpy(many + i, load, sizeof(load));
	assert_int_equal(compiler_references((struct span){ many, sizeof(many) }, 0x1000, found),
			 COMPILER_REFERENCES_MAX);
	assert_true(found[1].is_loaded);
	assert_int_equal(found[1].address, 0x1000 + 14 - 8);
	assert_int_equal(compiler_references((struct span){ NULL, 0 }, 0, found), 0);
}

/* As .NET 8, 9 and 10 have it: 16 KB before its data. */
UNIT_TEST(precode)
{
	uint8_t code[] = { 0xff, 0x25, 0xfa, 0x3f, 0,	 0,    0x4c, 0x8b, 0x15, 0xfb,
			   0x3f, 0,    0,    0xff, 0x25, 0xfd, 0x3f, 0,	   0 };
	uint64_t slot = 0;

	assert_int_equal(sizeof(code), PRECODE_BYTES);
	assert_true(precode_method_slot((struct span){ code, sizeof(code) }, 0x10000, &slot));
	assert_int_equal(slot, 0x14008);
	assert_false(precode_method_slot((struct span){ code, sizeof(code) - 1 }, 0x10000, &slot));
	for (size_t i = 0; i < sizeof(code); i++) {
		bool is_code = i < 2 || (i >= 6 && i < 9) || i == 13 || i == 14;

		code[i] ^= 0x80;
		assert_int_equal(
			precode_method_slot((struct span){ code, sizeof(code) }, 0x10000, &slot),
			!is_code);
		code[i] ^= 0x80;
	}
}

UNIT_MAIN(NULL, NULL)
