// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which native function a frame is in, at which line, and what was inlined there. The vdso is in no
 * file, and the target may have exited when its first frame is named, so its code is copied
 * beforehand.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "debuginfod/debuginfod.h"
#include "image/elf.h"
#include "runtime/frame.h"
#include "runtime/native/lines.h"
#include "runtime/native/native.h"
#include "runtime/native/symbols.h"
#include "target/target.h"
#include "target/vdso.h"

struct native_names {
	struct native *native;
	struct vdso vdso;
	struct native_symbols *vdso_functions;
	struct text spelled[NATIVE_LINES_MAX]; /* by frame */
};

/* @symbol as people know it, "NAME@@VERSION" being what linkers write into a symbol table. */
static const char *spell(struct text *to, const char *symbol)
{
	_cleanup_free_ char *plain = strndup(symbol, strcspn(symbol, "@"));
	_cleanup_free_ char *demangled = plain ? native_symbol_demangle(plain) : NULL;

	text_clear(to);
	text_add_printable(to, demangled ? demangled : plain ? plain : symbol);
	return text_chars(to);
}

static void name_function(struct native_names *names, struct native_symbols *functions,
			  const struct raw_frame *raw, uint64_t bias, struct frame *frame)
{
	const uint64_t linked = raw->look_at.value - bias;
	const struct native_symbol *symbol =
		functions ? native_symbols_find(functions, linked) : NULL;

	if (!symbol)
		return;
	frame->name = spell(&names->spelled[0], symbol->name);
	frame->offset = linked - symbol->begin + raw->step;
}

/*
 * Add what the file's debug information says of frame @named, which is that of the code. The name
 * in the symbol table is the one it is probed by, so where there is one it stays.
 */
static void add_lines(struct native_names *names, const struct target_file *file, uint64_t linked,
		      unsigned int step, struct named_frames *named)
{
	struct native_lines *lines = names->native->others->lines == LINES_NONE ?
					     NULL :
					     native_debug_information(names->native, file);
	struct native_line found[NATIVE_LINES_MAX];
	const struct frame whole = named->frames[0];
	size_t count = lines ? native_lines_find(lines, linked, found) : 0;
	uint64_t begin;

	if (count == 0)
		return;
	/* Where a function has just been entered, nothing that was inlined there has been. */
	begin = whole.name ? linked + step - whole.offset : found[count - 1].begin;
	if (step == 0 && linked == begin) {
		found[0] = found[count - 1];
		count = 1;
	}
	/* The outermost first: the others are spelled where its name may be. */
	for (size_t i = count; i-- > 0;) {
		struct frame *frame = &named->frames[i];
		size_t text = count - 1 - i;

		*frame = whole;
		frame->inlined = i + 1 < count;
		frame->source = found[i].file;
		frame->line = found[i].file ? found[i].line : 0;
		frame->column = frame->line ? found[i].column : 0;
		if (frame->inlined)
			frame->name = "?";
		/* It has an offset then, and each that was inlined into it the same. */
		if (!whole.name && found[count - 1].function)
			frame->offset = linked - found[count - 1].begin + step;
		if ((frame->inlined || !whole.name) && found[i].function)
			frame->name = spell(&names->spelled[text], found[i].function);
	}
	named->count = count;
}

static void name_frame(void *ctx, const struct raw_frame *raw, struct named_frames *named)
{
	struct native_names *names = ctx;
	const struct mapping *row = raw->row;
	struct frame *frame;
	struct elf elf;
	uint64_t bias;

	if (raw->place != RAW_IN_FILE && raw->place != RAW_IN_VDSO)
		return;
	frame = named_frames_only(named);
	frame->kind = FRAME_NATIVE;
	frame->module = mapping_file_name(row);
	frame->offset = mapping_offset(row, raw->look_at).value + raw->step;
	frame->file_offset = frame->offset;
	frame->in_file = true;
	if (raw->file && elf_init(&elf, raw->file->bytes) &&
	    elf_part_bias(&elf, row->offset, row->start, &bias)) {
		name_function(names, native_functions(names->native, raw->file), raw, bias, frame);
		add_lines(names, raw->file, raw->look_at.value - bias, raw->step, named);
	}
	/* An exec maps another one; this is that of the program as it was. */
	if (raw->place == RAW_IN_VDSO && row->start.value == names->vdso.start.value &&
	    vdso_elf(&names->vdso, &elf, &bias))
		name_function(names, names->vdso_functions, raw, bias, frame);
}

static void destroy(void *ctx)
{
	struct native_names *names = ctx;

	native_symbols_destroy(names->vdso_functions);
	vdso_deinit(&names->vdso);
	for (size_t i = 0; i < NATIVE_LINES_MAX; i++)
		text_deinit(&names->spelled[i]);
	free(names);
}

/* Debug files come while frames are named. */
static uint64_t version(const void *ctx)
{
	const struct native_names *names = ctx;

	return debuginfod_version(names->native->target->debuginfod);
}

int native_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err)
{
	struct native_names *names = calloc(1, sizeof(*names));

	if (!names)
		return error_set(err, -ENOMEM, "no memory for names of native frames");
	names->native = (struct native *)runtime;
	vdso_read(&names->vdso, target_maps(names->native->target), names->native->target->memory);
	if (!names->vdso.bytes.start ||
	    native_symbols_create(&names->vdso_functions, names->vdso.bytes, 0, NULL))
		names->vdso_functions = NULL;
	*namer = (struct frame_namer){
		.name = name_frame,
		.version = names->native->target->debuginfod ? version : NULL,
		.destroy = destroy,
		.ctx = names,
	};
	return 0;
}
