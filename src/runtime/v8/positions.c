// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/v8/positions.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vector.h"

enum {
	POSITION_BITS = 30,
	INLINING_SHIFT = 31,
	INLINING_MASK = 0xffff,
	INLINING_BYTES = 16,

	/* Prefixes of bytecodes: the operands of the next have two bytes, or four. */
	WIDE = 0,
	EXTRA_WIDE = 1,
	DEBUG_WIDE = 2,
	DEBUG_EXTRA_WIDE = 3,
};

/* One with a sign, which is its lowest bit. */
static int64_t zigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* A number of 7 bits a byte, the lowest first; bad if it has more than 64 of them. */
static uint64_t vlq(struct cursor *c)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		byte = cursor_u8(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

/* How much further in the code an entry is. */
static uint64_t code_delta(const struct v8_layout *layout, uint64_t value)
{
	int64_t delta;

	if (layout->at[V8_POSITION_FLAGS])
		return value >> layout->at[V8_POSITION_FLAGS];
	delta = zigzag(value);
	return delta >= 0 ? (uint64_t)delta : (uint64_t) - (delta + 1);
}

bool v8_positions_find(const struct v8_layout *layout, struct span table, int64_t at,
		       uint64_t *position)
{
	struct cursor c = cursor_over(table);
	uint64_t code = 0, source = 0;
	bool found = false;

	while (cursor_left(&c) > 0) {
		/* The first is counted from -1. */
		code += code_delta(layout, vlq(&c));
		if (!cursor_ok(&c) || at < -1 || code > (uint64_t)(at + 1))
			break;
		source += (uint64_t)zigzag(vlq(&c));
		if (!cursor_ok(&c))
			break;
		*position = source;
		found = true;
	}
	return found && cursor_ok(&c);
}

int32_t v8_position_offset(uint64_t position)
{
	return (int32_t)(position >> 1 & ((1u << POSITION_BITS) - 1)) - 1;
}

uint32_t v8_position_inlining(uint64_t position)
{
	return position >> INLINING_SHIFT & INLINING_MASK;
}

bool v8_inlining_at(struct span array, uint32_t number, struct v8_inlining *inlining)
{
	struct cursor c;

	if (number == 0)
		return false;
	c = cursor_over(span_part(array, (uint64_t)(number - 1) * INLINING_BYTES, INLINING_BYTES));
	inlining->position = cursor_u64(&c);
	inlining->literal = (int32_t)cursor_u32(&c);
	return cursor_ok(&c);
}

/* Bytes of the bytecode that @c stands at, with its prefix; 0: there is no such. */
static uint32_t bytecode_size(const struct v8_layout *layout, struct cursor c)
{
	uint8_t code = cursor_u8(&c);
	uint32_t prefix = 0, scale = 0;

	if (code <= DEBUG_EXTRA_WIDE) {
		scale = code == WIDE || code == DEBUG_WIDE ? 1 : 2;
		prefix = 1;
		code = cursor_u8(&c);
	}
	if (!cursor_ok(&c) || code >= layout->bytecode_count)
		return 0;
	return prefix + layout->bytecode_sizes[scale * layout->bytecode_count + code];
}

bool v8_baseline_offset(const struct v8_layout *layout, struct span table, struct span bytecodes,
			uint64_t pc_offset, int32_t *offset)
{
	struct cursor deltas = cursor_over(table), code = cursor_over(bytecodes);
	uint64_t end = vlq(&deltas);
	uint32_t size = 0;

	*offset = -1;
	if (!layout->bytecode_sizes)
		return false;
	while (cursor_ok(&deltas) && end < pc_offset && cursor_left(&deltas) > 0) {
		end += vlq(&deltas);
		cursor_skip(&code, size);
		*offset = (int32_t)cursor_offset(&code);
		size = bytecode_size(layout, code);
		if (size == 0)
			return false;
	}
	return cursor_ok(&deltas) && end >= pc_offset;
}

/* Translations ----------------------------------------------------------------------------- */

enum {
	OPERANDS_MAX = 6,
	OPERATIONS_MAX = 1 << 14, /* of one translation */
};

/*
 * Operations and how many operands each has: what binaries of the versions have as
 * TranslationOpcodeOperandCount()::counts.
 */
static const uint8_t counts_10_2[] = {
	2, 1, 0, 3, 1, 1, 3, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 3, 3, 4, 1, 1, 1, 1, 1, 2,
};
static const uint8_t counts_11_3[] = {
	1, 0, 3, 3, 1, 1, 3, 1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1,
	1, 1, 1, 1, 1, 5, 3, 3, 3, 4, 0, 1, 1, 1, 1, 1, 2, 1,
};
static const uint8_t counts_12_4[] = {
	5, 3, 3, 3, 2, 1, 3, 4, 3, 2, 1, 0, 3, 3, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2, 1,
};
static const uint8_t counts_13_6[] = {
	6, 4, 3, 3, 2, 1, 3, 4, 3, 3, 3, 1, 0, 0, 3, 3, 1, 1, 1, 0, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2, 1,
};

/*
 * Where one translation refers to another, the last operation, with one operand, means that so many
 * are as in that; what is above it means so too, and has the count in itself.
 */
struct encoding {
	const uint8_t *counts;
	uint8_t operations;
	uint8_t begin;	     /* the first of two: how far back the other is, frames, JavaScript's */
	uint8_t interpreted; /* the first of two: bytecode offset, SharedFunctionInfo, ... */
	uint8_t continuation; /* the first of two, of builtins: what is next, SharedFunctionInfo */
	uint8_t construct;    /* what is between the caller and the function that new calls */
	uint8_t construct_2;
	uint8_t literal;
	bool has_bytecodes; /* ... BytecodeArray */
	bool is_plain;	    /* no translation refers to another, and operations have a sign, too */
};

static const struct encoding encodings[] = {
	[V8_TRANSLATION_10_2] = { counts_10_2, sizeof(counts_10_2), 3, 18, 19, 8, 8, 22, false,
				  true },
	[V8_TRANSLATION_11_3] = { counts_11_3, sizeof(counts_11_3), 2, 23, 25, 8, 8, 29, false,
				  false },
	[V8_TRANSLATION_12_4] = { counts_12_4, sizeof(counts_12_4), 12, 0, 2, 4, 5, 33, false,
				  false },
	[V8_TRANSLATION_13_6] = { counts_13_6, sizeof(counts_13_6), 14, 0, 2, 4, 5, 38, true,
				  false },
};

static bool is_one_of(uint8_t operation, uint8_t first)
{
	return operation == first || operation == first + 1;
}

/* Of those that a plain encoding has one of, and others two. */
static bool is_kind(const struct encoding *encoding, uint8_t operation, uint8_t first)
{
	return encoding->is_plain ? operation == first : is_one_of(operation, first);
}

static uint8_t read_code(const struct encoding *encoding, struct cursor *c)
{
	int64_t code = encoding->is_plain ? zigzag(vlq(c)) : cursor_u8(c);

	if (code >= 0 && code <= UINT8_MAX)
		return (uint8_t)code;
	c->bad = true;
	return 0;
}

struct operation {
	uint8_t code;
	int32_t operands[3]; /* those that frames and literals need, all of which have a sign */
};

struct operations {
	struct operation *list;
	size_t count;
	size_t room;
};

static void operations_deinit(const struct operations *operations)
{
	free(operations->list);
}

static bool add(struct operations *out, const struct operation *operation)
{
	return out->count < OPERATIONS_MAX &&
	       vector_add(&out->list, &out->count, &out->room, *operation);
}

/* The next @count are those that @basis has at the same place. */
static bool match(struct operations *out, const struct operations *basis, uint64_t count)
{
	if (out->count > basis->count || count > basis->count - out->count)
		return false;
	while (count-- > 0) {
		if (!add(out, &basis->list[out->count]))
			return false;
	}
	return true;
}

/* One with operands of its own. */
static bool read_operation(const struct encoding *encoding, struct cursor *c, uint8_t code,
			   const struct operations *basis, struct operations *out)
{
	struct operation operation = { .code = code };
	uint64_t operands[OPERANDS_MAX] = { 0 };

	for (size_t i = 0; i < encoding->counts[code]; i++)
		operands[i] = vlq(c);
	if (code == encoding->operations - 1 && !encoding->is_plain)
		return match(out, basis, operands[0]);
	for (size_t i = 0; i < 3; i++)
		operation.operands[i] = (int32_t)zigzag(operands[i]);
	return add(out, &operation);
}

static bool read_operations(const struct encoding *encoding, struct cursor *c,
			    const struct operations *basis, struct operations *out)
{
	/* Each byte is an operation at most. */
	while (cursor_left(c) > 0) {
		uint8_t code = read_code(encoding, c);
		bool ok;

		if (is_kind(encoding, code, encoding->begin))
			break;
		ok = code < encoding->operations ?
			     read_operation(encoding, c, code, basis, out) :
			     match(out, basis, code - (uint64_t)encoding->operations);
		if (!ok)
			return false;
	}
	return cursor_ok(c);
}

/* What the operation @at is a literal of; -1: of none. */
static int32_t literal_at(const struct encoding *encoding, const struct operations *operations,
			  size_t at)
{
	return at < operations->count && operations->list[at].code == encoding->literal ?
		       operations->list[at].operands[0] :
		       -1;
}

static void take_frames(const struct encoding *encoding, const struct operations *operations,
			struct v8_deopt_frames *out)
{
	bool construct = false;

	for (size_t i = 0; i < operations->count && out->count < V8_DEOPT_FRAMES_MAX; i++) {
		const struct operation *operation = &operations->list[i];
		bool builtin = is_one_of(operation->code, encoding->continuation);

		construct |= operation->code == encoding->construct ||
			     operation->code == encoding->construct_2;
		if (!builtin && !is_kind(encoding, operation->code, encoding->interpreted))
			continue;
		/* Then come the values: the function itself, what it is called on, ... */
		out->frames[out->count++] = (struct v8_deopt_frame){
			.builtin = builtin,
			.construct = construct,
			.bytecode_offset = operation->operands[0],
			.shared = operation->operands[1],
			.bytecodes =
				encoding->has_bytecodes && !builtin ? operation->operands[2] : -1,
			.closure = literal_at(encoding, operations, i + 1),
			.receiver = literal_at(encoding, operations, i + 2),
		};
		construct = false;
	}
	out->constructs = construct;
}

/* The head of the translation that begins at @start; leaves @c behind it. */
static bool read_begin(const struct encoding *encoding, struct span bytes, uint64_t start,
		       struct cursor *c, uint64_t *back)
{
	uint8_t operation;

	if (start >= bytes.size)
		return false;
	*c = cursor_over(span_part(bytes, start, bytes.size - start));
	operation = read_code(encoding, c);
	*back = vlq(c);
	(void)vlq(c);
	(void)vlq(c);
	if (encoding->is_plain)
		*back = 0;
	return cursor_ok(c) && is_kind(encoding, operation, encoding->begin);
}

bool v8_translation_frames(const struct v8_layout *layout, struct span bytes, uint64_t start,
			   struct v8_deopt_frames *out)
{
	const struct encoding *encoding = &encodings[layout->at[V8_TRANSLATION]];
	_cleanup_(operations_deinit) struct operations basis = { 0 };
	_cleanup_(operations_deinit) struct operations operations = { 0 };
	struct cursor c, basis_c;
	uint64_t back, further;

	out->count = 0;
	if (!encoding->counts || !read_begin(encoding, bytes, start, &c, &back) || back > start)
		return false;
	/* What another refers to refers to none itself. */
	if (back && (!read_begin(encoding, bytes, start - back, &basis_c, &further) || further ||
		     !read_operations(encoding, &basis_c, &basis, &basis)))
		return false;
	if (!read_operations(encoding, &c, &basis, &operations))
		return false;
	take_frames(encoding, &operations, out);
	return out->count > 0;
}

/* Safepoints ------------------------------------------------------------------------------- */

/* Bits of the word in the table's head that says how its entries are written. */
enum {
	HAS_DEOPT = 1,
	REGISTERS_SHIFT = 1,
	PC_SHIFT = 4,
	DEOPT_SHIFT = 7,
	SIZE_MASK = 7,
};

struct safepoints {
	uint32_t count;
	uint32_t pc_bytes;
	uint32_t deopt_bytes;
	uint32_t more; /* the pc of its trampoline, which registers there are */
};

bool v8_safepoints_form(const struct v8_layout *layout, bool maglev,
			struct v8_safepoints_form *form)
{
	enum v8_field head = maglev ? V8_SAFEPOINTS_MAGLEV : V8_SAFEPOINTS_TURBOFAN;

	form->head_bytes = layout->at[head];
	form->count_at = layout->at[V8_SAFEPOINTS_COUNT];
	/* Maglev's have how many slots more there are. */
	form->more_bytes = maglev;
	return v8_layout_has(layout, head);
}

static bool read_head(const struct v8_safepoints_form *form, struct span bytes, struct cursor *c,
		      struct safepoints *table)
{
	struct cursor start = cursor_over(bytes);
	uint32_t bits;

	*c = cursor_at(&start, (size_t)form->count_at);
	table->count = cursor_u32(c);
	bits = cursor_u32(c);
	table->pc_bytes = bits >> PC_SHIFT & SIZE_MASK;
	table->deopt_bytes = bits >> DEOPT_SHIFT & SIZE_MASK;
	table->more = table->pc_bytes + (bits >> REGISTERS_SHIFT & SIZE_MASK) +
		      (uint32_t)form->more_bytes;
	if (!cursor_ok(c) || !(bits & HAS_DEOPT) || table->pc_bytes == 0)
		return false;
	*c = cursor_at(&start, (size_t)form->head_bytes);
	return true;
}

size_t v8_safepoints_size(const struct v8_safepoints_form *form, struct span head)
{
	struct safepoints table;
	struct cursor c;
	uint64_t size;

	if (!read_head(form, head, &c, &table))
		return 0;
	size = (uint64_t)form->head_bytes +
	       (uint64_t)table.count * (table.pc_bytes + table.deopt_bytes + table.more);
	return size <= V8_SAFEPOINTS_MAX_BYTES ? (size_t)size : 0;
}

static uint64_t number_of(struct span bytes)
{
	uint64_t value = 0;

	for (size_t i = bytes.size; i-- > 0;)
		value = value << 8 | bytes.start[i];
	return value;
}

bool v8_safepoint_find(const struct v8_safepoints_form *form, struct span bytes, uint64_t pc_offset,
		       uint32_t *entry)
{
	struct safepoints table;
	struct cursor c;

	if (!read_head(form, bytes, &c, &table))
		return false;
	for (uint32_t i = 0; i < table.count && cursor_ok(&c); i++) {
		struct span pc = cursor_take(&c, table.pc_bytes);
		struct span deopt = cursor_take(&c, table.deopt_bytes);

		cursor_skip(&c, table.more);
		if (!cursor_ok(&c) || number_of(pc) != pc_offset)
			continue;
		*entry = (uint32_t)number_of(deopt) - 1;
		return number_of(deopt) != 0;
	}
	return false;
}
