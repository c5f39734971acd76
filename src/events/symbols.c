// SPDX-License-Identifier: GPL-2.0-or-later
#include "events/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "clock.h"
#include "dotnet/memory_image.h"
#include "error.h"
#include "image/elf.h"
#include "method/method_name.h"
#include "native/symbols.h"
#include "resolve.h"

enum {
	CACHE_SLOTS = 4096, /* a power of two */
	PARTS_MAX = 64,	    /* handlers of one method that are looked through */
	REREAD_MS = 200,    /* do not read the maps more often than this */
	REREAD_PAUSE = 20, /* nor all run-time code for more than one part in so many of our time */
};

struct cached {
	struct frame frame;
	uint64_t method;
	bool return_address;
	bool used;
	char *name;
};

/* The functions of one file of the resolution's. */
struct native_names {
	struct native_symbols *functions; /* NULL: there are none */
	uint64_t bias;
	bool read;
};

struct symbols {
	struct resolution *resolution;
	struct native_names *native; /* by file */
	size_t native_count;
	struct maps later_maps; /* read again because of an address not in the first ones */
	bool has_later;
	uint64_t read_ms;
	uint64_t perf_map_read_ms;
	uint64_t jit_again_ms;
	bool keep; /* what was looked up holds until the mappings change */
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
	symbols->native_count = resolution->files.count;
	symbols->native = calloc(symbols->native_count + 1, sizeof(*symbols->native));
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
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		free(symbols->cache[i].name);
	for (size_t i = 0; i < symbols->native_count; i++)
		native_symbols_destroy(symbols->native[i].functions);
	free(symbols->native);
	maps_deinit(&symbols->later_maps);
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
	const struct mapping *row = maps_find(&symbols->resolution->maps, address);
	struct maps maps;

	if (row)
		return row;
	if (symbols->has_later && (row = maps_find(&symbols->later_maps, address)))
		return row;
	if (symbols->read_ms && now_ms() - symbols->read_ms < REREAD_MS)
		return NULL;
	symbols->read_ms = now_ms();
	if (maps_read(&maps, &symbols->resolution->process, NULL) != 0)
		return NULL;
	if (maps.count == 0) { /* the target is gone; what was read before still holds */
		maps_deinit(&maps);
		return NULL;
	}
	forget_names(symbols);
	maps_deinit(&symbols->later_maps);
	symbols->later_maps = maps;
	symbols->has_later = true;
	return maps_find(&symbols->later_maps, address);
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

	if (!image->r2r || r2r_find_rva(image->r2r, rva, &body) != 1)
		return; /* a thunk, or code that the image does not name */
	r2r_body_name(&body, &symbols->name);
	text_clear(&symbols->spelled);
	method_name_spell(&symbols->name, &symbols->spelled);
	frame->kind = FRAME_DOTNET;
	frame->name = text_chars(&symbols->spelled);
	frame->offset = (uint64_t)((int64_t)rva.value - (int64_t)body.rva.value);
	frame->funclet = is_funclet(&body, rva);
	frame->filter = frame->funclet && r2r_in_filter(&body, rva);
}

/* Code of a managed image that a file holds. */
static bool name_managed(struct symbols *symbols, const struct target_file *file,
			 struct file_offset offset, struct frame *frame)
{
	const struct dotnet_images *images = &symbols->resolution->images;
	size_t file_number = (size_t)(file - symbols->resolution->files.files);
	struct file_offset in_image;
	struct dotnet_image *image = dotnet_images_find(images, file_number, offset, &in_image);
	struct rva rva;

	if (!image)
		return false;
	frame->module = image->name;
	frame->offset = in_image.value;
	if (pe_offset_to_rva(&image->pe, in_image, &rva))
		name_precompiled(symbols, image, rva, frame);
	return true;
}

/* Code of an image that lies in memory only. */
static bool name_unpacked(struct symbols *symbols, struct address address, struct frame *frame)
{
	const struct dotnet_image *image = memory_image_find(&symbols->resolution->images, address);
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

/* When its first frame comes by, and once. */
static struct native_names *native_names(struct symbols *symbols, size_t file,
					 const struct mapping *row)
{
	struct native_names *names = &symbols->native[file];
	struct span bytes = symbols->resolution->files.files[file].bytes;
	struct elf elf;

	if (names->read)
		return names;
	names->read = true;
	if (elf_init(&elf, bytes) && elf_load_bias(&elf, row->offset, row->start, &names->bias) &&
	    native_symbols_create(&names->functions, bytes, NULL))
		names->functions = NULL;
	return names;
}

static void name_native(struct symbols *symbols, const struct target_file *file,
			const struct mapping *row, struct address address, struct frame *frame)
{
	size_t number = (size_t)(file - symbols->resolution->files.files);
	const struct native_names *names;
	const struct native_symbol *symbol;
	char *demangled;

	if (number >= symbols->native_count)
		return;
	names = native_names(symbols, number, row);
	symbol = names->functions ?
			 native_symbols_find(names->functions, address.value - names->bias) :
			 NULL;
	if (!symbol)
		return;
	demangled = native_symbol_demangle(symbol->name);
	text_clear(&symbols->spelled);
	text_add_printable(&symbols->spelled, demangled ? demangled : symbol->name);
	free(demangled);
	frame->name = text_chars(&symbols->spelled);
	frame->offset = address.value - names->bias - symbol->begin;
}

static void look_up(struct symbols *symbols, struct address address, struct frame *frame)
{
	const struct mapping *row = find_mapping(symbols, address);
	const struct target_file *file;
	struct file_offset offset;

	if (!row)
		return;
	if (row->inode == 0 || row->shared) {
		if (row->path[0] == '[') {
			frame->kind = FRAME_NATIVE; /* [vdso] */
			frame->module = row->path;
			frame->offset = address.value - row->start.value;
		} else if (!name_compiled(symbols, address, frame) &&
			   !name_unpacked(symbols, address, frame)) {
			name_by_perf_map(symbols, address, frame);
		}
		return;
	}
	offset = mapping_offset(row, address);
	file = target_files_find(&symbols->resolution->files, row);
	if (file && name_managed(symbols, file, offset, frame))
		return;
	frame->kind = FRAME_NATIVE;
	frame->module = mapping_file_name(row);
	frame->offset = offset.value;
	if (file)
		name_native(symbols, file, row, address, frame);
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

	if (!slot->used || slot->frame.address.value != at->pc || slot->method != at->method ||
	    slot->return_address != return_address) {
		struct frame named = { .kind = FRAME_UNKNOWN };
		struct address look_at = { address.value - (return_address ? 1 : 0) };

		symbols->keep = true;
		if (!name_method(symbols, at, &named)) {
			look_up(symbols, look_at, &named);
			named.offset += return_address && (named.module || named.name) ? 1 : 0;
		}
		if (named.kind == FRAME_UNKNOWN && (at->flags & EVENT_FRAME_STUB))
			named.kind = FRAME_STUB;
		named.address = address;
		free(slot->name);
		slot->name = named.name ? strdup(named.name) : NULL;
		named.name = slot->name;
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
