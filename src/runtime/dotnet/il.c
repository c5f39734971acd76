// SPDX-License-Identifier: GPL-2.0-or-later
/* What of a method's IL decides how it is compiled, for versions.c. */
#include "runtime/dotnet/il.h"

#include "runtime/dotnet/images.h"

enum {
	FORMAT_MASK = 3,
	FORMAT_TINY = 2,
	FORMAT_FAT = 3,
	TINY_SIZE_SHIFT = 2,
	FAT_SKIPPED = 3, /* the rest of its flags, and the depth of the stack */

	/* Beyond any of these the JIT does not optimise. */
	LIMIT_BYTES = 60000,
	LIMIT_INSTRUCTIONS = 20000,
	LIMIT_BLOCKS = 2000,
	LIMIT_LOCALS = 2000,
	LIMIT_LOCAL_REFERENCES = 8000,
	/* What it counts beside what is counted here: arguments, temporaries, parts of try. */
	MARGIN = 200,

	/* With less than this no limit can be reached. */
	SURELY_SMALL_BYTES = LIMIT_BLOCKS,
	/* Code that is not optimised is no smaller than its IL. */
	SURELY_SMALL_NATIVE_BYTES = 4000,

	LOCALS_SIGNATURE = 0x07,

	OP_PREFIX = 0xfe,
};

/* How the operand of an instruction is encoded, and what it does to the counts. */
enum operand {
	NONE,
	BYTE,
	WORD4,
	WORD8,
	SWITCH,
	BRANCH1, /* a jump, one byte */
	BRANCH4,
	LEAVES, /* no operand, and what follows begins a block: ret, throw */
	LOCAL0, /* names a local or an argument: ldloc.0 */
	LOCAL1,
	LOCAL2,
	NO_OPERATION, /* no such instruction */
};

/* A range of opcodes, by its last. */
struct range {
	uint8_t last;
	uint8_t operand;
};

/* One-byte opcodes: ECMA-335 III.1.2.1 table 2. */
static const struct range one_byte[] = {
	{ 0x01, NONE },		{ 0x0d, LOCAL0 },	{ 0x13, LOCAL1 },
	{ 0x1e, NONE },		{ 0x1f, BYTE },		{ 0x20, WORD4 },
	{ 0x21, WORD8 },	{ 0x22, WORD4 },	{ 0x23, WORD8 },
	{ 0x24, NO_OPERATION }, { 0x26, NONE },		{ 0x29, WORD4 },
	{ 0x2a, LEAVES },	{ 0x37, BRANCH1 },	{ 0x44, BRANCH4 },
	{ 0x45, SWITCH },	{ 0x6e, NONE },		{ 0x75, WORD4 },
	{ 0x76, NONE },		{ 0x78, NO_OPERATION }, { 0x79, WORD4 },
	{ 0x7a, LEAVES },	{ 0x81, WORD4 },	{ 0x8b, NONE },
	{ 0x8d, WORD4 },	{ 0x8e, NONE },		{ 0x8f, WORD4 },
	{ 0xa2, NONE },		{ 0xa5, WORD4 },	{ 0xb2, NO_OPERATION },
	{ 0xba, NONE },		{ 0xc1, NO_OPERATION }, { 0xc2, WORD4 },
	{ 0xc3, NONE },		{ 0xc5, NO_OPERATION }, { 0xc6, WORD4 },
	{ 0xcf, NO_OPERATION }, { 0xd0, WORD4 },	{ 0xdb, NONE },
	{ 0xdc, LEAVES },	{ 0xdd, BRANCH4 },	{ 0xde, BRANCH1 },
	{ 0xe0, NONE },		{ 0xff, NO_OPERATION },
};

/* Those behind 0xfe. */
static const struct range two_bytes[] = {
	{ 0x05, NONE },		{ 0x07, WORD4 },	{ 0x08, NO_OPERATION }, { 0x0e, LOCAL2 },
	{ 0x0f, NONE },		{ 0x10, NO_OPERATION }, { 0x11, LEAVES },	{ 0x12, BYTE },
	{ 0x14, NONE },		{ 0x16, WORD4 },	{ 0x18, NONE },		{ 0x19, BYTE },
	{ 0x1a, LEAVES },	{ 0x1b, NO_OPERATION }, { 0x1c, WORD4 },	{ 0x1e, NONE },
	{ 0xff, NO_OPERATION },
};

struct counts {
	uint32_t instructions;
	uint32_t blocks; /* at most */
	uint32_t local_references;
};

static enum operand next_operand(struct cursor *c)
{
	const struct range *range = one_byte;
	uint8_t opcode = cursor_u8(c);

	if (opcode == OP_PREFIX) {
		opcode = cursor_u8(c);
		range = two_bytes;
	}
	while (range->last < opcode)
		range++;
	return (enum operand)range->operand;
}

static bool skip_operand(struct cursor *c, enum operand operand, struct counts *counts)
{
	static const struct {
		uint8_t bytes;
		uint8_t blocks; /* where a jump goes, and what follows it */
		uint8_t local_references;
	} effects[] = {
		[NONE] = { 0, 0, 0 },	[BYTE] = { 1, 0, 0 },	 [WORD4] = { 4, 0, 0 },
		[WORD8] = { 8, 0, 0 },	[BRANCH1] = { 1, 2, 0 }, [BRANCH4] = { 4, 2, 0 },
		[LEAVES] = { 0, 1, 0 }, [LOCAL0] = { 0, 0, 1 },	 [LOCAL1] = { 1, 0, 1 },
		[LOCAL2] = { 2, 0, 1 },
	};
	uint32_t targets;

	if (operand == NO_OPERATION)
		return false;
	if (operand == SWITCH) {
		targets = cursor_u32(c);
		counts->blocks += targets < LIMIT_BLOCKS ? targets + 1 : LIMIT_BLOCKS;
		if (targets > cursor_left(c) / 4)
			return false;
		cursor_skip(c, (size_t)targets * 4);
		return cursor_ok(c);
	}
	counts->blocks += effects[operand].blocks;
	counts->local_references += effects[operand].local_references;
	if (effects[operand].bytes == 0)
		return true;
	cursor_skip(c, effects[operand].bytes);
	return cursor_ok(c);
}

enum il_size_class il_code_size_class(struct span code, uint32_t locals)
{
	struct counts counts = { 0 };
	struct cursor c = cursor_over(code);

	if (code.size > LIMIT_BYTES || locals > LIMIT_LOCALS)
		return IL_HUGE;
	if (code.size < SURELY_SMALL_BYTES && locals + MARGIN < LIMIT_LOCALS)
		return IL_SMALL;
	while (cursor_left(&c)) {
		if (!skip_operand(&c, next_operand(&c), &counts))
			return IL_NOT_SURE;
		counts.instructions++;
	}
	if (counts.instructions > LIMIT_INSTRUCTIONS ||
	    counts.local_references > LIMIT_LOCAL_REFERENCES)
		return IL_HUGE;
	return counts.blocks + MARGIN < LIMIT_BLOCKS && locals + MARGIN < LIMIT_LOCALS &&
			       counts.instructions + MARGIN < LIMIT_INSTRUCTIONS &&
			       counts.local_references + MARGIN < LIMIT_LOCAL_REFERENCES ?
		       IL_SMALL :
		       IL_NOT_SURE;
}

/* How many locals the signature of token @signature lists. */
static uint32_t count_locals(const struct metadata *metadata, uint32_t signature)
{
	struct cursor c = cursor_over(metadata_stand_alone_signature(metadata, signature));

	return cursor_u8(&c) == LOCALS_SIGNATURE ? metadata_compressed(&c) : 0;
}

/* The method's IL and the token of its locals; false if it cannot be read. */
static bool read_body(const struct pe *pe, struct rva rva, struct span *code, uint32_t *locals)
{
	struct cursor c = pe_cursor(pe, rva);
	uint8_t first = cursor_u8(&c);
	uint32_t size;

	*locals = 0;
	if ((first & FORMAT_MASK) == FORMAT_TINY) {
		size = first >> TINY_SIZE_SHIFT;
	} else if ((first & FORMAT_MASK) == FORMAT_FAT) {
		cursor_skip(&c, FAT_SKIPPED);
		size = cursor_u32(&c);
		*locals = cursor_u32(&c);
	} else {
		return false;
	}
	*code = cursor_take(&c, size);
	return cursor_ok(&c);
}

enum il_size_class il_size_class(const struct dotnet_image *image, uint32_t method_rid,
				 uint32_t native_bytes)
{
	struct span code;
	uint32_t locals;
	struct rva rva;

	if (native_bytes < SURELY_SMALL_NATIVE_BYTES)
		return IL_SMALL;
	if (!image || !image->metadata)
		return IL_NOT_SURE;
	rva = metadata_method_il(image->metadata, method_rid);
	/* Without IL of its own, it is given small IL by the runtime. */
	if (rva.value == 0)
		return IL_SMALL;
	if (!read_body(&image->pe, rva, &code, &locals))
		return IL_NOT_SURE;
	return il_code_size_class(code, locals ? count_locals(image->metadata, locals) : 0);
}
