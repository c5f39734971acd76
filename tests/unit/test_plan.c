// SPDX-License-Identifier: GPL-2.0-or-later
/* plan.h, for code that is compiled at run time: who gets a debug register, and who needs none. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "bpf/follow.h"
#include "cli/options.h"
#include "code/exits.h"
#include "plan/plan.h"
#include "plan/timed.h"

static const uint8_t push_ret[] = { 0x55, 0xc3 };
static const uint8_t loop_at_entry[] = { 0xff, 0xcf, 0x75, 0xfc, 0xc3 }; /* dec; jne 0; ret */
static const uint8_t vex[] = { 0xc5, 0xf8, 0x77 };
static const uint8_t locked[] = { 0xf0, 0x83, 0x0c, 0x24, 0x00 };
static const uint8_t no_instruction[] = { 0x06 };

#define CODE(array) ((struct body_code){ .bytes = { array, sizeof(array) } })

static const struct body_code plain = { .bytes = { push_ret, sizeof(push_ret) } };

/* A body of the JIT's at @address. */
static struct method_body jit_body(const char *method, uint64_t address, enum body_state state)
{
	return (struct method_body){
		.method = method,
		.image = "a.dll",
		.tier = TIER_TIER1,
		.state = state,
		.precompiled_rejected = true,
		.file = BODY_NO_FILE,
		.address = { address },
		.size = sizeof(push_ret),
		.function_start = true,
		.code = &plain,
		.code_count = 1,
	};
}

/* A precompiled body, in a file or (@file is BODY_NO_FILE) in memory only. */
static struct method_body precompiled(const char *method, uint64_t address, size_t file)
{
	struct method_body body = jit_body(method, address, STATE_NO_BODY);

	body.tier = TIER_R2R;
	body.file = file;
	body.offset.value = file == BODY_NO_FILE ? 0 : address;
	return body;
}

static void add(struct plan *plan, struct method_body body)
{
	assert_int_equal(plan_add(plan, &body, NULL), 0);
}

static void finish(struct plan *plan, size_t registers)
{
	assert_int_equal(plan_finish(plan, registers, NULL), 0);
}

static const struct site *site_at(const struct plan *plan, uint64_t address)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->sites[i].address.value == address)
			return &plan->sites[i];
	}
	return NULL;
}

static void assert_site(const struct plan *plan, uint64_t address, enum body_state state,
			enum mechanism mechanism, enum reason reason)
{
	const struct site *site = site_at(plan, address);

	assert_non_null(site);
	assert_int_equal(site->state, state);
	assert_string_equal(mechanism_name(site->mechanism), mechanism_name(mechanism));
	assert_int_equal(site->reason, reason);
}

/* Which bodies are worth a register --------------------------------------------------------- */

UNIT_TEST(where_calls_go)
{
	struct method_body osr = jit_body("T::a()", 0x3000, STATE_NO_CALLS);
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	osr.tier = TIER_OSR;
	add(&plan, jit_body("T::a()", 0x1000, STATE_CURRENT));
	add(&plan, jit_body("T::a()", 0x2000, STATE_SUPERSEDED));
	add(&plan, osr);
	add(&plan, jit_body("T::a()", 0x4000, STATE_PENDING));
	add(&plan, jit_body("T::a()", 0x5000, STATE_UNKNOWN));
	finish(&plan, 4);
	assert_site(&plan, 0x1000, STATE_CURRENT, MECHANISM_BREAKPOINT, REASON_NONE);
	assert_site(&plan, 0x2000, STATE_SUPERSEDED, MECHANISM_NONE, REASON_SUPERSEDED);
	assert_site(&plan, 0x3000, STATE_NO_CALLS, MECHANISM_NONE, REASON_OSR_BODY);
	assert_site(&plan, 0x4000, STATE_PENDING, MECHANISM_BREAKPOINT, REASON_NONE);
	assert_site(&plan, 0x5000, STATE_UNKNOWN, MECHANISM_BREAKPOINT, REASON_NONE);
	assert_int_equal(plan_placeable(&plan), 3);
}

/* Current ones first, then pending ones, then those of which nothing is known. */
UNIT_TEST(too_few_registers)
{
	for (size_t registers = 0; registers <= 6; registers++) {
		_cleanup_(plan_deinit) struct plan plan = { 0 };

		add(&plan, jit_body("T::a()", 0x1000, STATE_UNKNOWN));
		add(&plan, jit_body("T::b()", 0x2000, STATE_PENDING));
		add(&plan, jit_body("T::c()", 0x3000, STATE_CURRENT));
		add(&plan, jit_body("T::d()", 0x4000, STATE_CURRENT));
		add(&plan, jit_body("T::e()", 0x5000, STATE_PENDING));
		finish(&plan, registers);
		for (size_t i = 0; i < 5; i++) {
			/* By address: the order in which they are given one. */
			static const size_t order[] = { 4, 2, 0, 1, 3 };
			bool has = order[i] < registers;

			assert_int_equal(plan.sites[i].mechanism,
					 has ? MECHANISM_BREAKPOINT : MECHANISM_NONE);
			assert_int_equal(plan.sites[i].reason,
					 has ? REASON_NONE : REASON_NO_DEBUG_REGISTER);
		}
		assert_int_equal(plan_placeable(&plan), registers < 5 ? registers : 5);
	}
}

/* Those that went without wait for one that becomes free, if the runtime knows them by name. */
UNIT_TEST(waiting_for_registers)
{
	_cleanup_(plan_deinit) struct plan plan = { 0 };
	struct method_body known = jit_body("T::b()", 0x2000, STATE_CURRENT);

	known.method_desc = 0xb000;
	add(&plan, jit_body("T::a()", 0x1000, STATE_CURRENT));
	add(&plan, known);
	known = jit_body("T::c()", 0x3000, STATE_SUPERSEDED);
	known.method_desc = 0xc000;
	add(&plan, known);
	finish(&plan, 0);
	assert_true(plan_lacks_registers(&plan));
	assert_int_equal(plan_await_registers(&plan, 4), 1);
	assert_site(&plan, 0x1000, STATE_CURRENT, MECHANISM_NONE, REASON_NO_DEBUG_REGISTER);
	assert_site(&plan, 0x2000, STATE_CURRENT, MECHANISM_BREAKPOINT, REASON_NONE);
	assert_site(&plan, 0x3000, STATE_SUPERSEDED, MECHANISM_NONE, REASON_SUPERSEDED);
	assert_int_equal(plan_await_registers(&plan, 4), 0);
}

/* Uprobes need none, and bodies that are refused take none from others. */
UNIT_TEST(who_needs_no_register)
{
	_cleanup_(plan_deinit) struct plan plan = { 0 };
	struct method_body body = jit_body("T::loop()", 0x1000, STATE_CURRENT);
	const struct body_code loop = CODE(loop_at_entry);

	body.code = &loop;
	add(&plan, body);
	add(&plan, precompiled("T::in_file()", 0x2000, 1));
	add(&plan, precompiled("T::in_file_too()", 0x3000, 1));
	add(&plan, jit_body("T::old()", 0x4000, STATE_SUPERSEDED));
	add(&plan, jit_body("T::good()", 0x5000, STATE_CURRENT));
	finish(&plan, 1);
	assert_site(&plan, 0x1000, STATE_CURRENT, MECHANISM_NONE, REASON_ENTRY_IS_LOOP_TARGET);
	assert_site(&plan, 0x2000, STATE_CURRENT, MECHANISM_UPROBE, REASON_NONE);
	assert_site(&plan, 0x3000, STATE_CURRENT, MECHANISM_UPROBE, REASON_NONE);
	assert_site(&plan, 0x5000, STATE_CURRENT, MECHANISM_BREAKPOINT, REASON_NONE);
}

/* A breakpoint leaves the instruction as it is; just turns of a loop must not count as calls. */
UNIT_TEST(instructions_under_a_breakpoint)
{
	const struct body_code codes[] = { CODE(vex),
					   CODE(locked),
					   CODE(loop_at_entry),
					   CODE(no_instruction),
					   { .bytes = { NULL, 0 } } };
	static const enum reason reasons[] = { REASON_NONE, REASON_NONE,
					       REASON_ENTRY_IS_LOOP_TARGET, REASON_UNDECODABLE,
					       REASON_UNDECODABLE };
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	for (size_t i = 0; i < 5; i++) {
		struct method_body body = jit_body("T::a()", 0x1000 + i, STATE_CURRENT);

		body.code = &codes[i];
		add(&plan, body);
	}
	finish(&plan, 4);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(plan.sites[i].reason, reasons[i]);
}

/* Precompiled bodies ------------------------------------------------------------------------ */

/* The state of the precompiled body at 0x1000 next to @body of the same method. */
static void assert_precompiled(struct method_body body, enum body_state state,
			       enum reason in_memory)
{
	struct plan in_file = { 0 }, copied = { 0 };

	add(&in_file, precompiled("T::a()", 0x1000, 1));
	add(&in_file, body);
	finish(&in_file, 4);
	/* A uprobe costs nothing where nobody comes by. */
	assert_site(&in_file, 0x1000, state, MECHANISM_UPROBE, REASON_NONE);
	add(&copied, precompiled("T::a()", 0x1000, BODY_NO_FILE));
	add(&copied, body);
	finish(&copied, 4);
	assert_site(&copied, 0x1000, state,
		    in_memory == REASON_NONE ? MECHANISM_BREAKPOINT : MECHANISM_NONE, in_memory);
	plan_deinit(&in_file);
	plan_deinit(&copied);
}

UNIT_TEST(states_of_precompiled_bodies)
{
	struct method_body later = jit_body("T::a()", 0x2000, STATE_CURRENT);
	struct method_body pending = jit_body("T::a()", 0x2000, STATE_PENDING);
	struct method_body other = jit_body("T::b()", 0x2000, STATE_CURRENT);

	assert_precompiled(other, STATE_CURRENT, REASON_NONE);
	later.precompiled_rejected = pending.precompiled_rejected = false;
	later.precompiled.value = pending.precompiled.value = 0x1000;
	assert_precompiled(later, STATE_SUPERSEDED, REASON_SUPERSEDED);
	assert_precompiled(pending, STATE_CURRENT, REASON_NONE);
	/* The method began with other code, or with none that was precompiled. */
	later.precompiled.value = 0x1010;
	assert_precompiled(later, STATE_REJECTED, REASON_REJECTED);
	assert_precompiled(jit_body("T::a()", 0x2000, STATE_CURRENT), STATE_REJECTED,
			   REASON_REJECTED);
}

/* The runtime's books could not be read: calls may go to the precompiled body still. */
UNIT_TEST(precompiled_bodies_of_unknown_state)
{
	struct method_body unreadable = jit_body("T::a()", 0x2000, STATE_UNKNOWN);

	unreadable.precompiled_rejected = false;
	assert_precompiled(unreadable, STATE_UNKNOWN, REASON_NONE);
}

/* What another body is sure of is not forgotten over one that is not. */
UNIT_TEST(one_sure_body_is_enough)
{
	for (int order = 0; order < 2; order++) {
		struct method_body unreadable =
			jit_body("T::a()", order ? 0x2000 : 0x3000, STATE_UNKNOWN);
		_cleanup_(plan_deinit) struct plan plan = { 0 };

		unreadable.precompiled_rejected = false;
		add(&plan, precompiled("T::a()", 0x1000, BODY_NO_FILE));
		add(&plan, unreadable);
		add(&plan, jit_body("T::a()", order ? 0x3000 : 0x2000, STATE_CURRENT));
		finish(&plan, 4);
		assert_site(&plan, 0x1000, STATE_REJECTED, MECHANISM_NONE, REASON_REJECTED);
	}
}

/* Methods of one name in two images are two, where it is known whose they are. */
UNIT_TEST(methods_of_one_name)
{
	struct method_body mine = precompiled("T::a()", 0x1000, 1);
	struct method_body others = jit_body("T::a()", 0x2000, STATE_CURRENT);
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	mine.id = (struct method_id){ .runtime = RUNTIME_DOTNET, .module = 1, .token = 1 };
	others.id = (struct method_id){ .runtime = RUNTIME_DOTNET, .module = 2, .token = 1 };
	mine.traits.defined = others.traits.defined = true;
	add(&plan, mine);
	add(&plan, others);
	finish(&plan, 4);
	assert_site(&plan, 0x1000, STATE_CURRENT, MECHANISM_UPROBE, REASON_NONE);
	assert_false(plan_same_method(site_at(&plan, 0x1000), site_at(&plan, 0x2000)));
	plan_deinit(&plan);

	plan = (struct plan){ 0 };
	others.id = (struct method_id){ 0 };
	others.traits.defined = false;
	add(&plan, mine);
	add(&plan, others);
	finish(&plan, 4);
	assert_site(&plan, 0x1000, STATE_REJECTED, MECHANISM_UPROBE, REASON_NONE);
	assert_true(plan_same_method(site_at(&plan, 0x1000), site_at(&plan, 0x2000)));
}

/* Methods that are not compiled are no bodies, whatever they are called. */
UNIT_TEST(names_without_code_reject_nothing)
{
	struct method_body none = jit_body("T::a()", 0, STATE_NO_BODY);
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	none.absent = BODY_NOT_COMPILED;
	add(&plan, precompiled("T::a()", 0x1000, 1));
	add(&plan, none);
	finish(&plan, 4);
	assert_site(&plan, 0x1000, STATE_CURRENT, MECHANISM_UPROBE, REASON_NONE);
}

/* Three names of one place, of which the first is refused: the second is probed for all. */
UNIT_TEST(names_of_one_place)
{
	struct method_body refused = precompiled("T::a()", 0x1000, 1);
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	refused.function_start = false;
	add(&plan, refused);
	add(&plan, precompiled("T::b()", 0x1000, 1));
	add(&plan, precompiled("T::c()", 0x1000, 1));
	finish(&plan, 4);
	assert_int_equal(plan.count, 3);
	assert_int_equal(plan.sites[0].reason, REASON_NOT_A_FUNCTION_START);
	assert_int_equal(plan.sites[1].mechanism, MECHANISM_UPROBE);
	assert_int_equal(plan.sites[2].reason, REASON_SAME_CODE);
}

/* --trace: what any pattern of a root has found is a root, by whatever name. */
UNIT_TEST(roots)
{
	_cleanup_(plan_deinit) struct plan plan = { 0 };
	struct plan_search of_roots = { .plan = &plan, .root = true }, others = { .plan = &plan };
	const struct method_body both = precompiled("T::both()", 0x1000, 1);
	const struct method_body root = precompiled("T::root()", 0x2000, 1);
	const struct method_body other = precompiled("T::other()", 0x3000, 1);
	const struct method_body same_code = precompiled("T::zoot()", 0x3000, 1);
	static const struct probe_cost costs[PROBE_KINDS];

	assert_int_equal(plan_add_found(&both, &of_roots), 0);
	assert_int_equal(plan_add_found(&root, &of_roots), 0);
	assert_int_equal(plan_add_found(&same_code, &of_roots), 0);
	assert_int_equal(plan_add_found(&other, &others), 0);
	assert_int_equal(plan_add_found(&both, &others), 0);
	finish(&plan, 4);
	assert_int_equal(plan.count, 4);
	assert_true(site_at(&plan, 0x1000)->root && site_at(&plan, 0x2000)->root);
	/* The first at that address, which is probed for both. */
	assert_true(site_at(&plan, 0x3000)->root);
	assert_int_equal(site_at(&plan, 0x3000)->mechanism, MECHANISM_UPROBE);
	assert_int_equal(timed_describe(site_at(&plan, 0x2000), 1, costs).root, 1);
	add(&plan, precompiled("T::none()", 0x4000, 1));
	assert_false(site_at(&plan, 0x4000)->root);
}

/* Finding a site again ----------------------------------------------------------------------- */

/* Methods of one stub need one register, and fare alike; the stub itself has the rest. */
UNIT_TEST(methods_of_one_stub)
{
	struct method_body stub =
		jit_body("dynamicClass::IL_STUB_PInvoke()", 0x1000, STATE_CURRENT);
	struct method_body b = jit_body("T::b()", 0x1000, STATE_CURRENT);
	struct method_body e = jit_body("e::e()", 0x1000, STATE_CURRENT);
	_cleanup_(plan_deinit) struct plan plan = { 0 };
	struct site_probe probe;

	b.stub = e.stub = true;
	add(&plan, stub);
	add(&plan, e);
	add(&plan, b);
	add(&plan, jit_body("T::z()", 0x2000, STATE_CURRENT));
	finish(&plan, 2);
	assert_int_equal(plan.count, 4);
	assert_string_equal(plan.sites[0].method, "T::b()");
	assert_string_equal(plan.sites[1].method, "e::e()");
	assert_string_equal(plan.sites[2].method, "dynamicClass::IL_STUB_PInvoke()");
	for (size_t i = 0; i < plan.count; i++) {
		assert_int_equal(plan.sites[i].mechanism, MECHANISM_BREAKPOINT);
		assert_int_equal(plan.sites[i].shares_probe, i == 1 || i == 2);
		assert_int_equal(site_probe_count(&plan.sites[i]), i == 1 || i == 2 ? 0 : 1);
	}
	assert_true(plan.sites[0].stub && plan.sites[1].stub && !plan.sites[2].stub);
	probe = site_probe(&plan.sites[0], 0, 0);
	assert_int_equal(probe.cookie, BREAKPOINT_STUB);
	/* Uprobes do not ask which method it is. */
	for (size_t i = 0; i < plan.count; i++)
		site_use_uprobe(&plan.sites[i], 7, (struct file_offset){ 1 });
	assert_int_equal(plan.sites[0].mechanism, MECHANISM_BREAKPOINT);
	assert_int_equal(plan.sites[2].mechanism, MECHANISM_BREAKPOINT);
	assert_int_equal(plan.sites[3].mechanism, MECHANISM_UPROBE);
	plan_deinit(&plan);

	add(&plan, b);
	add(&plan, e);
	finish(&plan, 0);
	assert_int_equal(plan.sites[0].reason, REASON_NO_DEBUG_REGISTER);
	assert_int_equal(plan.sites[1].reason, REASON_NO_DEBUG_REGISTER);
	assert_int_equal(plan.sites[1].mechanism, MECHANISM_NONE);
	plan_leave_stubs(&plan);
	assert_int_equal(plan.sites[1].reason, REASON_NATIVE_CALL);
}

UNIT_TEST(finds_sites)
{
	struct plan first = { 0 }, later = { 0 };

	add(&first, jit_body("T::b()", 0x2000, STATE_CURRENT));
	add(&first, jit_body("T::a()", 0x1000, STATE_CURRENT));
	add(&first, jit_body("T::a()", 0x3000, STATE_CURRENT));
	add(&first, precompiled("T::a()", 0x4000, 1));
	finish(&first, 4);
	add(&later, jit_body("T::a()", 0x3000, STATE_SUPERSEDED));
	add(&later, jit_body("T::a()", 0x2000, STATE_CURRENT)); /* in the place of T::b */
	add(&later, jit_body("T::c()", 0x5000, STATE_CURRENT));
	add(&later, jit_body("A::a()", 0x1000, STATE_CURRENT));
	finish(&later, 4);
	for (size_t i = 0; i < first.count; i++)
		assert_ptr_equal(plan_find(&first, &first.sites[i]), &first.sites[i]);
	assert_ptr_equal(plan_find(&first, site_at(&later, 0x3000)), site_at(&first, 0x3000));
	assert_null(plan_find(&first, site_at(&later, 0x2000)));
	assert_null(plan_find(&first, site_at(&later, 0x5000)));
	assert_null(plan_find(&first, site_at(&later, 0x1000)));
	plan_deinit(&later);
	assert_int_equal(later.count, 0);
	finish(&later, 4);
	assert_null(plan_find(&later, &first.sites[0]));
	plan_deinit(&first);
	plan_deinit(&later);
}

/* What comes up later keeps its number, and so do those before it, wherever they sort. */
UNIT_TEST(appends_sites)
{
	enum { MORE = 200 }; /* so that the plan has to grow */
	char method[] = "A::first()", made_from[] = "lambda in A::b()";
	_cleanup_(plan_deinit) struct plan plan = { 0 };
	struct site late = { .method = method, .image = "a.dll", .file = BODY_NO_FILE };

	add(&plan, jit_body("T::b()", 0x2000, STATE_CURRENT));
	add(&plan, jit_body("T::a()", 0x1000, STATE_CURRENT));
	finish(&plan, 4);
	late.address.value = 0x10;
	late.made_from = made_from;
	assert_int_equal(plan_append(&plan, &late, NULL), 0);
	/* Its strings are its own. */
	method[0] = made_from[0] = 'X';
	late.made_from = NULL;
	for (uint64_t i = 0; i < MORE; i++) {
		late.address.value = 0x5000 - i;
		assert_int_equal(plan_append(&plan, &late, NULL), 0);
	}
	assert_int_equal(plan_sort_methods(&plan, NULL), 0);
	assert_int_equal(plan.count, 3 + MORE);
	assert_string_equal(plan.sites[0].method, "T::a()");
	assert_string_equal(plan.sites[1].method, "T::b()");
	assert_string_equal(plan.sites[2].method, "A::first()");
	assert_string_equal(plan.sites[2].made_from, "lambda in A::b()");
	assert_null(plan.sites[3].made_from);
	for (size_t i = 0; i < plan.count; i++)
		assert_ptr_equal(plan_find(&plan, &plan.sites[i]), &plan.sites[i]);
	/* The sites of one method stand together, in the plan's order. */
	for (size_t i = 0; i + 1 < plan.count; i++) {
		int order = strcmp(plan.by_method[i]->method, plan.by_method[i + 1]->method);

		assert_true(order < 0 || (order == 0 && plan.by_method[i] < plan.by_method[i + 1]));
	}
}

/* It is one thing that there are no exits, and another that none are known. */
UNIT_TEST(copies_exits)
{
	struct site_exit exit = { .address = { 0x1001 } };
	struct site site = { .method = (char *)"T::a()" }, copy;

	assert_true(site_copy(&copy, &site));
	assert_null(copy.exits);
	site_deinit(&copy);

	site.exits = &exit;
	assert_true(site_copy(&copy, &site));
	assert_non_null(copy.exits);
	assert_int_equal(site_probe_count(&copy), 1);
	site_deinit(&copy);

	site.exit_count = 1;
	assert_true(site_copy(&copy, &site));
	assert_ptr_not_equal(copy.exits, &exit);
	assert_int_equal(copy.exits->address.value, 0x1001);
	assert_int_equal(site_probe_count(&copy), 2);
	site_deinit(&copy);
}

/* A cookie tells what the program has to know of an exit, and nothing in another's place. */
UNIT_TEST(cookies_of_exits)
{
	enum { EXITS = 3 };
	struct exit_site found[EXITS] = {
		{ .at = 0x1010,
		  .taken_down = EXIT_TAKEN_DOWN_MAX - 8,
		  .from_frame = true,
		  .kind = EXIT_JUMP,
		  .cost = INSN_EMULATED },
		{ .at = 0x1020, .kind = EXIT_BRANCH, .condition = 15, .cost = INSN_EMULATED },
		{ .at = 0x1030, .taken_down = 0x28, .cost = INSN_SINGLE_STEPPED },
	};
	const struct exits exits = { .sites = found, .count = EXITS };
	struct site site = { .address = { 0x1000 }, .mechanism = MECHANISM_UPROBE };
	enum reason why;
	uint64_t cookie;

	assert_int_equal(site_take_exits(&site, &exits, 0x1000, &why, NULL), 0);
	assert_int_equal(why, REASON_NONE);
	assert_int_equal(site.exit_count, EXITS);
	cookie = site_probe(&site, UINT32_MAX, 0).cookie;
	assert_int_equal((uint32_t)cookie, UINT32_MAX);
	assert_int_equal(cookie >> LATENCY_TAKEN_DOWN_SHIFT, EXIT_TAKEN_DOWN_MAX / 8 - 1);
	assert_int_equal(cookie >> LATENCY_CONDITION_SHIFT & LATENCY_CONDITION_MASK, 0);
	assert_int_equal(cookie & ((1ULL << LATENCY_CONDITION_SHIFT) - 1),
			 UINT32_MAX | LATENCY_EXIT | LATENCY_EXIT_EMULATED | LATENCY_EXIT_JUMPS |
				 LATENCY_EXIT_FROM_FRAME);
	cookie = site_probe(&site, 1, 1).cookie;
	assert_int_equal(cookie >> LATENCY_TAKEN_DOWN_SHIFT, 0);
	assert_int_equal(cookie >> LATENCY_CONDITION_SHIFT & LATENCY_CONDITION_MASK, 16);
	cookie = site_probe(&site, 1, 2).cookie;
	assert_int_equal(cookie >> LATENCY_TAKEN_DOWN_SHIFT, 5);
	assert_int_equal(cookie & ((1ULL << LATENCY_CONDITION_SHIFT) - 1), 1 | LATENCY_EXIT);
	free(site.exits);

	/* One probe at the entry cannot be there before a frame and after it. */
	found[2].at = 0x1000;
	assert_int_equal(site_take_exits(&site, &exits, 0x1000, &why, NULL), 0);
	assert_int_equal(why, REASON_EXIT_REFUSED);
	assert_null(site.exits);
}

UNIT_TEST(finds_methods)
{
	struct plan first = { 0 }, later = { 0 };

	add(&first, jit_body("T::a()", 0x3000, STATE_CURRENT));
	add(&first, jit_body("T::a()", 0x1000, STATE_CURRENT));
	add(&first, jit_body("T::c()", 0x2000, STATE_CURRENT));
	add(&first, precompiled("T::a()", 0x4000, 1));
	finish(&first, 4);
	add(&later, jit_body("T::a()", 0x9000, STATE_CURRENT));
	add(&later, jit_body("T::c()", 0x9100, STATE_CURRENT));
	add(&later, jit_body("T::b()", 0x9200, STATE_CURRENT));
	add(&later, jit_body("T::d()", 0x9300, STATE_CURRENT));
	add(&later, jit_body("A::a()", 0x9400, STATE_CURRENT));
	finish(&later, 4);
	/* In a file before in none. */
	assert_ptr_equal(plan_find_method(&first, site_at(&later, 0x9000)),
			 site_at(&first, 0x4000));
	assert_ptr_equal(plan_find_method(&first, site_at(&later, 0x9100)),
			 site_at(&first, 0x2000));
	for (uint64_t none = 0x9200; none <= 0x9400; none += 0x100)
		assert_null(plan_find_method(&first, site_at(&later, none)));
	plan_deinit(&later);
	finish(&later, 4);
	assert_null(plan_find_method(&later, &first.sites[0]));
	plan_deinit(&first);
	plan_deinit(&later);
}

/* Of two methods of one name in two images, the one in the same image. */
UNIT_TEST(finds_methods_of_one_name)
{
	static const char *const images[] = { "a.dll", "b.dll" };
	struct plan first = { 0 }, later = { 0 };

	for (size_t i = 0; i < 2; i++) {
		struct method_body body = jit_body("T::a()", 0x1000 + 0x100 * i, STATE_CURRENT);

		body.image = images[i];
		body.id = (struct method_id){ .runtime = RUNTIME_DOTNET,
					      .module = i + 1,
					      .token = 1 };
		body.traits.defined = true;
		add(&first, body);
		body.address.value += 0x1000;
		add(&later, body);
	}
	finish(&first, 4);
	finish(&later, 4);
	for (uint64_t i = 0; i < 2; i++)
		assert_ptr_equal(plan_find_method(&first, site_at(&later, 0x2000 + 0x100 * i)),
				 site_at(&first, 0x1000 + 0x100 * i));
	plan_deinit(&first);
	plan_deinit(&later);
}

/* Files before what is in none; each by its own order. */
UNIT_TEST(order_of_sites)
{
	struct method_body none = jit_body("T::none()", 0, STATE_NO_BODY);
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	none.absent = BODY_NOT_COMPILED;
	add(&plan, none);
	add(&plan, jit_body("T::d()", 0x9000, STATE_CURRENT));
	add(&plan, jit_body("T::c()", 0x1000, STATE_CURRENT));
	add(&plan, precompiled("T::b()", 0x8000, 7));
	add(&plan, precompiled("T::a()", 0x7000, 3));
	finish(&plan, 4);
	assert_string_equal(plan.sites[0].method, "T::a()");
	assert_string_equal(plan.sites[1].method, "T::b()");
	assert_string_equal(plan.sites[2].method, "T::c()");
	assert_string_equal(plan.sites[3].method, "T::d()");
	assert_string_equal(plan.sites[4].method, "T::none()");
}

/* Does @text name an option, and none that the help has not? */
static bool names_options(const char *text, const char *help)
{
	bool names = false;

	for (const char *p = text; (p = strchr(p, '-')); p += strspn(p, "-")) {
		size_t dashes = strspn(p, "-");
		size_t length = dashes + strspn(p + dashes, "abcdefghijklmnopqrstuvwxyz-");
		char option[32];

		if (p > text && p[-1] != ' ' && p[-1] != '(')
			continue;
		snprintf(option, sizeof(option), " %.*s", (int)length, p);
		assert_non_null(strstr(help, option));
		names = true;
	}
	return names;
}

/* Of each body that is not probed it is told why, and what to do, by an option that there is. */
UNIT_TEST(reasons)
{
	_cleanup_free_ char *help = NULL;
	size_t length;
	FILE *stream = open_memstream(&help, &length);

	assert_non_null(stream);
	options_print_help(stream);
	assert_int_equal(fclose(stream), 0);
	for (enum reason reason = REASON_NONE + 1; reason < reason_of_exits(EXITS_REFUSALS);
	     reason++) {
		if (reason == REASON_EXITS)
			continue; /* and EXITS_KNOWN: none */
		assert_non_null(reason_code(reason));
		assert_null(strchr(reason_code(reason), ' '));
		assert_non_null(reason_text(reason));
		assert_non_null(reason_next(reason));
		assert_true(names_options(reason_next(reason), help));
	}
	assert_null(reason_next(REASON_NONE));
}

/* Every name that is printed is there. */
UNIT_TEST(names)
{
	for (enum tier tier = TIER_R2R; tier <= TIER_UNKNOWN; tier++)
		assert_non_null(tier_name(tier));
	for (enum body_state is = STATE_UNKNOWN; is <= STATE_REJECTED; is++)
		assert_non_null(body_state_name(is));
	assert_null(body_state_name(STATE_NO_CALLS));
	assert_null(body_state_name(STATE_NO_BODY));
}

UNIT_MAIN(NULL, NULL)
