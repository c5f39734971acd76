// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory of real Node processes, as it was recorded (tests/golden/v8-*), with anything changed
 * in it, some of it while it is read: words, bits, pages that are gone, and the frames
 * themselves. Each frame gets a name or a reason why not, and soon.
 *
 * The first byte says which recording; then each record changes something.
 */
#include "tests/fuzz/v8_checks.h"
#include "tests/unit/v8_recording.h"

#include "runtime/v8/properties.h"
#include "runtime/v8/function.h"

enum {
	CHANGES_MAX = 64,
	READS_MAX = 4096, /* pages, for one frame */
	PROPERTIES_MAX = 64,
	WORDS_OF_RAW = 9, /* the first of struct v8_raw that say where something is */
};

/* What a record does. */
enum {
	CHANGE_SET,   /* a number into a word */
	CHANGE_POINT, /* to where another word is, with a tag */
	CHANGE_COPY,  /* what another word holds, so that there are circles */
	CHANGE_ADD,   /* a little more or less, of the lower or the upper half */
	CHANGE_BIT,   /* one bit alone */
	CHANGE_HIGH,  /* all bits from one on */
	CHANGE_RAW,   /* what another word holds, into a frame */
	CHANGE_GONE,  /* the page is not there any more, or again */
	CHANGES
};

struct record {
	uint8_t when; /* before so many reads; 0: before the first look */
	uint8_t change;
	uint16_t word; /* of those that are not 0 */
	uint16_t value;
} __attribute__((packed));

/* One of the words that matter. */
struct place {
	uint32_t page;
	uint32_t offset;
};

struct world {
	struct recording recording;
	struct recording_page *pristine;
	struct v8_raw raws[RECORDING_RAWS_MAX];
	struct place *places;
	size_t place_count;

	const uint8_t *records;
	size_t record_count;
	uint64_t done;
	uint64_t reads;
};

static struct world *worlds[RECORDINGS];

/* Changes ---------------------------------------------------------------------------------- */

static const struct place *place_of(const struct world *world, uint16_t word)
{
	return &world->places[word % world->place_count];
}

static struct recording_page *page_of(struct world *world, uint16_t word)
{
	return &world->recording.pages[place_of(world, word)->page];
}

static uint8_t *at(struct world *world, uint16_t word)
{
	return page_of(world, word)->bytes + place_of(world, word)->offset;
}

static uint64_t address(struct world *world, uint16_t word)
{
	return page_of(world, word)->number * RECORDING_PAGE + place_of(world, word)->offset;
}

static uint64_t value_of(struct world *world, uint16_t word)
{
	uint64_t value;

	memcpy(&value, at(world, word), sizeof(value));
	return value;
}

static void change_raw(struct world *world, unsigned int more, const struct record *record)
{
	struct v8_raw *raw = &world->recording.raws[record->value % world->recording.raw_count];
	uint64_t *words[WORDS_OF_RAW] = {
		&raw->pc.value, &raw->marker,	&raw->function,	    &raw->shared,  &raw->bytecodes,
		&raw->offset,	&raw->receiver, &raw->receiver_map, &raw->isolate,
	};

	*words[more % WORDS_OF_RAW] = value_of(world, record->word);
	raw->place ^= record->value >> 15;
	raw->innermost ^= record->value >> 14 & 1;
	raw->unsure ^= record->value >> 13 & 1;
}

static void apply(struct world *world, const struct record *record)
{
	uint64_t value = value_of(world, record->word);
	unsigned int more = record->change / CHANGES;

	switch (record->change % CHANGES) {
	case CHANGE_SET:
		value = (uint64_t)record->value << more;
		break;
	case CHANGE_POINT:
		value = address(world, record->value) + more % 4;
		break;
	case CHANGE_COPY:
		value = value_of(world, record->value);
		break;
	case CHANGE_ADD:
		value += (uint64_t)(int64_t)(int16_t)record->value << (more % 2 ? 32 : 0);
		break;
	case CHANGE_BIT:
		value ^= (uint64_t)1 << record->value % 64;
		break;
	case CHANGE_HIGH:
		value = UINT64_MAX << record->value % 64;
		break;
	case CHANGE_RAW:
		change_raw(world, more, record);
		return;
	default:
		page_of(world, record->word)->gone = more % 2;
		return;
	}
	memcpy(at(world, record->word), &value, sizeof(value));
}

static void apply_until(struct world *world, uint64_t reads)
{
	for (size_t i = 0; i < world->record_count && i < CHANGES_MAX; i++) {
		struct record record;

		memcpy(&record, world->records + i * sizeof(record), sizeof(record));
		if (record.when > reads || world->done >> i & 1)
			continue;
		world->done |= (uint64_t)1 << i;
		apply(world, &record);
	}
}

static void on_read(struct recording *recording)
{
	struct world *world = recording->ctx;

	apply_until(world, ++world->reads);
}

/* The recording as it is ------------------------------------------------------------------- */

static void find_places(struct world *world)
{
	const struct recording *recording = &world->recording;

	world->places = calloc(recording->page_count * RECORDING_RUNS_MAX, sizeof(struct place));
	check(world->places != NULL);
	for (uint32_t page = 0; page < recording->page_count; page++) {
		for (uint32_t offset = 0; offset < RECORDING_PAGE; offset += 8) {
			uint64_t value;

			memcpy(&value, recording->pages[page].bytes + offset, sizeof(value));
			if (value)
				world->places[world->place_count++] =
					(struct place){ page, offset };
		}
	}
	check(world->place_count > 0);
}

static struct world *get_world(uint8_t number)
{
	struct world *world = worlds[number];
	size_t bytes;

	if (world)
		return world;
	world = calloc(1, sizeof(*world));
	check(world != NULL);
	recording_load(&world->recording, recording_names[number]);
	bytes = world->recording.page_count * sizeof(*world->pristine);
	world->pristine = malloc(bytes);
	check(world->pristine != NULL);
	memcpy(world->pristine, world->recording.pages, bytes);
	memcpy(world->raws, world->recording.raws, sizeof(world->raws));
	find_places(world);
	world->recording.ctx = world;
	return worlds[number] = world;
}

static void reset(struct world *world)
{
	memcpy(world->recording.pages, world->pristine,
	       world->recording.page_count * sizeof(*world->pristine));
	memcpy(world->recording.raws, world->raws, sizeof(world->raws));
	memory_forget(world->recording.memory);
	world->recording.on_read = NULL;
	world->reads = world->done = 0;
}

/* Looking at it ---------------------------------------------------------------------------- */

/* What is asked of its properties where it is to be called by its class. */
static void look_for_properties(const struct recording *recording, const struct v8_raw *raw)
{
	const struct v8_heap heap = { recording->memory, &recording->layout };
	struct v8_property property;
	unsigned int budget = PROPERTIES_MAX;

	(void)v8_has_lost_properties(&heap, raw->receiver, &budget);
	check(budget <= PROPERTIES_MAX);
	(void)v8_own_property(&heap, raw->receiver, "constructor", false, &budget, &property);
	(void)v8_map_constructor(&heap, raw->receiver_map);
	(void)v8_map_is_of_constructors(&heap, raw->receiver_map);
	check(budget <= PROPERTIES_MAX);
}

static void name_all(struct recording *recording, struct v8_namer *namer)
{
	struct v8_frames frames = { .count = 0 };

	for (size_t i = 0; i < recording->raw_count; i++) {
		uint64_t before = memory_source_reads(recording->memory);

		v8_namer_name(namer, &recording->raws[i], &frames);
		look_for_properties(recording, &recording->raws[i]);
		check(memory_source_reads(recording->memory) - before < READS_MAX);
		check_frames(&frames);
	}
	text_deinit(&frames.strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording *recording;
	struct v8_namer *namer;
	struct world *world;

	if (size == 0)
		return 0;
	world = get_world(data[0] % RECORDINGS);
	recording = &world->recording;
	reset(world);
	world->records = data + 1;
	world->record_count = (size - 1) / sizeof(struct record);
	recording->on_read = on_read;
	apply_until(world, 0);
	check(v8_namer_create(&namer, recording->memory, &recording->layout, NULL) == 0);
	/* Twice, for what is kept of the first time may be wrong in the second. */
	for (int i = 0; i < 2; i++) {
		name_all(recording, namer);
		(void)v8_layout_fits(&(struct v8_heap){ recording->memory, &recording->layout },
				     recording->raws[0].isolate);
		memory_forget(recording->memory);
	}
	v8_namer_destroy(namer);
	return 0;
}
