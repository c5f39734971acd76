// SPDX-License-Identifier: GPL-2.0-or-later
/* insn.h and plan.h: what is probed, what is refused, and why. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "code/insn.h"
#include "plan/plan.h"

#define CODE(...)                                         \
	((struct span){ (const uint8_t[]){ __VA_ARGS__ }, \
			sizeof((const uint8_t[]){ __VA_ARGS__ }) })

UNIT_TEST(emulated_instructions)
{
	assert_int_equal(insn_probe_cost(CODE(0x55)), INSN_EMULATED);	    /* push rbp */
	assert_int_equal(insn_probe_cost(CODE(0x41, 0x57)), INSN_EMULATED); /* push r15 */
	assert_int_equal(insn_probe_cost(CODE(0x90)), INSN_EMULATED);	    /* nop */
	assert_int_equal(insn_probe_cost(CODE(0xeb, 0x10)), INSN_EMULATED); /* jmp */
	assert_int_equal(insn_probe_cost(CODE(0xe9, 1, 2, 3, 4)), INSN_EMULATED);
	assert_int_equal(insn_probe_cost(CODE(0xe8, 1, 2, 3, 4)), INSN_EMULATED);
	assert_int_equal(insn_probe_cost(CODE(0x74, 0x10)), INSN_EMULATED); /* je */
	assert_int_equal(insn_probe_cost(CODE(0x0f, 0x84, 1, 2, 3, 4)), INSN_EMULATED);
}

UNIT_TEST(single_stepped_instructions)
{
	assert_int_equal(insn_probe_cost(CODE(0xc3)), INSN_SINGLE_STEPPED); /* ret */
	assert_int_equal(insn_probe_cost(CODE(0x5d)), INSN_SINGLE_STEPPED); /* pop rbp */
	assert_int_equal(insn_probe_cost(CODE(0x48, 0x83, 0xec, 0x28)), INSN_SINGLE_STEPPED);
	assert_int_equal(insn_probe_cost(CODE(0xf3, 0x0f, 0x1e, 0xfa)), INSN_SINGLE_STEPPED);
	assert_int_equal(insn_probe_cost(CODE(0x0f, 0x1f, 0x44, 0, 0)), INSN_SINGLE_STEPPED);
	assert_int_equal(insn_probe_cost(CODE(0x66, 0x50)), INSN_SINGLE_STEPPED); /* push ax */
	assert_int_equal(insn_probe_cost(CODE(0xf3, 0x90)), INSN_SINGLE_STEPPED); /* pause */
}

/* The kernel mistakes these for branches or does not take them (facts measured on 6.1 to 6.18). */
UNIT_TEST(instructions_that_must_not_be_probed)
{
	/* vzeroupper */
	assert_int_equal(insn_probe_cost(CODE(0xc5, 0xf8, 0x77)), INSN_CORRUPTED);
	/* vmovdqu [rdi], ymm0 */
	assert_int_equal(insn_probe_cost(CODE(0xc5, 0xfe, 0x7f, 0x07)), INSN_CORRUPTED);
	/* a three-byte VEX: vmovdqu [r8], ymm0 */
	assert_int_equal(insn_probe_cost(CODE(0xc4, 0xc1, 0x7e, 0x7f, 0x00)), INSN_CORRUPTED);
	/* EVEX: vmovdqu64 [rdi], zmm0 */
	assert_int_equal(insn_probe_cost(CODE(0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07)), INSN_CORRUPTED);
	/* lock or dword ptr [rsp], 0: Interlocked.MemoryBarrier */
	assert_int_equal(insn_probe_cost(CODE(0xf0, 0x83, 0x0c, 0x24, 0x00)), INSN_REFUSED);
	/* Branches with an operand size. */
	assert_int_equal(insn_probe_cost(CODE(0x66, 0xe9, 0x10, 0x00, 0x00, 0x00)), INSN_REFUSED);
	assert_int_equal(insn_probe_cost(CODE(0x66, 0x0f, 0x84, 0x10, 0x00, 0x00, 0x00)),
			 INSN_REFUSED);
	assert_int_equal(insn_probe_cost(CODE(0x06)),
			 INSN_UNDECODABLE); /* push es: not in 64-bit */
	assert_int_equal(insn_probe_cost(CODE(0x48)), INSN_UNDECODABLE); /* cut short */
	assert_int_equal(insn_probe_cost((struct span){ 0 }), INSN_UNDECODABLE);
}

UNIT_TEST(jumps_to_the_entry)
{
	/* dec edi; jne 0; ret */
	assert_true(insn_jumps_to_entry(CODE(0xff, 0xcf, 0x75, 0xfc, 0xc3), 0));
	/* push rbp; dec edi; jne 1; pop rbp; ret: the loop begins after the entry */
	assert_false(insn_jumps_to_entry(CODE(0x55, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3), 0));
	/* push rbp; call 0; ret: recursion is a call */
	assert_false(insn_jumps_to_entry(CODE(0x55, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0xc3), 0));
	/* a cold part 0x100 behind the entry: jmp -0x105 */
	assert_true(insn_jumps_to_entry(CODE(0xe9, 0xfb, 0xfe, 0xff, 0xff), 0x100));
	assert_false(insn_jumps_to_entry(CODE(0xe9, 0xfb, 0xfe, 0xff, 0xff), 0x101));
	/* bytes that are no instruction do not end the search */
	assert_true(insn_jumps_to_entry(CODE(0x06, 0xff, 0xcf, 0x75, 0xfb, 0xc3), 0));
	assert_false(insn_jumps_to_entry((struct span){ 0 }, 0));
}

/* mmap() as C libraries have it, up to the first instruction that is cheap to probe. */
UNIT_TEST(cheap_starts_of_c_libraries)
{
	/* glibc 2.41: mov r10d, ecx; test r9d, 0xfff; jne; mov eax, 9; syscall */
	assert_int_equal(insn_cheap_start(CODE(0x41, 0x89, 0xca, 0x41, 0xf7, 0xc1, 0xff, 0x0f, 0, 0,
					       0x75, 0x14, 0xb8, 9, 0, 0, 0, 0x0f, 0x05)),
			 10);
	/* glibc with CET: endbr64 before it */
	assert_int_equal(insn_cheap_start(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xf7, 0xc1, 0xff, 0x0f,
					       0, 0, 0x75, 0x14)),
			 11);
	/* musl: test r9, 0xfff; jne; push r14; ... */
	assert_int_equal(
		insn_cheap_start(CODE(0x49, 0xf7, 0xc1, 0xff, 0x0f, 0, 0, 0x75, 0x20, 0x41, 0x56)),
		7);
	/* musl with frame pointers: push rbp */
	assert_int_equal(insn_cheap_start(CODE(0x55, 0x48, 0x89, 0xe5)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x83, 0xec, 0x18, 0x41, 0x57, 0xc3)), 4);
	/* vzeroupper is mistaken for a jump, but need not be probed */
	assert_int_equal(insn_cheap_start(CODE(0xc5, 0xf8, 0x77, 0x55)), 3);
}

/* What the dynamic loader of glibc maps by, and what looks like it. */
UNIT_TEST(functions_of_one_system_call)
{
	/* mov r10d, ecx; test r9d, 0xfff; jne; mov eax, 9; syscall; with and without endbr64 */
	assert_true(insn_makes_system_call(CODE(0x41, 0x89, 0xca, 0x41, 0xf7, 0xc1, 0xff, 0x0f, 0,
						0, 0x75, 0x14, 0xb8, 9, 0, 0, 0, 0x0f, 0x05),
					   9));
	assert_true(insn_makes_system_call(
		CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x49, 0x89, 0xca, 0xb8, 9, 0, 0, 0, 0x0f, 0x05), 9));
	/* another call; none; one whose number is set too early, or in memory */
	assert_false(insn_makes_system_call(CODE(0xb8, 11, 0, 0, 0, 0x0f, 0x05), 9));
	assert_false(insn_makes_system_call(CODE(0xb8, 9, 0, 0, 0, 0xc3, 0x0f, 0x05), 9));
	assert_false(
		insn_makes_system_call(CODE(0xb8, 9, 0, 0, 0, 0xb8, 11, 0, 0, 0, 0x0f, 0x05), 9));
	assert_false(insn_makes_system_call(CODE(0x0f, 0x05), 9));
	assert_null(insn_find_number(CODE(0xb8, 11, 0, 0, 0, 0xb8, 9, 0, 0), 9));
	assert_int_equal(*insn_find_number(CODE(0x90, 0xb8, 9, 0, 0, 0), 9), 0xb8);
	assert_null(insn_find_number((struct span){ NULL, 0 }, 9));
	/* with an argument of its own: xor edi, edi; behind a call; cut off */
	assert_false(insn_makes_system_call(CODE(0x31, 0xff, 0xb8, 9, 0, 0, 0, 0x0f, 0x05), 9));
	assert_false(
		insn_makes_system_call(CODE(0xb8, 9, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x0f, 0x05), 9));
	assert_false(insn_makes_system_call(CODE(0xb8, 9, 0, 0, 0, 0x0f), 9));
}

/* Once an argument is no longer where it came, it is too late. */
UNIT_TEST(cheap_starts_with_all_arguments)
{
	/* mov edi, ...; xor esi, esi; mov dl, 1; pop rcx; mov r8, rax; mov r9w, 1; then push rbp */
	assert_int_equal(insn_cheap_start(CODE(0xbf, 1, 0, 0, 0, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x31, 0xf6, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0xb2, 1, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x59, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x49, 0x89, 0xc0, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x66, 0x41, 0xb9, 1, 0, 0x55)), 0);
	/* mul rbx writes rdx; rep movsb all of its three; xchg rax, rdi */
	assert_int_equal(insn_cheap_start(CODE(0x48, 0xf7, 0xe3, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0xf3, 0xa4, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x97, 0x55)), 0);
	/* They may be read, and what they point to be written: mov [rdi], rsi; cmp rdx, rcx */
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0x37, 0x48, 0x39, 0xca, 0x55)), 6);
	/* Others may be written: mov eax, 1; mov r10, rcx; lea rbx, [rdi + 8] */
	assert_int_equal(insn_cheap_start(CODE(0xb8, 1, 0, 0, 0, 0x49, 0x89, 0xca, 0x48, 0x8d, 0x5f,
					       8, 0x55)),
			 12);
}

UNIT_TEST(cheap_starts_before_the_first_jump)
{
	/* A jump at once is cheap itself; jrcxz and jmp rax are not, and nothing behind them is. */
	assert_int_equal(insn_cheap_start(CODE(0xeb, 0x10, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0xe9, 1, 2, 3, 4)), 3);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0xe3, 0x10, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0xff, 0xe0, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0x0f, 0x05, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0x0f, 0x34, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0xc3, 0x55)), 0);
	/* Nor where it is not known what comes: cut short, no instruction, nothing at all. */
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0x41)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0x06, 0x55)), 0);
	assert_int_equal(insn_cheap_start((struct span){ 0 }), 0);
}

/* Whatever is called changes them. */
UNIT_TEST(cheap_starts_before_the_first_call)
{
	/* call 0 is cheap; call rax and call [rip + 0] are not */
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0xe8, 0, 0, 0, 0)), 3);
	assert_int_equal(insn_cheap_start(CODE(0xff, 0xd0, 0x55)), 0);
	assert_int_equal(insn_cheap_start(CODE(0x48, 0x89, 0xc3, 0xff, 0x15, 0, 0, 0, 0, 0x55)), 0);
}

static const struct body_code push_ret = {
	.bytes = { (const uint8_t[]){ 0x55, 0xc3 }, 2 },
};

static struct method_body good_body(const char *method, uint64_t offset)
{
	return (struct method_body){
		.method = method,
		.image = "a.dll",
		.tier = TIER_R2R,
		.offset = { offset },
		.address = { 0x7000000 + offset },
		.size = 2,
		.function_start = true,
		.code = &push_ret,
		.code_count = 1,
	};
}

static void add(struct plan *plan, struct method_body body)
{
	assert_int_equal(plan_add(plan, &body, NULL), 0);
}

UNIT_TEST(refuses_with_a_reason)
{
	const struct body_code vex = { .bytes = CODE(0xc5, 0xf8, 0x77) };
	const struct body_code loop = { .bytes = CODE(0xff, 0xcf, 0x75, 0xfc) };
	struct method_body body;
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	add(&plan, good_body("T::good()", 0x10));
	body = good_body("T::unmapped()", 0x20);
	body.address.value = 0;
	add(&plan, body);
	body = good_body("T::middle()", 0x30);
	body.function_start = false;
	add(&plan, body);
	body = good_body("T::vex()", 0x40);
	body.code = &vex;
	add(&plan, body);
	body = good_body("T::loop()", 0x50);
	body.code = &loop;
	add(&plan, body);
	body = good_body("T::empty()", 0x60);
	body.code_count = 0;
	add(&plan, body);
	body = good_body("T::jit()", 0);
	body.absent = BODY_NOT_COMPILED;
	add(&plan, body);
	assert_int_equal(plan_finish(&plan, 4, NULL), 0);

	assert_int_equal(plan.count, 7);
	assert_int_equal(plan_placeable(&plan), 1);
	assert_int_equal(plan.sites[0].mechanism, MECHANISM_UPROBE);
	assert_int_equal(plan.sites[0].cost, INSN_EMULATED);
	assert_int_equal(plan.sites[1].reason, REASON_NOT_FILE_BACKED);
	assert_int_equal(plan.sites[2].reason, REASON_NOT_A_FUNCTION_START);
	assert_int_equal(plan.sites[3].reason, REASON_CORRUPTED_INSTRUCTION);
	assert_int_equal(plan.sites[4].reason, REASON_ENTRY_IS_LOOP_TARGET);
	assert_int_equal(plan.sites[5].reason, REASON_UNDECODABLE);
	assert_int_equal(plan.sites[6].reason, REASON_NOT_COMPILED);
	for (size_t i = 1; i < plan.count; i++) {
		assert_int_equal(plan.sites[i].mechanism, MECHANISM_NONE);
		assert_non_null(reason_code(plan.sites[i].reason));
		assert_non_null(reason_text(plan.sites[i].reason));
	}
}

UNIT_TEST(one_place_is_one_site)
{
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	add(&plan, good_body("T::b()", 0x20));
	add(&plan, good_body("T::c()", 0x10));
	add(&plan, good_body("T::b()", 0x20)); /* a second pattern matched it too */
	add(&plan, good_body("T::a()", 0x20)); /* another method with the same code */
	assert_int_equal(plan_finish(&plan, 4, NULL), 0);

	assert_int_equal(plan.count, 3);
	assert_string_equal(plan.sites[0].method, "T::c()");
	assert_string_equal(plan.sites[1].method, "T::a()");
	assert_int_equal(plan.sites[1].mechanism, MECHANISM_UPROBE);
	assert_string_equal(plan.sites[2].method, "T::b()");
	assert_int_equal(plan.sites[2].reason, REASON_SAME_CODE);
}

/* Methods of one name in two images, each matched by two patterns: as many as there are images. */
UNIT_TEST(without_code_once_for_each_image)
{
	static const char *const images[] = { "a.dll", "b.dll" };
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	for (size_t i = 0; i < 4; i++) {
		struct method_body body = good_body("T::jit()", 0);

		body.image = images[i % 2];
		body.absent = BODY_NOT_COMPILED;
		add(&plan, body);
	}
	assert_int_equal(plan_finish(&plan, 4, NULL), 0);
	assert_int_equal(plan.count, 2);
	assert_string_equal(plan.sites[0].image, "a.dll");
	assert_string_equal(plan.sites[1].image, "b.dll");
}

UNIT_MAIN(NULL, NULL)
