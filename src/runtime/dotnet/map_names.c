// SPDX-License-Identifier: GPL-2.0-or-later
/* Names from the user's and the target's map files, and bodies that only they name: dotnet.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "base/error.h"
#include "method/method_name.h"
#include "method/pattern.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "target/target.h"

static int stop_at_match(const struct dotnet_match *match, void *ctx)
{
	(void)ctx;
	return match->kind == MATCH_BODY;
}

/* The map calls a body by a name that the metadata has for another one: the metadata is right. */
static int contradicts(const struct dotnet_search *search, const struct mapfile_method *method)
{
	struct dotnet_image *image = (struct dotnet_image *)(uintptr_t)method->file->image;
	struct dotnet_images one = { .images = &image, .count = 1 };
	_cleanup_(text_deinit) struct text spelled = { 0 };
	struct pattern *pattern;
	int result = 0;

	if (!method->body || method->agrees)
		return 0;
	if (method->partial)
		return 1; /* a guess, beside what is known */
	method_name_spell(method->name, &spelled);
	if (pattern_create(&pattern, text_chars(&spelled), NULL) == 0) {
		result = dotnet_find(&one, NULL, pattern, false, stop_at_match, NULL, search->err);
		pattern_destroy(pattern);
	}
	return result;
}

static int plan_map_body(struct dotnet_search *search, const struct mapfile_method *method)
{
	const struct dotnet_image *image = method->file->image;
	struct body_code codes[BODY_PARTS_MAX];
	_cleanup_(text_deinit) struct text name = { 0 }, also = { 0 };
	_cleanup_(method_name_deinit) struct method_name own = { 0 };
	struct method_body body = {
		.image = image->name,
		.state = STATE_CURRENT,
		.sources = search->source,
		.file = image->file,
		.size = method->size,
	};
	int result = 0;

	/* A name in the map only is one more name of what the metadata calls otherwise. */
	if (method->body && !method->agrees) {
		method_name_spell(method->name, &also);
		text_printf(&also, " in %s", method->file->name);
	} else if (method->partial && !method->body) {
		text_printf(&also, "read from a mangled name in %s", method->file->name);
	}
	if (method->body) {
		r2r_body_name(method->body, &own);
		method_name_spell(&own, &name);
		result = dotnet_describe_body(search, image, method->body, &body, codes);
	} else {
		method_name_spell(method->name, &name);
		if (method->partial)
			text_cut(&name, name.length - strlen("()"));
		if (dotnet_place_body(search, image, method->rva, &body)) {
			codes[0] = (struct body_code){
				.bytes = pe_bytes(&image->pe, method->rva, method->size),
			};
			body.code = codes;
			body.code_count = 1;
			body.function_start = true; /* mapfile_each() gives no others */
		}
	}
	body.method = text_chars(&name);
	body.made_from = also.length ? text_chars(&also) : NULL;
	return result ? result : search->fn(&body, search->ctx);
}

static int match_map_method(const struct mapfile_method *method, void *ctx)
{
	struct dotnet_search *search = ctx;
	int result;

	if (method->partial && !method->agrees && pattern_has_params(search->query->pattern))
		return 0;
	result = pattern_matches(search->query->pattern, method->name, search->err);
	if (result <= 0)
		return result;
	result = contradicts(search, method);
	return result ? (result < 0 ? result : 0) : plan_map_body(search, method);
}

int dotnet_tell_maps(struct dotnet_search *search)
{
	const struct dotnet *dotnet = search->dotnet;
	int result = 0;

	for (size_t i = 0; i < dotnet->mapfile_count && result == 0; i++) {
		const struct mapfile *file = &dotnet->mapfiles[i];
		size_t bit = NAME_SOURCE_FIRST_MAP + i;

		search->source = 1ull << (bit < NAME_SOURCES_MAX ? bit : NAME_SOURCES_MAX - 1);
		if (pattern_wants_image(search->query->pattern, file->image->name))
			result = mapfile_each(file, match_map_method, search, search->err);
	}
	return result;
}

struct perf_map *dotnet_perf_map(struct dotnet *dotnet)
{
	struct error why = { .text = "" };
	int fd;

	if (dotnet->perf_map_looked_for)
		return dotnet->perf_map;
	dotnet->perf_map_looked_for = true;
	fd = process_open_perf_map(&dotnet->target->process, &why);
	if (fd >= 0) {
		dotnet->perf_map = perf_map_create(fd);
	} else if (fd != -ENOENT) {
		dotnet->perf_map_problem = malloc(sizeof(why));
		if (dotnet->perf_map_problem)
			*dotnet->perf_map_problem = why;
	}
	return dotnet->perf_map;
}

static enum tier tier_of(enum mapparse_tier tier)
{
	static const enum tier tiers[] = {
		[MAPPARSE_TIER_UNKNOWN] = TIER_UNKNOWN,
		[MAPPARSE_TIER_R2R] = TIER_UNKNOWN,
		[MAPPARSE_TIER_TIER0] = TIER_TIER0,
		[MAPPARSE_TIER_MINOPT] = TIER_MINOPT,
		[MAPPARSE_TIER_INSTRUMENTED] = TIER_INSTRUMENTED,
		[MAPPARSE_TIER_OPTIMIZED] = TIER_OPTIMIZED,
		[MAPPARSE_TIER_TIER1] = TIER_TIER1,
		[MAPPARSE_TIER_OSR] = TIER_OSR,
	};

	return tier < sizeof(tiers) / sizeof(tiers[0]) ? tiers[tier] : TIER_UNKNOWN;
}

/* Bodies of a runtime whose own structures are not understood: they can be told, not probed. */
static int plan_perf_row(struct dotnet_search *search, const struct perf_map_row *row,
			 struct mapparse_name *parsed, struct method_name *name)
{
	struct method_body body = {
		.image = "run-time code",
		.tier = tier_of(row->tier),
		.state = STATE_UNKNOWN,
		.sources = 1u << NAME_SOURCE_PERF_MAP,
		.file = BODY_NO_FILE,
		.address = row->start,
		.size = row->size > UINT32_MAX ? UINT32_MAX : (uint32_t)row->size,
	};
	_cleanup_(text_deinit) struct text printable = { 0 };
	int result;

	if (row->kind != MAPPARSE_KIND_METHOD ||
	    mapparse_name_parse(parsed, MAPPARSE_SPELLING_ANY, row->name, strlen(row->name)) != 0)
		return 0;
	mapfile_name_parts(parsed, name);
	result = pattern_matches(search->query->pattern, name, search->err);
	if (result <= 0)
		return result;
	text_add_printable(&printable, row->name);
	body.method = text_chars(&printable);
	return search->fn(&body, search->ctx);
}

int dotnet_tell_perf_map(struct dotnet_search *search)
{
	const struct perf_map *map = dotnet_perf_map(search->dotnet);
	_cleanup_(mapparse_name_deinit) struct mapparse_name parsed = { 0 };
	_cleanup_(method_name_deinit) struct method_name name = { 0 };
	int result = 0;

	for (size_t i = 0; map && i < perf_map_count(map) && result == 0; i++)
		result = plan_perf_row(search, perf_map_row(map, i), &parsed, &name);
	return result;
}

static int add_map(struct dotnet *dotnet, const char *path, mapfile_tell tell, void *ctx,
		   struct error *err)
{
	int fd, result;

	if (!vector_reserve(&dotnet->mapfiles, &dotnet->mapfile_capacity,
			    dotnet->mapfile_count + 1))
		return error_set(err, -ENOMEM, "no memory for map file %s", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_set(
			err, -errno,
			"cannot open %s: %s; give --maps a file or directory that there is", path,
			strerror(errno));
	result = mapfile_init(&dotnet->mapfiles[dotnet->mapfile_count], fd, path, &dotnet->images,
			      tell, ctx, err);
	if (result == 1)
		dotnet->mapfile_count++;
	return result;
}

static int add_directory(struct dotnet *dotnet, const char *path, mapfile_tell tell, void *ctx,
			 struct error *err)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);
	int result = 0;

	if (count < 0)
		return error_set(err, -errno,
				 "cannot read directory %s: %s; give --maps one that can be", path,
				 strerror(errno));
	for (int i = 0; i < count; i++) {
		struct error why = { .text = "" };
		char *file = NULL;

		if (result == 0 && mapfile_is_named_so(entries[i]->d_name)) {
			if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
				result = error_set(err, -ENOMEM, "no memory to read %s", path);
			/* One file that cannot be used does not keep the others from being. */
			else if (add_map(dotnet, file, tell, ctx, &why) < 0)
				tell(ctx, NULL, 0, why.text);
			free(file);
		}
		free(entries[i]);
	}
	free(entries);
	return result;
}

int dotnet_add_maps(struct dotnet *dotnet, const char *path, mapfile_tell tell, void *ctx,
		    struct error *err)
{
	struct stat st;
	int result;

	if (stat(path, &st) != 0)
		return error_set(err, -errno,
				 "cannot read map file %s: %s; give --maps one that can be", path,
				 strerror(errno));
	if (S_ISDIR(st.st_mode))
		return add_directory(dotnet, path, tell, ctx, err);
	result = add_map(dotnet, path, tell, ctx, err);
	if (result == 0)
		return error_set(
			err, -ENOENT,
			"%s belongs to no image of the target: name the file after it, as in app.map or app.ni.r2rmap for app.dll",
			path);
	return result < 0 ? result : 0;
}
