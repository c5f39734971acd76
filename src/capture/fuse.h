/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each op that the BPF programs run takes its time, whatever it does. So before a program goes to
 * the kernel, what often comes one after the other is said by one op (bpf/watch.h).
 */
#ifndef CAPTURE_FUSE_H
#define CAPTURE_FUSE_H

#include <stddef.h>

#include "bpf/watch.h"

/* The @count ops of one whole program, which stay where they are: jumps are still right. */
void fuse_ops(struct watch_op *ops, size_t count);

#endif
