// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the target by its number, once; all else is read through that. */
#include "target/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vector.h"
#include "target/proc.h"
#include "target/refusal.h"

enum {
	KERNEL_THREAD = 0x00200000, /* PF_KTHREAD, include/linux/sched.h */
	STATUS_MAX_BYTES = 65536,
	PERF_MAP_MAX_BYTES = 1 << 28,
	READ_BYTES = 1 << 16,
};

/* Inode of the initial PID namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
static const uint64_t INITIAL_PID_NS_INODE = 0xeffffffc;

static bool state_is_alive(char state)
{
	return state != 'Z' && state != 'X' && state != 'x';
}

bool process_is_alive(const struct process *process)
{
	struct pollfd exited = { .fd = process->pidfd, .events = POLLIN };

	return poll(&exited, 1, 0) == 0;
}

long process_thread_count(const struct process *process)
{
	struct proc_stat stat;
	int result = proc_read_stat(process->proc_fd, "stat", &stat);

	return result ? result : stat.threads;
}

int process_open_thread(const struct process *process, pid_t tid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "task/%d/stat", tid);
	fd = openat(process->proc_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool process_thread_lives(int thread_fd)
{
	struct proc_stat stat;

	return proc_reread_stat(thread_fd, &stat) == 0 && state_is_alive(stat.state);
}

bool process_thread_alive(const struct process *process, pid_t tid)
{
	_cleanup_close_ int fd = process_open_thread(process, tid);

	return process_thread_lives(fd);
}

pid_t process_thread_ns_id(const struct process *process, pid_t tid)
{
	char path[32];
	long id;

	snprintf(path, sizeof(path), "task/%d/status", tid);
	id = proc_read_status(process->proc_fd, path, "\nNSpid:");
	return id > 0 ? (pid_t)id : tid;
}

/*
 * A dead main thread has no memory to look at, while the others run on: stand on the
 * first live thread. /proc/TID offers map_files as well, which /proc/PID/task/TID does not.
 */
static int choose_view(struct process *process)
{
	_cleanup_closedir_ DIR *tasks = proc_open_list(process->proc_fd, "task");
	pid_t tid;

	/* That we cannot have a descriptor says nothing of the process. */
	if (!tasks)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ESRCH;
	while ((tid = proc_next(tasks))) {
		char path[32];
		int fd;

		if (!process_thread_alive(process, tid))
			continue;
		snprintf(path, sizeof(path), "/proc/%d", tid);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* The number may have been reused between the two looks. */
		if (fd < 0 || proc_read_status(fd, "status", "\nTgid:") != process->pid) {
			cleanup_close(&fd);
			continue;
		}
		cleanup_close(&process->view_fd);
		process->view_fd = fd;
		process->view_tid = tid;
		return 0;
	}
	return -ESRCH;
}

static bool view_is_alive(const struct process *process)
{
	struct proc_stat stat;

	return process->view_fd >= 0 && proc_read_stat(process->view_fd, "stat", &stat) == 0 &&
	       state_is_alive(stat.state);
}

uint64_t process_stack_pointer(const struct process *process, pid_t tid)
{
	char path[64], text[256], *at = text, *end;
	uint64_t words[9] = { 0 };
	size_t count = 0;

	snprintf(path, sizeof(path), "task/%d/syscall", tid);
	if (proc_read(process->proc_fd, path, text, sizeof(text)) <= 0)
		return 0;
	/* "NUMBER ARGUMENTS... SP PC", or with -1 for the number "-1 SP PC", or "running". */
	while (count < sizeof(words) / sizeof(words[0])) {
		words[count] = strtoull(at, &end, 0);
		if (end == at)
			break;
		at = end;
		count++;
	}
	return count >= 3 ? words[count - 2] : 0;
}

int process_open(struct process *process, const char *name, int flags)
{
	int fd = view_is_alive(process) ? 0 : choose_view(process);

	if (fd < 0)
		return fd;
	fd = openat(process->view_fd, name, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int process_open_descriptor(struct process *process, int number, int flags)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "fd/%d", number);
	/* A thread that is gone has none, so it need not be looked first whether it lives. */
	fd = openat(process->view_fd, name, flags | O_CLOEXEC);
	return fd >= 0 ? fd : process_open(process, name, flags);
}

int process_read_file(struct process *process, const char *name, size_t limit_bytes, char **bytes,
		      size_t *length, struct error *err)
{
	_cleanup_close_ int fd = process_open(process, name, O_RDONLY);
	_cleanup_free_ char *buffer = NULL;
	size_t capacity = 0, used = 0;
	ssize_t got;

	if (refusal_is(fd))
		return refusal_of_process(err, process->pid, process->comm, name, fd);
	if (fd < 0)
		return error_set(err, fd, "cannot read %s of process %d: %s", name, process->pid,
				 strerror(-fd));
	do {
		bool room = vector_reserve(&buffer, &capacity, used + READ_BYTES + 1);

		if (!room || used > limit_bytes)
			return error_set(err, room ? -EFBIG : -ENOMEM,
					 "%s of process %d is too large to read", name,
					 process->pid);
		got = read(fd, buffer + used, capacity - used - 1);
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	if (got < 0)
		return error_set(err, -errno, "cannot read %s of process %d: %s", name,
				 process->pid, strerror(errno));
	buffer[used] = '\0';
	*bytes = cleanup_take(buffer);
	*length = used;
	return 0;
}

/* Is the program that the process runs one of this machine's own kind? */
static int check_architecture(struct process *process, struct error *err)
{
	Elf64_Ehdr header = { 0 };
	_cleanup_close_ int fd = process_open(process, "exe", O_RDONLY);
	ssize_t got;

	if (refusal_is(fd))
		return refusal_of_process(err, process->pid, process->comm, "exe", fd);
	if (fd < 0)
		return error_set(err, fd, "cannot open the program of process %d (%s): %s",
				 process->pid, process->comm, strerror(-fd));
	got = pread(fd, &header, sizeof(header), 0);
	if (got < EI_NIDENT || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return error_set(
			err, -ENOTSUP,
			"the program of process %d (%s) is no ELF file: give the PID of what runs the code",
			process->pid, process->comm);
	if (header.e_ident[EI_CLASS] != ELFCLASS64)
		return error_set(
			err, -ENOTSUP,
			"process %d (%s) is a 32-bit program; only 64-bit ones can be probed: use gdb or perf there",
			process->pid, process->comm);
	if (header.e_machine != arch.elf_machine)
		return error_set(
			err, -ENOTSUP,
			"process %d (%s) runs code of another architecture (ELF machine %u); only %s can be probed: run place-probe where the code runs",
			process->pid, process->comm, header.e_machine, arch.name);
	return 0;
}

/* How the kernel's own bpf_get_current_pid_tgid() relates to the ids that we see. */
static int read_pid_namespace(struct process *process, struct error *err)
{
	struct stat ours, theirs;
	long ns_pid = proc_read_status(process->proc_fd, "status", "\nNSpid:");

	if (stat("/proc/self/ns/pid", &ours) != 0 ||
	    fstatat(process->proc_fd, "ns/pid", &theirs, 0) != 0) {
		int code = -errno;

		return refusal_is(code) ?
			       refusal_of_process(err, process->pid, process->comm, "ns/pid",
						  code) :
			       error_set(err, code,
					 "cannot read the PID namespace of process %d: %s",
					 process->pid, strerror(-code));
	}
	process->initial_pid_ns = ours.st_ino == INITIAL_PID_NS_INODE;
	process->pid_ns_dev = theirs.st_dev;
	process->pid_ns_inode = theirs.st_ino;
	process->ns_pid = ns_pid > 0 ? (pid_t)ns_pid : process->pid;
	return 0;
}

static int refuse_missing(pid_t pid, int code, struct error *err)
{
	if (refusal_is(code))
		return refusal_of_process(err, pid, NULL, NULL, code);
	return error_set(err, -ESRCH, "there is no process %d: see pgrep -l, or start one after --",
			 pid);
}

static int check_kind(struct process *process, struct error *err)
{
	struct proc_stat stat;
	long tgid = proc_read_status(process->proc_fd, "status", "\nTgid:");
	int result = proc_read_stat(process->proc_fd, "stat", &stat);

	if (result)
		return refuse_missing(process->pid, result, err);
	memcpy(process->comm, stat.comm, sizeof(process->comm));

	if (tgid > 0 && tgid != process->pid)
		return error_set(
			err, -EINVAL,
			"%d is a thread of process %ld: give that, and the thread with -t %d",
			process->pid, tgid, process->pid);
	if (stat.flags & KERNEL_THREAD)
		return error_set(
			err, -EINVAL,
			"process %d (%s) is a kernel thread; it runs no user code to probe: use bpftrace or perf there",
			process->pid, process->comm);
	if (choose_view(process))
		return error_set(
			err, -ESRCH,
			"process %d (%s) is a zombie: it has exited already; see pgrep -l for another",
			process->pid, process->comm);
	return 0;
}

int process_init(struct process *process, pid_t pid, struct error *err)
{
	char path[32];
	int result;

	*process = PROCESS_NONE;
	process->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	process->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process->proc_fd < 0)
		return refuse_missing(pid, -errno, err);

	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/*
	 * The directory was opened first and is read now: if it still answers, its
	 * process held the number all the while, so the pidfd is of the same process.
	 */
	result = check_kind(process, err);
	if (!result && process->pidfd < 0)
		result = error_set(err, -errno, "cannot open a pidfd of process %d: %s", pid,
				   strerror(errno));
	if (!result)
		result = check_architecture(process, err);
	if (!result)
		result = read_pid_namespace(process, err);
	if (result)
		process_deinit(process);
	return result;
}

int process_copy(struct process *copy, const struct process *process, struct error *err)
{
	*copy = *process;
	copy->pidfd = fcntl(process->pidfd, F_DUPFD_CLOEXEC, 0);
	copy->proc_fd = fcntl(process->proc_fd, F_DUPFD_CLOEXEC, 0);
	copy->view_fd = fcntl(process->view_fd, F_DUPFD_CLOEXEC, 0);
	if (copy->pidfd >= 0 && copy->proc_fd >= 0 && copy->view_fd >= 0)
		return 0;
	error_set(err, -errno, "cannot hold process %d once more: %s", process->pid,
		  strerror(errno));
	process_deinit(copy);
	return -EMFILE;
}

void process_deinit(struct process *process)
{
	cleanup_close(&process->view_fd);
	cleanup_close(&process->proc_fd);
	cleanup_close(&process->pidfd);
	process->view_fd = process->proc_fd = process->pidfd = -1;
}

/* The effective user of the process: the second number of "Uid:". */
static long effective_uid(const struct process *process)
{
	char bytes[STATUS_MAX_BYTES];
	const char *line;
	unsigned int uid;

	if (proc_read(process->proc_fd, "status", bytes, sizeof(bytes)) < 0)
		return -1;
	line = strstr(bytes, "\nUid:");
	return line && sscanf(line, "\nUid: %*u %u", &uid) == 1 ? (long)uid : -1;
}

static int check_owned(const struct process *process, int fd, const char *name, off_t most,
		       struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return error_set(err, -errno, "cannot stat /%s: %s", name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, -EPERM,
			"/%s of the target is not used: it is no regular file; write one there",
			name);
	if (st.st_uid != 0 && (long)st.st_uid != effective_uid(process))
		return error_set(
			err, -EPERM,
			"/%s of the target is not used: it belongs to user %u, not to the target's; chown it to use it",
			name, st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(
			err, -EPERM,
			"/%s of the target is not used: others than its owner may write it; chmod go-w lets it be used",
			name);
	if (st.st_size > most)
		return error_set(
			err, -EFBIG,
			"/%s of the target is not used: it is too large; leave it out or write a smaller one",
			name);
	return 0;
}

int process_open_owned(struct process *process, const char *name, off_t most, struct error *err)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root_fd = process_open(process, "root", O_PATH | O_DIRECTORY);
	int fd, result;

	if (root_fd < 0)
		return -ENOENT;
	fd = (int)syscall(SYS_openat2, root_fd, name, &how, sizeof(how));
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return error_set(err, -errno, "/%s of the target is not used: %s", name,
				 errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	result = check_owned(process, fd, name, most, err);
	if (result == 0)
		return fd;
	close(fd);
	return result;
}

int process_open_perf_map(struct process *process, struct error *err)
{
	char name[64];

	snprintf(name, sizeof(name), "tmp/perf-%d.map", process->ns_pid);
	return process_open_owned(process, name, PERF_MAP_MAX_BYTES, err);
}
