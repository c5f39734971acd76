/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program that looks for threads in flight and place-probe say to each other. */
#ifndef BPF_IN_FLIGHT_H
#define BPF_IN_FLIGHT_H

#include <linux/types.h>

enum { IN_FLIGHT_SUSPECTS_MAX = 256 };

/* A thread that may know the entry though no register tells: in or near the runtime's code. */
struct in_flight_suspect {
	__u64 tid;
	__u64 state;  /* is another one as soon as the thread has run */
	__u64 ran_ns; /* how long it has had a CPU; of one that has it now, until a while ago */
};

struct in_flight_shared {
	/*
	 * Set from outside: where a body begins, the code of the runtime and of the library that it
	 * calls, and where threads are held.
	 */
	__u64 entry;
	__u64 dispatch_begin;
	__u64 dispatch_end;
	__u64 library_begin;
	__u64 library_end;
	__u64 held_at;

	__u64 seen;	     /* threads that were looked at, */
	__u64 found;	     /* of them, by their registers, may be about to enter there; */
	__u64 suspect_count; /* and others: the first ones are in */
	struct in_flight_suspect suspects[IN_FLIGHT_SUSPECTS_MAX];
};

#endif
