// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks for others that hold perf events, where breakpoint_event.c is refused one. */
#include "probe/perf_holders.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "target/proc.h"

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

static void look_at_process(struct search *search, pid_t pid)
{
	char path[32];
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	if (!fds)
		return;
	if (holds_events(search, pid, fds)) {
		if (search->count < HOLDERS_SHOWN)
			search->found[search->count] = pid;
		search->count++;
	}
	closedir(fds);
}

void perf_holders_name(int pid, char comm[16])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	(void)proc_read(AT_FDCWD, path, comm, 16);
	comm[strcspn(comm, "\n")] = '\0';
	text_make_printable(comm, strlen(comm));
}

void perf_holders_tell(char words[PERF_HOLDERS_BYTES])
{
	struct search search = { 0 };
	DIR *proc = opendir("/proc");
	size_t used = 0;

	words[0] = '\0';
	for (pid_t pid; proc && (pid = proc_next(proc));) {
		/* The broker's parent is the one that it opens them for. */
		if (pid != getpid() && pid != getppid())
			look_at_process(&search, pid);
	}
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < search.count && i < HOLDERS_SHOWN; i++) {
		char comm[16];

		perf_holders_name(search.found[i], comm);
		snprintf(words + used, PERF_HOLDERS_BYTES - used, "%s%s (%d)", i ? ", " : "", comm,
			 search.found[i]);
		used = strlen(words);
	}
	if (search.count > HOLDERS_SHOWN)
		snprintf(words + used, PERF_HOLDERS_BYTES - used, " and %zu more",
			 search.count - HOLDERS_SHOWN);
}
