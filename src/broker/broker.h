/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two processes: one that reads what the target has in its files and its memory, plans, names and
 * prints, without privileges; and the broker, a child of it, which has them, and reads nothing of
 * the target. What the first may not do by itself, the kernel asks the broker (seccomp user
 * notification), who does it in its place, if it is one of a few things and concerns the target.
 */
#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct broker_hold;
struct error;
struct process;

enum { BROKER_CHILDREN = 2 };

struct broker_config {
	const struct process *process;	 /* the target; NULL: only what is written is ours to do */
	pid_t children[BROKER_CHILDREN]; /* whom we may end; 0: nobody */
	const char *const
		*paths; /* what the user has named is read as the user, and what is in it */
	size_t path_count;
	uint64_t memory_bytes;	  /* of --memory, beside what is taken anyway */
	const char *publish_path; /* what is written as a whole goes there; NULL: nothing is */
	int (*publish)(const char *path, const char *bytes, size_t length);
};

/*
 * Split the broker off and give up all that it has, for good: from here on this process has no
 * capability, a user of its own where it can, and the system calls that it needs. Only while there
 * is one thread. -errno with @err set.
 */
int broker_start(struct broker_hold **hold, const struct broker_config *config, struct error *err);

/* Has somebody killed the broker? What is asked for fails then. */
bool broker_has_ended(const struct broker_hold *hold);

/* The run is over, in order: the broker ends too, and says nothing. */
void broker_end(struct broker_hold *hold);

#endif
