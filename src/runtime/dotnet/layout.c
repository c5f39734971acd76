// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the runtime's structures have their members, for all that reads them and for the programs;
 * and the root that these are reached from.
 */
#include "runtime/dotnet/clr.h"

#include <stddef.h>
#include <string.h>

#include "runtime/dotnet/contract.h"
#include "base/error.h"
#include "bpf/follow.h"

enum {
	OLDEST = 8,
	NEWEST = 11, /* that the table knows */
	VERSIONS = NEWEST - OLDEST + 1,
	NONE = LAYOUT_ABSENT,

	TOKEN_BITS = 12,
	LAST_STUB_KIND = 15, /* STUB_CODE_BLOCK_LAST, src/coreclr/vm/codeman.h */
	NIBBLE_MAP_1 = 1,
	NIBBLE_MAP_2 = 2,
	DAC_APP_DOMAIN_8 = 21, /* AppDomain::m_pTheAppDomain, src/coreclr/inc/dacvars.h */
};

#define LAYOUT_OFFSETS(at, type_name, field_name, ...) \
	[at] = { type_name, field_name, { __VA_ARGS__ } },

/* See LAYOUT_ROWS. */
static const struct {
	const char *type;
	const char *field;
	int16_t offset[VERSIONS];
} rows[LAYOUT_FIELDS] = { LAYOUT_ROWS(LAYOUT_OFFSETS) };

/* Where g_pConfig is in the table for debuggers: src/coreclr/inc/dacvars.h. */
static const unsigned int dac_config[VERSIONS] = { 30, 34, 33, 34 };
enum { HEAP_AFTER_CONFIG = 7 }; /* g_pGCHeap */

/* Without these there is no walk at all. */
static bool is_needed(enum layout_field field)
{
	return field <= METHOD_FLAGS && field != HEAP_UNWIND_BASE && field != SECTION_JIT_MANAGER &&
	       field != CODE_EH_INFO;
}

/* By .NET 11 all contracts began anew, with what they had come to be. */
static bool is_known(unsigned int version)
{
	return version <= 1 || version == (CONTRACT_ANEW | 1);
}

/* Which algorithms the descriptor's versions stand for; those of another version are not known. */
static int use_contract(struct layout *layout, const struct contract *contract, struct error *err)
{
	unsigned int execution = contract_version(contract, "ExecutionManager");
	unsigned int types = contract_version(contract, "RuntimeTypeSystem");
	uint64_t value;

	if (!is_known(types) || (!is_known(execution) && execution != NIBBLE_MAP_2))
		return error_set(
			err, -ENOTSUP,
			"this runtime describes its structures by newer contracts than are known here (ExecutionManager %s%u, RuntimeTypeSystem %s%u): run a later place-probe, or ask for precompiled methods",
			execution & CONTRACT_ANEW ? "c" : "", execution & CONTRACT_NUMBER,
			types & CONTRACT_ANEW ? "c" : "", types & CONTRACT_NUMBER);
	/* .NET 9 describes no ExecutionManager; it is as version 1. */
	if (execution)
		layout->nibble_map = execution == 1 ? NIBBLE_MAP_1 : NIBBLE_MAP_2;
	if (contract_global(contract, "MethodDescTokenRemainderBitCount", &value) && value <= 16)
		layout->token_bits = (unsigned int)value;
	if (contract_global(contract, "StubCodeBlockLast", &value) && value <= UINT8_MAX)
		layout->last_stub_kind = value;
	return 0;
}

int layout_init(struct layout *layout, unsigned int major, const struct contract *contract,
		struct error *err)
{
	bool in_table = major >= OLDEST && major <= NEWEST;

	*layout = (struct layout){
		.nibble_map = major >= 10 ? NIBBLE_MAP_2 : NIBBLE_MAP_1,
		.token_bits = TOKEN_BITS,
		.last_stub_kind = LAST_STUB_KIND,
		.method_bytes = major >= 9 ? 16 : 8,
		.instantiated_bytes = major >= 9 ? 40 : 32,
		.dac_app_domain = major == 8 ? DAC_APP_DOMAIN_8 : 0,
		.dac_config = in_table ? dac_config[major - OLDEST] : 0,
		.dac_heap = in_table ? dac_config[major - OLDEST] + HEAP_AFTER_CONFIG : 0,
		/* debuginfostore.cpp */
		.debug_info = major >= 11 ? DEBUG_INFO_SIZED :
			      major >= 10 ? DEBUG_INFO_PACKED :
					    DEBUG_INFO_NIBBLES,
		.buffer_points = major == 8,
		.aggressive_is_tiered = major == 8,
		.class_init_is_minopt = major == 8,
		.no_precode_kind = major >= 11,
	};
	if (contract) {
		int result = use_contract(layout, contract, err);

		if (result)
			return result;
	}
	for (enum layout_field field = 0; field < LAYOUT_FIELDS; field++) {
		int32_t offset = LAYOUT_ABSENT;

		if (contract)
			offset = contract_field(contract, rows[field].type, rows[field].field);
		if (offset == LAYOUT_ABSENT && in_table)
			offset = rows[field].offset[major - OLDEST];
		layout->at[field] = offset;
		if (offset == LAYOUT_ABSENT && is_needed(field) &&
		    !(in_table && rows[field].offset[major - OLDEST] == NONE))
			return error_set(
				err, -ENOTSUP,
				".NET %u is not known here, and does not say where %s.%s lies: its run-time compiled code cannot be found, and precompiled code is probed all the same (--list shows it)",
				major, rows[field].type, rows[field].field);
	}
	return 0;
}

/* What the BPF programs that follow methods read by, and where they are told of it. */
static const struct {
	enum layout_field field;
	size_t member;
} followed[] = {
	{ METHOD_TOKEN, offsetof(struct follow_layout, method_token) },
	{ METHOD_CHUNK_INDEX, offsetof(struct follow_layout, method_chunk_index) },
	{ METHOD_FLAGS, offsetof(struct follow_layout, method_flags) },
	{ CHUNK_METHOD_TABLE, offsetof(struct follow_layout, chunk_method_table) },
	{ CHUNK_TOKEN_RANGE, offsetof(struct follow_layout, chunk_token_range) },
	{ CHUNK_SIZE, offsetof(struct follow_layout, chunk_bytes) },
	{ TABLE_MODULE_FIELD, offsetof(struct follow_layout, table_module) },
	{ TABLE_FLAGS2, offsetof(struct follow_layout, table_flags2) },
	{ TABLE_VIRTUALS, offsetof(struct follow_layout, table_virtuals) },
	{ TABLE_CLASS, offsetof(struct follow_layout, table_class) },
	{ MODULE_PE_ASSEMBLY, offsetof(struct follow_layout, module_pe_assembly) },
	{ MODULE_LOADER_ALLOCATOR, offsetof(struct follow_layout, module_loader_allocator) },
	{ PE_ASSEMBLY_IMAGE, offsetof(struct follow_layout, pe_assembly_image) },
	{ PE_IMAGE_LAYOUT, offsetof(struct follow_layout, pe_image_layout) },
	{ PE_LAYOUT_BASE, offsetof(struct follow_layout, pe_layout_base) },
	{ PE_LAYOUT_SIZE, offsetof(struct follow_layout, pe_layout_size) },
	{ PE_LAYOUT_FLAGS, offsetof(struct follow_layout, pe_layout_flags) },
	{ DYNAMIC_NAME, offsetof(struct follow_layout, dynamic_name) },
	{ STORED_SIG, offsetof(struct follow_layout, stored_sig) },
	{ STORED_SIG_SIZE, offsetof(struct follow_layout, stored_sig_size) },
	{ JIT_INFO_FLAGS, offsetof(struct follow_layout, jit_flags) },
	{ JIT_INFO_CODE, offsetof(struct follow_layout, jit_code_header) },
	{ JIT_INFO_WRITTEN, offsetof(struct follow_layout, jit_code_written) },
	{ JIT_INFO_SIZE, offsetof(struct follow_layout, jit_code_size) },
	{ CODE_UNWIND_COUNT, offsetof(struct follow_layout, unwind_count) },
	{ CODE_UNWINDS, offsetof(struct follow_layout, unwinds) },
};

/* The programs read the first bytes of a MethodDesc at once. */
static bool is_in_head(const struct layout *layout, enum layout_field field, int size)
{
	return layout_has(layout, field) && layout->at[field] + size <= 8;
}

int layout_for_programs(const struct layout *layout, struct follow_shared *shared,
			struct error *err)
{
	bool known = is_in_head(layout, METHOD_TOKEN, 2) &&
		     is_in_head(layout, METHOD_CHUNK_INDEX, 1) &&
		     is_in_head(layout, METHOD_FLAGS, 2);
	struct follow_layout told = {
		.token_bits = layout->token_bits,
		.is_8 = layout_has(layout, TABLE_TOKEN16),
	};

	for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]); i++) {
		uint32_t offset = (uint32_t)layout->at[followed[i].field];

		known &= layout_has(layout, followed[i].field);
		memcpy((char *)&told + followed[i].member, &offset, sizeof(offset));
	}
	if (!known)
		return error_set(
			err, -ENOTSUP,
			"the structures of this version of .NET are not known well enough to follow methods: run again for what was compiled meanwhile");
	shared->layout = told;
	__atomic_store_n(&shared->has_layout, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/*
 * The first entry of the table for debuggers is ExecutionManager::m_CodeRangeMap
 * (src/coreclr/inc/dacvars.h), in .NET 8, 9 and 10 alike.
 */
static int find_code_range_map(struct clr *clr, const struct contract *contract, struct error *err)
{
	struct look look = look_into(clr->memory);

	if (contract &&
	    contract_global(contract, "ExecutionManagerCodeRangeMapAddress", &clr->code_range_map))
		return 0;
	clr->code_range_map = look_u64(&look, clr->dac_table);
	if (clr->dac_table == 0 || look.bad || clr->code_range_map == 0)
		return error_set(err, -EBADMSG,
				 "the runtime exports no way to its map of code ranges");
	return 0;
}

int clr_init(struct clr *clr, struct memory *memory, unsigned int major, uint64_t contract_at,
	     uint64_t dac_table_at, struct error *err)
{
	struct contract *contract = NULL;
	int result = 0;

	*clr = (struct clr){ .memory = memory, .dac_table = dac_table_at };
	if (contract_at)
		result = contract_read(&contract, memory, contract_at, err);
	if (result == 0)
		result = layout_init(&clr->layout, major, contract, err);
	if (result == 0)
		result = find_code_range_map(clr, contract, err);
	contract_destroy(contract);
	return result;
}
