// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a ReadyToRun image: every body is named, in every way, and found by address; and
 * all that it says of inlining is read.
 */
#include "tests/fuzz/fuzz.h"
#include "runtime/dotnet/il.h"
#include "runtime/dotnet/images.h"
#include "runtime/dotnet/inlining.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r.h"
#include "base/error.h"
#include "image/pe.h"
#include "method/method_name.h"

enum { MAX_PARTS = 16, MAX_BODIES = 200, MAX_ROWS = 32 };

struct look {
	struct r2r *r2r;
	struct method_name name;
	struct text text;
	unsigned int bodies;
	unsigned int names;
	uint64_t inliners;
};

static int look_at(const struct r2r_body *body, void *ctx)
{
	struct look *look = ctx;
	struct r2r_part parts[MAX_PARTS];
	struct r2r_body found;
	uint32_t il;

	r2r_body_short_name(body, &look->name);
	r2r_body_name(body, &look->name);
	text_clear(&look->text);
	method_name_spell(&look->name, &look->text);
	r2r_body_map_name(body, &look->text);
	check(r2r_body_parts(body, parts, MAX_PARTS) > 0 && parts[0].rva.value == body->rva.value);
	(void)r2r_find_rva(look->r2r, body->rva, &found);
	(void)r2r_in_filter(body, body->rva);
	(void)r2r_find_il(body, body->rva, &il);
	if (!body->instance)
		(void)r2r_find_method(look->r2r, body->component, body->method_rid, &found);
	return ++look->bodies == MAX_BODIES;
}

static void name_method(struct look *look, const struct r2r_method *method)
{
	if (method->metadata && look->names++ < MAX_BODIES)
		r2r_method_name(method, &look->name);
}

static int look_at_inliner(const struct r2r_method *inliner, void *ctx)
{
	struct look *look = ctx;

	look->inliners++;
	name_method(look, inliner);
	return 0;
}

static int look_at_inlinee(const struct r2r_inlinee *inlinee, void *ctx)
{
	struct look *look = ctx;
	struct r2r_inlinee again;

	name_method(look, &inlinee->method);
	(void)r2r_each_inliner(inlinee, look_at_inliner, look);
	check(r2r_inlinee_read(&again, inlinee->r2r, inlinee->table, inlinee->offset) &&
	      again.number_count == inlinee->number_count);
	return 0;
}

/* However the entries of a table lie, there are no more inliners than it has bytes. */
static void look_at_inlining(const struct pe *pe, struct look *look)
{
	uint64_t tables = 1 + (uint64_t)r2r_component_count(look->r2r);

	(void)r2r_has_inlining(look->r2r);
	(void)r2r_each_inlinee(look->r2r, look_at_inlinee, look, NULL);
	check(look->inliners <= tables * pe->file.size);
}

/* The file's own metadata stands for that of every component. */
static void look_at_image(const struct pe *pe, struct r2r *r2r)
{
	struct look look = { .r2r = r2r };
	struct metadata *metadata = NULL;
	struct span bytes = metadata_of_pe(pe);

	if (!bytes.start)
		bytes = r2r_component_metadata(r2r, 0);
	(void)metadata_create(&metadata, bytes, NULL);
	for (uint32_t i = 0; metadata && i < r2r_component_count(r2r); i++) {
		(void)r2r_component_name(r2r, i);
		r2r_set_metadata(r2r, i, metadata);
	}
	(void)r2r_each_body(r2r, look_at, &look);
	look_at_inlining(pe, &look);
	text_deinit(&look.text);
	method_name_deinit(&look.name);
	r2r_destroy(r2r);
	metadata_destroy(metadata);
}

static bool is_mapped(const void *ctx, uint64_t offset, uint64_t size)
{
	(void)ctx;
	(void)offset;
	return size > 0;
}

/* The same as the image of a process, in which what has inlined a method is looked for. */
static void look_at_process(struct span bytes)
{
	struct dotnet_source source = { .name = "a.dll", .bytes = bytes, .is_mapped = is_mapped };
	struct dotnet_images images = { 0 };
	struct dotnet_inlining *inlining;

	if (dotnet_images_add(&images, &source, NULL))
		return;
	dotnet_images_link_from(&images, 0);
	for (uint32_t rid = 0; images.count > 0 && rid < MAX_ROWS; rid++)
		(void)il_size_class(images.images[0], rid, UINT32_MAX);
	if (dotnet_inlining_create(&inlining, &images, NULL) == 0) {
		for (uint32_t i = 0; images.count > 0 && i < 2 * MAX_ROWS; i++) {
			const struct r2r_method method = {
				.metadata = images.images[0]->metadata,
				.method_rid = i < MAX_ROWS ? i : 0,
				.member_ref_rid = i < MAX_ROWS ? 0 : i - MAX_ROWS,
			};
			struct dotnet_inliners inliners;

			(void)dotnet_inliners_find(&inliners, inlining, &method);
			dotnet_inliners_deinit(&inliners);
		}
		dotnet_inlining_destroy(inlining);
	}
	dotnet_images_deinit(&images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err;
	struct r2r *r2r;
	struct pe pe;

	(void)il_code_size_class((struct span){ data, size }, 1);
	if (pe_init(&pe, (struct span){ data, size }, &err) < 0)
		return 0;
	(void)r2r_kind_of(&pe);
	if (r2r_create(&r2r, &pe, &err) == 0)
		look_at_image(&pe, r2r);
	look_at_process((struct span){ data, size });
	return 0;
}
