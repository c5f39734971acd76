// SPDX-License-Identifier: GPL-2.0-or-later
/* Where members of structures are in BTF: libbpf says the same of the kernel's. */
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "probe/programs.h"
#include "image/btf.h"
#include "tests/unit/unit.h"

/* struct inner { int; int wanted; }; struct outer { struct inner first; struct inner second; } */
static struct btf *small(void)
{
	struct btf *btf = btf__new_empty();
	int number, inner;

	assert_non_null(btf);
	number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	assert_true(btf__add_enum(btf, "choice", 4) > 0);
	assert_int_equal(btf__add_enum_value(btf, "one", 1), 0);
	assert_true(btf__add_array(btf, number, number, 3) > 0);
	inner = btf__add_struct(btf, "inner", 8);
	assert_int_equal(btf__add_field(btf, "wanted_not", number, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "wanted", number, 32, 0), 0);
	assert_true(btf__add_struct(btf, "outer", 16) > 0);
	assert_int_equal(btf__add_field(btf, "first", inner, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "second", inner, 64, 0), 0);
	assert_int_equal(btf__add_field(btf, "number", number, 24, 7), 0);
	return btf;
}

static struct span bytes_of(const struct btf *btf)
{
	uint32_t size;
	const void *start = btf__raw_data(btf, &size);

	return (struct span){ start, size };
}

#define PATH(...) ((const char *const[]){ __VA_ARGS__, NULL })

UNIT_TEST(test_members)
{
	struct btf *btf = small();
	struct span bytes = bytes_of(btf);

	assert_int_equal(btf_member_at(bytes, PATH("inner", "wanted")), 32);
	assert_int_equal(btf_member_at(bytes, PATH("outer", "second")), 64);
	assert_int_equal(btf_member_at(bytes, PATH("outer", "second", "wanted")), 96);
	/* Its size as a bit field stands beside its offset. */
	assert_int_equal(btf_member_at(bytes, PATH("outer", "number")), 24);
	assert_int_equal(btf_member_at(bytes, PATH("outer", "third")), -1);
	assert_int_equal(btf_member_at(bytes, PATH("inner", "wanted", "none")), -1);
	assert_int_equal(btf_member_at(bytes, PATH("wanted", "inner")), -1);
	assert_int_equal(btf_member_at(bytes, PATH("choice", "one")), -1);
	btf__free(btf);
}

/* Nothing is read that is not there (sanitized), and nothing found that is cut off. */
UNIT_TEST(test_damaged)
{
	struct btf *btf = small();
	struct span whole = bytes_of(btf);

	for (size_t size = 0; size < whole.size; size++) {
		uint8_t *part = malloc(size ? size : 1);
		int64_t at;

		assert_non_null(part);
		memcpy(part, whole.start, size);
		at = btf_member_at((struct span){ part, size }, PATH("outer", "second", "wanted"));
		assert_true(at == -1);
		free(part);
	}
	for (size_t i = 0; i < whole.size; i++) {
		uint8_t *changed = malloc(whole.size);

		assert_non_null(changed);
		for (unsigned int bit = 0; bit < 8; bit++) {
			memcpy(changed, whole.start, whole.size);
			changed[i] ^= (uint8_t)(1U << bit);
			btf_member_at((struct span){ changed, whole.size },
				      PATH("outer", "second", "wanted"));
		}
		free(changed);
	}
	btf__free(btf);
}

/* In bits, by libbpf. */
static int64_t offset_by_libbpf(const struct btf *btf, uint32_t structure, const char *name,
				uint32_t *type)
{
	const struct btf_type *found = btf__type_by_id(btf, structure);

	for (uint16_t i = 0; i < btf_vlen(found); i++) {
		const struct btf_member *member = &btf_members(found)[i];

		if (strcmp(btf__name_by_offset(btf, member->name_off), name) != 0)
			continue;
		*type = member->type;
		return btf_member_bit_offset(found, i);
	}
	fail_msg("libbpf finds no %s", name);
	return -1;
}

/* The kernel's own: all members with names of one of its largest structures, and what is used. */
UNIT_TEST(test_kernel)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *task;
	struct span bytes;
	uint32_t thread = 0, none;
	int64_t bits;
	int number;

	if (!btf)
		unit_skip("the kernel tells nothing of its types");
	bytes = bytes_of(btf);
	number = btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
	assert_true(number > 0);
	task = btf__type_by_id(btf, (uint32_t)number);
	for (uint16_t i = 0; i < btf_vlen(task); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(task)[i].name_off);

		if (*name)
			assert_int_equal(btf_member_at(bytes, PATH("task_struct", name)),
					 btf_member_bit_offset(task, i));
	}
	bits = offset_by_libbpf(btf, (uint32_t)number, "thread", &thread);
	bits += offset_by_libbpf(btf, thread, "fsbase", &none);
	assert_int_equal(programs_thread_pointer_at(), bits / 8);
	assert_int_equal(programs_keep_replaced(),
			 btf__find_by_name_kind(btf, "vma_munmap_struct", BTF_KIND_STRUCT) > 0);
	btf__free(btf);
}

UNIT_MAIN(NULL, NULL)
