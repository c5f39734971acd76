// SPDX-License-Identifier: GPL-2.0-or-later
/* Who names the frames of a target, for src/stack/: the runtimes, by what has been resolved. */
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
		.target = &resolution->target,
		.refresh = refresh,
		.version = version,
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
