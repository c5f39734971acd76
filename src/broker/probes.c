// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes that are asked for: perf events that are breakpoints or uprobes, and links of programs
 * that the broker has loaded. What is opened is made here of a few values that were checked; it is
 * the target's, or of the process itself, which tries out what probes cost.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/request.h"
#include "broker/broker_internal.h"
#include "probe/breakpoint_event.h"
#include "probe/uprobes.h"

enum {
	SITES_MAX = 1 << 20, /* of a link */
	PATH_BYTES = 32,
	NAME_BYTES = 64,
};

/* The file is named by a descriptor that the process has: a copy of it. -errno. */
static int take_file(const struct broker *broker, uint64_t at, char path[PATH_BYTES])
{
	static const char start[] = "/proc/self/fd/";
	char named[PATH_BYTES], *end;
	int result = served_string(broker, at, named, sizeof(named)), fd;
	struct stat st;

	if (result || strncmp(named, start, sizeof(start) - 1) != 0)
		return -EPERM;
	fd = served_descriptor(broker, (int)strtol(named + sizeof(start) - 1, &end, 10));
	if (fd < 0 || *end)
		return fd < 0 ? fd : -EPERM;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EBADF;
	}
	snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
	return fd;
}

/* Perf events --------------------------------------------------------------------------------- */

/* Of code, in user space, and nothing is sampled: exactly what breakpoint_event.c asks for. */
static int open_breakpoint(const struct perf_event_attr *asked, pid_t tid, int cpu)
{
	const struct address address = { asked->bp_addr };
	struct perf_event_attr attr = breakpoint_event_attr(address, asked->disabled);
	long fd;

	if (memcmp(&attr, asked, sizeof(attr)) != 0)
		return -EPERM;
	fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int open_uprobe(const struct broker *broker, const struct perf_event_attr *asked, pid_t tid)
{
	char path[PATH_BYTES];
	_cleanup_close_ int file_fd = take_file(broker, asked->config1, path);
	/* An entry, without a counter in the target's memory, and nothing is sampled. */
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = broker->uprobe_type,
		.config1 = asked->config1,
		.config2 = asked->config2,
	};
	long fd;

	if (file_fd < 0)
		return file_fd;
	if (memcmp(&attr, asked, sizeof(attr)) != 0)
		return -EPERM;
	attr.config1 = (uint64_t)(uintptr_t)path;
	fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

void answer_perf_event(const struct broker *broker, const struct seccomp_notif *call,
		       struct reply *reply)
{
	struct perf_event_attr asked;
	pid_t tid = (pid_t)call->data.args[1];
	int cpu = (int)call->data.args[2];

	reply->error = -EPERM;
	reply->close_on_exec = true;
	if (served_read(broker, call->data.args[0], &asked, sizeof(asked)) ||
	    (int)call->data.args[3] != -1 || call->data.args[4] != PERF_FLAG_FD_CLOEXEC)
		return;
	if (tid == 0)
		tid = (pid_t)call->pid; /* who asks */
	/* One that has ended is nobody's: who asks is told what the kernel says of such. */
	if (cpu == -1 && !broker_has_thread(&broker->target, tid) &&
	    !broker_has_thread(&broker->served, tid)) {
		reply->error = -ESRCH;
		return;
	}
	/* On each CPU, of which the program tells the target's hits; else of one thread. */
	if (cpu != -1 && (tid != -1 || cpu < 0))
		return;
	if (asked.type == PERF_TYPE_BREAKPOINT)
		reply->fd = open_breakpoint(&asked, tid, cpu);
	else if (cpu == -1 && broker->uprobe_type && asked.type == broker->uprobe_type)
		reply->fd = open_uprobe(broker, &asked, tid);
	else
		return;
	reply->error = reply->fd < 0 ? reply->fd : 0;
}

/* Links --------------------------------------------------------------------------------------- */

/* With copies of what is in the process's memory, which others there may change meanwhile. */
static int link_uprobes(const struct broker *broker, const struct link_create_uprobe_multi *asked)
{
	struct link_create_uprobe_multi attr = *asked;
	_cleanup_free_ uint64_t *numbers = NULL;
	char path[PATH_BYTES];
	_cleanup_close_ int file_fd = -1;
	size_t bytes;

	if (attr.count == 0 || attr.count > SITES_MAX || attr.flags || attr.multi_flags ||
	    attr.ref_ctr_offsets || attr.unused || !attr.offsets || !attr.cookies ||
	    ((pid_t)attr.pid != broker->target.pid && (pid_t)attr.pid != broker->served.pid))
		return -EPERM;
	file_fd = take_file(broker, attr.path, path);
	if (file_fd < 0)
		return file_fd;
	bytes = attr.count * sizeof(*numbers);
	numbers = malloc(2 * bytes);
	if (!numbers)
		return -ENOMEM;
	if (served_read(broker, attr.offsets, numbers, bytes) ||
	    served_read(broker, attr.cookies, numbers + attr.count, bytes))
		return -EFAULT;
	attr.offsets = (uint64_t)(uintptr_t)numbers;
	attr.cookies = (uint64_t)(uintptr_t)(numbers + attr.count);
	attr.path = (uint64_t)(uintptr_t)path;
	return uprobe_multi_link(&attr);
}

static int link_perf_event(int program_fd, int event_fd, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);

	return bpf_link_create(program_fd, event_fd, BPF_PERF_EVENT, &options);
}

/* Over the target's threads, whatever was asked for. */
static int link_iterator(const struct broker *broker, int program_fd)
{
	union bpf_iter_link_info threads = { .task.pid_fd = (uint32_t)broker->target.pidfd };
	LIBBPF_OPTS(bpf_link_create_opts, options, .iter_info = &threads,
		    .iter_info_len = sizeof(threads));

	return bpf_link_create(program_fd, 0, BPF_TRACE_ITER, &options);
}

static int create_link(const struct broker *broker, const union bpf_attr *asked)
{
	_cleanup_close_ int program_fd = served_descriptor(broker, (int)asked->link_create.prog_fd);
	_cleanup_close_ int event_fd = -1;
	struct link_create_uprobe_multi multi;

	if (program_fd < 0)
		return program_fd;
	if ((int)asked->link_create.attach_type == UPROBE_MULTI_ATTACH_TYPE) {
		memcpy(&multi, asked, sizeof(multi));
		multi.program_fd = (uint32_t)program_fd;
		return link_uprobes(broker, &multi);
	}
	if (asked->link_create.attach_type == BPF_TRACE_ITER)
		return link_iterator(broker, program_fd);
	if (asked->link_create.attach_type != BPF_PERF_EVENT)
		return -EPERM;
	event_fd = served_descriptor(broker, (int)asked->link_create.target_fd);
	return event_fd < 0 ? event_fd :
			      link_perf_event(program_fd, event_fd,
					      asked->link_create.perf_event.bpf_cookie);
}

/* Two of the kernel's, of which the programs only take what is the target's. */
static int open_tracepoint(const struct broker *broker, const union bpf_attr *asked)
{
	static const char *const names[] = { "sched_process_exit", "signal_generate" };
	char name[NAME_BYTES];
	_cleanup_close_ int program_fd = -1;

	if (served_string(broker, asked->raw_tracepoint.name, name, sizeof(name)))
		return -EFAULT;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		program_fd = served_descriptor(broker, (int)asked->raw_tracepoint.prog_fd);
		return program_fd < 0 ? program_fd : bpf_raw_tracepoint_open(names[i], program_fd);
	}
	return -EPERM;
}

void answer_bpf(const struct broker *broker, const struct seccomp_notif *call, struct reply *reply)
{
	union bpf_attr asked = { 0 };
	size_t bytes = call->data.args[2];

	if ((int)call->data.args[0] >= REQUEST_FIRST) {
		answer_request(broker, call, reply);
		return;
	}
	reply->error = -EPERM;
	reply->close_on_exec = true;
	if (bytes > sizeof(asked) || served_read(broker, call->data.args[1], &asked, bytes))
		return;
	if (call->data.args[0] == BPF_LINK_CREATE)
		reply->fd = create_link(broker, &asked);
	else if (call->data.args[0] == BPF_RAW_TRACEPOINT_OPEN)
		reply->fd = open_tracepoint(broker, &asked);
	else
		return;
	reply->error = reply->fd < 0 ? reply->fd : 0;
}
