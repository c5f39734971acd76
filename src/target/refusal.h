/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel has said no: why it may have, and what helps, also where we are root already. */
#ifndef TARGET_REFUSAL_H
#define TARGET_REFUSAL_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

struct error;

/* Is @code, a negative errno, the kernel's answer where a permission is missing? */
static inline bool refusal_is(int code)
{
	return code == -EACCES || code == -EPERM;
}

/*
 * Process @pid (@comm, or NULL if that is not known) may not be looked at: the kernel refused
 * /proc/PID/@name, or the directory itself if @name is NULL, with @code, a negative errno. Puts the
 * sentence into @err, which may be NULL, and gives -EACCES.
 */
int refusal_of_process(struct error *err, pid_t pid, const char *comm, const char *name, int code);

/*
 * The kernel did not load the BPF programs, with @code, a negative errno, which this gives back.
 * Puts the sentence into @err, which may be NULL.
 */
int refusal_of_programs(struct error *err, int code);

/* What helps where root of the initial user namespace is needed: the rest of a sentence. */
const char *refusal_remedy(void);

#endif
