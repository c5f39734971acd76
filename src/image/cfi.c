// SPDX-License-Identifier: GPL-2.0-or-later
/* From .eh_frame to unwind rows, for the ranges of native code. */
#include "image/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/error.h"
#include "base/vector.h"
#include "image/unwind_rows.h"

enum {
	STATES_MAX = 32, /* remembered at a time; compilers need two */
	/* Of .eh_frame, for one row: so growing, which is copying, is for others. 5.9 in node. */
	USUAL_ROW_BYTES = 5,
};

/* Where things are at one address. */
struct state {
	struct unwind_frame frame; /* but for the CFA where that is in a register */
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool cfa_is_expression; /* then the frame has it */
	bool outermost;
};

/* Instructions ------------------------------------------------------------------------------- */

static const struct unwind_frame unsupported = { .rule = UNWIND_UNSUPPORTED };

static uint8_t base_of(uint64_t reg)
{
	if (reg == arch.dwarf_stack_pointer)
		return UNWIND_SP;
	if (reg == arch.dwarf_frame_pointer)
		return UNWIND_FP;
	return reg == arch.dwarf_saved ? UNWIND_SAVED : (uint8_t)(UNWIND_OTHERS + reg);
}

static struct unwind_frame frame_of(const struct cfi_cie *cie, const struct state *state)
{
	struct unwind_frame frame = state->frame;

	if (cie->signal)
		return (struct unwind_frame){ .rule = UNWIND_SIGNAL };
	if (state->outermost)
		return (struct unwind_frame){ .rule = UNWIND_OUTERMOST };
	/* In a register, but for the one that calls leave it in where the machine has that. */
	if (frame.return_address >= UNWIND_PLACES && frame.return_address != arch.return_address)
		return unsupported;
	if (state->cfa_is_expression)
		return frame.rule == UNWIND_UNSUPPORTED ? unsupported : frame;
	if (!unwind_offset_fits(state->cfa_offset) || state->cfa_register >= arch.dwarf_registers)
		return unsupported;
	frame.rule = UNWIND_REGISTER;
	frame.base = base_of(state->cfa_register);
	frame.add = 0;
	frame.offset = (int16_t)(state->cfa_offset / UNWIND_UNIT);
	return frame;
}

/* That of the linker's PLT, where x86-64 has one: sp + 8 + ((ip & 15) >= N) * 8. */
static bool is_plt_expression(struct span expression, int16_t *from)
{
	const uint8_t before[] = {
		DW_OP_breg0 + arch.dwarf_stack_pointer,
		UNWIND_UNIT,
		DW_OP_breg0 + arch.dwarf_return_address,
		0,
		DW_OP_lit15,
		DW_OP_and,
	};
	static const uint8_t after[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const size_t literal = sizeof(before);

	if (expression.size != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(expression.start, before, sizeof(before)) != 0 ||
	    memcmp(expression.start + literal + 1, after, sizeof(after)) != 0 ||
	    expression.start[literal] < DW_OP_lit0 || expression.start[literal] > DW_OP_lit15)
		return false;
	*from = (int16_t)(expression.start[literal] - DW_OP_lit0);
	return true;
}

/* In memory: a stack pointer saved on the new stack, or before it was realigned. */
static bool is_memory_expression(struct span expression, struct unwind_frame *frame)
{
	struct cursor c = cursor_over(expression);
	unsigned int reg = cursor_u8(&c) - (unsigned int)DW_OP_breg0;
	int64_t offset = cfi_read_sleb(&c);

	if (reg >= arch.dwarf_registers || cursor_u8(&c) != DW_OP_deref || !cursor_ok(&c) ||
	    !unwind_offset_fits(offset))
		return false;
	frame->base = base_of(reg);
	frame->offset = (int16_t)(offset / UNWIND_UNIT);
	frame->add = 0;
	if (cursor_left(&c) == 0)
		return true;
	frame->add = 1;
	return cursor_u8(&c) == DW_OP_plus_uconst && cfi_read_uleb(&c) == UNWIND_UNIT &&
	       cursor_ok(&c) && cursor_left(&c) == 0;
}

/* The few that compilers and people write. */
static void set_expression(struct state *state, struct span expression)
{
	struct unwind_frame *frame = &state->frame;

	state->cfa_is_expression = true;
	frame->base = UNWIND_SP;
	frame->add = 0;
	if (is_plt_expression(expression, &frame->offset))
		frame->rule = UNWIND_PLT;
	else if (is_memory_expression(expression, frame))
		frame->rule = UNWIND_MEMORY;
	else
		frame->rule = UNWIND_UNSUPPORTED;
}

/* Where the frame has the place of @reg; NULL: it has none. */
static int8_t *place_of(struct unwind_frame *frame, uint64_t reg)
{
	if (reg == arch.dwarf_return_address)
		return &frame->return_address;
	if (reg == arch.dwarf_frame_pointer)
		return &frame->frame_pointer;
	return reg == arch.dwarf_saved ? &frame->saved : NULL;
}

static void set_place(struct state *state, uint64_t reg, int8_t place)
{
	int8_t *of = place_of(&state->frame, reg);

	if (of)
		*of = place;
	if (reg == arch.dwarf_return_address)
		state->outermost = false;
}

/* On a stack that was realigned only the frame pointer tells where the caller's is. */
static int8_t place_by_expression(struct span expression)
{
	const uint8_t at_fp[] = { DW_OP_breg0 + arch.dwarf_frame_pointer, 0 };

	return expression.size == sizeof(at_fp) &&
			       memcmp(expression.start, at_fp, sizeof(at_fp)) == 0 ?
		       UNWIND_AT_FP :
		       UNWIND_LOST;
}

/* Nonsense wraps around. */
static int64_t scaled(const struct cfi_cie *cie, uint64_t value)
{
	return (int64_t)(value * (uint64_t)cie->data_factor);
}

static void restore(struct state *state, struct state *initial, uint64_t reg)
{
	const int8_t *before = place_of(&initial->frame, reg);

	if (!before)
		return;
	set_place(state, reg, *before);
	if (reg == arch.dwarf_return_address)
		state->outermost = initial->outermost;
}

/* What runs instructions, for one function or for what is common to many. */
struct machine {
	const struct cfi_section *section;
	struct unwind_rows *rows;
	struct cfi_counts *counts;
	struct cfi_entries entries;

	const struct cfi_cie *cie;
	struct state state;
	struct state initial;
	const struct cfi_cie *initial_of; /* NULL: it must be found out anew */
	uint64_t address;		  /* the code that the state is of begins there */
	uint64_t end;			  /* of the function */
	bool adds_rows;
	struct state remembered[STATES_MAX];
	unsigned int remembered_count;
};

static void add_row(struct machine *machine)
{
	struct unwind_frame frame = frame_of(machine->cie, &machine->state);

	if (machine->address >= machine->end)
		return;
	machine->counts->unsupported += frame.rule == UNWIND_UNSUPPORTED;
	unwind_rows_add(machine->rows, (uint32_t)machine->address, frame);
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
		advance(machine, cfi_read_address(machine->section, c, cie->encoding));
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
		set_place(state, reg, unwind_place(scaled(cie, cfi_read_uleb(c))));
		break;
	case DW_CFA_offset_extended_sf:
		reg = cfi_read_uleb(c);
		set_place(state, reg, unwind_place(scaled(cie, (uint64_t)cfi_read_sleb(c))));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_read_uleb(c);
		set_place(state, reg, unwind_place(scaled(cie, -cfi_read_uleb(c))));
		break;
	case DW_CFA_restore_extended:
		restore(state, &machine->initial, cfi_read_uleb(c));
		break;
	case DW_CFA_undefined:
		reg = cfi_read_uleb(c);
		set_place(state, reg, UNWIND_LOST);
		state->outermost |= reg == arch.dwarf_return_address;
		break;
	case DW_CFA_same_value:
		set_place(state, cfi_read_uleb(c), UNWIND_SAME);
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
		set_place(state, reg, place_by_expression(cursor_take(c, cfi_read_uleb(c))));
		break;
	case DW_CFA_val_expression:
		set_place(state, cfi_read_uleb(c), UNWIND_LOST);
		cursor_skip(c, cfi_read_uleb(c));
		break;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_place(state, cfi_read_uleb(c), UNWIND_LOST);
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
			set_place(&machine->state, operand,
				  unwind_place(scaled(machine->cie, cfi_read_uleb(&c))));
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

/* What is common to many functions, of which most that follow each other have the same. */
static bool run_common(struct machine *machine, uint64_t begin)
{
	bool good;

	if (machine->initial_of == machine->cie) {
		machine->state = machine->initial;
		return true;
	}
	/* What holds if nobody says otherwise. */
	machine->state = (struct state){ .frame = { .return_address = arch.return_address,
						    .frame_pointer = UNWIND_SAME,
						    .saved = UNWIND_SAME } };
	machine->adds_rows = false;
	good = run(machine, machine->cie->instructions);
	machine->initial = machine->state;
	/* Nobody moves on, or remembers, before a function begins; but it may be said. */
	machine->initial_of = good && machine->address == begin && !machine->remembered_count ?
				      machine->cie :
				      NULL;
	return good;
}

static void add_function(struct machine *machine, const struct cfi_fde *fde)
{
	bool good;

	machine->cie = &machine->entries.cies[fde->cie];
	machine->address = fde->begin;
	machine->end = fde->begin + fde->size;
	machine->remembered_count = 0;
	good = run_common(machine, fde->begin);
	machine->adds_rows = true;
	good = good && run(machine, fde->instructions);
	if (!good) {
		machine->counts->damaged++;
		machine->state = (struct state){
			.frame = unsupported,
			.cfa_is_expression = true,
		};
	}
	add_row(machine);
	machine->counts->functions++;
}

/* Linkers leave entries of functions that they have thrown away, at address 0. */
static bool has_code(const struct machine *machine, const struct cfi_fde *fde)
{
	return fde->size && fde->begin <= UINT32_MAX && fde->size <= UINT32_MAX - fde->begin &&
	       (fde->begin || !machine->section->debug_frame);
}

/* By address: the entries are in any order. */
static bool add_functions(struct machine *machine)
{
	static const struct unwind_frame unknown = { .rule = UNWIND_UNKNOWN };
	const struct cfi_entries *entries = &machine->entries;
	uint64_t end = 0; /* of the code that has rows so far */

	if (!sorted_places(entries->fdes, entries->fde_count))
		return false;
	for (size_t i = 0; i < entries->fde_count; i++) {
		struct cfi_fde fde;

		/* The bytes are of a file, which may change meanwhile. */
		if (!cfi_entries_get(entries, machine->section, entries->fdes[i].at, &fde) ||
		    fde.begin != entries->fdes[i].number ||
		    entries->cies[fde.cie].return_register != arch.dwarf_return_address) {
			machine->counts->damaged++;
			continue;
		}
		/* Two functions in one place: the first is as good as the second. */
		if (!has_code(machine, &fde) || fde.begin < end)
			continue;
		if (end && fde.begin > end)
			unwind_rows_add(machine->rows, (uint32_t)end, unknown);
		add_function(machine, &fde);
		end = fde.begin + fde.size;
	}
	if (end)
		unwind_rows_add(machine->rows, (uint32_t)end, unknown);
	return true;
}

int cfi_rows(const struct cfi_section *section, struct unwind_rows *rows, struct cfi_counts *counts,
	     struct error *err)
{
	struct machine machine = { .section = section, .rows = rows, .counts = counts };
	bool done;

	*counts = (struct cfi_counts){ 0 };
	rows->no_memory |= !vector_reserve(&rows->rows, &rows->capacity,
					   rows->count + section->bytes.size / USUAL_ROW_BYTES);
	done = cfi_entries_read(&machine.entries, section);
	counts->damaged = machine.entries.damaged;
	done = done && add_functions(&machine);
	cfi_entries_deinit(&machine.entries);
	if (!done || rows->no_memory)
		return error_set(err, -ENOMEM, "no memory for unwind information");
	return 0;
}
