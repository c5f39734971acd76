// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of V8 with any bytes in any of their fields, some of them put there while they are read:
 * frames of all kinds are named, and soon. Or any bytes as the tables from code to the source.
 *
 * The first byte says which version, or which table; then each record changes something.
 */
#include "tests/fuzz/v8_checks.h"
#include "tests/unit/v8_world.h"
#include "tests/fuzz/records.h"

#include "runtime/v8/positions.h"
#include "runtime/v8/function.h"

enum {
	TABLES = 0x80,	     /* of the first byte: no objects */
	READS_MAX = 1 << 21, /* of the target's memory, for all frames together */
};

/* What a record does. */
enum {
	CHANGE_SET,    /* a number into a field */
	CHANGE_POINT,  /* somewhere into the world */
	CHANGE_OBJECT, /* to an object that another field is the first word of */
	CHANGE_COPY,   /* what another field holds, so that there are circles */
	CHANGE_ADD,    /* a little more or less */
	CHANGE_SMI,    /* a small integer */
	CHANGE_HIGH,   /* all bits from one on */
	CHANGE_BYTE,   /* a byte that is no field: of a string, of a table */
	CHANGES
};

struct places {
	uint64_t function;
	uint64_t builtin;
	uint64_t receiver;
	uint64_t bytecodes;
	uint64_t baseline;
	uint64_t optimized;
	uint64_t isolate;
};

static const struct v8_version versions[] = {
	{ 9, 3, 0, 0 },	 { 10, 2, 0, 0 }, { 11, 3, 0, 0 }, { 12, 4, 0, 0 },
	{ 13, 6, 0, 0 }, { 14, 1, 0, 0 }, { 14, 6, 0, 0 },
};
enum { VERSIONS = sizeof(versions) / sizeof(versions[0]) };

static const uint8_t sizes[3 * 8] = { 1, 1, 1, 1, 1, 2, 3, 4, 1, 1, 1, 1,
				      1, 3, 5, 7, 1, 1, 1, 1, 1, 5, 9, 13 };

/* Changes ---------------------------------------------------------------------------------- */

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
		value = WORLD_BASE + 8ull * record->value % WORLD_ROOM + more % 4;
		break;
	case CHANGE_OBJECT:
		value = WORLD_BASE + other->offset + 1 + (more % 2) * 2;
		break;
	case CHANGE_COPY:
		memcpy(&value, world->bytes + other->offset, other->size);
		break;
	case CHANGE_ADD:
		value += (uint64_t)(int16_t)record->value << (more % 2 ? 32 : 0);
		break;
	case CHANGE_SMI:
		value = world_smi((int32_t)((uint32_t)record->value << more % 20));
		break;
	case CHANGE_HIGH:
		value = UINT64_MAX << record->value % 64;
		break;
	default:
		world->bytes[((size_t)more << 16 | record->field) % world->used] =
			(uint8_t)record->value;
		return;
	}
	memcpy(world->bytes + field->offset, &value, field->size);
}

static void on_read(struct world *world, uint64_t at)
{
	(void)at;
	check(world->reads < READS_MAX);
	apply_until(world, world->reads);
}

/* The world as it is before anything is changed -------------------------------------------- */

static enum v8_field byte_array(const struct world *world)
{
	return v8_layout_has(&world->layout, V8_TYPE_TRUSTED_BYTE_ARRAY) ?
		       V8_TYPE_TRUSTED_BYTE_ARRAY :
		       V8_TYPE_BYTE_ARRAY;
}

static uint64_t add_source(struct world *world)
{
	static const uint16_t wide[] = { 'a', '\n', 0x540d, '\r', '\n', 0x2028, 0xd83d, 0xde00 };
	uint64_t outside = world_alloc(world, 16);
	uint64_t one = world_string(world, "function one() {\n two(); }\n");
	uint64_t two = world_two_byte(world, wide, 8);
	uint64_t three = world_made_of(world, WORLD_EXTERNAL | WORLD_ONE_BYTE, 16, 0, outside);
	uint64_t begin = world_made_of(world, WORLD_CONS, 34, one, two);
	uint64_t all = world_made_of(world, WORLD_CONS, 50, begin, three);
	uint64_t sliced = world_made_of(world, WORLD_SLICED, 48, all, world_smi(2));

	return world_made_of(world, WORLD_THIN, 48, sliced, 0);
}

static uint64_t add_scope(struct world *world)
{
	uint64_t scope = world_object(world, V8_TYPE_SCOPE_INFO);
	int32_t first = 8 + 8 * world->layout.at[V8_SCOPE_FIRST];
	uint32_t flags = 1u << 12 | 1u << 14 | 2;

	world_word(world, scope, 8,
		   world->layout.at[V8_SCOPE_POSITIONS_END] ? (uint64_t)flags << 32 : flags);
	world_word(world, scope, 8 + 8 * world->layout.at[V8_SCOPE_LOCALS], world_smi(1));
	world_word(world, scope, first, world_string(world, "local"));
	world_word(world, scope, first + 16, world_string(world, "named"));
	world_word(world, scope, first + 32, world_string(world, "inferred"));
	return scope;
}

static uint64_t add_receiver(struct world *world, uint64_t closure)
{
	uint64_t pair = world_object(world, V8_TYPE_ACCESSOR_PAIR);
	uint64_t tag = world_object(world, V8_TYPE_SYMBOL);
	const struct world_property inherited[] = {
		{ .name = "constructor", .value = closure },
		{ .name = "other", .value = closure },
	};
	const struct world_property own[] = {
		{ .key = tag, .value = world_string(world, "Tag") },
		{ .name = "got", .value = pair, .accessor = true },
	};
	int32_t type = world_receiver_type(world);
	uint64_t prototype = world_js_object(world, type, 0, inherited, 2, true);

	world_set(world, tag, V8_SYMBOL_NAME, world_string(world, "Symbol.toStringTag"));
	return world_js_object(world, type, prototype, own, 2, false);
}

static uint64_t add_deopt_data(struct world *world, uint64_t shared, uint64_t bytecodes)
{
	static const uint8_t translation[] = { 14, 0, 2, 2, 0, 8, 2, 0, 1,  1, 1, 38, 2, 39, 4,
					       4,  0, 0, 1, 4, 2, 0, 1, 38, 2, 2, 0,  2, 0,  37 };
	static const uint8_t inlining[16] = { 40, 0, 0, 0, 0, 0, 0, 0, 1 };
	const int32_t *at = world->layout.at;
	const uint64_t literals[] = { shared, shared | 2, world_smi(3) };
	const uint64_t others[] = { bytecodes };
	uint64_t data[24] = { 0 };

	data[at[V8_DEOPT_TRANSLATION]] =
		world_bytes(world, byte_array(world), 16, translation, sizeof(translation));
	data[at[V8_DEOPT_SHARED]] = shared;
	data[at[V8_DEOPT_LITERALS]] = world_array(world, V8_TYPE_WEAK_ARRAY, literals, 3);
	data[at[V8_DEOPT_INLINING]] =
		world_bytes(world, byte_array(world), 16, inlining, sizeof(inlining));
	if (v8_layout_has(&world->layout, V8_DEOPT_PROTECTED))
		data[at[V8_DEOPT_PROTECTED]] = world_array(world, V8_TYPE_ARRAY, others, 1);
	return world_array(world, V8_TYPE_ARRAY, data, 24);
}

static void add_code(struct world *world, struct places *places, uint64_t shared)
{
	static const uint8_t offsets[] = { 8, 8, 0x88, 1, 8 };
	static const uint8_t positions[] = { 2, 40, 8, 0xd4, 0x80, 0x80, 0x80, 0x10 };
	static const uint8_t safepoints[] = { 1, 0, 0, 0, 1, 0,	 0, 0, 0xa1, 0, 0,
					      0, 0, 0, 0, 0, 20, 0, 1, 20,   0, 0 };
	int32_t kind = world->layout.at[V8_KIND_BASELINE];
	uint64_t code = world_code(world, kind, 64, NULL, 0, &places->baseline);

	world_set(world, code, V8_CODE_POSITIONS,
		  world_bytes(world, byte_array(world), 16, offsets, sizeof(offsets)));
	code = world_code(world, kind + 1, 64, safepoints, sizeof(safepoints), &places->optimized);
	world_set(world, code, V8_CODE_POSITIONS,
		  world_bytes(world, byte_array(world), 16, positions, sizeof(positions)));
	world_set(world, code, V8_CODE_DEOPT_DATA,
		  add_deopt_data(world, shared, places->bytecodes));
}

/* With the list of scripts, which has the one. */
static uint64_t add_isolate(struct world *world, uint64_t script, uint64_t shared)
{
	const uint64_t functions[] = { 0, shared | 2 };
	uint64_t list = world_object(world, V8_TYPE_WEAK_LIST);
	uint64_t isolate = world_alloc(world, 1 << 14);

	world_set(world, script, V8_SCRIPT_FUNCTIONS,
		  world_array(world, V8_TYPE_WEAK_ARRAY, functions, 2));
	world_word(world, list, 16, world_smi(2));
	world_word(world, list, 24, 3);
	world_word(world, list, 32, script | 2);
	world_put(world, isolate + 0x1c70, list, 8);
	return isolate;
}

static struct places add_all(struct world *world)
{
	static const uint8_t code[] = { 4, 0, 5, 1, 2, 1, 6, 1, 2, 3, 4, 5 };
	static const uint8_t positions[] = { 2, 20, 8, 16, 10, 30 };
	uint64_t script = world_script(world, 3, "name.js", add_source(world)), shared;
	struct world_function function = { .name = "get got", .script = script, .literal_id = 1 };
	const struct world_function builtin = { .name = "map", .builtin = true, .flags = 32 };
	struct places places;

	places.bytecodes = world_bytecodes(world, code, sizeof(code), positions, sizeof(positions));
	function.bytecodes = places.bytecodes;
	shared = world_shared(world, &function);
	world_set(world, shared, V8_SHARED_NAME, add_scope(world));
	places.function = world_closure(world, shared);
	places.builtin = world_function(world, &builtin);
	places.receiver = add_receiver(world, places.function);
	places.isolate = add_isolate(world, script, shared);
	add_code(world, &places, shared);
	return places;
}

/* Looking at it ---------------------------------------------------------------------------- */

static void name_all(struct world *world, const struct places *places, struct v8_namer *namer)
{
	const int32_t *at = world->layout.at;
	const struct v8_raw raw = {
		.pc = { places->optimized + 20 },
		.lowest = { WORLD_BASE },
		.marker = world->undefined,
		.function = places->function,
		.bytecodes = places->bytecodes,
		.offset = world_smi(at[V8_BYTECODES_DATA] + 3),
		.receiver = places->receiver,
		.isolate = places->isolate,
		.script_id = 3,
		.literal_id = 1,
	};
	struct v8_raw kinds[6] = { raw, raw, raw, raw, raw, raw };
	struct v8_frames frames = { .count = 0 };

	kinds[1].place = kinds[2].place = kinds[3].place = V8_IN_HEAP;
	kinds[2].innermost = true;
	kinds[3].pc.value = places->baseline + 12;
	kinds[4].marker = (uint64_t)at[V8_FRAME_BUILTIN_EXIT] << 1;
	kinds[4].function = places->builtin;
	read_frame(world->memory, &world->layout, (struct address){ places->function + 31 },
		   &kinds[5]);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		v8_namer_name(namer, &kinds[i], &frames);
		check_frames(&frames);
	}
	text_deinit(&frames.strings);
	(void)v8_layout_fits(&world->heap, places->isolate);
}

static void try_objects(const uint8_t *data, size_t size)
{
	const struct v8_version *version = &versions[data[0] % VERSIONS];
	struct plan plan = { .records = data + 1, .count = (size - 1) / sizeof(struct record) };
	struct v8_namer *namer;
	struct places places;
	struct world world;

	world_init(&world, version->major, version->minor);
	world.layout.bytecode_sizes = sizes;
	world.layout.bytecode_count = sizeof(sizes) / 3;
	places = add_all(&world);
	world.ctx = &plan;
	apply_until(&world, 0);
	world.on_read = on_read;
	check(v8_namer_create(&namer, world.memory, &world.layout, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		name_all(&world, &places, namer);
		memory_forget(world.memory);
	}
	v8_namer_destroy(namer);
	world_deinit(&world);
}

static void try_tables(uint8_t which, struct span bytes)
{
	const struct v8_safepoints_form forms[] = { { 8, 0, 0 }, { 12, 4, 0 }, { 16, 4, 1 } };
	struct v8_deopt_frames frames;
	struct v8_layout layout;
	uint64_t position;
	uint32_t entry;
	int32_t offset;

	check(v8_layout_init(&layout, &versions[which % VERSIONS], NULL, NULL) == 0);
	layout.bytecode_sizes = sizes;
	layout.bytecode_count = sizeof(sizes) / 3;
	for (int64_t at = -1; at < 64; at++) {
		(void)v8_positions_find(&layout, bytes, at, &position);
		if (v8_baseline_offset(&layout, bytes, bytes, (uint64_t)at, &offset))
			check(offset >= -1 && offset <= (int64_t)bytes.size);
	}
	for (size_t i = 0; i < bytes.size && i < 16; i++) {
		if (v8_translation_frames(&layout, bytes, i, &frames))
			check(frames.count > 0 && frames.count <= V8_DEOPT_FRAMES_MAX);
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		check(v8_safepoints_size(&forms[i], bytes) <= V8_SAFEPOINTS_MAX_BYTES);
		(void)v8_safepoint_find(&forms[i], bytes, 20, &entry);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & TABLES)
		try_tables(data[0] & ~TABLES, (struct span){ data + 1, size - 1 });
	else
		try_objects(data, size);
	return 0;
}
