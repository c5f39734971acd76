// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "runtime/v8/symbols.h"

/* A file with V8 in it, made of bytes: one segment, .dynsym and its strings. */
enum {
	PAGE = 0x1000,
	LINKED_AT = 0x400000,
	SYMBOLS_AT = 0x200,
	STRINGS_AT = 0x800,
	DATA_AT = 0xc00,
	SECTIONS_AT = 0xe00,
	HASH_AT = 0xf00,
	SYMBOLS_MAX = 32,
};

struct file {
	uint8_t bytes[PAGE];
	size_t symbols;
	size_t strings;
	size_t data;
};

static void begin(struct file *file)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = SECTIONS_AT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
	};
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_vaddr = LINKED_AT,
		  .p_filesz = PAGE,
		  .p_memsz = PAGE },
		{ .p_type = PT_TLS, .p_filesz = 4, .p_memsz = 0x29, .p_align = 8 },
	};

	*file = (struct file){ .symbols = 1, .strings = 1 };
	memcpy(file->bytes, &header, sizeof(header));
	memcpy(file->bytes + sizeof(header), segments, sizeof(segments));
}

static void add_symbol(struct file *file, const char *name, uint64_t address, uint64_t size,
		       unsigned char type)
{
	const Elf64_Sym symbol = {
		.st_name = (uint32_t)file->strings,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, type),
		.st_shndx = 1,
		.st_value = address,
		.st_size = size,
	};

	assert_true(file->symbols < SYMBOLS_MAX);
	memcpy(file->bytes + SYMBOLS_AT + file->symbols++ * sizeof(symbol), &symbol,
	       sizeof(symbol));
	memcpy(file->bytes + STRINGS_AT + file->strings, name, strlen(name) + 1);
	file->strings += strlen(name) + 1;
}

static void add_number(struct file *file, const char *name, int32_t value)
{
	memcpy(file->bytes + DATA_AT + file->data, &value, sizeof(value));
	add_symbol(file, name, LINKED_AT + DATA_AT + file->data, sizeof(value), STT_OBJECT);
	file->data += sizeof(value);
}

static struct span finish(struct file *file)
{
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_type = SHT_DYNSYM,
		  .sh_offset = SYMBOLS_AT,
		  .sh_size = file->symbols * sizeof(Elf64_Sym),
		  .sh_link = 2,
		  .sh_addralign = 8,
		  .sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_type = SHT_STRTAB,
		  .sh_offset = STRINGS_AT,
		  .sh_size = file->strings,
		  .sh_addralign = 1 },
	};

	memcpy(file->bytes + SECTIONS_AT, sections, sizeof(sections));
	return (struct span){ file->bytes, sizeof(file->bytes) };
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (uint8_t)*name++;
	return hash;
}

/* As finish(), with .gnu.hash: all names are in one bucket, and its filter lets all through. */
static struct span finish_hashed(struct file *file)
{
	const uint32_t head[] = { 1, 1, 1, 0, UINT32_MAX, UINT32_MAX, 1 };
	const Elf64_Shdr section = {
		.sh_type = SHT_GNU_HASH,
		.sh_offset = HASH_AT,
		.sh_size = sizeof(head) + (file->symbols - 1) * sizeof(uint32_t),
		.sh_link = 1,
		.sh_addralign = 8,
	};
	const struct span bytes = finish(file);

	memcpy(file->bytes + SECTIONS_AT + 3 * sizeof(section), &section, sizeof(section));
	file->bytes[offsetof(Elf64_Ehdr, e_shnum)] = 4;
	memcpy(file->bytes + HASH_AT, head, sizeof(head));
	for (size_t i = 1; i < file->symbols; i++) {
		uint32_t hash;
		Elf64_Sym symbol;

		memcpy(&symbol, file->bytes + SYMBOLS_AT + i * sizeof(symbol), sizeof(symbol));
		hash = hash_of((const char *)file->bytes + STRINGS_AT + symbol.st_name) & ~1U;
		hash |= i + 1 == file->symbols;
		memcpy(file->bytes + HASH_AT + sizeof(head) + (i - 1) * sizeof(hash), &hash,
		       sizeof(hash));
	}
	return bytes;
}

static struct span version_12_4(struct file *file)
{
	begin(file);
	add_number(file, "_ZN2v88internal7Version6major_E", 12);
	add_number(file, "_ZN2v88internal7Version6minor_E", 4);
	add_number(file, "_ZN2v88internal7Version6build_E", 254);
	add_number(file, "_ZN2v88internal7Version6patch_E", 21);
	return finish(file);
}

static int layout_of(struct v8_layout *layout, unsigned int major, unsigned int minor)
{
	const struct v8_version version = { major, minor, 0, 0 };

	return v8_layout_init(layout, &version, NULL, NULL);
}

UNIT_TEST(test_versions)
{
	struct v8_layout layout;
	struct error err;

	assert_int_equal(layout_of(&layout, 12, 4), 0);
	assert_false(layout.guessed);
	assert_int_equal(layout.at[V8_FUNCTION_SHARED], 32);
	assert_false(v8_layout_has(&layout, V8_SHARED_UNTRUSTED_DATA));
	/* Others are taken for the nearest older one, and that is said. */
	assert_int_equal(layout_of(&layout, 12, 9), 0);
	assert_true(layout.guessed);
	assert_int_equal(layout.at[V8_TYPE_SHARED], 274);
	assert_int_equal(layout_of(&layout, 15, 0), 0);
	assert_true(layout.guessed);
	assert_int_equal(layout.at[V8_TYPE_SHARED], 288);
	assert_int_equal(layout_of(&layout, 9, 2), -ENOTSUP);
	assert_int_equal(v8_layout_init(&layout, &(struct v8_version){ 8, 4, 0, 0 }, NULL, &err),
			 -ENOTSUP);
	assert_string_equal(err.text,
			    "V8 8.4 is older than what is understood: use Node 16 or later");
}

UNIT_TEST(test_symbols)
{
	_cleanup_(v8_symbols_deinit) struct v8_symbols symbols;
	struct file file;
	struct span bytes;
	int32_t value;

	(void)version_12_4(&file);
	add_number(&file, "v8dbg_type_Script__SCRIPT_TYPE", 1234);
	add_number(&file, "v8dbg_class_Script__name__Object", -8);
	add_number(&file, "v8_Default_embedded_blob_code_size_", 0x100);
	add_symbol(&file, "v8_Default_embedded_blob_code_", LINKED_AT + 0x400, 0, STT_NOTYPE);
	add_symbol(&file, "_ZN2v88internal18g_current_isolate_E", 0x20, 8, STT_TLS);
	add_symbol(&file, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE",
		   LINKED_AT + DATA_AT, 12, STT_OBJECT);
	bytes = finish(&file);
	assert_true(v8_symbols_present(bytes));
	assert_int_equal(v8_symbols_init(&symbols, bytes, -1, NULL), 0);
	assert_int_equal(symbols.version.major, 12);
	assert_int_equal(symbols.version.patch, 21);
	assert_int_equal(symbols.blob_begin, LINKED_AT + 0x400);
	assert_int_equal(symbols.blob_end, LINKED_AT + 0x500);
	assert_true(symbols.has_tls_isolate);
	assert_int_equal(symbols.tls_isolate, 0x20);
	assert_int_equal(symbols.tls_bytes, 0x30);
	assert_int_equal(symbols.bytecode_sizes.size, 12);
	assert_true(v8_symbols_constant(&symbols, "type_Script__SCRIPT_TYPE", &value));
	assert_int_equal(value, 1234);
	assert_false(v8_symbols_constant(&symbols, "type_Script", &value));
}

static void add_needed(struct file *file)
{
	(void)version_12_4(file);
	add_number(file, "v8dbg_TaggedSize", 8);
	add_symbol(file, "_ZN2v88internal18g_current_isolate_E", 0x20, 8, STT_TLS);
	add_symbol(file, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE",
		   LINKED_AT + DATA_AT, 12, STT_OBJECT);
	add_symbol(file, "_ZN2v88internal4Heap36GarbageCollectionPrologueInSafepointEv",
		   LINKED_AT + 0x400, 16, STT_FUNC);
	add_symbol(file, "_ZN2v88internal4Heap11MarkCompactEv", LINKED_AT + 0x410, 16, STT_FUNC);
}

#define MOVE_END "_ZN2v88internal4Heap36GarbageCollectionEpilogueInSafepointE"

/* By the linker's hash the same is found as by all names; these are read where one is not there. */
UNIT_TEST(test_hashed)
{
	static const char *const ends[] = { MOVE_END "v", MOVE_END "NS0_16GarbageCollectorE" };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(v8_symbols_deinit) struct v8_symbols all, hashed;
		struct file file;
		int32_t value;

		add_needed(&file);
		add_symbol(&file, ends[i], LINKED_AT + 0x420, 16, STT_FUNC);
		assert_int_equal(v8_symbols_init(&all, finish(&file), -1, NULL), 0);
		assert_true(all.read);
		assert_int_equal(v8_symbols_init(&hashed, finish_hashed(&file), -1, NULL), 0);
		assert_false(hashed.read);
		assert_memory_equal(&hashed.version, &all.version, sizeof(all.version));
		assert_memory_equal(hashed.moves, all.moves, sizeof(all.moves));
		assert_int_equal(hashed.moves[V8_MOVE_OLD], LINKED_AT + 0x410);
		assert_true(hashed.has_tls_isolate);
		assert_int_equal(hashed.tls_isolate, 0x20);
		assert_ptr_equal(hashed.bytecode_sizes.start, all.bytecode_sizes.start);
		assert_true(v8_symbols_constant(&hashed, "TaggedSize", &value));
		assert_int_equal(value, 8);
		assert_false(v8_symbols_constant(&hashed, "type_Script", &value));
	}
}

UNIT_TEST(test_hashed_without_one_that_is_needed)
{
	_cleanup_(v8_symbols_deinit) struct v8_symbols symbols;
	struct file file;

	add_needed(&file);
	assert_int_equal(v8_symbols_init(&symbols, finish_hashed(&file), -1, NULL), 0);
	assert_true(symbols.read);
	assert_int_equal(symbols.version.major, 12);
	assert_int_equal(symbols.moves[V8_MOVE_OLD], 0);
}

/* One that no version has is not kept: thousands of these could be made to take minutes. */
UNIT_TEST(test_long_names)
{
	char name[300] = "v8dbg_";
	_cleanup_(v8_symbols_deinit) struct v8_symbols symbols;
	struct file file;

	(void)version_12_4(&file);
	memset(name + 6, 'a', sizeof(name) - 7);
	add_number(&file, name, 1);
	add_number(&file, "v8dbg_short", 2);
	assert_int_equal(v8_symbols_init(&symbols, finish(&file), -1, NULL), 0);
	assert_int_equal(symbols.constant_count, 1);
	assert_string_equal(symbols.constants[0].name, "short");
}

/* What the file says goes before the table, unless it makes no sense. */
UNIT_TEST(test_precedence)
{
	_cleanup_(v8_symbols_deinit) struct v8_symbols symbols;
	struct v8_layout layout;
	struct file file;

	(void)version_12_4(&file);
	add_number(&file, "v8dbg_type_Script__SCRIPT_TYPE", 1234);
	add_number(&file, "v8dbg_class_Script__name__Object", -8);
	add_number(&file, "v8dbg_class_Script__source__Object", 1 << 30);
	assert_int_equal(v8_symbols_init(&symbols, finish(&file), -1, NULL), 0);
	assert_int_equal(v8_layout_init(&layout, &symbols.version, &symbols, NULL), 0);
	assert_int_equal(layout.at[V8_TYPE_SCRIPT], 1234);
	assert_int_equal(layout.at[V8_SCRIPT_NAME], 16);
	assert_int_equal(layout.at[V8_SCRIPT_SOURCE], 8);
	assert_null(layout.bytecode_sizes);
}

UNIT_TEST(test_refused)
{
	struct v8_symbols symbols;
	struct v8_layout layout;
	struct error err;
	struct file file;
	struct span bytes;

	(void)version_12_4(&file);
	add_number(&file, "v8dbg_TaggedSize", 4);
	assert_int_equal(v8_symbols_init(&symbols, finish(&file), -1, NULL), 0);
	assert_int_equal(v8_layout_init(&layout, &symbols.version, &symbols, &err), -ENOTSUP);
	assert_string_equal(
		err.text,
		"this V8 compresses pointers, which is not understood: use a Node.js build that does not");
	v8_symbols_deinit(&symbols);

	begin(&file);
	add_number(&file, "main", 5);
	bytes = finish(&file);
	assert_false(v8_symbols_present(bytes));
	assert_int_equal(v8_symbols_init(&symbols, bytes, -1, &err), -ENOENT);
	assert_int_equal(v8_symbols_init(&symbols, (struct span){ 0 }, -1, &err), -ENOENT);
}

/* Each byte of it, and each part of it: nothing of what it says is believed. */
UNIT_TEST(test_damaged)
{
	static struct file file, other;
	struct v8_symbols symbols;
	struct span bytes;

	(void)version_12_4(&file);
	add_number(&file, "v8_Default_embedded_blob_code_size_", -1);
	add_symbol(&file, "v8_Default_embedded_blob_code_", LINKED_AT + 0x400, 0, STT_NOTYPE);
	add_symbol(&file, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", UINT64_MAX,
		   UINT64_MAX, STT_OBJECT);
	bytes = finish(&file);
	assert_int_equal(v8_symbols_init(&symbols, bytes, -1, NULL), 0);
	assert_int_equal(symbols.blob_begin, 0);
	assert_null(symbols.bytecode_sizes.start);
	v8_symbols_deinit(&symbols);
	for (size_t i = 0; i < sizeof(file.bytes); i += 3) {
		other = file;
		other.bytes[i] ^= 0xff;
		if (v8_symbols_init(&symbols, (struct span){ other.bytes, PAGE }, -1, NULL) == 0)
			v8_symbols_deinit(&symbols);
		if (v8_symbols_init(&symbols, (struct span){ file.bytes, i }, -1, NULL) == 0)
			v8_symbols_deinit(&symbols);
	}
}

UNIT_MAIN(NULL, NULL)
