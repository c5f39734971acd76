/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A runtime that is neither .NET nor native, with inlined frames, code that moves, and ranges of
 * code that are whatever a test wants: nothing but tests knows of it.
 */
#ifndef TESTS_UNIT_TOY_RUNTIME_H
#define TESTS_UNIT_TOY_RUNTIME_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "bpf/follow.h"
#include "method/method_name.h"
#include "method/pattern.h"
#include "runtime/follow.h"
#include "runtime/frame.h"
#include "runtime/runtime.h"
#include "target/files.h"

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

static int matches(struct pattern *pattern, size_t method, struct error *err)
{
	struct method_name name = { 0 };
	int result;

	text_add(&name.type, "Toy");
	text_add_char(&name.name, methods[method][0]);
	result = pattern_matches(pattern, &name, err);
	method_name_deinit(&name);
	return result;
}

static struct method_id id_of(size_t method)
{
	return (struct method_id){
		.runtime = (enum runtime_id)RUNTIME_TOY,
		.module = MODULE,
		.token = (uint32_t)method + 1,
	};
}

/* Of each method an old body and a new one, which is another method's place by then. */
static int find(struct runtime *runtime, const struct body_query *query, body_fn fn, void *ctx,
		struct error *err)
{
	const struct body_code code = { .bytes = { push_ret, sizeof(push_ret) } };
	int result = 0;

	for (size_t i = 0; i < METHODS && result == 0; i++) {
		char spelled[16];
		struct method_body body = {
			.method = spelled,
			.image = "toy.bin",
			.id = id_of(i),
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
		if (matches(query->pattern, i, err) == 1)
			result = fn(&body, ctx);
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
	*namer = (struct frame_namer){ .name = name_frame, .destroy = destroy_namer, .ctx = toy };
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

/* Following ---------------------------------------------------------------------------------- */

enum {
	TOY_IMAGES_MAX = 4,
	TOY_MAGIC = 'T', /* what images begin with; all have the same methods */
	TOY_FINAL = 1,	 /* how its compilations are flagged */
	TOY_ENTRY = 0x10,
	TOY_EXIT = 0x20,
	TOY_IN_FILE = 0x1000, /* where methods are, a page each */
};

struct toy_images {
	struct runtime_images images;
	struct runtime_image list[TOY_IMAGES_MAX];
	size_t count;
};

static inline const struct toy_images *toy_images(const struct runtime_images *images)
{
	return (const struct toy_images *)images;
}

static const struct runtime_follow_ops toy_follow_ops;

static int begin(struct runtime_follow *follow, const struct runtime *runtime, struct error *err)
{
	struct toy_images *images = calloc(1, sizeof(*images));

	(void)err;
	images->images.ops = &toy_follow_ops;
	*follow = (struct runtime_follow){ .images = &images->images };
	if (runtime)
		images->list[images->count++] = (struct runtime_image){ .name = "toy.bin" };
	return 0;
}

static void destroy_images(struct runtime_images *images)
{
	free(images);
}

static int find_code(struct runtime_code *code, const struct target_files *files,
		     const struct runtime *runtime, struct follow_shared *shared, struct error *err)
{
	(void)runtime;
	(void)err;
	if (files->count == 0)
		return -ENOENT;
	shared->has_layout = 1;
	code->runtime = code->compiler = &files->files[0];
	code->entry.value = TOY_ENTRY;
	code->exit.value = TOY_EXIT;
	return 0;
}

static enum tier tier_of(uint64_t flags, bool *final)
{
	*final = flags & TOY_FINAL;
	return *final ? TIER_OPTIMIZED : TIER_MINOPT;
}

/* All of it is one part. */
static size_t find_parts(struct address code, struct span bytes, struct span unwinds,
			 struct exit_part parts[EXITS_PARTS_MAX])
{
	(void)unwinds;
	parts[0] = (struct exit_part){ .code = bytes, .begin = code.value };
	return 1;
}

static size_t count_images(const struct runtime_images *images)
{
	return toy_images(images)->count;
}

static struct runtime_image image_at(const struct runtime_images *images, size_t number)
{
	return toy_images(images)->list[number];
}

static bool has_none(const struct runtime_images *images)
{
	(void)images;
	return false;
}

static bool has_none_named(const struct runtime_images *images, const char *file_name)
{
	(void)images;
	(void)file_name;
	return false;
}

static bool may_be_image(struct span bytes)
{
	return bytes.size && bytes.start[0] == TOY_MAGIC;
}

static int add_image(struct runtime_images *images, size_t file, uint64_t place, const char *name,
		     struct span bytes)
{
	struct toy_images *toy = (struct toy_images *)images;

	(void)place;
	if (!may_be_image(bytes))
		return 0;
	assert_true(toy->count < TOY_IMAGES_MAX);
	toy->list[toy->count++] = (struct runtime_image){ .name = name, .file = file };
	return 1;
}

static bool add_copy(struct runtime_images *images, uint8_t *bytes, size_t size, uint64_t base,
		     uint32_t flags)
{
	int added = add_image(images, BODY_NO_FILE, base, "copy.bin", (struct span){ bytes, size });

	(void)flags;
	free(bytes);
	return added == 1;
}

/* By the number of the image in the header. */
static long find_header(const struct runtime_images *images, const uint8_t *header, uint32_t size)
{
	(void)size;
	return header[0] < toy_images(images)->count ? header[0] : -1;
}

static int find_methods(const struct runtime_images *images, size_t number, struct pattern *pattern,
			bool nested, int (*fn)(const struct runtime_method *method, void *ctx),
			void *ctx)
{
	int result = 0;

	(void)nested;
	for (size_t i = 0; i < METHODS && result == 0; i++) {
		char spelled[16];
		const struct runtime_method method = {
			.image = toy_images(images)->list[number].name,
			.id = id_of(i),
			.row = (uint32_t)i + 1,
			.sure = true,
			.method = spelled,
		};

		snprintf(spelled, sizeof(spelled), "Toy::%s", methods[i]);
		if (matches(pattern, i, NULL) == 1)
			result = fn(&method, ctx);
	}
	return result;
}

static bool find_method(const struct runtime_images *images, const struct method_id *id,
			size_t *number, uint32_t *row)
{
	*number = 0;
	*row = id->token;
	return toy_images(images)->count && id->runtime == (enum runtime_id)RUNTIME_TOY;
}

static int find_in_image(const struct runtime_images *images, size_t number,
			 const struct runtime_search *search, body_fn fn, void *ctx,
			 struct error *err)
{
	const struct body_code code = { .bytes = { push_ret, sizeof(push_ret) } };
	int result = 0;

	(void)err;
	for (size_t i = 0; i < METHODS && result == 0; i++) {
		struct method_body body = {
			.method = "Toy::early()",
			.image = toy_images(images)->list[number].name,
			.id = id_of(i),
			.tier = TIER_R2R,
			.file = toy_images(images)->list[number].file,
			.offset = { TOY_IN_FILE + i * PAGE },
			.address = { 1 },
			.size = sizeof(push_ret),
			.function_start = true,
			.code = &code,
			.code_count = 1,
		};

		for (size_t p = 0; p < search->count && result == 0; p++) {
			if (matches(search->patterns[p], i, NULL) == 1)
				result = fn(&body, ctx);
		}
	}
	return result;
}

static void spell_params(const struct runtime_images *images, long number, struct span signature,
			 struct text *params)
{
	(void)images;
	(void)number;
	(void)signature;
	text_add_char(params, '?');
}

static bool may_share(const struct runtime_images *images, size_t number, uint32_t row,
		      const char *params)
{
	(void)images;
	(void)number;
	(void)row;
	(void)params;
	return false;
}

static const struct runtime_follow_ops toy_follow_ops = {
	.id = (enum runtime_id)RUNTIME_TOY,
	.dynamic_type = "Script",
	.stub_name = "stub",
	.program_end = ".toy",
	.begin = begin,
	.destroy = destroy_images,
	.find_code = find_code,
	.tier_of = tier_of,
	.find_parts = find_parts,
	.count = count_images,
	.at = image_at,
	.have_compressed = has_none,
	.have_named = has_none_named,
	.may_be_image = may_be_image,
	.is_bundle = may_be_image,
	.add_file = add_image,
	.add_copy = add_copy,
	.find_header = find_header,
	.find = find_methods,
	.find_method = find_method,
	.bodies = find_in_image,
	.spell_params = spell_params,
	.may_share = may_share,
};

/* The runtime -------------------------------------------------------------------------------- */

static int ranges(struct runtime *runtime, code_range_fn fn, void *ctx)
{
	const struct toy *toy = toy_of(runtime);
	int result = 0;

	for (size_t i = 0; i < toy->range_count && result == 0; i++)
		result = fn(&toy->ranges[i], ctx);
	return result;
}

static enum unwinder elsewhere(const struct runtime *runtime, struct unwind_layouts *layouts)
{
	(void)runtime;
	layouts->dotnet.range_map = MODULE;
	return UNWINDER_DOTNET;
}

static const struct runtime_ops toy_ops = {
	.id = (enum runtime_id)RUNTIME_TOY,
	.destroy = destroy,
	.is_present = is_present,
	.refresh = refresh,
	.find = find,
	.follow = &toy_follow_ops,
	.ranges = ranges,
	.elsewhere = elsewhere,
	.is_unchanged = is_unchanged,
	.inliners = inliners,
	.map_name = map_name,
	.frame_namer = frame_namer,
};

#endif
