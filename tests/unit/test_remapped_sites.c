// SPDX-License-Identifier: GPL-2.0-or-later
/* plan/plan.h: which sites may have uprobes in code that is in no file, and what others get. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/timed.h"
#include "tests/unit/unit.h"

enum { CODE = 0x7000 };

static struct site compiled(uint64_t address)
{
	return (struct site){
		.method = strdup("T::M()"),
		.image = "t.dll",
		.tier = TIER_TIER1,
		.state = STATE_CURRENT,
		.final = true,
		.mechanism = MECHANISM_BREAKPOINT,
		.cost = INSN_EMULATED,
		.file = BODY_NO_FILE,
		.address = { address },
		.method_desc = 1,
	};
}

UNIT_TEST(which)
{
	struct plan plan = { 0 }, timed = { .timed = true };
	struct site site = compiled(CODE);
	struct site_exit exit = { .address = { CODE + 5 }, .emulated = true };

	assert_true(site_takes_remapped(&plan, &site));
	assert_true(site_takes_remapped(&timed, &site));
	site.final = false;
	assert_true(site_takes_remapped(&plan, &site));
	assert_false(site_takes_remapped(&timed, &site));
	site.final = true;
	site.cost = INSN_SINGLE_STEPPED;
	assert_true(site_takes_remapped(&plan, &site));
	site.cost = INSN_UNDECODABLE;
	assert_false(site_takes_remapped(&plan, &site));
	site.cost = INSN_EMULATED;
	site.patchable = true;
	assert_false(site_takes_remapped(&plan, &site));
	site.patchable = false;
	site.may_be_freed = true;
	assert_false(site_takes_remapped(&plan, &site));
	site.may_be_freed = false;
	site.stub = true;
	assert_false(site_takes_remapped(&plan, &site));
	site.stub = false;
	site.file = 3;
	assert_false(site_takes_remapped(&plan, &site));
	site.file = BODY_NO_FILE;
	site.exits = &exit;
	site.exit_count = 1;
	assert_true(site_takes_remapped(&timed, &site));
	exit.refused = true;
	assert_false(site_takes_remapped(&timed, &site));
	exit.refused = false;
	site_refuse(&site, REASON_SUPERSEDED, 0);
	assert_false(site_takes_remapped(&plan, &site));
	site_refuse(&site, REASON_NO_DEBUG_REGISTER, 0);
	assert_true(site_takes_remapped(&plan, &site));
	free(site.method);
}

/* Exits are on both sides of the entry. */
UNIT_TEST(there_and_back)
{
	struct site site = compiled(CODE);
	struct site_exit exits[] = { { .address = { CODE + 5 } }, { .address = { CODE - 7 } } };

	site.exits = exits;
	site.exit_count = 2;
	site_refuse(&site, REASON_NO_DEBUG_REGISTER, 0);
	site_remap(&site, (struct file_offset){ 0x1000 });
	assert_true(site_is_remapped(&site));
	assert_int_equal(site.mechanism, MECHANISM_UPROBE);
	assert_int_equal(site.reason, REASON_NONE);
	assert_int_equal(site.file, BODY_NO_FILE);
	assert_int_equal(site_probe(&site, 4, 0).offset.value, 0x1005);
	assert_int_equal(site_probe(&site, 4, 1).offset.value, 0xff9);
	assert_int_equal(site_probe(&site, 4, 2).offset.value, 0x1000);
	assert_int_equal(site_probe(&site, 4, 2).cookie, 4);
	site_unmap(&site);
	assert_false(site_is_remapped(&site));
	assert_int_equal(site.mechanism, MECHANISM_BREAKPOINT);
	assert_int_equal(site_probe(&site, 4, 0).offset.value, 0);
	assert_int_equal(site_probe(&site, 4, 2).offset.value, 0);
	free(site.method);
}

static size_t with(const struct plan *plan, enum mechanism mechanism)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++)
		count += plan->sites[i].mechanism == mechanism;
	return count;
}

/* The registers that uprobes have made free go to those that had none. */
UNIT_TEST(registers_go_on)
{
	struct plan plan = { 0 };

	for (uint64_t i = 0; i < 6; i++) {
		struct site site = compiled(CODE + 0x100 * i);

		assert_int_equal(plan_append(&plan, &site, NULL), 0);
		free(site.method);
	}
	plan_give_registers(&plan, 2);
	assert_int_equal(with(&plan, MECHANISM_BREAKPOINT), 2);
	assert_int_equal(with(&plan, MECHANISM_NONE), 4);
	site_remap(&plan.sites[0], (struct file_offset){ 0 });
	site_remap(&plan.sites[5], (struct file_offset){ 0x500 });
	plan_give_registers(&plan, 2);
	assert_int_equal(with(&plan, MECHANISM_UPROBE), 2);
	assert_int_equal(with(&plan, MECHANISM_BREAKPOINT), 2);
	assert_int_equal(plan.sites[1].mechanism, MECHANISM_BREAKPOINT);
	assert_int_equal(plan.sites[2].mechanism, MECHANISM_BREAKPOINT);
	site_unmap(&plan.sites[0]);
	site_unmap(&plan.sites[5]);
	plan_give_registers(&plan, 2);
	assert_int_equal(with(&plan, MECHANISM_UPROBE), 0);
	assert_int_equal(with(&plan, MECHANISM_BREAKPOINT), 2);
	assert_true(plan_lacks_registers(&plan));
	plan_deinit(&plan);
}

UNIT_MAIN(NULL, NULL)
