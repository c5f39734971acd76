// SPDX-License-Identifier: GPL-2.0-or-later
#include "native/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "image/unwind_rows.h"

enum {
	/* Registers, as DWARF numbers them on x86-64. */
	RBP = 6,
	RSP = 7,
	RETURN_ADDRESS = 16,

	LONG_LENGTH = -1, /* marks the 64-bit format */
	STATES_MAX = 32,  /* remembered at a time; compilers need two */

	ENCODING_FORMAT = 0x0f,
	ENCODING_BASE = 0x70,
	SHIFT_MAX = 63,
};

/* What is common to many functions. */
struct cie {
	size_t offset; /* where it is in the section */
	struct span instructions;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding; /* of addresses */
	bool augmented;	  /* each entry has a part that is to be skipped */
	bool signal;
	bool usable;
};

struct fde {
	uint64_t begin; /* of its code, as linked */
	uint64_t size;
	struct span instructions;
	uint32_t cie; /* its index */
};

/* Where things are at one address. */
struct state {
	struct unwind_row row; /* but for the CFA where that is in a register */
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool cfa_is_expression; /* then the row has it */
	bool outermost;
};

struct reader {
	const struct cfi_section *section;
	uint64_t base;
	struct unwind_rows *rows;
	struct cfi_counts *counts;

	struct cie *cies;
	size_t cie_count;
	struct fde *fdes;
	size_t fde_count;
};

/* Numbers --------------------------------------------------------------------------------- */

static uint64_t read_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift <= SHIFT_MAX)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift <= SHIFT_MAX && (byte & 0x40))
		value |= ~UINT64_C(0) << shift;
	return value;
}

static uint64_t read_uleb(struct cursor *c)
{
	return read_leb(c, false);
}

static int64_t read_sleb(struct cursor *c)
{
	return (int64_t)read_leb(c, true);
}

static uint64_t read_encoded_value(struct cursor *c, uint8_t encoding)
{
	switch (encoding & ENCODING_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_u64(c);
	case DW_EH_PE_uleb128:
		return read_uleb(c);
	case DW_EH_PE_sleb128:
		return (uint64_t)read_sleb(c);
	case DW_EH_PE_udata2:
		return cursor_u16(c);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(c);
	case DW_EH_PE_udata4:
		return cursor_u32(c);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(c);
	default:
		c->bad = true;
		return 0;
	}
}

static uint64_t read_address(const struct reader *reader, struct cursor *c, uint8_t encoding)
{
	uint64_t here = reader->section->address + (size_t)(c->pos - reader->section->bytes.start);
	uint64_t value = read_encoded_value(c, encoding);

	switch (encoding & (ENCODING_BASE | DW_EH_PE_indirect)) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return here + value;
	default:
		c->bad = true; /* nobody encodes the addresses of functions so */
		return 0;
	}
}

/* Entries --------------------------------------------------------------------------------- */

static void read_augmentation(struct cursor *c, const char *letters, struct cie *cie)
{
	struct span part;
	struct cursor data;

	if (letters[0] != 'z') {
		cie->usable = letters[0] == '\0';
		return;
	}
	cie->augmented = true;
	part = cursor_take(c, read_uleb(c));
	data = cursor_over(part);
	for (const char *letter = letters + 1; *letter && cursor_ok(&data); letter++) {
		switch (*letter) {
		case 'R':
			cie->encoding = cursor_u8(&data);
			break;
		case 'P':
			read_encoded_value(&data, cursor_u8(&data));
			break;
		case 'L':
			cursor_skip(&data, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		default:
			/* 'B' is of arm64; what else there may be does not change what comes after it. */
			break;
		}
	}
}

/* Room for one more than @count elements; NULL for want of memory. */
static void *grow(void *list, size_t count, size_t size)
{
	/* It is full with 0, 1, 3, 7... */
	return count & (count + 1) ? list : reallocarray(list, 2 * (count + 1), size);
}

static bool add_cie(struct reader *reader, size_t offset, struct cursor c)
{
	struct cie cie = { .offset = offset, .usable = true }, *grown;
	uint8_t version = cursor_u8(&c);
	const char *letters = cursor_string(&c);
	uint64_t return_register;

	if (version == 4)
		cursor_skip(&c, 2); /* sizes of an address and of a segment's selector */
	cie.code_factor = read_uleb(&c);
	cie.data_factor = read_sleb(&c);
	return_register = version == 1 ? cursor_u8(&c) : read_uleb(&c);
	if (letters)
		read_augmentation(&c, letters, &cie);
	cie.instructions = (struct span){ c.pos, cursor_left(&c) };
	if (!cursor_ok(&c) || !letters || return_register != RETURN_ADDRESS)
		cie.usable = false;
	grown = grow(reader->cies, reader->cie_count, sizeof(*grown));
	if (!grown)
		return false;
	reader->cies = grown;
	reader->cies[reader->cie_count++] = cie;
	return true;
}

/* They were added in the order of their offsets. */
static const struct cie *find_cie(const struct reader *reader, uint64_t offset)
{
	size_t low = 0, high = reader->cie_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->cies[middle].offset == offset)
			return &reader->cies[middle];
		if (reader->cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool add_fde(struct reader *reader, uint64_t cie_offset, struct cursor c)
{
	const struct cie *cie = find_cie(reader, cie_offset);
	struct fde fde, *grown;

	if (!cie || !cie->usable) {
		reader->counts->damaged++;
		return true;
	}
	fde.begin = read_address(reader, &c, cie->encoding);
	fde.size = read_encoded_value(&c, cie->encoding & ENCODING_FORMAT);
	if (cie->augmented)
		cursor_skip(&c, read_uleb(&c));
	fde.instructions = (struct span){ c.pos, cursor_left(&c) };
	fde.cie = (uint32_t)(cie - reader->cies);
	if (!cursor_ok(&c)) {
		reader->counts->damaged++;
		return true;
	}
	/* Linkers leave entries of functions that they have thrown away, at address 0. */
	if (fde.begin < reader->base || fde.size == 0 || fde.begin - reader->base > UINT32_MAX ||
	    fde.size > UINT32_MAX || fde.begin - reader->base + fde.size > UINT32_MAX ||
	    (fde.begin == 0 && reader->section->debug_frame))
		return true;
	grown = grow(reader->fdes, reader->fde_count, sizeof(*grown));
	if (!grown)
		return false;
	reader->fdes = grown;
	reader->fdes[reader->fde_count++] = fde;
	return true;
}

/* Entries are of two kinds, told apart by what other entries have as the pointer to theirs. */
static bool read_entries(struct reader *reader)
{
	const struct cfi_section *section = reader->section;
	struct cursor c = cursor_over(section->bytes);

	while (cursor_left(&c) >= sizeof(uint32_t)) {
		size_t offset = cursor_offset(&c), pointer_offset;
		uint64_t length = cursor_u32(&c), pointer, cie_mark;
		bool is_long = length == (uint32_t)LONG_LENGTH, added;
		struct span entry;
		struct cursor e;

		if (length == 0 && !section->debug_frame)
			continue;
		if (is_long)
			length = cursor_u64(&c);
		pointer_offset = cursor_offset(&c);
		entry = cursor_take(&c, length);
		if (!cursor_ok(&c)) {
			reader->counts->damaged++;
			break;
		}
		e = cursor_over(entry);
		pointer = is_long && section->debug_frame ? cursor_u64(&e) : cursor_u32(&e);
		cie_mark = !section->debug_frame ? 0 : is_long ? UINT64_MAX : UINT32_MAX;
		if (pointer == cie_mark)
			added = add_cie(reader, offset, e);
		else
			added = add_fde(reader,
					section->debug_frame ? pointer : pointer_offset - pointer,
					e);
		if (!added)
			return false;
	}
	return true;
}

/* Instructions ------------------------------------------------------------------------------- */

static bool fits(int64_t offset)
{
	return offset % UNWIND_UNIT == 0 && offset / UNWIND_UNIT >= INT16_MIN &&
	       offset / UNWIND_UNIT <= INT16_MAX;
}

static struct unwind_row unsupported(const struct state *state)
{
	return (struct unwind_row){ .rule = UNWIND_UNSUPPORTED, .rbp = state->row.rbp };
}

static struct unwind_row row_of(const struct cie *cie, const struct state *state)
{
	struct unwind_row row = state->row;

	if (cie->signal)
		return (struct unwind_row){ .rule = UNWIND_SIGNAL, .rbp = UNWIND_RBP_SAME };
	if (state->outermost)
		return (struct unwind_row){ .rule = UNWIND_OUTERMOST, .rbp = UNWIND_RBP_SAME };
	if (state->cfa_is_expression)
		return row;
	if ((state->cfa_register != RSP && state->cfa_register != RBP) || !fits(state->cfa_offset))
		return unsupported(state);
	row.rule = state->cfa_register == RSP ? UNWIND_RSP : UNWIND_RBP;
	row.offset = (int16_t)(state->cfa_offset / UNWIND_UNIT);
	return row;
}

/* That of the linker's PLT: rsp + 8 + ((rip & 15) >= N) * 8. */
static bool is_plt_expression(struct span expression, int16_t *from)
{
	static const uint8_t before[] = { DW_OP_breg7, 0, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t after[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const size_t literal = sizeof(before);

	if (expression.size != sizeof(before) + 1 + sizeof(after) ||
	    expression.start[0] != before[0] || expression.start[1] != UNWIND_UNIT ||
	    memcmp(expression.start + 2, before + 2, sizeof(before) - 2) != 0 ||
	    memcmp(expression.start + literal + 1, after, sizeof(after)) != 0 ||
	    expression.start[literal] < DW_OP_lit0 || expression.start[literal] > DW_OP_lit15)
		return false;
	*from = (int16_t)(expression.start[literal] - DW_OP_lit0);
	return true;
}

/* The few that compilers and people write. */
static void set_expression(struct state *state, struct span expression)
{
	struct cursor c = cursor_over(expression);
	uint8_t base = cursor_u8(&c);
	int64_t offset;

	state->cfa_is_expression = true;
	state->row.rule = UNWIND_UNSUPPORTED;
	state->row.offset = 0;
	if (is_plt_expression(expression, &state->row.offset)) {
		state->row.rule = UNWIND_PLT;
		return;
	}
	offset = read_sleb(&c);
	if ((base != DW_OP_breg6 && base != DW_OP_breg7) || cursor_u8(&c) != DW_OP_deref ||
	    !cursor_ok(&c) || !fits(offset))
		return;
	/* A stack that was realigned, and a stack pointer that was saved on the new stack. */
	if (base == DW_OP_breg6 && cursor_left(&c) == 0)
		state->row.rule = UNWIND_AT_RBP;
	else if (base == DW_OP_breg7 && cursor_u8(&c) == DW_OP_plus_uconst &&
		 read_uleb(&c) == UNWIND_UNIT && cursor_ok(&c) && cursor_left(&c) == 0)
		state->row.rule = UNWIND_AT_RSP;
	else
		return;
	state->row.offset = (int16_t)(offset / UNWIND_UNIT);
}

static void set_saved(struct state *state, uint64_t reg, int64_t offset)
{
	int64_t units = offset / UNWIND_UNIT;

	if (reg == RETURN_ADDRESS)
		state->outermost = false;
	if (reg != RBP)
		return;
	state->row.rbp = offset % UNWIND_UNIT || units < INT8_MIN || units >= UNWIND_RBP_LOST ?
				 UNWIND_RBP_LOST :
				 (int8_t)units;
}

static void set_lost(struct state *state, uint64_t reg)
{
	if (reg == RBP)
		state->row.rbp = UNWIND_RBP_LOST;
}

/* Nonsense wraps around. */
static int64_t scaled(const struct cie *cie, uint64_t value)
{
	return (int64_t)(value * (uint64_t)cie->data_factor);
}

static void restore(struct state *state, const struct state *initial, uint64_t reg)
{
	if (reg == RBP)
		state->row.rbp = initial->row.rbp;
	else if (reg == RETURN_ADDRESS)
		state->outermost = initial->outermost;
}

/* What runs instructions, for one function or for what is common to many. */
struct machine {
	struct reader *reader;
	const struct cie *cie;
	struct state state;
	struct state initial;
	uint64_t address; /* the code that the state is of begins there */
	uint64_t end;	  /* of the function */
	bool adds_rows;
	struct state remembered[STATES_MAX];
	unsigned int remembered_count;
};

static void add_row(struct machine *machine)
{
	struct unwind_row row = row_of(machine->cie, &machine->state);

	if (machine->address >= machine->end)
		return;
	machine->reader->counts->unsupported += row.rule == UNWIND_UNSUPPORTED;
	unwind_rows_add(machine->reader->rows, (uint32_t)(machine->address - machine->reader->base),
			row);
}

static void advance(struct machine *machine, uint64_t address)
{
	/* Backwards, or by nothing: then the state so far was of no code at all. */
	if (machine->adds_rows && address > machine->address)
		add_row(machine);
	if (address > machine->address)
		machine->address = address;
}

static void run_extended(struct machine *machine, struct cursor *c, uint8_t op)
{
	struct state *state = &machine->state;
	const struct cie *cie = machine->cie;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		advance(machine, read_address(machine->reader, c, cie->encoding));
		break;
	case DW_CFA_advance_loc1:
		advance(machine, machine->address + cursor_u8(c) * cie->code_factor);
		break;
	case DW_CFA_advance_loc2:
		advance(machine, machine->address + cursor_u16(c) * cie->code_factor);
		break;
	case DW_CFA_advance_loc4:
		advance(machine, machine->address + cursor_u32(c) * cie->code_factor);
		break;
	case DW_CFA_offset_extended:
		reg = read_uleb(c);
		set_saved(state, reg, scaled(cie, read_uleb(c)));
		break;
	case DW_CFA_offset_extended_sf:
		reg = read_uleb(c);
		set_saved(state, reg, scaled(cie, (uint64_t)read_sleb(c)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		reg = read_uleb(c);
		set_saved(state, reg, scaled(cie, -read_uleb(c)));
		break;
	case DW_CFA_restore_extended:
		restore(state, &machine->initial, read_uleb(c));
		break;
	case DW_CFA_undefined:
		reg = read_uleb(c);
		state->outermost |= reg == RETURN_ADDRESS;
		set_lost(state, reg);
		break;
	case DW_CFA_same_value:
		if (read_uleb(c) == RBP)
			state->row.rbp = UNWIND_RBP_SAME;
		break;
	case DW_CFA_register:
		set_lost(state, read_uleb(c));
		(void)read_uleb(c);
		break;
	case DW_CFA_remember_state:
		if (machine->remembered_count == STATES_MAX)
			c->bad = true;
		else
			machine->remembered[machine->remembered_count++] = *state;
		break;
	case DW_CFA_restore_state:
		if (machine->remembered_count == 0)
			c->bad = true;
		else
			*state = machine->remembered[--machine->remembered_count];
		break;
	case DW_CFA_def_cfa:
		state->cfa_is_expression = false;
		state->cfa_register = read_uleb(c);
		state->cfa_offset = (int64_t)read_uleb(c);
		break;
	case DW_CFA_def_cfa_sf:
		state->cfa_is_expression = false;
		state->cfa_register = read_uleb(c);
		state->cfa_offset = scaled(cie, (uint64_t)read_sleb(c));
		break;
	case DW_CFA_def_cfa_register:
		state->cfa_is_expression = false;
		state->cfa_register = read_uleb(c);
		break;
	case DW_CFA_def_cfa_offset:
		state->cfa_offset = (int64_t)read_uleb(c);
		break;
	case DW_CFA_def_cfa_offset_sf:
		state->cfa_offset = scaled(cie, (uint64_t)read_sleb(c));
		break;
	case DW_CFA_def_cfa_expression:
		set_expression(state, cursor_take(c, read_uleb(c)));
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		set_lost(state, read_uleb(c));
		cursor_skip(c, read_uleb(c));
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_lost(state, read_uleb(c));
		(void)read_uleb(c);
		break;
	case DW_CFA_GNU_args_size:
		(void)read_uleb(c);
		break;
	default:
		c->bad = true;
		break;
	}
}

/* False if they make no sense, from some place on. */
static bool run(struct machine *machine, struct span instructions)
{
	struct cursor c = cursor_over(instructions);

	while (cursor_left(&c)) {
		uint8_t byte = cursor_u8(&c), operand = byte & 0x3f;

		switch (byte & 0xc0) {
		case DW_CFA_advance_loc:
			advance(machine, machine->address + operand * machine->cie->code_factor);
			break;
		case DW_CFA_offset:
			set_saved(&machine->state, operand, scaled(machine->cie, read_uleb(&c)));
			break;
		case DW_CFA_restore:
			restore(&machine->state, &machine->initial, operand);
			break;
		default:
			run_extended(machine, &c, byte);
			break;
		}
	}
	return cursor_ok(&c);
}

static void add_function(struct machine *machine, const struct fde *fde)
{
	struct reader *reader = machine->reader;
	bool good;

	machine->cie = &reader->cies[fde->cie];
	machine->state = (struct state){ .row.rbp = UNWIND_RBP_SAME };
	machine->address = fde->begin;
	machine->end = fde->begin + fde->size;
	machine->adds_rows = false;
	machine->remembered_count = 0;
	good = run(machine, machine->cie->instructions);
	machine->initial = machine->state;
	machine->adds_rows = true;
	good = good && run(machine, fde->instructions);
	if (!good) {
		reader->counts->damaged++;
		machine->state = (struct state){
			.row = unsupported(&machine->state),
			.cfa_is_expression = true,
		};
	}
	add_row(machine);
	reader->counts->functions++;
}

static int by_begin(const void *left, const void *right)
{
	const struct fde *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void add_functions(struct reader *reader)
{
	static const struct unwind_row unknown = { .rbp = UNWIND_RBP_SAME };
	struct machine machine = { .reader = reader };
	uint64_t end = 0; /* of the code that has rows so far */

	if (reader->fde_count)
		qsort(reader->fdes, reader->fde_count, sizeof(*reader->fdes), by_begin);
	for (size_t i = 0; i < reader->fde_count; i++) {
		const struct fde *fde = &reader->fdes[i];

		/* Two functions in one place: the first is as good as the second. */
		if (fde->begin < end)
			continue;
		if (end && fde->begin > end)
			unwind_rows_add(reader->rows, (uint32_t)(end - reader->base), unknown);
		add_function(&machine, fde);
		end = fde->begin + fde->size;
	}
	if (end)
		unwind_rows_add(reader->rows, (uint32_t)(end - reader->base), unknown);
}

int cfi_rows(const struct cfi_section *section, uint64_t base, struct unwind_rows *rows,
	     struct cfi_counts *counts, struct error *err)
{
	struct reader reader = {
		.section = section,
		.base = base,
		.rows = rows,
		.counts = counts,
	};
	bool done;

	*counts = (struct cfi_counts){ 0 };
	done = read_entries(&reader);
	if (done)
		add_functions(&reader);
	free(reader.cies);
	free(reader.fdes);
	if (!done || rows->no_memory)
		return error_set(err, -ENOMEM, "no memory for unwind information");
	return 0;
}
