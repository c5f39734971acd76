/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes in code that is compiled at run time: the kernel refuses them while that code is in a
 * shared mapping, so its rows are made private by a thread of the target itself, which is stopped
 * for it. That is done by a process of its own, the injector, which undoes it however place-probe
 * ends. It is the one thing that place-probe does to a target; docs/safety.md says what, in which
 * order, and what can go wrong.
 */
#ifndef INJECT_INJECT_H
#define INJECT_INJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/message.h"

struct error;
struct injector;
struct process;

/* What a request came to, also where it failed. */
struct inject_outcome {
	enum inject_result result;
	pid_t tid;	     /* the thread that was stopped last, 0 if none was */
	uint32_t stops;	     /* how often one was stopped */
	uint64_t stopped_ns; /* the longest of these stops */
	uint64_t copies;     /* pages that the target had copies of, which have been dropped */
};

/*
 * Start the injector for @process, which must outlive it. Refuses with one sentence where no
 * request could be fulfilled: -EBUSY (somebody traces it), -EPERM, -ESRCH, -ENOTSUP. Nothing of the
 * target is touched.
 */
int injector_create(struct injector **injector, const struct process *process, struct error *err);

/*
 * Make @rows private, each of them executable pages of one file that nobody may write and that the
 * target has a descriptor of. Of such a row only pages that the target never writes again may get
 * probes, as a page with a probe is a copy. Fails with -EAGAIN if no thread could be stopped
 * without the program noticing, with -EBUSY where another place-probe has rows of that file that
 * are private, or are about to be shared again, with -ESTALE if a row is not what is mapped there,
 * with -EPERM if a filter refuses; rows before the one that failed may be private then. All stay so
 * until they are shared again, by the next call, by injector_destroy() or by the end of this
 * process.
 *
 * What is reserved and not used yet (no access at all) is not taken: if the target began to use it
 * in that moment, it would lose the access again.
 */
int injector_make_private(struct injector *injector, const struct inject_row *rows, size_t count,
			  struct inject_outcome *outcome, struct error *err);

/* Share @rows again. Probes in them must have been removed before: they vanish unnoticed. */
int injector_make_shared(struct injector *injector, const struct inject_row *rows, size_t count,
			 struct inject_outcome *outcome, struct error *err);

/* Share all again. If that fails the injector goes on trying once it is destroyed. */
int injector_restore(struct injector *injector, struct inject_outcome *outcome, struct error *err);

/* Set @err: another place-probe has made code of @process private. -EBUSY. */
int inject_refuse_taken(const struct process *process, struct error *err);

/*
 * The injector's program (start.c): start it with a channel, of which @channel_fd is our end, and
 * with @process_fd, a /proc/PID. It ends with the process of @parent_fd, a pidfd. The id of its
 * process, or -errno with @err set.
 */
pid_t injector_start(int process_fd, int parent_fd, int *channel_fd, struct error *err);

/* The injector's own process. */
pid_t injector_pid(const struct injector *injector);

/* Have it end, which it does once all is shared again. NULL is fine. */
void injector_destroy(struct injector *injector);

#endif
