// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/native/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/unwind_rows.h"

enum {
	/* Registers, as DWARF numbers them on x86-64. */
	RBP = 6,
	RSP = 7,
	R10 = 10,
	CFI_RETURN_ADDRESS = 16,

	STATES_MAX = 32, /* remembered at a time; compilers need two */
};

struct cfi_reader {
	const struct cfi_section *section;
	uint64_t base;
	struct unwind_rows *rows;
	struct cfi_counts *counts;
	struct cfi_entries entries;
};

/* Where things are at one address. */
struct state {
	struct unwind_row row; /* but for the CFA where that is in a register */
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool cfa_is_expression; /* then the row has it */
	bool outermost;
};

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

static struct unwind_row row_of(const struct cfi_cie *cie, const struct state *state)
{
	struct unwind_row row = state->row;

	if (cie->signal)
		return (struct unwind_row){ .rule = UNWIND_SIGNAL, .rbp = UNWIND_RBP_SAME };
	if (state->outermost)
		return (struct unwind_row){ .rule = UNWIND_OUTERMOST, .rbp = UNWIND_RBP_SAME };
	if (state->cfa_is_expression)
		return row;
	if (!fits(state->cfa_offset))
		return unsupported(state);
	switch (state->cfa_register) {
	case RSP:
		row.rule = UNWIND_RSP;
		break;
	case RBP:
		row.rule = UNWIND_RBP;
		break;
	case R10: /* gcc has the old stack pointer there while it realigns the stack */
		row.rule = UNWIND_R10;
		break;
	default:
		return unsupported(state);
	}
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
	offset = cfi_read_sleb(&c);
	if ((base != DW_OP_breg6 && base != DW_OP_breg7) || cursor_u8(&c) != DW_OP_deref ||
	    !cursor_ok(&c) || !fits(offset))
		return;
	/* A stack that was realigned, and a stack pointer that was saved on the new stack. */
	if (base == DW_OP_breg6 && cursor_left(&c) == 0)
		state->row.rule = UNWIND_AT_RBP;
	else if (base == DW_OP_breg7 && cursor_u8(&c) == DW_OP_plus_uconst &&
		 cfi_read_uleb(&c) == UNWIND_UNIT && cursor_ok(&c) && cursor_left(&c) == 0)
		state->row.rule = UNWIND_AT_RSP;
	else
		return;
	state->row.offset = (int16_t)(offset / UNWIND_UNIT);
}

static void set_saved(struct state *state, uint64_t reg, int64_t offset)
{
	int64_t units = offset / UNWIND_UNIT;

	if (reg == CFI_RETURN_ADDRESS)
		state->outermost = false;
	if (reg != RBP)
		return;
	state->row.rbp = offset % UNWIND_UNIT || units < INT8_MIN || units >= UNWIND_RBP_AT_RBP ?
				 UNWIND_RBP_LOST :
				 (int8_t)units;
}

static void set_lost(struct state *state, uint64_t reg)
{
	if (reg == RBP)
		state->row.rbp = UNWIND_RBP_LOST;
}

/* On a stack that was realigned only rbp itself tells where the caller's is. */
static void set_saved_expression(struct state *state, uint64_t reg, struct span expression)
{
	static const uint8_t at_rbp[] = { DW_OP_breg6, 0 };

	if (reg == RBP)
		state->row.rbp =
			expression.size == sizeof(at_rbp) &&
					memcmp(expression.start, at_rbp, sizeof(at_rbp)) == 0 ?
				UNWIND_RBP_AT_RBP :
				UNWIND_RBP_LOST;
}

/* Nonsense wraps around. */
static int64_t scaled(const struct cfi_cie *cie, uint64_t value)
{
	return (int64_t)(value * (uint64_t)cie->data_factor);
}

static void restore(struct state *state, const struct state *initial, uint64_t reg)
{
	if (reg == RBP)
		state->row.rbp = initial->row.rbp;
	else if (reg == CFI_RETURN_ADDRESS)
		state->outermost = initial->outermost;
}

/* What runs instructions, for one function or for what is common to many. */
struct machine {
	struct cfi_reader *reader;
	const struct cfi_cie *cie;
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
	const struct cfi_cie *cie = machine->cie;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		advance(machine, cfi_read_address(machine->reader->section, c, cie->encoding));
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
		reg = cfi_read_uleb(c);
		set_saved(state, reg, scaled(cie, cfi_read_uleb(c)));
		break;
	case DW_CFA_offset_extended_sf:
		reg = cfi_read_uleb(c);
		set_saved(state, reg, scaled(cie, (uint64_t)cfi_read_sleb(c)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_read_uleb(c);
		set_saved(state, reg, scaled(cie, -cfi_read_uleb(c)));
		break;
	case DW_CFA_restore_extended:
		restore(state, &machine->initial, cfi_read_uleb(c));
		break;
	case DW_CFA_undefined:
		reg = cfi_read_uleb(c);
		state->outermost |= reg == CFI_RETURN_ADDRESS;
		set_lost(state, reg);
		break;
	case DW_CFA_same_value:
		if (cfi_read_uleb(c) == RBP)
			state->row.rbp = UNWIND_RBP_SAME;
		break;
	case DW_CFA_register:
		set_lost(state, cfi_read_uleb(c));
		(void)cfi_read_uleb(c);
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
		state->cfa_register = cfi_read_uleb(c);
		state->cfa_offset = (int64_t)cfi_read_uleb(c);
		break;
	case DW_CFA_def_cfa_sf:
		state->cfa_is_expression = false;
		state->cfa_register = cfi_read_uleb(c);
		state->cfa_offset = scaled(cie, (uint64_t)cfi_read_sleb(c));
		break;
	case DW_CFA_def_cfa_register:
		state->cfa_is_expression = false;
		state->cfa_register = cfi_read_uleb(c);
		break;
	case DW_CFA_def_cfa_offset:
		state->cfa_offset = (int64_t)cfi_read_uleb(c);
		break;
	case DW_CFA_def_cfa_offset_sf:
		state->cfa_offset = scaled(cie, (uint64_t)cfi_read_sleb(c));
		break;
	case DW_CFA_def_cfa_expression:
		set_expression(state, cursor_take(c, cfi_read_uleb(c)));
		break;
	case DW_CFA_expression:
		reg = cfi_read_uleb(c);
		set_saved_expression(state, reg, cursor_take(c, cfi_read_uleb(c)));
		break;
	case DW_CFA_val_expression:
		set_lost(state, cfi_read_uleb(c));
		cursor_skip(c, cfi_read_uleb(c));
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_lost(state, cfi_read_uleb(c));
		(void)cfi_read_uleb(c);
		break;
	case DW_CFA_GNU_args_size:
		(void)cfi_read_uleb(c);
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
			set_saved(&machine->state, operand,
				  scaled(machine->cie, cfi_read_uleb(&c)));
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

static void add_function(struct machine *machine, const struct cfi_fde *fde)
{
	struct cfi_reader *reader = machine->reader;
	bool good;

	machine->cie = &reader->entries.cies[fde->cie];
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
	const struct cfi_fde *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Linkers leave entries of functions that they have thrown away, at address 0. */
static bool has_code(const struct cfi_reader *reader, const struct cfi_fde *fde)
{
	uint64_t begin = fde->begin - reader->base;

	return fde->begin >= reader->base && fde->size && begin <= UINT32_MAX &&
	       fde->size <= UINT32_MAX - begin && (fde->begin || !reader->section->debug_frame);
}

static void add_functions(struct cfi_reader *reader)
{
	static const struct unwind_row unknown = { .rbp = UNWIND_RBP_SAME };
	const struct cfi_entries *entries = &reader->entries;
	struct machine machine = { .reader = reader };
	uint64_t end = 0; /* of the code that has rows so far */

	if (entries->fde_count)
		qsort(entries->fdes, entries->fde_count, sizeof(*entries->fdes), by_begin);
	for (size_t i = 0; i < entries->fde_count; i++) {
		const struct cfi_fde *fde = &entries->fdes[i];

		if (entries->cies[fde->cie].return_register != CFI_RETURN_ADDRESS) {
			reader->counts->damaged++;
			continue;
		}
		/* Two functions in one place: the first is as good as the second. */
		if (!has_code(reader, fde) || fde->begin < end)
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
	struct cfi_reader reader = {
		.section = section,
		.base = base,
		.rows = rows,
		.counts = counts,
	};
	bool done;

	*counts = (struct cfi_counts){ 0 };
	done = cfi_entries_read(&reader.entries, section);
	counts->damaged = reader.entries.damaged;
	if (done)
		add_functions(&reader);
	cfi_entries_deinit(&reader.entries);
	if (!done || rows->no_memory)
		return error_set(err, -ENOMEM, "no memory for unwind information");
	return 0;
}
