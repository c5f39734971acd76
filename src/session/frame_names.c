// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where src/stack/ gets what it asks about a target: mappings and files from what has been
 * resolved, names from the runtimes.
 */
#include "session/frame_names.h"

#include "runtime/dotnet/frame_names.h"
#include "runtime/native/frame_names.h"
#include "session/resolve.h"
#include "stack/symbols.h"

static uint64_t version(void *ctx)
{
	const struct resolution *resolution = ctx;

	return resolution->version;
}

static bool refresh(void *ctx)
{
	return resolution_refresh(ctx, NULL) > 0;
}

static const struct maps *maps(void *ctx)
{
	const struct resolution *resolution = ctx;

	return target_maps(&resolution->target);
}

static const struct mapping *find_mapping(void *ctx, struct address address)
{
	const struct resolution *resolution = ctx;

	return target_find_mapping(&resolution->target, address);
}

static const struct target_file *find_file(void *ctx, const struct mapping *row)
{
	const struct resolution *resolution = ctx;

	return target_find_file(&resolution->target, row);
}

static const struct native_symbols *functions(void *ctx, const struct target_file *file)
{
	return resolution_functions(ctx, file);
}

static struct perf_map *perf_map(void *ctx)
{
	return resolution_perf_map(ctx);
}

int frame_names_create(struct symbols **symbols, struct resolution *resolution, struct error *err)
{
	const struct dotnet_frame_sources managed = {
		.images = &resolution->images,
		.jit = resolution->jit,
		.perf_map = perf_map,
		.ctx = resolution,
	};
	const struct native_frame_sources native = {
		.maps = target_maps(&resolution->target),
		.memory = resolution->memory,
		.functions = functions,
		.ctx = resolution,
	};
	struct symbol_sources sources = {
		.version = version,
		.refresh = refresh,
		.maps = maps,
		.find_mapping = find_mapping,
		.find_file = find_file,
		.ctx = resolution,
	};
	struct frame_namer *namers = sources.namers;
	int result = dotnet_frame_namer_create(&namers[0], &managed, err);

	if (result)
		return result;
	result = native_frame_namer_create(&namers[1], &native, err);
	if (result) {
		namers[0].destroy(namers[0].ctx);
		return result;
	}
	sources.namer_count = 2;
	return symbols_create(symbols, &sources, err);
}
