// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exits.h, body by body. Whole frameworks and the code of live processes are held against another
 * disassembler by tests/system/test_exits.py.
 */
#include "tests/unit/exits_fixture.h"

#include <time.h>

UNIT_TEST(returns)
{
	_cleanup_(done) struct body body = { 0 };
	const struct exits *exits;

	ONE_EXIT(0, EXIT_RETURN, 0, 0xc3);
	/* push rbx; sub rsp, 0x20; call; add rsp, 0x20; pop rbx; ret */
	ONE_EXIT(15, EXIT_RETURN, 0, 0x53, 0x48, 0x83, 0xec, 0x20, 0xe8, 0, 1, 0, 0, 0x48, 0x83,
		 0xc4, 0x20, 0x5b, 0xc3);
	ONE_EXIT(0, EXIT_RETURN, 0, 0xf3, 0xc3); /* rep ret */
	ONE_EXIT(0, EXIT_RETURN, 0, 0xc2, 8, 0); /* ret 8: it takes its arguments off afterwards */
	/* test edi, edi; je 5; ret; push rax; pop rcx; ret */
	HOT(&body, 0x85, 0xff, 0x74, 1, 0xc3, 0x50, 0x59, 0xc3);
	exits = find(&body);
	assert_int_equal(exits->count, BOTH);
	expect(exits, 0, 4, EXIT_RETURN, 0);
	expect(exits, 1, 7, EXIT_RETURN, 0);
	assert_int_equal(exits->sites[0].length, 1);
	assert_int_equal(exits->sites[0].cost, INSN_SINGLE_STEPPED);
	assert_int_equal(exits->instructions, 6);
}

/* The one exit of a body whose unwinder looks at its code. */
static struct exit_site whole_frame(const uint8_t *code, size_t size)
{
	_cleanup_(done) struct body body = { .unwound = true };
	struct exit_site site;

	add_part(&body, EXIT_PART_HOT, BEGIN, code, size);
	assert_int_equal(find(&body)->refusal, EXITS_KNOWN);
	assert_int_equal(body.exits.count, 1);
	site = body.exits.sites[0];
	assert_int_equal(site.at, BEGIN + site.offset);
	return site;
}

static void expect_probe(struct exit_site site, uint32_t offset, uint32_t taken_down,
			 bool from_frame)
{
	assert_int_equal(site.offset, offset);
	assert_int_equal(site.taken_down, taken_down);
	assert_int_equal(site.from_frame, from_frame);
	assert_int_equal(site.cost, INSN_SINGLE_STEPPED);
}

/* Where the frame is still whole, and how much of it there is then. */
UNIT_TEST(probes_before_frames_are_taken_down)
{
	struct exit_site site;

	/*
	 * push rbp; push rbx; sub rsp, 0x18; lea rbp, [rsp+0x20]; add rsp, 0x18; pop rbx; pop rbp;
	 * ret
	 */
	site = whole_frame(BYTES(0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x6c, 0x24, 0x20,
				 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3));
	expect_probe(site, 11, 0x28, false);
	assert_int_equal(site.length, 4);
	assert_int_equal(site.kind, EXIT_RETURN);
	assert_int_equal(site.depth, 0);
	/*
	 * push rbp; push r15; lea rbp, [rsp+8]; and rsp, -32; lea rsp, [rbp-8]; pop r15; pop rbp;
	 * ret
	 */
	site = whole_frame(BYTES(0x55, 0x41, 0x57, 0x48, 0x8d, 0x6c, 0x24, 8, 0x48, 0x83, 0xe4,
				 0xe0, 0x48, 0x8d, 0x65, 0xf8, 0x41, 0x5f, 0x5d, 0xc3));
	expect_probe(site, 12, 8, true);
	/* push rbp; mov rbp, rsp; mov rsp, rbp; pop rbp; ret, and with leave */
	site = whole_frame(BYTES(0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xec, 0x5d, 0xc3));
	expect_probe(site, 4, 8, true);
	expect_probe(whole_frame(BYTES(0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3)), 4, 8, true);
	/* push rax; pop rcx; rex.W jmp [rax]: a tail call */
	site = whole_frame(BYTES(0x50, 0x59, 0x48, 0xff, 0x20));
	expect_probe(site, 1, 8, false);
	assert_int_equal(site.kind, EXIT_JUMP_MEMORY);
	/* Nothing to take down: mov eax, edi; ret */
	expect_probe(whole_frame(BYTES(0x89, 0xf8, 0xc3)), 2, 0, false);
	/* sub rsp, 0x100000; add rsp, 0x100000; ret: more than a cookie tells of; what fits */
	site = whole_frame(BYTES(0x48, 0x81, 0xec, LE32(EXIT_TAKEN_DOWN_MAX), 0x48, 0x81, 0xc4,
				 LE32(EXIT_TAKEN_DOWN_MAX), 0xc3));
	assert_int_equal(site.offset, 14);
	assert_int_equal(site.taken_down, 0);
	assert_int_equal(site.cost, INSN_REFUSED);
	site = whole_frame(BYTES(0x48, 0x81, 0xec, LE32(EXIT_TAKEN_DOWN_MAX - 8), 0x48, 0x81, 0xc4,
				 LE32(EXIT_TAKEN_DOWN_MAX - 8), 0xc3));
	expect_probe(site, 7, EXIT_TAKEN_DOWN_MAX - 8, false);
}

/* No place is right for both who come from above and who jump there: then there is no uprobe. */
UNIT_TEST(frames_that_are_left_in_their_midst)
{
	struct exit_site site;

	/* push rbx; test edi, edi; je 6; nop; pop rbx; ret: to where taking down begins */
	site = whole_frame(BYTES(0x53, 0x85, 0xff, 0x74, 1, 0x90, 0x5b, 0xc3));
	expect_probe(site, 6, 8, false);
	/* push rbx; test edi, edi; jne 7; push rax; add rsp, 8; pop rbx; ret, and jne to the pop */
	site = whole_frame(BYTES(0x53, 0x85, 0xff, 0x75, 5, 0x50, 0x48, 0x83, 0xc4, 8, 0x5b, 0xc3));
	assert_int_equal(site.offset, 11);
	assert_int_equal(site.taken_down, 0);
	assert_int_equal(site.cost, INSN_REFUSED);
	/* push rbx; pop rbx; je far: whether it is left is known only there */
	site = whole_frame(BYTES(0x53, 0x5b, 0x0f, 0x84, 0, 1, 0, 0, 0xeb, 0xfe));
	assert_int_equal(site.kind, EXIT_BRANCH);
	assert_int_equal(site.offset, 2);
	assert_int_equal(site.cost, INSN_REFUSED);
	/* push rbp; mov rbp, rsp; pop rbp; lea rsp, [rbp+8]; ret: what it goes by is not its own */
	site = whole_frame(BYTES(0x55, 0x48, 0x89, 0xe5, 0x5d, 0x48, 0x8d, 0x65, 8, 0xc3));
	assert_int_equal(site.offset, 9);
	assert_int_equal(site.cost, INSN_REFUSED);
}

UNIT_TEST(bodies_that_never_return)
{
	struct body body = { 0 };

	/* push rax; call; int3 */
	HOT(&body, 0x50, 0xe8, 0, 1, 0, 0, 0xcc);
	assert_int_equal(find(&body)->refusal, EXITS_KNOWN);
	assert_int_equal(body.exits.count, 0);
	done(&body);
	/* push rax; call: what throws does not come back */
	HOT(&body, 0x50, 0xe8, 0, 1, 0, 0);
	assert_int_equal(find(&body)->refusal, EXITS_KNOWN);
	assert_int_equal(body.exits.count, 0);
	done(&body);
	/* jmp 0; and mov eax, [0]; ud2 */
	HOT(&body, 0xeb, 0xfe, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x0f, 0x0b);
	assert_int_equal(find(&body)->refusal, EXITS_KNOWN);
	assert_int_equal(body.exits.count, 0);
	done(&body);
}

/* What frames there are: each is gone at the ret. */
UNIT_TEST(frames)
{
	/* push rbp; mov rbp, rsp; sub rsp, rdi; leave; ret */
	ONE_EXIT(8, EXIT_RETURN, 0, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xfc, 0xc9, 0xc3);
	/*
	 * push rbp; push rbx; lea rbp, [rsp+8]; and rsp, -32; lea rsp, [rbp-8]; pop rbx; pop rbp;
	 * ret
	 */
	ONE_EXIT(17, EXIT_RETURN, 0, 0x55, 0x53, 0x48, 0x8d, 0x6c, 0x24, 8, 0x48, 0x83, 0xe4, 0xe0,
		 0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3);
	/* push rbp; mov rbp, rsp; push rbx; mov rsp, rbp; pop rbp; ret */
	ONE_EXIT(9, EXIT_RETURN, 0, 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x89, 0xec, 0x5d, 0xc3);
	/* lea rsp, [rsp-8]; pushfq; popfq; lea rsp, [rsp+8]; ret */
	ONE_EXIT(12, EXIT_RETURN, 0, 0x48, 0x8d, 0x64, 0x24, 0xf8, 0x9c, 0x9d, 0x48, 0x8d, 0x64,
		 0x24, 8, 0xc3);
	/* Not to be followed: mov r10, rsp; and rsp, -32; mov rsp, r10; ret */
	ONE_EXIT(10, EXIT_RETURN, EXIT_DEPTH_UNKNOWN, 0x49, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xe0,
		 0x49, 0x8b, 0xe2, 0xc3);
	/* push rax; ret: it goes where rax says */
	REFUSED(EXITS_UNBALANCED, 1, 0x50, 0xc3);
	/* pop rcx; push rax; push rax; add rsp, 8; ret: it has changed its return address */
	ONE_EXIT(7, EXIT_RETURN, 0, 0x59, 0x50, 0x50, 0x48, 0x83, 0xc4, 8, 0xc3);
	/* pop rcx; ret: it takes an argument with it */
	REFUSED(EXITS_UNBALANCED, 1, 0x59, 0xc3);
}

/* Two ways to one place, with a frame and without: what follows is not known. */
UNIT_TEST(ways_that_disagree)
{
	/* je 3; push rax; ret */
	ONE_EXIT(3, EXIT_RETURN, EXIT_DEPTH_UNKNOWN, 0x74, 1, 0x50, 0xc3);
	/*
	 * je 8; push rax; call; ret. The call does not come back, or it would return to what was
	 * pushed: the jump tells.
	 */
	ONE_EXIT(8, EXIT_RETURN, 0, 0x74, 6, 0x50, 0xe8, 0, 1, 0, 0, 0xc3);
	/* push rax; call; pop rax; dec edi; jne 6; ret: only the call leads to the loop */
	ONE_EXIT(11, EXIT_RETURN, EXIT_DEPTH_UNKNOWN, 0x50, 0xe8, 0, 1, 0, 0, 0x58, 0xff, 0xcf,
		 0x75, 0xfb, 0xc3);
	ONE_EXIT(12, EXIT_RETURN, 0, 0x50, 0xe8, 0, 1, 0, 0, 0x90, 0xff, 0xcf, 0x75, 0xfb, 0x58,
		 0xc3);
}

/* An exception handler of native code: no instruction leads there. */
UNIT_TEST(code_that_nothing_leads_to)
{
	_cleanup_(done) struct body body = { 0 };
	const struct exits *exits;

	/* push rax; pop rax; ret; nop; mov eax, 1; jmp 1; pop rbx; ret */
	HOT(&body, 0x50, 0x58, 0xc3, 0x90, 0xb8, 1, 0, 0, 0, 0xeb, 0xf6, 0x5b, 0xc3);
	exits = find(&body);
	assert_int_equal(exits->count, BOTH);
	/* It comes to where the others come, with the same frame. */
	expect(exits, 0, 2, EXIT_RETURN, 0);
	expect(exits, 1, 12, EXIT_RETURN, EXIT_DEPTH_UNKNOWN);
}

UNIT_TEST(tail_jumps)
{
	_cleanup_(done) struct body body = { 0 };
	const struct exits *exits;

	ONE_EXIT(0, EXIT_JUMP, 0, 0xe9, 0, 1, 0, 0);
	ONE_EXIT(2, EXIT_JUMP_MEMORY, 0, 0x50, 0x58, 0xff, 0x25, 0, 1, 0, 0); /* jmp [rip+0x100] */
	ONE_EXIT(0, EXIT_JUMP_MEMORY, 0, 0x48, 0xff, 0x20);		      /* rex.W jmp [rax] */
	ONE_EXIT(3, EXIT_JUMP_REGISTER, 0, 0x48, 0x8b, 0x07, 0xff,
		 0xe0); /* mov rax, [rdi]; jmp rax */
	/* mov rdi, [rdi+rax*8]; mov rax, [rdi]; jmp [rax+0x10]: a method of an element */
	ONE_EXIT(7, EXIT_JUMP_MEMORY, 0, 0x48, 0x8b, 0x3c, 0xc7, 0x48, 0x8b, 0x07, 0xff, 0x60,
		 0x10);
	/* push rax; jmp rdi: with a frame up nobody is called */
	REFUSED(EXITS_UNBALANCED, 1, 0x50, 0xff, 0xe7);
	REFUSED(EXITS_UNBALANCED, 1, 0x50, 0xff, 0x27);

	/* je out; jrcxz out; ret */
	HOT(&body, 0x0f, 0x84, 0, 1, 0, 0, 0xe3, 0x40, 0xc3);
	exits = find(&body);
	assert_int_equal(exits->count, 3);
	expect(exits, 0, 0, EXIT_BRANCH, 0);
	assert_int_equal(exits->sites[0].target, BEGIN + 0x106);
	assert_int_equal(exits->sites[0].condition, 4);
	expect(exits, 1, 6, EXIT_BRANCH, 0);
	assert_int_equal(exits->sites[1].condition, EXIT_BY_COUNTER);
	assert_int_equal(exits->sites[1].target, BEGIN + 0x48);
	assert_int_equal(exits->sites[0].cost, INSN_EMULATED);
}

UNIT_TEST(jumps_with_a_frame)
{
	_cleanup_(done) struct body body = { 0 };
	const struct exits *exits;

	/* push rbx; test; je COLD; pop rbx; ret */
	HOT(&body, 0x53, 0x85, 0xff, 0x0f, 0x84, LE32(COLD - BEGIN - 9), 0x5b, 0xc3);
	exits = find(&body);
	assert_int_equal(exits->refusal, EXITS_LEAVES_FRAME);
	assert_int_equal(exits->refused_at, BEGIN + 3);
	assert_int_equal(exits->refused_target, COLD);
	/* mov eax, 1; pop rbx; ret: now that the part is known */
	OTHER(&body, EXIT_PART_COLD, 0xb8, 1, 0, 0, 0, 0x5b, 0xc3);
	exits = find(&body);
	assert_int_equal(exits->count, BOTH);
	assert_int_equal(exits->refused_target, 0);
	expect(exits, 0, 10, EXIT_RETURN, 0);
	expect(exits, 1, 6, EXIT_RETURN, 0);
	assert_int_equal(exits->sites[1].at, COLD + 6);
	assert_int_equal(exits->sites[1].part, 1);
}

UNIT_TEST(handlers)
{
	struct body body = { 0 };

	/* sub rsp, 8; call COLD; add rsp, 8; ret. The handler: push rax; pop rax; ret */
	HOT(&body, 0x48, 0x83, 0xec, 8, 0xe8, LE32(COLD - BEGIN - 9), 0x48, 0x83, 0xc4, 8, 0xc3);
	OTHER(&body, EXIT_PART_HANDLER, 0x50, 0x58, 0xc3);
	expect(find(&body), 0, 13, EXIT_RETURN, 0);
	assert_int_equal(body.exits.count, 1);
	done(&body);

	HOT(&body, 0xe9, LE32(COLD - BEGIN - 5));
	OTHER(&body, EXIT_PART_HANDLER, 0xc3);
	expect_refusal(&body, EXITS_HANDLER_LEAVES, BEGIN);
	HOT(&body, 0xc3);
	OTHER(&body, EXIT_PART_HANDLER, 0xe9, LE32(BEGIN - COLD - 5));
	expect_refusal(&body, EXITS_HANDLER_LEAVES, COLD);
	HOT(&body, 0xc3);
	OTHER(&body, EXIT_PART_HANDLER, 0xe9, 0, 1, 0, 0);
	expect_refusal(&body, EXITS_HANDLER_LEAVES, COLD);
	HOT(&body, 0xc3);
	OTHER(&body, EXIT_PART_HANDLER, 0xff, 0xe0);
	expect_refusal(&body, EXITS_HANDLER_LEAVES, COLD);
}

UNIT_TEST(calls)
{
	/* push rax; call 0; pop rax; ret: recursion */
	ONE_EXIT(7, EXIT_RETURN, 0, 0x50, 0xe8, LE32(-6), 0x58, 0xc3);
	/* call 5; ... A thunk against speculation: call 7; pause; jmp 5; mov [rsp], rax; ret */
	REFUSED(EXITS_CALLS_INSIDE, 0, 0xe8, 0, 0, 0, 0, 0x58, 0xc3);
	REFUSED(EXITS_CALLS_INSIDE, 0, 0xe8, 4, 0, 0, 0, 0xf3, 0x90, 0xeb, 0xfc, 0x48, 0x89, 4,
		0x24, 0xc3);
}

UNIT_TEST(what_is_no_body)
{
	struct body body = { 0 };

	REFUSED(EXITS_UNDECODABLE, 1, 0xc3, 0x06); /* push es: not in 64-bit */
	REFUSED(EXITS_UNDECODABLE, 1, 0xc3, 0x48); /* cut short */
	REFUSED(EXITS_INTO_INSTRUCTION, 0, 0xeb, 1, 0xb8, 0, 0, 0, 0, 0xc3);
	REFUSED(EXITS_FAR, 0, 0xcb);	   /* retf */
	REFUSED(EXITS_FAR, 0, 0x48, 0xcf); /* iretq */
	REFUSED(EXITS_FAR, 0, 0xff, 0x28); /* jmp far [rax] */
	REFUSED(EXITS_RUNS_ON, 1, 0x50, 0x58);
	REFUSED(EXITS_RUNS_ON, 1, 0xc3, 0x74, 0xfd);   /* ret; je 0 */
	ONE_EXIT(0, EXIT_RETURN, 0, 0xc3, 0x66, 0x90); /* what fills up need not end */
	expect_refusal(&body, EXITS_UNREADABLE, 0);
	body.part_count = 1;
	expect_refusal(&body, EXITS_UNREADABLE, 0);
}

/* The method at hand is the next part's neighbour: on it goes. */
UNIT_TEST(parts_side_by_side)
{
	struct body body = { 0 };

	HOT(&body, 0x50);
	add_part(&body, EXIT_PART_COLD, BEGIN + 1, BYTES(0x58, 0xc3));
	expect(find(&body), 0, 1, EXIT_RETURN, 0);
	assert_int_equal(body.exits.count, 1);
	done(&body);
	/* Two that lie over each other (only a damaged file has such). */
	HOT(&body, 0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3);
	add_part(&body, EXIT_PART_HANDLER, BEGIN + 2, BYTES(0xc3));
	expect(find(&body), 0, 5, EXIT_RETURN, 0);
	done(&body);
}

UNIT_TEST(limits)
{
	static uint8_t code[EXITS_BODY_MAX_BYTES + 1];
	struct body body = { 0 };
	struct exit_part many[EXITS_PARTS_MAX + 1];
	struct exit_body as_given = { .parts = many, .part_count = EXITS_PARTS_MAX + 1 };

	memset(code, 0xc3, sizeof(code));
	add_part(&body, EXIT_PART_HOT, BEGIN, code, EXITS_MAX);
	assert_int_equal(find(&body)->count, EXITS_MAX);
	done(&body);
	add_part(&body, EXIT_PART_HOT, BEGIN, code, EXITS_MAX + 1);
	expect_refusal(&body, EXITS_TOO_MANY, BEGIN + EXITS_MAX);
	memset(code, 0x90, sizeof(code));
	code[EXITS_BODY_MAX_BYTES - 1] = 0xc3;
	add_part(&body, EXIT_PART_HOT, BEGIN, code, EXITS_BODY_MAX_BYTES);
	expect(find(&body), 0, EXITS_BODY_MAX_BYTES - 1, EXIT_RETURN, 0);
	done(&body);
	add_part(&body, EXIT_PART_HOT, BEGIN, code, EXITS_BODY_MAX_BYTES + 1);
	expect_refusal(&body, EXITS_TOO_LARGE, 0);
	assert_int_equal(exits_find(&body.exits, &as_given, NULL), 0);
	assert_int_equal(body.exits.refusal, EXITS_TOO_LARGE);
	done(&body);
}

/* Code that was written to be hard to read takes no longer than other code of its size. */
UNIT_TEST(hostile_code)
{
	/* mov eax, [rcx+rax*4]; add rax, rdx; jmp rax: with neither a table nor a base anywhere */
	static const uint8_t jump[] = { 0x8b, 0x04, 0x81, 0x48, 0x01, 0xd0, 0xff, 0xe0 };
	static uint8_t code[EXITS_BODY_MAX_BYTES];
	struct body body = { .table_size = 1 };
	struct timespec begin, end;

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = jump[i % sizeof(jump)];
	add_part(&body, EXIT_PART_HOT, BEGIN, code, sizeof(code));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	expect_refusal(&body, EXITS_AMBIGUOUS_JUMP, BEGIN + 6);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_in_range(end.tv_sec - begin.tv_sec, 0, 3);
}

/* One struct exits serves many bodies: nothing of one stays for the next. */
UNIT_TEST(one_after_another)
{
	struct body first = { 0 }, second = { 0 };

	HOT(&first, 0x50, 0xc3);
	assert_int_equal(find(&first)->refusal, EXITS_UNBALANCED);
	HOT(&second, 0xc3);
	second.exits = first.exits;
	first.exits = (struct exits){ 0 };
	expect(find(&second), 0, 0, EXIT_RETURN, 0);
	assert_int_equal(second.exits.count, 1);
	assert_int_equal(second.exits.refused_at, 0);
	assert_int_equal(second.exits.instructions, 1);
	done(&first);
	done(&second);
}

UNIT_TEST(refusals_have_names)
{
	assert_null(exits_refusal_code(EXITS_KNOWN));
	for (unsigned int i = 1; i < EXITS_REFUSALS; i++) {
		assert_non_null(exits_refusal_code(i));
		assert_non_null(exits_refusal_text(i));
		for (unsigned int k = 1; k < i; k++)
			assert_string_not_equal(exits_refusal_code(i), exits_refusal_code(k));
	}
	assert_string_equal(exit_kind_name(EXIT_BRANCH), "branch");
}

UNIT_MAIN(NULL, NULL)
