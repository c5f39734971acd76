// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the JIT's file to where compileMethod begins and returns: for follow_code.c, before the
 * probes are there.
 */
#include "runtime/dotnet/compiler.h"

#include <inttypes.h>
#include <search.h>

#include "runtime/dotnet/codeheap.h"
#include "code/compiler_code.h"
#include "base/error.h"
#include "base/sorted.h"
#include "image/cfi.h"
#include "image/elf.h"
#include "image/relocation.h"

enum {
	WORD_BYTES = 8,

	/* Virtual functions of ICorJitCompiler: compileMethod is the first of at least these. */
	VTABLE_CHECKED = 4,

	/* So much of the JIT manager is searched: m_jit is at 0x108 (.NET 10) or 0x188 (8, 9). */
	MANAGER_BYTES = 0x400,

	SIMILAR_MAX = 16,  /* functions that begin alike */
	POINTERS_MAX = 16, /* to those */
	MANAGERS_MAX = 8,
};

/* What it means, what can be done about it, and why. */
#define refuse(err, fmt, ...)                                                                   \
	error_set(err, -ENOTSUP,                                                                \
		  "what .NET compiles from now on cannot be followed (start place-probe again " \
		  "to see it): " fmt,                                                           \
		  ##__VA_ARGS__)

/* An object with virtual functions, as linked. */
struct found {
	uint64_t object;
	uint64_t compile_method;
	unsigned int count; /* of different ones; the first is kept */
};

static void add_found(struct found *found, uint64_t object, uint64_t compile_method)
{
	if (found->count && found->object == object)
		return;
	if (found->count++)
		return;
	found->object = object;
	found->compile_method = compile_method;
}

/* The end of all ways: is there a function at @address that can be probed? */
static int check_function(struct jit_compiler *compiler, const struct elf *elf, uint64_t address,
			  struct error *err)
{
	struct span code = eh_frame_function(elf, address);
	struct file_offset begin;
	struct code_ends ends;
	const char *problem;

	if (!code.start || !elf_code_offset(elf, address, &begin))
		return refuse(err,
			      "the file's unwind table has no function at 0x%" PRIx64
			      ", where the JIT's compileMethod should be",
			      address);
	problem = compiler_check(code, &ends);
	if (problem)
		return refuse(err,
			      "the JIT's compileMethod, at offset 0x%" PRIx64
			      " of the file, is not as expected: %s",
			      begin.value, problem);
	compiler->entry.value = begin.value + ends.entry;
	compiler->exit.value = begin.value + ends.exit;
	return 0;
}

/* The first function of the table of virtual functions at @vtable, if it may be the compiler's. */
static bool read_vtable(const struct elf *elf, uint64_t vtable, uint64_t *first)
{
	uint64_t function;

	if (elf_is_code(elf, vtable))
		return false;
	for (unsigned int i = 0; i < VTABLE_CHECKED; i++) {
		if (!relocation_at(elf, vtable + (uint64_t)i * WORD_BYTES, &function) ||
		    !elf_is_code(elf, function))
			return false;
		if (i == 0)
			*first = function;
	}
	return true;
}

/* libclrjit.so ------------------------------------------------------------------------------ */

static void look_at_reference(struct found *found, const struct elf *elf,
			      const struct code_reference *reference)
{
	uint64_t object = reference->address, vtable, function;

	if (reference->is_loaded && !relocation_at(elf, object, &object))
		return;
	if (relocation_at(elf, object, &vtable) && read_vtable(elf, vtable, &function))
		add_found(found, object, function);
}

int jit_compiler_find(struct jit_compiler *compiler, struct span file, struct error *err)
{
	struct code_reference references[COMPILER_REFERENCES_MAX];
	struct found found = { 0 };
	uint64_t get_jit;
	struct span code;
	struct elf elf;
	size_t count;

	if (!elf_init(&elf, file))
		return refuse(err, "the JIT's library is no 64-bit ELF file");
	get_jit = elf_export(&elf, "getJit");
	if (!get_jit)
		return refuse(err, "the JIT's library does not export getJit");
	code = eh_frame_function(&elf, get_jit);
	if (!code.start)
		return refuse(err, "getJit, at 0x%" PRIx64 ", is not in the file's unwind table",
			      get_jit);
	count = compiler_references(code, get_jit, references);
	for (size_t i = 0; i < count; i++)
		look_at_reference(&found, &elf, &references[i]);
	if (found.count != 1)
		return refuse(err,
			      "getJit, at 0x%" PRIx64
			      ", leads to %u objects with virtual functions, and not to one",
			      get_jit, found.count);
	return check_function(compiler, &elf, found.compile_method, err);
}

/* Single-file executables ------------------------------------------------------------------- */

/* Add the addresses, as linked, of code that begins with @prologue, up to SIMILAR_MAX. */
static size_t add_similar(const struct elf_segment *segment, struct span prologue,
			  uint64_t similar[SIMILAR_MAX], size_t count)
{
	struct span rest = segment->bytes;
	const uint8_t *hit;

	while (count < SIMILAR_MAX &&
	       (hit = memmem(rest.start, rest.size, prologue.start, prologue.size))) {
		similar[count++] = segment->address + (uint64_t)(hit - segment->bytes.start);
		rest.size -= (size_t)(hit + 1 - rest.start);
		rest.start = hit + 1;
	}
	return count;
}

/* Those that begin as compileMethod does. */
static size_t find_similar(const struct elf *elf, uint64_t similar[SIMILAR_MAX])
{
	size_t count = 0;

	for (unsigned int i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		for (size_t p = 0; segment->executable && p < COMPILER_PROLOGUES; p++)
			count = add_similar(segment, compiler_prologues[p], similar, count);
	}
	return count;
}

/* The words that will point to one of those functions; no more than @room of them. */
static size_t find_pointers(const struct elf *elf, const uint64_t *similar, size_t similar_count,
			    uint64_t pointers[], size_t room)
{
	struct relocation relocation;
	struct relocations walk;
	size_t count = 0;

	relocations_begin(&walk, elf);
	while (count < room && relocations_next(&walk, &relocation)) {
		for (size_t i = 0; i < similar_count && count < room; i++) {
			if (relocation.value == similar[i])
				pointers[count++] = relocation.at;
		}
	}
	return count;
}

int jit_compiler_find_linked(struct jit_compiler *compiler, struct span file, struct error *err)
{
	uint64_t similar[SIMILAR_MAX], pointers[POINTERS_MAX], function;
	struct found found = { 0 };
	struct elf elf;
	size_t count, pointer_count;

	if (!elf_init(&elf, file))
		return refuse(err, "the program is no 64-bit ELF file");
	count = find_similar(&elf, similar);
	pointer_count = find_pointers(&elf, similar, count, pointers, POINTERS_MAX);
	/* Of those, the ones that a table of virtual functions begins with. */
	for (size_t i = 0; i < pointer_count; i++) {
		if (read_vtable(&elf, pointers[i], &function))
			add_found(&found, function, function);
	}
	if (found.count != 1)
		return refuse(
			err,
			"the JIT's compileMethod is not to be told from others in this program: %zu functions begin as it does, %s first in a table of virtual functions",
			count, found.count ? "more than one" : "none");
	return check_function(compiler, &elf, found.compile_method, err);
}

/* Does @pointer lead to an object of the file's with virtual functions? */
static void look_at_pointer(struct found *found, const struct elf *elf, struct look look,
			    uint64_t pointer, uint64_t bias)
{
	uint64_t vtable, first = 0;

	if (!elf_bytes_from(elf, pointer - bias).start)
		return;
	vtable = look_u64(&look, pointer);
	if (!elf_bytes_from(elf, vtable - bias).start || elf_is_code(elf, vtable - bias))
		return;
	for (unsigned int i = 0; i < VTABLE_CHECKED; i++) {
		uint64_t function = look_u64(&look, vtable + (uint64_t)i * WORD_BYTES);

		if (look.bad || !elf_is_code(elf, function - bias))
			return;
		if (i == 0)
			first = function;
	}
	add_found(found, pointer - bias, first - bias);
}

static void look_at_manager(struct found *found, const struct elf *elf, struct memory *memory,
			    uint64_t manager, uint64_t bias)
{
	for (unsigned int offset = 0; offset < MANAGER_BYTES; offset += WORD_BYTES) {
		struct look look = look_into(memory);
		uint64_t pointer = look_u64(&look, manager + offset);

		if (!look.bad)
			look_at_pointer(found, elf, look, pointer, bias);
	}
}

int jit_compiler_find_running(struct jit_compiler *compiler, const struct clr *clr,
			      struct span file, uint64_t bias, struct error *err)
{
	struct code_heap_nodes nodes;
	uint64_t managers[MANAGERS_MAX];
	size_t count = 0;
	struct found found = { 0 };
	struct elf elf;
	int result;

	if (!elf_init(&elf, file))
		return refuse(err, "the program is no 64-bit ELF file");
	result = code_heap_nodes_read(&nodes, clr, err);
	if (result)
		return result;
	for (size_t i = 0; i < nodes.count && count < MANAGERS_MAX; i++) {
		if (nodes.list[i].manager)
			lsearch(&nodes.list[i].manager, managers, &count, sizeof(*managers),
				by_leading_number);
	}
	code_heap_nodes_deinit(&nodes);
	for (size_t i = 0; i < count; i++)
		look_at_manager(&found, &elf, clr->memory, managers[i], bias);
	if (found.count != 1)
		return refuse(
			err,
			"the runtime's %zu owners of compiled code point to %u objects of the program's with virtual functions, and not to one",
			count, found.count);
	return check_function(compiler, &elf, found.compile_method, err);
}
