/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What debuginfod.c and the process that it starts say to each other, by a socket of packets. */
#ifndef DEBUGINFOD_FETCHER_H
#define DEBUGINFOD_FETCHER_H

#include <stdint.h>

enum { FETCH_ID_MAX_BYTES = 64 };

/* First one without an ID comes from the process: what became of its start. */
struct fetch_message {
	int32_t result; /* of an answer: 0, with a descriptor, or -errno */
	uint32_t size;
	uint8_t id[FETCH_ID_MAX_BYTES];
};

/* Be that process, until @socket ends. */
_Noreturn void fetcher_run(int socket);

#endif
