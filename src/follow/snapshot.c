// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the snapshot for the follower, in the main thread, from what the session has resolved. */
#include "follow/messages/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/dotnet/dotnet.h"
#include "session/resolve.h"

struct taking {
	struct follow_snapshot *snapshot;
	size_t capacity;
	bool failed;
};

static void add_module(const struct clr_module *module, void *ctx)
{
	struct taking *taking = ctx;
	struct follow_snapshot *snapshot = taking->snapshot;
	const struct dotnet_images *images = snapshot->images;
	size_t image = 0;

	while (image < images->count && images->images[image] != module->image)
		image++;
	if (!module->image || image == images->count)
		return;
	if (!vector_reserve(&snapshot->modules, &taking->capacity, snapshot->module_count + 1)) {
		taking->failed = true;
		return;
	}
	snapshot->modules[snapshot->module_count++] = (struct snapshot_module){
		.at = module->at,
		.allocator = module->loader_allocator,
		.image = image,
		.is_core = strcmp(module->image->name, "System.Private.CoreLib.dll") == 0,
		.grows = !module->image->pe.file.start,
	};
}

bool follow_snapshot_take(struct follow_snapshot *snapshot, const struct resolution *resolution)
{
	struct taking taking = { .snapshot = snapshot };

	*snapshot = (struct follow_snapshot){ 0 };
	if (!resolution)
		return true;
	snapshot->files = resolution->target->files.files;
	snapshot->file_count = resolution->target->files.count;
	snapshot->maps = &resolution->target->first;
	snapshot->images = &resolution->dotnet->images;
	if (resolution->dotnet->jit)
		jit_each_module(resolution->dotnet->jit, add_module, &taking);
	return !taking.failed;
}

void follow_snapshot_free(struct follow_snapshot *snapshot)
{
	free(snapshot->modules);
}
