// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * watch.h: which module is of which image, what the BPF programs are told of it, and what is probed
 * of images that come up.
 */
#include "base/cleanup.h"
#include "tests/unit/watch_fixture.h"

#include "tests/unit/jit_fixture.h"

enum {
	ROWS_IN_MAP_MAX = 4096, /* as in watch.c */
	LAYOUT_IS_LOADED = 1,	/* PEImageLayout::FLAG_MAPPED */
};

/* Modules ------------------------------------------------------------------------------------ */

UNIT_TEST(headers)
{
	struct span zoo = golden_span(&files.zoo);
	struct compile_event event = event_of(MODULE, ALLOCATOR, zoo);
	uint8_t other[FOLLOW_DETAIL_BYTES];
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Shapes::Nothing", NULL, NULL);
	memcpy(other, zoo.start, sizeof(other));
	other[sizeof(other) - 1] ^= 1;
	assert_int_equal(watch_learn(w.watch, &event, other), WATCH_UNKNOWN);
	/* Of Reflection.Emit. */
	event.layout_base = 0;
	assert_int_equal(watch_learn(w.watch, &event, zoo.start), WATCH_NO_IMAGE);
	assert_int_equal(maps.updates, 0);
	assert_true(watch_may_be_freed(w.watch, MODULE));
	/* However long the file is where it lies. */
	event = event_of(MODULE, ALLOCATOR, zoo);
	event.layout_size += 4096;
	assert_int_equal(watch_learn(w.watch, &event, zoo.start), WATCH_KNOWN);
	assert_int_equal(module_state(MODULE), MODULE_KNOWN);
	assert_false(watch_may_be_freed(w.watch, MODULE));
}

/* The rows are in the map once the module is, and are the same for two modules of one image. */
UNIT_TEST(modules_of_one_image)
{
	_cleanup_(end) struct watching w;
	size_t updates;

	open_zoo(&w, "Zoo.Shapes::Over", NULL, NULL);
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(maps.watched_count, 4);
	updates = maps.updates;
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(maps.updates, updates);
	must_learn(&w, OTHER_MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(maps.watched_count, 8);
	assert_ptr_equal(find(&w, OTHER_MODULE, rid_of(zoo_of(&w), "Zoo.Shapes", "Over", 1)),
			 find(&w, MODULE, rid_of(zoo_of(&w), "Zoo.Shapes", "Over", 1)));
	assert_int_equal(watch_row_count(w.watch), 4);
}

static uint8_t *copy_of(const struct golden *golden)
{
	struct golden copy = golden_copy(golden->bytes, golden->size);

	return copy.bytes;
}

/* What tells the module apart whose image lies there, as the main thread has it. */
static uint64_t module_at(uint64_t base)
{
	_cleanup_(dotnet_images_deinit) struct dotnet_images images = { 0 };
	struct dotnet_image *image;
	uint64_t module;

	assert_int_equal(dotnet_images_add_copy(&images, copy_of(&files.tiny), files.tiny.size,
						(struct address){ base }, DOTNET_COPY_FILE, &image,
						NULL),
			 1);
	module = metadata_module(image->metadata);
	return module;
}

/* An image that lies in memory only. */
UNIT_TEST(copies)
{
	struct span tiny = golden_span(&files.tiny);
	struct compile_event event = event_of(OTHER_MODULE, ALLOCATOR, tiny);
	const struct watch_row *row;
	struct runtime_image image;
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Tiny.Outer::Add", NULL, NULL);
	assert_int_equal(watch_learn(w.watch, &event, tiny.start), WATCH_UNKNOWN);
	assert_int_equal(watch_learn_copy(w.watch, &event, copy_of(&files.tiny), tiny.size),
			 WATCH_KNOWN);
	assert_int_equal(module_state(OTHER_MODULE), MODULE_KNOWN);
	row = find(&w, OTHER_MODULE, METHOD_ADD);
	assert_row(row, "Tiny.Outer::Add(int32,string)", false, true);
	image = image_at(&w, 1);
	assert_ptr_equal(row->is.image, image.name);
	assert_int_equal(image.file, BODY_NO_FILE);
	assert_int_equal(row->is.id.module, module_at(event.layout_base));
	/* It is known again by its header, but not with another size: that has other contents. */
	event.module = 0x9000;
	event.layout_size++;
	assert_int_equal(watch_learn(w.watch, &event, tiny.start), WATCH_UNKNOWN);
	event.layout_size--;
	assert_int_equal(watch_learn(w.watch, &event, tiny.start), WATCH_KNOWN);
	assert_ptr_equal(find(&w, 0x9000, METHOD_ADD), row);
}

UNIT_TEST(copies_that_are_no_images)
{
	struct span tiny = golden_span(&files.tiny);
	struct compile_event event = event_of(OTHER_MODULE, ALLOCATOR, tiny);
	struct golden damaged = golden_copy(tiny.start, tiny.size);
	_cleanup_(end) struct watching w;
	size_t count;

	open_zoo(&w, "*", NULL, NULL);
	count = image_count(&w);
	memset(damaged.bytes, 0, 2);
	assert_int_equal(watch_learn_copy(w.watch, &event, damaged.bytes, damaged.size),
			 WATCH_NO_IMAGE);
	assert_int_equal(watch_learn_copy(w.watch, &event, calloc(1, 1), 0), WATCH_NO_IMAGE);
	assert_int_equal(image_count(&w), count);
	assert_int_equal(maps.updates, 0);
	assert_null(find(&w, OTHER_MODULE, METHOD_ADD));
}

/* The file as the runtime lays it out in memory. */
static struct golden load_layout(struct span file)
{
	struct golden loaded;
	struct pe pe;

	assert_int_equal(pe_init(&pe, file, NULL), 0);
	loaded = (struct golden){ calloc(1, pe.image_size), pe.image_size };
	assert_non_null(loaded.bytes);
	memcpy(loaded.bytes, file.start, pe.sections[0].raw_offset);
	for (unsigned int i = 0; i < pe.section_count; i++) {
		const struct pe_section *section = &pe.sections[i];

		memcpy(loaded.bytes + section->rva.value, file.start + section->raw_offset,
		       section->raw_size < section->virtual_size ? section->raw_size :
								   section->virtual_size);
	}
	return loaded;
}

UNIT_TEST(a_copy_that_is_laid_out)
{
	struct golden loaded = load_layout(golden_span(&files.tiny));
	struct compile_event event = event_of(MODULE, ALLOCATOR, golden_span(&loaded));
	_cleanup_(end) struct watching w;

	open_empty(&w, "Tiny.Outer::Add", NULL);
	event.layout_flags = LAYOUT_IS_LOADED;
	assert_int_equal(watch_learn_copy(w.watch, &event, loaded.bytes, loaded.size), WATCH_KNOWN);
	assert_row(find(&w, MODULE, METHOD_ADD), "Tiny.Outer::Add(int32,string)", false, true);
}

/*
 * One whose metadata could not be sent, or is damaged: its methods cannot be told from others, so
 * it is not known.
 */
UNIT_TEST(a_copy_without_metadata)
{
	struct golden cut = golden_copy(files.tiny.bytes, files.tiny.size);
	struct compile_event event = event_of(MODULE, ALLOCATOR, golden_span(&cut));
	_cleanup_(end) struct watching w;

	open_empty(&w, "Tiny.Outer::Add", NULL);
	memset(cut.bytes + FOLLOW_DETAIL_BYTES, 0, cut.size - FOLLOW_DETAIL_BYTES);
	assert_int_equal(watch_learn_copy(w.watch, &event, cut.bytes, cut.size), WATCH_NO_IMAGE);
	assert_int_not_equal(module_state(MODULE), MODULE_KNOWN);
}

/* One that can be unloaded may leave its place to another, so the programs ask each time. */
UNIT_TEST(a_module_in_the_place_of_another)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "*", NULL, NULL);
	assert_int_equal(watch_add_file(w.watch, 5, 5, "tiny.dll", golden_span(&files.tiny)), 1);
	must_learn(&w, OTHER_MODULE, ALLOCATOR, golden_span(&files.zoo));
	must_learn(&w, MODULE, OTHER_ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(module_state(OTHER_MODULE), MODULE_KNOWN);
	assert_int_equal(module_state(MODULE), MODULE_ASK);
	assert_int_equal(watch_word(MODULE, METHOD_ADD), 0);
	assert_false(watch_may_be_freed(w.watch, OTHER_MODULE));
	assert_true(watch_may_be_freed(w.watch, MODULE));
	assert_string_equal(find(&w, MODULE, METHOD_ADD)->is.image, "zoo.dll");
	must_learn(&w, MODULE, OTHER_ALLOCATOR, golden_span(&files.tiny));
	assert_string_equal(find(&w, MODULE, METHOD_ADD)->is.method,
			    "Tiny.Outer::Add(int32,string)");
	assert_int_equal(module_state(MODULE), MODULE_ASK);
	assert_true(watch_may_be_freed(w.watch, MODULE));
	/* And by one that stays. */
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(module_state(MODULE), MODULE_KNOWN);
	assert_string_equal(find(&w, MODULE, METHOD_ADD)->is.image, "zoo.dll");
}

/* The map takes no more: then the programs ask, and nothing is missed. */
UNIT_TEST(a_full_map)
{
	_cleanup_(end) struct watching w;

	open_zoo(&w, "Zoo.Shapes::Over", NULL, NULL);
	maps.room = 2;
	must_learn(&w, MODULE, ALLOCATOR, golden_span(&files.zoo));
	assert_int_equal(module_state(MODULE), MODULE_ASK);
	for (unsigned int i = 0; i < 4; i++)
		assert_non_null(find(&w, MODULE, rid_of(zoo_of(&w), "Zoo.Shapes", "Over", i)));
}

/* Many methods ------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
	return at + size;
}

static uint8_t *put_stream(uint8_t *at, size_t offset, size_t size, const char *name)
{
	at = put(at, offset, 4);
	at = put(at, size, 4);
	memcpy(at, name, strlen(name) + 1);
	return at + (strlen(name) + 4) / 4 * 4;
}

/* Metadata of "Many", with @count methods "M" without parameters (ECMA-335 II.24). */
static struct golden many_methods(uint32_t count)
{
	enum { STRINGS = 8, BLOBS = 8, TABLES = 24 + 3 * 4 + 10 + 14, HEAD = 256 };
	static const uint8_t strings[STRINGS] = "\0Many\0M";
	static const uint8_t blobs[BLOBS] = { 0, 3, 0, 0, 1 }; /* static void () */
	size_t tables = TABLES + (size_t)count * 14;
	struct golden many = { calloc(1, HEAD + tables), HEAD + tables };
	uint8_t *at = many.bytes;

	assert_non_null(at);
	at = put(at, 0x424a5342, 4);
	at = put(at, 1, 8); /* versions */
	at = put(at, 4, 4);
	at = put(at, 0x3476, 4); /* "v4" */
	at = put(at, 3ull << 16, 4);
	at = put_stream(at, 200, STRINGS, "#Strings");
	at = put_stream(at, 208, BLOBS, "#Blob");
	(void)put_stream(at, HEAD, tables, "#~");
	memcpy(many.bytes + 200, strings, STRINGS);
	memcpy(many.bytes + 208, blobs, BLOBS);
	at = put(many.bytes + HEAD, 0, 4);
	at = put(at, 0x01000002, 4);
	at = put(at, 1ull << TABLE_MODULE | 1 << TABLE_TYPE_DEF | 1 << TABLE_METHOD_DEF, 8);
	at = put(at, 0, 8);
	at = put(put(put(at, 1, 4), 1, 4), count, 4);
	at += 10;
	/* TypeDef: its name is the second column, its first method the last. */
	at = put(at, 1, 4);
	at = put(at, 1, 2);
	at = put(at, 0, 6);
	at = put(at, 1, 2);
	for (uint32_t i = 0; i < count; i++) {
		at = put(at, 0x1000, 4);
		at = put(at, 0, 4);
		at = put(at, 6, 2);
		at = put(at, 1, 2);
		at = put(at, 1, 2);
	}
	assert_ptr_equal(at, many.bytes + many.size);
	return many;
}

/*
 * An image with that metadata and no code: its header, the CLI header, and what that has the place
 * of.
 */
static struct golden image_of(const struct golden *metadata)
{
	enum { METADATA = FOLLOW_DETAIL_BYTES + 128, PLACE = FOLLOW_DETAIL_BYTES + 8 };
	static const char header[] = "MZ, and whatever follows";
	struct golden file = { calloc(1, METADATA + metadata->size), METADATA + metadata->size };

	assert_non_null(file.bytes);
	memcpy(file.bytes, header, sizeof(header));
	(void)put(put(file.bytes + PLACE, METADATA, 4), metadata->size, 4);
	memcpy(file.bytes + METADATA, metadata->bytes, metadata->size);
	return file;
}

/* RVAs are offsets. */
static struct pe flat_pe(struct span file)
{
	struct pe pe = { .file = file, .section_count = 1 };

	pe.sections[0].virtual_size = pe.sections[0].raw_size = (uint32_t)file.size;
	pe.directories[PE_DIRECTORY_CLI].rva.value = FOLLOW_DETAIL_BYTES;
	return pe;
}

/* Of too many rows they are not told: they ask, and we look. */
UNIT_TEST(many_rows)
{
	for (uint32_t more = 0; more < 2; more++) {
		uint32_t count = ROWS_IN_MAP_MAX + more;
		struct golden many = many_methods(count), file = image_of(&many);
		struct dotnet_image image = { .name = (char *)"many.dll" };
		struct dotnet_image *images[] = { &image };
		struct watching w = { 0 };

		image.pe = flat_pe(golden_span(&file));
		w.dotnet.images = (struct dotnet_images){ .images = images, .count = 1 };
		add_pattern(&w, "Many::M");
		start(&w, true);
		assert_int_equal(watch_row_count(w.watch), count);
		must_learn(&w, MODULE, ALLOCATOR, golden_span(&file));
		assert_int_equal(module_state(MODULE), more ? MODULE_ASK : MODULE_KNOWN);
		assert_int_equal(maps.watched_count, more ? 0 : count);
		assert_row(find(&w, MODULE, 1), "Many::M()", false, true);
		assert_int_equal(find(&w, MODULE, count)->is.row, count);
		assert_null(find(&w, MODULE, count + 1));
		assert_false(watch_may_be_freed(w.watch, MODULE));
		stop(&w);
		golden_free(&file);
		golden_free(&many);
	}
}

/* What is there at the start ------------------------------------------------------------------ */

/* Code of a method of @module, so that the look comes by it. */
static void add_body(struct fixture *f, uint64_t module)
{
	uint64_t table = world_type(&f->world, module, TYPE_OUTER);

	world_body(&f->world, &f->heap, 32,
		   world_method(&f->world, table, METHOD_ADD, WORLD_METHOD_SLOT));
}

/* The modules that the first look at a running target has come by are known at once. */
EACH_VERSION(modules_of_a_running_target, struct fixture *f)
{
	struct watching w = { 0 };
	uint64_t of_main = f->world.allocator, module, emitted;
	_cleanup_(golden_free) struct golden metadata = golden_read("tiny-metadata.bin");

	module = world_file_module(&f->world, "tiny-bodies.dll");
	emitted = world_emitted_module(&f->world, metadata.bytes, metadata.size);
	add_body(f, module);
	add_body(f, emitted);
	look(f);
	add_pattern(&w, "Tiny.Outer::Add");
	w.dotnet.images = f->world.images;
	w.dotnet.jit = f->jit;
	start(&w, true);
	assert_int_equal(module_state(module), MODULE_KNOWN);
	assert_row(find(&w, module, METHOD_ADD), "Tiny.Outer::Add(int32,string)", false, true);
	assert_false(watch_may_be_freed(w.watch, module));
	/* That of Reflection.Emit grows, so it is asked for each time. */
	assert_int_equal(module_state(emitted), 0);
	assert_true(watch_may_be_freed(w.watch, emitted));
	/* What comes later belongs to the same allocator, or can be unloaded. */
	must_learn(&w, OTHER_MODULE, of_main, golden_span(&files.tiny));
	assert_int_equal(module_state(OTHER_MODULE), MODULE_KNOWN);
	must_learn(&w, MODULE, OTHER_ALLOCATOR, golden_span(&files.tiny));
	assert_int_equal(module_state(MODULE), MODULE_ASK);
	stop(&w);
}

/* Planning ----------------------------------------------------------------------------------- */

static bool plan_has(const struct plan *plan, const char *method, size_t file)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (strcmp(plan->sites[i].method, method) == 0) {
			assert_int_equal(plan->sites[i].file, file);
			assert_int_equal(plan->sites[i].mechanism, MECHANISM_UPROBE);
			return true;
		}
	}
	return false;
}

static void plan_image(struct watching *w, size_t image, struct plan *plan)
{
	assert_int_equal(watch_plan_image(w->watch, image, plan, NULL), 0);
	assert_int_equal(plan_finish(plan, 0, NULL), 0);
}

UNIT_TEST(plans_an_image)
{
	_cleanup_(end) struct watching w;
	_cleanup_(plan_deinit) struct plan plan = { 0 };

	open_empty(&w, "Zoo.Bodies::Wait", "Zoo.Generics::Same[System.Int32]");
	assert_int_equal(watch_add_file(w.watch, 3, 3, "zoo.dll", golden_span(&files.zoo)), 1);
	plan_image(&w, 0, &plan);
	assert_int_equal(plan.count, 3);
	assert_true(plan_has(&plan, "Zoo.Bodies::Wait(int32)", 3));
	assert_true(plan_has(&plan, "Zoo.Bodies+<Wait>d__1::MoveNext()", 3));
	assert_true(plan_has(&plan, "Zoo.Generics::Same[System.Int32](!!0)", 3));
	plan_deinit(&plan);
	end(&w);
	/* One without precompiled code has nothing to probe. */
	open_empty(&w, "*", NULL);
	assert_int_equal(watch_add_file(w.watch, 3, 3, "tiny.dll", golden_span(&files.tiny)), 1);
	plan_image(&w, 0, &plan);
	assert_int_equal(plan.count, 0);
}

/* The code of a composite is in its file, and planned with whichever of the two comes last. */
UNIT_TEST(plans_a_composite)
{
	_cleanup_(golden_free) struct golden composite = golden_read("zoo-composite.r2r.dll");
	_cleanup_(golden_free) struct golden component = golden_read("zoo-component.dll");

	for (int order = 0; order < 2; order++) {
		const char *const names[] = { "zoo.r2r.dll", "zoo.dll" };
		const struct span bytes[] = { golden_span(&composite), golden_span(&component) };
		size_t first = order ? 1 : 0, composite_number = order ? 1 : 0;
		struct plan plan = { 0 };
		_cleanup_(end) struct watching w;

		open_empty(&w, "Zoo.Bodies::Wait", "Zoo.Generics::Same[System.Int32]");
		for (size_t i = 0; i < 2; i++) {
			size_t which = i == 0 ? first : 1 - first;

			assert_int_equal(watch_add_file(w.watch, i, i, names[which], bytes[which]),
					 1);
			plan_image(&w, i, &plan);
			if (i == 0)
				assert_int_equal(plan.count, 0);
		}
		assert_true(plan_has(&plan, "Zoo.Bodies::Wait(int32)", composite_number));
		assert_true(plan_has(&plan, "Zoo.Bodies+<Wait>d__1::MoveNext()", composite_number));
		assert_true(
			plan_has(&plan, "Zoo.Generics::Same[System.Int32](!!0)", composite_number));
		assert_int_equal(plan.count, 3);
		plan_deinit(&plan);
	}
}

UNIT_MAIN(read_files, free_files)
