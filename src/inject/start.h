/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The injector's program, which is a part of this one, and its start. */
#ifndef INJECT_START_H
#define INJECT_START_H

#include <sys/types.h>

struct error;

/*
 * Start it with a channel, of which @channel_fd is our end, and with @process_fd, a /proc/PID. It
 * ends with the process of @parent_fd, a pidfd. The id of its process, or -errno with @err set.
 */
pid_t injector_start(int process_fd, int parent_fd, int *channel_fd, struct error *err);

#endif
