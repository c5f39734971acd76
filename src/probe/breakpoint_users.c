// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who has the debug registers, where breakpoints.c is refused one: tracers of threads, and other
 * processes that hold perf events, which may be breakpoints.
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/request.h"
#include "base/text.h"
#include "probe/breakpoint_event.h"
#include "target/proc.h"

/* Tracers ---------------------------------------------------------------------------------- */

/* Who traces one or more threads and has debug registers of theirs. */
struct tracer {
	pid_t pid;
	int registers;
};

/* One traced thread: has its tracer more registers of it than @most says of the worst so far? */
static void look_at_thread(int proc_fd, pid_t pid, pid_t tid, int free_elsewhere,
			   struct tracer *most)
{
	char path[64];
	pid_t tracer;
	int free_here;

	snprintf(path, sizeof(path), "%d/task/%d/status", pid, tid);
	tracer = (pid_t)proc_read_status(proc_fd, path, "\nTracerPid:");
	if (tracer <= 0)
		return;
	free_here = breakpoint_events_free(tid, -1);
	if (free_here >= 0 && free_elsewhere - free_here > most->registers)
		*most = (struct tracer){ tracer, free_elsewhere - free_here };
}

static void look_at_process(int proc_fd, pid_t pid, int free_elsewhere, struct tracer *most)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	char path[32];

	snprintf(path, sizeof(path), "%d/task", pid);
	tasks = proc_open_list(proc_fd, path);
	for (pid_t tid; tasks && (tid = proc_next(tasks));)
		look_at_thread(proc_fd, pid, tid, free_elsewhere, most);
}

/* The tracer with the most debug registers in one thread: a CPU must hold them beside ours. */
static struct tracer find_tracer(int free_elsewhere)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct tracer most = { 0 };

	for (pid_t pid; proc && (pid = proc_next(proc));)
		look_at_process(dirfd(proc), pid, free_elsewhere, &most);
	return most;
}

/* The same for one thread: what is taken there and not on every CPU is its tracer's. */
static struct tracer tracer_of(pid_t tid, int taken)
{
	char path[32];
	pid_t tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	tracer = (pid_t)proc_read_status(AT_FDCWD, path, "\nTracerPid:");
	return tracer > 0 ? (struct tracer){ tracer, taken } : (struct tracer){ 0 };
}

/* Holders of perf events ------------------------------------------------------------------- */

enum {
	HOLDERS_SHOWN = 3,
	DESCRIPTORS_MAX = 1 << 17, /* of all processes: a few tenths of a second */
};

struct search {
	pid_t found[HOLDERS_SHOWN];
	size_t count; /* there may be more than fit */
	size_t descriptors;
};

/* Is it known to be no breakpoint, but a uprobe, kprobe or tracepoint of a BPF program? */
static bool is_known(pid_t pid, int fd)
{
	__u32 length = 0, program, type;
	__u64 offset, address;

	return bpf_task_fd_query(pid, fd, 0, NULL, &length, &program, &type, &offset, &address) ==
	       0;
}

/* Has the process with descriptors @fds a perf event that may be a breakpoint? */
static bool holds_events(struct search *search, pid_t pid, DIR *fds)
{
	static const char event[] = "anon_inode:[perf_event]";
	char link[sizeof(event)];

	for (struct dirent *entry; (entry = readdir(fds));) {
		ssize_t got;

		if (search->descriptors++ >= DESCRIPTORS_MAX)
			return false;
		got = readlinkat(dirfd(fds), entry->d_name, link, sizeof(link));
		if (got != sizeof(event) - 1 || memcmp(link, event, sizeof(event) - 1) != 0)
			continue;
		if (!is_known(pid, (int)strtol(entry->d_name, NULL, 10)))
			return true;
	}
	return false;
}

static void look_at_holder(struct search *search, pid_t pid)
{
	_cleanup_closedir_ DIR *fds = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	if (!fds || !holds_events(search, pid, fds))
		return;
	if (search->count < HOLDERS_SHOWN)
		search->found[search->count] = pid;
	search->count++;
}

/* The name of process @pid, as it is now and can be printed; "" if there is none. */
static void name_process(pid_t pid, char comm[16])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	(void)proc_read(AT_FDCWD, path, comm, 16);
	comm[strcspn(comm, "\n")] = '\0';
	text_make_printable(comm, strlen(comm));
}

/*
 * Name the processes, but ourselves, that hold perf events which may be hardware breakpoints: "NAME
 * (PID), ...", if any is seen. Looks at the descriptors of all processes, up to a bound.
 */
static void tell_holders(struct text *words)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct search search = { 0 };

	for (pid_t pid; proc && (pid = proc_next(proc));) {
		/* The broker's parent is the one that it opens them for. */
		if (pid != getpid() && pid != getppid())
			look_at_holder(&search, pid);
	}
	for (size_t i = 0; i < search.count && i < HOLDERS_SHOWN; i++) {
		char comm[16];

		name_process(search.found[i], comm);
		text_printf(words, "%s%s (%d)", i ? ", " : " (perf events are held by ", comm,
			    search.found[i]);
	}
	if (search.count > HOLDERS_SHOWN)
		text_printf(words, " and %zu more", search.count - HOLDERS_SHOWN);
	if (search.count)
		text_add(words, ")");
}

/* Who has them ----------------------------------------------------------------------------- */

static void tell_users(int ours, pid_t tid, struct text *words)
{
	/* No thread of ours has breakpoints or a tracer, so it lacks what every CPU lacks. */
	int free_elsewhere = breakpoint_events_free(0, -1), others = DEBUG_REGISTERS - ours;
	struct tracer tracer = { 0 };
	char comm[16];

	if (!breakpoint_events_fire()) {
		text_add(words, BREAKPOINTS_DEAD);
		return;
	}
	if (others == 0)
		free_elsewhere = -1; /* nobody else to look for */
	if (free_elsewhere >= 0 && tid)
		tracer = tracer_of(tid, free_elsewhere - ours);
	else if (free_elsewhere >= 0)
		tracer = find_tracer(free_elsewhere);
	others -= tracer.registers;
	text_printf(words, "of %d, place-probe itself has %d", DEBUG_REGISTERS, ours);
	if (tracer.registers > 0) {
		name_process(tracer.pid, comm);
		text_printf(words, ", %s (%d) %d", comm, tracer.pid, tracer.registers);
	}
	if (others <= 0)
		return;
	text_printf(words, ", another place-probe, perf or a debugger that is gone %d", others);
	tell_holders(words);
}

_Static_assert((int)REQUEST_WORDS >= (int)BREAKPOINT_USERS_BYTES, "room for what is told");

void breakpoint_users_tell(int ours, pid_t tid, char words[BREAKPOINT_USERS_BYTES])
{
	struct request_users request = { .ours = ours, .tid = tid };

	if (!request_make(REQUEST_USERS, &request.answer)) {
		_cleanup_(text_deinit) struct text text = { 0 };

		tell_users(ours, tid, &text);
		snprintf(words, BREAKPOINT_USERS_BYTES, "%s", text_chars(&text));
		return;
	}
	request.words[BREAKPOINT_USERS_BYTES - 1] = '\0';
	memcpy(words, request.words, BREAKPOINT_USERS_BYTES);
}
