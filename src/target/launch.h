/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that place-probe starts itself: a child that is held before exec until it is released.
 *
 * The command gets what place-probe got: environment, working directory, descriptors, the process
 * group (so Ctrl-C reaches both), and the signals that were ignored, as under nohup. It has no part
 * in what place-probe does to itself: nothing is blocked, SIGPIPE is not ignored. Resource limits
 * are those of the moment of launch_create(), so that comes before place-probe raises its own.
 */
#ifndef TARGET_LAUNCH_H
#define TARGET_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;
struct launch;

/*
 * Fork a child that waits before exec of @command (words and a NULL; borrowed). The program is
 * looked up in PATH as execvp() does. If there is none, -ENOENT or -EACCES before anything is
 * forked. Should place-probe die before it releases the child, the child ends too.
 */
int launch_create(struct launch **launch, char *const *command, struct error *err);

/* The child's, which stays its own until launch_wait() or launch_destroy(). */
pid_t launch_pid(const struct launch *launch);

/* The path of the file that will be executed. */
const char *launch_program(const struct launch *launch);

/*
 * Let it exec, once, and wait until it has or could not. -ESRCH if the child was ended while it
 * was held, else the errno of execve().
 */
int launch_release(struct launch *launch, struct error *err);

/* Wait for its end. @status is that of waitpid(). May be called again. */
int launch_wait(struct launch *launch, int *status);

/*
 * What is to be told of its end: "COMMAND exited with status 3", "COMMAND was ended by signal 9
 * (Killed)". False if that is nothing, since it exited with 0.
 */
bool launch_ending(const struct launch *launch, int status, char *text, size_t size);

/* A child that was not released is ended; one that was is left alone. NULL is fine. */
void launch_destroy(struct launch *launch);

#endif
