/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A runtime that is neither .NET nor native, and that nothing else knows about: with code that
 * moves, inlined frames, and ranges of code that are whatever a test wants.
 */
#ifndef TESTS_UNIT_TOY_RUNTIME_H
#define TESTS_UNIT_TOY_RUNTIME_H

#include "tests/unit/unit.h"

#include <string.h>

#include "method/method_name.h"
#include "method/pattern.h"
#include "runtime/frame.h"
#include "runtime/method_notes.h"
#include "runtime/runtime.h"

enum {
	RUNTIME_TOY = 100, /* one that nobody has heard of */
	CODE = 0x10000,	   /* a body every 0x100 bytes, which moves by as much */
	CODE_END = 0x20000,
	PAGE = 0x100,
	METHODS = 3,
	MODULE = 0x7074,
};

static const uint8_t push_ret[] = { 0x55, 0xc3 };

struct toy {
	struct runtime runtime;
	uint64_t moved;	     /* so far has its code moved */
	unsigned int looks;  /* it was asked to look again */
	unsigned int namers; /* that live */
	const struct code_range *ranges;
	size_t range_count;
	bool *destroyed;
};

static struct toy *toy_of(struct runtime *runtime)
{
	return (struct toy *)runtime;
}

static const char *const methods[METHODS] = { "a()", "b()", "c()" };

static uint64_t address_of(const struct toy *toy, size_t method)
{
	return CODE + toy->moved + method * PAGE;
}

/* Of each method an old body and a new one, which is another method's place by then. */
static int find(struct runtime *runtime, const struct body_query *query, body_fn fn, void *ctx,
		struct error *err)
{
	const struct body_code code = { .bytes = { push_ret, sizeof(push_ret) } };
	int result = 0;

	for (size_t i = 0; i < METHODS && result == 0; i++) {
		struct method_name name = { 0 };
		char spelled[16];
		struct method_body body = {
			.method = spelled,
			.image = "toy.bin",
			.id = { .runtime = (enum runtime_id)RUNTIME_TOY,
				.module = MODULE,
				.token = (uint32_t)i + 1 },
			.traits = { .defined = true, .single = true },
			.tier = TIER_TIER1,
			.state = STATE_CURRENT,
			.method_desc = i + 1,
			.sources = 1u << NAME_SOURCE_FIRST_MAP,
			.file = BODY_NO_FILE,
			.address = { address_of(toy_of(runtime), i) },
			.size = sizeof(push_ret),
			.function_start = true,
			.code = &code,
			.code_count = 1,
		};

		snprintf(spelled, sizeof(spelled), "Toy::%s", methods[i]);
		text_add(&name.type, "Toy");
		text_add_char(&name.name, methods[i][0]);
		if (pattern_matches(query->pattern, &name, err) == 1)
			result = fn(&body, ctx);
		method_name_deinit(&name);
	}
	return result;
}

/* Its code moves each time that it is looked at, and no mapping tells. */
static int refresh(struct runtime *runtime, bool mapped, struct error *err)
{
	struct toy *toy = toy_of(runtime);

	(void)mapped;
	(void)err;
	toy->looks++;
	toy->moved += PAGE;
	return 1;
}

static bool is_unchanged(struct runtime *runtime, struct address start, const char *method,
			 bool stub)
{
	size_t at = (start.value - address_of(toy_of(runtime), 0)) / PAGE;

	(void)stub;
	return start.value >= address_of(toy_of(runtime), 0) && at < METHODS &&
	       strcmp(method + strlen("Toy::"), methods[at]) == 0;
}

/* What is at 0x10 and more of a body was inlined into it. */
static void name_frame(void *ctx, const struct raw_frame *raw, struct named_frames *named)
{
	struct toy *toy = ctx;
	uint64_t in_code = raw->look_at.value - address_of(toy, 0);

	if (raw->place != RAW_IN_MEMORY || in_code / PAGE >= METHODS)
		return;
	named->count = in_code % PAGE >= 0x10 ? 2 : 1;
	for (size_t i = 0; i < named->count; i++)
		named->frames[i] = (struct frame){
			.kind = FRAME_V8,
			.name = i + 1 < named->count ? "inner" : methods[in_code / PAGE],
			.inlined = i + 1 < named->count,
		};
}

static void destroy_namer(void *ctx)
{
	struct toy *toy = ctx;

	toy->namers--;
}

static int frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err)
{
	struct toy *toy = toy_of(runtime);

	(void)err;
	toy->namers++;
	*namer = (struct frame_namer){ name_frame, NULL, destroy_namer, toy };
	return 0;
}

static int inliners(struct runtime *runtime, struct method_inliners *found,
		    const struct method_id *id, size_t named)
{
	(void)runtime;
	assert_int_equal(named, 1);
	found->method = strdup(methods[id->token - 1]);
	found->names = calloc(2, sizeof(*found->names));
	found->names[0] = strdup("Toy::caller()");
	found->count = 1;
	return 0;
}

static const char *map_name(const struct runtime *runtime, size_t map)
{
	(void)runtime;
	return map == 0 ? "toy.map" : NULL;
}

static bool is_present(const struct runtime *runtime)
{
	(void)runtime;
	return true;
}

static void destroy(struct runtime *runtime)
{
	struct toy *toy = toy_of(runtime);

	assert_int_equal(toy->namers, 0);
	*toy->destroyed = true;
}

static int ranges(struct runtime *runtime, code_range_fn fn, void *ctx)
{
	const struct toy *toy = toy_of(runtime);
	int result = 0;

	for (size_t i = 0; i < toy->range_count && result == 0; i++)
		result = fn(&toy->ranges[i], ctx);
	return result;
}

static enum unwinder elsewhere(const struct runtime *runtime, struct unwind_runtime *layout)
{
	(void)runtime;
	layout->range_map = MODULE;
	return UNWINDER_DOTNET;
}

static const struct runtime_ops toy_ops = {
	.id = (enum runtime_id)RUNTIME_TOY,
	.destroy = destroy,
	.is_present = is_present,
	.refresh = refresh,
	.find = find,
	.is_unchanged = is_unchanged,
	.inliners = inliners,
	.ranges = ranges,
	.elsewhere = elsewhere,
	.map_name = map_name,
	.frame_namer = frame_namer,
};

#endif
