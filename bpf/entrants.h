/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program that looks for entrants and place-probe say to each other. */
#ifndef BPF_ENTRANTS_H
#define BPF_ENTRANTS_H

#include <linux/types.h>

struct entrants_shared {
	__u64 entry;	    /* set from outside: the first instruction of a body */
	__u64 seen;	    /* threads that were looked at, */
	__u64 on_their_way; /* and those of them that may be about to enter there */
};

#endif
