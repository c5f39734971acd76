// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as the file of an engine: its symbols make a layout, and by that layout frames of a
 * real process are named (tests/golden/v8-*), one of its own version if there is.
 */
#include "tests/fuzz/v8_checks.h"
#include "tests/unit/v8_recording.h"

#include "runtime/v8/function.h"
#include "runtime/v8/symbols.h"

enum { READS_MAX = 4096 /* pages, for one frame */ };

static struct recording recordings[RECORDINGS];

static struct recording *get_recording(const struct v8_version *version)
{
	size_t found = version->patch % RECORDINGS;

	for (size_t i = 0; i < RECORDINGS; i++) {
		if (!recordings[i].memory)
			recording_load(&recordings[i], recording_names[i]);
		if (recordings[i].layout.version.major == version->major &&
		    recordings[i].layout.version.minor == version->minor)
			found = i;
	}
	return &recordings[found];
}

static void name_all(struct recording *recording, const struct v8_layout *layout)
{
	struct v8_frames frames = { .count = 0 };
	struct v8_namer *namer;

	memory_forget(recording->memory);
	check(v8_namer_create(&namer, recording->memory, layout, NULL) == 0);
	for (size_t i = 0; i < recording->raw_count; i++) {
		uint64_t before = memory_source_reads(recording->memory);

		v8_namer_name(namer, &recording->raws[i], &frames);
		check(memory_source_reads(recording->memory) - before < READS_MAX);
		check_frames(&frames);
	}
	(void)v8_layout_fits(&(struct v8_heap){ recording->memory, layout },
			     recording->raws[0].isolate);
	text_deinit(&frames.strings);
	v8_namer_destroy(namer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span file = { data, size };
	struct file_offset begin, last;
	struct v8_symbols symbols;
	struct v8_layout layout;

	(void)v8_symbols_present(file);
	if (v8_symbols_init(&symbols, file, -1, NULL))
		return 0;
	check(symbols.blob_end >= symbols.blob_begin && symbols.bytecode_sizes.size % 3 == 0);
	if (symbols.blob_begin && elf_code_offset(&symbols.elf, symbols.blob_begin, &begin))
		(void)elf_code_offset(&symbols.elf, symbols.blob_end - 1, &last);
	if (v8_layout_init(&layout, &symbols.version, &symbols, NULL) == 0)
		name_all(get_recording(&symbols.version), &layout);
	(void)v8_symbols_find_blob(&symbols);
	v8_symbols_deinit(&symbols);
	return 0;
}
