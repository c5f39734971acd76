/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message between processes of ours over a socket, and a descriptor with it (SCM_RIGHTS). */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <stddef.h>
#include <sys/types.h>

/* @fd -1: none goes with it. 0 if all of it was sent, or -errno. */
int rights_send(int socket, const void *message, size_t size, int fd);

/*
 * As recvmsg() with @flags: how many bytes came, or -1 with errno. @fd is the descriptor that came
 * with them, the caller's from then on, closed by exec; -1: none did.
 */
ssize_t rights_receive(int socket, void *message, size_t size, int flags, int *fd);

#endif
