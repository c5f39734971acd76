// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the snapshot for the follower, in the main thread, from what the session has looked at. */
#include "follow/messages/snapshot.h"

#include <errno.h>

#include "base/error.h"
#include "follow/follow.h"
#include "runtime/runtime.h"
#include "target/target.h"

int follow_snapshot_take(struct follow_snapshot *snapshot, const struct follow_config *config,
			 struct error *err)
{
	const struct target *target = config->target;
	const struct runtime *runtime = target ? runtimes_followed(config->runtimes) : NULL;
	const struct runtime_follow_ops *ops = runtime ? runtime->ops->follow : NULL;

	*snapshot = (struct follow_snapshot){ 0 };
	if (target) {
		snapshot->files = target->files.files;
		snapshot->file_count = target->files.count;
		snapshot->maps = &target->first;
	}
	for (size_t i = 0; !target && !ops && config->offered[i]; i++)
		ops = config->offered[i]->follow;
	if (!ops)
		return error_set(err, -ENOTSUP, "no runtime that could be followed is known");
	return ops->begin(&snapshot->runtime, runtime, err);
}
