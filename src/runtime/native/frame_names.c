// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which native function a frame is in. The vdso is in no file, and the target may have exited when
 * its first frame is named, so its code is copied beforehand.
 */
#include "runtime/native/frame_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "image/elf.h"
#include "runtime/native/symbols.h"
#include "target/files.h"
#include "target/maps.h"
#include "target/vdso.h"

struct native_names {
	struct native_frame_sources sources;
	struct vdso vdso;
	struct native_symbols *vdso_functions;
	struct text spelled;
};

static void name_function(struct native_names *names, const struct native_symbols *functions,
			  uint64_t linked, unsigned int step, struct frame *frame)
{
	const struct native_symbol *symbol =
		functions ? native_symbols_find(functions, linked) : NULL;
	_cleanup_free_ char *plain = NULL, *demangled = NULL;

	if (!symbol)
		return;
	/* "NAME@@VERSION" in a symbol table that the linker has written. */
	plain = strndup(symbol->name, strcspn(symbol->name, "@"));
	demangled = plain ? native_symbol_demangle(plain) : NULL;
	text_clear(&names->spelled);
	text_add_printable(&names->spelled, demangled ? demangled : plain ? plain : symbol->name);
	frame->name = text_chars(&names->spelled);
	frame->offset = linked - symbol->begin + step;
}

static void name_in_file(struct native_names *names, const struct raw_frame *raw,
			 struct frame *frame)
{
	struct elf elf;
	uint64_t bias;

	frame->kind = FRAME_NATIVE;
	frame->module = mapping_file_name(raw->row);
	frame->offset = mapping_offset(raw->row, raw->look_at).value + raw->step;
	frame->file_offset = frame->offset;
	frame->in_file = true;
	if (!raw->file || !elf_init(&elf, raw->file->bytes) ||
	    !elf_load_bias(&elf, raw->row->offset, raw->row->start, &bias))
		return;
	name_function(names, names->sources.functions(names->sources.ctx, raw->file),
		      raw->look_at.value - bias, raw->step, frame);
}

static void name_in_vdso(struct native_names *names, const struct raw_frame *raw,
			 struct frame *frame)
{
	struct address start = raw->row->start;
	struct elf elf;
	uint64_t bias;

	frame->kind = FRAME_NATIVE;
	frame->module = VDSO_PATH;
	frame->offset = raw->look_at.value - start.value + raw->step;
	frame->file_offset = frame->offset;
	frame->in_file = true;
	/* An exec maps another one; this is that of the program as it was. */
	if (start.value != names->vdso.start.value || !vdso_elf(&names->vdso, &elf, &bias))
		return;
	name_function(names, names->vdso_functions, raw->look_at.value - bias, raw->step, frame);
}

static void name_frame(void *ctx, const struct raw_frame *raw, struct named_frames *named)
{
	if (raw->place == RAW_IN_FILE)
		name_in_file(ctx, raw, named_frames_only(named));
	else if (raw->place == RAW_IN_VDSO)
		name_in_vdso(ctx, raw, named_frames_only(named));
}

static void destroy(void *ctx)
{
	struct native_names *names = ctx;

	native_symbols_destroy(names->vdso_functions);
	vdso_deinit(&names->vdso);
	text_deinit(&names->spelled);
	free(names);
}

int native_frame_namer_create(struct frame_namer *namer, const struct native_frame_sources *sources,
			      struct error *err)
{
	struct native_names *names = calloc(1, sizeof(*names));

	if (!names)
		return error_set(err, -ENOMEM, "no memory for names of native frames");
	names->sources = *sources;
	vdso_read(&names->vdso, sources->maps, sources->memory);
	if (!names->vdso.bytes.start ||
	    native_symbols_create(&names->vdso_functions, names->vdso.bytes, NULL))
		names->vdso_functions = NULL;
	*namer = (struct frame_namer){ .name = name_frame, .destroy = destroy, .ctx = names };
	return 0;
}
