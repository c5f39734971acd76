// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A runtime's structures with any bytes in any of their fields, some of them put there while they
 * are read: what is compiled is found and named, looked at again, and all of it soon.
 *
 * The first byte says which runtime, then each record changes something.
 */
#include "tests/fuzz/fuzz.h"
#include "base/cleanup.h"
#include "runtime/dotnet/memory_image.h"
#include "runtime/dotnet/sealed.h"
#include "tests/unit/clr_methods.h"
#include "tests/unit/written_debug_info.h"
#include "tests/fuzz/records.h"

#include "method/method_name.h"

enum {
	WITH_CONTRACT = 0x10, /* of the first byte */
	NAME_MAX_BYTES = 1 << 20,
};

/* What a record does. */
enum {
	CHANGE_SET,   /* a number into a field */
	CHANGE_POINT, /* somewhere into the world */
	CHANGE_COPY,  /* what another field holds, so that there are circles */
	CHANGE_ADD,   /* a little more or less */
	CHANGE_HIGH,  /* all bits from one on */
	CHANGE_BIT,   /* one bit alone */
	CHANGE_BYTE,  /* a byte that is no field: of an image, a signature, a name */
	CHANGE_FLIP,  /* some bits */
	CHANGES
};

static void apply(struct world *world, const struct record *record)
{
	const struct world_field *field = &world->fields[record->field % world->field_count];
	const struct world_field *other = &world->fields[record->value % world->field_count];
	unsigned int more = record->change / CHANGES;
	uint64_t value = 0;

	memcpy(&value, world->bytes + field->offset, field->size);
	switch (record->change % CHANGES) {
	case CHANGE_SET:
		value = record->value;
		break;
	case CHANGE_POINT:
		value = WORLD_BASE + 8ull * record->value % world->room;
		break;
	case CHANGE_COPY:
		memcpy(&value, world->bytes + other->offset, other->size);
		break;
	case CHANGE_ADD:
		value += (uint64_t)(int16_t)record->value;
		break;
	case CHANGE_HIGH:
		value = UINT64_MAX << record->value % 64;
		break;
	case CHANGE_BIT:
		value = 1ull << record->value % 64;
		break;
	case CHANGE_BYTE:
		world->bytes[((size_t)more << 16 | record->field) % world->used] =
			(uint8_t)record->value;
		return;
	default:
		value ^= (uint64_t)record->value << more % 48;
	}
	memcpy(world->bytes + field->offset, &value, field->size);
}

static void on_read(struct world *world, uint64_t at)
{
	(void)at;
	apply_until(world, world->reads);
}

/* The world as it is before anything is changed ------------------------------------------- */

/* Rows of tests/golden/tiny-*. */
enum { OUTER = 2, INNER = 3, DEEP = 4, ADD = 2, PUT = 3, MAP = 4, GO = 5 };

/* One of each kind of type, the last of which is made of all others. */
static uint64_t add_types(struct world *world, uint64_t module)
{
	uint64_t outer = world_type(world, module, OUTER);
	uint64_t inner = world_type(world, module, INNER);
	uint64_t args[6] = { outer };

	args[1] = world_array(world, outer, 0);
	args[2] = world_array(world, args[1], 2);
	args[3] = world_param(world, WORLD_POINTER, outer);
	args[4] = world_param(world, WORLD_BYREF, args[2]);
	args[5] = world_function(world, args, 2);
	world_set_args(world, inner, args, 6);
	return inner;
}

static void add_versions(struct world *world, struct world_heap *heap, uint64_t desc)
{
	uint64_t own = world_body(world, heap, 64, desc);
	uint64_t next = world_body_of(world, heap, 600, desc, 1);
	uint64_t last = world_body(world, heap, 40, desc);
	uint64_t state = world_state(world, desc, false);

	world_set_own(world, desc, own);
	(void)world_version(world, state, next, 1, 4, false);
	(void)world_version(world, state, last, 2, 1, true);
	world_count_calls(world, desc, 2, 4);
}

static void add_methods(struct world *world, uint64_t module)
{
	static const uint8_t signature[] = { 0x00, 0x02, 0x01, 0x08, 0x21, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct world_heap heap = world_heap(world, 4096, false);
	struct world_heap dynamic_heap = world_heap(world, 4096, true);
	uint64_t outer = world_type(world, module, OUTER), inner = add_types(world, module);
	uint64_t tiered = world_method(world, outer, ADD, WORLD_METHOD_TIERED | WORLD_METHOD_SLOT);
	uint64_t map = world_method(world, inner, MAP, WORLD_METHOD_INSTANTIATED);
	uint64_t dynamic = world_dynamic(world, outer, "Made", signature, sizeof(signature));
	uint64_t sig = world_get(world, world_field(world, dynamic, STORED_SIG), 8);

	world_put(world, sig + 5, inner, 8);
	world_set_method_args(world, map, &inner, 1);
	add_versions(world, &heap, tiered);
	(void)world_body(world, &heap, 32, world_method(world, inner, PUT, 0));
	(void)world_body(world, &heap, 32, map);
	(void)world_body(world, &dynamic_heap, 32, dynamic);
	(void)world_stub(world, &heap, 3);
}

static void add_modules(struct world *world)
{
	static const struct world_clause clauses[] = { { 2, 0, 4, 8, 0x10, 0, 0 },
						       { 1, 0, 4, 0x28, 0x30, 0, 0x20 } };
	size_t size;
	uint64_t at = world_file(world, "tiny-metadata.bin", &size);
	uint64_t emitted = world_emitted_module(world, world_at(world, at, size), size);
	uint64_t image = world_section(world, WORLD_BASE, WORLD_BASE + 4096, 0);
	uint64_t loaded = world_section(world, WORLD_BASE + 4096, WORLD_BASE + 8192, 0);
	uint64_t cut = world_section(world, WORLD_BASE + 8192, WORLD_BASE + 12288, 0);
	struct world_heap heap = world_heap(world, 256, false);
	uint64_t type = world_type(world, emitted, DEEP), body;

	add_methods(world, world_file_module(world, "tiny-bodies.dll"));
	world_set(world, image, SECTION_R2R_MODULE, world_file_module(world, "tiny-r2r.dll"), 8);
	world_set(world, loaded, SECTION_R2R_MODULE, world_loaded_module(world, 0), 8);
	world_set(world, cut, SECTION_R2R_MODULE, world_loaded_module(world, 8 * WORLD_PAGE), 8);
	body = world_body(world, &heap, 128, world_method(world, type, GO, WORLD_METHOD_SLOT));
	/* Of one with all that may come before it. */
	world_set(world, world_code_header(world, body), CODE_DEBUG_INFO,
		  put_info(world, true, true), 8);
	world_set_clauses(world, body, clauses, 2);
}

static void add_contract(struct world *world)
{
	enum { POINTERS = 24, CODE_RANGE_MAP = 20 }; /* in contract-10.json */
	uint64_t pointers[POINTERS] = { [CODE_RANGE_MAP] = world->range_map };
	size_t size;
	uint64_t json = world_file(world, "contract-10.json", &size);

	world->contract_at = world_contract(world, (const char *)world_at(world, json, size + 1),
					    pointers, POINTERS);
}

/* Looking at it ----------------------------------------------------------------------------- */

static void check_name(const struct method_name *name, struct text *spelled)
{
	text_clear(spelled);
	method_name_spell(name, spelled);
	check(spelled->length < NAME_MAX_BYTES);
}

static void look_at_methods(struct jit *jit)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	_cleanup_(text_deinit) struct text spelled = { 0 };

	check(jit->method_count <= jit->body_count);
	for (size_t i = 0; i < jit->method_count; i++) {
		const struct jit_method *method = &jit->methods[i];

		clr_method_short_name(&jit->clr, &method->is, &name);
		check_name(&name, &spelled);
		(void)jit_method_name(jit, method, &name);
		check_name(&name, &spelled);
		check(method->body_count > 0);
		for (size_t b = 0; b < method->body_count; b++)
			check(jit_method_body(jit, method, b)->method == method);
		if (method->is.module)
			check(jit_has_method(jit, method->is.module->image, method->is.rid));
	}
}

static void look_at_bodies(struct jit *jit)
{
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	_cleanup_(text_deinit) struct text spelled = { 0 };

	jit_recheck_begin(jit);
	for (size_t i = 0; i < jit->body_count; i++) {
		const struct jit_body *body = &jit->bodies[i];
		struct clr_method named;
		uint32_t il;

		check(i == 0 || body[-1].start.value < body->start.value);
		check(body->size > 0 && jit_find_body(jit, body->start) == body);
		check(tier_name(body->tier) != NULL);
		(void)body_state_name(body->state);
		(void)jit_find_il(jit, body->start, body->size - 1, &il);
		(void)jit_in_filter(jit, body->start, body->size - 1);
		if (body->method) {
			(void)jit_may_be_freed(jit, body->method);
			(void)jit_stub_module(jit, body->method);
			if (jit_name_desc(jit, body->method->is.desc, &name, &named))
				check_name(&name, &spelled);
			(void)jit_has_desc(jit, body->method->is.desc);
		}
		if (jit_recheck(jit, body, &name))
			check_name(&name, &spelled);
	}
}

static void look_at_image(const struct dotnet_images *images, const struct dotnet_image *image)
{
	struct address address;
	struct rva rva;

	check(image->name != NULL);
	if (image->file != DOTNET_NO_FILE)
		return;
	for (unsigned int i = 0; i < image->pe.section_count; i++) {
		if (!memory_image_address(image, image->pe.sections[i].rva, &address))
			continue;
		check(address.value - image->base.value < image->copy_size);
		check(memory_image_find(images, address) != NULL);
		(void)memory_image_rva(image, address, &rva);
	}
}

static void look_at_images_and_stubs(const struct dotnet_images *images, struct jit *jit)
{
	for (size_t i = 0; i < jit->body_count; i++)
		(void)jit_stub_name(jit, jit->bodies[i].start);
	for (uint64_t at = 0; at < 64; at++)
		(void)jit_stub_name(jit, (struct address){ WORLD_BASE + at * 0x400 });
	if (jit_read_images(jit, NULL) == 0) {
		for (size_t i = 0; i < jit->image_count; i++) {
			if (jit->images[i].image)
				look_at_image(images, jit->images[i].image);
		}
	}
}

static void look_at_sealed(struct jit *jit)
{
	_cleanup_(sealed_pages_deinit) struct sealed_pages pages = { 0 };

	check(sealed_code_read(&pages, &jit->clr, NULL) == 0);
	for (size_t i = 0; i < pages.count; i++) {
		const struct sealed_range *range = &pages.ranges[i];

		check(range->begin < range->end && range->begin % SEALED_PAGE_BYTES == 0 &&
		      range->end % SEALED_PAGE_BYTES == 0);
		check(i == 0 || range[-1].end < range->begin);
		check(sealed_pages_have(&pages, range->begin) &&
		      !sealed_pages_have(&pages, range->end));
	}
}

static void look(struct world *world)
{
	struct jit *jit;

	if (world_create_jit(world, &jit, NULL) != 0)
		return;
	for (int i = 0; i < 2; i++) {
		if (jit_read(jit, NULL) != 0)
			break;
		look_at_methods(jit);
		look_at_bodies(jit);
		look_at_images_and_stubs(&world->images, jit);
		look_at_sealed(jit);
	}
	jit_destroy(jit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan plan = { 0 };
	struct world world;

	if (size == 0)
		return 0;
	plan.records = data + 1;
	plan.count = (size - 1) / sizeof(struct record);
	world_init(&world, 8 + data[0] % 16 % 3, WORLD_ROOM);
	add_modules(&world);
	if (data[0] & WITH_CONTRACT)
		add_contract(&world);
	world.ctx = &plan;
	apply_until(&world, 0);
	world.on_read = on_read;
	look(&world);
	world_deinit(&world);
	return 0;
}
