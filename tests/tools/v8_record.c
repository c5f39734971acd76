// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * v8_record PID FILE: records what is read of a process's memory to name the frames of its JavaScript stack, see
 * tests/unit/v8_recording.h, and prints the frames, a line each. Left out are functions of Node's own scripts, whose
 * text would be most of it, and whatever makes no difference to what is printed. One of the functions is recorded a
 * second time, as if it had moved.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "tests/tools/v8_walk.h"
#include "tests/unit/v8_recording.h"

struct recorder {
	struct recording recording;
	struct memory *target;
	struct v8_frames frames;
	size_t room;
	bool has_moved;
};

static void add_raw(struct recording *recording, const struct v8_raw *raw)
{
	recording_check(recording->raw_count < RECORDING_RAWS_MAX);
	recording->raws[recording->raw_count++] = *raw;
}

/* What objects of the frame refer to, which is noted where a frame is captured at once. */
static void note_objects(const struct walk *walk, struct v8_raw *raw)
{
	const struct v8_heap heap = { walk->target.memory, &walk->engine.layout };

	if (v8_is_function(&heap, raw->function))
		raw->shared = v8_field(&heap, raw->function, V8_FUNCTION_SHARED);
	if (!v8_is_smi(raw->receiver))
		raw->receiver_map = v8_word(&heap, raw->receiver, 0);
}

static void on_frame(struct walk *walk, uint64_t pc, const struct v8_raw *raw)
{
	struct recorder *recorder = walk->ctx;
	const struct v8_frame *outermost;
	struct v8_raw known;

	(void)pc;
	if (!raw)
		return;
	v8_namer_name(walk->namer, raw, &recorder->frames);
	outermost = &recorder->frames.frames[recorder->frames.count - 1];
	if (outermost->script && strncmp(outermost->script, "node:", 5) == 0)
		return;
	known = *raw;
	known.script_id = outermost->script_id;
	known.literal_id = outermost->literal_id;
	if (recorder->recording.raw_count % 2)
		note_objects(walk, &known);
	add_raw(&recorder->recording, &known);
	if (!known.script_id || recorder->has_moved)
		return;
	known.function = known.shared = 0;
	known.receiver = known.receiver_map = 0;
	add_raw(&recorder->recording, &known);
	recorder->has_moved = true;
}

/* Out of the process, and kept. */
static ssize_t read_and_keep(void *ctx, void *to, size_t size, uint64_t at)
{
	struct recorder *recorder = ctx;
	struct recording *recording = &recorder->recording;
	struct look look = look_into(recorder->target);
	struct recording_page *page;

	recording_check(size == RECORDING_PAGE && at % RECORDING_PAGE == 0);
	look_copy(&look, at, to, size);
	if (look.bad)
		return 0;
	recording_check(
		vector_reserve(&recording->pages, &recorder->room, recording->page_count + 1));
	page = &recording->pages[recording->page_count++];
	page->number = at / RECORDING_PAGE;
	page->gone = false;
	memcpy(page->bytes, to, size);
	return (ssize_t)size;
}

static int by_number(const void *left, const void *right)
{
	const struct recording_page *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Name the frames once, keeping what is read. */
static void record(struct recorder *recorder, const struct walk *walk)
{
	struct recording *recording = &recorder->recording;
	struct text told = { 0 };

	recorder->target = walk->target.memory;
	recording_check(memory_create(&recording->memory, read_and_keep, recorder, NULL) == 0);
	recording->layout = walk->engine.layout;
	recording_tell(recording, &told);
	text_deinit(&told);
	memory_destroy(recording->memory);
	qsort(recording->pages, recording->page_count, sizeof(*recording->pages), by_number);
	memcpy(recording->sizes, walk->engine.layout.bytecode_sizes,
	       3 * (size_t)walk->engine.layout.bytecode_count);
	recording_init(recording, &walk->engine.layout.version, walk->engine.layout.bytecode_count);
	/* So the table must say what the file does. */
	recording_check(memcmp(recording->layout.at, walk->engine.layout.at,
			       sizeof(recording->layout.at)) == 0);
}

/* Shrinking -------------------------------------------------------------------------------- */

static bool is_same(struct recording *recording, const char *expected)
{
	struct text told = { 0 };
	bool same;

	recording_tell(recording, &told);
	same = strcmp(text_chars(&told), expected) == 0;
	text_deinit(&told);
	return same;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

static void shrink_block(struct recording *recording, const char *expected, uint8_t *bytes,
			 size_t size)
{
	uint8_t before[RECORDING_PAGE];

	if (is_zero(bytes, size))
		return;
	memcpy(before, bytes, size);
	memset(bytes, 0, size);
	if (!is_same(recording, expected))
		memcpy(bytes, before, size);
}

static void drop_page(struct recording *recording, const char *expected, size_t number)
{
	struct recording_page page = recording->pages[number];
	size_t behind = (recording->page_count - number - 1) * sizeof(page);

	memmove(&recording->pages[number], &recording->pages[number + 1], behind);
	recording->page_count--;
	if (is_same(recording, expected))
		return;
	memmove(&recording->pages[number + 1], &recording->pages[number], behind);
	recording->pages[number] = page;
	recording->page_count++;
}

static void shrink(struct recording *recording, const char *expected)
{
	for (size_t i = recording->page_count; i-- > 0;)
		drop_page(recording, expected, i);
	for (size_t size = RECORDING_PAGE / 2; size >= 8; size /= 4) {
		for (size_t i = 0; i < recording->page_count; i++) {
			for (size_t at = 0; at < RECORDING_PAGE; at += size)
				shrink_block(recording, expected, recording->pages[i].bytes + at,
					     size);
		}
	}
}

/* Writing ---------------------------------------------------------------------------------- */

static void put(FILE *file, const void *bytes, size_t size)
{
	recording_check(fwrite(bytes, 1, size, file) == size);
}

static void put_raw(FILE *file, const struct v8_raw *raw)
{
	const struct recording_raw is = {
		.pc = raw->pc.value,
		.lowest = raw->lowest.value,
		.marker = raw->marker,
		.function = raw->function,
		.shared = raw->shared,
		.bytecodes = raw->bytecodes,
		.offset = raw->offset,
		.receiver = raw->receiver,
		.receiver_map = raw->receiver_map,
		.isolate = raw->isolate,
		.script_id = raw->script_id,
		.literal_id = raw->literal_id,
		.place = (uint8_t)raw->place,
		.innermost = raw->innermost,
		.construct = raw->construct,
	};

	put(file, &is, sizeof(is));
}

static void put_page(FILE *file, const struct recording_page *page)
{
	struct recording_run runs[RECORDING_RUNS_MAX] = { 0 };
	uint16_t count = 0;

	for (size_t at = 0; at < RECORDING_PAGE; at += 8) {
		if (is_zero(page->bytes + at, 8))
			continue;
		if (count == 0 || runs[count - 1].offset + runs[count - 1].size != (int)at)
			runs[count++] = (struct recording_run){ .offset = (uint16_t)at };
		runs[count - 1].size += 8;
	}
	put(file, &page->number, sizeof(page->number));
	put(file, &count, sizeof(count));
	for (uint16_t i = 0; i < count; i++) {
		put(file, &runs[i], sizeof(runs[i]));
		put(file, page->bytes + runs[i].offset, runs[i].size);
	}
}

static void save(const struct recording *recording, const char *path)
{
	const struct recording_head head = {
		.version = recording->layout.version,
		.bytecode_count = recording->layout.bytecode_count,
		.raw_count = (uint32_t)recording->raw_count,
		.page_count = (uint32_t)recording->page_count,
	};
	FILE *file = fopen(path, "wb");

	recording_check(file != NULL);
	put(file, &head, sizeof(head));
	put(file, recording->sizes, 3 * (size_t)head.bytecode_count);
	for (size_t i = 0; i < recording->raw_count; i++)
		put_raw(file, &recording->raws[i]);
	for (size_t i = 0; i < recording->page_count; i++)
		put_page(file, &recording->pages[i]);
	recording_check(fclose(file) == 0);
}

int main(int argc, char **argv)
{
	struct recorder recorder = { .room = 0 };
	struct walk walk = { .target = TARGET_NONE, .on_frame = on_frame, .ctx = &recorder };
	struct error err = { .text = "" };
	struct text told = { 0 };
	pid_t pid = argc == 3 ? atoi(argv[1]) : 0;

	if (walk_begin(&walk, pid, (uint32_t)pid, &err)) {
		fprintf(stderr, "v8_record: %s\n", err.text);
		return 1;
	}
	walk_all(&walk);
	record(&recorder, &walk);
	recording_tell(&recorder.recording, &told);
	shrink(&recorder.recording, text_chars(&told));
	save(&recorder.recording, argv[2]);
	fputs(text_chars(&told), stdout);
	text_deinit(&told);
	text_deinit(&recorder.frames.strings);
	recording_deinit(&recorder.recording);
	walk_end(&walk);
	return 0;
}
