/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Following methods while they are compiled anew, and libraries as they are loaded: a thread of its
 * own answers what the programs at the JIT and at mmap() report, and puts a probe on new code
 * before its first call.
 *
 * The target's threads wait for the answer. So this thread prints nothing, and never reads the
 * target's memory: that may wait for a lock that a waiting thread has.
 */
#ifndef FOLLOW_FOLLOW_H
#define FOLLOW_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "follow/messages/messages.h"
#include "follow/messages/sites.h"
#include "probe/uprobes.h"
#include "registers/bodies.h"

struct error;
struct follow;

/* However many methods there are, so many asked for by name never lack a debug register. */
enum { FOLLOW_GUARANTEED = POLICY_GUARANTEED };

/* The BPF side, loaded and not attached. */
struct follow_kernel {
	struct follow_shared *shared;
	int events_fd; /* ring buffer */
	int watched_fd;
	int modules_fd;
	int stub_sites_fd;
	int begin_fd; /* programs */
	int end_fd;
	int map_fd;
	int loader_fd; /* -1: it cannot be held */
	int hit_fd;
	bool can_hold;
	enum uprobe_means means;
};

/* What following starts from: a runtime that runs, or one that the target is going to load. */
struct follow_config {
	const struct request *methods; /* there may be no pattern */
	/* With all patterns: those that may mean native functions are looked for in libraries. */
	const struct request *natives;
	const struct target *target; /* as it was looked at; NULL: it is just being started */
	/* Runtimes that a target may have, NULL at the end; those in it, NULL likewise. */
	const struct runtime_ops *const *offered;
	const struct runtimes *runtimes;
	struct file_numbers *numbers; /* those of the target's files */
	/*
	 * Paths of a target that is being started, its ELF file's and its dynamic loader's; NULL:
	 * it has none.
	 */
	const char *program;
	const char *loader;

	/* From here on it is what capture/ has. */
	const struct process *process; /* the target */
	uint64_t hold_ns;	       /* how long new code waits for its probe; 0: it does not */
	/* How long a body has its registers where they are multiplexed; 0: they are not. */
	uint64_t share_ns;
	const struct plan *plan;	 /* sites that are attached already */
	const int *slots;		 /* by slot: the site of its breakpoint, or -1 */
	struct breakpoints *breakpoints; /* this room's alone from now on */
	struct follow_kernel kernel;
	/* By site, those to come included. NULL: calls are not timed. */
	struct timed_site *timed;
	const struct probe_cost *costs; /* by kind of probe */
	/* Likewise by site, of calls whose values are captured: what does. NULL: none are. */
	struct watch_program *programs;
};

/*
 * Attach to the JIT and to mmap(). From now on everything is reported, and answered once
 * follow_start() was called. -ENOTSUP with @err set if this runtime cannot be followed; else
 * -errno likewise.
 */
int follow_create(struct follow **follow, const struct follow_config *config, struct error *err);

/*
 * Between the two: a site that has come up since @config->plan was made. Its number is the one it
 * will have.
 */
void follow_add(struct follow *follow, const struct site *site);

/* Answer from now on, and hold threads. Returns once all that was reported before is answered. */
int follow_start(struct follow *follow, struct error *err);

/* What was watched for when this began, before what came later. */
struct follow_methods {
	size_t count;
	size_t named;				   /* of those, by their names */
	const char *guaranteed[FOLLOW_GUARANTEED]; /* the names that come first, @named at most */
};

/* After follow_start(). */
const struct follow_methods *follow_methods(const struct follow *follow);

/*
 * How many debug registers there are for bodies that come up: BREAKPOINTS_MAX, or where others have
 * some, those that we got until now. With none no such body is probed.
 */
int follow_registers(const struct follow *follow);

/* Readable when there are notes or new sites. */
int follow_fd(const struct follow *follow);

/* The next note; false if there is none. */
bool follow_read_note(struct follow *follow, struct follow_note *note);

/* The sites that come up, and what befalls all: the part of sites.h that is the main thread's. */
struct sites *follow_sites(const struct follow *follow);

/* Calls are counted since @since_ns: from now on bodies that lack registers may take turns. */
void follow_count_from(struct follow *follow, uint64_t since_ns);

/*
 * After follow_stop(), of the code of @site that was compiled at run time: how long calls went
 * there, and how much of that it was watched. All 0 of other sites.
 */
struct body_time follow_watched(const struct follow *follow, size_t site);

/*
 * Calls are not counted any more: let nobody wait any longer, and end the thread. What comes up
 * from now on, while probes are removed, is nobody's fault.
 */
void follow_stop(struct follow *follow);

/*
 * The target has been looked at once more. What was seen there: had it come up only after
 * follow_stop()?
 */
void follow_look_back(struct follow *follow);
bool follow_came_late(const struct follow *follow, const struct site *site);

/*
 * After follow_stop() and, if there is one, follow_look_back(): take all probes away. What others
 * ask stays as it is.
 */
void follow_detach(struct follow *follow);

/* Final after follow_stop(). */
struct follow_losses follow_losses(const struct follow *follow);

struct follow_times follow_times(const struct follow *follow);

/*
 * A target that was started has its first libraries, and waits until it has been looked at by who
 * names things: what comes of it may be over before there is another occasion. Then
 * follow_let_go().
 */
bool follow_waits_for_look(const struct follow *follow);
void follow_let_go(struct follow *follow);

/* Goes up when a file with code is mapped. */
uint64_t follow_mapped(const struct follow *follow);

/* Native functions are asked for, and what the dynamic loader maps is not seen. */
bool follow_misses_libraries(const struct follow *follow);

/* Of a target that was started: has it loaded a runtime? Why that cannot be followed, or NULL. */
bool follow_met_runtime(const struct follow *follow);
const char *follow_problem(const struct follow *follow);

/*
 * Has the @pattern-th pattern of config->methods matched a method so far, or that of
 * config->natives a native function of what was loaded? After follow_stop().
 */
bool follow_pattern_matched(const struct follow *follow, size_t pattern);
bool follow_native_matched(const struct follow *follow, size_t pattern);

unsigned int follow_detach_ms(const struct follow *follow);
void follow_destroy(struct follow *follow);

#endif
