/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was read of a real process's memory to name some frames of V8, and these frames: written by
 * tests/tools/v8_record, which leaves out whatever makes no difference to their names. Given as
 * memory again, so that names come out of what V8 itself has laid out, without a process.
 *
 * It asserts by abort(), so that the fuzzer, which has no cmocka, can use it too.
 */
#ifndef TESTS_UNIT_V8_RECORDING_H
#define TESTS_UNIT_V8_RECORDING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/v8/frame.h"
#include "runtime/v8/layout.h"
#include "target/memory.h"
#include "tests/tools/v8_read.h"

enum {
	RECORDINGS = 10,
	RECORDING_PAGE = MEMORY_PAGE_BYTES,
	RECORDING_RAWS_MAX = 64,
	RECORDING_PAGES_MAX = 4096,
	RECORDING_RUNS_MAX = RECORDING_PAGE / 8,
	RECORDING_SIZES_MAX = 3 * 256,
};

/* All of them, in tests/golden. */
static const char *const recording_names[RECORDINGS] = {
	"v8-16-classes",
	"v8-16-loop",
	"v8-20-builtins-always-sparkplug",
	"v8-20-made",
	"v8-24-wide-always-sparkplug",
	"v8-24-builtins",
	"v8-24-called-no-turbofan",
	"v8-24-made",
	"v8-26-classes",
	"v8-26-made",
};

struct recording_page {
	uint64_t number;
	bool gone; /* it is not mapped any more */
	uint8_t bytes[RECORDING_PAGE];
};

struct recording {
	struct v8_layout layout;
	uint8_t sizes[RECORDING_SIZES_MAX]; /* of bytecodes */
	struct v8_raw raws[RECORDING_RAWS_MAX];
	size_t raw_count;
	struct recording_page *pages; /* by number */
	size_t page_count;

	struct memory *memory;
	/* Called before each read of the memory: the target runs while it is read. */
	void (*on_read)(struct recording *recording);
	void *ctx;
};

/* The file: this, sizes of bytecodes, frames, and pages, of which each has its runs. */
struct recording_head {
	struct v8_version version;
	uint32_t bytecode_count;
	uint32_t raw_count;
	uint32_t page_count;
};

struct recording_raw {
	uint64_t pc, lowest, marker, function, shared, bytecodes, offset, receiver, receiver_map;
	uint64_t isolate;
	int32_t script_id, literal_id;
	uint8_t place, innermost, construct, unused[5];
};

struct recording_run {
	uint16_t offset; /* in the page */
	uint16_t size;
};

static inline void recording_check(bool right)
{
	if (!right)
		abort();
}

static inline struct recording_page *recording_page(const struct recording *recording,
						    uint64_t number)
{
	size_t low = 0, high = recording->page_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (recording->pages[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == recording->page_count || recording->pages[low].number != number)
		return NULL;
	return &recording->pages[low];
}

/* What was not read is not mapped. */
static inline ssize_t recording_read(void *ctx, void *to, size_t size, uint64_t at)
{
	struct recording *recording = ctx;
	const struct recording_page *page;
	size_t in_page = (size_t)(at % RECORDING_PAGE);

	if (recording->on_read)
		recording->on_read(recording);
	page = recording_page(recording, at / RECORDING_PAGE);
	if (!page || page->gone)
		return 0;
	if (size > RECORDING_PAGE - in_page)
		size = RECORDING_PAGE - in_page;
	memcpy(to, page->bytes + in_page, size);
	return (ssize_t)size;
}

/* The layout that the table has: what the file of the engine said is not recorded. */
static inline void recording_init(struct recording *recording, const struct v8_version *version,
				  uint32_t bytecode_count)
{
	recording_check(v8_layout_init(&recording->layout, version, NULL, NULL) == 0);
	recording_check(bytecode_count <= RECORDING_SIZES_MAX / 3);
	recording->layout.bytecode_sizes = recording->sizes;
	recording->layout.bytecode_count = bytecode_count;
	recording_check(memory_create(&recording->memory, recording_read, recording, NULL) == 0);
}

static inline void recording_deinit(struct recording *recording)
{
	memory_destroy(recording->memory);
	free(recording->pages);
	*recording = (struct recording){ 0 };
}

/* Reading ---------------------------------------------------------------------------------- */

static inline void recording_take(FILE *file, void *to, size_t size)
{
	recording_check(fread(to, 1, size, file) == size);
}

static inline void recording_take_raw(FILE *file, struct v8_raw *raw)
{
	struct recording_raw is;

	recording_take(file, &is, sizeof(is));
	*raw = (struct v8_raw){
		.pc = { is.pc },
		.lowest = { is.lowest },
		.marker = is.marker,
		.function = is.function,
		.shared = is.shared,
		.bytecodes = is.bytecodes,
		.offset = is.offset,
		.receiver = is.receiver,
		.receiver_map = is.receiver_map,
		.isolate = is.isolate,
		.script_id = is.script_id,
		.literal_id = is.literal_id,
		.place = (enum v8_place)is.place,
		.innermost = is.innermost,
		.construct = is.construct,
	};
}

static inline void recording_take_page(FILE *file, struct recording_page *page)
{
	struct recording_run run;
	uint16_t count;

	memset(page, 0, sizeof(*page));
	recording_take(file, &page->number, sizeof(page->number));
	recording_take(file, &count, sizeof(count));
	for (uint16_t i = 0; i < count; i++) {
		recording_take(file, &run, sizeof(run));
		recording_check((size_t)run.offset + run.size <= RECORDING_PAGE);
		recording_take(file, page->bytes + run.offset, run.size);
	}
}

/* tests/golden/NAME; tests run in the top of the tree. */
static inline void recording_load(struct recording *recording, const char *name)
{
	struct recording_head head;
	char path[256];
	FILE *file;

	*recording = (struct recording){ 0 };
	snprintf(path, sizeof(path), "tests/golden/%s", name);
	file = fopen(path, "rb");
	recording_check(file != NULL);
	recording_take(file, &head, sizeof(head));
	recording_init(recording, &head.version, head.bytecode_count);
	recording_take(file, recording->sizes, 3 * (size_t)head.bytecode_count);
	recording_check(head.raw_count <= RECORDING_RAWS_MAX);
	for (; recording->raw_count < head.raw_count; recording->raw_count++)
		recording_take_raw(file, &recording->raws[recording->raw_count]);
	recording_check(head.page_count <= RECORDING_PAGES_MAX);
	recording->pages = calloc(head.page_count, sizeof(*recording->pages));
	recording_check(recording->pages != NULL);
	for (; recording->page_count < head.page_count; recording->page_count++)
		recording_take_page(file, &recording->pages[recording->page_count]);
	fclose(file);
}

/* Telling ---------------------------------------------------------------------------------- */

static inline const char *recording_or_none(const char *s)
{
	return s ? s : "-";
}

static inline void recording_tell_frame(const struct v8_frame *frame, struct text *out)
{
	static const char *const kinds[] = { "unknown", "js", "stub" };

	text_printf(out, "%s\t%s\t%d\t%s\t%s\t%s\t%u\t%u\t%s\t%d\t%d\n", kinds[frame->kind],
		    recording_or_none(v8_tier_name(frame->tier)), frame->inlined,
		    recording_or_none(frame->name), recording_or_none(frame->function),
		    recording_or_none(frame->script), frame->line, frame->column,
		    reason_name(frame->reason), frame->script_id, frame->literal_id);
}

/*
 * All frames, a line each, fields separated by tabs: kind, tier, whether inlined, name, the
 * function's own name, script, line, column, reason, script id, literal id.
 */
static inline void recording_tell(struct recording *recording, struct text *out)
{
	struct v8_frames frames = { .count = 0 };
	struct v8_namer *namer;

	memory_forget(recording->memory);
	recording_check(v8_namer_create(&namer, recording->memory, &recording->layout, NULL) == 0);
	for (size_t i = 0; i < recording->raw_count; i++) {
		v8_namer_name(namer, &recording->raws[i], &frames);
		for (size_t j = 0; j < frames.count; j++)
			recording_tell_frame(&frames.frames[j], out);
	}
	text_deinit(&frames.strings);
	v8_namer_destroy(namer);
}

#endif
