// SPDX-License-Identifier: GPL-2.0-or-later
/* compiler.h: compileMethod is found in a library, in an executable and in a process, or is not. */
#include "tests/unit/golden.h"
#include "tests/unit/tiny_elf.h"

#include <errno.h>

#include "runtime/dotnet/compiler.h"
#include "runtime/dotnet/codeheap.h"
#include "tests/unit/clr_world.h"

enum way {
	WAY_LIBRARY,
	WAY_LINKED,
	WAYS,
};

static int find(enum way way, struct span file, struct jit_compiler *compiler, struct error *err)
{
	*err = (struct error){ .text = "" };
	return way == WAY_LIBRARY ? jit_compiler_find(compiler, file, err) :
				    jit_compiler_find_linked(compiler, file, err);
}

static void assert_found_at(enum way way, const struct tiny_elf *tiny, uint64_t entry,
			    uint64_t exit)
{
	struct jit_compiler compiler;
	struct error err;

	if (find(way, tiny_span(tiny), &compiler, &err))
		fail_msg("%s", err.text);
	assert_int_equal(compiler.entry.value, entry);
	assert_int_equal(compiler.exit.value, exit);
}

static void assert_found(enum way way, const struct tiny_elf *tiny)
{
	assert_found_at(way, tiny, TINY_COMPILE, TINY_COMPILE + TINY_RET);
}

static void assert_refused(enum way way, const struct tiny_elf *tiny, const char *why)
{
	struct jit_compiler compiler;
	struct error err;

	assert_int_equal(find(way, tiny_span(tiny), &compiler, &err), -ENOTSUP);
	if (!strstr(err.text, why))
		fail_msg("refused, but not since \"%s\": %s", why, err.text);
}

/* Finding it ---------------------------------------------------------------------------------- */

UNIT_TEST(finds_it)
{
	for (enum tiny_relocations kind = 0; kind < TINY_RELOCATIONS_KINDS; kind++) {
		struct tiny_elf tiny;

		tiny_init(&tiny);
		tiny_finish(&tiny, kind);
		assert_found(WAY_LIBRARY, &tiny);
		assert_found(WAY_LINKED, &tiny);
	}
}

UNIT_TEST(finds_it_behind_a_landing_pad)
{
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x5d, 0xc3 };
	struct tiny_elf tiny;

	tiny_init(&tiny);
	tiny_code(&tiny, code, sizeof(code));
	tiny_finish(&tiny, TINY_RELA);
	assert_found_at(WAY_LIBRARY, &tiny, TINY_COMPILE + 4, TINY_COMPILE + 6);
}

UNIT_TEST(code_that_cannot_be_probed)
{
	static const uint8_t code[] = { 0x55, 0xc3 };
	struct tiny_elf tiny;

	tiny_init(&tiny);
	tiny_code(&tiny, code, sizeof(code));
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(
		WAY_LIBRARY, &tiny,
		"the JIT's compileMethod, at offset 0x440 of the file, is not as expected: it returns or jumps away with a stack");
}

/* As in a library whose functions may be replaced: the object's address is loaded. */
UNIT_TEST(finds_it_by_a_pointer)
{
	struct tiny_elf tiny;

	tiny_init(&tiny);
	tiny.bytes[TINY_GET_JIT + 19] = 0x8b; /* lea -> mov */
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LIBRARY, &tiny, "leads to 0 objects");

	tiny_init(&tiny);
	tiny.bytes[TINY_GET_JIT + 19] = 0x8b;
	tiny_reference(&tiny, TINY_GET_JIT + 21, TINY_FLAG);
	tiny_point(&tiny, TINY_FLAG, TINY_OBJECT);
	tiny_finish(&tiny, TINY_OF_SYMBOLS);
	assert_found(WAY_LIBRARY, &tiny);
}

/* What else getJit may refer to is no object, or none with virtual functions. */
UNIT_TEST(two_objects)
{
	struct tiny_elf tiny;

	tiny_init(&tiny);
	tiny_point(&tiny, TINY_DECOY, TINY_OBJECT);
	tiny_finish(&tiny, TINY_RELA);
	assert_found(WAY_LIBRARY, &tiny);

	tiny_init(&tiny);
	tiny_point(&tiny, TINY_DECOY, TINY_OTHERS); /* which is no data */
	tiny_finish(&tiny, TINY_RELA);
	assert_found(WAY_LIBRARY, &tiny);

	tiny_init(&tiny);
	tiny_point(&tiny, TINY_DECOY, TINY_VTABLE_2);
	tiny_vtable(&tiny, TINY_VTABLE_2, TINY_SIMILAR);
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LIBRARY, &tiny, "leads to 2 objects");

	/* The same one twice is one. */
	tiny_init(&tiny);
	tiny_reference(&tiny, TINY_GET_JIT + 7, TINY_OBJECT);
	tiny_finish(&tiny, TINY_RELA);
	assert_found(WAY_LIBRARY, &tiny);
}

UNIT_TEST(similar_functions)
{
	struct tiny_elf tiny;

	tiny_init(&tiny);
	tiny_copy(&tiny, TINY_SIMILAR, tiny_compile_method, sizeof(tiny_compile_method));
	tiny_finish(&tiny, TINY_RELA);
	assert_found(WAY_LINKED, &tiny);

	/* A virtual function, but not the first of a table. */
	tiny_init(&tiny);
	tiny_copy(&tiny, TINY_SIMILAR, tiny_compile_method, sizeof(tiny_compile_method));
	tiny_point(&tiny, TINY_VTABLE_2, TINY_SIMILAR);
	tiny_finish(&tiny, TINY_RELR);
	assert_found(WAY_LINKED, &tiny);

	tiny_init(&tiny);
	tiny_copy(&tiny, TINY_SIMILAR, tiny_compile_method, sizeof(tiny_compile_method));
	tiny_vtable(&tiny, TINY_VTABLE_2, TINY_SIMILAR);
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LINKED, &tiny,
		       "2 functions begin as it does, more than one first in a table");

	tiny_init(&tiny);
	tiny_vtable(&tiny, TINY_VTABLE_2, TINY_COMPILE);
	tiny_finish(&tiny, TINY_RELA);
	assert_found(WAY_LINKED, &tiny);

	tiny_init(&tiny);
	tiny.bytes[TINY_COMPILE + sizeof(tiny_compile_method) / 2] ^= 1; /* anywhere behind it */
	tiny.bytes[TINY_COMPILE + 14] ^= 1;				 /* the size of its frame */
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LINKED, &tiny, "0 functions begin as it does");
}

/* Damage -------------------------------------------------------------------------------------- */

UNIT_TEST(damaged)
{
	struct tiny_elf tiny;

	tiny_init(&tiny);
	tiny_copy(&tiny, TINY_STRINGS + 1, "gotJit", sizeof("gotJit"));
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LIBRARY, &tiny, "does not export getJit");

	tiny_init(&tiny);
	tiny_put(&tiny, TINY_SYMBOLS + 24 + 8, tiny_address(TINY_OTHERS), 8);
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LIBRARY, &tiny, "getJit, at 0x1600, is not in the file's unwind table");

	tiny_init(&tiny);
	tiny.pointer_count = 0;
	tiny_point(&tiny, TINY_OBJECT, 0x100000);
	tiny_vtable(&tiny, TINY_VTABLE, TINY_COMPILE);
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LIBRARY, &tiny, "leads to 0 objects");

	/* What looks like a table, but lies among code. */
	tiny_init(&tiny);
	tiny.pointer_count = 0;
	tiny_point(&tiny, TINY_OBJECT, TINY_OTHERS);
	tiny_vtable(&tiny, TINY_OTHERS, TINY_COMPILE);
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LIBRARY, &tiny, "leads to 0 objects");
	assert_refused(WAY_LINKED, &tiny, "none first in a table");

	for (unsigned int i = 1; i <= TINY_VIRTUALS; i++) {
		tiny_init(&tiny);
		tiny.pointers[i].value = tiny_address(TINY_DATA);
		tiny_finish(&tiny, TINY_RELA);
		assert_refused(WAY_LIBRARY, &tiny, "leads to 0 objects");
		assert_refused(WAY_LINKED, &tiny, "none first in a table");
	}

	/* Without a row in the unwind table nobody knows where it ends. */
	tiny_init(&tiny);
	tiny.pointers[1].value += 4;
	tiny_finish(&tiny, TINY_RELA);
	assert_refused(WAY_LIBRARY, &tiny, "has no function at 0x1444");
}

UNIT_TEST(damaged_tables)
{
	enum { COMPILE_FDE = TINY_FDE + TINY_FDE_BYTES };
	static const struct {
		uint64_t offset;
		uint64_t value;
		size_t size;
	} damages[] = {
		{ 0, 0, 1 },			      /* the magic number */
		{ 4, ELFCLASS32, 1 },		      /* of 32 bits */
		{ 32, UINT64_MAX, 8 },		      /* segments nowhere */
		{ 56, 0, 2 },			      /* no segments */
		{ TINY_DYNAMIC, DT_NULL, 8 },	      /* no symbols, and nothing else */
		{ TINY_DYNAMIC + 24, 8, 8 },	      /* rows of another size */
		{ TINY_DYNAMIC + 40, UINT64_MAX, 8 }, /* relocations nowhere */
		{ TINY_DYNAMIC + 56, UINT64_MAX, 8 }, /* more of them than there can be */
		{ TINY_DYNAMIC + 56, 23, 8 },	      /* less than one */
		{ TINY_EH_FRAME_HDR, 2, 1 },	      /* version */
		{ TINY_EH_FRAME_HDR + 1, 0x0c, 1 },   /* encodings */
		{ TINY_EH_FRAME_HDR + 2, 0xff, 1 },
		{ TINY_EH_FRAME_HDR + 3, 0x1b, 1 },
		{ TINY_EH_FRAME_HDR + 8, 4, 4 }, /* one row more than there are */
		{ TINY_EH_FRAME_HDR + 8, 0, 4 },
		{ TINY_EH_FRAME_HDR + 24, 0, 4 }, /* an entry elsewhere */
		{ TINY_EH_FRAME_HDR + 24, 1u << 31, 4 },
		{ TINY_EH_FRAME_HDR + 4, 1u << 30, 4 }, /* the entries nowhere */
		{ TINY_CIE + 4, 1, 4 },			/* is that of a function */
		{ TINY_CIE + 16, 0x50, 1 },		/* how addresses are written */
		{ COMPILE_FDE, UINT32_MAX, 4 },		/* the 64-bit format */
		{ COMPILE_FDE, 0, 4 },
		{ COMPILE_FDE + 4, 0, 4 },		/* is no function's */
		{ COMPILE_FDE + 4, TINY_FDE_BYTES, 4 }, /* has a function's as its CIE */
		{ COMPILE_FDE + 4, UINT32_MAX, 4 },
		{ COMPILE_FDE + 8, 0, 4 },  /* another function's entry */
		{ COMPILE_FDE + 12, 0, 4 }, /* its size */
		{ COMPILE_FDE + 12, UINT32_MAX, 4 },
		{ COMPILE_FDE + 12, 0x3c1, 4 }, /* one byte beyond its segment */
		{ COMPILE_FDE + 12, 0x3c0, 4 }, /* and not quite */
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct tiny_elf tiny;

		tiny_init(&tiny);
		tiny_finish(&tiny, TINY_RELA);
		tiny_put(&tiny, damages[i].offset, damages[i].value, damages[i].size);
		assert_refused(WAY_LIBRARY, &tiny, "what .NET compiles from now on");
		assert_refused(WAY_LINKED, &tiny, "what .NET compiles from now on");
	}
}

static void look_at(struct span file)
{
	struct jit_compiler compiler;
	struct error err;

	for (enum way way = 0; way < WAYS; way++) {
		if (find(way, file, &compiler, &err) == 0) {
			assert_true(compiler.entry.value < file.size);
			assert_true(compiler.exit.value < file.size);
			assert_int_equal(file.start[compiler.entry.value], 0x55);
			assert_int_equal(file.start[compiler.exit.value], 0xc3);
		} else {
			assert_true(strlen(err.text) > 0);
		}
	}
}

UNIT_TEST(truncated)
{
	struct tiny_elf tiny;

	for (enum tiny_relocations kind = 0; kind < TINY_RELOCATIONS_KINDS; kind++) {
		tiny_init(&tiny);
		tiny_finish(&tiny, kind);
		for (size_t size = 0; size < TINY_BYTES; size++) {
			_cleanup_(golden_free) struct golden cut = golden_copy(tiny.bytes, size);

			look_at(golden_span(&cut));
		}
	}
}

UNIT_TEST(flipped)
{
	uint32_t random = 20261121;

	for (unsigned int round = 0; round < 20000; round++) {
		struct tiny_elf tiny;
		_cleanup_(golden_free) struct golden copy;

		tiny_init(&tiny);
		tiny_finish(&tiny, round % TINY_RELOCATIONS_KINDS);
		copy = golden_copy(tiny.bytes, TINY_BYTES);
		for (uint32_t flips = 1 + golden_random(&random) % 8; flips > 0; flips--)
			copy.bytes[golden_random(&random) % TINY_BYTES] ^=
				(uint8_t)(1u << golden_random(&random) % 8);
		look_at(golden_span(&copy));
	}
}

/* A file full of relocations is given up after some. */
UNIT_TEST(endless_relocations)
{
	enum { BYTES = 1 << 27 };
	struct tiny_elf tiny;
	_cleanup_(golden_free) struct golden large = { calloc(1, BYTES), BYTES };
	Elf64_Phdr segment;

	assert_non_null(large.bytes);
	tiny_init(&tiny);
	tiny_finish(&tiny, TINY_RELR);
	memcpy(large.bytes, tiny.bytes, TINY_BYTES);
	memset(large.bytes + TINY_BYTES, 0xff, BYTES - TINY_BYTES);
	/* All of the file is a segment, which is found first. */
	memcpy(&segment, large.bytes + sizeof(Elf64_Ehdr), sizeof(segment));
	segment.p_filesz = BYTES;
	segment.p_vaddr = 1u << 30;
	memcpy(large.bytes + sizeof(Elf64_Ehdr), &segment, sizeof(segment));
	for (size_t i = 0; i < 2; i++) {
		const uint64_t relr[] = { 36, (1u << 30) + TINY_BYTES, 35, BYTES - TINY_BYTES };

		memcpy(large.bytes + TINY_DYNAMIC + 32, relr, sizeof(relr));
		look_at(golden_span(&large));
		memset(large.bytes + TINY_BYTES, 0, BYTES - TINY_BYTES);
	}
}

/* In a process -------------------------------------------------------------------------------- */

struct running {
	struct world world;
	struct clr clr;
	struct tiny_elf tiny;
	uint64_t bias;
	uint64_t manager;
};

enum { MANAGER_BYTES = 0x400 };

static void running_init(struct running *r, unsigned int major)
{
	struct world_heap heap;

	world_init(&r->world, major, WORLD_ROOM);
	tiny_init(&r->tiny);
	tiny_point(&r->tiny, TINY_FLAG, TINY_VTABLE_2); /* another object */
	tiny_finish(&r->tiny, TINY_RELA);
	r->bias = world_alloc_at(&r->world, TINY_LOADED_BYTES, WORLD_PAGE);
	tiny_load(&r->tiny, world_at(&r->world, r->bias, TINY_LOADED_BYTES), r->bias);
	r->manager = world_alloc(&r->world, MANAGER_BYTES);
	heap = world_heap(&r->world, 4096, false);
	world_set(&r->world, heap.section, SECTION_JIT_MANAGER, r->manager, 8);
	assert_int_equal(clr_init(&r->clr, r->world.memory, major, 0, r->world.dac_table, NULL), 0);
}

static void running_deinit(struct running *r)
{
	world_deinit(&r->world);
}

static uint64_t running_at(const struct running *r, uint64_t offset)
{
	return r->bias + tiny_address(offset);
}

static int running_find(struct running *r, struct jit_compiler *compiler, struct error *err)
{
	*err = (struct error){ .text = "" };
	memory_forget(r->world.memory);
	return jit_compiler_find_running(compiler, &r->clr, tiny_span(&r->tiny), r->bias, err);
}

static void assert_running_found(struct running *r)
{
	struct jit_compiler compiler;
	struct error err;

	if (running_find(r, &compiler, &err))
		fail_msg("%s", err.text);
	assert_int_equal(compiler.entry.value, TINY_COMPILE);
	assert_int_equal(compiler.exit.value, TINY_COMPILE + TINY_RET);
}

static void assert_running_refused(struct running *r, const char *why)
{
	struct jit_compiler compiler;
	struct error err;

	assert_int_equal(running_find(r, &compiler, &err), -ENOTSUP);
	if (!strstr(err.text, why))
		fail_msg("refused, but not since \"%s\": %s", why, err.text);
}

static void for_each_version(void (*test)(struct running *r))
{
	for (unsigned int major = 8; major <= 10; major++) {
		_cleanup_(running_deinit) struct running r;

		running_init(&r, major);
		test(&r);
	}
}

EACH_VERSION(found_by_the_manager, struct running *r)
{
	uint64_t heap_object = world_alloc(&r->world, 16);

	assert_running_refused(r, "1 owners of compiled code point to 0 objects");
	world_put(&r->world, r->manager + 0x188, running_at(r, TINY_OBJECT), 8);
	assert_running_found(r);
	/* What else there is in such an object. */
	world_put(&r->world, heap_object, running_at(r, TINY_VTABLE), 8);
	world_put(&r->world, r->manager, running_at(r, TINY_VTABLE), 8);
	world_put(&r->world, r->manager + 8, heap_object, 8);
	world_put(&r->world, r->manager + 16, running_at(r, TINY_FLAG), 8);
	world_put(&r->world, r->manager + 24, running_at(r, TINY_COMPILE), 8);
	world_put(&r->world, r->manager + 32, 0x1000, 8);
	world_put(&r->world, r->manager + 40, UINT64_MAX, 8);
	world_put(&r->world, r->manager + 48, running_at(r, TINY_OBJECT), 8);
	world_put(&r->world, r->manager + MANAGER_BYTES - 8, running_at(r, TINY_OTHERS), 8);
	assert_running_found(r);
}

/* Four pointers to code, but where no table of the program's can be. */
EACH_VERSION(tables_elsewhere, struct running *r)
{
	const uint64_t tables[] = { world_alloc(&r->world, 64), running_at(r, TINY_OTHERS) };

	world_put(&r->world, r->manager + 0x108, running_at(r, TINY_OBJECT), 8);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (uint64_t j = 0; j < TINY_VIRTUALS; j++)
			world_put(&r->world, tables[i] + 8 * j, running_at(r, TINY_COMPILE), 8);
		world_put(&r->world, running_at(r, TINY_OBJECT), tables[i], 8);
		assert_running_refused(r, "point to 0 objects");
	}
	world_put(&r->world, running_at(r, TINY_OBJECT), running_at(r, TINY_VTABLE), 8);
	assert_running_found(r);
}

EACH_VERSION(two_candidates, struct running *r)
{
	uint64_t other = running_at(r, TINY_VTABLE_2);

	world_put(&r->world, r->manager + 0x108, running_at(r, TINY_OBJECT), 8);
	world_put(&r->world, r->manager + 0x110, running_at(r, TINY_FLAG), 8);
	assert_running_found(r);
	for (uint64_t i = 0; i < TINY_VIRTUALS; i++)
		world_put(&r->world, other + 8 * i, running_at(r, TINY_OTHERS), 8);
	assert_running_refused(r, "point to 2 objects");
}

/* More than one may have code compiled, of whom one is the JIT's. */
EACH_VERSION(two_managers, struct running *r)
{
	struct world_heap heap = world_heap(&r->world, 4096, false);
	struct world_heap stubs = world_heap(&r->world, 4096, false);
	uint64_t manager = world_alloc(&r->world, MANAGER_BYTES);

	world_put(&r->world, manager + 0x108, running_at(r, TINY_OBJECT), 8);
	world_set(&r->world, stubs.section, SECTION_JIT_MANAGER, manager, 8);
	world_set(&r->world, stubs.section, SECTION_FLAGS, WORLD_SECTION_HEAP | WORLD_SECTION_STUBS,
		  4);
	assert_running_refused(r, "1 owners of compiled code point to 0 objects");
	world_set(&r->world, heap.section, SECTION_JIT_MANAGER, manager, 8);
	assert_running_found(r);
	/* One that is not there, and many. */
	for (unsigned int i = 0; i < 16; i++) {
		heap = world_heap(&r->world, 256, false);
		world_set(&r->world, heap.section, SECTION_JIT_MANAGER, 0x1000 * (i + 1), 8);
	}
	(void)running_find(r, &(struct jit_compiler){ 0 }, &(struct error){ 0 });
}

EACH_VERSION(a_manager_at_the_end, struct running *r)
{
	struct world_heap heap = world_heap(&r->world, 4096, false);
	uint64_t manager = world_alloc_at(&r->world, WORLD_PAGE, WORLD_PAGE) + WORLD_PAGE - 16;

	world_put(&r->world, manager + 8, running_at(r, TINY_OBJECT), 8);
	world_set(&r->world, heap.section, SECTION_JIT_MANAGER, manager, 8);
	assert_running_found(r);
}

/* The memory says otherwise than the file. */
EACH_VERSION(overwritten, struct running *r)
{
	world_put(&r->world, r->manager + 0x108, running_at(r, TINY_OBJECT), 8);
	world_put(&r->world, running_at(r, TINY_VTABLE), running_at(r, TINY_OTHERS), 8);
	assert_running_refused(r, "has no function at 0x1600");
	world_put(&r->world, running_at(r, TINY_VTABLE), running_at(r, TINY_VTABLE), 8);
	assert_running_refused(r, "point to 0 objects");
	world_put(&r->world, running_at(r, TINY_OBJECT), 0, 8);
	assert_running_refused(r, "point to 0 objects");
	world_put(&r->world, r->world.range_map, 0, 8);
	memset(world_at(&r->world, r->world.range_map, WORLD_TABLE_BYTES), 0, WORLD_TABLE_BYTES);
	assert_running_refused(r, "0 owners of compiled code");
}

UNIT_MAIN(NULL, NULL)
