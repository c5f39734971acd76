// SPDX-License-Identifier: GPL-2.0-or-later
/* code/unwind_info.h for x86-64: rows for the ranges of precompiled code. */
#include "code/unwind_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/error.h"
#include "bpf/arch/x86_64/unwind_codes_x86.h"
#include "image/pe.h"
#include "image/unwind_rows.h"

enum {
	VERSION = 1,
	VERSION_BITS = 3,
	FLAG_HANDLERS = 3, /* of exceptions, and of unwinding */
	FLAG_CHAINED = 4,
	CHAIN_MAX = 8, /* the runtime writes one */

	HEADER_BYTES = 4,
	SLOTS_AT = 2, /* how many there are */
	SLOT_BYTES = 2,
	HANDLER_BYTES = 4,

	CODES_MAX = UINT8_MAX,
	RUNTIME_FUNCTION_BYTES = 12,

	/* The 50,000 functions of .NET's largest image have 285 different prologues. */
	KNOWN_PROLOGUES = 512,
	KNOWN_BYTES = 30,
	KNOWN_ROWS = 12,
};

/* Where a function may end, so that no step of its prologue is beyond the last address. */
#define END_MAX (UINT32_MAX - UINT8_MAX)

/* One step of a prologue. */
struct code {
	uint8_t end; /* of its instruction, from the function's begin */
	uint8_t op;
	uint8_t info;
	uint32_t operand;
};

struct info {
	struct code codes[CODES_MAX]; /* the last step first */
	unsigned int count;
	uint8_t frame_register; /* 0: none */
	uint8_t frame_offset;
	bool chained;
	struct cursor rest; /* what comes after the codes */
};

/* Where things are at one address. */
struct state {
	uint32_t depth; /* from rsp to the CFA, in bytes */
	int8_t rbp;	/* where the caller's is, as a struct unwind_frame has it */
	int8_t rbx;
	bool framed; /* rbp is this frame's pointer */
	int64_t frame_to_cfa;
};

static const struct unwind_frame unknown = { .rule = UNWIND_UNKNOWN };
static const struct unwind_frame unsupported = { .rule = UNWIND_UNSUPPORTED };

static bool read_code(struct cursor *c, struct code *code)
{
	uint8_t both;

	*code = (struct code){ .end = cursor_u8(c) };
	both = cursor_u8(c);
	code->op = both & 0x0f;
	code->info = both >> 4;
	switch (code->op) {
	case UNWIND_CODE_PUSH:
	case UNWIND_CODE_SET_FRAME:
		break;
	case UNWIND_CODE_ALLOC_SMALL:
		code->operand = code->info * UNWIND_UNIT + UNWIND_UNIT;
		break;
	case UNWIND_CODE_ALLOC_LARGE:
		code->operand = code->info ? cursor_u32(c) : cursor_u16(c) * (uint32_t)UNWIND_UNIT;
		break;
	case UNWIND_CODE_SAVE:
		code->operand = cursor_u16(c) * (uint32_t)UNWIND_UNIT;
		break;
	case UNWIND_CODE_SAVE_XMM:
		cursor_skip(c, SLOT_BYTES);
		break;
	case UNWIND_CODE_SAVE_FAR:
	case UNWIND_CODE_SET_FRAME_LARGE:
		code->operand = cursor_u32(c);
		break;
	case UNWIND_CODE_SAVE_XMM_FAR:
		cursor_skip(c, 2 * SLOT_BYTES);
		break;
	default:
		return false;
	}
	return cursor_ok(c);
}

static bool read_info(struct span bytes, struct info *info)
{
	struct cursor c = cursor_over(bytes), codes;
	uint8_t first = cursor_u8(&c), slots, frame;

	cursor_skip(&c, 1); /* size of the prologue: that of its last code */
	slots = cursor_u8(&c);
	frame = cursor_u8(&c);
	codes = cursor_over(cursor_take(&c, (size_t)slots * SLOT_BYTES));
	/* The codes are padded to whole 32-bit words. */
	cursor_skip(&c, slots % 2 * SLOT_BYTES);
	info->count = 0;
	info->frame_register = frame & 0x0f;
	info->frame_offset = frame >> 4;
	info->chained = first >> VERSION_BITS & FLAG_CHAINED;
	info->rest = c;
	if ((first & ((1 << VERSION_BITS) - 1)) != VERSION || !cursor_ok(&codes))
		return false;
	while (cursor_left(&codes)) {
		if (!read_code(&codes, &info->codes[info->count++]))
			return false;
	}
	/* At the end of the bytes there need be no padding. */
	return cursor_ok(&c) || !info->chained;
}

static struct unwind_frame frame_of(const struct state *state)
{
	int64_t offset = state->framed ? state->frame_to_cfa : state->depth;

	if (!unwind_offset_fits(offset))
		return unsupported;
	return (struct unwind_frame){
		.rule = UNWIND_REGISTER,
		.base = state->framed ? UNWIND_FP : UNWIND_SP,
		.return_address = arch.return_address,
		.frame_pointer = state->rbp,
		.saved = state->rbx,
		.offset = (int16_t)(offset / UNWIND_UNIT),
	};
}

/* It is the first that keeps the caller's. */
static void set_saved(struct state *state, uint8_t reg, int64_t bytes_below_cfa)
{
	int8_t place = bytes_below_cfa < 0 ? UNWIND_LOST : unwind_place(-bytes_below_cfa);

	if (reg == UNWIND_CODE_RBP && state->rbp == UNWIND_SAME)
		state->rbp = place;
	else if (reg == UNWIND_CODE_RBX && state->rbx == UNWIND_SAME)
		state->rbx = place;
}

/* @depth: of the stack when the prologue is over, which offsets of saved registers are from. */
static bool take_step(struct state *state, const struct info *info, const struct code *code,
		      uint32_t depth)
{
	int64_t units;

	switch (code->op) {
	case UNWIND_CODE_PUSH:
		state->depth += UNWIND_UNIT;
		set_saved(state, code->info, state->depth);
		return true;
	case UNWIND_CODE_ALLOC_SMALL:
	case UNWIND_CODE_ALLOC_LARGE:
		state->depth += code->operand;
		return true;
	case UNWIND_CODE_SAVE:
	case UNWIND_CODE_SAVE_FAR:
		set_saved(state, code->info, (int64_t)depth - code->operand);
		return true;
	case UNWIND_CODE_SET_FRAME:
	case UNWIND_CODE_SET_FRAME_LARGE:
		units = code->op == UNWIND_CODE_SET_FRAME ? info->frame_offset : code->operand;
		state->framed = true;
		state->frame_to_cfa = (int64_t)state->depth - units * UNWIND_CODE_FRAME_UNIT;
		return info->frame_register == UNWIND_CODE_RBP;
	default:
		return true;
	}
}

static uint32_t final_depth(const struct info *info, uint32_t depth)
{
	for (unsigned int i = 0; i < info->count; i++) {
		if (info->codes[i].op == UNWIND_CODE_PUSH)
			depth += UNWIND_UNIT;
		else if (info->codes[i].op == UNWIND_CODE_ALLOC_SMALL ||
			 info->codes[i].op == UNWIND_CODE_ALLOC_LARGE)
			depth += info->codes[i].operand;
	}
	return depth;
}

/* Run a prologue from @state on; if there are @rows, each step makes one. */
static bool run(struct state *state, const struct info *info, uint32_t begin,
		struct unwind_rows *rows)
{
	uint32_t depth = final_depth(info, state->depth);
	uint8_t last = 0;

	for (unsigned int i = info->count; i-- > 0;) {
		if (info->codes[i].end < last || !take_step(state, info, &info->codes[i], depth))
			return false;
		last = info->codes[i].end;
		if (rows)
			unwind_rows_add(rows, begin + last, frame_of(state));
	}
	return true;
}

static bool add_function(const struct info *info, struct state state, uint32_t begin,
			 struct unwind_rows *rows)
{
	struct state tried = state;

	if (!run(&tried, info, begin, NULL)) {
		unwind_rows_add(rows, begin, unsupported);
		return false;
	}
	unwind_rows_add(rows, begin, frame_of(&state));
	return run(&state, info, begin, rows);
}

static struct state state_at_entry(void)
{
	return (struct state){ .depth = UNWIND_UNIT, .rbp = UNWIND_SAME, .rbx = UNWIND_SAME };
}

bool unwind_info_rows(struct span bytes, uint32_t begin, struct unwind_rows *rows)
{
	struct info info;

	if (read_info(bytes, &info) && !info.chained)
		return add_function(&info, state_at_entry(), begin, rows);
	unwind_rows_add(rows, begin, unsupported);
	return false;
}

/* Images -------------------------------------------------------------------------------------- */

/* The address of the handler for all exceptions comes last, in each. */
size_t unwind_info_bytes(struct span info)
{
	size_t slots;

	if (info.size < HEADER_BYTES || (info.start[0] & ((1 << VERSION_BITS) - 1)) != VERSION ||
	    (info.start[0] >> VERSION_BITS & (FLAG_HANDLERS | FLAG_CHAINED)) != FLAG_HANDLERS)
		return 0;
	slots = ((size_t)info.start[SLOTS_AT] + 1) & ~(size_t)1;
	return HEADER_BYTES + slots * SLOT_BYTES + HANDLER_BYTES;
}

static struct span info_at(const struct pe *pe, uint32_t rva)
{
	/* Bit 0 is the runtime's own. */
	struct cursor c = pe_cursor(pe, (struct rva){ rva & ~1u });

	return (struct span){ c.pos, cursor_left(&c) };
}

/* The state in the code that continues that of the functions which @info is chained to. */
static bool state_of_chain(const struct pe *pe, const struct info *info, unsigned int length,
			   struct state *state)
{
	struct cursor c = info->rest;
	struct info before;

	*state = state_at_entry();
	if (!info->chained)
		return true;
	cursor_skip(&c, 2 * sizeof(uint32_t)); /* where the other begins and ends */
	return length < CHAIN_MAX && read_info(info_at(pe, cursor_u32(&c)), &before) &&
	       cursor_ok(&c) && state_of_chain(pe, &before, length + 1, state) &&
	       run(state, &before, 0, NULL);
}

/* The rows of a prologue, for what begins at 0. */
struct known_prologue {
	uint8_t size; /* 0: there is none */
	uint8_t row_count;
	uint8_t bytes[KNOWN_BYTES];
	struct unwind_row rows[KNOWN_ROWS];
};

/* Where the prologue at @bytes is kept, and its size; NULL if it is not to be kept. */
static struct known_prologue *find_known(struct known_prologue known[], struct span bytes,
					 size_t *size)
{
	uint32_t hash = 0;

	if (bytes.size < HEADER_BYTES || bytes.start[0] >> VERSION_BITS & FLAG_CHAINED)
		return NULL;
	*size = HEADER_BYTES + (size_t)bytes.start[SLOTS_AT] * SLOT_BYTES;
	if (*size > KNOWN_BYTES || *size > bytes.size)
		return NULL;
	for (size_t i = 0; i < *size; i++)
		hash = hash * 31 + bytes.start[i];
	return &known[hash % KNOWN_PROLOGUES];
}

static void keep_known(struct known_prologue *known, struct span bytes,
		       struct unwind_frames *frames)
{
	struct unwind_rows rows = { .frames = frames };

	known->size = 0;
	if (unwind_info_rows(bytes, 0, &rows) && !rows.no_memory && rows.count <= KNOWN_ROWS) {
		memcpy(known->bytes, bytes.start, bytes.size);
		memcpy(known->rows, rows.rows, rows.count * sizeof(*rows.rows));
		known->size = (uint8_t)bytes.size;
		known->row_count = (uint8_t)rows.count;
	}
	unwind_rows_deinit(&rows);
}

static bool add_of_image(const struct pe *pe, uint32_t begin, uint32_t rva,
			 struct known_prologue all[], struct unwind_rows *rows)
{
	struct span bytes = info_at(pe, rva);
	struct known_prologue *known;
	struct state state;
	struct info info;
	size_t size;

	known = find_known(all, bytes, &size);
	if (known && (known->size != size || memcmp(known->bytes, bytes.start, size) != 0))
		keep_known(known, (struct span){ bytes.start, size }, rows->frames);
	if (known && known->size) {
		unwind_rows_add_moved(rows, begin, known->rows, known->row_count);
		return true;
	}
	if (read_info(bytes, &info) && state_of_chain(pe, &info, 0, &state))
		return add_function(&info, state, begin, rows);
	unwind_rows_add(rows, begin, unsupported);
	return false;
}

int unwind_info_image(const struct pe *pe, struct unwind_rows *rows,
		      struct unwind_info_counts *counts, struct error *err)
{
	const struct pe_directory *directory = &pe->directories[PE_DIRECTORY_EXCEPTION];
	struct cursor c = cursor_over(pe_bytes(pe, directory->rva, directory->size));
	struct known_prologue *known = calloc(KNOWN_PROLOGUES, sizeof(*known));
	uint32_t done = 0; /* the code before that has its rows */

	*counts = (struct unwind_info_counts){ 0 };
	if (!known)
		return error_set(err, -ENOMEM, "no memory for unwind information");
	while (cursor_left(&c) >= RUNTIME_FUNCTION_BYTES) {
		uint32_t begin = cursor_u32(&c), end = cursor_u32(&c), rva = cursor_u32(&c);

		/* The table is sorted, and ends with one that is all ones. */
		if (begin < done || end <= begin || end > END_MAX) {
			counts->damaged += begin != UINT32_MAX;
			continue;
		}
		if (done && begin > done)
			unwind_rows_add(rows, done, unknown);
		counts->functions++;
		counts->damaged += !add_of_image(pe, begin, rva, known, rows);
		/* A prologue that claims to be longer than its function. */
		while (rows->count && rows->rows[rows->count - 1].begin >= end)
			rows->count--;
		done = end;
	}
	if (done)
		unwind_rows_add(rows, done, unknown);
	free(known);
	return rows->no_memory ? error_set(err, -ENOMEM, "no memory for unwind information") : 0;
}
