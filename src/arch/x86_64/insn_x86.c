// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86-64 instructions as the kernel's uprobes see them: arch/x86/kernel/uprobes.c,
 * branch_setup_xol_ops() and push_setup_xol_ops(); behaviour measured on 6.1 to 6.18.
 */
#include "arch/x86_64/decoded_x86.h"
#include "code/insn.h"

/*
 * Of an instruction with a VEX prefix the kernel looks at the opcode byte alone, as if it had none:
 * it takes vzeroupper (77) for a conditional jump and vmovdqu stores (7F) too, so that their effect
 * is lost; vcmpps (C2) for a return, so that the thread goes astray; and refuses vmovd (6E). These
 * are of instructions that it steps as they are. test_vex_x86.c tries every one.
 */
static bool is_stepped_with_vex(const ZydisDecodedInstruction *instruction)
{
	static const struct {
		ZydisOpcodeMap map;
		uint8_t first, last;
	} stepped[] = {
		{ ZYDIS_OPCODE_MAP_0F, 0x10, 0x15 },   { ZYDIS_OPCODE_MAP_0F, 0x28, 0x2e },
		{ ZYDIS_OPCODE_MAP_0F, 0x50, 0x5f },   { ZYDIS_OPCODE_MAP_0F, 0x63, 0x65 },
		{ ZYDIS_OPCODE_MAP_0F, 0x68, 0x6b },   { ZYDIS_OPCODE_MAP_0F, 0xc6, 0xc6 },
		{ ZYDIS_OPCODE_MAP_0F, 0xd0, 0xd3 },   { ZYDIS_OPCODE_MAP_0F, 0xd7, 0xdf },
		{ ZYDIS_OPCODE_MAP_0F, 0xe0, 0xe3 },   { ZYDIS_OPCODE_MAP_0F, 0xf2, 0xf3 },
		{ ZYDIS_OPCODE_MAP_0F, 0xf5, 0xf9 },   { ZYDIS_OPCODE_MAP_0F, 0xfc, 0xfe },
		{ ZYDIS_OPCODE_MAP_0F38, 0x00, 0x05 }, { ZYDIS_OPCODE_MAP_0F38, 0x08, 0x0d },
		{ ZYDIS_OPCODE_MAP_0F38, 0x18, 0x1d }, { ZYDIS_OPCODE_MAP_0F38, 0x20, 0x25 },
		{ ZYDIS_OPCODE_MAP_0F38, 0x28, 0x2e }, { ZYDIS_OPCODE_MAP_0F38, 0x30, 0x35 },
		{ ZYDIS_OPCODE_MAP_0F38, 0x38, 0x3d }, { ZYDIS_OPCODE_MAP_0F38, 0x58, 0x5a },
		{ ZYDIS_OPCODE_MAP_0F38, 0x96, 0x99 }, { ZYDIS_OPCODE_MAP_0F38, 0xa6, 0xad },
		{ ZYDIS_OPCODE_MAP_0F38, 0xb6, 0xbf }, { ZYDIS_OPCODE_MAP_0F38, 0xf2, 0xf3 },
		{ ZYDIS_OPCODE_MAP_0F38, 0xf5, 0xf7 }, { ZYDIS_OPCODE_MAP_0F3A, 0x00, 0x05 },
		{ ZYDIS_OPCODE_MAP_0F3A, 0x08, 0x0d }, { ZYDIS_OPCODE_MAP_0F3A, 0x18, 0x19 },
		{ ZYDIS_OPCODE_MAP_0F3A, 0x20, 0x22 }, { ZYDIS_OPCODE_MAP_0F3A, 0x38, 0x39 },
	};

	for (size_t i = 0; i < sizeof(stepped) / sizeof(stepped[0]); i++) {
		if (instruction->opcode_map == stepped[i].map &&
		    instruction->opcode >= stepped[i].first &&
		    instruction->opcode <= stepped[i].last)
			return true;
	}
	return false;
}

/* The prefixes that came after VEX are unknown to some kernels, and to their uprobes. */
static bool is_corrupted(const ZydisDecodedInstruction *instruction)
{
	if (instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
		return !is_stepped_with_vex(instruction);
	return instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
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

	if (prefixed || instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
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
	struct decoded decoded;

	if (!decoded_read(&decoded, code, 0))
		return INSN_UNDECODABLE;
	if (is_corrupted(&decoded.is))
		return INSN_CORRUPTED;
	if (is_refused(&decoded.is))
		return INSN_REFUSED;
	return is_emulated(&decoded.is) ? INSN_EMULATED : INSN_SINGLE_STEPPED;
}

static bool is_jump(const ZydisDecodedInstruction *instruction)
{
	return instruction->meta.category == ZYDIS_CATEGORY_COND_BR ||
	       instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static bool writes_argument(const struct decoded *decoded)
{
	static const ZydisRegister arguments[] = {
		ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
		ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,	ZYDIS_REGISTER_R9,
	};

	for (uint8_t i = 0; i < decoded->is.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operands[i];
		ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
								       operand->reg.value);

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
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
	struct decoded decoded;

	for (size_t at = 0; decoded_read(&decoded, code, at); at += decoded.is.length) {
		if (is_emulated(&decoded.is))
			return at;
		if (is_jump(&decoded.is) || decoded.is.meta.category == ZYDIS_CATEGORY_CALL ||
		    decoded.is.meta.category == ZYDIS_CATEGORY_SYSCALL ||
		    decoded.is.meta.category == ZYDIS_CATEGORY_RET || writes_argument(&decoded))
			return 0;
	}
	return 0;
}

const uint8_t *insn_find_number(struct span code, uint32_t number)
{
	uint8_t mov[] = { 0xb8, 0, 0, 0, 0 }; /* mov $number, %eax */

	memcpy(mov + 1, &number, sizeof(number));
	/* Of no code there may be no address either. */
	return code.size ? memmem(code.start, code.size, mov, sizeof(mov)) : NULL;
}

/* Conditional jumps are to where arguments are refused: the call is behind them. */
bool insn_makes_system_call(struct span code, uint32_t number)
{
	uint64_t found = UINT64_MAX;
	struct decoded decoded;

	for (size_t at = 0; decoded_read(&decoded, code, at); at += decoded.is.length) {
		if (decoded.is.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
			return found == number;
		if (decoded.is.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    decoded.is.meta.category == ZYDIS_CATEGORY_CALL ||
		    decoded.is.meta.category == ZYDIS_CATEGORY_RET || writes_argument(&decoded))
			return false;
		/* The number goes to the kernel in eax. */
		if (decoded.is.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    decoded.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    decoded.operands[0].reg.value == ZYDIS_REGISTER_EAX &&
		    decoded.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			found = decoded.operands[1].imm.value.u;
	}
	return false;
}

bool insn_jumps_to_entry(struct span code, int64_t from)
{
	struct decoded decoded;

	for (size_t at = 0; at < code.size;) {
		/* Padding or data between the instructions: step over it. */
		if (!decoded_read(&decoded, code, at)) {
			at++;
			continue;
		}
		at += decoded.is.length;
		if (is_jump(&decoded.is) && decoded.is.raw.imm[0].is_relative &&
		    from + (int64_t)at + decoded.is.raw.imm[0].value.s == 0)
			return true;
	}
	return false;
}
