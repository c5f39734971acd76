// SPDX-License-Identifier: GPL-2.0-or-later
/* One instruction on the way through a body, for exits_x86.c and exits_flow_x86.c. */
#include "arch/x86_64/decoded_x86.h"
#include "arch/x86_64/exits_x86.h"

enum {
	JCC_NEAR = 7, /* opcodes 70 to 7f, and 0f 80 to 0f 8f */
	JCC_0F = 8,
	CALLER_SAVED = 0x0fc7, /* rax, rcx, rdx, rsi, rdi, r8 to r11: System V ABI, AMD64, 3.2.1 */
	CONDITION_BITS = 15,
	BOUND_MAX = 1 << 16,
};

static uint8_t number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	ZyanI8 id = ZydisRegisterGetId(whole);

	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 && id >= 0 && id < GPRS ?
		       (uint8_t)id :
		       GPR_NONE;
}

static uint16_t bit_of(ZydisRegister reg)
{
	return (uint16_t)(1u << number_of(reg)); /* of GPR_NONE: none */
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == wanted;
}

/* Is @operand BASE+displacement and no more? */
static bool is_based_on(const ZydisDecodedOperand *operand, ZydisRegister base)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base == base &&
	       operand->mem.index == ZYDIS_REGISTER_NONE;
}

static bool is_relative(const ZydisDecodedInstruction *is)
{
	return is->raw.imm[0].is_relative;
}

static enum insn_flow flow_of(const struct decoded *decoded)
{
	const ZydisDecodedInstruction *is = &decoded->is;

	switch (is->mnemonic) {
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return INSN_TRAP;
	case ZYDIS_MNEMONIC_RET:
		return is->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? INSN_FAR : INSN_RETURN;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return INSN_FAR;
	case ZYDIS_MNEMONIC_JMP:
		if (is->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return INSN_FAR;
		if (is_relative(is))
			return INSN_JUMP;
		return decoded->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY ? INSN_JUMP_MEMORY :
										INSN_JUMP_REGISTER;
	case ZYDIS_MNEMONIC_XBEGIN:
		return INSN_BRANCH;
	default:
		break;
	}
	switch (is->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return is->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? INSN_FAR : INSN_CALL;
	case ZYDIS_CATEGORY_COND_BR:
		return is_relative(is) ? INSN_BRANCH : INSN_FAR;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
		return INSN_FAR;
	default:
		return INSN_NEXT;
	}
}

/* The stack ----------------------------------------------------------------------------- */

static void set_stack(struct insn *to, enum insn_stack how, int64_t amount)
{
	if (amount > STACK_DEPTH_MAX || amount < -STACK_DEPTH_MAX)
		return;
	to->stack = (uint8_t)how;
	to->amount = (int32_t)amount;
	/* One pointer is copied to the other. */
	if (how != INSN_STACK_MOVES)
		to->loses_frame = false;
}

static void read_lea_or_mov(struct insn *to, const struct decoded *decoded)
{
	const ZydisDecodedOperand *first = &decoded->operands[0], *second = &decoded->operands[1];
	bool is_lea = decoded->is.mnemonic == ZYDIS_MNEMONIC_LEA;
	int64_t amount = is_lea ? second->mem.disp.value : 0;
	bool from_rsp = is_lea ? is_based_on(second, ZYDIS_REGISTER_RSP) :
				 is_register(second, ZYDIS_REGISTER_RSP);
	bool from_rbp = is_lea ? is_based_on(second, ZYDIS_REGISTER_RBP) :
				 is_register(second, ZYDIS_REGISTER_RBP);

	if (is_register(first, ZYDIS_REGISTER_RBP) && from_rsp)
		set_stack(to, INSN_FRAME_FROM_STACK, amount);
	else if (is_register(first, ZYDIS_REGISTER_RSP) && from_rbp)
		set_stack(to, INSN_STACK_FROM_FRAME, amount);
	else if (is_register(first, ZYDIS_REGISTER_RSP) && from_rsp)
		set_stack(to, INSN_STACK_MOVES, -amount);
}

/* Of what writes rsp or rbp: what compilers use for it. All else loses the stack pointer. */
static void read_stack(struct insn *to, const struct decoded *decoded)
{
	const ZydisDecodedOperand *first = &decoded->operands[0], *second = &decoded->operands[1];
	bool is_whole = decoded->is.operand_width == 64;

	switch (decoded->is.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		if (is_whole)
			set_stack(to, INSN_STACK_MOVES, STACK_WORD);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (is_whole && !is_register(first, ZYDIS_REGISTER_RSP))
			set_stack(to, INSN_STACK_MOVES, -STACK_WORD);
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		set_stack(to, INSN_STACK_MOVES, -STACK_WORD);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (is_register(first, ZYDIS_REGISTER_RSP) &&
		    second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			set_stack(to, INSN_STACK_MOVES,
				  decoded->is.mnemonic == ZYDIS_MNEMONIC_SUB ?
					  second->imm.value.s :
					  -second->imm.value.s);
		break;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_LEA:
		read_lea_or_mov(to, decoded);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		if (is_whole)
			to->stack = INSN_STACK_LEAVES;
		break;
	default:
		break;
	}
}

/* Values -------------------------------------------------------------------------------- */

/* Entries of tables are so large. */
static bool is_entry_size(uint64_t scale)
{
	return scale == sizeof(uint32_t) || scale == sizeof(uint64_t);
}

static bool is_scaled(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operand->mem.index != ZYDIS_REGISTER_NONE && is_entry_size(operand->mem.scale);
}

static uint8_t condition_of(const ZydisDecodedInstruction *is)
{
	bool is_near = is->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && is->opcode >> 4 == JCC_NEAR;
	bool is_far = is->opcode_map == ZYDIS_OPCODE_MAP_0F && is->opcode >> 4 == JCC_0F;

	return is_near || is_far ? is->opcode & CONDITION_BITS : EXIT_BY_COUNTER;
}

static void note_registers(struct insn *to, const struct decoded *decoded)
{
	for (unsigned int i = 0; i < decoded->is.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			to->reads |= bit_of(operand->mem.base) | bit_of(operand->mem.index);
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			to->reads |= bit_of(operand->reg.value);
		if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			to->writes |= bit_of(operand->reg.value);
	}
}

/* What it computes is an address that the instruction alone tells: lea RIP+n, or mov NUMBER. */
static bool note_place(struct insn *to, const struct decoded *decoded, uint64_t address)
{
	const ZydisDecodedOperand *first = &decoded->operands[0], *second = &decoded->operands[1];

	if (first->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	if (decoded->is.mnemonic == ZYDIS_MNEMONIC_LEA && is_based_on(second, ZYDIS_REGISTER_RIP))
		to->target = address + to->length + (uint64_t)second->mem.disp.value;
	else if (decoded->is.mnemonic == ZYDIS_MNEMONIC_MOV &&
		 second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && decoded->is.operand_width >= 32)
		to->target = second->imm.value.u;
	else
		return false;
	to->lea = number_of(first->reg.value);
	return true;
}

static enum insn_value value_of(const struct decoded *decoded)
{
	const ZydisDecodedOperand *second = &decoded->operands[1], *source = NULL;

	for (unsigned int i = 0; i < decoded->is.operand_count; i++) {
		if (decoded->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			source = &decoded->operands[i];
	}
	switch (decoded->is.mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		/* (r,r,4) is r times five. */
		return source && is_scaled(source) && source->mem.index != source->mem.base ?
			       INSN_SCALES :
			       INSN_DERIVES;
	case ZYDIS_MNEMONIC_SHL:
		return second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				       second->imm.value.u < CHAR_BIT &&
				       is_entry_size(1u << second->imm.value.u) ?
			       INSN_SCALES :
			       INSN_DERIVES;
	case ZYDIS_MNEMONIC_XOR:
		return decoded->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				       is_register(second, decoded->operands[0].reg.value) ?
			       INSN_CLEAN :
			       INSN_DERIVES;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_POP:
		if (source)
			return is_scaled(source) ? INSN_TABLED : INSN_LOADS;
		return INSN_DERIVES;
	default:
		return source && is_scaled(source) ? INSN_TABLED : INSN_DERIVES;
	}
}

static void read_values(struct insn *to, const struct decoded *decoded, uint64_t address)
{
	note_registers(to, decoded);
	to->value = (uint8_t)value_of(decoded);
	to->scaled_jump = to->flow == INSN_JUMP_MEMORY && is_scaled(&decoded->operands[0]);
	if (to->flow == INSN_JUMP_REGISTER)
		to->jump = number_of(decoded->operands[0].reg.value);
	if (to->flow == INSN_CALL) {
		to->writes = CALLER_SAVED;
		to->value = INSN_CLEAN;
	} else if (to->flow == INSN_NEXT && note_place(to, decoded, address)) {
		to->value = INSN_CLEAN; /* unless that is in this body, which the body knows */
	}
}

bool exit_insn_read(struct insn *insn, struct span code, uint64_t address)
{
	struct decoded decoded;

	if (!decoded_read(&decoded, code, 0))
		return false;
	*insn = (struct insn){
		.length = decoded.is.length,
		.flow = (uint8_t)flow_of(&decoded),
		.lea = GPR_NONE,
		.jump = GPR_NONE,
		.condition = condition_of(&decoded.is),
	};
	read_values(insn, &decoded, address);
	insn->is_relative = is_relative(&decoded.is);
	if (insn->is_relative)
		insn->target = address + insn->length + decoded.is.raw.imm[0].value.u;
	if (insn->flow == INSN_CALL)
		return true; /* what it pushes, the return takes off again */
	insn->loses_frame = insn->writes & 1u << GPR_RBP;
	if (insn->writes & 1u << GPR_RSP)
		insn->stack = INSN_STACK_LOST;
	if (insn->flow == INSN_NEXT && insn->writes & (1u << GPR_RSP | 1u << GPR_RBP))
		read_stack(insn, &decoded);
	return true;
}

bool exit_insn_memory(struct span code, struct insn_memory *memory)
{
	const ZydisDecodedOperand *operand = NULL;
	struct decoded decoded;

	if (!decoded_read(&decoded, code, 0))
		return false;
	for (unsigned int i = 0; i < decoded.is.operand_count_visible; i++) {
		if (decoded.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			operand = &decoded.operands[i];
	}
	/* What fs and gs add is known to nobody here. */
	if (!operand || operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	*memory = (struct insn_memory){
		.displacement = operand->mem.disp.value,
		.base = number_of(operand->mem.base),
		.index = number_of(operand->mem.index),
		.scale = operand->mem.scale,
	};
	return true;
}

bool exit_insn_is_add(struct span code, uint8_t *to, uint8_t *from)
{
	struct decoded decoded;

	if (!decoded_read(&decoded, code, 0) || decoded.is.mnemonic != ZYDIS_MNEMONIC_ADD ||
	    decoded.is.operand_width != 64 ||
	    decoded.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    decoded.operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	*to = number_of(decoded.operands[0].reg.value);
	*from = number_of(decoded.operands[1].reg.value);
	return true;
}

bool exit_insn_is_load(struct span code, unsigned int *bytes, bool *is_signed)
{
	struct decoded decoded;

	if (!decoded_read(&decoded, code, 0) ||
	    (decoded.is.mnemonic != ZYDIS_MNEMONIC_MOV &&
	     decoded.is.mnemonic != ZYDIS_MNEMONIC_MOVSXD) ||
	    decoded.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    decoded.operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	*bytes = decoded.operands[1].size / CHAR_BIT;
	*is_signed = decoded.is.mnemonic == ZYDIS_MNEMONIC_MOVSXD;
	return *bytes == sizeof(uint32_t) || *bytes == sizeof(uint64_t);
}

enum insn_bound exit_insn_bound(struct span code, uint8_t *reg, uint64_t *bound)
{
	const ZydisDecodedOperand *first, *second;
	struct decoded decoded;

	if (!decoded_read(&decoded, code, 0) ||
	    decoded.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return BOUND_NONE;
	first = &decoded.operands[0];
	second = &decoded.operands[1];
	switch (decoded.is.mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
		if (number_of(first->reg.value) != *reg ||
		    second->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return BOUND_NONE;
		*bound = second->imm.value.u;
		return *bound <= BOUND_MAX ? BOUND_FOUND : BOUND_NONE;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSXD:
		if (number_of(first->reg.value) != *reg ||
		    second->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return BOUND_NONE;
		*reg = number_of(second->reg.value);
		return BOUND_ELSEWHERE;
	default:
		return BOUND_NONE;
	}
}
