// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the runtime's own structures, before anything else of them is read. */
#include "runtime/dotnet/clr.h"

#include "runtime/dotnet/contract.h"
#include "base/error.h"

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
