/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of follow.h share: the thread, its answers, and what it hangs its probes on. */
#ifndef FOLLOW_INTERNAL_H
#define FOLLOW_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "registers/scheduler.h"
#include "bpf/follow.h"
#include "base/error.h"
#include "registers/bodies.h"
#include "follow/copies.h"
#include "follow/follow.h"
#include "follow/loads.h"
#include "follow/natives.h"
#include "follow/probes.h"
#include "follow/watch.h"
#include "code/exits.h"
#include "target/process.h"
#include "base/text.h"

struct ring_buffer;

enum {
	TIMES_MAX = 1 << 14,
	LATE_MAX = 1 << 14,
};

struct follow {
	struct follow_config config;
	struct follow_shared *shared;
	struct process process; /* our own hold of it, for this thread */
	struct watch *watch;
	struct natives *natives;
	struct in_flight *in_flight; /* NULL: nobody asks */
	struct scheduler scheduler;
	struct sites *sites;
	struct bodies *bodies;
	struct loads *loads;
	struct probes *probes;
	struct ring_buffer *ring;
	struct copies copies;
	struct exits exits;	 /* of one body after another */
	struct text stub_params; /* of the stub that is being answered for */
	int notes[2];		 /* a pipe: from the thread, to who prints */
	pthread_t thread;
	bool started;
	_Atomic bool counting; /* what has been answered before need not have been in time */
	_Atomic uint64_t
		settled_ns; /* when bodies that have no register any more are left for sure */
	bool unsettled;	    /* that was not waited for to its end */
	_Atomic uint64_t ended_ns; /* since then calls are not counted; 0: they are */
	_Atomic size_t ticks;
	uint64_t try_again_ns; /* to get another debug register */
	bool met_runtime;      /* of a target that is being started */
	unsigned int stops;    /* of its dynamic loader so far, as far as they are counted */
	_Atomic uint64_t
		looking; /* the hold of one of them, while the other thread looks; 0: none */
	_Atomic uint64_t mapped; /* files with code, so far */
	bool libraries_unseen;	 /* what the dynamic loader maps is not seen */
	struct error problem;	 /* why what it compiles cannot be followed, or "" */
	bool told_stopped;
	bool told_room;

	atomic_bool without_registers; /* none was to be had yet */

	struct follow_losses losses;
	uint64_t *times;
	size_t time_count;

	bool detached; /* @losses are all there are */

	/* The thread has ended: what is still reported, by its code. */
	bool ended;
	bool late_files;
	uint64_t *late;
	size_t late_count;
};

/* Tell whoever prints. He who does not read misses some talk: nobody waits for room. */
void follow_note(struct follow *follow, const struct follow_note *note);

/* Put a probe on @body; @said and its site learn what came of it. */
void answers_arm(struct follow *follow, struct body *body, struct follow_note *said);

/* The first P/Invoke that may go by the stub that @event is of; NULL: none that is asked for. */
const struct watch_row *stubs_find(struct follow *follow, const struct compile_event *event,
				   const uint8_t *detail);

/*
 * Give the site of that method, @stub, numbered @with, company: the others that stubs_find() would
 * find next.
 */
void stubs_share(struct follow *follow, const struct compile_event *event, const struct site *stub,
		 uint32_t with);

/* A stub was there before; @site, which is numbered @number, is of a method that goes by it. */
void stubs_adopt(struct follow *follow, const struct site *site, uint32_t number);

/* What the programs report. @detail is NULL, or of FOLLOW_DETAIL_BYTES. */
void answers_compiled(struct follow *follow, const struct compile_event *event,
		      const uint8_t *detail);
void answers_mapped(struct follow *follow, const struct mapped_event *event);
void answers_loaded(struct follow *follow, const struct follow_event_head *event);

/* Take over what the plan has armed, and what it wants to have armed. */
void adopt_plan(struct follow *follow);

/* Take the debug registers that may be needed, beside those that the plan has. */
void adopt_registers(struct follow *follow);

/* The thread has ended, and this was reported all the same. */
void late_note(struct follow *follow, const struct follow_event_head *head, size_t size);

/* At the end: what was asked for does not come any more, but its bodies are there. */
void answers_give_up(struct follow *follow);

/*
 * Let the programs send what @copy is to have, and the compilation again; false (it is dropped) if
 * nobody waits.
 */
bool answers_ask(struct follow *follow, struct copy *copy);

/* Give @body, whose site is @site, the exits of that. */
void timing_take_exits(struct body *body, const struct site *site);

/* Ask for the code of a new body, of @row's method. False: its exits cannot be known now. */
bool timing_ask(struct follow *follow, const struct compile_event *event,
		const struct watch_row *row, bool may_be_freed);

/*
 * Give @site, which has a breakpoint, the exits of the code in @copy. REASON_NONE, or why it has
 * none.
 */
enum reason timing_find(struct follow *follow, const struct copy *copy, struct site *site);

/* Tell the programs of @body, whose site is @site, before its first call. */
void timing_describe(struct follow *follow, const struct body *body, const struct site *site);

/* There is an OSR body of @method; its code is in @copy, which may be NULL. */
void timing_take_osr(struct follow *follow, const struct copy *copy, uint64_t method);

/* The other thread has looked: see follow_let_go(). */
void answers_release(struct follow *follow, uint64_t hold);

/* How long a thread is held that loads an image. */
uint64_t follow_image_hold_ns(const struct follow *follow);

/* Are there methods to be followed, or only native functions? */
bool follow_has_methods(const struct follow *follow);

/* Attach to a runtime that runs, or to the dynamic loader of a program that will load one. */
int libraries_attach_running(struct follow *follow, struct error *err);
int libraries_attach_starting(struct follow *follow, struct error *err);

/* The target is being started: attach to what has come up since the last look. */
void libraries_look(struct follow *follow);

#endif
