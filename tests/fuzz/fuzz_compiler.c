// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A small libclrjit.so with any bytes in it, in a file and as it is loaded: compileMethod is found
 * or not, and if it is, probes go to the right instructions.
 *
 * The first byte says how its relocations are written, then each record changes something.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/tiny_elf.h"

#include "runtime/dotnet/codeheap.h"
#include "runtime/dotnet/compiler.h"
#include "base/error.h"
#include "image/relocation.h"
#include "tests/unit/clr_world.h"

enum {
	RECORDS_MAX = 64,
	MANAGER_BYTES = 0x400,
	IS_IN_MEMORY = 0x8000, /* of .offset: what the loader has put there */
};

struct record {
	uint16_t offset;
	uint8_t size;
	uint8_t bytes[8];
} __attribute__((packed));

static void check_found(struct span file, const struct jit_compiler *compiler)
{
	const uint64_t entry = compiler->entry.value, end = compiler->exit.value;

	check(entry < end && end < file.size);
	check(file.start[entry] == 0x55 && file.start[end] == 0xc3);
}

/* Changes of the file, or of the memory that it is loaded into. */
static void apply(const uint8_t *data, size_t size, bool of_memory, uint8_t *to, size_t room)
{
	for (size_t i = 0; i < RECORDS_MAX && (i + 1) * sizeof(struct record) <= size; i++) {
		struct record record;
		size_t offset, count;

		memcpy(&record, data + i * sizeof(record), sizeof(record));
		offset = record.offset & ~IS_IN_MEMORY;
		count = 1 + record.size % sizeof(record.bytes);
		if (!!(record.offset & IS_IN_MEMORY) == of_memory && offset + count <= room)
			memcpy(to + offset, record.bytes, count);
	}
}

static void look_at_file(struct span file)
{
	struct jit_compiler compiler;
	struct relocation relocation;
	struct relocations walk;
	struct file_offset offset;
	struct error err;
	struct elf elf;

	if (jit_compiler_find(&compiler, file, &err) == 0)
		check_found(file, &compiler);
	if (jit_compiler_find_linked(&compiler, file, &err) == 0)
		check_found(file, &compiler);
	if (!elf_init(&elf, file))
		return;
	relocations_begin(&walk, &elf);
	while (relocations_next(&walk, &relocation))
		(void)elf_bytes(&elf, relocation.at, sizeof(uint64_t));
	if (elf_export_offset(&elf, "getJit", &offset))
		check(offset.value < file.size);
}

static void look_at_process(const struct tiny_elf *tiny, const uint8_t *data, size_t size,
			    unsigned int major)
{
	struct jit_compiler compiler;
	struct world_heap heap;
	struct world world;
	uint64_t bias, manager;
	struct error err;
	struct clr clr;

	world_init(&world, major, WORLD_ROOM);
	bias = world_alloc_at(&world, TINY_LOADED_BYTES, WORLD_PAGE);
	manager = world_alloc(&world, MANAGER_BYTES);
	heap = world_heap(&world, 256, false);
	world_set(&world, heap.section, SECTION_JIT_MANAGER, manager, 8);
	world_put(&world, manager + 0x108, bias + tiny_address(TINY_OBJECT), 8);
	tiny_load(tiny, world_at(&world, bias, TINY_LOADED_BYTES), bias);
	/* The JIT's manager comes right after it. */
	apply(data, size, true, world_at(&world, bias, TINY_LOADED_BYTES + MANAGER_BYTES),
	      TINY_LOADED_BYTES + MANAGER_BYTES);
	if (clr_init(&clr, world.memory, major, 0, world.dac_table, &err) == 0 &&
	    jit_compiler_find_running(&compiler, &clr, tiny_span(tiny), bias, &err) == 0)
		check_found(tiny_span(tiny), &compiler);
	world_deinit(&world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tiny_elf tiny;

	if (size == 0)
		return 0;
	tiny_init(&tiny);
	tiny_finish(&tiny, data[0] % TINY_RELOCATIONS_KINDS);
	apply(data + 1, size - 1, false, tiny.bytes, TINY_BYTES);
	look_at_file(tiny_span(&tiny));
	look_at_process(&tiny, data + 1, size - 1, 8 + data[0] / TINY_RELOCATIONS_KINDS % 3);
	return 0;
}
