// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the snapshot for the follower, in the main thread, from what the session has resolved. */
#include "follow/messages/snapshot.h"

#include "runtime/dotnet/dotnet.h"
#include "session/resolve.h"

int follow_snapshot_take(struct follow_snapshot *snapshot, const struct resolution *resolution,
			 struct error *err)
{
	*snapshot = (struct follow_snapshot){ 0 };
	if (resolution) {
		snapshot->files = resolution->target->files.files;
		snapshot->file_count = resolution->target->files.count;
		snapshot->maps = &resolution->target->first;
	}
	return dotnet_follow(&snapshot->runtime, resolution ? resolution->dotnet : NULL, err);
}

void follow_snapshot_free(struct follow_snapshot *snapshot)
{
	runtime_follow_end(&snapshot->runtime);
}
