/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other processes that hold perf events: those may be what has the debug registers. */
#ifndef PROBE_PERF_HOLDERS_H
#define PROBE_PERF_HOLDERS_H

#include <stddef.h>

enum { PERF_HOLDERS_BYTES = 160 };

/*
 * Name the processes, but ourselves, that hold perf events which may be hardware breakpoints: "NAME
 * (PID), ...", or "" if none is seen. Looks at the descriptors of all processes, up to a bound.
 */
void perf_holders_tell(char words[PERF_HOLDERS_BYTES]);

/* The name of process @pid, as it is now and can be printed; "" if there is none. */
void perf_holders_name(int pid, char comm[16]);

#endif
