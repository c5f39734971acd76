/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process without privileges asks of the broker (broker/) by name, beside the system calls
 * that the kernel hands to the broker by itself. A request is a bpf() call with a number that no
 * kernel knows: the seccomp filter hands it to the broker, and where there is none the kernel
 * refuses it, so that who asks does by itself what is asked for.
 */
#ifndef BASE_REQUEST_H
#define BASE_REQUEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

enum request_kind {
	REQUEST_FIRST = 0x50500000,
	REQUEST_LOAD = REQUEST_FIRST, /* struct request_load */
	REQUEST_TRY_MULTI,	      /* struct request_answer: 1 if uprobe_multi_works() */
	REQUEST_INJECTOR,	      /* struct request_injector */
	REQUEST_USERS,		      /* struct request_users */
	REQUEST_PUBLISH,	      /* struct request_publish */
	REQUEST_KEEP_PROBES,	      /* struct request_probes */
	REQUEST_CLOSE_PROBES,	      /* struct request_probes, as answered before */
	REQUEST_END,
};

enum {
	REQUEST_MAPS = 64,
	REQUEST_PROGRAMS = 48,
	REQUEST_WORDS = 512,
};

struct request_answer {
	int32_t result;
};

/* Load the programs of one of our own objects; the parts are in the order that it has them in. */
struct request_load {
	struct request_answer answer;
	uint32_t object;    /* enum programs_object */
	uint32_t ourselves; /* they look at the process that asks, and not at the target */
	uint32_t verbose;   /* the broker says what libbpf says */
	uint32_t map_count;
	uint32_t program_count;
	uint32_t constants_bytes;
	uint64_t constants; /* where they are: .rodata */
	struct request_map {
		uint32_t key_bytes;
		uint32_t entries;
		int32_t fd; /* answered */
	} maps[REQUEST_MAPS];
	struct request_program {
		uint32_t wanted;
		uint32_t multi; /* for uprobe_multi */
		int32_t fd;	/* answered; -1: it is not loaded */
	} programs[REQUEST_PROGRAMS];
};

struct request_injector {
	struct request_answer answer; /* its process, or -errno and why */
	int32_t channel_fd;
	struct error why;
};

struct request_users {
	struct request_answer answer;
	int32_t ours;
	int32_t tid;
	char words[REQUEST_WORDS];
};

/* The file that is written as a whole (output/output.c). */
struct request_publish {
	struct request_answer answer;
	uint32_t unused;
	uint64_t bytes;
	uint64_t length;
};

/* Have copies of descriptors, and close them (probe/closing.h). */
struct request_probes {
	struct request_answer answer; /* of the first: what the second is to have as @kept */
	int32_t kept;
	uint64_t fds; /* where they are: int each, negative ones are passed over */
	uint32_t count;
	uint32_t unused;
};

/* False: there is no broker. What it does not answer, as it has gone, is -ESRCH. */
static inline bool request_make(enum request_kind kind, struct request_answer *request)
{
	/* No size: the kernel looks at nothing but the number. */
	if (syscall(SYS_bpf, kind, request, 0) == 0)
		return true;
	if (errno != EINVAL && errno != EPERM) {
		request->result = -ESRCH;
		return true;
	}
	return false;
}

#endif
