// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the unwind rows of images with what their instructions do to the stack.
 *
 *   unwind_prologues IMAGE...
 *
 * Each function is followed from its first instruction, by Zydis, for as long as it is clear where the
 * stack pointer is and before anything is taken back. Prints each place where a row says otherwise, and
 * "IMAGE: N functions, N followed through their prologue, N places, N without frame pointer, N wrong".
 */
#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/unwind_info.h"
#include "base/error.h"
#include "image/pe.h"
#include "tests/unit/unwind_row.h"

enum {
	RUNTIME_FUNCTION_BYTES = 12,
	WRONG_SHOWN = 20,
	REGISTERS = 16,
	PROLOGUE_OFFSET = 1, /* in UNWIND_INFO: the prologue's size */
};

/* Where things are, by the instructions so far. */
struct machine {
	int64_t depth;	/* from rsp to the CFA */
	int64_t rbp_at; /* below the CFA; 0: it is still the caller's */
	int64_t rbx_at;
	bool framed;
	int64_t frame_to_cfa;
	bool known[REGISTERS]; /* it holds an address on the stack: */
	int64_t below[REGISTERS];
};

struct tally {
	size_t functions, followed, places, frameless, wrong;
};

static unsigned int number_of(ZydisRegister reg)
{
	ZyanI8 id = ZydisRegisterGetId(reg);

	return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64 && id >= 0 ? (unsigned int)id :
									       REGISTERS;
}

/* What the instruction does to the stack. False if from here on that is not known. */
static bool take(struct machine *machine, const ZydisDecodedInstruction *insn,
		 const ZydisDecodedOperand *ops)
{
	const bool to_rsp = insn->operand_count_visible > 0 &&
			    ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    ops[0].reg.value == ZYDIS_REGISTER_RSP;
	const bool to_rbp = insn->operand_count_visible > 0 &&
			    ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    ops[0].reg.value == ZYDIS_REGISTER_RBP;
	unsigned int to;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		machine->depth += 8;
		if (to_rbp && !machine->rbp_at)
			machine->rbp_at = machine->depth;
		if (ops[0].reg.value == ZYDIS_REGISTER_RBX && !machine->rbx_at)
			machine->rbx_at = machine->depth;
		return true;
	case ZYDIS_MNEMONIC_SUB:
		if (to_rsp && ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		if (to_rsp)
			machine->depth += ops[1].imm.value.s;
		return true;
	case ZYDIS_MNEMONIC_LEA:
		if (to_rsp || ops[1].mem.index != ZYDIS_REGISTER_NONE)
			return !to_rsp && !to_rbp;
		to = number_of(ops[0].reg.value);
		if (to < REGISTERS)
			machine->known[to] = false;
		if (to == REGISTERS || ops[1].mem.base != ZYDIS_REGISTER_RSP)
			return !to_rbp;
		machine->known[to] = true;
		machine->below[to] = machine->depth - ops[1].mem.disp.value;
		if (to_rbp) {
			machine->framed = true;
			machine->frame_to_cfa = machine->below[to];
		}
		return true;
	case ZYDIS_MNEMONIC_MOV:
		if (to_rbp && ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ops[1].reg.value == ZYDIS_REGISTER_RSP) {
			machine->framed = true;
			machine->frame_to_cfa = machine->depth;
			return true;
		}
		if (to_rsp) {
			to = number_of(ops[1].reg.value);
			if (ops[1].type != ZYDIS_OPERAND_TYPE_REGISTER || to == REGISTERS ||
			    !machine->known[to])
				return false;
			machine->depth = machine->below[to];
			return true;
		}
		/* A funclet takes its parent's frame pointer: rows go by the stack pointer there. */
		return true;
	case ZYDIS_MNEMONIC_CALL:
		/* The stack probe keeps the one register that matters. */
		return true;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_LEAVE:
		return false;
	default:
		return !to_rsp;
	}
}

/* How far below the CFA that is. */
static int64_t below_cfa(int8_t place)
{
	return place == UNWIND_SAME ? 0 : -(int64_t)place * UNWIND_UNIT;
}

static bool agrees(const struct machine *machine, struct unwind_frame frame)
{
	int64_t offset = (int64_t)frame.offset * UNWIND_UNIT;

	if (frame.rule != UNWIND_REGISTER || below_cfa(frame.frame_pointer) != machine->rbp_at ||
	    below_cfa(frame.saved) != machine->rbx_at || frame.return_address != -1)
		return false;
	if (frame.base == UNWIND_SP)
		return offset == machine->depth;
	return frame.base == UNWIND_FP && machine->framed && offset == machine->frame_to_cfa;
}

static void follow(const ZydisDecoder *decoder, const struct pe *pe, const struct unwind_rows *rows,
		   uint32_t begin, uint32_t end, uint32_t prologue_end, struct tally *tally)
{
	struct span code = pe_bytes(pe, (struct rva){ begin }, end - begin);
	struct machine machine = { .depth = 8 };
	struct unwind_frame frame;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	size_t at = 0;

	tally->functions++;
	while (at < code.size) {
		const struct unwind_row *row = unwind_rows_find(rows, begin + (uint32_t)at);

		frame = row ? unwind_rows_frame(rows, row) : (struct unwind_frame){ 0 };
		tally->places++;
		if (!agrees(&machine, frame)) {
			if (tally->wrong++ < WRONG_SHOWN)
				printf("0x%x + 0x%zx: rule %d base %d offset %d rbp %d rbx %d; the stack is 0x%lx deep, rbp %ld and rbx %ld below the CFA\n",
				       begin, at, frame.rule, frame.base, frame.offset,
				       frame.frame_pointer, frame.saved, (long)machine.depth,
				       (long)machine.rbp_at, (long)machine.rbx_at);
			return;
		}
		if (at >= prologue_end) {
			tally->followed++;
			tally->frameless += frame.base == UNWIND_SP;
			prologue_end = UINT32_MAX; /* counted */
		}
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code.start + at, code.size - at,
							 &insn, ops)))
			return;
		at += insn.length;
		/* What is added is taken back: the epilogue. */
		if (!take(&machine, &insn, ops))
			return;
	}
}

static bool check(const ZydisDecoder *decoder, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_info_counts counts;
	struct error err = { .text = "" };
	static struct unwind_frames frames;
	struct unwind_rows rows = { .frames = &frames };
	struct tally tally = { 0 };
	struct cursor c;
	struct stat st;
	struct pe pe;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		return false;
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED || pe_init(&pe, (struct span){ bytes, (size_t)st.st_size }, &err) ||
	    unwind_info_image(&pe, &rows, &counts, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		return false;
	}
	c = cursor_over(pe_bytes(&pe, pe.directories[PE_DIRECTORY_EXCEPTION].rva,
				 pe.directories[PE_DIRECTORY_EXCEPTION].size));
	while (cursor_left(&c) >= RUNTIME_FUNCTION_BYTES) {
		uint32_t begin = cursor_u32(&c), end = cursor_u32(&c), info = cursor_u32(&c);
		struct cursor head = pe_cursor(&pe, (struct rva){ (info & ~1u) + PROLOGUE_OFFSET });

		/* One that goes on where another has left off does not begin with a prologue. */
		if (end <= begin || end == UINT32_MAX)
			continue;
		follow(decoder, &pe, &rows, begin, end, cursor_u8(&head), &tally);
	}
	printf("%s: %zu functions, %zu followed through their prologue, %zu places, %zu without frame pointer, %zu wrong, %zu rows, %lu damaged\n",
	       path, tally.functions, tally.followed, tally.places, tally.frameless, tally.wrong,
	       rows.count, (unsigned long)counts.damaged);
	unwind_rows_deinit(&rows);
	munmap(bytes, (size_t)st.st_size);
	return tally.functions && !tally.wrong && !counts.damaged;
}

int main(int argc, char **argv)
{
	ZydisDecoder decoder;
	bool good = argc > 1;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 1; i < argc; i++)
		good = check(&decoder, argv[i]) && good;
	return !good;
}
