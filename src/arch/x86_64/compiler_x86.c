// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET's runtime as x86-64 code: what compileMethod refers to, how it begins and how it ends; its
 * collector, and the code before methods.
 */
#include "arch/x86_64/decoded_x86.h"
#include "code/exits.h"
#include "code/compiler_code.h"

enum {
	OPCODE_PUSH_RBP = 0x55,
	RET_BYTES = 1, /* not `ret $8`, nor one with prefixes */
	ENDBR64_BYTES = 4,
};

static const uint8_t of_8_to_10[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov  %rsp,%rbp */
	0x41, 0x57,		/* push %r15 */
	0x41, 0x56,		/* push %r14 */
	0x41, 0x54,		/* push %r12 */
	0x53,			/* push %rbx */
	0x48, 0x83, 0xec, 0x50, /* sub  $0x50,%rsp */
	0x4d,			/* mov  ...,... */
};

static const uint8_t of_11[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov  %rsp,%rbp */
	0x41, 0x57,		/* push %r15 */
	0x41, 0x56,		/* push %r14 */
	0x41, 0x55,		/* push %r13 */
	0x41, 0x54,		/* push %r12 */
	0x53,			/* push %rbx */
	0x48, 0x83, 0xec, 0x58, /* sub  $0x58,%rsp */
	0x4d, 0x89, 0xce,	/* mov  %r9,%r14 */
	0x4c, 0x89, 0x45, 0x80, /* mov  %r8,-0x80(%rbp) */
	0x49, 0x89, 0xd7,	/* mov  %rdx,%r15 */
};

const struct span compiler_prologues[COMPILER_PROLOGUES] = {
	{ of_8_to_10, sizeof(of_8_to_10) },
	{ of_11, sizeof(of_11) },
};

/* What it refers to ------------------------------------------------------------------------- */

size_t compiler_references(struct span code, uint64_t address,
			   struct code_reference references[COMPILER_REFERENCES_MAX])
{
	size_t count = 0, offset = 0;
	struct decoded decoded;

	while (offset < COMPILER_CODE_MAX && count < COMPILER_REFERENCES_MAX &&
	       decoded_read(&decoded, code, offset)) {
		const ZydisDecodedOperand *from = &decoded.operands[1];
		bool is_lea = decoded.is.mnemonic == ZYDIS_MNEMONIC_LEA;

		offset += decoded.is.length;
		if ((is_lea || decoded.is.mnemonic == ZYDIS_MNEMONIC_MOV) &&
		    from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    from->mem.base == ZYDIS_REGISTER_RIP) {
			references[count].is_loaded = !is_lea;
			references[count].address =
				address + offset + (uint64_t)from->mem.disp.value;
			count++;
		}
	}
	return count;
}

/* Where it begins and ends ------------------------------------------------------------------ */

/* A cheap uprobe's instruction; where calls are checked, it may be the second. */
static const char *find_entry(struct span code, uint32_t *entry)
{
	static const uint8_t endbr64[ENDBR64_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };

	*entry = 0;
	if (code.size > sizeof(endbr64) && memcmp(code.start, endbr64, sizeof(endbr64)) == 0)
		*entry = sizeof(endbr64);
	if (code.start[*entry] != OPCODE_PUSH_RBP)
		return "it does not begin with push %rbp";
	if (insn_jumps_to_entry(code, 0) || insn_jumps_to_entry(code, -(int64_t)*entry))
		return "it jumps back to its entry";
	return NULL;
}

static const char *check_exits(const struct exits *exits, uint32_t *exit)
{
	const struct exit_site *site = exits->sites;

	if (exits->refusal)
		return exits_refusal_text(exits->refusal);
	if (exits->count == 0)
		return "it has no ret";
	for (size_t i = 0; i < exits->count; i++) {
		if (site[i].kind == EXIT_JUMP || site[i].kind == EXIT_BRANCH)
			return "it jumps to another function";
		if (site[i].kind != EXIT_RETURN || site[i].length != RET_BYTES)
			return "it goes to where its code does not say";
	}
	if (exits->count > 1)
		return "it has more than one ret";
	/* It would do for timing; but here the stack is the proof that all was understood. */
	if (site->depth == EXIT_DEPTH_UNKNOWN)
		return "it has a ret at which its stack pointer is not known";
	*exit = site->offset;
	return NULL;
}

const char *compiler_check(struct span code, struct code_ends *ends)
{
	const struct exit_part part = { .code = code };
	const struct exit_body body = { .parts = &part, .part_count = 1 };
	struct exits exits = { 0 };
	const char *problem;

	*ends = (struct code_ends){ 0 };
	if (code.size == 0 || code.size > COMPILER_CODE_MAX)
		return "it is of another size than it should be";
	problem = find_entry(code, &ends->entry);
	if (problem)
		return problem;
	problem = exits_find(&exits, &body, NULL) ? "there is no memory to decode it" :
						    check_exits(&exits, &ends->exit);
	exits_deinit(&exits);
	return problem;
}

/* The collector ----------------------------------------------------------------------------- */

enum { DISPLACEMENT = 4 };

/* GCHeap::SetGCInProgress() of .NET 8 to 11, as clang makes it. */
struct form {
	uint8_t head_bytes, tail_bytes;
	uint8_t head[7], tail[4]; /* with the displacement of GcInProgress in between */
};

static const struct form forms[] = {
	/* push %rbp; mov %rsp,%rbp; lea GcInProgress(%rip),%rax; mov %esi,(%rax); pop %rbp; ret */
	{ 7, 4, { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05 }, { 0x89, 0x30, 0x5d, 0xc3 } },
	/* .NET 11: push %rbp; mov %rsp,%rbp; mov %esi,GcInProgress(%rip); pop %rbp; ret */
	{ 6, 2, { 0x55, 0x48, 0x89, 0xe5, 0x89, 0x35 }, { 0x5d, 0xc3 } },
};

static bool is_form(const struct form *form, const uint8_t *code, size_t size)
{
	size_t tail = form->head_bytes + DISPLACEMENT;

	return size >= tail + form->tail_bytes && memcmp(code, form->head, form->head_bytes) == 0 &&
	       memcmp(code + tail, form->tail, form->tail_bytes) == 0;
}

bool collector_code_stores(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (is_form(&forms[i], code, size))
			return true;
	}
	return false;
}

/* Precode, in .NET 8 to 11 ------------------------------------------------------------------ */

/* jmp *target(%rip); mov method(%rip),%r10; jmp *thunk(%rip) */
static const struct {
	uint8_t at;
	uint8_t size;
	uint8_t bytes[3];
} parts[] = {
	{ 0, 2, { 0xff, 0x25 } },
	{ 6, 3, { 0x4c, 0x8b, 0x15 } },
	{ 13, 2, { 0xff, 0x25 } },
};

enum { METHOD_AT = 9, METHOD_END = 13 };

bool precode_method_slot(struct span code, uint64_t address, uint64_t *slot)
{
	int32_t distance;

	if (code.size < PRECODE_BYTES)
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (memcmp(code.start + parts[i].at, parts[i].bytes, parts[i].size) != 0)
			return false;
	}
	memcpy(&distance, code.start + METHOD_AT, sizeof(distance));
	*slot = address + METHOD_END + (uint64_t)(int64_t)distance;
	return true;
}
