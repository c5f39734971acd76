/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime of a live process, as its own structures are read from outside: the memory, the
 * layout of its version, and the root from which all else is reached.
 */
#ifndef RUNTIME_DOTNET_CLR_H
#define RUNTIME_DOTNET_CLR_H

#include "runtime/dotnet/layout.h"
#include "target/memory.h"

struct dotnet_runtime;
struct error;

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

static inline uint64_t clr_u64(const struct clr *clr, struct look *look, uint64_t object,
			       enum layout_field field)
{
	return look_u64(look, clr_field(clr, look, object, field));
}

static inline uint32_t clr_u32(const struct clr *clr, struct look *look, uint64_t object,
			       enum layout_field field)
{
	return look_u32(look, clr_field(clr, look, object, field));
}

static inline uint16_t clr_u16(const struct clr *clr, struct look *look, uint64_t object,
			       enum layout_field field)
{
	return look_u16(look, clr_field(clr, look, object, field));
}

static inline uint8_t clr_u8(const struct clr *clr, struct look *look, uint64_t object,
			     enum layout_field field)
{
	return look_u8(look, clr_field(clr, look, object, field));
}

#endif
