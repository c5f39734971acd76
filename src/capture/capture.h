/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a plan to events, in phases: create, load, attach (and follow), activate, consume,
 * deactivate, detach, drain, destroy. Each is called once, in that order, by session/; after a
 * failure only destroy is, which takes back what was done.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "latency/latency.h"
#include "cli/options.h"
#include "plan/plan.h"

struct capture;
struct error;
struct follow_config;
struct process;
struct unwind_expected;
struct unwind_tables;
struct uprobe_site;

/* What the user is told while it goes on; both get @ctx. */
struct capture_handlers {
	/* False: no more of them, until the next tick. */
	bool (*hit)(const struct hit_event *event, void *ctx);
	/*
	 * Time for --interval, and to write what is buffered. Negative ends the run; positive: it
	 * has more to do, so that nobody should wait.
	 */
	int (*tick)(bool interval_over, void *ctx);
	/* True: hits are not handed on just now, while there is room for them. NULL: always. */
	bool (*waits)(void *ctx);
	void *ctx;
	/* There is a tick as soon as this can be read, too; it may change. NULL, or -1: nothing. */
	const int *wake_fd;
};

enum capture_end {
	CAPTURE_INTERRUPTED,
	CAPTURE_TIME_IS_UP,
	CAPTURE_ENOUGH_HITS,
	CAPTURE_TARGET_EXITED,
	CAPTURE_HANDLER_ENDED,
};

/* What was lost other than for want of room in the ring buffer; all 0 if nothing was. */
struct capture_losses {
	uint64_t anchor_exits;	     /* times that perf uprobes had to move to another thread */
	uint64_t cpus_switched_on;   /* times that CPUs came without breakpoints */
	uint64_t breakpoints_missed; /* hits that the kernel left out, at most */
	uint64_t breakpoints_unexplained; /* hits of a breakpoint whose site is not known */
	uint64_t spurious_traps; /* signals to the target that a hypervisor's defect caused */
};

/*
 * What loading begins with, whatever is asked for, while the target is looked at: in a thread of
 * its own, open the programs and try what the kernel has of uprobes. NULL if there is no thread;
 * then it is done by who asks for it.
 */
struct capture_opening *capture_opening_begin(void);

/* The programs, opened, and others the next time; NULL with errno set. @opening may be NULL. */
struct place_probe_bpf *capture_opening_take(struct capture_opening *opening);

/* As uprobe_multi_works(), to any thread. @opening may be NULL. */
bool capture_opening_has_multi(struct capture_opening *opening);

void capture_opening_destroy(struct capture_opening *opening);

/* Nothing is done yet; all arguments must outlive the result. -ENOMEM with @err set. */
int capture_create(struct capture **capture, const struct options *options, struct process *process,
		   struct plan *plan, struct error *err);

/*
 * Before it is loaded, if at all: go on with @opening, which must outlive it.
 * @natives_only: no method of a managed runtime is asked for; what only such need is not loaded.
 */
void capture_prepare(struct capture *capture, struct capture_opening *opening, bool natives_only);

/* Does nothing that is loaded depend on the plan, but for how many sites it has? */
bool capture_loads_before_plan(const struct options *options);

/*
 * Load the programs in a thread of their own, while the plan is made, if that may be, and the
 * tables that they will unwind by: each takes a third of what is before the first hit. What is
 * @expected of the tables decides how much room there is (NULL: nothing is unwound); if it is not
 * enough, or there is no thread, capture_load() does it all.
 */
void capture_begin_load(struct capture *capture, const struct unwind_expected *expected);

/*
 * Load the programs for the plan; measure what they cost if it is timed. From here on signals are
 * events. Stacks are unwound by @unwind; NULL: by frame pointers. -errno with @err set.
 */
int capture_load(struct capture *capture, const struct unwind_tables *unwind, struct error *err);

/*
 * Attach to every site of the plan that has a mechanism, of @file_fds by site->file; those that are
 * remapped are in @private_fd. Breakpoints
 * are armed in the plan's order, as far as there are debug registers. Sites that get nothing are
 * marked in the plan. -errno with @err set if nothing could be attached. Nothing counts yet.
 */
int capture_attach(struct capture *capture, const int *file_fds, int private_fd, struct error *err);

/*
 * Stacks are unwound by @unwind from now on, as it is now: those it had when the capture was
 * loaded, and what it has got since. Returns how many rows there was no room for.
 */
size_t capture_set_unwind(struct capture *capture, const struct unwind_tables *unwind);

/*
 * Count from now on how often the target moves objects, by probes at all of @sites
 * (runtime_ops.moves): where the count is, as long as there is a capture. NULL: it is not counted.
 */
const struct moves_now *capture_watch_moves(struct capture *capture, struct uprobe_site *sites,
					    size_t count);

/*
 * --watch: have exceptions told with the calls that they leave, from now on, by a probe at @site
 * (runtime_ops.throws). False: the kernel refuses it.
 */
bool capture_watch_thrown(struct capture *capture, struct uprobe_site *site);

/*
 * --async: count the target's collections from now on, by a probe at @site (runtime_ops.collects);
 * without that steps are not known to be of one call. False: the kernel refuses it.
 */
bool capture_watch_collections(struct capture *capture, struct uprobe_site *site);

/* Likewise, where Tasks have the exceptions that they have faulted by (runtime_ops.fault_path). */
void capture_watch_faults(struct capture *capture, const uint64_t at[ASYNC_HOPS]);

/* What @site of the plan is of asynchronous calls; that is not told twice. */
void capture_use_async(const struct capture *capture, uint32_t site,
		       const struct async_site *about);

/* What has been counted of the calls of a method, by the number that its sites were given. */
struct async_totals capture_async_totals(const struct capture *capture, uint32_t method);

/* Now and then: make room where calls were that a collection has come between. */
void capture_sweep_async(struct capture *capture);

/*
 * Follow methods through what the runtime compiles; see follow.h for what there is to do between
 * this and capture_activate(). The caller has set what comes before @config->process; the rest is
 * filled in here. -errno with @err set: then code that comes up is not probed.
 */
int capture_follow(struct capture *capture, struct follow_config *config, struct error *err);

/* NULL if methods are not followed. */
struct follow *capture_followed(const struct capture *capture);

/* Has the kernel what it takes to hold threads? */
bool capture_can_hold(const struct capture *capture);

/*
 * Sites @numbers of the plan may have breakpoints, and get uprobes as well, so that each call
 * counts once. They are announced; once all threads have settled since then (target/settle.h), so
 * that none is behind a breakpoint that knew nothing of it, capture_move() attaches them, in
 * @private_fd at their offsets; once all have settled again, capture_moved(). Until then the
 * breakpoints must stay. If it comes to nothing, they are recalled before capture_moved(). After a
 * failure of capture_move(), which is -errno with @err set, some may count twice.
 */
int capture_announce_move(struct capture *capture, const uint32_t *numbers, size_t count,
			  struct error *err);
void capture_recall_move(struct capture *capture, const uint32_t *numbers, size_t count);
int capture_move(struct capture *capture, const uint32_t *numbers, size_t count, int private_fd,
		 struct error *err);
void capture_moved(struct capture *capture);

/*
 * The page of @address will be a copy, which nobody may write: as long as methods are followed,
 * each compilation is asked whether it is to be put there. -errno with @err set. Then
 * capture_overwritten(): the address of code that is; its thread waits, 250 ms at most, until
 * capture_forget_copies(), which says how many threads did not wait so long. 0: there is none.
 */
int capture_add_copy(struct capture *capture, uint64_t address, struct error *err);
uint64_t capture_overwritten(const struct capture *capture);
uint64_t capture_forget_copies(struct capture *capture);

/* How many compilations have begun since methods are followed. */
uint64_t capture_compilations(const struct capture *capture);

/* How many debug registers watch something just now. */
size_t capture_registers(const struct capture *capture);

/* The sites that are attached, and by what ("uprobe_multi and hardware breakpoints"). */
size_t capture_site_count(const struct capture *capture);
const char *capture_means(const struct capture *capture);

/* Why the first site that got no breakpoint got none; NULL if all did. */
const char *capture_breakpoint_problem(const struct capture *capture);

/* From now on hits count. Say so to people only after this: what they do next must be seen. */
void capture_activate(struct capture *capture);

/* Hand on hits until @handlers say stop, a signal comes, or the target exits. */
int capture_consume(struct capture *capture, const struct capture_handlers *handlers,
		    enum capture_end *end, struct error *err);

/* About how long capture_detach() will take. */
unsigned int capture_detach_ms(const struct capture *capture);

/* From now on hits do not count, and no thread is held. */
void capture_deactivate(struct capture *capture);

/* Take the probes of sites away; returns when their code is as it was. The counters are final. */
void capture_detach(struct capture *capture);

/*
 * Hand on the hits that are still waiting. True if there may be more, as a handler wanted no more.
 * @last: else there will be none.
 */
bool capture_drain(struct capture *capture, const struct capture_handlers *handlers, bool last);
void capture_destroy(struct capture *capture);

/* Sites have come to the plan, or have another name: which are of one method, for --max-rate. */
void capture_group_methods(struct capture *capture);

/* One site's counters, summed over the CPUs. */
void capture_read_site(const struct capture *capture, uint32_t site, struct site_counters *sum);
/* Likewise: of which --trace begins, as struct site says. */
void capture_mark_roots(const struct capture *capture);

/* Calls and lost events per site of the plan so far, summed over the CPUs. */
void capture_read_counters(const struct capture *capture, struct site_counters *counters);

/*
 * Of a plan that is timed. Site @number of it has its probes by now, or has none: from now on its
 * calls are timed if it has all.
 */
void capture_time_site(const struct capture *capture, uint32_t number);

/* It has moved to uprobes, see capture_moved(): likewise, and calls under way go on. */
void capture_time_moved(const struct capture *capture, uint32_t number);

/*
 * What probes cost the target at the sites of a plan that is timed, which durations are without:
 * the least and the most, in nanoseconds. 0 where it is not known.
 */
struct capture_cost_range {
	uint32_t least_ns;
	uint32_t most_ns;
};

struct capture_costs {
	struct capture_cost_range entry;
	struct capture_cost_range exit;
	const char *problem; /* why not all is known; NULL: it is */
};

struct capture_costs capture_costs(const struct capture *capture);

/* The durations so far; the caller deinits them. */
int capture_read_latencies(const struct capture *capture, struct latencies *latencies,
			   struct error *err);
struct latency_losses capture_latency_losses(const struct capture *capture);

/*
 * Equal stacks are counted by the programs if they are to be merged. The count of @slot so far, of
 * MERGE_TABLES * MERGE_SLOTS; false: it has none.
 */
bool capture_merges(const struct capture *capture);
bool capture_read_merged(const struct capture *capture, uint32_t slot, uint64_t *count);

/* Have the next hit that is counted in @slot say once more what it is. */
void capture_ask_again(struct capture *capture, uint32_t slot);

/* True: nobody counts in @table any more, nearly full: to be read once more, and cleared. */
bool capture_merge_turn(struct capture *capture, uint32_t *table);
void capture_clear_merged(struct capture *capture);

/* Hits for which there was no room, so that they came one by one. */
uint64_t capture_unmerged(const struct capture *capture);

/* Other code may be where some was: stacks are told apart from those before. */
void capture_code_changed(struct capture *capture);

/* How often code was compiled, by merge_code() of its start; as long as there is a capture. */
const uint32_t *capture_code_versions(const struct capture *capture);

/* Final after capture_detach(). */
struct capture_losses capture_losses(const struct capture *capture);

/*
 * --watch and --if: what captures the values of a call at its entry and at its exit, and filters.
 * Once the programs are loaded; a site without is hit all the same, or undecided with --if.
 * -ENOSPC: there is no room for one more.
 */
struct watch_ops_of {
	const struct watch_op *ops;
	size_t count;
};

/* --if, with what its ops name; none: each call is captured. */
struct watch_filter_of {
	struct watch_ops_of ops;
	struct watch_ops_of exit; /* what the end decides */
	const struct watch_constant *constants;
	size_t constant_count;
};

int capture_add_program(struct capture *capture, const struct watch_filter_of *filter,
			const struct watch_ops_of *entry, const struct watch_ops_of *exit,
			struct watch_program *program);
void capture_use_program(const struct capture *capture, uint32_t site,
			 const struct watch_program *program);

/* A call of @site that its filter left open, see watch_values.types, is asked for, or is not. */
void capture_decide(struct capture *capture, uint32_t site, bool is_asked);

/* --by=EXPR: each value that has come, and its number (bpf/by.h), which is latency_key.by. */
struct by_key;
void capture_each_by_value(const struct capture *capture,
			   void (*each)(void *ctx, uint64_t number, const struct by_key *key),
			   void *ctx);

/* After capture_detach(): hand on, as hits, the calls that were under way at @now_ns. */
void capture_each_kept(const struct capture *capture, uint64_t now_ns,
		       const struct capture_handlers *handlers);
struct watch_losses capture_watch_losses(const struct capture *capture);

/* Try what the kernel offers and print a line for each; 0 if place-probe can work here. */
int capture_self_test(FILE *to, struct error *err);

#endif
