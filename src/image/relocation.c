// SPDX-License-Identifier: GPL-2.0-or-later
/* What a loader would write into a file's data, for finding compileMethod. */
#include "image/relocation.h"

#include <elf.h>
#include <stddef.h>

#include "arch/arch.h"

enum {
	WORD_BYTES = 8,
	BITMAP_WORDS = 63,   /* the lowest bit marks a bitmap */
	WORDS_MAX = 1 << 20, /* the single-file runtime has 24 thousand */

	/* glibc 2.36 is the first whose <elf.h> has them. */
	TAG_RELRSZ = 35,
	TAG_RELR = 36,
	TAGS, /* all that are asked for are below */
};

/* What PT_DYNAMIC says by tag, 0 where it says nothing; of tags that come twice the last. */
static void read_dynamic(const struct elf *elf, uint64_t values[TAGS])
{
	struct cursor c = cursor_over(elf->dynamic.bytes);

	for (;;) {
		uint64_t tag = cursor_u64(&c), value = cursor_u64(&c);

		if (!cursor_ok(&c) || tag == DT_NULL)
			return;
		if (tag < TAGS)
			values[tag] = value;
	}
}

void relocations_begin(struct relocations *walk, const struct elf *elf)
{
	uint64_t dynamic[TAGS] = { 0 };

	read_dynamic(elf, dynamic);
	if (dynamic[DT_RELAENT] != sizeof(Elf64_Rela))
		dynamic[DT_RELASZ] = 0;
	*walk = (struct relocations){
		.elf = elf,
		.rela = cursor_over(elf_bytes(elf, dynamic[DT_RELA], dynamic[DT_RELASZ])),
		.relr = cursor_over(elf_bytes(elf, dynamic[TAG_RELR], dynamic[TAG_RELRSZ])),
		.symbols = dynamic[DT_SYMTAB],
		.left = WORDS_MAX,
	};
}

/* The address of a symbol that the file defines. */
static bool find_symbol(const struct relocations *walk, uint32_t number, uint64_t *address)
{
	struct cursor c = cursor_over(
		elf_bytes(walk->elf, walk->symbols + (uint64_t)number * sizeof(Elf64_Sym),
			  sizeof(Elf64_Sym)));
	uint16_t section;

	cursor_skip(&c, offsetof(Elf64_Sym, st_shndx));
	section = cursor_u16(&c);
	*address = cursor_u64(&c);
	return cursor_ok(&c) && section != SHN_UNDEF && section < SHN_LORESERVE;
}

static bool next_rela(struct relocations *walk, struct relocation *relocation)
{
	while (cursor_left(&walk->rela) >= sizeof(Elf64_Rela) && walk->left) {
		uint64_t at = cursor_u64(&walk->rela), info = cursor_u64(&walk->rela);
		uint64_t addend = cursor_u64(&walk->rela), symbol;
		uint32_t type = ELF64_R_TYPE(info);

		walk->left--;
		relocation->at = at;
		relocation->value = addend;
		if (type == arch.relocation_relative)
			return true;
		if (type != arch.relocation_absolute && type != arch.relocation_global)
			continue;
		if (!find_symbol(walk, ELF64_R_SYM(info), &symbol))
			continue;
		relocation->value = symbol + (type == arch.relocation_absolute ? addend : 0);
		return true;
	}
	return false;
}

/* Here what is relative to the file's address stands in the word itself. */
static bool read_word(const struct elf *elf, uint64_t at, struct relocation *relocation)
{
	struct cursor c = cursor_over(elf_bytes(elf, at, WORD_BYTES));

	relocation->at = at;
	relocation->value = cursor_u64(&c);
	return cursor_ok(&c);
}

static bool next_relr(struct relocations *walk, struct relocation *relocation)
{
	while (walk->left) {
		uint64_t entry;

		walk->left--;
		if (walk->bits) {
			bool is_set = walk->bits & 1;
			uint64_t at = walk->bits_at;

			walk->bits >>= 1;
			walk->bits_at += WORD_BYTES;
			if (is_set && read_word(walk->elf, at, relocation))
				return true;
			continue;
		}
		entry = cursor_u64(&walk->relr);
		if (!cursor_ok(&walk->relr))
			return false;
		if (entry & 1) {
			walk->bits = entry >> 1;
			walk->bits_at = walk->relr_next;
			walk->relr_next += (uint64_t)BITMAP_WORDS * WORD_BYTES;
			continue;
		}
		walk->relr_next = entry + WORD_BYTES;
		if (read_word(walk->elf, entry, relocation))
			return true;
	}
	return false;
}

bool relocations_next(struct relocations *walk, struct relocation *relocation)
{
	return next_rela(walk, relocation) || next_relr(walk, relocation);
}

bool relocation_at(const struct elf *elf, uint64_t address, uint64_t *value)
{
	struct relocation relocation;
	struct relocations walk;

	relocations_begin(&walk, elf);
	while (relocations_next(&walk, &relocation)) {
		if (relocation.at == address) {
			*value = relocation.value;
			return true;
		}
	}
	return false;
}
