/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the follower knows of the target before it begins: the first message of the main thread. It
 * is taken once, and nothing that it names changes or moves while the follower lives; what comes
 * later the follower finds out by itself.
 */
#ifndef FOLLOW_SNAPSHOT_H
#define FOLLOW_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dotnet_images;
struct maps;
struct resolution;
struct target_file;

/* A module of the runtime. */
struct snapshot_module {
	uint64_t at;
	uint64_t allocator; /* modules of one are unloaded together */
	size_t image;	    /* number in the list of images */
	bool is_core;	    /* it is never unloaded */
	bool grows;	    /* of Reflection.Emit */
};

struct follow_snapshot {
	const struct target_file *files; /* the first ones of the target, by number */
	size_t file_count;
	const struct maps *maps; /* as they were looked at first; NULL: nothing was there yet */
	/*
	 * To be copied before the follower begins: the main thread goes on using them. NULL: none.
	 */
	const struct dotnet_images *images;
	struct snapshot_module *modules;
	size_t module_count;
};

/*
 * Of @resolution, which must outlive the snapshot; NULL: the target is just being started. False
 * without memory.
 */
bool follow_snapshot_take(struct follow_snapshot *snapshot, const struct resolution *resolution);
void follow_snapshot_free(struct follow_snapshot *snapshot);

#endif
