// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of resolve.h that has to do with code compiled while the target runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/exit_parts.h"
#include "runtime/dotnet/memory_image.h"
#include "runtime/dotnet/pinvoke.h"
#include "base/error.h"
#include "image/elf.h"
#include "method/method_name.h"
#include "session/resolve_planning.h"

enum {
	CODE_MAX_BYTES = 1 << 24, /* of one body */
	HEADER_BYTES = 512,	  /* no file of a managed image has less in its first page */
};

/* The image that the target has mapped from a file at @base. */
static const struct dotnet_image *mapped_image(const struct resolution *resolution, uint64_t base)
{
	const struct mapping *row =
		maps_find(target_maps(&resolution->target), (struct address){ base });
	const struct target_file *file;
	struct file_offset in_image;

	if (!row || row->inode == 0)
		return NULL;
	file = target_find_file(&resolution->target, row);
	return file ? dotnet_images_find(&resolution->images, file->number,
					 mapping_offset(row, (struct address){ base }), &in_image) :
		      NULL;
}

/* The mappings are those of the last look: by now something else may lie there. */
static bool is_still_at(const struct resolution *resolution, const struct dotnet_image *image,
			uint64_t base)
{
	struct look look = look_into(resolution->memory);
	struct span file = image->pe.file;
	uint8_t header[HEADER_BYTES];
	size_t size = file.size < sizeof(header) ? file.size : sizeof(header);

	look_copy_once(&look, base, header, size);
	return !look.bad && memcmp(header, file.start, size) == 0;
}

static const struct dotnet_image *image_at(void *ctx, const struct clr_layout *layout)
{
	struct resolution *resolution = ctx;
	const struct dotnet_image *image = mapped_image(resolution, layout->base);

	if (image && is_still_at(resolution, image, layout->base))
		return image;
	return memory_image_get(&resolution->images, resolution->memory, layout);
}

/* The runtime's executable segment says how far the runtime is loaded from where it was linked. */
static bool find_bias(struct resolution *resolution)
{
	const struct target_file *file = target_file(&resolution->target, resolution->runtime.file);
	const struct maps *maps = target_maps(&resolution->target);
	struct elf elf;

	if (!elf_init(&elf, file->bytes))
		return false;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *row = &maps->rows[i];

		if (mapping_is_file_code(row) && mapping_same_file(row, &file->mapping) &&
		    elf_load_bias(&elf, row->offset, row->start, &resolution->runtime.bias))
			return true;
	}
	return false;
}

static int open_runtime(struct resolution *resolution, struct error *err)
{
	int result = memory_open(&resolution->memory, &resolution->target.process, err);

	if (result)
		return result;
	if (!find_bias(resolution))
		return error_set(err, -EBADMSG,
				 "the runtime's code is not mapped as its file says");
	result = jit_create(&resolution->jit, resolution->memory, &resolution->runtime, image_at,
			    resolution, err);
	return result ? result : jit_read(resolution->jit, err);
}

int resolution_read_jit(struct resolution *resolution, struct error *err)
{
	struct error why = { .text = "" };
	int result = open_runtime(resolution, &why);

	dotnet_images_link(&resolution->images);
	resolution->images_linked = resolution->images.count;
	if (result == 0)
		return 0;
	jit_destroy(resolution->jit);
	resolution->jit = NULL;
	if (result == -ENOMEM)
		return error_set(err, result, "%s", why.text);
	/* Precompiled code can be probed all the same. */
	resolution->jit_problem = malloc(sizeof(why));
	if (resolution->jit_problem)
		*resolution->jit_problem = why;
	return 0;
}

/* A body's code as it is in memory; the caller frees it. NULL if it is gone. */
static uint8_t *read_code(const struct resolution *resolution, const struct jit_body *jit)
{
	struct look look = look_into(resolution->memory);
	uint8_t *bytes = malloc(jit->size);

	if (!bytes)
		return NULL;
	look_copy_once(&look, jit->start.value, bytes, jit->size);
	if (!look.bad)
		return bytes;
	free(bytes);
	return NULL;
}

bool resolution_jumps_to_entry(const struct resolution *resolution, struct address start,
			       uint32_t size)
{
	const struct jit_body body = { .start = start, .size = size };
	uint8_t *bytes = size <= CODE_MAX_BYTES ? read_code(resolution, &body) : NULL;
	bool jumps = bytes && insn_jumps_to_entry((struct span){ bytes, size }, 0);

	free(bytes);
	return jumps;
}

/* Those of a body that the runtime has compiled; @code is what was read of it. -ENOMEM. */
static int find_exits(struct planning *planning, const struct jit_body *jit, struct span code,
		      struct exits *exits)
{
	const struct resolution *resolution = planning->resolution;
	struct exit_part parts[EXITS_PARTS_MAX];
	const struct exit_body exit_body = {
		.parts = parts,
		.part_count =
			exit_parts_compiled(jit_clr(resolution->jit), jit->start, code, parts),
		.entered_midway = jit->tier == TIER_OSR,
		.read = exit_read_memory,
		.ctx = resolution->memory,
	};

	return exits_find(exits, &exit_body, planning->err);
}

/* A call that began in the body may go on in an OSR body of the method, and end there. */
static int find_osr_exits(struct planning *planning, const struct jit_body *jit)
{
	const struct resolution *resolution = planning->resolution;
	struct exits more = { 0 };
	int result = 0;

	for (size_t i = 0; !jit->final && i < jit->method->body_count && result == 0; i++) {
		const struct jit_body *osr = jit_method_body(resolution->jit, jit->method, i);
		uint8_t *bytes = osr->tier == TIER_OSR ? read_code(resolution, osr) : NULL;
		struct span code = { bytes, bytes ? osr->size : 0 };

		if (osr->tier == TIER_OSR)
			result = find_exits(planning, osr, code, &more);
		if (osr->tier == TIER_OSR && result == 0)
			result = exits_add(&planning->exits, &more, planning->err);
		free(bytes);
	}
	exits_deinit(&more);
	return result;
}

int planning_add_jit_body(struct planning *planning, const struct jit_body *jit,
			  const struct method_body *known)
{
	struct resolution *resolution = planning->resolution;
	struct perf_map *map = resolution_perf_map(resolution);
	const struct perf_map_row *row = map ? perf_map_find(map, jit->start) : NULL;
	bool wanted = jit->state != STATE_SUPERSEDED && jit->tier != TIER_OSR;
	uint8_t *bytes = wanted ? read_code(resolution, jit) : NULL;
	struct body_code code = { .bytes = { bytes, bytes ? jit->size : 0 } };
	struct method_body body = *known;
	int result;

	if (row && row->start.value == jit->start.value && row->kind == MAPPARSE_KIND_METHOD)
		body.sources |= 1u << NAME_SOURCE_PERF_MAP;
	body.file = BODY_NO_FILE;
	body.tier = jit->tier;
	body.state = jit->state;
	body.final = jit->final;
	body.method_desc = jit->method->is.desc;
	body.may_be_freed = jit_may_be_freed(resolution->jit, jit->method);
	body.precompiled = jit->method->precompiled;
	body.precompiled_rejected = jit->method->precompiled_rejected;
	body.address = jit->start;
	body.size = jit->size;
	body.function_start = true;
	body.code = &code;
	body.code_count = 1;
	/* What can be unloaded cannot be told by its method for sure. */
	if (body.stub && (planning->plan->timed || body.may_be_freed))
		body.absent = BODY_NATIVE_CALL;
	body.exits = bytes && planning->plan->timed ? &planning->exits : NULL;
	body.exits_entry = jit->start.value;
	result = body.exits ? find_exits(planning, jit, code.bytes, &planning->exits) : 0;
	if (result == 0 && body.exits)
		result = find_osr_exits(planning, jit);
	if (result == 0)
		result = plan_add(planning->plan, &body, planning->err);
	free(bytes);
	return result;
}

/* Is the site's body what it was when it was matched? */
static bool is_unchanged(struct resolution *resolution, const struct site *site,
			 struct method_name *name, struct text *spelled)
{
	const struct jit_body *body;

	/* A method without code may as well be of an image that is in no file. */
	if (site->file != BODY_NO_FILE || site->tier == TIER_R2R || site->state == STATE_NO_BODY)
		return true;
	body = jit_find_body(resolution->jit, site->address);
	if (!body || !jit_recheck(resolution->jit, body, name))
		return false;
	if (site->stub)
		return strcmp(text_chars(&name->name), PINVOKE_STUB_NAME) == 0;
	text_clear(spelled);
	method_name_spell(name, spelled);
	return strcmp(text_chars(spelled), site->method) == 0;
}

int resolution_drop_changed(struct resolution *resolution, struct plan *plan, size_t *dropped,
			    struct error *err)
{
	struct method_name name = { 0 };
	struct text spelled = { 0 };
	size_t kept = 0;
	int result;

	*dropped = 0;
	if (!resolution->jit)
		return 0;
	result = jit_recheck_begin(resolution->jit, err);
	if (result)
		return result;
	for (size_t i = 0; i < plan->count; i++) {
		if (is_unchanged(resolution, &plan->sites[i], &name, &spelled))
			plan->sites[kept++] = plan->sites[i];
		else
			site_deinit(&plan->sites[i]);
	}
	*dropped = plan->count - kept;
	plan->count = kept;
	method_name_deinit(&name);
	text_deinit(&spelled);
	return 0;
}

/* The runtime writes its code through one mapping of a memfd and runs it through another. */
static bool is_shared_code(const struct mapping *row)
{
	return row->executable && row->shared && row->inode != 0;
}

int resolution_use_uprobes(struct resolution *resolution, struct plan *plan, struct error *err)
{
	struct target *target = &resolution->target;
	int result = target_files_add(&target->files, &target->process, target_maps(target),
				      is_shared_code, err);

	for (size_t i = 0; i < plan->count && result == 0; i++) {
		struct site *site = &plan->sites[i];
		const struct mapping *row = maps_find(target_maps(target), site->address);
		const struct target_file *file;

		if (site->file != BODY_NO_FILE || !row || !is_shared_code(row))
			continue;
		file = target_find_file(target, row);
		if (file)
			site_use_uprobe(site, file->number, mapping_offset(row, site->address));
	}
	return result;
}
