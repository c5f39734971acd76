// SPDX-License-Identifier: GPL-2.0-or-later
/* place-probe's side of the injector: requests, and sentences for what it refuses. */
#include "inject/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/request.h"
#include "target/proc.h"
#include "target/process.h"

enum {
	ANSWER_MS = 10000, /* it takes a second if no thread is fit; the machine may be busy */
	END_MS = 2000,
	ABOVE_PROBES = 1 << 14, /* more descriptors than uprobe_multi takes */
};

struct injector {
	const struct process *process;
	pid_t pid;
	int channel_fd;
	uint64_t number; /* of the last request */
};

/* The name of process @pid for a message. */
static void read_name(pid_t pid, char *name, size_t size)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (proc_read(AT_FDCWD, path, name, size) <= 0)
		snprintf(name, size, "?");
	name[strcspn(name, "\n")] = '\0';
}

int inject_refuse_taken(const struct process *process, struct error *err)
{
	return error_set(
		err, -EBUSY,
		"code of process %d is private already: another place-probe has probes there; wait for its end, or give --no-remap",
		process->pid);
}

static int refuse_row(const struct injector *injector, const struct inject_answer *answer,
		      const struct inject_row *rows, size_t count, struct error *err)
{
	size_t i = answer->detail >= 0 ? (size_t)answer->detail : 0;
	const struct inject_row none = { 0 }, *row = i < count ? &rows[i] : &none;
	pid_t pid = injector->process->pid;
	unsigned long long start = row->address, end = row->address + row->length;

	switch (answer->result) {
	case INJECT_OTHER_ROW:
		return error_set(
			err, -ESTALE,
			"cannot map %llx-%llx of process %d anew: what is there is not the code that was looked at; run again",
			start, end, pid);
	case INJECT_REFUSED:
		return error_set(
			err, -answer->error,
			"cannot map %llx-%llx of process %d anew: its mmap() failed: %s; give --no-remap",
			start, end, pid,
			answer->error == ENOSYS ? "a seccomp filter forbids it" :
						  strerror(answer->error));
	default:
		return error_set(
			err, -EINVAL,
			"cannot map %llx-%llx of process %d anew: these are no pages of a file; give --no-remap",
			start, end, pid);
	}
}

/* One sentence for what @answer says. */
static int refuse(const struct injector *injector, const struct inject_answer *answer,
		  const struct inject_row *rows, size_t count, struct error *err)
{
	pid_t pid = injector->process->pid;
	const char *comm = injector->process->comm;
	char name[32];

	switch (answer->result) {
	case INJECT_DONE:
		return 0;
	case INJECT_GONE:
		return error_set(
			err, -ESRCH,
			"process %d (%s) has exited or executed another program: look for its PID once more",
			pid, comm);
	case INJECT_TRACED:
		read_name(answer->detail, name, sizeof(name));
		return error_set(
			err, -EBUSY,
			"no thread of process %d (%s) can be stopped: process %d (%s) traces it; end that, or give --no-remap",
			pid, comm, answer->detail, name);
	case INJECT_NOT_PERMITTED:
		return error_set(
			err, -EPERM,
			"no thread of process %d (%s) can be stopped: tracing it is not permitted (%s); allow it, or give --no-remap",
			pid, comm, "kernel.yama.ptrace_scope, or a security module");
	case INJECT_MACHINE:
		return error_set(
			err, -ENOTSUP,
			"no thread of process %d (%s) can be stopped: it runs 32-bit code; give --no-remap",
			pid, comm);
	case INJECT_IGNORES_TRAP:
		return error_set(
			err, -ENOTSUP,
			"no thread of process %d (%s) is stopped: it ignores SIGTRAP, and would not any more; give --no-remap",
			pid, comm);
	case INJECT_NO_INSTRUCTION:
		return error_set(
			err, -ENOTSUP,
			"no thread of process %d (%s) is stopped: it has no instruction for a system call; give --no-remap",
			pid, comm);
	case INJECT_NO_THREAD:
		return error_set(
			err, -EAGAIN,
			"no thread of process %d (%s) could be stopped within a second without it noticing; run again, or give --no-remap",
			pid, comm);
	case INJECT_FULL:
		return error_set(
			err, -ENOSPC,
			"more than %d pieces of code of process %d (%s) cannot be mapped anew: probe fewer methods with --remap",
			INJECT_GUARDED_MAX, pid, comm);
	case INJECT_TAKEN:
		return inject_refuse_taken(injector->process, err);
	case INJECT_SECCOMP:
		return error_set(
			err, -EPERM,
			"no thread of process %d (%s) is stopped: a seccomp filter would end it, or ask a supervisor, at mmap(); give --no-remap",
			pid, comm);
	case INJECT_LOST:
		return error_set(
			err, -EIO,
			"thread %d of process %d (%s) did not map the code as it was told to; give --no-remap",
			answer->tid, pid, comm);
	default:
		return refuse_row(injector, answer, rows, count, err);
	}
}

static int refuse_silence(const struct injector *injector, int code, struct error *err)
{
	return error_set(err, code, "the injector for process %d %s: run again, or give --no-remap",
			 injector->process->pid,
			 code == -ETIMEDOUT ? "does not answer" : "has ended");
}

static int send_request(struct injector *injector, enum inject_kind kind,
			const struct inject_row *rows, size_t count)
{
	struct inject_request request = {
		.magic = INJECT_MAGIC,
		.kind = kind,
		.number = ++injector->number,
		.count = (uint32_t)count,
	};

	if (count)
		memcpy(request.rows, rows, count * sizeof(*rows));
	return send(injector->channel_fd, &request, sizeof(request), MSG_NOSIGNAL) ==
			       sizeof(request) ?
		       0 :
		       -EPIPE;
}

/*
 * The answer to the last request; one to a request before it, which was given up, is passed over.
 */
static int receive_answer(struct injector *injector, struct inject_answer *answer)
{
	struct pollfd channel = { .fd = injector->channel_fd, .events = POLLIN };
	ssize_t got;
	int ready;

	do {
		do {
			ready = poll(&channel, 1, ANSWER_MS);
		} while (ready < 0 && errno == EINTR);
		if (ready <= 0)
			return -ETIMEDOUT;
		got = recv(injector->channel_fd, answer, sizeof(*answer), MSG_TRUNC);
		if (got != sizeof(*answer) || answer->magic != INJECT_MAGIC)
			return -EPIPE;
	} while (answer->number != injector->number);
	return 0;
}

static void add_outcome(struct inject_outcome *outcome, const struct inject_answer *answer)
{
	if (!outcome)
		return;
	outcome->result = answer->result;
	outcome->tid = answer->stops ? answer->tid : outcome->tid;
	outcome->stops += answer->stops;
	outcome->copies += answer->copies;
	if (answer->stopped_ns > outcome->stopped_ns)
		outcome->stopped_ns = answer->stopped_ns;
}

static int ask(struct injector *injector, enum inject_kind kind, const struct inject_row *rows,
	       size_t count, struct inject_outcome *outcome, struct error *err)
{
	struct inject_answer answer;
	int result = send_request(injector, kind, rows, count);

	if (result == 0)
		result = receive_answer(injector, &answer);
	if (result)
		return refuse_silence(injector, result, err);
	add_outcome(outcome, &answer);
	return refuse(injector, &answer, rows, count, err);
}

/* As many requests as it takes. */
static int ask_for_rows(struct injector *injector, enum inject_kind kind,
			const struct inject_row *rows, size_t count, struct inject_outcome *outcome,
			struct error *err)
{
	int result = 0;

	if (outcome)
		*outcome = (struct inject_outcome){ 0 };
	for (size_t done = 0; done < count && result == 0; done += INJECT_ROWS_MAX) {
		size_t left = count - done;

		result = ask(injector, kind, rows + done,
			     left < INJECT_ROWS_MAX ? left : INJECT_ROWS_MAX, outcome, err);
	}
	return result;
}

/* By the broker, if there is one: it may trace the target. */
static pid_t start(struct injector *injector, struct error *err)
{
	struct request_injector request = { .channel_fd = -1 };
	_cleanup_close_ int own_fd = -1;

	if (request_make(REQUEST_INJECTOR, &request.answer)) {
		injector->channel_fd = request.channel_fd;
		if (request.answer.result > 0 && request.channel_fd >= 0)
			return request.answer.result;
		return error_set(err, request.answer.result, "%s",
				 request.why.text[0] ? request.why.text :
						       "cannot start the injector: run again");
	}
	own_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return injector_start(injector->process->proc_fd, own_fd, &injector->channel_fd, err);
}

/*
 * If we are killed the injector is to know it at once. What we are seen to end by comes after all
 * our descriptors were closed, and the kernel takes half a second for some of those, as probes are,
 * where all CPUs are busy (synchronize_rcu_tasks_trace()). The last one goes first.
 */
static void move_up(int *fd)
{
	int above = fcntl(*fd, F_DUPFD_CLOEXEC, ABOVE_PROBES);

	if (above < 0)
		return;
	close(*fd);
	*fd = above;
}

int injector_create(struct injector **out, const struct process *process, struct error *err)
{
	struct injector *injector = calloc(1, sizeof(*injector));
	int result;

	if (!injector)
		return error_set(err, -ENOMEM, "no memory to start the injector");
	injector->process = process;
	injector->pid = start(injector, err);
	if (injector->pid < 0) {
		result = injector->pid;
		free(injector);
		return result;
	}
	move_up(&injector->channel_fd);
	result = ask(injector, INJECT_ASK, NULL, 0, NULL, err);
	if (result) {
		injector_destroy(injector);
		return result;
	}
	*out = injector;
	return 0;
}

int injector_make_private(struct injector *injector, const struct inject_row *rows, size_t count,
			  struct inject_outcome *outcome, struct error *err)
{
	return ask_for_rows(injector, INJECT_PRIVATE, rows, count, outcome, err);
}

int injector_make_shared(struct injector *injector, const struct inject_row *rows, size_t count,
			 struct inject_outcome *outcome, struct error *err)
{
	return ask_for_rows(injector, INJECT_SHARED, rows, count, outcome, err);
}

int injector_restore(struct injector *injector, struct inject_outcome *outcome, struct error *err)
{
	if (outcome)
		*outcome = (struct inject_outcome){ 0 };
	return ask(injector, INJECT_RESTORE, NULL, 0, outcome, err);
}

pid_t injector_pid(const struct injector *injector)
{
	return injector->pid;
}

void injector_destroy(struct injector *injector)
{
	struct pollfd ended = { .events = POLLIN };
	int status;

	if (!injector)
		return;
	close(injector->channel_fd);
	ended.fd = (int)syscall(SYS_pidfd_open, injector->pid, 0);
	/* Whether or not: where no thread is fit it goes on trying, without us. */
	if (ended.fd < 0 || poll(&ended, 1, END_MS) > 0)
		waitpid(injector->pid, &status, ended.fd < 0 ? WNOHANG : 0);
	if (ended.fd >= 0)
		close(ended.fd);
	free(injector);
}
