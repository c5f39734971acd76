/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of capture.h share: the programs, and what they are attached by. */
#ifndef CAPTURE_INTERNAL_H
#define CAPTURE_INTERNAL_H

#include <pthread.h>
#include <sys/uio.h>

#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "probe/breakpoints.h"
#include "probe/no_preempt.h"
#include "latency/calibrate.h"
#include "capture/capture.h"
#include "base/error.h"

enum { CAPTURE_TABLES = 11 }; /* arrays of the programs that a run can need as memory */

/* The programs' ring buffer, mapped. */
struct capture_ring {
	uint64_t *read;		 /* how far it is read */
	const uint64_t *written; /* how far written, and a page further on what */
	size_t bytes;		 /* a power of two */
};

/* Of one site: calls that were undecided for the programs, and are not. */
struct decided {
	uint64_t asked;
	uint64_t filtered;
};

struct capture {
	const struct options *options;
	struct process *process;
	struct plan *plan;		 /* attaching marks its sites */
	struct capture_opening *opening; /* borrowed; NULL: nothing is opened yet */
	struct place_probe_bpf *bpf;
	struct programs *loaded;     /* NULL: they are not */
	struct uprobes *uprobes;     /* NULL: no site has one */
	struct uprobes *moves;	     /* NULL: nobody counts how often objects move */
	struct uprobes *thrown;	     /* NULL: exceptions are not seen */
	struct uprobes *collections; /* NULL: nobody counts them */
	struct async_site *async_sites;
	struct async_totals *async_totals;
	uint32_t async_swept; /* the epoch then */
	struct breakpoints *breakpoints;
	int slots[BREAKPOINTS_MAX]; /* the site of each, or -1 */
	struct follow *follow;	    /* NULL: methods are not followed */
	bool natives_only;	    /* no site has or gets a breakpoint */
	bool can_hold;		    /* the kernel has what holding a thread needs */
	int spurious_traps_fd;	    /* -1: they are not looked for */
	int thread_exits_fd;	    /* -1: calls are not timed */
	struct capture_ring ring;
	int wakes_fd;
	struct iovec mapped[CAPTURE_TABLES]; /* all that is "the programs'" here */
	size_t mapped_count;
	struct shed_site *rates;   /* the programs', by site; NULL: any number is reported */
	struct merge_slot *merged; /* the programs' tables; NULL: they merge nothing */
	bool is_resting;	   /* one of them is about to be emptied: */
	uint32_t resting;
	uint64_t rests_at;	 /* how far the ring must be read before; 0: not known yet */
	struct unwind_row *rows; /* the programs', with room for: */
	size_t row_capacity;
	size_t site_room;    /* of the plan's sites, in the programs' maps */
	bool needs_isolates; /* V8's frames are walked: where a thread's pointer is must be known */
	bool loading;	     /* by this thread, and what came of it: */
	pthread_t loader;
	int load_result;
	struct error load_problem;
	size_t row_count; /* that they have */
	struct unwind_range *ranges;
	enum uprobe_means means;
	int signal_fd;
	int cpu_count;
	struct site_counters *counters; /* the programs', by CPU and site */
	size_t uprobe_count;		/* sites that are attached */
	size_t breakpoint_count;	/* likewise */
	struct error breakpoint_problem;
	struct probe_cost costs[PROBE_KINDS]; /* of a plan that is timed */
	struct timed_site *timed;	      /* likewise: the programs', by site */
	struct watch_program *programs;	      /* --watch: the programs', by site; NULL: not that */
	struct watch_op *ops;		      /* likewise all of them, */
	size_t constant_count;		      /* of their filters */
	size_t op_count;		      /* of which there are so many */
	struct decided *decided;	      /* --if: by site */
	size_t decided_count;
	size_t decided_capacity;
	struct watch_slot *kept;   /* and what is kept of calls under way */
	struct error cost_problem; /* why some of them are not known */
	struct capture_losses losses;
	uint64_t consume_until_ns;		 /* 0: until the ring buffer is empty */
	uint64_t consumed;			 /* how many events */
	const struct capture_handlers *handlers; /* while events are consumed */
};

/*
 * Before each @number of many bpf() calls on maps, from 0: hits of breakpoints are not to be left
 * out meanwhile.
 */
static inline void capture_no_preempt(const struct capture *capture, struct no_preempt *before,
				      size_t number)
{
	if (capture->breakpoints)
		no_preempt_pause(before, number);
}

/* The programs go, as far as they are there. */
void capture_unload(struct capture *capture);

/* How many sites there is room for: of the plan, and of what comes up. */
uint32_t capture_sites_with_counters(const struct capture *capture);

/* Nobody loads programs any more. */
void capture_await_load(struct capture *capture);

size_t capture_planned(const struct capture *capture, enum mechanism mechanism);

/* Read signals like events from now on; map the events. -errno with @err set. */
int capture_open_signals(struct capture *capture, struct error *err);
int capture_open_ring(struct capture *capture, struct error *err);
void capture_close_ring(struct capture *capture);

/* --max-rate: once the programs are loaded. */
void capture_begin_rates(struct capture *capture);

/*
 * Hand on what has been written so far. -EAGAIN: somebody has had enough, and there may be more.
 */
int capture_read_ring(struct capture *capture);

/* Hand on one event. -EAGAIN: no more of them for now. */
int capture_on_event(struct capture *capture, const void *data, size_t size);

/*
 * Before the reader sleeps: the programs wake it once, from now on. False: so much is waiting by
 * now that nobody will, and it must not sleep. And when it has woken, for whatever reason.
 */
uint64_t capture_ring_read(const struct capture *capture);
uint64_t capture_ring_written(const struct capture *capture);
bool capture_may_sleep(struct capture *capture);
void capture_wakes(struct capture *capture);

/* Room for durations, and how they are kept, before the programs are loaded. -errno. */
int capture_size_latencies(const struct capture *capture);
struct programs_latency capture_latency(const struct options *options);

/* Counting equal stacks: before the programs are loaded. -errno. */
int capture_set_merging(const struct capture *capture);

/* The probes of site @number, which has the file @fd, go to @to; returns how many they are. */
size_t capture_list_probes(const struct plan *plan, uint32_t number, int fd,
			   struct uprobe_site *to);

/* As uprobes_attach(), to the uprobes of sites. */
int capture_attach_uprobes(struct capture *capture, struct uprobe_site *sites, size_t count,
			   struct error *err);

/* At all of @sites, or nowhere: then NULL. */
struct uprobes *capture_probe_all(const struct capture *capture, const struct bpf_program *program,
				  struct uprobe_site *sites, size_t count);

/* Nobody counts any more, so anything may have moved. */
void capture_unwatch_moves(struct capture *capture);

/* --async: nobody counts them any more. */
void capture_unwatch_collections(struct capture *capture);

/* Learn what the probes of a plan that is timed will cost. */
void capture_calibrate(struct capture *capture);

/* No call is timed any more: those that threads have left without an exit are counted now. */
void capture_settle_latencies(const struct capture *capture);

/* Are there programs for methods: --watch, --if, --by=EXPR? Before they are loaded. -errno. */
bool capture_runs_programs(const struct options *options);
int capture_size_watch(const struct capture *capture);

/* --by=EXPR: before the programs are loaded. -errno. */
int capture_size_by_values(const struct capture *capture);

/* While the target is still there: which calls that are kept its threads have left. */
void capture_note_left(const struct capture *capture);

/* Those that hits run. */
struct bpf_program *capture_uprobe_program(const struct capture *capture);
struct bpf_program *capture_breakpoint_program(const struct capture *capture);

#endif
