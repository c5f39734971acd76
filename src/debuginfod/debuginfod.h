/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --debuginfod: debug files from the servers of DEBUGINFOD_URLS, by build ID, for runtime/native/,
 * which looks for them on this machine first. Fetching is done by a process of its own, so that
 * nobody waits for it who should not. For the one thread that names things.
 */
#ifndef DEBUGINFOD_DEBUGINFOD_H
#define DEBUGINFOD_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct debuginfod;
struct error;
struct text;

/*
 * Start that process: before there are threads, and before the environment is another. -errno with
 * @err set: so where no servers are named, or there is no libdebuginfod. It ends with
 * debuginfod_stop(), which may get NULL, or with us.
 */
int debuginfod_start(struct debuginfod **debuginfod, struct error *err);
void debuginfod_stop(struct debuginfod *debuginfod);

/* That process. */
pid_t debuginfod_pid(const struct debuginfod *debuginfod);

/*
 * May debuginfod_get() wait? At first it may. If so what is under way is waited for now. All that
 * takes two minutes at most, and ends where a signal that ends the run is pending.
 */
void debuginfod_may_wait(struct debuginfod *debuginfod, bool may);

/*
 * The debug file of that build ID, as a descriptor that the caller closes; it is not looked into.
 * -ENOENT: there is none; -EAGAIN: it has been asked for, and debuginfod_version() will tell.
 */
int debuginfod_get(struct debuginfod *debuginfod, const uint8_t *id, size_t size);

/* What came for that build ID is something else. */
void debuginfod_refuse(struct debuginfod *debuginfod, const uint8_t *id, size_t size);

/* Take over what has come. Is anything still under way? */
bool debuginfod_is_busy(struct debuginfod *debuginfod);

/* Goes up when debuginfod_get() may have another answer; only debuginfod_is_busy() lets it. */
uint64_t debuginfod_version(const struct debuginfod *debuginfod);

/* Append what has been fetched and what not. */
void debuginfod_sum_up(const struct debuginfod *debuginfod, struct text *to);

#endif
