/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program that looks for entrants and place-probe say to each other. */
#ifndef BPF_ENTRANTS_H
#define BPF_ENTRANTS_H

#include <linux/types.h>

enum { ENTRANTS_SUSPECTS_MAX = 256 };

/* A thread that may know the entry from where no register tells: in the runtime's own code, or on its way there. */
struct entrants_suspect {
	__u64 tid;
	__u64 state; /* is another one as soon as the thread has run */
};

struct entrants_shared {
	/* Set from outside: the first instruction of a body; the runtime's code, and where in it threads are held. */
	__u64 entry;
	__u64 runtime_begin;
	__u64 runtime_end;
	__u64 held_at;

	__u64 seen;	    /* threads that were looked at, */
	__u64 on_their_way; /* those of them that may be about to enter there, by their registers; */
	__u64 suspect_count; /* and others: the first ones are in */
	struct entrants_suspect suspects[ENTRANTS_SUSPECTS_MAX];
};

#endif
