// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of real libraries against what elfutils makes of the same entries, at every address where a
 * row begins and at every one just before; and what no compiler writes.
 */
#include "unit.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "image/cfi.h"
#include "tests/unit/golden.h"
#include "tests/unit/unwind_row.h"

enum { RBX = 3, RBP = 6, RSP = 7, RETURN_ADDRESS = 16 };

static struct unwind_frames frames;

struct library {
	Elf *elf;
	Dwarf_CFI *cfi;
	struct cfi_section section;
	struct unwind_rows rows;
	struct cfi_counts counts;
	int fd;
};

static void find_section(struct library *library)
{
	Elf_Scn *scn = NULL;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(library->elf, &names), 0);
	while ((scn = elf_nextscn(library->elf, scn))) {
		Elf_Data *data;
		GElf_Shdr header;

		assert_non_null(gelf_getshdr(scn, &header));
		if (strcmp(elf_strptr(library->elf, names, header.sh_name), ".eh_frame") != 0)
			continue;
		data = elf_rawdata(scn, NULL);
		assert_non_null(data);
		library->section = (struct cfi_section){
			.bytes = { data->d_buf, data->d_size },
			.address = header.sh_addr,
		};
	}
	assert_non_null(library->section.bytes.start);
}

static void open_library(struct library *library, const char *path)
{
	struct error err = { .text = "" };

	*library = (struct library){
		.rows = { .frames = &frames },
		.fd = open(path, O_RDONLY | O_CLOEXEC),
	};
	assert_return_code(library->fd, errno);
	elf_version(EV_CURRENT);
	library->elf = elf_begin(library->fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(library->elf);
	library->cfi = dwarf_getcfi_elf(library->elf);
	assert_non_null(library->cfi);
	find_section(library);
	if (cfi_rows(&library->section, &library->rows, &library->counts, &err))
		fail_msg("%s", err.text);
}

static void close_library(struct library *library)
{
	unwind_rows_deinit(&library->rows);
	dwarf_cfi_end(library->cfi);
	elf_end(library->elf);
	close(library->fd);
}

/* Where the caller's value of a register is, as elfutils puts it. */
static int8_t their_place(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	/* "Undefined" is no operation at all, "the same" one that is NULL. */
	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &count), 0);
	if (count == 0 && !ops)
		return UNWIND_SAME;
	/* What holds if nobody says otherwise elfutils says of register 0, which is rax. */
	if (count == 0 && reg == RBX)
		return UNWIND_SAME;
	if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return 0;
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst &&
	    ops[1].number % UNWIND_UNIT == 0)
		return (int8_t)((int64_t)ops[1].number / UNWIND_UNIT);
	if (count == 1 && ops[0].atom == DW_OP_breg6 && ops[0].number == 0)
		return UNWIND_AT_FP;
	return UNWIND_LOST;
}

static uint8_t base_of(Dwarf_Word reg)
{
	return reg == RSP ? UNWIND_SP :
	       reg == RBP ? UNWIND_FP :
	       reg == RBX ? UNWIND_SAVED :
			    (uint8_t)(UNWIND_OTHERS + reg);
}

static void set_their_cfa(Dwarf_Frame *frame, struct unwind_frame *ours)
{
	Dwarf_Op *ops;
	size_t count;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (count == 1 && ops[0].atom == DW_OP_bregx) {
		ours->rule = UNWIND_REGISTER;
		ours->base = base_of(ops[0].number);
		ours->offset = (int16_t)((int64_t)ops[0].number2 / UNWIND_UNIT);
	} else if (count >= 2 && count <= 3 && ops[0].atom >= DW_OP_breg0 &&
		   ops[0].atom <= DW_OP_breg31 && ops[1].atom == DW_OP_deref) {
		ours->rule = UNWIND_MEMORY;
		ours->base = base_of(ops[0].atom - (Dwarf_Word)DW_OP_breg0);
		ours->offset = (int16_t)((int64_t)ops[0].number / UNWIND_UNIT);
		ours->add = count == 3;
	} else if (count > 3) {
		ours->rule = UNWIND_PLT;
	}
}

/* How elfutils puts it; UNWIND_UNSUPPORTED for what we do not look into. */
static struct unwind_frame their_frame(Dwarf_Frame *frame)
{
	struct unwind_frame ours = { .rule = UNWIND_UNSUPPORTED };
	Dwarf_Op memory[3], *ops;
	size_t count;
	bool is_signal;

	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (is_signal)
		return (struct unwind_frame){ .rule = UNWIND_SIGNAL };
	assert_int_equal(dwarf_frame_register(frame, RETURN_ADDRESS, memory, &ops, &count), 0);
	if (count == 0 && ops == memory)
		return (struct unwind_frame){ .rule = UNWIND_OUTERMOST };
	ours.return_address = their_place(frame, RETURN_ADDRESS);
	ours.frame_pointer = their_place(frame, RBP);
	ours.saved = their_place(frame, RBX);
	set_their_cfa(frame, &ours);
	return ours;
}

/* For messages. */
static void words(struct unwind_frame frame, char text[static 96])
{
	snprintf(text, 96, "rule %d by %d + %d + %d; return at %d, rbp at %d, rbx at %d",
		 frame.rule, frame.base, frame.offset, frame.add, frame.return_address,
		 frame.frame_pointer, frame.saved);
}

static size_t compare_at(const struct library *library, uint32_t address, const char *path)
{
	const struct unwind_row *row = unwind_rows_find(&library->rows, address);
	struct unwind_frame ours = { .rule = UNWIND_UNKNOWN }, theirs;
	char our_words[96], their_words[96];
	Dwarf_Frame *frame;

	if (row)
		ours = unwind_rows_frame(&library->rows, row);
	if (dwarf_cfi_addrframe(library->cfi, address, &frame) != 0) {
		if (ours.rule != UNWIND_UNKNOWN)
			fail_msg("%s has no entry at 0x%x, but we have", path, address);
		return 0;
	}
	theirs = their_frame(frame);
	free(frame);
	if (ours.rule == UNWIND_UNKNOWN)
		fail_msg("%s has an entry at 0x%x, but we have none", path, address);
	if (ours.rule == UNWIND_UNSUPPORTED || theirs.rule == UNWIND_UNSUPPORTED)
		return 0;
	if (ours.rule == UNWIND_PLT)
		theirs.offset = ours.offset;
	words(ours, our_words);
	words(theirs, their_words);
	if (memcmp(&ours, &theirs, sizeof(ours)) != 0)
		fail_msg("%s at 0x%x: %s; elfutils says %s", path, address, our_words, their_words);
	return 1;
}

/* The libraries of this very process: glibc's has hand-written entries, libstdc++'s are C++'s. */
static void compare(const char *path)
{
	_cleanup_(close_library) struct library library;
	size_t compared = 0, asked = 0;

	open_library(&library, path);
	assert_int_equal(library.counts.damaged, 0);
	assert_true(library.rows.count > 1000);
	for (size_t i = 0; i < library.rows.count; i++) {
		uint32_t begin = library.rows.rows[i].begin;

		asked += 2;
		compared += compare_at(&library, begin, path);
		compared += compare_at(&library, begin - 1, path);
		/* In order, each of its own. */
		if (i)
			assert_true(library.rows.rows[i - 1].begin < begin);
	}
	printf("%s: %zu rows of %lu functions, %zu of %zu places compared, %lu rows unsupported\n",
	       path, library.rows.count, (unsigned long)library.counts.functions, compared, asked,
	       (unsigned long)library.counts.unsupported);
	/* What lies between functions has no entry. */
	assert_true(compared > asked / 2);
	assert_true(library.counts.unsupported * 1000 < library.rows.count);
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	size_t *count = ctx;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so") && !strstr(info->dlpi_name, "/libstdc++.so") &&
	    !strstr(info->dlpi_name, "/libdw.so"))
		return 0;
	compare(info->dlpi_name);
	++*count;
	return 0;
}

UNIT_TEST(real_libraries)
{
	size_t count = 0;

	assert_non_null(dlopen("libstdc++.so.6", RTLD_NOW));
	dl_iterate_phdr(compare_loaded, &count);
	assert_int_equal(count, 3);
}

/* All that can be cut off or changed in it is survived, and nothing is read beyond the end. */
UNIT_TEST(damaged)
{
	_cleanup_(close_library) struct library library;
	struct cfi_section section;
	unsigned int seed = 1;

	open_library(&library, "/proc/self/exe");
	section = library.section;
	for (int i = 0; i < 300; i++) {
		struct unwind_rows rows = { .frames = &frames };
		struct cfi_counts counts;
		size_t size = (size_t)rand_r(&seed) % (section.bytes.size + 1);
		_cleanup_(golden_free) struct golden copy = golden_copy(section.bytes.start, size);

		for (int flips = i % 8; size && flips > 0; flips--)
			copy.bytes[(size_t)rand_r(&seed) % size] = (uint8_t)rand_r(&seed);
		library.section.bytes = golden_span(&copy);
		assert_int_equal(cfi_rows(&library.section, &rows, &counts, NULL), 0);
		for (size_t row = 1; row < rows.count; row++)
			assert_true(rows.rows[row - 1].begin < rows.rows[row].begin);
		unwind_rows_deinit(&rows);
	}
}

/* An entry of an own making: a CIE, and one function with the instructions of the test. */
static void rows_of(const uint8_t *instructions, size_t size, struct unwind_rows *rows,
		    struct cfi_counts *counts)
{
	static const uint8_t cie[] = { 20, 0,	 0,  0, 0, 0,  0, 0, 1,	   'z', 'R', 0,
				       1,  0x78, 16, 1, 0, 12, 7, 8, 0x90, 1,	0,   0 };
	uint8_t bytes[256] = { 0 };
	const uint32_t fde_size = (uint32_t)(4 + 16 + 1 + size), pointer = sizeof(cie) + 4;
	const uint64_t begin = 0x1000, code_size = 0x100;
	struct cfi_section section = { .bytes = { bytes, sizeof(cie) + 4 + fde_size } };

	memcpy(bytes, cie, sizeof(cie));
	memcpy(bytes + sizeof(cie), &fde_size, 4);
	memcpy(bytes + sizeof(cie) + 4, &pointer, 4);
	memcpy(bytes + sizeof(cie) + 8, &begin, 8);
	memcpy(bytes + sizeof(cie) + 16, &code_size, 8);
	memcpy(bytes + sizeof(cie) + 25, instructions, size);
	*rows = (struct unwind_rows){ .frames = &frames };
	assert_int_equal(cfi_rows(&section, rows, counts, NULL), 0);
}

#define ROWS_OF(rows, counts, ...)                                                                \
	rows_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), rows, \
		counts)

static struct unwind_frame frame_at(const struct unwind_rows *rows, uint32_t address)
{
	const struct unwind_row *row = unwind_rows_find(rows, address);

	assert_non_null(row);
	return unwind_rows_frame(rows, row);
}

static void expect_rule(const struct unwind_rows *rows, uint32_t address, enum unwind_rule rule)
{
	const struct unwind_frame expected = { .rule = rule }, frame = frame_at(rows, address);

	assert_memory_equal(&frame, &expected, sizeof(frame));
}

static void expect(const struct unwind_rows *rows, uint32_t address, enum unwind_base base,
		   int offset, int frame_pointer)
{
	const struct unwind_frame frame = frame_at(rows, address), expected = {
		.rule = UNWIND_REGISTER,
		.base = (uint8_t)base,
		.return_address = -1,
		.frame_pointer = (int8_t)frame_pointer,
		.saved = UNWIND_SAME,
		.offset = (int16_t)offset,
	};

	assert_memory_equal(&frame, &expected, sizeof(frame));
}

static void expect_in_memory(const struct unwind_rows *rows, uint32_t address,
			     enum unwind_base base, int offset, int add)
{
	const struct unwind_frame frame = frame_at(rows, address);

	assert_int_equal(frame.rule, UNWIND_MEMORY);
	assert_int_equal(frame.base, base);
	assert_int_equal(frame.offset, offset);
	assert_int_equal(frame.add, add);
	assert_int_equal(frame.frame_pointer, UNWIND_SAME);
}

UNIT_TEST(kinds_of_rows)
{
	struct unwind_rows rows;
	struct cfi_counts counts;

	/* push rbp; mov rbp, rsp */
	ROWS_OF(&rows, &counts, DW_CFA_advance_loc + 1, DW_CFA_def_cfa_offset, 16,
		DW_CFA_offset + 6, 2, DW_CFA_advance_loc + 3, DW_CFA_def_cfa_register, 6);
	assert_null(unwind_rows_find(&rows, 0xfff));
	expect(&rows, 0x1000, UNWIND_SP, 1, UNWIND_SAME);
	expect(&rows, 0x1001, UNWIND_SP, 2, -2);
	expect(&rows, 0x1004, UNWIND_FP, 2, -2);
	expect(&rows, 0x10ff, UNWIND_FP, 2, -2);
	expect_rule(&rows, 0x1100, UNWIND_UNKNOWN);
	unwind_rows_deinit(&rows);

	/* A realigned stack: CFA = *(rbp - 8); and one kept on a new stack: *(rsp + 16) + 8. */
	ROWS_OF(&rows, &counts, DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
		DW_CFA_advance_loc + 8, DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 16, DW_OP_deref,
		DW_OP_plus_uconst, 8);
	expect_in_memory(&rows, 0x1000, UNWIND_FP, -1, 0);
	expect_in_memory(&rows, 0x1008, UNWIND_SP, 2, 1);
	unwind_rows_deinit(&rows);

	/* While it is realigned: CFA = r10, and the caller's rbp where rbp points to. */
	ROWS_OF(&rows, &counts, DW_CFA_def_cfa, 10, 0, DW_CFA_expression, 6, 2, DW_OP_breg6, 0,
		DW_CFA_advance_loc + 4, DW_CFA_expression, 6, 2, DW_OP_breg6, 8);
	expect(&rows, 0x1000, UNWIND_OTHERS + 10, 0, UNWIND_AT_FP);
	expect(&rows, 0x1004, UNWIND_OTHERS + 10, 0, UNWIND_LOST);
	assert_int_equal(counts.unsupported, 0);
	unwind_rows_deinit(&rows);

	/* By no register that is known; an expression that nobody writes; then as it was. */
	ROWS_OF(&rows, &counts, DW_CFA_remember_state, DW_CFA_def_cfa, 17, 0,
		DW_CFA_advance_loc + 4, DW_CFA_def_cfa_expression, 1, DW_OP_lit0,
		DW_CFA_advance_loc + 4, DW_CFA_restore_state);
	expect_rule(&rows, 0x1000, UNWIND_UNSUPPORTED);
	expect(&rows, 0x1008, UNWIND_SP, 1, UNWIND_SAME);
	assert_int_equal(counts.unsupported, 2);
	unwind_rows_deinit(&rows);

	/* The start of a thread; rbp in another register. */
	ROWS_OF(&rows, &counts, DW_CFA_register, 6, 3, DW_CFA_advance_loc + 4, DW_CFA_undefined,
		16);
	expect(&rows, 0x1000, UNWIND_SP, 1, UNWIND_LOST);
	expect_rule(&rows, 0x1004, UNWIND_OUTERMOST);
	unwind_rows_deinit(&rows);

	/* Offsets too far, or not of whole words. */
	ROWS_OF(&rows, &counts, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x01,
		DW_CFA_advance_loc + 4, DW_CFA_def_cfa_offset, 12);
	expect_rule(&rows, 0x1000, UNWIND_UNSUPPORTED);
	expect_rule(&rows, 0x1004, UNWIND_UNSUPPORTED);
	unwind_rows_deinit(&rows);

	/* An instruction that is not known spoils what comes after it, and only that. */
	ROWS_OF(&rows, &counts, DW_CFA_advance_loc + 8, 0x3f);
	expect(&rows, 0x1000, UNWIND_SP, 1, UNWIND_SAME);
	expect_rule(&rows, 0x1008, UNWIND_UNSUPPORTED);
	assert_int_equal(counts.damaged, 1);
	unwind_rows_deinit(&rows);
}

struct bytes {
	uint8_t at[256];
	size_t size;
};

static void put(struct bytes *bytes, uint64_t value, size_t size)
{
	memcpy(bytes->at + bytes->size, &value, size);
	bytes->size += size;
}

/* The length of an entry, with @size bytes to come, and where its CIE is or that it is one. */
static void put_head(struct bytes *bytes, bool is_long, uint64_t size, uint64_t cie)
{
	if (is_long)
		put(bytes, UINT32_MAX, 4);
	put(bytes, size + (is_long ? 8 : 4), is_long ? 8 : 4);
	put(bytes, cie, is_long ? 8 : 4);
}

/* .debug_frame in both formats: a CIE is pointed to by its offset, and address 0 is no function. */
UNIT_TEST(debug_frame)
{
	static const uint8_t cie[] = { 4, 0, 8, 0, 1, 0x78, 16, DW_CFA_def_cfa, 7, 8 };

	for (int is_long = 0; is_long < 2; is_long++) {
		_cleanup_(unwind_rows_deinit) struct unwind_rows rows = { .frames = &frames };
		struct bytes bytes = { .size = 0 };
		struct cfi_section section = { .debug_frame = true };
		struct cfi_counts counts;
		size_t cie_at;

		put_head(&bytes, is_long, 0, 0); /* a function without a CIE */
		cie_at = bytes.size;
		put_head(&bytes, is_long, sizeof(cie), UINT64_MAX);
		memcpy(bytes.at + bytes.size, cie, sizeof(cie));
		bytes.size += sizeof(cie);
		for (uint64_t begin = 0; begin <= 0x1000; begin += 0x1000) {
			put_head(&bytes, is_long, 16, cie_at);
			put(&bytes, begin, 8);
			put(&bytes, 0x100, 8);
		}
		section.bytes = (struct span){ bytes.at, bytes.size };
		assert_int_equal(cfi_rows(&section, &rows, &counts, NULL), 0);
		assert_int_equal(counts.functions, 1);
		assert_int_equal(counts.damaged, 1);
		assert_null(unwind_rows_find(&rows, 0xfff));
		expect(&rows, 0x1000, UNWIND_SP, 1, UNWIND_SAME);
		expect_rule(&rows, 0x1100, UNWIND_UNKNOWN);
	}
}

/* Registers that x86-64's compilers do not need, and places of all three. */
UNIT_TEST(registers_of_rows)
{
	struct unwind_frame frame;
	struct unwind_rows rows;
	struct cfi_counts counts;

	/* push rbx; mov rbx, rsp, by which it is found from then on; rbx is restored. */
	ROWS_OF(&rows, &counts, DW_CFA_advance_loc + 1, DW_CFA_def_cfa_offset, 16,
		DW_CFA_offset + 3, 2, DW_CFA_advance_loc + 3, DW_CFA_def_cfa_register, 3,
		DW_CFA_advance_loc + 4, DW_CFA_def_cfa, 7, 8, DW_CFA_restore + 3);
	frame = frame_at(&rows, 0x1001);
	assert_int_equal(frame.base, UNWIND_SP);
	assert_int_equal(frame.saved, -2);
	frame = frame_at(&rows, 0x1004);
	assert_int_equal(frame.base, UNWIND_SAVED);
	assert_int_equal(frame.offset, 2);
	assert_int_equal(frame.saved, -2);
	expect(&rows, 0x1008, UNWIND_SP, 1, UNWIND_SAME);
	assert_int_equal(counts.unsupported, 0);
	unwind_rows_deinit(&rows);

	/* The return address elsewhere, in a register, out of reach, and as it was. */
	ROWS_OF(&rows, &counts, DW_CFA_offset + 16, 3, DW_CFA_advance_loc + 4, DW_CFA_same_value,
		16, DW_CFA_advance_loc + 4, DW_CFA_register, 16, 5, DW_CFA_advance_loc + 4,
		DW_CFA_restore_extended, 16);
	assert_int_equal(frame_at(&rows, 0x1000).return_address, -3);
	expect_rule(&rows, 0x1004, UNWIND_UNSUPPORTED);
	expect_rule(&rows, 0x1008, UNWIND_UNSUPPORTED);
	expect(&rows, 0x100c, UNWIND_SP, 1, UNWIND_SAME);
	unwind_rows_deinit(&rows);
}

/* When there is no room for another frame it is as if it could not be told. */
UNIT_TEST(too_many_frames)
{
	static struct unwind_frames few;
	_cleanup_(unwind_rows_deinit) struct unwind_rows rows = { .frames = &few };

	for (int i = 0; i < 2 * UNWIND_FRAMES_MAX; i++)
		unwind_rows_add(&rows, (uint32_t)i,
				(struct unwind_frame){
					.rule = UNWIND_REGISTER,
					.frame_pointer = (int8_t)(i % 100),
					.saved = (int8_t)(i / 100),
					.offset = 3,
				});
	assert_int_equal(few.count, UNWIND_FRAMES_MAX);
	for (int i = 0; i < UNWIND_FRAMES_MAX - 2; i++) {
		struct unwind_frame frame = frame_at(&rows, (uint32_t)i);

		assert_int_equal(frame.frame_pointer, i % 100);
		assert_int_equal(frame.saved, i / 100);
		assert_int_equal(frame.offset, 3);
	}
	assert_int_equal(frame_at(&rows, UNWIND_FRAMES_MAX).rule, UNWIND_UNSUPPORTED);
}

UNIT_MAIN(NULL, NULL)
