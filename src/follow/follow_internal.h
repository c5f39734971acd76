/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of follow.h share, between the events and jit/ and loader/: the thread, its
 * answers, and what it hangs its probes on.
 */
#ifndef FOLLOW_INTERNAL_H
#define FOLLOW_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "follow/jit/compilations.h"
#include "follow/messages/snapshot.h"
#include "follow/loader/loads.h"
#include "follow/follow.h"
#include "target/process.h"

/* Probes -------------------------------------------------------------------------------------- */

/*
 * By which code is followed: on the JIT's compileMethod, on the C library's mmap() and the dynamic
 * loader's own, and on the loader's hook for debuggers.
 */
enum {
	PROBES_COMPILE_END,
	PROBES_COMPILE_BEGIN,
	PROBES_MMAP,
	PROBES_LOADER,
	PROBES_LOADER_MMAP,
	PROBES,
};

struct probes {
	const struct follow_kernel *kernel;
	struct process *process;
	struct uprobes *of[PROBES]; /* NULL: not attached */
};

/* All of file @fd is @bytes. Each is done once; -errno with @err set. */
int probes_attach_compiler(struct probes *probes, int fd, struct file_offset entry,
			   struct file_offset exit, struct error *err);
int probes_attach_loader(struct probes *probes, int fd, struct span bytes, struct error *err);

/*
 * PROBES_MMAP: that of the C library. PROBES_LOADER_MMAP: what the dynamic loader maps libraries
 * by. It exports that in musl, which is its C library too. In glibc the function has no name: it is
 * the one that makes the system call with the arguments it was given (insn_makes_system_call();
 * .eh_frame tells where candidates begin). The loader's hook for debuggers does not do: what the
 * loader itself calls as it relocates would be missed at a program's start, and the list of
 * mappings must not be read while a running target's threads wait.
 */
int probes_attach_mmap(struct probes *probes, int which, int fd, struct span bytes,
		       struct error *err);

/* As uprobes_keep(), of all. */
int probes_keep(struct probes *probes);

/* Take them away; about how long that will take. */
void probes_detach(struct probes *probes);
unsigned int probes_detach_ms(const struct probes *probes);

/* The follower ------------------------------------------------------------------------------ */

enum { LATE_MAX = 1 << 14 };

struct follow {
	struct follow_config config;
	struct follow_shared *shared;
	struct process process; /* our own hold of it, for this thread */
	struct follow_snapshot snapshot;
	struct messages messages;
	struct compilations *jit;
	struct watch *watch;	     /* that of the compilations */
	struct in_flight *in_flight; /* NULL: nobody asks */
	struct loads *loads;
	struct probes probes;
	struct ring_buffer *ring;
	pthread_t thread;
	bool started;
	struct follow_methods methods; /* the thread adds to what is watched for */
	bool unsettled;		       /* that was not waited for to its end */
	_Atomic size_t ticks;
	bool met_runtime;   /* of a target that is being started */
	unsigned int stops; /* of its dynamic loader so far, as far as they are counted */
	_Atomic uint64_t
		looking; /* the hold of one of them, while the other thread looks; 0: none */
	_Atomic uint64_t mapped;    /* files with code, so far */
	bool libraries_unseen;	    /* what the dynamic loader maps is not seen */
	struct mapped_event missed; /* the latest whose thread went on meanwhile; if executable */
	unsigned int missed_trouble;
	_Atomic unsigned int detach_ms; /* as of the last tick */
	struct error problem;		/* why what it compiles cannot be followed, or "" */
	bool told_stopped;
	bool told_room;

	bool detached; /* the losses are all there are */

	/* The thread has ended: what is still reported, by its code. */
	bool ended;
	bool late_files;
	size_t late_count;
	uint64_t late[LATE_MAX];
};

/* What the programs report of files and of the dynamic loader. */
void answers_mapped(struct follow *follow, const struct mapped_event *event);
void answers_loaded(struct follow *follow, const struct follow_event_head *event);

/*
 * Whoever was not held until the answer may have closed its file by then, and its number may be
 * that of another file: probe what they have mapped. What they call from now on is counted.
 */
void answers_look_again(struct follow *follow);

/*
 * The thread has ended, calls are not counted any more, and this was reported all the same, until
 * the target has been looked at. The session's verdict asks for it.
 */
void answers_late(struct follow *follow, const struct follow_event_head *head, size_t size);

/* How long a thread is held that loads an image. */
uint64_t follow_image_hold_ns(const struct follow *follow);

/* Are there methods to be followed, or only native functions? */
bool follow_has_methods(const struct follow *follow);

/* Attach to a runtime that runs, or to the dynamic loader of a program that will load one. */
int libraries_attach_running(struct follow *follow, struct error *err);
int libraries_attach_starting(struct follow *follow, struct error *err);

/* The target is being started: attach to what has come up since the last look. */
void libraries_look(struct follow *follow);

#endif
