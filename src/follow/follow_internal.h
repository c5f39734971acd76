/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of follow.h share: the thread, its answers, and what it hangs its probes on. */
#ifndef FOLLOW_INTERNAL_H
#define FOLLOW_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "attach/slots.h"
#include "bpf/follow.h"
#include "error.h"
#include "follow/bodies.h"
#include "follow/follow.h"
#include "follow/loads.h"
#include "follow/probes.h"
#include "follow/watch.h"
#include "target/process.h"

struct ring_buffer;

enum {
	COPIES_MAX = 16,
	TIMES_MAX = 1 << 14,
};

/* An image in memory that is being sent. */
struct image_copy {
	uint64_t hold; /* 0: none */
	struct compile_event event;
	uint8_t *bytes;
	size_t size;
};

struct follow {
	struct follow_config config;
	struct follow_shared *shared;
	struct process process; /* our own hold of it, for this thread */
	struct watch *watch;
	struct slots slots;
	struct bodies *bodies;
	struct loads *loads;
	struct probes *probes;
	struct ring_buffer *ring;
	struct image_copy copies[COPIES_MAX];
	int notes[2]; /* a pipe: from the thread, to who prints */
	pthread_t thread;
	bool started;
	_Atomic bool counting; /* what has been answered before need not have been in time */
	_Atomic uint64_t
		settled_ns; /* when bodies that have no register any more are left for sure */
	bool unsettled;	    /* that was not waited for to its end */
	_Atomic bool stopping;
	_Atomic size_t ticks;
	uint64_t try_again_ns; /* to get another debug register */
	bool met_runtime;      /* of a target that is being started */
	struct error problem;  /* why what it compiles cannot be followed, or "" */
	bool told_stopped;
	bool told_room;

	struct follow_losses losses;
	uint64_t *times;
	size_t time_count;
};

/* Tell whoever prints. He who does not read misses some talk: nobody waits for room. */
void follow_note(struct follow *follow, const struct follow_note *note);

/* Put a probe on @body; @said and its site learn what came of it. */
void answers_arm(struct follow *follow, struct body *body, struct follow_note *said);

/* What the programs report. @detail is NULL, or of FOLLOW_DETAIL_BYTES. */
void answers_compiled(struct follow *follow, const struct compile_event *event,
		      const uint8_t *detail);
void answers_chunk(struct follow *follow, const struct chunk_event *chunk);
void answers_mapped(struct follow *follow, const struct mapped_event *event);
void answers_loaded(struct follow *follow, const struct follow_event_head *event);

/* Attach to a runtime that runs, or to the dynamic loader of a program that will load one. */
int libraries_attach_running(struct follow *follow, struct error *err);
int libraries_attach_starting(struct follow *follow, struct error *err);

/* The target is being started: attach to what has come up since the last look. */
void libraries_look(struct follow *follow);

#endif
