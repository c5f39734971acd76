/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What loading begins with, whatever is asked for, while the target is looked at: for load.c. */
#ifndef CAPTURE_OPENING_H
#define CAPTURE_OPENING_H

#include <stdbool.h>

/*
 * In a thread of its own, open the programs and try what the kernel has of uprobes. NULL if there
 * is no thread; then it is done by who asks for it.
 */
struct capture_opening *capture_opening_begin(void);

/* The programs, opened, and others the next time; NULL with errno set. @opening may be NULL. */
struct place_probe_bpf *capture_opening_take(struct capture_opening *opening);

/* As uprobe_multi_works(), to any thread. @opening may be NULL. */
bool capture_opening_has_multi(struct capture_opening *opening);

void capture_opening_destroy(struct capture_opening *opening);

#endif
