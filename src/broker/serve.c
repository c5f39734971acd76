// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The broker's threads: each takes a call, answers it and takes the next, so that no call waits for
 * another. They come before all that is ordinary, as one of those who ask holds threads of the
 * target meanwhile; what takes long for one who is ordinary is done as he is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/request.h"
#include "broker/broker_internal.h"

/* Linux 6.6: whoever asks wakes us where it is, and we it, instead of on another CPU. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum {
	THREADS = 4, /* more calls than there are threads over there that ask are not under way */
	PRIORITY = 51,
	REAP_MS = 1000,
};

static answerer *answerer_of(int number)
{
	switch (number) {
	case SYS_openat:
	case SYS_openat2:
#ifdef SYS_open
	case SYS_open:
#endif
		return answer_open;
	case SYS_newfstatat:
	case SYS_statx:
#ifdef SYS_stat
	case SYS_stat:
	case SYS_lstat:
#endif
		return answer_status;
	case SYS_readlinkat:
#ifdef SYS_readlink
	case SYS_readlink:
#endif
		return answer_link;
	case SYS_faccessat:
	case SYS_faccessat2:
#ifdef SYS_access
	case SYS_access:
#endif
		return answer_access;
	case SYS_perf_event_open:
		return answer_perf_event;
	case SYS_bpf:
		return answer_bpf;
	case SYS_kill:
		return answer_kill;
	default:
		return NULL;
	}
}

/* Without a target there is nothing to be asked for but the files that a sanitizer wants itself. */
static bool may_ask(const struct broker *broker, const struct seccomp_notif *call)
{
	if (broker->config.process)
		return true;
	if (call->data.nr == SYS_bpf)
		return call->data.args[0] == REQUEST_PUBLISH;
	return BROKER_SANITIZED && call->data.nr != SYS_perf_event_open;
}

static void send_descriptor(const struct broker *broker, const struct seccomp_notif *call,
			    const struct reply *reply)
{
	struct seccomp_notif_addfd add = {
		.id = call->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)reply->fd,
		.newfd_flags = reply->close_on_exec ? O_CLOEXEC : 0,
	};
	struct seccomp_notif_resp failed = { .id = call->id };

	/* There is no room for it, or who has asked is there no more. */
	if (ioctl(broker->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0) {
		failed.error = -errno;
		ioctl(broker->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &failed);
	}
	close(reply->fd);
}

static void answer_call(const struct broker *broker, const struct seccomp_notif *call)
{
	struct reply reply = { .fd = -1 };
	answerer *answer_it = answerer_of(call->data.nr);
	struct seccomp_notif_resp response = { .id = call->id };

	if (answer_it && may_ask(broker, call))
		answer_it(broker, call, &reply);
	else
		reply.error = -EPERM;
	if (reply.fd >= 0) {
		send_descriptor(broker, call, &reply);
		return;
	}
	response.error = reply.error;
	response.val = reply.error ? 0 : reply.value;
	ioctl(broker->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/*
 * What may put probes somewhere, or take them away, comes to its end whoever has asked for it: a
 * thread that is ended in the middle leaves probes in the target. To write: there will be none.
 */
static pthread_rwlock_t changes = PTHREAD_RWLOCK_INITIALIZER;

static void answer(const struct broker *broker, const struct seccomp_notif *call)
{
	bool may_change = call->data.nr == SYS_bpf || call->data.nr == SYS_perf_event_open;

	if (may_change)
		pthread_rwlock_rdlock(&changes);
	answer_call(broker, call);
	if (may_change)
		pthread_rwlock_unlock(&changes);
}

static void set_policy(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	sched_setscheduler(0, policy, &param);
}

/* The next call; false: there will be none. What was called off meanwhile is passed over. */
static bool take_call(const struct broker *broker, struct seccomp_notif *call)
{
	struct pollfd listener = { .fd = broker->listener_fd, .events = POLLIN };

	for (;;) {
		memset(call, 0, sizeof(*call));
		if (ioctl(broker->listener_fd, SECCOMP_IOCTL_NOTIF_RECV, call) == 0)
			return true;
		/* Not again and again: nothing else would run beside us. */
		if ((errno != EINTR && errno != ENOENT) || poll(&listener, 1, 0) < 0 ||
		    listener.revents & (POLLHUP | POLLERR | POLLNVAL))
			return false;
	}
}

static void *work(void *argument)
{
	const struct broker *broker = argument;
	struct seccomp_notif call;

	set_policy(SCHED_FIFO, PRIORITY);
	while (take_call(broker, &call)) {
		int policy = sched_getscheduler((pid_t)call.pid);

		if (policy != SCHED_FIFO)
			set_policy(policy < 0 ? SCHED_OTHER : policy, 0);
		answer(broker, &call);
		if (policy != SCHED_FIFO)
			set_policy(SCHED_FIFO, PRIORITY);
	}
	return NULL;
}

/* What it left is gone with its descriptors; that is said in its place. */
static void tell_end(const struct broker *broker)
{
	if (!broker->config.process) {
		dprintf(STDERR_FILENO,
			"place-probe: the process that reads the record has ended by a signal or a crash: nothing that it would have printed since is there; read it where nothing else is at stake\n");
		return;
	}
	dprintf(STDERR_FILENO,
		"place-probe: the process that reads process %d (%s) has ended by a signal or a crash, and its probes with it: run again; process %d is as it was\n",
		broker->target.pid, broker->target.comm, broker->target.pid);
}

void broker_serve(struct broker *broker)
{
	struct pollfd ends[] = { { .fd = broker->channel_fd, .events = POLLIN },
				 { .fd = broker->served.pidfd, .events = POLLIN } };
	pthread_t thread;
	char word;

	ioctl(broker->listener_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
	      SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, work, broker) != 0)
			_exit(1);
	}
	if (write(broker->channel_fd, "", 1) != 1)
		_exit(1);
	while (poll(ends, 2, REAP_MS) <= 0) {
		/* Injectors. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	/* The last word over the channel says that it ends in order. */
	if (read(broker->channel_fd, &word, 1) != 1)
		tell_end(broker);
	if (BROKER_SANITIZED)
		poll(&ends[1], 1, -1);
	pthread_rwlock_wrlock(&changes);
	_exit(0);
}
