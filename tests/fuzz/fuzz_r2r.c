// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a ReadyToRun image: every body is named, in every way, and found by address. */
#include "dotnet/metadata.h"
#include "dotnet/r2r.h"
#include "error.h"
#include "image/pe.h"
#include "method/method_name.h"

enum { MAX_PARTS = 16, MAX_BODIES = 200 };

struct look {
	struct r2r *r2r;
	struct method_name name;
	struct text text;
	unsigned int bodies;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look_at(const struct r2r_body *body, void *ctx)
{
	struct look *look = ctx;
	struct r2r_part parts[MAX_PARTS];
	struct r2r_body found;

	r2r_body_short_name(body, &look->name);
	r2r_body_name(body, &look->name);
	text_clear(&look->text);
	method_name_spell(&look->name, &look->text);
	r2r_body_map_name(body, &look->text);
	if (r2r_body_parts(body, parts, MAX_PARTS) == 0 || parts[0].rva.value != body->rva.value)
		__builtin_trap();
	(void)r2r_find_rva(look->r2r, body->rva, &found);
	if (!body->instance)
		(void)r2r_find_method(look->r2r, body->component, body->method_rid, &found);
	return ++look->bodies == MAX_BODIES;
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
	text_deinit(&look.text);
	method_name_deinit(&look.name);
	r2r_destroy(r2r);
	metadata_destroy(metadata);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err;
	struct r2r *r2r;
	struct pe pe;

	if (pe_init(&pe, (struct span){ data, size }, &err) < 0)
		return 0;
	(void)r2r_kind_of(&pe);
	if (r2r_create(&r2r, &pe, &err) == 0)
		look_at_image(&pe, r2r);
	return 0;
}
