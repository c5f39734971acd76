/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes by which code is followed: on the JIT's compileMethod, on the C library's mmap() and
 * the dynamic loader's own, and on the loader's hook for debuggers.
 */
#ifndef FOLLOW_PROBES_H
#define FOLLOW_PROBES_H

#include "follow/follow.h"
#include "image/cursor.h"

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

#endif
