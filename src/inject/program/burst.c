// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order, for a few rows at a time: the rows are looked at, a thread is chosen, stopped, makes
 * one mmap() a row and is let go. A thread that turns out not to be fit costs a new choice, no
 * more. It is one that waits where the program cannot tell that it was stopped: where each is, is
 * read before one is stopped; what it does in between is seen at the stop.
 */
#include "inject/program/burst.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "inject/program/filters.h"
#include "inject/program/stop.h"
#include "target/proc.h"

enum {
	BURST_ROWS = 8,	  /* at one stop, so that it stays short: 25 us each */
	SEARCH_MS = 1000, /* for threads that are fit, in all */
	PAUSE_NS = 10 * NS_PER_MS,
	ERRNO_MAX = 4095,
	TRIED_MAX = 64,
	CALL_BYTES = 256,
};

/* Those that have turned out not to be fit, for now. */
struct tried {
	pid_t tids[TRIED_MAX];
	size_t count;
};

/* Choosing ---------------------------------------------------------------------------------- */

/* Not this one again, until @tried is emptied. */
static void tried_add(struct tried *tried, pid_t tid)
{
	if (tried->count < TRIED_MAX)
		tried->tids[tried->count++] = tid;
}

static bool was_tried(const struct tried *tried, pid_t tid)
{
	for (size_t i = 0; i < tried->count; i++) {
		if (tried->tids[i] == tid)
			return true;
	}
	/* Who has no room left to note more is done with choosing. */
	return tried->count == TRIED_MAX;
}

/* Pipes and eventfds can be read again; sockets with a time limit return EINTR. */
static bool is_pipe(const struct subject *subject, uint64_t fd)
{
	char path[64], target[32] = "";

	if (fd > INT32_MAX)
		return false;
	snprintf(path, sizeof(path), "task/%d/fd/%d", subject->view, (int)fd);
	if (readlinkat(subject->process_fd, path, target, sizeof(target) - 1) < 0)
		return false;
	return strncmp(target, "pipe:[", 6) == 0 || strcmp(target, "anon_inode:[eventfd]") == 0;
}

static enum call_restart fitness(const struct subject *subject, pid_t tid)
{
	_cleanup_close_ int fd = subject_open(subject, tid, "syscall", O_RDONLY);
	char text[CALL_BYTES];
	struct thread_call call;
	enum call_restart restart;
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (got <= 0)
		return RESTART_NEVER;
	text[got] = '\0';
	thread_call_parse(&call, text);
	switch (call.where) {
	case THREAD_RUNNING:
		return RESTART_RUNNING;
	case THREAD_OUT_OF_CALL:
		return RESTART_STOPPED;
	case THREAD_IN_CALL:
		restart = call_restart(call.number, call.arguments);
		if (restart == RESTART_READ && !is_pipe(subject, call.arguments[0]))
			return RESTART_NEVER;
		return restart;
	case THREAD_UNKNOWN:
		break;
	}
	return RESTART_NEVER;
}

/* A thread that is fit and was not tried, of those the best; 0 if there is none. */
static pid_t choose_thread(const struct subject *subject, const struct tried *tried)
{
	enum call_restart best = RESTART_NEVER;
	DIR *tasks = proc_open_list(subject->process_fd, "task");
	pid_t chosen = 0, tid;

	if (!tasks)
		return 0;
	while (best != RESTART_LOCK && (tid = proc_next(tasks))) {
		enum call_restart restart;

		if (was_tried(tried, tid))
			continue;
		restart = fitness(subject, tid);
		if (restart < best) {
			best = restart;
			chosen = tid;
		}
	}
	closedir(tasks);
	return chosen;
}

/* Mapping ----------------------------------------------------------------------------------- */

struct burst {
	struct subject *subject;
	const struct inject_row *rows;
	struct row_state *states;
	size_t count;
	bool shared;
	struct inject_answer *answer;
	struct tried tried;
	enum inject_result unfit; /* why none is fit, unless they only were in other system calls */
};

static enum inject_result fail(struct burst *burst, enum inject_result result, int error,
			       size_t row)
{
	burst->answer->error = error;
	burst->answer->detail = (int)row;
	return result;
}

static bool is_to_do(const struct burst *burst, size_t i)
{
	return burst->shared ? burst->states[i].has_private : burst->states[i].has_shared;
}

/* One row, by a thread that is stopped. INJECT_RESULTS: by another thread, perhaps. */
static enum inject_result map_row(struct burst *burst, struct stopped *stopped, bool filtered,
				  size_t i)
{
	const struct inject_row *row = &burst->rows[i];
	const uint64_t arguments[INJECTION_ARGUMENTS] = {
		row->address,
		row->length,
		PROT_READ | PROT_EXEC,
		MAP_FIXED | (uint64_t)(burst->shared ? MAP_SHARED : MAP_PRIVATE),
		(uint64_t)row->fd,
		row->offset,
	};
	struct user_regs_struct registers = stopped->registers;
	int64_t got;

	if (filtered && filters_harm(stopped->tid, burst->subject->instruction, arguments))
		return fail(burst, INJECT_SECCOMP, 0, i);
	registers_set_call(&registers, burst->subject->instruction, injection.mmap_number,
			   arguments);
	switch (thread_call(stopped, &registers, burst->subject->instruction)) {
	case STEP_DONE:
		break;
	case STEP_FORBIDDEN:
		return fail(burst, INJECT_REFUSED, ENOSYS, i);
	case STEP_LOST:
		return fail(burst, INJECT_LOST, 0, i);
	case STEP_GONE:
	case STEP_DISTURBED:
		return INJECT_RESULTS;
	}
	got = registers_result(&registers);
	if (got == (int64_t)row->address) {
		burst->states[i] = (struct row_state){ .expected = true,
						       .has_private = !burst->shared,
						       .has_shared = burst->shared };
		return INJECT_DONE;
	}
	return got < 0 && got >= -ERRNO_MAX ? fail(burst, INJECT_REFUSED, (int)-got, i) :
					      fail(burst, INJECT_LOST, 0, i);
}

/* Between the stop of a thread and its release: what is here takes the program's time. */
static enum inject_result map_rows(struct burst *burst, struct stopped *stopped, bool filtered)
{
	enum inject_result result = INJECT_DONE;
	size_t done = 0;

	/* Has it executed another program since? Then the rows are of that one's. */
	if (!subject_has_instruction(burst->subject))
		return INJECT_GONE;
	for (size_t i = 0; i < burst->count && done < BURST_ROWS && result == INJECT_DONE; i++) {
		if (is_to_do(burst, i)) {
			result = map_row(burst, stopped, filtered, i);
			done++;
		}
	}
	return result;
}

/* Have thread @tid map some of the rows. INJECT_RESULTS: another one is to. */
static enum inject_result run_in(struct burst *burst, pid_t tid)
{
	struct thread_status status;
	struct stopped stopped;
	enum inject_result result;
	uint64_t stopped_ns;
	int error;

	if (!subject_status(burst->subject, tid, &status) || !thread_lives(&status))
		return INJECT_RESULTS;
	/* Everything but exit and a few others ends a thread in the strict mode. */
	if (status.seccomp == SECCOMP_MODE_STRICT)
		return fail(burst, INJECT_SECCOMP, 0, 0);
	error = thread_stop(&stopped, tid);
	if (error == -EPERM && subject_status(burst->subject, tid, &status)) {
		if (status.tracer && status.tracer != getpid())
			return fail(burst, INJECT_TRACED, EPERM, (size_t)status.tracer);
		/* One that we trace ourselves has not come to its stop yet. */
		if (!status.tracer && thread_lives(&status))
			burst->unfit = INJECT_NOT_PERMITTED;
	}
	if (error == -ENOEXEC)
		burst->unfit = INJECT_MACHINE;
	if (error)
		return INJECT_RESULTS;
	result = map_rows(burst, &stopped, status.seccomp != 0);
	stopped_ns = thread_release(&stopped);
	burst->answer->tid = tid;
	burst->answer->stops++;
	if (stopped_ns > burst->answer->stopped_ns)
		burst->answer->stopped_ns = stopped_ns;
	return result;
}

/* How rows are mapped now. INJECT_DONE if as expected. */
static enum inject_result look_at_rows(struct burst *burst)
{
	if (!subject_rows(burst->subject, burst->rows, burst->count, burst->states))
		return INJECT_GONE;
	for (size_t i = 0; i < burst->count; i++) {
		if (!burst->states[i].expected)
			return fail(burst, INJECT_OTHER_ROW, 0, i);
	}
	return INJECT_DONE;
}

static bool is_all_done(const struct burst *burst)
{
	for (size_t i = 0; i < burst->count; i++) {
		if (is_to_do(burst, i))
			return false;
	}
	return true;
}

enum inject_result burst_run(struct subject *subject, const struct inject_row *rows, size_t count,
			     bool shared, struct inject_answer *answer, burst_abort abort)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct row_state states[INJECT_ROWS_MAX];
	struct burst burst = {
		.subject = subject,
		.rows = rows,
		.states = states,
		.count = count,
		.shared = shared,
		.answer = answer,
		.unfit = INJECT_NO_THREAD,
	};
	uint64_t limit_ns = clock_now_ns() + SEARCH_MS * (uint64_t)NS_PER_MS;
	enum inject_result result = look_at_rows(&burst);

	while (result == INJECT_DONE && !is_all_done(&burst)) {
		pid_t tid = choose_thread(subject, &burst.tried);

		threads_release_late();
		if ((!tid || burst.tried.count) && (clock_now_ns() >= limit_ns || abort()))
			return burst.unfit;
		if (!tid) {
			burst.tried.count = 0;
			nanosleep(&pause, NULL);
			result = look_at_rows(&burst);
			continue;
		}
		result = run_in(&burst, tid);
		if (result == INJECT_RESULTS) {
			tried_add(&burst.tried, tid);
			result = INJECT_DONE;
		}
	}
	if (result == INJECT_DONE && answer->stops)
		result = look_at_rows(&burst);
	if (result == INJECT_DONE && !is_all_done(&burst))
		result = INJECT_LOST;
	return result;
}
