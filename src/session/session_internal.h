/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the steps of a run share (session.c takes them): what each of them owns, and what they ask
 * of each other. What it includes for that they all have by it.
 */
#ifndef SESSION_SESSION_INTERNAL_H
#define SESSION_SESSION_INTERNAL_H

#include "base/error.h"
#include "capture/capture.h"
#include "cli/options.h"
#include "method/pattern.h"
#include "output/output.h"
#include "plan/plan.h"
#include "probe/uprobes.h"
#include "session/resolve.h"
#include "session/session.h"
#include "session/states.h"
#include "stack/stack.h"
#include "target/process.h"

struct count_bounds;
struct inject_outcome;
struct private_place;

/* What the user asks for (planning.c). */
struct session_asked {
	struct pattern **patterns;	  /* along options->request */
	bool *matched;			  /* by pattern */
	bool *native;			  /* likewise: it asks for native functions only */
	struct request methods;		  /* the request without native ones: to be followed */
	struct pattern **method_patterns; /* of the latter, borrowed */
	bool *planned;			  /* by number of a file: the plan has its functions */
	size_t planned_count;
};

/* A program that place-probe has started (command.c), before it is resolved (target.c). */
struct session_command {
	struct launch *launch;	/* NULL: the target was there before */
	char *program;		/* the path of its ELF file */
	char *loader;		/* that of its dynamic loader; NULL: it has none */
	uint64_t early_version; /* of the resolution, as it was looked at for a runtime */
	uint64_t early_mapped;	/* follow_mapped() then */
};

/* What --remap has done (remap.c). */
struct session_remap {
	bool wanted;		   /* as --remap=auto has it */
	struct private_code *code; /* NULL: nothing */
	uint64_t checked_ns;
	uint64_t compilations; /* that had begun by then */

	/* Sites that move to uprobes (moving.c), when all threads have settled. */
	struct settling *settling; /* NULL: that is not waited for */
	uint32_t *numbers;
	size_t count;
	uint64_t looked_ns;
	bool moving; /* they have both probes */
	bool idle;   /* the last look has found none */
	bool told;   /* why some do not */
};

/* Stacks, and what they are unwound by (stacks.c). */
struct session_stacks {
	struct unwind_tables *tables; /* NULL: they are not asked for, or there is nothing yet */
	bool stale;		      /* a frame has come by of which nothing was known */
	bool used;		      /* stacks have come since the tables were read */
	bool complete;		      /* they were made of the resolution */
	uint64_t version;	      /* of that */
	uint64_t again_ns;	      /* when they may be read again */
	uint64_t look_ns;	      /* when that is due */
	bool told_room, told_files, told_images;
	size_t unreadable_told;	     /* of the files that were there at the start */
	size_t problems_told;	     /* of images that were there at the start */
	bool fading;		     /* what frames are named by does not stay in the target */
	struct output_stacks totals; /* as printed so far */
	uint64_t moved;		     /* frames whose names had moved by the time they were read */
	struct known_stacks *known;  /* of those that have come */
};

/* Hits that the kernel counts by stack (merged.c). */
struct session_merged {
	struct merged_stack *stacks; /* by slot; NULL: none has come */
	uint64_t lost;		     /* hits of which is not known what they were */
};

/* What was counted, and what earlier intervals have shown of it (consume.c, histograms.c). */
struct session_counts {
	struct site_counters *counters; /* by site */
	uint64_t *printed;		/* by site: what earlier intervals have shown */
	uint64_t *fresh;		/* by site: what has come since */
	size_t capacity;		/* of these three */
	struct latencies latencies;	/* what earlier intervals have shown */
	uint64_t shown;			/* hits that were printed */
};

/* What is followed (followed.c); the plan grows by it. */
struct followed {
	struct follow *follow; /* NULL: nothing */
	size_t first;	       /* sites that were there before */
	uint64_t retired_ns;   /* when that was last looked for */
	size_t named;	       /* of those that came, the first that is not */
	size_t waiting;	       /* sites of the start that had no debug register */
	bool warned;	       /* of what breakpoints may do in a virtual machine */
	size_t unsure;	       /* sites of which it could not be told whether they match */
	bool unsorted;	       /* plan.by_method lacks some of them, for want of memory */
};

/* --listen (serve.c). */
struct session_serving {
	struct output_server *server; /* NULL: nobody is served */
	int fd;			      /* that says when somebody is */
	bool failed;		      /* what was asked for could not be read */
};

/* --debuginfod (fetching.c). */
struct session_fetching {
	struct debuginfod *debuginfod; /* NULL: nothing is fetched */
	struct hit_event *held;	       /* that waits for what frames of it are named by; or NULL */
	bool passes;		       /* hits go on without, until all is there */
};

struct session {
	const struct options *options;
	enum session_state state; /* RUN_... */
	enum session_state known; /* TARGET_... */
	enum exit_status status;  /* what the run comes to, as far as is known */
	struct output output;
	struct record *record; /* of the run; NULL: none was asked for */
	struct session_serving serving;
	struct session_fetching fetching;

	pid_t pid; /* of the target */
	struct target target;
	struct session_command command;
	struct resolution resolution;
	struct session_asked asked;
	struct plan plan;
	struct capture_opening *opening; /* see capture/capture.h; NULL: it was not begun */
	struct capture *capture;
	struct followed followed;
	struct symbols *symbols; /* NULL: nothing is known yet that has names */
	struct session_remap remap;
	struct session_stacks stacks;
	struct pending *pending; /* hits that are named and not printed */
	struct session_counts counts;
	size_t not_probed; /* bodies that the log has said that of when it was attached */
	struct session_merged merged;
	struct session_values *values; /* see values.h; NULL: none are captured */
	struct {
		bool asked;	     /* the runtime, where it is told of exceptions */
		const char *why_not; /* they are not known; NULL: they are, since then */
	} thrown;
	struct session_async *async;   /* see async.c; NULL: calls are shown one by one */
	struct session_traces *traces; /* see tracing.c; NULL: nothing is traced */
	struct session_live *live;     /* see live.c; NULL: nothing is drawn */
	struct broker_hold *broker;    /* NULL: there is none */
	int guard;		       /* of --expire, see expire.h; -1: there is none */
	uint64_t start_ns;
	uint64_t end_ns;
	enum capture_end end;		/* why consuming ended */
	struct error problem;		/* why the run cannot go on, or "" */
	struct last_snapshot *snapshot; /* see verdict.h */
};

/*
 * The steps of a run, one for each state (states.h): first those of planning.c, two of command.c,
 * those of attach.c and of consume.c. After EVENT_FAILED session->status is what the run comes to,
 * and @err is set.
 */
enum session_event session_ask(struct session *session, struct error *err);
enum session_event session_resolve(struct session *session, struct error *err);
enum session_event session_make_plan(struct session *session, struct error *err);
enum session_event session_list(struct session *session, struct error *err);
enum session_event session_dry_run(struct session *session, struct error *err);
enum session_event session_hold(struct session *session, struct error *err);
enum session_event session_let_go(struct session *session, struct error *err);
enum session_event session_load(struct session *session, struct error *err);
enum session_event session_attach(struct session *session, struct error *err);
enum session_event session_follow(struct session *session, struct error *err);
enum session_event session_activate(struct session *session, struct error *err);
enum session_event session_consume(struct session *session, struct error *err);
enum session_event session_detach(struct session *session, struct error *err);
enum session_event session_judge(struct session *session, struct error *err);
enum session_event session_report(struct session *session, struct error *err);

/* What a step comes to that cannot do what it is for. */
static inline enum session_event session_fail(struct session *session, enum exit_status status)
{
	session->status = status;
	return EVENT_FAILED;
}

/* None of what matched can be probed: say why. */
enum session_event session_refuse_unplaceable(struct session *session, struct error *err);

/*
 * --remap: is it to be done, as the plan has it; or as it is while the target runs,
 * which is asked again and again? With --remap=auto it is where code compiled at run time has not
 * registers enough, or where breakpoints are not to be trusted: in a virtual machine.
 */
bool session_wants_remap(struct session *session);
bool session_comes_to_want_remap(struct session *session);

/*
 * --remap (remap.c). Choose the sites that get uprobes in code compiled at run time; make that
 * private before they are attached; look at it now and then: not 0 if it was changed, as
 * session->problem says; share it again once they are gone. -errno with @err set.
 */
int session_plan_remap(struct session *session, struct error *err);
int session_make_private(struct session *session, struct error *err);
void session_log_private(size_t probes, const struct inject_outcome *outcome);
int session_note_copies(struct session *session, const struct private_place *places, size_t count,
			struct error *err);
int session_check_private(struct session *session);
int session_share_again(struct session *session, struct error *err);

/* Now and then (moving.c): what is on sealed pages by now moves. As session_check_private(). */
int session_tend_remap(struct session *session);
void session_remap_deinit(struct session *session);

/* Which patterns ask for native functions only (planning.c). -errno with @err set. */
int session_sort_patterns(struct session *session, struct error *err);

/*
 * Of a COMMAND (command.c). Can this kernel hold its threads? A run that counted nothing since
 * there was nothing to count is no success. And how it ended, if it did.
 */
int session_check_holding(const struct session *session, struct error *err);
enum exit_status session_judge_command(const struct session *session, struct error *err);
void session_log_ending(const struct session *session);

/*
 * Find out what the target is made of, if that is not known yet (target.c). One that was started
 * has a runtime after a while, and before that, at most, native code. True once it is resolved.
 */
bool session_try_resolve(struct session *session);
bool session_wants_natives(const struct session *session);

/* What the runtimes have to say of @topic. */
void session_log_runtimes(const struct session *session, enum runtime_topic topic);

/* Have names for frames of what is resolved (target.c). -ENOMEM with @err set. */
int session_name_frames(struct session *session, struct error *err);

/* Before a frame is printed: have names for it, if they can be had. */
void session_prepare_names(struct session *session);

/* The last occasion: hits wait to be printed, and the target may exit before they are. */
void session_settle_names(struct session *session);

/* The target waits until it has been looked at, see follow_waits_for_look(). */
void session_look_early(struct session *session);

/*
 * Of a target that was started: which of what it has mapped has come since. True if something has.
 */
bool session_refresh_early(struct session *session);

/*
 * --listen (serve.c): from when on nobody else has the address; say where it is; answer whoever
 * has asked, as session_check_private(); and the end, which may come at any time. -errno with @err
 * set.
 */
int session_listen(struct session *session, struct error *err);
void session_log_serving(const struct session *session);
int session_serve(struct session *session);
void session_stop_serving(struct session *session);

/*
 * All that was root's is the broker's from here on (sandbox.c), unless --no-sandbox is given. Once
 * the target is held; -errno with @err set.
 */
int session_enter_sandbox(struct session *session, struct error *err);

/* Now and then: not 0 if it has lost the broker, as session->problem says. */
int session_check_sandbox(struct session *session);

/*
 * --debuginfod (fetching.c). The target is held together with where its debug files come from;
 * -errno with @err set. A hit that has just been named, when the files had @version, waits, and
 * those after it, if debug files have come since or are under way: then it is to be named once
 * more, as session_take_held() gives it, which the caller frees; NULL: there is none. What is
 * under way is waited for where it @may be.
 */
int session_hold_target(struct session *session, struct error *err);
uint64_t session_files_version(const struct session *session);
bool session_hold_back(struct session *session, const struct hit_event *event, uint64_t version);
bool session_waits_for_files(struct session *session);
struct hit_event *session_take_held(struct session *session);
void session_may_wait(const struct session *session, bool may);
void session_log_fetched(const struct session *session);
void session_stop_fetching(struct session *session);

/* Hits that are named and not printed yet (consume.c). -ENOMEM with @err set. */
int pending_create(struct pending **pending, struct error *err);
void pending_destroy(struct pending *pending);

/* What has come since the last time goes to the output. Not 0: it cannot be read. */
int session_add_new(struct session *session);

/* Room for all sites of the plan, and what has come up into the plan. -ENOMEM with @err set. */
int session_make_counters(struct session *session, struct error *err);
int session_absorb(struct session *session, bool last, struct error *err);

/* What sites have counted in the whole run so far to counts.fresh, but for others' methods. */
void session_read_totals(struct session *session);

/*
 * When others have debug registers (no_registers.c). How many are there for what comes up, as a
 * number and in words? Could nothing be attached for want of them? Are there fewer than wanted for
 * what comes up, or for a dry run's commands? And was there never one, though code came up? Then
 * @err says so.
 */
int session_registers(const struct session *session);
void session_add_registers(const struct session *session, struct text *out);
bool session_lacks_registers(const struct session *session);
void session_log_registers(const struct session *session);
void session_log_registers_wanted(const struct session *session);
/* Do the plan's breakpoints need more than are free? How many; and are free: -errno, unknown. */
bool session_wants_more_registers(const struct session *session, int *wanted, int *free_registers);
bool session_had_no_register(const struct session *session, struct error *err);

/*
 * What following brings to the plan while it goes on (followed.c): new sites, with their full
 * names, and the story of each body for the log.
 *
 * Take over the sites that have come up. What cannot be named for want of a resolution waits,
 * unless this is the @last time. 1 if the plan has changed, 0, or -ENOMEM with @err set.
 */
int followed_absorb(struct session *session, bool last, struct error *err);

/* Give up the sites of modules that have been unloaded: their registers are needed. */
void followed_retire(struct session *session);

/* Hits of methods that turned out to be others' do not count. */
void followed_clear_others(struct session *session);

/* Tell what has happened: everything with -v, else only what bears on the result. */
void followed_log_notes(struct session *session);

/* A breakpoint is set: in a virtual machine that is told, once. */
void followed_warn(struct session *session);

/* At the end: how fast it was. */
void followed_log_times(const struct session *session);

/*
 * The latencies (histograms.c), what no interval has shown of them; @bounds: NULL before the end.
 * Or all so far, to @to. -errno with @err set.
 */
int session_print_latencies(struct session *session, const struct count_bounds *bounds,
			    struct error *err);
int session_write_latencies(struct session *session, struct output *to,
			    const struct count_bounds *bounds, struct error *err);

/*
 * With --record (recording.c): now and then, what would be lost if place-probe were killed now;
 * and at the end, totals, of @calls of each site in the whole run, and which process it was.
 * -errno with @err set.
 */
int session_tend_record(struct session *session, struct error *err);
int session_record_totals(struct session *session, const uint64_t *calls,
			  const struct count_bounds *bounds, struct error *err);
void session_record_target(struct session *session);

/* What a run has lost: for programs by its reason, for people in a sentence. */
struct loss {
	struct output_loss output;
	const char *sentence;
};

enum { LOSSES_MAX = 14 };

/*
 * Those of which there are any, and as records, with an end behind them (report.c); returns how
 * many. Some are not known before the probes are gone. All @calls that were counted.
 */
size_t losses_collect(const struct session *session, struct loss losses[LOSSES_MAX],
		      struct output_loss records[LOSSES_MAX + 1], uint64_t *calls);

/*
 * At the end (report.c): what was seen, what was lost, and how far the counts can be trusted; for
 * people in the log, for programs as the last line of the output. EXIT_STATUS_OK, or with @err set
 * EXIT_STATUS_LOST or EXIT_STATUS_ERROR.
 */
enum exit_status session_write_report(struct session *session, struct error *err);

/* What is traced (report.c): once the probes are there, and again with its bodies at the end. */
void session_write_traced(struct session *session);

/* Into @tiers, which has room for one more: those of which there are bodies (report.c). */
enum { SESSION_TIERS = TIER_UNKNOWN + 1 };
void session_collect_tiers(const struct session *session, struct output_tier *tiers);

/* What was counted since the last time (consume.c); @bounds: what may be too low. -errno. */
int session_print_results(struct session *session, const struct count_bounds *bounds,
			  struct error *err);

/*
 * The stacks (stacks.c): before the attach, now and then, and at each hit. Before that the programs
 * begin to be loaded, while the plan is made (capture_loads_before_plan()) or the tables are read:
 * there is a capture from then on. The second call does nothing. -errno with @err set.
 */
int session_read_unwind(struct session *session, struct error *err);
int session_begin_load(struct session *session, struct error *err);
void session_refresh_unwind(struct session *session);
void session_make_unwind(struct session *session);

/* Places in the target's files that a runtime tells of (a code_place_fn), for probes there. */
enum { PLACES_MAX = 8 };

struct places {
	const struct target *target;
	struct uprobe_site sites[PLACES_MAX];
	size_t count;
};

void places_add(void *ctx, size_t file, struct file_offset offset, uint64_t cookie);

/* Count how often what frames are named by moves, if that is known by now. */
void session_watch_moves(struct session *session);

/*
 * Hits that are counted by stack (merged.c): the first of them, which says what they are (false: it
 * is a hit like others); those since the last time to the output; what is to be done now and then;
 * and the end.
 */
bool session_add_merged(struct session *session, const struct hit_event *event,
			const struct hit *hit);
void session_count_merged(struct session *session, bool last);
void session_turn_merged(struct session *session);

/*
 * What is shown on a terminal while hits are counted (live.c), if this run and its terminal are
 * such; else there is none, and nothing is different. Between session_load() and the report: draw
 * from now on; the terminal is as it was, and what was said meanwhile is on it. Now and then, and
 * when there is a key: negative, the user has had enough, or it failed. And what
 * capture_handlers.wake_fd is.
 */
void session_live_start(struct session *session);
void session_live_stop(struct session *session);
int session_live_tend(struct session *session);
const int *session_live_input(const struct session *session);

/* Hand the status to @output, as it is @elapsed_ns after counting began (live.c). */
void session_write_status(struct session *session, struct output *output, uint64_t elapsed_ns,
			  bool over);

/*
 * --trace (tracing.c): the calls of each thread that has one of a root under way are kept as they
 * end, until that one ends, and then go to the output as a tree (trace_tree.h). Nothing without it;
 * -ENOMEM with @err set. A call has ended, which @hit describes; if it is of a root, its trace may
 * go to the output. At the end: what of the traces is not shown.
 */
int session_traces_create(struct session *session, struct error *err);
void session_traces_destroy(struct session_traces *traces);
void session_trace(struct session *session, const struct hit_event *event, const struct hit *hit);
void session_traces_log(const struct session *session);

/*
 * --watch --async (async.c): asynchronous calls of .NET as a whole: which sites are of them, and
 * what comes of their beginnings and ends (bpf/async.bpf.h) put together. Nothing without it;
 * -ENOMEM with @err set. Whatever is known by now of sites that were not told of yet. Is @event,
 * with what @call says of it, of such a call, and so no call to be shown by itself? At the end:
 * what was counted, by method, and calls whose beginning was lost; false: of some it is not known
 * whether they are over.
 */
int session_async_create(struct session *session, struct error *err);
void session_async_destroy(struct session_async *async);
void session_async_add(struct session *session);
bool session_async_take(struct session *session, const struct hit_event *event,
			const struct output_call *call);
bool session_async_report(struct session *session);

/*
 * Inlining (inlined.c): a call from a precompiled method that has inlined the callee does not
 * pass by the callee's body. Write a sentence for each method of @plan that was inlined, or of
 * the first one, unless @all. At the end: methods that were probed all the time and never hit,
 * though they have code, and which the JIT may well have inlined. @calls runs along the plan's
 * sites; @watched: see verdict.h.
 */
void inlined_log(const struct resolution *resolution, const struct plan *plan, bool all, FILE *to);
void inlined_hint(const struct plan *plan, const uint64_t *calls, const double *watched, bool all);

/* To be released; NULL for want of memory. */
struct known_stack *session_resolve_stack(struct session *session, const struct hit_event *event);

#endif
