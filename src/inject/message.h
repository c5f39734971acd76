/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What place-probe and its injector say to each other, over a socket pair that keeps messages
 * whole: a request, then its answer. The end of the stream is the end of place-probe.
 */
#ifndef INJECT_MESSAGE_H
#define INJECT_MESSAGE_H

#include <assert.h>
#include <stdint.h>

#define INJECT_MAGIC UINT32_C(0x6a6e4970)

enum {
	INJECT_ROWS_MAX = 64,
	INJECT_GUARDED_MAX = 1024, /* rows of one target that are private at a time */

	/* The descriptors that the injector is started with. */
	INJECT_CHANNEL_FD = 3,
	INJECT_PROCESS_FD = 4, /* /proc/PID of the target */
	INJECT_PARENT_FD = 5,  /* a pidfd of place-probe */
};

enum inject_kind {
	INJECT_ASK = 1, /* could it be done? Nothing is touched */
	INJECT_PRIVATE, /* make these rows private to the process: uprobes fire there */
	INJECT_SHARED,	/* make them shared again, which drops all copies */
	INJECT_RESTORE, /* make shared all that was made private */
};

enum inject_result {
	INJECT_DONE,
	INJECT_BAD_REQUEST, /* `detail` is the row */
	INJECT_GONE,	    /* it has exited, or executed another program */
	INJECT_TRACED,	    /* by process `detail` */
	INJECT_NOT_PERMITTED,
	INJECT_MACHINE,	       /* it runs code of another kind */
	INJECT_IGNORES_TRAP,   /* a single step would change what it does at SIGTRAP */
	INJECT_NO_INSTRUCTION, /* that makes a system call was found in it */
	INJECT_NO_THREAD,      /* that can be stopped unseen, within the time there is */
	INJECT_OTHER_ROW,      /* row `detail` is not what is mapped there */
	INJECT_FULL,	       /* too many rows are private already */
	INJECT_TAKEN,	       /* by the injector of another place-probe */
	INJECT_SECCOMP,	       /* a filter would end or hold it */
	INJECT_REFUSED,	       /* by the kernel, for row `detail` */
	INJECT_LOST,	       /* the thread did not do what it was to do */
	INJECT_RESULTS
};

/* Executable pages of the target, and the file in memory that they are of. */
struct inject_row {
	uint64_t address;
	uint64_t length;
	uint64_t offset; /* in the file */
	int32_t fd;	 /* the target's own descriptor of the file */
	uint32_t reserved;
};

struct inject_request {
	uint32_t magic;
	uint32_t kind; /* enum inject_kind */
	uint64_t number;
	uint32_t count;
	uint32_t reserved;
	struct inject_row rows[INJECT_ROWS_MAX];
};

struct inject_answer {
	uint32_t magic;
	uint32_t result; /* enum inject_result */
	uint64_t number; /* of the request */
	int32_t error;	 /* an errno that says more, or 0 */
	int32_t detail;
	int32_t tid;	     /* the thread that was stopped last, as place-probe sees its id */
	uint32_t stops;	     /* how often one was stopped */
	uint64_t stopped_ns; /* the longest of these stops */
	uint64_t copies;     /* pages that the process had copies of, when they are shared again */
};

static_assert(sizeof(struct inject_row) == 32, "the same for both");
static_assert(sizeof(struct inject_request) == 24 + INJECT_ROWS_MAX * 32, "the same for both");
static_assert(sizeof(struct inject_answer) == 48, "the same for both");

#endif
