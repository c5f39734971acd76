// SPDX-License-Identifier: GPL-2.0-or-later
/* Lets src/stack/ name the frames of a target: by its runtimes, and what has been resolved. */
#include "session/frame_names.h"

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

int frame_names_create(struct symbols **symbols, struct resolution *resolution,
		       enum source_lines lines, const struct symbol_directories *directories,
		       struct error *err)
{
	const struct runtimes *runtimes = &resolution->runtimes;
	struct symbol_sources sources = {
		.target = resolution->target,
		.refresh = refresh,
		.version = version,
		.ctx = resolution,
	};
	struct frame_namer *namers = sources.namers;
	int result = 0;

	resolution->runtimes.lines = lines;
	if (directories)
		resolution->runtimes.symbols = *directories;
	for (size_t i = 0; i < runtimes->count && result == 0; i++) {
		struct runtime *runtime = runtimes->list[i];

		result = runtime->ops->frame_namer(runtime, &namers[sources.namer_count], err);
		sources.namer_count += result == 0;
	}
	if (result == 0)
		return symbols_create(symbols, &sources, err);
	while (sources.namer_count) {
		const struct frame_namer *namer = &namers[--sources.namer_count];

		namer->destroy(namer->ctx);
	}
	return result;
}
