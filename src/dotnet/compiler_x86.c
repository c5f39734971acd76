// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compileMethod as x86-64 code. Where its stack pointer is, is found as a compiler would: what is
 * known at each instruction flows to those that may come after it, until nothing changes any more.
 */
#include <Zydis/Zydis.h>

#include "dotnet/compiler_code.h"

enum {
	WORD_BYTES = 8,
	OPCODE_PUSH_RBP = 0x55,
	OPCODE_RET = 0xc3,
	ENDBR64_BYTES = 4,
	DEPTH_MAX = 1 << 20, /* of a frame that makes sense */
	UNKNOWN = INT32_MIN,
};

static const uint8_t prologue[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov  %rsp,%rbp */
	0x41, 0x57,		/* push %r15 */
	0x41, 0x56,		/* push %r14 */
	0x41, 0x54,		/* push %r12 */
	0x53,			/* push %rbx */
	0x48, 0x83, 0xec, 0x50, /* sub  $0x50,%rsp */
	0x4d,			/* mov  ...,... */
};

const struct span compiler_prologue = { prologue, sizeof(prologue) };

/* Decoding ---------------------------------------------------------------------------------- */

struct decoded {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decoder_init(ZydisDecoder *decoder)
{
	return ZYAN_SUCCESS(
		ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

static bool decode(const ZydisDecoder *decoder, struct span code, size_t offset,
		   struct decoded *decoded)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code.start + offset, code.size - offset,
						   &decoded->is, decoded->operands));
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

size_t compiler_references(struct span code, uint64_t address,
			   struct code_reference references[COMPILER_REFERENCES_MAX])
{
	struct decoded decoded;
	ZydisDecoder decoder;
	size_t count = 0, offset = 0;

	if (!decoder_init(&decoder))
		return 0;
	while (offset < code.size && offset < COMPILER_CODE_MAX &&
	       count < COMPILER_REFERENCES_MAX && decode(&decoder, code, offset, &decoded)) {
		const ZydisDecodedOperand *from = &decoded.operands[1];
		bool is_lea = decoded.is.mnemonic == ZYDIS_MNEMONIC_LEA;

		if ((is_lea || decoded.is.mnemonic == ZYDIS_MNEMONIC_MOV) &&
		    is_based_on(from, ZYDIS_REGISTER_RIP)) {
			references[count].is_loaded = !is_lea;
			references[count].address = address + offset + decoded.is.length +
						    (uint64_t)from->mem.disp.value;
			count++;
		}
		offset += decoded.is.length;
	}
	return count;
}

/* What an instruction does ------------------------------------------------------------------ */

enum flow {
	FLOW_NEXT,
	FLOW_CALL, /* which may not come back */
	FLOW_JUMP,
	FLOW_BRANCH, /* or not */
	FLOW_RETURN,
	FLOW_TRAP,
	FLOW_ANYWHERE,
};

enum effect {
	STACK_MOVES,	  /* by .amount, which may be 0; a push is positive */
	STACK_FROM_FRAME, /* rsp = rbp + .amount */
	FRAME_FROM_STACK, /* the other way round */
	STACK_LEAVES,
	STACK_LOST,
};

struct instruction {
	uint8_t length; /* 0: none begins here */
	enum flow flow;
	int32_t target; /* of a jump or call, from the function's start; UNKNOWN if it is none */
	enum effect effect;
	bool frame_lost; /* rbp is written, too */
	int32_t amount;

	/* How far rsp and rbp are below where rsp was at the entry, before the instruction. */
	bool reached;
	int32_t stack;
	int32_t frame;
};

struct function {
	struct span code;
	struct instruction at[COMPILER_CODE_MAX];
	struct code_ends *ends;
};

static enum flow flow_of(const struct decoded *decoded)
{
	bool relative = decoded->is.raw.imm[0].is_relative;

	switch (decoded->is.mnemonic) {
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return FLOW_TRAP;
	default:
		break;
	}
	switch (decoded->is.meta.category) {
	case ZYDIS_CATEGORY_RET:
		/* Neither far, nor from an interrupt, nor taking arguments off the stack. */
		return decoded->is.opcode == OPCODE_RET && decoded->is.length == 1 ? FLOW_RETURN :
										     FLOW_ANYWHERE;
	case ZYDIS_CATEGORY_CALL:
		return decoded->is.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? FLOW_ANYWHERE :
									       FLOW_CALL;
	case ZYDIS_CATEGORY_COND_BR:
		return relative ? FLOW_BRANCH : FLOW_ANYWHERE;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return relative ? FLOW_JUMP : FLOW_ANYWHERE;
	default:
		return FLOW_NEXT;
	}
}

static bool writes(const struct decoded *decoded, ZydisRegister wanted)
{
	for (unsigned int i = 0; i < decoded->is.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     operand->reg.value) == wanted)
			return true;
	}
	return false;
}

static void move_stack(struct instruction *to, int64_t amount)
{
	if (amount > DEPTH_MAX || amount < -DEPTH_MAX)
		return;
	to->effect = STACK_MOVES;
	to->amount = (int32_t)amount;
}

static void copy_pointer(struct instruction *to, enum effect effect, int64_t amount)
{
	if (amount > DEPTH_MAX || amount < -DEPTH_MAX)
		return;
	to->effect = effect;
	to->amount = (int32_t)amount;
	to->frame_lost = to->frame_lost && effect != FRAME_FROM_STACK;
}

/* Of instructions that write rsp or rbp, what those do that compilers use for it. */
static void read_effect(struct instruction *to, const struct decoded *decoded)
{
	const ZydisDecodedOperand *first = &decoded->operands[0], *second = &decoded->operands[1];
	bool is_whole = decoded->is.operand_width == 64;

	switch (decoded->is.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		if (is_whole)
			move_stack(to, WORD_BYTES);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (is_whole && !is_register(first, ZYDIS_REGISTER_RSP))
			move_stack(to, -WORD_BYTES);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (is_register(first, ZYDIS_REGISTER_RSP) &&
		    second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			move_stack(to, decoded->is.mnemonic == ZYDIS_MNEMONIC_SUB ?
					       second->imm.value.s :
					       -second->imm.value.s);
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (is_register(first, ZYDIS_REGISTER_RBP) &&
		    is_register(second, ZYDIS_REGISTER_RSP))
			copy_pointer(to, FRAME_FROM_STACK, 0);
		else if (is_register(first, ZYDIS_REGISTER_RSP) &&
			 is_register(second, ZYDIS_REGISTER_RBP))
			copy_pointer(to, STACK_FROM_FRAME, 0);
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (is_register(first, ZYDIS_REGISTER_RBP) &&
		    is_based_on(second, ZYDIS_REGISTER_RSP))
			copy_pointer(to, FRAME_FROM_STACK, second->mem.disp.value);
		else if (is_register(first, ZYDIS_REGISTER_RSP) &&
			 is_based_on(second, ZYDIS_REGISTER_RBP))
			copy_pointer(to, STACK_FROM_FRAME, second->mem.disp.value);
		else if (is_register(first, ZYDIS_REGISTER_RSP) &&
			 is_based_on(second, ZYDIS_REGISTER_RSP))
			move_stack(to, -second->mem.disp.value);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		if (is_whole)
			to->effect = STACK_LEAVES;
		break;
	default:
		break;
	}
}

static void read_instruction(struct instruction *to, const struct decoded *decoded, size_t offset)
{
	*to = (struct instruction){
		.length = decoded->is.length,
		.flow = flow_of(decoded),
		.target = UNKNOWN,
		.frame_lost = writes(decoded, ZYDIS_REGISTER_RBP),
	};
	if (to->flow == FLOW_NEXT && (to->frame_lost || writes(decoded, ZYDIS_REGISTER_RSP))) {
		bool stack_written = writes(decoded, ZYDIS_REGISTER_RSP);

		to->effect = stack_written ? STACK_LOST : STACK_MOVES;
		read_effect(to, decoded);
	}
	if (decoded->is.raw.imm[0].is_relative) {
		int64_t target =
			(int64_t)(offset + decoded->is.length) + decoded->is.raw.imm[0].value.s;

		/* All that matters of one outside is that it is. */
		to->target = target < 0 || target >= COMPILER_CODE_MAX ? COMPILER_CODE_MAX :
									 (int32_t)target;
	}
}

static const char *read_instructions(struct function *function)
{
	struct decoded decoded;
	ZydisDecoder decoder;
	bool has_exit = false;

	if (!decoder_init(&decoder))
		return "cannot be decoded";
	for (size_t offset = 0; offset < function->code.size; offset += decoded.is.length) {
		struct instruction *is = &function->at[offset];

		if (!decode(&decoder, function->code, offset, &decoded))
			return "has bytes that are no instruction";
		read_instruction(is, &decoded, offset);
		if (is->flow == FLOW_ANYWHERE)
			return "goes to where its code does not say";
		if (is->flow != FLOW_RETURN)
			continue;
		if (has_exit)
			return "has more than one ret";
		has_exit = true;
		function->ends->exit = (uint32_t)offset;
	}
	return has_exit ? NULL : "has no ret";
}

/* A cheap uprobe's instruction; where calls are checked, it may be the second. */
static const char *find_entry(struct function *function)
{
	static const uint8_t endbr64[ENDBR64_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct span code = function->code;
	uint32_t entry = 0;

	if (code.size > sizeof(endbr64) && memcmp(code.start, endbr64, sizeof(endbr64)) == 0)
		entry = sizeof(endbr64);
	if (code.start[entry] != OPCODE_PUSH_RBP)
		return "does not begin with push %rbp";
	function->ends->entry = entry;
	return NULL;
}

/* Jumps and calls that stay in the function go to its instructions, and none back to its entry. */
static const char *check_targets(const struct function *function)
{
	for (size_t offset = 0; offset < function->code.size; offset++) {
		const struct instruction *is = &function->at[offset];
		bool is_call = is->flow == FLOW_CALL;
		size_t target = (size_t)is->target;

		if (!is->length || is->target == UNKNOWN)
			continue;
		if (target >= function->code.size && is_call)
			continue;
		if (target >= function->code.size)
			return "jumps to another function";
		if (!function->at[target].length)
			return "jumps into the middle of an instruction";
		if (is_call && target != 0)
			return "calls a part of itself";
		if (!is_call && target <= function->ends->entry)
			return "jumps back to its entry";
	}
	return NULL;
}

/* The stack ----------------------------------------------------------------------------------- */

static int32_t moved(int32_t depth, int32_t amount)
{
	int64_t sum = (int64_t)depth + amount;

	return depth == UNKNOWN || sum > DEPTH_MAX || sum < -DEPTH_MAX ? UNKNOWN : (int32_t)sum;
}

/* Keep of @known what also holds when control comes with @depth; true if it has changed. */
static bool meet(int32_t *known, int32_t depth)
{
	if (*known == depth || *known == UNKNOWN)
		return false;
	*known = UNKNOWN;
	return true;
}

static bool arrive(struct function *function, size_t target, int32_t stack, int32_t frame)
{
	struct instruction *to;
	bool changed;

	if (target >= function->code.size)
		return false;
	to = &function->at[target];
	if (!to->reached) {
		to->reached = true;
		to->stack = stack;
		to->frame = frame;
		return true;
	}
	changed = meet(&to->stack, stack);
	return meet(&to->frame, frame) || changed;
}

/* Carry on what is known at an instruction; true if that has changed anything. */
static bool step(struct function *function, size_t offset)
{
	const struct instruction *is = &function->at[offset];
	int32_t stack = is->stack, frame = is->frame;
	bool changed = false;

	switch (is->effect) {
	case STACK_MOVES:
		stack = moved(stack, is->amount);
		break;
	case STACK_FROM_FRAME:
		stack = moved(frame, -is->amount);
		break;
	case FRAME_FROM_STACK:
		frame = moved(stack, -is->amount);
		break;
	case STACK_LEAVES:
		stack = moved(frame, -WORD_BYTES);
		break;
	case STACK_LOST:
		stack = UNKNOWN;
		break;
	}
	if (is->frame_lost)
		frame = UNKNOWN;
	if (is->flow == FLOW_JUMP || is->flow == FLOW_BRANCH)
		changed = arrive(function, (size_t)is->target, stack, frame);
	if (is->flow == FLOW_NEXT || is->flow == FLOW_CALL || is->flow == FLOW_BRANCH)
		changed = arrive(function, offset + is->length, stack, frame) || changed;
	return changed;
}

/* What is known can only become less, twice at each instruction: so this ends. */
static void follow_stack(struct function *function)
{
	bool changed = arrive(function, 0, 0, UNKNOWN);

	while (changed) {
		changed = false;
		for (size_t offset = 0; offset < function->code.size; offset++) {
			if (function->at[offset].reached && step(function, offset))
				changed = true;
		}
	}
}

static const char *check_stack(struct function *function)
{
	const struct instruction *exit = &function->at[function->ends->exit];
	const struct instruction *last = NULL;

	follow_stack(function);
	for (size_t offset = 0; offset < function->code.size; offset++) {
		if (function->at[offset].length)
			last = &function->at[offset];
	}
	/* Calls of what does not come back stand at the end. */
	if (last && last->reached && (last->flow == FLOW_NEXT || last->flow == FLOW_BRANCH))
		return "goes on in the next function";
	if (!exit->reached)
		return "has a ret that it does not reach";
	if (exit->stack == UNKNOWN)
		return "has a ret at which its stack pointer is not known";
	if (exit->stack != 0)
		return "has a ret at which its stack pointer is not what it was at the entry";
	return NULL;
}

const char *compiler_check(struct span code, struct code_ends *ends)
{
	struct function function = { .code = code, .ends = ends };
	const char *problem;

	*ends = (struct code_ends){ 0 };
	if (code.size == 0 || code.size > COMPILER_CODE_MAX)
		return "is of another size than it should be";
	problem = find_entry(&function);
	if (!problem)
		problem = read_instructions(&function);
	if (!problem)
		problem = check_targets(&function);
	return problem ? problem : check_stack(&function);
}
