// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * failing_calls RESULT SYSCALLS WHAT NTH PROGRAM [ARG]...: runs PROGRAM, in which the NTH of all calls of SYSCALLS
 * (names, with commas; "all"; "none": it is only looked at) does not do what it should. They are counted from main()'s
 * first on, in all threads and all forks of PROGRAM; "NTH+" is from there on, "/NTH" each NTH one, 0 none. The kernel
 * lets one listen only, so PROGRAM cannot have a broker of its own unless it is "none". WHAT is
 *
 *	an error's name (EMFILE)   the call fails
 *	short                      half of what was asked for is read or written
 *	damage                     a pread() reads what it should, but for a word, which is another
 *	kill                       PROGRAM gets SIGKILL and goes no further
 *	kill=PID, quiet=PID        another process gets it before the call is made, SIGSTOP with "quiet"
 *
 * RESULT gets JSON: how many calls there were, how many did not do what they should, the peak of PROGRAM's memory, and
 * whether any process that PROGRAM has started is left. Ends as PROGRAM does. For tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define CALL(name)                   \
	{                            \
#name, SYS_##name, 0 \
	}
#define ERROR(name)         \
	{                   \
#name, name \
	}

enum {
	ARGUMENTS_BEFORE = 5,
	NOTHING_YET = -2,
	SHORT_BYTES_MAX = 1 << 20,
	LEFT_SECONDS = 20,
	FILTER_MAX = 1024,
};

static struct call {
	const char *name;
	int number;
	uint64_t count;
} calls[] = {
	CALL(read),
	CALL(pread64),
	CALL(readv),
	CALL(write),
	CALL(writev),
	CALL(pwrite64),
	CALL(open),
	CALL(openat),
	CALL(openat2),
	CALL(stat),
	CALL(fstat),
	CALL(lstat),
	CALL(newfstatat),
	CALL(statx),
	CALL(lseek),
	CALL(mmap),
	CALL(mprotect),
	CALL(mremap),
	CALL(brk),
	CALL(madvise),
	CALL(ioctl),
	CALL(fcntl),
	CALL(dup),
	CALL(dup2),
	CALL(dup3),
	CALL(pipe2),
	CALL(poll),
	CALL(ppoll),
	CALL(epoll_create1),
	CALL(epoll_ctl),
	CALL(epoll_wait),
	CALL(epoll_pwait),
	CALL(eventfd2),
	CALL(signalfd4),
	CALL(timerfd_create),
	CALL(timerfd_settime),
	CALL(bpf),
	CALL(perf_event_open),
	CALL(clone),
	CALL(clone3),
	CALL(fork),
	CALL(vfork),
	CALL(execve),
	CALL(execveat),
	CALL(wait4),
	CALL(waitid),
	CALL(kill),
	CALL(pidfd_open),
	CALL(pidfd_send_signal),
	CALL(pidfd_getfd),
	CALL(process_vm_readv),
	CALL(getdents64),
	CALL(readlink),
	CALL(readlinkat),
	CALL(memfd_create),
	CALL(ftruncate),
	CALL(fallocate),
	CALL(mlock),
	CALL(mlock2),
	CALL(mlockall),
	CALL(sched_setscheduler),
	CALL(sched_setattr),
	CALL(sched_setaffinity),
	CALL(sched_getaffinity),
	CALL(sched_getparam),
	CALL(setpriority),
	CALL(prctl),
	CALL(capset),
	CALL(capget),
	CALL(prlimit64),
	CALL(socket),
	CALL(socketpair),
	CALL(bind),
	CALL(listen),
	CALL(accept4),
	CALL(sendmsg),
	CALL(recvmsg),
	CALL(sendto),
	CALL(recvfrom),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(rt_sigprocmask),
	CALL(setsid),
	CALL(getrandom),
	CALL(rename),
	CALL(unlink),
	CALL(unlinkat),
	CALL(close_range),
	CALL(fchmod),
	CALL(fchown),
	CALL(access),
	CALL(faccessat),
	CALL(uname),
	CALL(sysinfo),
	CALL(rt_sigtimedwait),
	CALL(msync),
	CALL(sigaltstack),
	CALL(membarrier),
};

static const struct {
	const char *name;
	int number;
} errors[] = {
	ERROR(EMFILE),	   ERROR(ENFILE), ERROR(ENOSPC), ERROR(EACCES), ERROR(EPERM),
	ERROR(EINTR),	   ERROR(ENOMEM), ERROR(EIO),	 ERROR(EAGAIN), ERROR(ESRCH),
	ERROR(ENOENT),	   ERROR(EINVAL), ERROR(EBUSY),	 ERROR(ENOSYS), ERROR(EBADF),
	ERROR(EOPNOTSUPP), ERROR(E2BIG),  ERROR(EPIPE),
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]), ERRORS = sizeof(errors) / sizeof(errors[0]) };

static struct {
	bool wanted[CALLS];
	bool any;
	int error;
	bool is_short;
	bool damages;
	bool kills;
	pid_t whom; /* 0: the program itself */
	int signal;
	uint64_t nth;
	bool from;
	bool each;

	struct stat program;
	pid_t child;
	int pidfd;
	int listener;
	bool begun;
	uint64_t count, done;
} run;

static void fail(const char *what)
{
	fprintf(stderr, "failing_calls: %s: %s\n", what, strerror(errno));
	exit(100);
}

/* What is asked for ----------------------------------------------------------------------- */

static void want(char *names)
{
	char *rest;

	for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		bool found = false;

		for (size_t i = 0; i < CALLS; i++) {
			bool is_it = strcmp(name, "all") == 0 || strcmp(name, calls[i].name) == 0;

			run.wanted[i] |= is_it;
			found |= is_it;
		}
		run.any |= found;
		errno = EINVAL;
		if (!found && strcmp(name, "none") != 0)
			fail(name);
	}
}

static void read_what(const char *what)
{
	char *end;

	run.signal = strncmp(what, "quiet", strlen("quiet")) == 0 ? SIGSTOP : SIGKILL;
	run.is_short = strcmp(what, "short") == 0;
	run.damages = strcmp(what, "damage") == 0;
	run.kills = strncmp(what, "kill", strlen("kill")) == 0 || run.signal == SIGSTOP;
	if (run.kills && strchr(what, '='))
		run.whom = (pid_t)strtol(strchr(what, '=') + 1, &end, 0);
	for (size_t i = 0; i < ERRORS; i++)
		run.error = strcmp(what, errors[i].name) == 0 ? errors[i].number : run.error;
	errno = EINVAL;
	if (!run.is_short && !run.damages && !run.kills && !run.error)
		fail(what);
}

static void read_nth(const char *nth)
{
	char *end;

	run.each = nth[0] == '/';
	run.nth = strtoull(nth + run.each, &end, 0);
	run.from = *end == '+';
}

static bool is_its_turn(void)
{
	if (run.nth == 0)
		return false;
	if (run.each)
		return run.count % run.nth == 0;
	return run.from ? run.count >= run.nth : run.count == run.nth;
}

/* The program ----------------------------------------------------------------------------- */

/* The calls that are asked for, and main()'s first one. */
static struct sock_fprog make_filter(struct sock_filter *at)
{
	struct sock_filter *const first = at;
	const uint32_t number = offsetof(struct seccomp_data, nr);
	const uint32_t argument = offsetof(struct seccomp_data, args[0]);

	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number);
	for (size_t i = 0; i < CALLS; i++) {
		if (!run.wanted[i])
			continue;
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						     (uint32_t)calls[i].number, 0, 1);
		*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 3);
	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument);
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGPIPE, 0, 1);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return (struct sock_fprog){ .len = (unsigned short)(at - first), .filter = first };
}

/* Its descriptor is told by memory: no call may be made that the filter holds. */
static void listen_to_itself(atomic_int *told, const atomic_int *taken)
{
	struct sock_filter instructions[FILTER_MAX];
	struct sock_fprog filter = make_filter(instructions);

	atomic_store(told, (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					SECCOMP_FILTER_FLAG_NEW_LISTENER |
						SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
					&filter));
	while (!atomic_load(taken))
		sched_yield();
}

/* In the child. */
static void be_program(char **argv, const sigset_t *mask, atomic_int *told, const atomic_int *taken)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (run.any)
		listen_to_itself(told, taken);
	execv(argv[0], argv);
	_exit(100);
}

static void start(char **argv, const sigset_t *mask)
{
	atomic_int *words = mmap(NULL, 2 * sizeof(*words), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int told;

	if (words == MAP_FAILED || stat(argv[0], &run.program) != 0)
		fail(argv[0]);
	atomic_store(&words[0], NOTHING_YET);
	/* What it leaves behind is ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	run.child = fork();
	if (run.child < 0)
		fail("fork");
	if (run.child == 0)
		be_program(argv, mask, &words[0], &words[1]);
	run.pidfd = (int)syscall(SYS_pidfd_open, run.child, 0);
	run.listener = -1;
	if (!run.any)
		return;
	while ((told = atomic_load(&words[0])) == NOTHING_YET)
		sched_yield();
	run.listener = (int)syscall(SYS_pidfd_getfd, run.pidfd, told, 0);
	if (run.listener < 0) {
		kill(run.child, SIGKILL);
		fail("seccomp");
	}
	atomic_store(&words[1], 1);
}

/* Calls ----------------------------------------------------------------------------------- */

/* What the program has executed in its place, such as a COMMAND, has the filter too. */
static bool is_the_program(pid_t tid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	return stat(path, &st) == 0 && st.st_ino == run.program.st_ino &&
	       st.st_dev == run.program.st_dev;
}

static ssize_t transfer(int number, int fd, void *bytes, size_t size, off_t at)
{
	switch (number) {
	case SYS_read:
		return read(fd, bytes, size);
	case SYS_pread64:
		return pread(fd, bytes, size, at);
	case SYS_write:
		return write(fd, bytes, size);
	default:
		return pwrite(fd, bytes, size, at);
	}
}

/* One word of what was read becomes another, mostly such as it might be; always the same of the same call. */
static void damage(uint8_t *bytes, size_t size)
{
	uint64_t seed = run.count * 0x9e3779b97f4a7c15, word;
	size_t at;

	if (size < 2 * sizeof(word))
		return;
	seed ^= seed >> 29;
	at = (size_t)(seed >> 8) % (size - sizeof(word)) & ~(sizeof(word) - 1);
	memcpy(&word, bytes + at, sizeof(word));
	switch (seed % 5) {
	case 0:
		word = seed;
		break;
	case 1:
		word += 8;
		break;
	case 2:
		memcpy(&word, bytes + (size_t)(seed >> 24) % (size - sizeof(word)), sizeof(word));
		break;
	case 3:
		word ^= UINT64_C(1) << (seed >> 40) % 64;
		break;
	default:
		word = UINT64_MAX;
	}
	memcpy(bytes + at, &word, sizeof(word));
}

/* Do half of a read or a write for it, or all of it with damage; false: it is to be made as it is. */
static bool do_half(const struct seccomp_notif *call, struct seccomp_notif_resp *answer)
{
	const int number = call->data.nr;
	const bool writes = number == SYS_write || number == SYS_pwrite64;
	size_t size = run.damages ? call->data.args[2] : call->data.args[2] / 2;
	struct iovec ours, theirs;
	struct pollfd ready = { .events = writes ? POLLOUT : POLLIN };
	ssize_t done = -1;

	if (size > SHORT_BYTES_MAX)
		size = SHORT_BYTES_MAX;
	if (size == 0 || (!writes && number != SYS_read && number != SYS_pread64))
		return false;
	ready.fd = (int)syscall(SYS_pidfd_getfd, run.pidfd, (int)call->data.args[0], 0);
	ours = (struct iovec){ .iov_base = malloc(size), .iov_len = size };
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel speaks in numbers */
	theirs = (struct iovec){ .iov_base = (void *)call->data.args[1], .iov_len = size };
	if (ready.fd >= 0 && ours.iov_base && poll(&ready, 1, 0) == 1 &&
	    (!writes ||
	     process_vm_readv((pid_t)call->pid, &ours, 1, &theirs, 1, 0) == (ssize_t)size)) {
		done = transfer(number, ready.fd, ours.iov_base, size, (off_t)call->data.args[3]);
		answer->error = done < 0 ? -errno : 0;
		answer->val = done < 0 ? 0 : done;
	}
	if (run.damages && done > 0)
		damage(ours.iov_base, (size_t)done);
	if (!writes && done > 0) {
		ours.iov_len = theirs.iov_len = (size_t)done;
		if (process_vm_writev((pid_t)call->pid, &ours, 1, &theirs, 1, 0) != done)
			*answer = (struct seccomp_notif_resp){ .id = call->id, .error = -EFAULT };
	}
	if (ready.fd >= 0)
		close(ready.fd);
	free(ours.iov_base);
	return done >= 0 || answer->error;
}

/* Whether the call is not made. */
static bool strike(const struct seccomp_notif *call, struct seccomp_notif_resp *answer)
{
	run.done++;
	if (run.kills) {
		kill(run.whom ? run.whom : run.child, run.signal);
		return !run.whom;
	}
	if (!run.is_short && !run.damages) {
		answer->error = -run.error;
		return true;
	}
	if (do_half(call, answer))
		return true;
	run.done--;
	return false;
}

static bool count(const struct seccomp_notif *call)
{
	for (size_t i = 0; i < CALLS; i++) {
		if (calls[i].number == call->data.nr && run.wanted[i]) {
			calls[i].count++;
			run.count++;
			return true;
		}
	}
	return false;
}

static void answer_one(void)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp answer;

	if (ioctl(run.listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
		return;
	answer = (struct seccomp_notif_resp){ .id = call.id };
	run.begun |= call.data.nr == SYS_rt_sigaction && is_the_program((pid_t)call.pid);
	if (!run.begun || !is_the_program((pid_t)call.pid) || !count(&call) || !is_its_turn() ||
	    !strike(&call, &answer))
		answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	/* Whoever has made it may have ended. */
	(void)ioctl(run.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Has all that the program has left behind ended? */
static bool none_left(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return pid < 0 && errno == ECHILD;
}

/* Until the program, and all that it has started, has ended; false: some of it is left. */
static bool serve(int signals, int *status, struct rusage *usage)
{
	struct pollfd from[] = { { .fd = run.listener, .events = POLLIN },
				 { .fd = signals, .events = POLLIN },
				 { .fd = run.pidfd, .events = POLLIN } };
	uint64_t end_ms = UINT64_MAX;

	for (;;) {
		struct signalfd_siginfo signal;

		poll(from, sizeof(from) / sizeof(from[0]), end_ms == UINT64_MAX ? -1 : 10);
		if (from[1].revents && end_ms == UINT64_MAX &&
		    read(signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
			kill(run.child, (int)signal.ssi_signo);
		if (from[2].revents) {
			if (wait4(run.child, status, 0, usage) != run.child)
				fail("wait4");
			end_ms = clock_now_ms() + LEFT_SECONDS * 1000;
			from[2].fd = -1;
		}
		if (from[0].revents & POLLIN)
			answer_one();
		else if (from[0].revents)
			from[0].fd = -1;
		if (end_ms != UINT64_MAX && none_left())
			return true;
		if (clock_now_ms() > end_ms)
			return false;
	}
}

static void write_result(const char *path, const struct rusage *usage, bool is_left)
{
	FILE *to = fopen(path, "we");
	const char *separator = "";

	if (!to)
		fail(path);
	fprintf(to, "{\"calls\": {");
	for (size_t i = 0; i < CALLS; i++) {
		if (!calls[i].count)
			continue;
		fprintf(to, "%s\"%s\": %" PRIu64, separator, calls[i].name, calls[i].count);
		separator = ", ";
	}
	fprintf(to, "}, \"failed\": %" PRIu64 ", \"peak_kb\": %ld, \"left\": %s}\n", run.done,
		usage->ru_maxrss, is_left ? "true" : "false");
	if (fclose(to) != 0)
		fail(path);
}

int main(int argc, char **argv)
{
	sigset_t forwarded, before;
	struct rusage usage;
	bool is_left;
	int signals, status;

	if (argc <= ARGUMENTS_BEFORE) {
		fprintf(stderr, "usage: failing_calls RESULT SYSCALLS WHAT NTH PROGRAM [ARG]...\n");
		return 100;
	}
	want(argv[2]);
	read_what(argv[3]);
	read_nth(argv[4]);
	sigemptyset(&forwarded);
	sigaddset(&forwarded, SIGINT);
	sigaddset(&forwarded, SIGTERM);
	sigaddset(&forwarded, SIGHUP);
	sigprocmask(SIG_BLOCK, &forwarded, &before);
	signals = signalfd(-1, &forwarded, SFD_CLOEXEC);
	start(argv + ARGUMENTS_BEFORE, &before);
	is_left = !serve(signals, &status, &usage);
	write_result(argv[1], &usage, is_left);
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	prctl(PR_SET_DUMPABLE, 0);
	signal(WTERMSIG(status), SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	raise(WTERMSIG(status));
	return 100;
}
