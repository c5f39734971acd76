// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which method a frame is in, by the first that knows: the method that the walk has found, the
 * image that a file holds there; else the runtime's code heaps, images in memory, its perf map,
 * its stubs.
 */
#include "runtime/dotnet/dotnet_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "method/method_name.h"
#include "runtime/dotnet/memory_image.h"
#include "runtime/frame.h"
#include "target/files.h"
#include "target/maps.h"

enum {
	PARTS_MAX = 64,	 /* handlers of one method that are looked through */
	REREAD_MS = 200, /* do not read the perf map, or all run-time code, more often than this */
	REREAD_PAUSE = 20, /* nor the latter for more than one part in so many of our time */
};

struct dotnet_names {
	struct dotnet *dotnet;
	uint64_t version;
	uint64_t perf_map_read_ms;
	uint64_t jit_again_ms;
	struct method_name name;
	struct text spelled;
	struct text made_from;
	struct dotnet_lines *lines; /* NULL: they are not wanted */
};

/* Lines of source ------------------------------------------------------------------------------ */

/* The image with @metadata; of a composite the one that its component is. */
static const struct dotnet_image *image_of(const struct dotnet_images *images,
					   const struct metadata *metadata)
{
	for (size_t i = 0; metadata && i < images->count; i++) {
		if (images->images[i]->metadata == metadata)
			return images->images[i];
	}
	return NULL;
}

/* The method that is called names->name, and is row @rid of @metadata if those are known. */
static void set_method(struct dotnet_names *names, const struct metadata *metadata, uint32_t rid,
		       struct frame *frame)
{
	text_clear(&names->spelled);
	method_name_spell(&names->name, &names->spelled);
	frame->kind = FRAME_DOTNET;
	frame->name = text_chars(&names->spelled);
	text_clear(&names->made_from);
	if (metadata && rid)
		dotnet_state_machine_of(&names->name, metadata, rid, &names->made_from);
	if (names->made_from.length)
		frame->made_from = text_chars(&names->made_from);
}

/* Of precompiled code at @rva, which is the call's. */
static void set_precompiled_line(struct dotnet_names *names, const struct r2r_body *body,
				 struct rva rva, struct frame *frame)
{
	const struct dotnet_image *image;
	uint32_t il_offset;

	if (!names->lines)
		return;
	image = image_of(&names->dotnet->images, r2r_body_metadata(body));
	if (image && body->method_rid && r2r_find_il(body, rva, &il_offset))
		dotnet_lines_find(names->lines, image, body->method_rid, il_offset, frame);
}

/* Of @offset, which is the call's, in the code at @code that the runtime compiled. */
static void set_compiled_line(struct dotnet_names *names, const struct clr_method *method,
			      struct address code, uint32_t offset, struct frame *frame)
{
	uint32_t il_offset;

	if (names->lines && !method->dynamic && method->module && method->module->image &&
	    jit_find_il(names->dotnet->jit, code, offset, &il_offset))
		dotnet_lines_find(names->lines, method->module->image, method->rid, il_offset,
				  frame);
}

/* Precompiled code ---------------------------------------------------------------------------- */

static bool is_funclet(const struct r2r_body *body, struct rva rva)
{
	struct r2r_part parts[PARTS_MAX];
	size_t count = r2r_body_parts(body, parts, PARTS_MAX);

	for (size_t i = 0; i < count && i < PARTS_MAX; i++) {
		if (rva.value - parts[i].rva.value < parts[i].size)
			return parts[i].funclet;
	}
	return false;
}

/*
 * The method whose precompiled body holds @rva of @image; the frame's place is @step bytes after
 * that.
 */
static void name_precompiled(struct dotnet_names *names, const struct dotnet_image *image,
			     struct rva rva, unsigned int step, struct frame *frame)
{
	struct r2r_body body;

	if (image->r2r && r2r_is_call_thunk(image->r2r, rva)) {
		frame->kind = FRAME_STUB;
		frame->name = "MethodCallThunk";
		frame->offset = 0; /* where each begins is not written down */
		return;
	}
	if (!image->r2r || r2r_find_rva(image->r2r, rva, &body) != 1)
		return; /* code that the image does not name */
	r2r_body_name(&body, &names->name);
	set_method(names, r2r_body_metadata(&body), body.method_rid, frame);
	frame->offset = (uint64_t)((int64_t)rva.value - (int64_t)body.rva.value) + step;
	frame->funclet = is_funclet(&body, rva);
	frame->filter = frame->funclet && r2r_in_filter(&body, rva);
	set_precompiled_line(names, &body, rva, frame);
}

/* Code of a managed image that a file holds. */
static void name_in_file(struct dotnet_names *names, const struct raw_frame *raw,
			 struct named_frames *named)
{
	struct file_offset in_image;
	const struct dotnet_image *image =
		dotnet_images_find(&names->dotnet->images, raw->file->number,
				   mapping_offset(raw->row, raw->look_at), &in_image);
	struct frame *frame;
	struct rva rva;

	if (!image)
		return;
	frame = named_frames_only(named);
	frame->module = image->name;
	frame->offset = frame->file_offset = in_image.value + raw->step;
	frame->in_file = true;
	if (pe_offset_to_rva(&image->pe, in_image, &rva))
		name_precompiled(names, image, rva, raw->step, frame);
}

/* The image in memory that the runtime has at @address; or one that it had. */
static const struct dotnet_image *find_in_memory(const struct dotnet_names *names,
						 struct address address)
{
	const struct jit *jit = names->dotnet->jit;

	for (size_t i = 0; jit && i < jit->image_count; i++) {
		const struct code_image *code = &jit->images[i];

		if (address.value >= code->start.value && address.value < code->end.value &&
		    code->image && code->image->file == DOTNET_NO_FILE)
			return code->image;
	}
	return memory_image_find(&names->dotnet->images, address);
}

/* Code of an image that lies in memory only. */
static void name_in_memory(struct dotnet_names *names, const struct raw_frame *raw,
			   struct named_frames *named)
{
	const struct dotnet_image *image = find_in_memory(names, raw->look_at);
	struct frame *frame;
	struct rva rva;

	if (!image || !memory_image_rva(image, raw->look_at, &rva))
		return;
	frame = named_frames_only(named);
	frame->module = image->name;
	frame->offset = rva.value + raw->step;
	name_precompiled(names, image, rva, raw->step, frame);
}

/* Code compiled at run time ------------------------------------------------------------------- */

/* The body that the runtime compiled at @address, looked for anew if there was none; or NULL. */
static const struct jit_body *find_compiled(struct dotnet_names *names, struct address address)
{
	struct jit *jit = names->dotnet->jit;
	const struct jit_body *body = jit ? jit_find_body(jit, address) : NULL;
	uint64_t now = clock_now_ms(), took;

	if (body || !jit || now < names->jit_again_ms)
		return body;
	if (jit_read(jit, NULL) == 0)
		body = jit_find_body(jit, address);
	/* Names are not worth more than a part of our time. */
	took = clock_now_ms() - now;
	names->jit_again_ms = now + REREAD_MS + REREAD_PAUSE * took;
	return body;
}

/* The method whose name is in names->name. */
static struct frame *name_method(struct dotnet_names *names, const struct clr_method *method,
				 struct named_frames *named)
{
	struct frame *frame = named_frames_only(named);
	bool is_stub = method->dynamic &&
		       strncmp(text_chars(&names->name.name), "IL_STUB", strlen("IL_STUB")) == 0;

	set_method(names, method->dynamic ? NULL : clr_module_metadata(method->module), method->rid,
		   frame);
	if (is_stub)
		frame->kind = FRAME_STUB;
	frame->module =
		method->module && method->module->image ? method->module->image->name : NULL;
	/* A dynamic method leaves its place to others. */
	named->transient = method->dynamic;
	return frame;
}

static void name_compiled(struct dotnet_names *names, const struct raw_frame *raw,
			  struct named_frames *named)
{
	const struct jit_body *body = find_compiled(names, raw->look_at);
	struct jit *jit = names->dotnet->jit;
	struct frame *frame;

	if (!body || !body->method)
		return;
	if (body->method->is.dynamic) {
		jit_recheck_begin(jit);
		if (!jit_recheck(jit, body, &names->name))
			return;
	} else {
		jit_method_name(jit, body->method, &names->name);
	}
	frame = name_method(names, &body->method->is, named);
	frame->offset = raw->look_at.value - body->start.value + raw->step;
	set_compiled_line(names, &body->method->is, body->start,
			  (uint32_t)(raw->look_at.value - body->start.value), frame);
}

/* Code of the method that the walk has found in the runtime's own structures. */
static void name_known_method(struct dotnet_names *names, const struct raw_frame *raw,
			      struct named_frames *named)
{
	struct jit *jit = names->dotnet->jit;
	struct clr_method method;
	struct frame *frame;

	if (!jit)
		return;
	jit_recheck_begin(jit);
	if (!jit_name_desc(jit, raw->method, &names->name, &method))
		return;
	frame = name_method(names, &method, named);
	frame->offset = raw->offset;
	if (raw->offset >= raw->step)
		set_compiled_line(names, &method, (struct address){ raw->pc.value - raw->offset },
				  raw->offset - raw->step, frame);
	/* The call is one byte before where it returns to, which may be where the filter ends. */
	frame->filter = raw->funclet && raw->offset &&
			jit_in_filter(jit, (struct address){ raw->pc.value - raw->offset },
				      raw->offset - 1);
}

/* Other code that the runtime made ------------------------------------------------------------- */

static enum frame_kind kind_of(const struct perf_map_row *row)
{
	return row->kind == MAPPARSE_KIND_METHOD ? FRAME_DOTNET :
	       row->kind == MAPPARSE_KIND_STUB	 ? FRAME_STUB :
	       row->kind == MAPPARSE_KIND_JS	 ? FRAME_V8 :
						   FRAME_NATIVE;
}

/* If the runtime writes a perf map. */
static void name_by_perf_map(struct dotnet_names *names, const struct raw_frame *raw,
			     struct named_frames *named)
{
	struct perf_map *map = dotnet_perf_map(names->dotnet);
	const struct perf_map_row *row;
	struct frame *frame;

	row = map ? perf_map_find(map, raw->look_at) : NULL;
	if (!row && map && clock_now_ms() - names->perf_map_read_ms >= REREAD_MS) {
		names->perf_map_read_ms = clock_now_ms();
		names->version += perf_map_refresh(map);
		row = perf_map_find(map, raw->look_at);
	}
	if (!row)
		return;
	frame = named_frames_only(named);
	text_clear(&names->spelled);
	text_add_printable(&names->spelled, row->name);
	frame->name = text_chars(&names->spelled);
	frame->offset = raw->look_at.value - row->start.value + raw->step;
	frame->kind = kind_of(row);
}

/* What the runtime says of its own stubs. Where one begins it does not say. */
static void name_stub(struct dotnet_names *names, const struct raw_frame *raw,
		      struct named_frames *named)
{
	struct jit *jit = names->dotnet->jit;
	const char *name = jit ? jit_stub_name(jit, raw->look_at) : NULL;
	struct frame *frame;

	if (!name)
		return;
	frame = named_frames_only(named);
	frame->kind = FRAME_STUB;
	frame->name = name;
	/* Its place may be given to other code. */
	named->transient = true;
}

/* The first of these that knows it. */
static void name_by_address(struct dotnet_names *names, const struct raw_frame *raw,
			    struct named_frames *named)
{
	name_compiled(names, raw, named);
	if (!named->count)
		name_in_memory(names, raw, named);
	if (!named->count)
		name_by_perf_map(names, raw, named);
	if (!named->count)
		name_stub(names, raw, named);
}

static void name_frame(void *ctx, const struct raw_frame *raw, struct named_frames *named)
{
	if (raw->method)
		name_known_method(ctx, raw, named);
	else if (raw->place == RAW_IN_FILE && raw->file)
		name_in_file(ctx, raw, named);
	else if (raw->place == RAW_IN_MEMORY)
		name_by_address(ctx, raw, named);
}

static uint64_t version(const void *ctx)
{
	return ((const struct dotnet_names *)ctx)->version;
}

static void destroy(void *ctx)
{
	struct dotnet_names *names = ctx;

	dotnet_lines_destroy(names->lines);
	method_name_deinit(&names->name);
	text_deinit(&names->spelled);
	text_deinit(&names->made_from);
	free(names);
}

int dotnet_frame_namer(struct runtime *runtime, struct frame_namer *namer, struct error *err)
{
	struct dotnet_names *names = calloc(1, sizeof(*names));

	if (!names)
		return error_set(err, -ENOMEM, "no memory for names of managed frames");
	names->dotnet = (struct dotnet *)runtime;
	if (names->dotnet->others->lines != LINES_NONE)
		names->lines = dotnet_lines_create(names->dotnet);
	*namer = (struct frame_namer){
		.name = name_frame,
		.version = version,
		.destroy = destroy,
		.ctx = names,
	};
	return 0;
}
