/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the follower knows of the target before it begins: the first message of the main thread. It
 * is taken once, and nothing that it names changes or moves while the follower lives; what comes
 * later the follower finds out by itself.
 */
#ifndef FOLLOW_SNAPSHOT_H
#define FOLLOW_SNAPSHOT_H

#include <stddef.h>

#include "runtime/follow.h"

struct error;
struct follow_config;

struct follow_snapshot {
	const struct target_file *files; /* the first ones of the target */
	size_t file_count;
	const struct maps *maps; /* as they were looked at first; NULL: nothing was there yet */
	/* The images are the follower's own from then on, and it adds what comes. */
	struct runtime_follow runtime;
};

/*
 * Of @config's target and the runtime of it that is followed, which must outlive the snapshot.
 * -ENOTSUP or -ENOMEM with @err set. Its runtime ends with runtime_follow_end().
 */
int follow_snapshot_take(struct follow_snapshot *snapshot, const struct follow_config *config,
			 struct error *err);

#endif
