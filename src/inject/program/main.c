// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * place-probe's injector, a process of its own that is nothing else: it has a thread of the target
 * map rows of code anew where uprobes shall fire, and undoes that when it is told to or when
 * place-probe ends, however. place-probe has this program in it (inject/start.c).
 *
 * It must not end, nor wait, while a thread is stopped: so its memory is locked, all signals are
 * blocked, and it has a CPU before others.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "inject/message.h"
#include "inject/program/burst.h"
#include "inject/program/stop.h"
#include "inject/program/subject.h"

enum {
	PAGE_BYTES = 4096,
	ROW_BYTES_MAX = 1 << 30,
	PROBES_MS = 60, /* for probes to go with place-probe's descriptors: 42 ms were seen */
	PROBES_PAUSE_NS = 2 * NS_PER_MS,
	RESTORE_MS = 60000, /* to try again and again, where no thread is fit */
};

/* Where user space ends, of processes that have not asked for more. */
#define ADDRESS_END (UINT64_C(1) << 47)

/* Rows that have been made private and are to be shared again, whatever becomes of place-probe. */
struct guard {
	struct inject_row rows[INJECT_GUARDED_MAX];
	size_t count;
};

struct injector_state {
	struct subject subject;
	struct guard guard;
	int signal_fd; /* a thread that was given up has stopped */
};

/* What is not permitted is done without. */
static void settle(void)
{
	const struct sched_param soon = { .sched_priority = 1 };
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), oom_fd;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Where it is ignored nobody tells that a thread has stopped. */
	signal(SIGCHLD, SIG_DFL);
	/* Not with place-probe by a signal to its process group. */
	setsid();
	prctl(PR_SET_NAME, "probe-injector");
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	for (int fd = STDIN_FILENO; null_fd >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null_fd, fd);
	oom_fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (oom_fd >= 0) {
		(void)!write(oom_fd, "-1000", 5);
		close(oom_fd);
	}
	mlockall(MCL_CURRENT | MCL_FUTURE);
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &soon);
}

static bool parent_has_gone(void)
{
	struct pollfd parent = { .fd = INJECT_PARENT_FD, .events = POLLIN };

	return poll(&parent, 1, 0) != 0;
}

/* For those that must go on. */
static bool never(void)
{
	return false;
}

/* Guarding rows, from before they are made private until after they are shared again ---------- */

static bool same_row(const struct inject_row *a, const struct inject_row *b)
{
	return a->address == b->address && a->length == b->length && a->offset == b->offset &&
	       a->fd == b->fd;
}

static size_t find_row(const struct guard *guard, const struct inject_row *row)
{
	size_t i = 0;

	while (i < guard->count && !same_row(&guard->rows[i], row))
		i++;
	return i;
}

/* Note rows that are about to be private. False if there is no room. */
static bool guard_add(struct guard *guard, const struct inject_row *rows, size_t count)
{
	if (count > INJECT_GUARDED_MAX - guard->count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (find_row(guard, &rows[i]) == guard->count)
			guard->rows[guard->count++] = rows[i];
	}
	return true;
}

/* These are shared again. */
static void guard_remove(struct guard *guard, const struct inject_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = find_row(guard, &rows[i]);

		if (at < guard->count)
			guard->rows[at] = guard->rows[--guard->count];
	}
}

/*
 * As many of them as go into one burst, the last ones; those that are not there any more are
 * forgotten.
 */
static size_t take_rows(struct guard *guard, struct subject *subject, struct inject_row *rows)
{
	struct row_state states[INJECT_ROWS_MAX];
	size_t wanted = guard->count < INJECT_ROWS_MAX ? guard->count : INJECT_ROWS_MAX, kept = 0;

	memcpy(rows, &guard->rows[guard->count - wanted], wanted * sizeof(*rows));
	if (!subject_rows(subject, rows, wanted, states))
		memset(states, 0, sizeof(states));
	for (size_t i = 0; i < wanted; i++) {
		if (states[i].expected)
			rows[kept++] = rows[i];
	}
	guard->count -= wanted;
	memcpy(&guard->rows[guard->count], rows, kept * sizeof(*rows));
	guard->count += kept;
	return kept;
}

/*
 * Make shared again all that are still what they were. Those that are not any more, and all if the
 * target has gone, are forgotten.
 */
static enum inject_result guard_restore(struct guard *guard, struct subject *subject,
					struct inject_answer *answer, burst_abort abort)
{
	struct inject_row rows[INJECT_ROWS_MAX];
	enum inject_result result = INJECT_DONE;

	while (guard->count && result == INJECT_DONE) {
		size_t count;

		result = subject_look(subject, &answer->detail);
		if (result)
			break;
		count = take_rows(guard, subject, rows);
		for (size_t i = 0; i < count; i++)
			answer->copies += subject_copies(subject, &rows[i], NULL);
		result = burst_run(subject, rows, count, true, answer, abort);
		if (result == INJECT_DONE)
			guard->count -= count;
	}
	if (result == INJECT_GONE)
		guard->count = 0;
	return result == INJECT_GONE ? INJECT_DONE : result;
}

/*
 * Is a page of them another than in the file? So it is where a uprobe is, until that is removed. A
 * shared mapping drops probes that are still there, unnoticed by those who have set them.
 */
static bool guard_sees_probes(const struct guard *guard, struct subject *subject)
{
	int detail;

	if (subject_look(subject, &detail))
		return false;
	for (size_t i = 0; i < guard->count; i++) {
		char name[32];
		_cleanup_close_ int fd = -1;

		snprintf(name, sizeof(name), "fd/%d", guard->rows[i].fd);
		fd = subject_open(subject, subject->view, name, O_RDONLY);
		if (fd >= 0 && subject_copies(subject, &guard->rows[i], &fd))
			return true;
	}
	return false;
}

/* Requests ---------------------------------------------------------------------------------- */

/* Is it whole pages that a program may have? */
static bool row_makes_sense(const struct inject_row *row)
{
	return row->length && row->length <= ROW_BYTES_MAX && row->address < ADDRESS_END &&
	       row->address + row->length <= ADDRESS_END && row->offset < ADDRESS_END &&
	       (row->address | row->length | row->offset) % PAGE_BYTES == 0 && row->fd >= 0;
}

/* One of them that overlaps another is done twice, which is harmless. */
static bool request_makes_sense(const struct inject_request *request, size_t size, int *detail)
{
	if (size != sizeof(*request) || request->magic != INJECT_MAGIC ||
	    request->count > INJECT_ROWS_MAX)
		return false;
	for (uint32_t i = 0; i < request->count; i++) {
		*detail = (int)i;
		if (!row_makes_sense(&request->rows[i]))
			return false;
	}
	*detail = 0;
	return true;
}

static enum inject_result make_private(struct injector_state *state,
				       const struct inject_request *request,
				       struct inject_answer *answer)
{
	if (request->count && !subject_lock(&state->subject, request->rows[0].fd))
		return INJECT_TAKEN;
	if (!guard_add(&state->guard, request->rows, request->count))
		return INJECT_FULL;
	return burst_run(&state->subject, request->rows, request->count, false, answer,
			 parent_has_gone);
}

static enum inject_result make_shared(struct injector_state *state,
				      const struct inject_request *request,
				      struct inject_answer *answer)
{
	enum inject_result result;

	for (uint32_t i = 0; i < request->count; i++)
		answer->copies += subject_copies(&state->subject, &request->rows[i], NULL);
	result = burst_run(&state->subject, request->rows, request->count, true, answer,
			   parent_has_gone);
	if (result == INJECT_DONE)
		guard_remove(&state->guard, request->rows, request->count);
	return result;
}

static enum inject_result handle(struct injector_state *state, const struct inject_request *request,
				 struct inject_answer *answer)
{
	enum inject_result result;

	if (request->kind == INJECT_RESTORE)
		return guard_restore(&state->guard, &state->subject, answer, parent_has_gone);
	result = subject_look(&state->subject, &answer->detail);
	if (result)
		return result;
	answer->detail = 0;
	switch (request->kind) {
	case INJECT_ASK:
		return INJECT_DONE;
	case INJECT_PRIVATE:
		return make_private(state, request, answer);
	case INJECT_SHARED:
		return make_shared(state, request, answer);
	default:
		return INJECT_BAD_REQUEST;
	}
}

/* Answer one request. False once place-probe has hung up. */
static bool serve(struct injector_state *state)
{
	static struct inject_request request;
	struct inject_answer answer = { .magic = INJECT_MAGIC };
	ssize_t got = recv(INJECT_CHANNEL_FD, &request, sizeof(request), MSG_TRUNC);

	if (got <= 0)
		return false;
	answer.number = request.number;
	if (request_makes_sense(&request, (size_t)got, &answer.detail))
		answer.result = handle(state, &request, &answer);
	else
		answer.result = INJECT_BAD_REQUEST;
	return send(INJECT_CHANNEL_FD, &answer, sizeof(answer), MSG_NOSIGNAL) > 0;
}

static void serve_all(struct injector_state *state)
{
	struct pollfd fds[] = {
		{ .fd = INJECT_CHANNEL_FD, .events = POLLIN },
		{ .fd = INJECT_PARENT_FD, .events = POLLIN },
		{ .fd = state->signal_fd, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	for (;;) {
		threads_release_late();
		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[2].revents)
			(void)!read(state->signal_fd, &info, sizeof(info));
		if (fds[1].revents || (fds[0].revents && !serve(state)))
			return;
	}
}

/*
 * place-probe has ended: its probes go with its descriptors, and then the rows are shared again. If
 * they do not go, for somebody else has those descriptors too, the shared mapping drops them.
 */
static void restore(struct injector_state *state)
{
	const struct timespec pause = { .tv_nsec = PROBES_PAUSE_NS };
	const struct timespec long_pause = { .tv_nsec = 100 * NS_PER_MS };
	uint64_t begin_ns = clock_now_ns();

	while (clock_now_ns() - begin_ns < PROBES_MS * (uint64_t)NS_PER_MS &&
	       guard_sees_probes(&state->guard, &state->subject))
		nanosleep(&pause, NULL);
	while (state->guard.count && clock_now_ns() - begin_ns < RESTORE_MS * (uint64_t)NS_PER_MS) {
		struct inject_answer answer = { 0 };

		threads_release_late();
		if (guard_restore(&state->guard, &state->subject, &answer, never))
			nanosleep(&long_pause, NULL);
	}
}

int main(void)
{
	static struct injector_state state = {
		.subject = { .process_fd = INJECT_PROCESS_FD, .memory_fd = -1, .lock_fd = -1 },
	};
	sigset_t child;

	settle();
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	state.signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	serve_all(&state);
	restore(&state);
	return 0;
}
