// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "base/clock.h"
#include "runtime/dotnet/memory_image.h"
#include "base/error.h"
#include "stack/native_names.h"
#include "method/method_name.h"
#include "runtime/native/symbols.h"
#include "session/resolve.h"

enum {
	CACHE_SLOTS = 4096, /* a power of two */
	PARTS_MAX = 64,	    /* handlers of one method that are looked through */
	REREAD_MS = 200,    /* do not read the maps more often than this */
	REREAD_PAUSE = 20, /* nor all run-time code for more than one part in so many of our time */
	NEW_PAUSE = 2,	   /* if it has brought something */
};

struct cached {
	struct frame frame;
	uint64_t method;
	bool return_address;
	bool used;
	char *name;
	char *module;
};

struct symbols {
	struct resolution *resolution;
	struct native_names *native;
	uint64_t version; /* of the resolution, that the cache is of */
	uint64_t again_ms;
	uint64_t perf_map_read_ms;
	uint64_t jit_again_ms;
	bool keep;     /* what was looked up holds until the mappings change */
	bool no_begin; /* of what has been named it is not known where it begins */
	struct method_name name;
	struct text spelled;
	struct cached cache[CACHE_SLOTS];
};

int symbols_create(struct symbols **out, struct resolution *resolution, struct error *err)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return error_set(err, -ENOMEM, "no memory for symbols");
	symbols->resolution = resolution;
	symbols->native = native_names_create(resolution);
	if (!symbols->native) {
		free(symbols);
		return error_set(err, -ENOMEM, "no memory for symbols");
	}
	*out = symbols;
	return 0;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < CACHE_SLOTS; i++) {
		free(symbols->cache[i].name);
		free(symbols->cache[i].module);
	}
	native_names_destroy(symbols->native);
	method_name_deinit(&symbols->name);
	text_deinit(&symbols->spelled);
	free(symbols);
}

static uint64_t now_ms(void)
{
	return clock_now_ns() / NS_PER_MS;
}

/* Frames in the cache may name what is no longer there. */
static void forget_names(struct symbols *symbols)
{
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		symbols->cache[i].used = false;
}

/* The target maps more as it runs: look again, but not for every odd address. */
static const struct mapping *find_mapping(struct symbols *symbols, struct address address)
{
	struct resolution *resolution = symbols->resolution;
	const struct mapping *row = maps_find(resolution_maps(resolution), address);
	uint64_t now = now_ms(), took;
	bool is_new;

	/* What was not code then has been mapped over. */
	if ((!row || !row->executable) && now >= symbols->again_ms) {
		is_new = resolution_refresh(resolution, NULL) > 0;
		took = now_ms() - now;
		symbols->again_ms = now + REREAD_MS + (is_new ? NEW_PAUSE : REREAD_PAUSE) * took;
	}
	return resolution_find_mapping(resolution, address);
}

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

/* The method whose precompiled body holds @rva of @image. */
static void name_precompiled(struct symbols *symbols, const struct dotnet_image *image,
			     struct rva rva, struct frame *frame)
{
	struct r2r_body body;

	if (image->r2r && r2r_is_call_thunk(image->r2r, rva)) {
		frame->kind = FRAME_STUB;
		frame->name = "MethodCallThunk";
		frame->offset = 0;
		symbols->no_begin = true; /* where each begins is not written down */
		return;
	}
	if (!image->r2r || r2r_find_rva(image->r2r, rva, &body) != 1)
		return; /* code that the image does not name */
	r2r_body_name(&body, &symbols->name);
	text_clear(&symbols->spelled);
	method_name_spell(&symbols->name, &symbols->spelled);
	frame->kind = FRAME_DOTNET;
	frame->name = text_chars(&symbols->spelled);
	frame->offset = (uint64_t)((int64_t)rva.value - (int64_t)body.rva.value);
	frame->funclet = is_funclet(&body, rva);
	frame->filter = frame->funclet && r2r_in_filter(&body, rva);
}

/* Code of a managed image that file number @file holds. */
static bool name_managed(struct symbols *symbols, size_t file, struct file_offset offset,
			 struct frame *frame)
{
	const struct dotnet_images *images = &symbols->resolution->images;
	struct file_offset in_image;
	struct dotnet_image *image = dotnet_images_find(images, file, offset, &in_image);
	struct rva rva;

	if (!image)
		return false;
	frame->module = image->name;
	frame->offset = frame->file_offset = in_image.value;
	frame->in_file = true;
	if (pe_offset_to_rva(&image->pe, in_image, &rva))
		name_precompiled(symbols, image, rva, frame);
	return true;
}

/* The image in memory that the runtime has at @address; or one that it had. */
static const struct dotnet_image *find_in_memory(const struct symbols *symbols,
						 struct address address)
{
	const struct jit *jit = symbols->resolution->jit;

	for (size_t i = 0; jit && i < jit_image_count(jit); i++) {
		const struct jit_image *code = jit_image(jit, i);

		if (address.value >= code->start.value && address.value < code->end.value &&
		    code->image && code->image->file == DOTNET_NO_FILE)
			return code->image;
	}
	return memory_image_find(&symbols->resolution->images, address);
}

/* Code of an image that lies in memory only. */
static bool name_unpacked(struct symbols *symbols, struct address address, struct frame *frame)
{
	const struct dotnet_image *image = find_in_memory(symbols, address);
	struct rva rva;

	if (!image || !memory_image_rva(image, address, &rva))
		return false;
	frame->module = image->name;
	frame->offset = rva.value;
	name_precompiled(symbols, image, rva, frame);
	return true;
}

/* The body that the runtime compiled at @address, looked for anew if there was none; or NULL. */
static const struct jit_body *find_compiled(struct symbols *symbols, struct address address)
{
	struct jit *jit = symbols->resolution->jit;
	const struct jit_body *body = jit ? jit_find_body(jit, address) : NULL;
	uint64_t now = now_ms(), took;

	if (body || !jit || now < symbols->jit_again_ms)
		return body;
	if (jit_read(jit, NULL) == 0)
		body = jit_find_body(jit, address);
	/* Names are not worth more than a part of our time. */
	took = now_ms() - now;
	symbols->jit_again_ms = now + REREAD_MS + REREAD_PAUSE * took;
	return body;
}

/* The method whose name is in symbols->name. */
static void name_compiled_method(struct symbols *symbols, const struct clr_method *method,
				 struct frame *frame)
{
	bool is_stub = method->dynamic &&
		       strncmp(text_chars(&symbols->name.name), "IL_STUB", strlen("IL_STUB")) == 0;

	text_clear(&symbols->spelled);
	method_name_spell(&symbols->name, &symbols->spelled);
	frame->kind = is_stub ? FRAME_STUB : FRAME_DOTNET;
	frame->name = text_chars(&symbols->spelled);
	frame->module =
		method->module && method->module->image ? method->module->image->name : NULL;
	/* A dynamic method leaves its place to others. */
	symbols->keep = !method->dynamic;
}

static bool name_compiled(struct symbols *symbols, struct address address, struct frame *frame)
{
	const struct jit_body *body = find_compiled(symbols, address);

	if (!body || !body->method)
		return false;
	if (!body->method->is.dynamic)
		jit_method_name(symbols->resolution->jit, body->method, &symbols->name);
	else if (jit_recheck_begin(symbols->resolution->jit, NULL) ||
		 !jit_recheck(symbols->resolution->jit, body, &symbols->name))
		return false;
	name_compiled_method(symbols, &body->method->is, frame);
	frame->offset = address.value - body->start.value;
	return true;
}

/* Other code that the runtime made, if it writes a perf map. */
static void name_by_perf_map(struct symbols *symbols, struct address address, struct frame *frame)
{
	struct perf_map *map = resolution_perf_map(symbols->resolution);
	const struct perf_map_row *row;

	row = map ? perf_map_find(map, address) : NULL;
	if (!row && map && now_ms() - symbols->perf_map_read_ms >= REREAD_MS) {
		symbols->perf_map_read_ms = now_ms();
		if (perf_map_refresh(map))
			forget_names(symbols);
		row = perf_map_find(map, address);
	}
	if (!row)
		return;
	text_clear(&symbols->spelled);
	text_add_printable(&symbols->spelled, row->name);
	frame->name = text_chars(&symbols->spelled);
	frame->offset = address.value - row->start.value;
	frame->kind = row->kind == MAPPARSE_KIND_METHOD ? FRAME_DOTNET :
		      row->kind == MAPPARSE_KIND_STUB	? FRAME_STUB :
		      row->kind == MAPPARSE_KIND_JS	? FRAME_V8 :
							  FRAME_NATIVE;
}

/* What the runtime's books say of its own code, if it is that. Where it begins is not in them. */
static void name_stub(struct symbols *symbols, struct address address, struct frame *frame)
{
	struct jit *jit = symbols->resolution->jit;
	const char *name = jit ? jit_stub_name(jit, address) : NULL;

	if (!name)
		return;
	frame->kind = FRAME_STUB;
	frame->name = name;
	frame->offset = 0;
	symbols->no_begin = true;
	/* Its place may be given to other code. */
	symbols->keep = false;
}

static void name_function(struct symbols *symbols, const struct native_symbol *symbol,
			  uint64_t offset, struct frame *frame)
{
	/* "NAME@@VERSION" in a symbol table that the linker has written. */
	char *plain = strndup(symbol->name, strcspn(symbol->name, "@"));
	char *demangled = plain ? native_symbol_demangle(plain) : NULL;

	text_clear(&symbols->spelled);
	text_add_printable(&symbols->spelled, demangled ? demangled : plain ? plain : symbol->name);
	free(demangled);
	free(plain);
	frame->name = text_chars(&symbols->spelled);
	frame->offset = offset;
}

/* Code that a file has mapped: of a managed image, or native. */
static void name_in_file(struct symbols *symbols, const struct mapping *row, struct address address,
			 struct frame *frame)
{
	struct file_offset offset = mapping_offset(row, address);
	const struct native_symbol *symbol = NULL;
	const struct target_file *file;
	uint64_t in_function;
	size_t number;

	file = resolution_find_file(symbols->resolution, row, &number);
	if (file && name_managed(symbols, number, offset, frame))
		return;
	frame->kind = FRAME_NATIVE;
	frame->module = mapping_file_name(row);
	frame->offset = frame->file_offset = offset.value;
	frame->in_file = true;
	if (file)
		symbol = native_names_in_file(symbols->native, file, number, row, address,
					      &in_function);
	if (symbol)
		name_function(symbols, symbol, in_function, frame);
}

static void name_in_vdso(struct symbols *symbols, const struct mapping *row, struct address address,
			 struct frame *frame)
{
	const struct native_symbol *symbol;
	uint64_t in_function;

	frame->kind = FRAME_NATIVE;
	frame->module = VDSO_PATH;
	frame->offset = frame->file_offset = address.value - row->start.value;
	frame->in_file = true;
	symbol = native_names_in_vdso(symbols->native, row->start, address, &in_function);
	if (symbol)
		name_function(symbols, symbol, in_function, frame);
}

static void look_up(struct symbols *symbols, struct address address, struct frame *frame)
{
	const struct mapping *row = find_mapping(symbols, address);

	if (!row)
		return;
	if (row->inode != 0 && !row->shared)
		name_in_file(symbols, row, address, frame);
	else if (strcmp(row->path, VDSO_PATH) == 0)
		name_in_vdso(symbols, row, address, frame);
	else if (!name_compiled(symbols, address, frame) && !name_unpacked(symbols, address, frame))
		name_by_perf_map(symbols, address, frame);
	if (frame->kind == FRAME_UNKNOWN && !frame->module)
		name_stub(symbols, address, frame);
}

/* Code of the method that the walk has found in the runtime's own books. */
static bool name_method(struct symbols *symbols, const struct event_frame *at, struct frame *frame)
{
	struct jit *jit = symbols->resolution->jit;
	struct clr_method method;

	if (!at->method || !jit || jit_recheck_begin(jit, NULL) ||
	    !jit_name_desc(jit, at->method, &symbols->name, &method))
		return false;
	name_compiled_method(symbols, &method, frame);
	frame->offset = at->offset;
	/* The call is one byte before where it returns to, which may be where the filter ends. */
	frame->filter = (at->flags & EVENT_FRAME_FUNCLET) && at->offset &&
			jit_in_filter(jit, (struct address){ at->pc - at->offset }, at->offset - 1);
	return true;
}

void symbols_name(struct symbols *symbols, const struct event_frame *at, bool return_address,
		  struct frame *frame)
{
	const struct address address = { at->pc };
	struct cached *slot = &symbols->cache[(at->pc ^ at->pc >> 12) & (CACHE_SLOTS - 1)];

	if (symbols->version != symbols->resolution->later.version) {
		forget_names(symbols);
		symbols->version = symbols->resolution->later.version;
	}
	if (!slot->used || slot->frame.address.value != at->pc || slot->method != at->method ||
	    slot->return_address != return_address) {
		struct frame named = { .kind = FRAME_UNKNOWN };
		struct address look_at = { address.value - (return_address ? 1 : 0) };

		symbols->keep = true;
		symbols->no_begin = false;
		if (!name_method(symbols, at, &named)) {
			look_up(symbols, look_at, &named);
			named.offset += return_address && !symbols->no_begin &&
					(named.module || named.name);
			named.file_offset += return_address && named.in_file ? 1 : 0;
		}
		if (named.kind == FRAME_UNKNOWN && (at->flags & EVENT_FRAME_STUB))
			named.kind = FRAME_STUB;
		named.address = address;
		free(slot->name);
		free(slot->module);
		/* What they were found in may change with the next lookup. */
		slot->name = named.name ? strdup(named.name) : NULL;
		slot->module = named.module ? strdup(named.module) : NULL;
		named.name = slot->name;
		named.module = slot->module;
		slot->frame = named;
		slot->method = at->method;
		slot->return_address = return_address;
		/* What has no name yet may have one once the target has written it down. */
		slot->used = symbols->keep && (named.name || named.module);
	}
	*frame = slot->frame;
	frame->guessed = at->flags & EVENT_FRAME_GUESSED;
	frame->funclet |= (at->flags & EVENT_FRAME_FUNCLET) != 0;
}

const char *frame_kind_name(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_NATIVE:
		return "native";
	case FRAME_DOTNET:
		return "dotnet";
	case FRAME_STUB:
		return "stub";
	case FRAME_V8:
		return "v8";
	default:
		return "unknown";
	}
}
