// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime/follow.h by a runtime that is neither .NET nor native: what it compiles and loads is
 * watched for, planned and probed by the interface alone.
 */
#include "tests/unit/toy_runtime.h"

#include <bpf/bpf.h>

#include "base/error.h"
#include "follow/follow.h"
#include "follow/jit/compilations.h"
#include "follow/messages/snapshot.h"
#include "tests/unit/fake_breakpoints.h"

enum {
	WATCHED_FD = 1000,
	MODULES_FD,
	AT = 0x7000, /* the module */
	FILE_NUMBER = 7,
	HANDLE = 0xabc,
};

static unsigned int watched, modules;

/* In place of libbpf's. */
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)key;
	(void)value;
	(void)flags;
	watched += fd == WATCHED_FD;
	modules += fd == MODULES_FD;
	return 0;
}

struct world {
	char *patterns[2];
	struct request request;
	struct follow_shared shared;
	struct follow_snapshot snapshot;
	struct messages messages;
	struct breakpoints breakpoints;
	struct plan plan;
	int slots[BREAKPOINTS_MAX];
	struct compilations *jit;
	struct watch *watch;
};

/* As follow_create() has it, of a program that is just being started: it has nothing yet. */
static void open_world(struct world *w, const char *first, const char *second)
{
	static const struct runtime_ops still = { .id = RUNTIME_NATIVE };
	const struct runtime_ops *const offered[] = { &still, &toy_ops, NULL };
	const struct follow_config follow = { .offered = offered };
	struct compilations_config config = {
		.methods = &w->request,
		.snapshot = &w->snapshot,
		.maps = { WATCHED_FD, MODULES_FD },
		.messages = &w->messages,
		.breakpoints = &w->breakpoints,
		.plan = &w->plan,
		.slots = w->slots,
	};

	*w = (struct world){
		.patterns = { (char *)first, (char *)second },
		.request.count = second ? 2 : 1,
		.breakpoints.registers = BREAKPOINTS_MAX,
		.slots = { -1, -1, -1, -1 },
	};
	w->request.patterns = w->patterns;
	watched = modules = 0;
	assert_int_equal(follow_snapshot_take(&w->snapshot, &follow, NULL), 0);
	assert_int_equal(messages_init(&w->messages, &w->shared, 0, NULL), 0);
	assert_int_equal(compilations_create(&w->jit, &config, NULL), 0);
	compilations_adopt_registers(w->jit);
	w->watch = w->jit->watch;
}

static void close_world(struct world *w)
{
	compilations_destroy(w->jit);
	messages_deinit(&w->messages);
	runtime_follow_end(&w->snapshot.runtime);
}

UNIT_TEST(which_is_followed)
{
	static const struct runtime_ops still = { .id = RUNTIME_NATIVE };
	struct toy toy = { .runtime = { &toy_ops } };
	struct runtime native = { &still };
	struct runtimes runtimes = { .list = { &native }, .count = 1 };
	const struct runtime_ops *const offered[] = { &still, NULL };
	const struct follow_config nothing = { .offered = offered };
	struct follow_snapshot snapshot;
	struct error err;

	assert_null(runtimes_followed(&runtimes));
	assert_int_equal(follow_snapshot_take(&snapshot, &nothing, &err), -ENOTSUP);
	assert_string_not_equal(err.text, "");
	runtimes.list[runtimes.count++] = &toy.runtime;
	assert_ptr_equal(runtimes_followed(&runtimes), &toy.runtime);
}

/* What is loaded: its methods are watched for, and its code is planned. */
UNIT_TEST(files)
{
	static const uint8_t image[FOLLOW_DETAIL_BYTES] = { TOY_MAGIC }, other[] = { 'x' };
	const uint8_t header[FOLLOW_DETAIL_BYTES] = { 0 };
	const struct compile_event event = { .module = AT, .layout_base = 1, .rid = 2 };
	const struct watch_row *row;
	struct plan plan = { 0 };
	struct world w;

	open_world(&w, "Toy::b", NULL);
	assert_int_equal(watch_add_file(w.watch, FILE_NUMBER, 1, "x", (struct span){ other, 1 }),
			 0);
	assert_int_equal(watch_learn(w.watch, &event, header), WATCH_UNKNOWN);
	assert_int_equal(watch_add_file(w.watch, FILE_NUMBER, 1, "toy.bin",
					(struct span){ image, sizeof(image) }),
			 1);
	assert_int_equal(watch_row_count(w.watch), 1);
	assert_int_equal(watch_learn(w.watch, &event, header), WATCH_KNOWN);
	assert_int_equal(watched, 1);
	assert_int_equal(modules, 1);
	row = watch_find(w.watch, &event);
	assert_non_null(row);
	assert_string_equal(row->is.method, "Toy::b()");
	assert_int_equal(watch_row_of(w.watch, &row->is.id)->rank, 0);
	assert_int_equal(watch_plan_image(w.watch, 0, &plan, NULL), 0);
	assert_int_equal(plan_finish(&plan, 0, NULL), 0);
	assert_int_equal(plan.count, 1);
	assert_int_equal(plan.sites[0].mechanism, MECHANISM_UPROBE);
	assert_int_equal(plan.sites[0].file, FILE_NUMBER);
	assert_int_equal(plan.sites[0].offset.value, TOY_IN_FILE + PAGE);
	plan_deinit(&plan);
	close_world(&w);
}

static struct compile_event compiled(uint32_t rid, uint64_t code, uint64_t flags)
{
	return (struct compile_event){
		.head.tid = 1,
		.module = AT,
		.rid = rid,
		.method_desc = HANDLE,
		.code = code,
		.size = sizeof(push_ret),
		.jit_flags = flags,
	};
}

/* What is compiled: each body gets a site, by its runtime's word for it, and a register. */
UNIT_TEST(compilations)
{
	static const uint8_t image[FOLLOW_DETAIL_BYTES] = { TOY_MAGIC };
	const uint8_t header[FOLLOW_DETAIL_BYTES] = { 0 };
	struct compile_event event = compiled(1, CODE, 0);
	const struct site *site;
	struct world w;

	open_world(&w, "Toy::a", NULL);
	assert_int_equal(watch_add_file(w.watch, FILE_NUMBER, 1, "toy.bin",
					(struct span){ image, sizeof(image) }),
			 1);
	/* The first of its module is told with the header. */
	event.kind = COMPILE_UNKNOWN;
	event.layout_base = 1;
	compilations_answer(w.jit, &event, header);
	event = compiled(1, CODE + PAGE, TOY_FINAL);
	compilations_answer(w.jit, &event, NULL);
	/* Nobody asks for this one. */
	event = compiled(2, CODE + 2 * PAGE, 0);
	compilations_answer(w.jit, &event, NULL);
	assert_int_equal(sites_count(w.messages.sites), 2);
	for (size_t i = 0; i < 2; i++) {
		site = sites_at(w.messages.sites, i);
		assert_string_equal(site->method, "Toy::a()");
		assert_int_equal(site->id.runtime, RUNTIME_TOY);
		assert_int_equal(site->mechanism, MECHANISM_BREAKPOINT);
		assert_int_equal(site->address.value, CODE + i * PAGE);
		assert_int_equal(site->tier, i ? TIER_OPTIMIZED : TIER_MINOPT);
		assert_int_equal(site->final, i);
	}
	assert_int_equal(w.breakpoints.moves, 2);
	close_world(&w);
}

UNIT_TEST(dynamic_methods)
{
	struct compile_event event = compiled(0, CODE, 0);
	uint8_t name[FOLLOW_DETAIL_BYTES] = "main";
	const struct site *site;
	struct world w;

	open_world(&w, "Toy::a", "Script::main");
	assert_true(watch_wants_dynamic(w.watch));
	event.kind = COMPILE_DYNAMIC;
	compilations_answer(w.jit, &event, name);
	assert_int_equal(sites_count(w.messages.sites), 1);
	site = sites_at(w.messages.sites, 0);
	assert_string_equal(site->method, "Script::main(?)");
	assert_int_equal(site->id.runtime, RUNTIME_TOY);
	close_world(&w);
}

UNIT_MAIN(NULL, NULL)
