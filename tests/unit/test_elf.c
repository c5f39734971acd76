// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * elf.h, relocation.h and cfi.h: held against files that somebody else linked, and what a
 * loader that somebody else wrote has made of them.
 */
#include "tests/unit/golden.h"
#include "tests/unit/tiny_elf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "image/cfi.h"
#include "image/relocation.h"
#include "image/symbol_table.h"

static struct golden read_whole(const char *path)
{
	enum { MOST = 1 << 26 };
	struct golden file = { malloc(MOST), 0 };
	FILE *from = fopen(path, "rb");

	assert_non_null(file.bytes);
	assert_non_null(from);
	file.size = fread(file.bytes, 1, MOST, from);
	fclose(from);
	return file;
}

/* What is loaded of @symbol in @library (NULL: ask the loader) is in its file at the offset. */
static void assert_exports(const char *library, const char *symbol, const uint8_t *loaded)
{
	void *handle = dlopen(library, RTLD_NOLOAD | RTLD_NOW);
	struct link_map *map = NULL;
	struct file_offset offset;
	struct span code, last;
	struct golden file;
	struct elf elf;
	uint64_t begin;

	assert_non_null(handle);
	if (!loaded)
		loaded = dlsym(handle, symbol);
	assert_non_null(loaded);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, (void *)&map), 0);
	file = read_whole(map->l_name);
	assert_true(elf_init(&elf, golden_span(&file)));
	assert_true(elf_export_offset(&elf, symbol, &offset));
	assert_int_equal(elf_export(&elf, symbol), (uintptr_t)loaded - map->l_addr);
	code = eh_frame_function(&elf, elf_export(&elf, symbol));
	assert_true(code.size > 0);
	assert_ptr_equal(code.start, file.bytes + offset.value);
	assert_memory_equal(code.start, loaded, code.size);
	/* It is known from within as well, up to its end. */
	last = eh_frame_code(&elf, elf_export(&elf, symbol) + code.size - 1, &begin);
	assert_ptr_equal(last.start, code.start);
	assert_int_equal(last.size, code.size);
	assert_int_equal(begin, elf_export(&elf, symbol));
	assert_null(eh_frame_function(&elf, begin + 1).start);
	assert_null(eh_frame_code(&elf, UINT64_MAX, &begin).start);
	assert_null(eh_frame_code(&elf, 0, &begin).start);
	golden_free(&file);
	dlclose(handle);
}

struct counted {
	uint64_t function; /* where a function of that name is */
	uint64_t variable; /* of each thread's own */
	size_t count;
};

static void on_symbol(void *ctx, const struct elf_symbol *symbol)
{
	struct counted *counted = ctx;

	counted->count++;
	if (strcmp(symbol->name, "mmap") == 0)
		counted->function = symbol->address;
	if (strcmp(symbol->name, "errno") == 0 && symbol->is_thread_local)
		counted->variable = symbol->address + 1;
}

struct hashed {
	struct span file;
	int fd; /* -1: not looked up by that */
	struct symbol_table table;
	size_t count;
	size_t same;
};

UNIT_TEST(all_symbols)
{
	struct counted counted = { .count = 0 };
	struct link_map *map = NULL;
	void *handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
	struct golden file;
	struct elf elf;

	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, (void *)&map), 0);
	file = read_whole(map->l_name);
	assert_true(elf_init(&elf, golden_span(&file)));
	elf_each_symbol(&elf, on_symbol, &counted);
	assert_true(counted.count > 1000);
	assert_int_equal(counted.function, elf_export(&elf, "mmap"));
	assert_true(counted.variable > 0 && counted.variable <= elf.tls_bytes);
	assert_int_equal(elf.tls_bytes % 8, 0);
	/* What is cut off has none. */
	assert_true(elf_init(&elf, (struct span){ file.bytes, file.size / 2 }));
	counted.count = 0;
	elf_each_symbol(&elf, on_symbol, &counted);
	assert_int_equal(counted.count, 0);
	golden_free(&file);
	dlclose(handle);
}

/* A file that names one table of symbols in many sections is not read as often. */
UNIT_TEST(same_symbols_again)
{
	enum { AGAIN = 50 };
	_cleanup_(golden_free) struct golden file = read_whole("/proc/self/exe");
	struct counted once = { 0 }, again = { 0 };
	size_t room, dynsym = 0;
	Elf64_Shdr *tables;
	Elf64_Ehdr header;
	struct elf elf;

	assert_true(elf_init(&elf, golden_span(&file)));
	elf_each_symbol(&elf, on_symbol, &once);
	assert_true(once.count > 0);
	memcpy(&header, file.bytes, sizeof(header));
	/* All sections once more at the end, and then the one again and again. */
	room = (size_t)header.e_shnum + AGAIN;
	tables = calloc(room, sizeof(*tables));
	assert_non_null(tables);
	memcpy(tables, file.bytes + header.e_shoff, header.e_shnum * sizeof(*tables));
	while (tables[dynsym].sh_type != SHT_DYNSYM)
		assert_true(++dynsym < header.e_shnum);
	for (size_t i = header.e_shnum; i < room; i++)
		tables[i] = tables[dynsym];
	header.e_shoff = (file.size + 7) & ~(size_t)7;
	header.e_shnum += AGAIN;
	file.size = header.e_shoff + room * sizeof(*tables);
	file.bytes = realloc(file.bytes, file.size);
	assert_non_null(file.bytes);
	memcpy(file.bytes + header.e_shoff, tables, room * sizeof(*tables));
	memcpy(file.bytes, &header, sizeof(header));
	assert_true(elf_init(&elf, golden_span(&file)));
	elf_each_symbol(&elf, on_symbol, &again);
	assert_int_equal(again.count, once.count);
	free(tables);
}

static void look_up(void *ctx, const struct elf_symbol *symbol)
{
	struct hashed *hashed = ctx;
	Elf64_Sym found;

	hashed->count++;
	assert_int_equal(symbol_table_look_up(&hashed->table, hashed->file, hashed->fd,
					      symbol->name, &found),
			 0);
	/* A name can have several versions, at several addresses. */
	assert_string_equal(symbol_table_name(&hashed->table, &found), symbol->name);
	hashed->same += found.st_value == symbol->address;
}

static int look_for(const struct hashed *hashed, const char *name)
{
	Elf64_Sym found;

	return symbol_table_look_up(&hashed->table, hashed->file, hashed->fd, name, &found);
}

static void look_up_all(struct hashed *hashed)
{
	char longest[1000] = "";
	struct elf elf;

	memset(longest, 'x', sizeof(longest) - 1);
	hashed->count = hashed->same = 0;
	assert_true(elf_init(&elf, hashed->file));
	elf_each_symbol(&elf, look_up, hashed);
	assert_true(hashed->count > 1000 && hashed->same > hashed->count * 9 / 10);
	assert_int_equal(look_for(hashed, "no_such_name"), -ENOENT);
	assert_int_equal(look_for(hashed, longest), -ENOENT);
	assert_int_equal(look_for(hashed, ""), -ENOENT);
}

/* Of a file that has become shorter since it was mapped nothing is found, and nothing breaks. */
static void look_up_in_cut(struct hashed *hashed)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	hashed->fd = fileno(file);
	assert_int_equal(look_for(hashed, "mmap"), -ENOENT);
	assert_int_equal(fclose(file), 0);
	hashed->fd = -1;
}

static void look_up_in(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	struct hashed hashed = { .fd = -1 };
	struct link_map *map = NULL;
	struct golden file;

	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, (void *)&map), 0);
	file = read_whole(map->l_name);
	hashed.file = golden_span(&file);
	assert_true(symbol_table_find(&hashed.table, hashed.file, SHT_DYNSYM));
	look_up_all(&hashed);
	hashed.fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	assert_true(hashed.fd >= 0);
	look_up_all(&hashed);
	close(hashed.fd);
	look_up_in_cut(&hashed);
	/* Whatever the words of the hash are, nobody reads elsewhere. */
	srand(1);
	for (int i = 0; i < 2000; i++) {
		size_t at = (size_t)rand() % (1 << 16);

		file.bytes[at] = (uint8_t)rand();
		if (symbol_table_find(&hashed.table, hashed.file, SHT_DYNSYM))
			(void)look_for(&hashed, "mmap");
	}
	golden_free(&file);
	dlclose(handle);
}

/* What the linker has hashed is found by that, and nothing else; what is damaged hurts nobody. */
UNIT_TEST(hashed_symbols)
{
	look_up_in("libc.so.6");
	look_up_in("libstdc++.so.6"); /* its names are longer than what is read at a time */
}

UNIT_TEST(exported_functions)
{
	struct file_offset offset;
	struct golden file;
	struct tiny_elf tiny;
	struct elf elf;

	assert_exports("libc.so.6", "mmap", NULL);
	/* dlsym() does not give this one away, but the loader tells debuggers. */
	assert_exports("ld-linux-x86-64.so.2", "_dl_debug_state",
		       (const uint8_t *)(uintptr_t)_r_debug.r_brk);

	file = read_whole("/proc/self/exe");
	assert_true(elf_init(&elf, golden_span(&file)));
	assert_false(elf_export_offset(&elf, "mmap", &offset)); /* which it imports */
	golden_free(&file);

	tiny_init(&tiny);
	assert_true(elf_init(&elf, tiny_span(&tiny)));
	assert_true(elf_export_offset(&elf, "getJit", &offset));
	assert_int_equal(offset.value, TINY_GET_JIT);
	tiny_put(&tiny, TINY_SYMBOLS + 24 + 4, STT_GNU_IFUNC, 1);
	assert_false(elf_export_offset(&elf, "getJit", &offset));
	tiny_put(&tiny, TINY_SYMBOLS + 24 + 4, STT_FUNC, 1);
	tiny_put(&tiny, TINY_SYMBOLS + 24 + 8, tiny_address(TINY_OBJECT), 8);
	assert_false(elf_export_offset(&elf, "getJit", &offset));
}

/* Pointers of our own, as the loader has put them there. */
static const char *const pointers[] = { "one", "two", "three" };

UNIT_TEST(relocations_of_our_own)
{
	_cleanup_(golden_free) struct golden file = read_whole("/proc/self/exe");
	struct link_map *map = NULL;
	uint64_t value;
	struct elf elf;

	assert_true(elf_init(&elf, golden_span(&file)));
	assert_int_equal(dlinfo(dlopen(NULL, RTLD_NOW), RTLD_DI_LINKMAP, (void *)&map), 0);
	for (size_t i = 0; map->l_addr && i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		const char *const volatile *at = &pointers[i];

		assert_true(relocation_at(&elf, (uintptr_t)at - map->l_addr, &value));
		assert_int_equal(value, (uintptr_t)*at - map->l_addr);
	}
	assert_false(relocation_at(&elf, 1, &value));
}

/* Each way of writing them says the same. */
UNIT_TEST(relocations_of_each_kind)
{
	for (enum tiny_relocations kind = 0; kind < TINY_RELOCATIONS_KINDS; kind++) {
		struct relocation relocation;
		struct relocations walk;
		struct tiny_elf tiny;
		struct elf elf;

		tiny_init(&tiny);
		tiny_point(&tiny, TINY_FAR, TINY_FLAG);
		tiny_finish(&tiny, kind);
		assert_true(elf_init(&elf, tiny_span(&tiny)));
		relocations_begin(&walk, &elf);
		for (size_t i = 0; i < tiny.pointer_count; i++) {
			uint64_t value;

			assert_true(relocations_next(&walk, &relocation));
			assert_int_equal(relocation.at, tiny.pointers[i].at);
			assert_int_equal(relocation.value, tiny.pointers[i].value);
			assert_true(relocation_at(&elf, tiny.pointers[i].at, &value));
			assert_int_equal(value, relocation.value);
		}
		assert_false(relocations_next(&walk, &relocation));
		assert_false(relocation_at(&elf, tiny_address(TINY_DECOY), &relocation.value));
	}
}

/* Those to symbols that another file has say nothing here. */
UNIT_TEST(relocations_to_other_files)
{
	struct tiny_elf tiny;
	uint64_t value;
	struct elf elf;

	tiny_init(&tiny);
	tiny_finish(&tiny, TINY_OF_SYMBOLS);
	assert_true(elf_init(&elf, tiny_span(&tiny)));
	tiny_put(&tiny, TINY_RELOCATIONS + 8, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 8);
	assert_true(relocation_at(&elf, tiny_address(TINY_OBJECT), &value));
	assert_int_equal(value, tiny_address(TINY_GET_JIT));
	tiny_put(&tiny, TINY_RELOCATIONS + 8, ELF64_R_INFO(1, R_X86_64_DTPMOD64), 8);
	assert_false(relocation_at(&elf, tiny_address(TINY_OBJECT), &value));
	tiny_put(&tiny, TINY_RELOCATIONS + 8, ELF64_R_INFO(0, R_X86_64_64), 8);
	assert_false(relocation_at(&elf, tiny_address(TINY_OBJECT), &value));
	tiny_put(&tiny, TINY_RELOCATIONS + 8, ELF64_R_INFO(UINT32_MAX, R_X86_64_64), 8);
	assert_false(relocation_at(&elf, tiny_address(TINY_OBJECT), &value));
	assert_true(relocation_at(&elf, tiny_address(TINY_VTABLE), &value));
	assert_int_equal(value, tiny_address(TINY_COMPILE));
}

UNIT_TEST(addresses)
{
	struct file_offset offset;
	struct tiny_elf tiny;
	struct elf elf;

	tiny_init(&tiny);
	assert_true(elf_init(&elf, tiny_span(&tiny)));
	assert_true(elf_code_offset(&elf, tiny_address(TINY_DATA - 1), &offset));
	assert_int_equal(offset.value, TINY_DATA - 1);
	assert_false(elf_code_offset(&elf, tiny_address(TINY_DATA - 1) + 1, &offset));
	assert_false(elf_code_offset(&elf, tiny_address(TINY_DATA), &offset));
	assert_false(elf_is_code(&elf, tiny_address(TINY_TEXT) - 1));
	assert_int_equal(elf_bytes_from(&elf, tiny_address(TINY_OBJECT)).size,
			 TINY_SECTIONS - TINY_OBJECT);
	assert_non_null(elf_bytes(&elf, tiny_address(TINY_SECTIONS - 8), 8).start);
	assert_null(elf_bytes(&elf, tiny_address(TINY_SECTIONS - 8), 9).start);
	assert_null(elf_bytes(&elf, tiny_address(TINY_OBJECT), UINT64_MAX).start);
	assert_null(elf_bytes_from(&elf, UINT64_MAX).start);
}

/* By the mapping that the segment's first page begins, by one of a later page, and by none. */
UNIT_TEST(biases)
{
	const uint64_t bias = 0x7f0000000000, page = TINY_PAGE;
	struct elf elf = { .segments = { { .bytes = { .size = 3 * page },
					   .offset = 0x400,
					   .address = page + 0x400,
					   .executable = true },
					 { .bytes = { .size = page },
					   .offset = 3 * page + 0x400,
					   .address = 8 * page + 0x400,
					   .executable = true },
					 { .bytes = { .size = page },
					   .offset = 5 * page,
					   .address = 20 * page } },
			   .segment_count = 3 };
	uint64_t found;

	assert_true(elf_load_bias(&elf, (struct file_offset){ 0 }, (struct address){ bias + page },
				  &found));
	assert_int_equal(found, bias);
	assert_false(elf_load_bias(&elf, (struct file_offset){ 2 * page },
				   (struct address){ bias + 3 * page }, &found));
	assert_true(elf_part_bias(&elf, (struct file_offset){ 2 * page },
				  (struct address){ bias + 3 * page }, &found));
	assert_int_equal(found, bias);
	/* The page that two segments share is the second's where it is mapped from its start. */
	assert_true(elf_part_bias(&elf, (struct file_offset){ 3 * page },
				  (struct address){ bias + 8 * page }, &found));
	assert_int_equal(found, bias);
	assert_false(elf_part_bias(&elf, (struct file_offset){ 5 * page },
				   (struct address){ bias + 20 * page }, &found));
	assert_false(elf_part_bias(&elf, (struct file_offset){ UINT64_MAX },
				   (struct address){ bias }, &found));
}

UNIT_MAIN(NULL, NULL)
