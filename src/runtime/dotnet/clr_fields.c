// SPDX-License-Identifier: GPL-2.0-or-later
/* Fields of types in the target's memory, and the way to types: for value_types.c. */
#include "runtime/dotnet/clr_fields.h"

enum {
	LINK_BITS = 3, /* of pointers to tables: how they are to be followed */
	CANONICAL_BIT = 1,

	OBJECT_BYTES = 16, /* of BaseSize: the sync block's word and the MethodTable */

	/* A FieldDesc: its table, then two words. */
	FIELD_BYTES = 16,
	FIELD_WORDS = 8,
	FIELD_RID_SMALL = 0x1ffff,
	FIELD_RID = 0xffffff,
	FIELD_HAS_LARGE_RID = 1u << 30,
	FIELD_IS_STATIC = 1u << 24,
	FIELD_OFFSET = 0x7ffffff,

	/* .NET 8: a length of 5 bits before each of the packed fields. */
	PACKED_INSTANCE = 0,
	PACKED_LENGTH_BITS = 5,
	PACKED_BYTES = 24,

	MAPS_MAX = 4096,
	BUCKETS_MAX = 1 << 20,
	CHAIN_MAX = 4096,
	ENTRIES_MAX = 1 << 20,
	BUCKETS_SPECIAL = 3, /* words before the buckets: their number, the next table, an end */
};

static uint64_t class_of(const struct clr *clr, struct look *look, uint64_t table)
{
	uint64_t class = clr_u64(clr, look, table, TABLE_CLASS);

	return class & CANONICAL_BIT ?
		       clr_u64(clr, look, class & ~(uint64_t)LINK_BITS, TABLE_CLASS) :
		       class;
}

static uint64_t bits_at(const uint8_t *bytes, size_t size, unsigned int *at, unsigned int count)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < count && *at < 8 * size; i++, (*at)++)
		value |= (uint64_t)(bytes[*at / 8] >> *at % 8 & 1) << i;
	return value;
}

static uint32_t packed_number(const struct clr *clr, struct look *look, uint64_t class,
			      unsigned int number)
{
	uint64_t at = class + clr_u8(clr, look, class, CLASS_FIXED_BYTES);
	uint8_t bytes[PACKED_BYTES];
	unsigned int bit = 0;
	uint64_t value = 0;

	if (!clr_u8(clr, look, class, CLASS_PACKED))
		return look_u32(look, at + 4 * (uint64_t)number);
	look_copy(look, at, bytes, sizeof(bytes));
	for (unsigned int i = 0; i <= number; i++) {
		unsigned int width =
			(unsigned int)bits_at(bytes, sizeof(bytes), &bit, PACKED_LENGTH_BITS) + 1;

		value = bits_at(bytes, sizeof(bytes), &bit, width);
	}
	return (uint32_t)value;
}

/* Fields of instances, with those that are inherited. */
static uint32_t instance_fields(const struct clr *clr, struct look *look, uint64_t class)
{
	return layout_has(&clr->layout, CLASS_INSTANCE_FIELDS) ?
		       clr_u16(clr, look, class, CLASS_INSTANCE_FIELDS) :
		       packed_number(clr, look, class, PACKED_INSTANCE);
}

bool clr_shape_read(const struct clr *clr, uint64_t table, struct clr_shape *shape)
{
	struct look look = look_into(clr->memory);
	uint64_t class = class_of(clr, &look, table);
	uint32_t base = clr_u32(clr, &look, table, TABLE_BASE_SIZE);
	uint32_t padding = clr_u8(clr, &look, class, CLASS_PADDING);
	uint32_t all = instance_fields(clr, &look, class), inherited = 0;

	*shape = (struct clr_shape){
		.parent = clr_u64(clr, &look, table, TABLE_PARENT) & ~(uint64_t)LINK_BITS,
		.fields = clr_u64(clr, &look, class, CLASS_FIELDS),
		.size = base > padding ? base - padding : 0,
	};
	if (shape->parent)
		inherited = instance_fields(clr, &look, class_of(clr, &look, shape->parent));
	shape->field_count = all - inherited;
	return !look.bad && inherited <= all && shape->field_count <= CLR_FIELDS_MAX &&
	       base >= OBJECT_BYTES;
}

bool clr_shape_field(const struct clr *clr, const struct clr_shape *shape, uint32_t index,
		     struct clr_field_row *field)
{
	struct look look = look_into(clr->memory);
	uint64_t at = shape->fields + (uint64_t)index * FIELD_BYTES + FIELD_WORDS;
	uint32_t first = look_u32(&look, at), second = look_u32(&look, at + 4);

	field->rid = first & (first & FIELD_HAS_LARGE_RID ? FIELD_RID : FIELD_RID_SMALL);
	field->offset = second & FIELD_OFFSET;
	return !look.bad && !(first & FIELD_IS_STATIC);
}

/* A map is a chain of tables. */
uint64_t clr_type_of_row(const struct clr *clr, uint64_t module, uint32_t rid)
{
	struct look look = look_into(clr->memory);
	uint64_t map = clr_field(clr, &look, module, MODULE_TYPES);
	uint64_t flags = clr_u64(clr, &look, map, LOOKUP_FLAGS);

	for (unsigned int i = 0; i < MAPS_MAX && map && !look.bad; i++) {
		uint32_t count = clr_u32(clr, &look, map, LOOKUP_COUNT);
		uint64_t entries = clr_u64(clr, &look, map, LOOKUP_ENTRIES);

		if (rid < count) {
			uint64_t entry = look_u64(&look, entries + 8 * (uint64_t)rid);

			return look.bad ? 0 : entry & ~flags;
		}
		rid -= count;
		map = clr_u64(clr, &look, map, LOOKUP_NEXT);
	}
	return 0;
}

static void each_of_chain(struct look *look, uint64_t entry, void (*fn)(void *, uint64_t),
			  void *ctx, uint32_t *left)
{
	/* The end of a chain is none, or an odd number. */
	for (unsigned int i = 0; i < CHAIN_MAX && entry && !(entry & 1) && *left; i++) {
		uint64_t handle = look_u64(look, entry);

		entry = look_u64(look, entry + 8);
		if (look->bad)
			return;
		fn(ctx, handle & ~(uint64_t)1);
		(*left)--;
	}
}

void clr_each_instantiation(const struct clr *clr, uint64_t module,
			    void (*fn)(void *ctx, uint64_t handle), void *ctx)
{
	struct look look = look_into(clr->memory);
	uint64_t table = clr_u64(clr, &look, module, MODULE_INSTANTIATIONS);
	uint64_t buckets = clr_u64(clr, &look, table, TYPE_HASH_BUCKETS);
	uint64_t count = look_u64(&look, buckets);
	uint32_t left = ENTRIES_MAX;

	if (look.bad || count > BUCKETS_MAX)
		return;
	for (uint64_t i = 0; i < count; i++) {
		struct look of_chain = look_into(clr->memory);

		each_of_chain(&of_chain, look_u64(&look, buckets + 8 * (i + BUCKETS_SPECIAL)), fn,
			      ctx, &left);
	}
}
