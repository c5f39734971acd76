// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/btf.h"

#include <stdbool.h>
#include <string.h>

#include <linux/btf.h>

enum { MEMBER_BYTES = 12, KIND_ENUM64 = 19 };

struct types {
	struct span all;
	struct span names;
};

struct type {
	uint32_t name;
	uint32_t kind;
	bool has_bit_fields; /* then members' offsets are the lower 24 bits of what is there */
	struct span members; /* what follows, of whatever kind it is */
};

static bool open_types(struct span btf, struct types *types)
{
	struct cursor c = cursor_over(btf);
	bool known = cursor_u16(&c) == BTF_MAGIC;
	uint32_t header, type_at, type_bytes, name_at, name_bytes;

	cursor_skip(&c, 2);
	header = cursor_u32(&c);
	type_at = cursor_u32(&c);
	type_bytes = cursor_u32(&c);
	name_at = cursor_u32(&c);
	name_bytes = cursor_u32(&c);
	types->all = span_part(btf, (uint64_t)header + type_at, type_bytes);
	types->names = span_part(btf, (uint64_t)header + name_at, name_bytes);
	return known && cursor_ok(&c);
}

/* How many bytes come after the three words that each type begins with; SIZE_MAX: not known. */
static size_t bytes_after(uint32_t kind, uint32_t count)
{
	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case KIND_ENUM64:
		return (size_t)MEMBER_BYTES * count;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return (size_t)8 * count;
	default:
		/* Others that there are say all in those words. */
		return kind != BTF_KIND_UNKN && kind < KIND_ENUM64 ? 0 : SIZE_MAX;
	}
}

/* False at the end, and where a kind is not known, since nobody knows where the next one begins. */
static bool next_type(struct cursor *c, struct type *type)
{
	uint32_t info;
	size_t after;

	type->name = cursor_u32(c);
	info = cursor_u32(c);
	cursor_skip(c, 4);
	type->kind = BTF_INFO_KIND(info);
	type->has_bit_fields = BTF_INFO_KFLAG(info);
	after = bytes_after(type->kind, BTF_INFO_VLEN(info));
	if (!cursor_ok(c) || after == SIZE_MAX)
		return false;
	type->members = cursor_take(c, after);
	return cursor_ok(c);
}

static bool is_named(const struct types *types, uint32_t at, const char *name)
{
	size_t size = strlen(name) + 1;
	struct span found = span_part(types->names, at, size);

	return found.size == size && memcmp(found.start, name, size) == 0;
}

static bool find_structure(const struct types *types, const char *name, struct type *type)
{
	struct cursor c = cursor_over(types->all);

	while (next_type(&c, type)) {
		if (type->kind == BTF_KIND_STRUCT && is_named(types, type->name, name))
			return true;
	}
	return false;
}

/* Their numbers begin with 1. */
static bool get_structure(const struct types *types, uint32_t number, struct type *type)
{
	struct cursor c = cursor_over(types->all);

	for (uint32_t i = 0; i < number; i++) {
		if (!next_type(&c, type))
			return false;
	}
	return number && (type->kind == BTF_KIND_STRUCT || type->kind == BTF_KIND_UNION);
}

/* Its offset in bits, or -1; the number of its type goes into @number. */
static int64_t find_member(const struct types *types, const struct type *type, const char *name,
			   uint32_t *number)
{
	struct cursor c = cursor_over(type->members);

	while (cursor_left(&c)) {
		uint32_t called = cursor_u32(&c), of = cursor_u32(&c), at = cursor_u32(&c);

		if (!cursor_ok(&c) || !is_named(types, called, name))
			continue;
		*number = of;
		return type->has_bit_fields ? BTF_MEMBER_BIT_OFFSET(at) : at;
	}
	return -1;
}

int64_t btf_member_at(struct span btf, const char *const *path)
{
	struct types types;
	struct type type;
	int64_t bits = 0;
	bool found = open_types(btf, &types) && find_structure(&types, path[0], &type);

	for (size_t i = 1; found && path[i]; i++) {
		uint32_t number;
		int64_t at = find_member(&types, &type, path[i], &number);

		if (at < 0)
			return -1;
		bits += at;
		found = !path[i + 1] || get_structure(&types, number, &type);
	}
	return found ? bits : -1;
}
