/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages of the follower: to held threads (by the memory that the BPF programs see), and to
 * the main thread (notes through a pipe, sites in sites.h, losses at the end). Each is an atomic
 * word or a pipe; neither side waits for a lock, or for the other to read.
 *
 * | from, to               | message                                                            |
 * |------------------------|--------------------------------------------------------------------|
 * | programs, follower     | ring buffer: compilations, files, loader stops, pieces of memory   |
 * | follower, held thread  | the word of its hold: go on, or send memory; the heartbeat         |
 * | follower, programs     | maps: watched methods, modules, stubs; where code may be replaced  |
 * | follower, main thread  | sites by number, published by their count, fixed from then on;     |
 * |                        | troubles, a bit each; notes for -v; how often a file was mapped;   |
 * |                        | a loader stop that waits for a look at the target                  |
 * | main thread, follower  | whether a site is of a method that is asked for; that it is gone;  |
 * |                        | go on after a loader stop; counting begins; it has ended           |
 */
#ifndef FOLLOW_MESSAGES_H
#define FOLLOW_MESSAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/follow.h"
#include "plan/plan.h"

struct error;

/* What the user is told with -v. */
enum follow_note_type {
	NOTE_ARMED,
	NOTE_OSR,
	NOTE_NO_REGISTER,
	NOTE_LOST_REGISTER,
	NOTE_REFUSED,
	NOTE_DRAINED,	      /* nobody comes by any more */
	NOTE_UPROBES,	      /* @count sites, of an image that was loaded */
	NOTE_HOLDING_STOPPED, /* always told */
	NOTE_NO_ROOM,	      /* likewise: there are no more sites */
	NOTE_LOOK,	      /* see follow_waits_for_look() */
};

struct follow_note {
	enum follow_note_type type;
	uint32_t site;
	uint32_t count;
	bool held;
	bool timed_out;
	bool timed;	       /* with probes at its exits */
	enum reason not_timed; /* why not, other than for want of registers now */
	uint64_t compiled_ns;  /* how long the JIT took */
	uint64_t took_ns; /* from the end of that until the probe was there and the thread free */
};

struct follow_losses {
	uint64_t compilations; /* that were not reported */
	uint64_t unreadable;   /* whose method could not be read */
	uint64_t others;       /* files, and images in memory */
	uint64_t unnamed;      /* compilations of nobody knows which method, not probed */
	uint64_t cpus_switched_on;
	uint64_t anchor_exits;
	uint64_t sites; /* for which there was no room or memory */
	bool blind;	/* precompiled code may have come into memory without passing by mmap() */
	bool libraries_unseen; /* native code likewise; see follow_misses_libraries() */
};

/*
 * From the end of a compilation until its thread was let go: percentiles of those of watched
 * methods.
 */
struct follow_times {
	size_t count;
	uint64_t median_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	uint64_t longest_hold_ns; /* of all holds, as the kernel measured it */
};

struct messages {
	struct follow_shared *shared;
	struct sites *sites;
	int notes[2];		    /* a pipe from the follower to the main thread */
	_Atomic bool counting;	    /* what has been answered before need not have been in time */
	_Atomic uint64_t active_ns; /* since then calls are counted; 0: not yet */
	_Atomic uint64_t ended_ns;  /* since then calls are not counted; 0: they are */
	struct follow_losses losses;
};

/* @first_site: how many sites there are. -errno with @err set. */
int messages_init(struct messages *messages, struct follow_shared *shared, size_t first_site,
		  struct error *err);
void messages_deinit(struct messages *messages);

/* To the main thread: where it does not read, it misses some talk, since nobody waits for room. */
void messages_note(struct messages *messages, const struct follow_note *note);

/* Calls were not counted any more when the event came, and nobody was held. */
bool messages_is_late(const struct messages *messages, const struct follow_event_head *head);

/* To a held thread ---------------------------------------------------------------------------- */

struct hold *hold_of(const struct messages *messages, uint64_t hold);
bool hold_is_waiting(const struct messages *messages, uint64_t hold);

/* False if it did not wait so long. */
bool hold_answer(const struct messages *messages, uint64_t hold, enum hold_state state);

/* The thread goes on. Which trouble is that for the new body: it may have it already. */
unsigned int hold_release(const struct messages *messages, const struct follow_event_head *head);

#endif
