// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86-64 instructions as the kernel's uprobes see them: arch/x86/kernel/uprobes.c,
 * branch_setup_xol_ops() and push_setup_xol_ops(); behaviour measured on 6.1 to 6.18.
 */
#include <Zydis/Zydis.h>

#include "code/insn.h"

static bool decoder_init(ZydisDecoder *decoder)
{
	return ZYAN_SUCCESS(
		ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

static bool decode(const ZydisDecoder *decoder, struct span code,
		   ZydisDecodedInstruction *instruction)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, ZYAN_NULL, code.start, code.size,
							  instruction));
}

/*
 * The kernel looks at the opcode byte alone, so it takes vzeroupper (C5 F8 77) for a
 * conditional jump and vmovdqu stores (7F) too: the instruction's effect is lost.
 */
static bool is_mistaken_for_branch(const ZydisDecodedInstruction *instruction)
{
	return instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
	       instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
	       instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP ||
	       instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX;
}

static bool is_relative_branch(const ZydisDecodedInstruction *instruction)
{
	bool one_byte = instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
	bool two_bytes = instruction->opcode_map == ZYDIS_OPCODE_MAP_0F;
	uint8_t opcode = instruction->opcode;

	if (one_byte && opcode >= 0x70 && opcode <= 0x7f) /* jcc rel8 */
		return true;
	if (one_byte && (opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb))
		return true;				      /* call and jmp */
	return two_bytes && opcode >= 0x80 && opcode <= 0x8f; /* jcc rel32 */
}

/*
 * is_prefix_bad() in the kernel, and branches with an operand size, which CPUs do not agree on. One
 * such site would make a whole uprobe_multi link fail.
 */
static bool is_refused(const ZydisDecodedInstruction *instruction)
{
	const ZydisInstructionAttributes bad =
		ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_SEGMENT_ES | ZYDIS_ATTRIB_HAS_SEGMENT_CS |
		ZYDIS_ATTRIB_HAS_SEGMENT_SS | ZYDIS_ATTRIB_HAS_SEGMENT_DS;

	return instruction->attributes & bad ||
	       (is_relative_branch(instruction) &&
		instruction->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE);
}

static bool is_emulated(const ZydisDecodedInstruction *instruction)
{
	bool one_byte = instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
	uint8_t opcode = instruction->opcode;
	bool prefixed = instruction->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE;

	if (prefixed)
		return false;
	if (one_byte && opcode >= 0x50 && opcode <= 0x57) /* push */
		return instruction->length <= 2;
	if (one_byte && opcode == 0x90) /* nop */
		return instruction->length == 1;
	return is_relative_branch(instruction);
}

/* nopl 0x0(%rax,%rax,1); is_nop5_insns() of the kernel, arch/x86/kernel/uprobes.c. */
bool insn_is_patchable(struct span code)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	return code.size >= sizeof(nop5) && memcmp(code.start, nop5, sizeof(nop5)) == 0;
}

enum insn_probe insn_probe_cost(struct span code)
{
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;

	if (!decoder_init(&decoder) || !decode(&decoder, code, &instruction))
		return INSN_UNDECODABLE;
	if (is_mistaken_for_branch(&instruction))
		return INSN_CORRUPTED;
	if (is_refused(&instruction))
		return INSN_REFUSED;
	return is_emulated(&instruction) ? INSN_EMULATED : INSN_SINGLE_STEPPED;
}

static bool is_jump(const ZydisDecodedInstruction *instruction)
{
	return instruction->meta.category == ZYDIS_CATEGORY_COND_BR ||
	       instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static bool writes_argument(const ZydisDecodedInstruction *instruction,
			    const ZydisDecodedOperand *operands)
{
	static const ZydisRegister arguments[] = {
		ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
		ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,	ZYDIS_REGISTER_R9,
	};

	for (uint8_t i = 0; i < instruction->operand_count; i++) {
		ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
								       operands[i].reg.value);

		if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		for (size_t a = 0; a < sizeof(arguments) / sizeof(arguments[0]); a++) {
			if (whole == arguments[a])
				return true;
		}
	}
	return false;
}

size_t insn_cheap_start(struct span code)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;
	size_t offset = 0;

	if (!decoder_init(&decoder))
		return 0;
	while (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.start + offset,
						   code.size - offset, &instruction, operands))) {
		if (is_emulated(&instruction) && !is_mistaken_for_branch(&instruction))
			return offset;
		if (is_jump(&instruction) || instruction.meta.category == ZYDIS_CATEGORY_CALL ||
		    instruction.meta.category == ZYDIS_CATEGORY_SYSCALL ||
		    instruction.meta.category == ZYDIS_CATEGORY_RET ||
		    writes_argument(&instruction, operands))
			return 0;
		offset += instruction.length;
	}
	return 0;
}

const uint8_t *insn_find_number(struct span code, uint32_t number)
{
	uint8_t mov[] = { 0xb8, 0, 0, 0, 0 }; /* mov $number, %eax */

	memcpy(mov + 1, &number, sizeof(number));
	return memmem(code.start, code.size, mov, sizeof(mov));
}

/* The number that goes to the kernel in eax, if @instruction puts one there. */
static bool sets_number(const ZydisDecodedInstruction *instruction,
			const ZydisDecodedOperand *operands, uint64_t *number)
{
	if (instruction->mnemonic != ZYDIS_MNEMONIC_MOV ||
	    operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    operands[0].reg.value != ZYDIS_REGISTER_EAX ||
	    operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return false;
	*number = operands[1].imm.value.u;
	return true;
}

/* Conditional jumps are to where arguments are refused: the call is behind them. */
bool insn_makes_system_call(struct span code, uint32_t number)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	uint64_t found = UINT64_MAX;
	ZydisDecoder decoder;
	size_t offset = 0;

	if (!decoder_init(&decoder))
		return false;
	while (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.start + offset,
						   code.size - offset, &instruction, operands))) {
		if (instruction.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
			return found == number;
		if (instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    instruction.meta.category == ZYDIS_CATEGORY_CALL ||
		    instruction.meta.category == ZYDIS_CATEGORY_RET ||
		    writes_argument(&instruction, operands))
			return false;
		sets_number(&instruction, operands, &found);
		offset += instruction.length;
	}
	return false;
}

bool insn_jumps_to_entry(struct span code, int64_t from)
{
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;
	size_t offset = 0;

	if (!decoder_init(&decoder))
		return false;
	while (offset < code.size) {
		struct span rest = { code.start + offset, code.size - offset };

		/* Padding or data between the instructions: step over it. */
		if (!decode(&decoder, rest, &instruction)) {
			offset++;
			continue;
		}
		offset += instruction.length;
		if (is_jump(&instruction) && instruction.raw.imm[0].is_relative &&
		    from + (int64_t)offset + instruction.raw.imm[0].value.s == 0)
			return true;
	}
	return false;
}
