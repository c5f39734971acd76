// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the snapshot for the follower, in the main thread, from what the session has looked at. */
#include "follow/messages/snapshot.h"

#include "runtime/dotnet/dotnet.h"
#include "target/target.h"

int follow_snapshot_take(struct follow_snapshot *snapshot, const struct target *target,
			 const struct dotnet *dotnet, struct error *err)
{
	*snapshot = (struct follow_snapshot){ 0 };
	if (target) {
		snapshot->files = target->files.files;
		snapshot->file_count = target->files.count;
		snapshot->maps = &target->first;
	}
	return dotnet_follow(&snapshot->runtime, dotnet, err);
}

void follow_snapshot_free(struct follow_snapshot *snapshot)
{
	runtime_follow_end(&snapshot->runtime);
}
