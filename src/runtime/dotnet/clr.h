/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime of a live process, as its own structures are read from outside: the memory, the
 * layout of its version, and the root from which all else is reached.
 */
#ifndef RUNTIME_DOTNET_CLR_H
#define RUNTIME_DOTNET_CLR_H

#include "runtime/dotnet/layout.h"
#include "target/memory.h"

struct clr {
	struct memory *memory; /* borrowed */
	struct layout layout;
	uint64_t code_range_map;
	uint64_t dac_table; /* 0: not exported */
};

/*
 * Find the root. The addresses of the runtime's exports are 0 where it has none.
 * -ENOTSUP (a version that is not known and does not describe itself) or -EBADMSG with @err set.
 */
int clr_init(struct clr *clr, struct memory *memory, unsigned int major, uint64_t contract_at,
	     uint64_t dac_table_at, struct error *err);

/* Fields of a structure at @object. An absent field turns the look bad. */
static inline uint64_t clr_field(const struct clr *clr, struct look *look, uint64_t object,
				 enum layout_field field)
{
	if (!layout_has(&clr->layout, field) || object == 0) {
		look->bad = true;
		return 0;
	}
	return object + (uint64_t)clr->layout.at[field];
}

/* clr_u8(), clr_u16(), clr_u32(), clr_u64(): the number there. */
#define CLR_NUMBER(bits)                                                                   \
	static inline uint##bits##_t clr_u##bits(const struct clr *clr, struct look *look, \
						 uint64_t object, enum layout_field field) \
	{                                                                                  \
		return look_u##bits(look, clr_field(clr, look, object, field));            \
	}
CLR_NUMBER(8)
CLR_NUMBER(16)
CLR_NUMBER(32)
CLR_NUMBER(64)

#endif
