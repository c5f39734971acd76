/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small libclrjit.so made of bytes: what is read of one to find compileMethod, and no more. Its
 * pieces lie where the constants say, so that a test can damage any of them.
 *
 * It asserts by abort(), so that the fuzzer, which has no cmocka, can use it too.
 */
#ifndef TESTS_UNIT_TINY_ELF_H
#define TESTS_UNIT_TINY_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/cursor.h"

/* Offsets in the file; the text and the data are linked one and two pages further on. */
enum {
	TINY_INTERPRETER = 0x190,
	TINY_SYMBOLS = 0x1b0, /* none, getJit */
	TINY_STRINGS = 0x1e0,
	TINY_EH_FRAME_HDR = 0x200,
	TINY_CIE = 0x228,
	TINY_FDE = 0x240,
	TINY_FDE_BYTES = 20,
	TINY_RELOCATIONS = 0x280,

	TINY_TEXT = 0x400,
	TINY_GET_JIT = TINY_TEXT,
	TINY_COMPILE = 0x440,
	TINY_SIMILAR = 0x580,
	TINY_OTHERS = 0x600, /* the other virtual functions, 16 bytes each */

	TINY_DATA = 0x800,
	TINY_DYNAMIC = TINY_DATA,
	TINY_FLAG = 0x8f0,
	TINY_OBJECT = 0x900,
	TINY_DECOY = 0x940, /* what getJit refers to as well */
	TINY_VTABLE = 0x980,
	TINY_VTABLE_2 = 0x9c0, /* unused */

	TINY_FAR = 0xbf8, /* from the others, more words than a bitmap has */
	TINY_SECTIONS = 0xc00,
	TINY_BYTES = TINY_SECTIONS + 3 * 64,

	TINY_PAGE = 0x1000,
	TINY_LOADED_BYTES = 4 * TINY_PAGE,
	TINY_VIRTUALS = 4,
	TINY_POINTERS_MAX = 15,
	TINY_FUNCTIONS = 3, /* in the unwind table */
};

enum tiny_relocations {
	TINY_RELA,
	TINY_RELR,
	TINY_OF_SYMBOLS,
	TINY_RELOCATIONS_KINDS,
};

struct tiny_elf {
	uint8_t bytes[TINY_BYTES];
	struct tiny_pointer {
		uint64_t at;
		uint64_t value;
	} pointers[TINY_POINTERS_MAX]; /* as linked */
	size_t pointer_count;
};

static const uint8_t tiny_compile_method[] = {
	0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, /* push %rbp; mov %rsp,%rbp; push %r15 */
	0x41, 0x56, 0x41, 0x54, 0x53,	    /* push %r14; push %r12; push %rbx */
	0x48, 0x83, 0xec, 0x50,		    /* sub $0x50,%rsp */
	0x4d, 0x89, 0xce,		    /* mov %r9,%r14 */
	0x6a, 0x00, 0x50,		    /* push $0; push %rax */
	0xe8, 0x00, 0x02, 0x00, 0x00,	    /* call elsewhere */
	0x48, 0x83, 0xc4, 0x10,		    /* add $0x10,%rsp */
	0x85, 0xc0, 0x75, 0x0d,		    /* test %eax,%eax; jne behind the ret */
	0x48, 0x83, 0xc4, 0x50,		    /* add $0x50,%rsp */
	0x5b, 0x41, 0x5c, 0x41, 0x5e,	    /* pop %rbx; pop %r12; pop %r14 */
	0x41, 0x5f, 0x5d, 0xc3,		    /* pop %r15; pop %rbp; ret */
	0xe8, 0x00, 0x02, 0x00, 0x00,	    /* call what does not come back */
};
enum { TINY_RET = sizeof(tiny_compile_method) - 6 };

static inline void tiny_check(bool right)
{
	if (!right)
		abort();
}

/* The address that what is at @offset of the file is linked at. */
static inline uint64_t tiny_address(uint64_t offset)
{
	return offset + (offset >= TINY_DATA ? 2 * TINY_PAGE : offset >= TINY_TEXT ? TINY_PAGE : 0);
}

static inline void tiny_put(struct tiny_elf *tiny, uint64_t offset, uint64_t value, size_t size)
{
	tiny_check(offset + size <= TINY_BYTES);
	memcpy(tiny->bytes + offset, &value, size);
}

static inline void tiny_copy(struct tiny_elf *tiny, uint64_t offset, const void *bytes, size_t size)
{
	tiny_check(offset + size <= TINY_BYTES);
	memcpy(tiny->bytes + offset, bytes, size);
}

static inline struct span tiny_span(const struct tiny_elf *tiny)
{
	return (struct span){ tiny->bytes, TINY_BYTES };
}

/* The word at @offset is to point to what is at offset @to. */
static inline void tiny_point(struct tiny_elf *tiny, uint64_t offset, uint64_t to)
{
	tiny_check(tiny->pointer_count < TINY_POINTERS_MAX);
	tiny->pointers[tiny->pointer_count++] = (struct tiny_pointer){
		tiny_address(offset),
		tiny_address(to),
	};
}

/* A table of virtual functions at @offset, the first of which is at @first. */
static inline void tiny_vtable(struct tiny_elf *tiny, uint64_t offset, uint64_t first)
{
	tiny_point(tiny, offset, first);
	for (uint64_t i = 1; i < TINY_VIRTUALS; i++)
		tiny_point(tiny, offset + 8 * i, TINY_OTHERS + 16 * i);
}

static inline void tiny_segment(struct tiny_elf *tiny, unsigned int number, uint32_t type,
				uint32_t flags, uint64_t offset, uint64_t size)
{
	Elf64_Phdr segment = {
		.p_type = type,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = tiny_address(offset),
		.p_filesz = size,
		.p_memsz = size,
	};

	tiny_copy(tiny, sizeof(Elf64_Ehdr) + number * sizeof(segment), &segment, sizeof(segment));
}

static inline void tiny_headers(struct tiny_elf *tiny)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = TINY_SECTIONS,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 6,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
	};

	tiny_copy(tiny, 0, &header, sizeof(header));
	tiny_segment(tiny, 0, PT_LOAD, PF_R, 0, TINY_TEXT);
	tiny_segment(tiny, 1, PT_LOAD, PF_R | PF_X, TINY_TEXT, TINY_DATA - TINY_TEXT);
	tiny_segment(tiny, 2, PT_LOAD, PF_R | PF_W, TINY_DATA, TINY_SECTIONS - TINY_DATA);
	tiny_segment(tiny, 3, PT_DYNAMIC, PF_R, TINY_DYNAMIC, 16 * 8);
	tiny_segment(tiny, 4, PT_GNU_EH_FRAME, PF_R, TINY_EH_FRAME_HDR, 12 + 8 * TINY_FUNCTIONS);
	tiny_segment(tiny, 5, PT_INTERP, PF_R, TINY_INTERPRETER, sizeof("/lib/ld.so"));
	tiny_copy(tiny, TINY_INTERPRETER, "/lib/ld.so", sizeof("/lib/ld.so"));
}

static inline void tiny_exports(struct tiny_elf *tiny)
{
	const Elf64_Sym get_jit = {
		.st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = tiny_address(TINY_GET_JIT),
	};
	const Elf64_Shdr symbols = {
		.sh_type = SHT_DYNSYM,
		.sh_offset = TINY_SYMBOLS,
		.sh_size = 2 * sizeof(Elf64_Sym),
		.sh_link = 2,
		.sh_addralign = 8,
		.sh_entsize = sizeof(Elf64_Sym),
	};
	const Elf64_Shdr strings = {
		.sh_type = SHT_STRTAB,
		.sh_offset = TINY_STRINGS,
		.sh_size = 1 + sizeof("getJit"),
		.sh_addralign = 1,
	};

	tiny_copy(tiny, TINY_SYMBOLS + sizeof(get_jit), &get_jit, sizeof(get_jit));
	tiny_copy(tiny, TINY_STRINGS + 1, "getJit", sizeof("getJit"));
	tiny_copy(tiny, TINY_SECTIONS + sizeof(symbols), &symbols, sizeof(symbols));
	tiny_copy(tiny, TINY_SECTIONS + 2 * sizeof(strings), &strings, sizeof(strings));
}

/* Row @number of the unwind table; rows are in the order of the functions. */
static inline void tiny_function(struct tiny_elf *tiny, unsigned int number, uint64_t offset,
				 size_t size)
{
	uint64_t row = TINY_EH_FRAME_HDR + 12 + 8 * number,
		 entry = TINY_FDE + TINY_FDE_BYTES * number;

	tiny_put(tiny, row, tiny_address(offset) - TINY_EH_FRAME_HDR, 4);
	tiny_put(tiny, row + 4, entry - TINY_EH_FRAME_HDR, 4);
	tiny_put(tiny, entry, TINY_FDE_BYTES - 4, 4);
	tiny_put(tiny, entry + 4, entry + 4 - TINY_CIE, 4);
	tiny_put(tiny, entry + 8, tiny_address(offset) - (entry + 8), 4);
	tiny_put(tiny, entry + 12, size, 4);
}

/* The unwind table, and what its entries have in common. */
static inline void tiny_eh_frame(struct tiny_elf *tiny)
{
	static const uint8_t cie[] = {
		13, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b
	};

	tiny_copy(tiny, TINY_EH_FRAME_HDR, (uint8_t[]){ 1, 0x1b, 0x03, 0x3b }, 4);
	tiny_put(tiny, TINY_EH_FRAME_HDR + 4, TINY_CIE - (TINY_EH_FRAME_HDR + 4), 4);
	tiny_put(tiny, TINY_EH_FRAME_HDR + 8, TINY_FUNCTIONS, 4);
	tiny_copy(tiny, TINY_CIE, cie, sizeof(cie));
}

/* What compileMethod is. */
static inline void tiny_code(struct tiny_elf *tiny, const void *code, size_t size)
{
	tiny_check(size <= TINY_SIMILAR - TINY_COMPILE);
	tiny_copy(tiny, TINY_COMPILE, code, size);
	tiny_function(tiny, 1, TINY_COMPILE, size);
}

/* An operand that refers to @to, in an instruction that ends right behind it. */
static inline void tiny_reference(struct tiny_elf *tiny, uint64_t offset, uint64_t to)
{
	tiny_put(tiny, offset, tiny_address(to) - tiny_address(offset + 4), 4);
}

static inline void tiny_get_jit(struct tiny_elf *tiny)
{
	static const uint8_t code[] = {
		0x55, 0x48, 0x89, 0xe5,			  /* push %rbp; mov %rsp,%rbp */
		0x48, 0x8d, 0x3d, 0,	0,    0,    0,	  /* lea decoy(%rip),%rdi */
		0x80, 0x3d, 0,	  0,	0,    0,    0,	  /* cmpb $0,flag(%rip) */
		0x48, 0x8d, 0x0d, 0,	0,    0,    0,	  /* lea object(%rip),%rcx */
		0x48, 0x0f, 0x45, 0xc1, 0x5d, 0xc3, 0xcc, /* cmovne; pop %rbp; ret; int3 */
	};

	tiny_copy(tiny, TINY_GET_JIT, code, sizeof(code));
	tiny_reference(tiny, TINY_GET_JIT + 7, TINY_DECOY);
	tiny_put(tiny, TINY_GET_JIT + 13, tiny_address(TINY_FLAG) - tiny_address(TINY_GET_JIT + 18),
		 4);
	tiny_reference(tiny, TINY_GET_JIT + 21, TINY_OBJECT);
	tiny_function(tiny, 0, TINY_GET_JIT, sizeof(code) - 1);
}

/* All but relocations. */
static inline void tiny_init(struct tiny_elf *tiny)
{
	*tiny = (struct tiny_elf){ .pointer_count = 0 };
	memset(tiny->bytes + TINY_TEXT, 0xcc, TINY_DATA - TINY_TEXT);
	tiny_headers(tiny);
	tiny_exports(tiny);
	tiny_eh_frame(tiny);
	tiny_get_jit(tiny);
	tiny_code(tiny, tiny_compile_method, sizeof(tiny_compile_method));
	tiny_function(tiny, 2, TINY_SIMILAR, sizeof(tiny_compile_method));
	tiny_point(tiny, TINY_OBJECT, TINY_VTABLE);
	tiny_vtable(tiny, TINY_VTABLE, TINY_COMPILE);
}

/* Relocations ------------------------------------------------------------------------------- */

static inline size_t tiny_write_rela(struct tiny_elf *tiny, bool of_symbols)
{
	uint64_t get_jit = tiny_address(TINY_GET_JIT);

	for (size_t i = 0; i < tiny->pointer_count; i++) {
		const struct tiny_pointer *pointer = &tiny->pointers[i];
		Elf64_Rela row = {
			.r_offset = pointer->at,
			.r_info = ELF64_R_INFO(of_symbols,
					       of_symbols ? R_X86_64_64 : R_X86_64_RELATIVE),
			.r_addend = (int64_t)(pointer->value - (of_symbols ? get_jit : 0)),
		};

		tiny_copy(tiny, TINY_RELOCATIONS + i * sizeof(row), &row, sizeof(row));
	}
	return tiny->pointer_count * sizeof(Elf64_Rela);
}

/* Pointers must be in the order of their addresses: an address, then bitmaps of 63 words each. */
static inline size_t tiny_write_relr(struct tiny_elf *tiny)
{
	uint64_t first = tiny->pointers[0].at, at = TINY_RELOCATIONS;
	uint64_t bitmaps[4] = { 1, 1, 1, 1 };

	for (size_t i = 0; i < tiny->pointer_count; i++) {
		const struct tiny_pointer *pointer = &tiny->pointers[i];
		uint64_t word = (pointer->at - first) / 8;

		tiny_put(tiny, pointer->at - 2 * TINY_PAGE, pointer->value, 8);
		tiny_check(word <= 4 * 63);
		if (word > 0)
			bitmaps[(word - 1) / 63] |= 2ull << (word - 1) % 63;
	}
	tiny_put(tiny, at, first, 8);
	tiny_copy(tiny, at + 8, bitmaps, sizeof(bitmaps));
	return 8 + sizeof(bitmaps);
}

static inline void tiny_finish(struct tiny_elf *tiny, enum tiny_relocations kind)
{
	bool is_relr = kind == TINY_RELR;
	size_t size =
		is_relr ? tiny_write_relr(tiny) : tiny_write_rela(tiny, kind == TINY_OF_SYMBOLS);
	const uint64_t dynamic[] = {
		DT_SYMTAB,
		TINY_SYMBOLS,
		DT_RELAENT,
		sizeof(Elf64_Rela),
		is_relr ? 36 : DT_RELA,
		TINY_RELOCATIONS,
		is_relr ? 35 : DT_RELASZ,
		size,
		DT_NULL,
		0,
	};

	tiny_copy(tiny, TINY_DYNAMIC, dynamic, sizeof(dynamic));
}

/* What a loader makes of it: @memory has TINY_LOADED_BYTES, and is to be at @bias. */
static inline void tiny_load(const struct tiny_elf *tiny, uint8_t *memory, uint64_t bias)
{
	memcpy(memory, tiny->bytes, TINY_TEXT);
	memcpy(memory + tiny_address(TINY_TEXT), tiny->bytes + TINY_TEXT, TINY_DATA - TINY_TEXT);
	memcpy(memory + tiny_address(TINY_DATA), tiny->bytes + TINY_DATA,
	       TINY_SECTIONS - TINY_DATA);
	for (size_t i = 0; i < tiny->pointer_count; i++) {
		uint64_t value = tiny->pointers[i].value + bias;

		tiny_check(tiny->pointers[i].at + sizeof(value) <= TINY_LOADED_BYTES);
		memcpy(memory + tiny->pointers[i].at, &value, sizeof(value));
	}
}

#endif
