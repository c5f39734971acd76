/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What we may do, once the user's own files are open and the user's command has been started: what
 * probes and other processes take, and nothing else. For session/, before anything of a target is
 * read.
 */
#ifndef TARGET_PRIVILEGES_H
#define TARGET_PRIVILEGES_H

#include <stdbool.h>

struct text;

/* What else a run wants. */
enum {
	PRIVILEGES_WRITE = 1 << 0,  /* in the place of other users' files, as it goes on */
	PRIVILEGES_SIGNAL = 1 << 1, /* its command, which may have become another user */
	PRIVILEGES_SPLIT = 1 << 2,  /* to give them up for good, but for a broker */
};

/*
 * Give up all other capabilities for good, for programs that are executed from now on as well.
 * Whoever is not root keeps what there is of them for those programs. What the kernel does not let
 * us give up, we keep.
 */
void privileges_reduce(unsigned int wanted);

/*
 * Give up the rest for good, once a broker has it: but for what a higher priority and locked memory
 * take, where no limit allows them. -errno.
 */
int privileges_drop(void);

/* Was CAP_ @capability in effect after privileges_reduce()? A broker has it then. */
bool privileges_have(unsigned int capability);

/* Were we root then? A process that has split a broker off is somebody else since. */
bool privileges_of_root(void);

/*
 * Append what will not be done for want of which capability: of those without which probes can be
 * placed all the same. False if none is missing.
 */
bool privileges_lacking(struct text *words);

#endif
