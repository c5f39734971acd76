/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the runtime's structures in a program: which method of which module a MethodDesc is, as
 * far as it takes to know whether anybody asks for it.
 */
#ifndef BPF_RUNTIME_BPF_H
#define BPF_RUNTIME_BPF_H

#include "bpf/follow.h"

enum {
	METHOD_CLASS = 7,
	METHOD_CLASS_IS_DYNAMIC = 7,
	RID_ALL_BITS = 24,
	CODE_HEADER_BYTES = 8, /* before a body: a pointer to its real header */

	/* As in src/runtime/dotnet/clr_type.c, which says where they are from. */
	TABLE_HAS_COMPONENTS_OR_GENERICS = (int)0x80000030,
	TABLE_CATEGORY_MASK = 0xc0000,
	TABLE_CATEGORY_IS_ARRAY = 0x80000,
	TABLE8_OVERRIDE = 0x10,
	TABLE8_SLOT_MASK = 0x0f,
	TABLE8_FIRST_SLOT = 48,
};

struct follow_shared follow;

/* What no field is: it could not be read. It sticks, since nothing can be read near it either. */
#define UNREADABLE (~0ULL)

/* Frames of their own, so that the callers' stay small. */
#define USER_READER(name, type)                                             \
	static __noinline __u64 name(__u64 at)                              \
	{                                                                   \
		type value;                                                 \
                                                                            \
		if (bpf_probe_read_user(&value, sizeof(value), (void *)at)) \
			return UNREADABLE;                                  \
		return value;                                               \
	}

USER_READER(user_u64, __u64)
USER_READER(user_u32, __u32)
USER_READER(user_u16, __u16)

/* See table_module_8() in src/runtime/dotnet/clr_type.c. */
static __noinline __u64 module_of_8(__u64 table)
{
	__u64 flags = user_u32(table), class, flags2, slots, before, at;

	if (flags == UNREADABLE)
		return UNREADABLE;
	if (!(flags & (__u32)TABLE_HAS_COMPONENTS_OR_GENERICS))
		return user_u64(table + follow.layout.table_module);
	if ((flags & TABLE_CATEGORY_MASK) != TABLE_CATEGORY_IS_ARRAY) {
		class = user_u64(table + follow.layout.table_class);
		if (class & 1)
			table = class & ~(__u64)3;
	}
	flags2 = user_u16(table + follow.layout.table_flags2);
	if (!(flags2 & TABLE8_OVERRIDE))
		return user_u64(table + follow.layout.table_module);
	slots = flags2 & TABLE8_SLOT_MASK;
	before = (slots & 1) + (slots >> 1 & 1) + (slots >> 2 & 1) + (slots >> 3 & 1);
	if (before == 1 && (slots & 3) == 2)
		before = 0;
	at = table + TABLE8_FIRST_SLOT + 8 * before;
	if (before >= 2)
		at += 8 * ((user_u16(table + follow.layout.table_virtuals) + 7) / 8);
	return user_u64(at);
}

static __noinline __u64 chunk_of(__u64 desc, __u64 head)
{
	__u8 index = head >> (follow.layout.method_chunk_index * 8 & 63);

	return desc - follow.layout.chunk_bytes - (__u64)index * 8;
}

static __noinline __u64 module_of(__u64 chunk)
{
	__u64 table = user_u64(chunk + follow.layout.chunk_method_table);

	if (table == UNREADABLE)
		return UNREADABLE;
	return follow.layout.is_8 ? module_of_8(table) :
				    user_u64(table + follow.layout.table_module);
}

static __noinline __u64 rid_of(__u64 chunk, __u64 head)
{
	__u32 bits = follow.layout.token_bits & 31;
	__u16 low = head >> (follow.layout.method_token * 8 & 63);
	__u64 high = user_u16(chunk + follow.layout.chunk_token_range);

	if (high == UNREADABLE)
		return UNREADABLE;
	return (high & ((1u << (RID_ALL_BITS - bits)) - 1)) << bits | (low & ((1u << bits) - 1));
}

static __always_inline bool is_dynamic(__u64 head)
{
	__u16 flags = head >> (follow.layout.method_flags * 8 & 63);

	return (flags & METHOD_CLASS) == METHOD_CLASS_IS_DYNAMIC;
}

#endif
