// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which native function a frame is in. The vdso is in no file, and the target may have exited when
 * its first frame is named, so its code is copied beforehand.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "image/elf.h"
#include "runtime/frame.h"
#include "runtime/native/native.h"
#include "runtime/native/symbols.h"
#include "target/target.h"
#include "target/vdso.h"

struct native_names {
	struct native *native;
	struct vdso vdso;
	struct native_symbols *vdso_functions;
	struct text spelled;
};

static void name_function(struct native_names *names, struct native_symbols *functions,
			  const struct raw_frame *raw, uint64_t bias, struct frame *frame)
{
	const uint64_t linked = raw->look_at.value - bias;
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
	frame->offset = linked - symbol->begin + raw->step;
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
	    elf_part_bias(&elf, row->offset, row->start, &bias))
		name_function(names, native_functions(names->native, raw->file), raw, bias, frame);
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
	text_deinit(&names->spelled);
	free(names);
}

int native_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err)
{
	struct native_names *names = calloc(1, sizeof(*names));

	if (!names)
		return error_set(err, -ENOMEM, "no memory for names of native frames");
	names->native = (struct native *)runtime;
	vdso_read(&names->vdso, target_maps(names->native->target), names->native->target->memory);
	if (!names->vdso.bytes.start ||
	    native_symbols_create(&names->vdso_functions, names->vdso.bytes, NULL))
		names->vdso_functions = NULL;
	*namer = (struct frame_namer){ .name = name_frame, .destroy = destroy, .ctx = names };
	return 0;
}
