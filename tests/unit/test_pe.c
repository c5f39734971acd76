// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cleanup.h"
#include "tests/unit/golden.h"

#include <errno.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r.h"
#include "base/error.h"
#include "image/pe.h"

/* As tests/golden/images.py writes them. */
enum { TEXT_RVA = 0x1200, TEXT_RAW = 0x200, SECTION_HEADER = 0x148 };

UNIT_TEST(test_headers)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-r2r.dll");
	struct error err;
	struct pe pe;

	assert_int_equal(pe_init(&pe, golden_span(&file), &err), 0);
	assert_int_equal(pe.machine ^ PE_MACHINE_XOR_LINUX, PE_MACHINE_AMD64);
	assert_int_equal(pe.section_count, 1);
	assert_string_equal(pe.sections[0].name, ".text");
	assert_int_equal(pe.sections[0].rva.value, TEXT_RVA);
	assert_int_equal(pe.sections[0].raw_offset, TEXT_RAW);
	assert_int_equal(pe.sections[0].raw_size, file.size - TEXT_RAW);
	assert_true(pe.sections[0].executable);
	assert_int_equal(pe.image_size, TEXT_RVA + file.size - TEXT_RAW);
	assert_int_equal(pe.directories[PE_DIRECTORY_CLI].size, 72);
	assert_int_equal(pe.directories[PE_DIRECTORY_EXPORT].size, 0);
}

UNIT_TEST(test_spaces_convert_within_the_section_only)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-r2r.dll");
	uint32_t end = TEXT_RVA + (uint32_t)file.size - TEXT_RAW;
	struct file_offset offset;
	struct rva rva;
	struct pe pe;

	assert_int_equal(pe_init(&pe, golden_span(&file), NULL), 0);
	assert_true(pe_rva_to_offset(&pe, (struct rva){ TEXT_RVA }, &offset));
	assert_int_equal(offset.value, TEXT_RAW);
	assert_true(pe_rva_to_offset(&pe, (struct rva){ end - 1 }, &offset));
	assert_int_equal(offset.value, file.size - 1);
	assert_false(pe_rva_to_offset(&pe, (struct rva){ end }, &offset));
	assert_false(pe_rva_to_offset(&pe, (struct rva){ TEXT_RVA - 1 }, &offset));
	assert_false(pe_rva_to_offset(&pe, (struct rva){ UINT32_MAX }, &offset));

	assert_true(pe_offset_to_rva(&pe, (struct file_offset){ TEXT_RAW + 5 }, &rva));
	assert_int_equal(rva.value, TEXT_RVA + 5);
	assert_false(pe_offset_to_rva(&pe, (struct file_offset){ TEXT_RAW - 1 }, &rva));
	assert_false(pe_offset_to_rva(&pe, (struct file_offset){ file.size }, &rva));
	assert_true(pe_is_code(&pe, (struct rva){ TEXT_RVA }));
	assert_false(pe_is_code(&pe, (struct rva){ end }));
	assert_null(pe_bytes(&pe, (struct rva){ end - 4 }, 5).start);
	assert_int_equal(pe_bytes(&pe, (struct rva){ end - 4 }, 4).size, 4);
}

static void put_u32(struct golden *file, size_t offset, uint32_t value)
{
	for (size_t i = 0; i < sizeof(value); i++)
		file->bytes[offset + i] = (uint8_t)(value >> 8 * i);
}

/* A section may be longer in memory than in the file, and promise more than the file has. */
UNIT_TEST(test_a_section_longer_than_its_bytes)
{
	_cleanup_(golden_free) struct golden file = golden_read("tiny-r2r.dll");
	uint32_t in_file = (uint32_t)file.size - TEXT_RAW;
	struct file_offset offset;
	struct cursor c;
	struct pe pe;

	put_u32(&file, SECTION_HEADER + 8, in_file + 0x100); /* VirtualSize */
	put_u32(&file, SECTION_HEADER + 16, in_file + 0x80); /* SizeOfRawData */
	assert_int_equal(pe_init(&pe, golden_span(&file), NULL), 0);
	assert_int_equal(pe.sections[0].raw_size, in_file);
	assert_true(pe_is_code(&pe, (struct rva){ TEXT_RVA + in_file + 0xff }));
	assert_false(pe_is_code(&pe, (struct rva){ TEXT_RVA + in_file + 0x100 }));
	assert_false(pe_rva_to_offset(&pe, (struct rva){ TEXT_RVA + in_file }, &offset));
	c = pe_cursor(&pe, (struct rva){ TEXT_RVA + in_file - 1 });
	(void)cursor_u8(&c);
	assert_true(cursor_ok(&c));
	(void)cursor_u8(&c);
	assert_false(cursor_ok(&c));

	put_u32(&file, SECTION_HEADER + 20, UINT32_MAX); /* PointerToRawData */
	assert_int_equal(pe_init(&pe, golden_span(&file), NULL), 0);
	assert_false(pe_rva_to_offset(&pe, (struct rva){ TEXT_RVA }, &offset));
}

UNIT_TEST(test_what_is_no_pe)
{
	static const uint8_t elf[64] = { 0x7f, 'E', 'L', 'F' };
	static const uint8_t dos[64] = { 'M', 'Z', [0x3c] = 0xff, 0xff, 0xff, 0xff };
	struct error err = { "" };
	struct pe pe;

	assert_int_equal(pe_init(&pe, (struct span){ elf, sizeof(elf) }, &err), -EBADMSG);
	assert_string_equal(err.text, "not a PE file: it does not begin with MZ");
	assert_int_equal(pe_init(&pe, (struct span){ dos, sizeof(dos) }, &err), -EBADMSG);
	assert_string_equal(err.text, "not a PE file: it has no PE signature");
	assert_int_equal(pe_init(&pe, (struct span){ 0 }, &err), -EBADMSG);
}

UNIT_TEST(test_kinds)
{
	static const struct {
		const char *file;
		enum r2r_kind kind;
	} cases[] = {
		{ "tiny-il.dll", R2R_NONE },
		{ "tiny-r2r.dll", R2R_IMAGE },
		{ "tiny-composite.dll", R2R_COMPOSITE },
		{ "tiny-component.dll", R2R_COMPONENT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct golden file = golden_read(cases[i].file);
		struct span owner;
		struct pe pe;

		assert_int_equal(pe_init(&pe, golden_span(&file), NULL), 0);
		assert_int_equal(r2r_kind_of(&pe), cases[i].kind);
		owner = r2r_owner_composite(&pe);
		if (cases[i].kind == R2R_COMPONENT) {
			assert_int_equal(owner.size, strlen("tiny.r2r.dll"));
			assert_memory_equal(owner.start, "tiny.r2r.dll", owner.size);
		} else {
			assert_int_equal(owner.size, 0);
		}
		assert_int_equal(metadata_of_pe(&pe).size > 0, cases[i].kind != R2R_COMPOSITE);
		golden_free(&file);
	}
}

static void look(struct span bytes)
{
	struct error err;
	struct pe pe;

	if (pe_init(&pe, bytes, &err) < 0)
		return;
	(void)r2r_kind_of(&pe);
	(void)r2r_owner_composite(&pe);
	(void)metadata_of_pe(&pe);
	for (uint32_t i = 0; i < 64; i++)
		(void)pe_cursor(&pe, (struct rva){ i * 0x40 });
}

UNIT_TEST(test_damage)
{
	golden_torture("tiny-component.dll", 2000, look);
	golden_torture("tiny-composite.dll", 2000, look);
}

UNIT_MAIN(NULL, NULL)
