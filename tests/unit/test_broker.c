// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a process that has given up its privileges can do, whoever runs in it: each attempt is made
 * by a child that has done so, for a target of ours; another process of ours is nobody's.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/request.h"
#include "broker/broker_internal.h"
#include "output/output.h"
#include "probe/breakpoint_event.h"
#include "probe/uprobes.h"
#include "target/privileges.h"
#include "target/process.h"
#include "target/target.h"

enum { PATH_BYTES = 128, OTHER_USER = 12345 };

static pid_t target_pid, other_pid;
static char directory[] = "/tmp/place-probe-broker-XXXXXX";
static char named[PATH_BYTES], secret[PATH_BYTES], inner[PATH_BYTES], way_out[PATH_BYTES];
static const char word[] = "a word in memory";
static bool has_target = true;

/* A process that waits for its end; who ends before it, ends it. */
static pid_t start_waiting(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void make_file(const char *path, mode_t rights)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, rights);

	assert_true(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	unit_needs_root("give up privileges");
	target_pid = start_waiting();
	other_pid = start_waiting();
	assert_true(target_pid > 0 && other_pid > 0 && mkdtemp(directory));
	snprintf(named, sizeof(named), "%s/named", directory);
	snprintf(secret, sizeof(secret), "%s/secret", directory);
	make_file(named, 0600);
	make_file(secret, 0600);
	/* In a directory that is named: a file, and a link to what is none of the target's. */
	snprintf(inner, sizeof(inner), "%s/inner", directory);
	snprintf(way_out, sizeof(way_out), "%s/inner/link", directory);
	if (mkdir(inner, 0700) != 0 || symlink(secret, way_out) != 0)
		return -1;
	/* Root's target may read what root owns: so it is another's. */
	return chown(secret, OTHER_USER, OTHER_USER) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	kill(target_pid, SIGKILL);
	kill(other_pid, SIGKILL);
	waitpid(target_pid, NULL, 0);
	waitpid(other_pid, NULL, 0);
	unlink(named);
	unlink(secret);
	unlink(way_out);
	rmdir(inner);
	return rmdir(directory);
}

/* From here on the calling process has no privileges; NULL, or what is wrong. */
static const char *give_up(struct target *target, struct broker_hold **hold)
{
	static struct error err;
	const char *const paths[] = { named, inner };
	const struct broker_config config = { .process = has_target ? &target->process : NULL,
					      .paths = paths,
					      .path_count = 2,
					      .publish_path = named,
					      .publish = output_replace };

	target_prepare(PRIVILEGES_SPLIT);
	return target_init(target, target_pid, &err) || broker_start(hold, &config, &err) ?
		       err.text :
		       NULL;
}

/* In a child that has no privileges any more: @attempt says what is wrong, or NULL. */
static void without_privileges(const char *(*attempt)(struct process *process))
{
	char why[256] = "it has ended";
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct target target = TARGET_NONE;
		struct broker_hold *hold = NULL;
		const char *wrong = give_up(&target, &hold);

		if (!wrong)
			wrong = attempt(&target.process);
		broker_end(hold);
		if (wrong)
			(void)!write(ends[1], wrong, strlen(wrong) + 1);
		_exit(wrong ? 1 : 0);
	}
	close(ends[1]);
	(void)!read(ends[0], why, sizeof(why) - 1);
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (status)
		fail_msg("%s (status %d)", why, status);
}

static bool refuses(int fd, int code)
{
	return fd < 0 && errno == code;
}

static bool opens(int at, const char *path, int flags)
{
	int fd = openat(at, path, flags | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool is_readable(int fd)
{
	char byte;

	return fd >= 0 && read(fd, &byte, 1) == 1;
}

/* What it is for ------------------------------------------------------------------------------- */

static const char *read_target(struct process *process)
{
	static const char *const names[] = { "maps", "stat", "status", "exe", "task", "fd" };
	char copy[sizeof(word)];
	char link[PATH_BYTES];
	struct stat status;
	int fd;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (process_open(process, names[i], O_RDONLY) < 0)
			return names[i];
	}
	fd = process_open(process, "mem", O_RDONLY);
	if (fd < 0 || pread(fd, copy, sizeof(copy), (off_t)(uintptr_t)word) != sizeof(copy) ||
	    memcmp(copy, word, sizeof(copy)) != 0)
		return "the target's memory cannot be read";
	if (pwrite(fd, copy, sizeof(copy), (off_t)(uintptr_t)word) >= 0)
		return "the target's memory can be written";
	if (readlinkat(process->proc_fd, "exe", link, sizeof(link)) <= 0)
		return "where a link leads is not told";
	if (fstatat(process->proc_fd, "ns/pid", &status, 0) != 0)
		return "a namespace is not told";
	return process_stack_pointer(process, process->pid) ? NULL : "no stack pointer";
}

UNIT_TEST(the_target_is_read)
{
	without_privileges(read_target);
}

static const char *read_named(struct process *process)
{
	(void)process;
	if (!is_readable(open(named, O_RDONLY)))
		return "what the user has named cannot be read";
	if (!is_readable(open("/etc/passwd", O_RDONLY)))
		return "what all can read cannot be";
	return is_readable(open("/proc/self/maps", O_RDONLY)) ? NULL : "its own maps";
}

UNIT_TEST(what_was_named_is_read)
{
	without_privileges(read_named);
}

/* What it cannot do ---------------------------------------------------------------------------- */

static const char *open_others(struct process *process)
{
	char path[PATH_BYTES];

	(void)process;
	if (!refuses(open(secret, O_RDONLY), EACCES))
		return "another's file is opened";
	if (opens(AT_FDCWD, secret, O_PATH))
		return "another's file is held";
	if (!refuses(open(named, O_WRONLY), EACCES) || !refuses(open(named, O_RDWR), EACCES))
		return "a file is opened to be written";
	snprintf(path, sizeof(path), "%s/new", directory);
	if (!refuses(open(path, O_WRONLY | O_CREAT, 0600), EACCES))
		return "a file is made";
	snprintf(path, sizeof(path), "%.60s/../secret", named);
	if (opens(AT_FDCWD, path, O_RDONLY))
		return "a way out of what was named";
	if (!opens(AT_FDCWD, inner, O_RDONLY | O_DIRECTORY))
		return "a directory that was named";
	if (opens(AT_FDCWD, way_out, O_RDONLY))
		return "a link out of what was named";
	if (opens(AT_FDCWD, "/dev/zero", O_RDONLY))
		return "a device is opened";
	return NULL;
}

UNIT_TEST(no_other_file_is_opened)
{
	without_privileges(open_others);
}

static const char *open_other_processes(struct process *process)
{
	static const char *const forms[] = {
		"/proc/%d/mem",		 "/proc/%d/maps",
		"/proc/%d/environ",	 "/proc/%d/root/etc/shadow",
		"/proc/%d/stat",	 "/proc/%d/fd/0",
		"/proc/self/../%d/maps", "/proc/%d/cwd",
	};
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(path, sizeof(path), forms[i], other_pid);
		if (opens(AT_FDCWD, path, O_RDONLY))
			return forms[i];
	}
	snprintf(path, sizeof(path), "../%d/maps", other_pid);
	if (opens(process->proc_fd, path, O_RDONLY))
		return "a way out of the target's directory";
	if (opens(process->proc_fd, "environ", O_RDONLY))
		return "what is on no list is opened";
	if (opens(process->proc_fd, "mem", O_RDWR))
		return "the target's memory is opened to be written";
	return opens(process->proc_fd, "task/../mem", O_RDONLY) ? "dots" : NULL;
}

UNIT_TEST(no_other_process_is_read)
{
	without_privileges(open_other_processes);
}

static const char *call_all(struct process *process)
{
	char *const argv[] = { NULL };
	char byte = 'x', copy = 0;
	struct iovec ours = { &byte, 1 }, theirs = { (void *)(uintptr_t)word, 1 };

	(void)process;
	if (!refuses(socket(AF_INET, SOCK_STREAM, 0), EPERM))
		return "socket()";
	if (!refuses(socket(AF_UNIX, SOCK_STREAM, 0), EPERM))
		return "a socket of this machine";
	if (!refuses(execve("/bin/true", argv, argv), EPERM))
		return "execve()";
	/* A sanitizer looks for leaks in a process of its own. */
	if (!BROKER_SANITIZED && !refuses((int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), EPERM))
		return "fork()";
	if (!refuses((int)syscall(SYS_clone3, NULL, 0), ENOSYS))
		return "clone3()";
	if (!refuses((int)ptrace(PTRACE_SEIZE, target_pid, 0, 0), EPERM))
		return "ptrace()";
	if (!refuses((int)process_vm_writev(target_pid, &ours, 1, &theirs, 1, 0), EPERM))
		return "process_vm_writev()";
	theirs.iov_base = &copy;
	if (process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0) != 1 || copy != byte)
		return "process_vm_writev() to itself";
	if (!refuses(kill(target_pid, SIGKILL), EPERM) || !refuses(kill(1, 0), EPERM))
		return "kill()";
	if (!refuses((int)syscall(SYS_tgkill, target_pid, target_pid, SIGTERM), EPERM))
		return "tgkill()";
	if (!refuses(setuid(0), EPERM) || !refuses(chdir("/"), EPERM))
		return "setuid() or chdir()";
	if (!refuses(ioctl(0, TIOCSTI, "x"), EPERM))
		return "a key is pressed";
	if (!refuses(unlink(named), EPERM) || !refuses(rename(named, secret), EPERM))
		return "unlink() or rename()";
	return refuses((int)syscall(SYS_io_uring_setup, 1, NULL), EPERM) ? NULL : "io_uring";
}

UNIT_TEST(other_calls_are_refused)
{
	without_privileges(call_all);
}

static const char *probe_others(struct process *process)
{
	const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uint64_t)(uintptr_t)return_0,
		.insn_cnt = 2,
		.license = (uint64_t)(uintptr_t) "GPL",
	};
	struct perf_event_attr attr =
		breakpoint_event_attr((struct address){ (uint64_t)(uintptr_t)word }, true);

	(void)process;
	if (!refuses((int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load)), EPERM))
		return "a program of its own is loaded";
	if (!refuses((int)syscall(SYS_perf_event_open, &attr, other_pid, -1, -1,
				  PERF_FLAG_FD_CLOEXEC),
		     ESRCH))
		return "a breakpoint in another process";
	/* As the kernel has it: who looks for another thread then must be able to tell. */
	if (!refuses(
		    (int)syscall(SYS_perf_event_open, &attr, INT_MAX, -1, -1, PERF_FLAG_FD_CLOEXEC),
		    ESRCH))
		return "a thread that is no more";
	attr.sample_type = PERF_SAMPLE_REGS_USER;
	if (!refuses((int)syscall(SYS_perf_event_open, &attr, target_pid, -1, -1,
				  PERF_FLAG_FD_CLOEXEC),
		     EPERM))
		return "registers are sampled";
	attr = (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr) };
	if (!refuses((int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC),
		     EPERM))
		return "another event";
	return syscall(SYS_bpf, REQUEST_END, NULL, 0) < 0 ? NULL : "a request that there is not";
}

UNIT_TEST(nothing_else_is_probed)
{
	without_privileges(probe_others);
}

static bool is_at_end(int fd)
{
	struct pollfd end = { .fd = fd };

	return poll(&end, 1, 0) == 1 && end.revents & POLLHUP;
}

/* Probes that are about to go: a pipe tells when the last descriptor of it is closed. */
static const char *keep_probes(struct process *process)
{
	int ends[2], fds[] = { -1, -1 };
	struct request_probes request = { .fds = (uint64_t)(uintptr_t)fds, .count = 2 };

	(void)process;
	if (pipe(ends) != 0)
		return "no pipe";
	fds[1] = ends[1];
	if (!request_make(REQUEST_KEEP_PROBES, &request.answer) || request.answer.result < 0)
		return "it is not kept";
	close(ends[1]);
	if (is_at_end(ends[0]))
		return "it is kept, but closed";
	request.kept = request.answer.result;
	if (!request_make(REQUEST_CLOSE_PROBES, &request.answer) || !is_at_end(ends[0]))
		return "it stays";
	/* What was closed already, and numbers that are none. */
	for (request.kept = -2; request.kept < 200; request.kept++) {
		if (!request_make(REQUEST_CLOSE_PROBES, &request.answer))
			return "nothing is closed";
	}
	if (!request_make(REQUEST_KEEP_PROBES, &request.answer) || request.answer.result != -EBADF)
		return "a descriptor that is none is kept";
	request.count = UINT32_MAX;
	if (!request_make(REQUEST_KEEP_PROBES, &request.answer) || request.answer.result != -E2BIG)
		return "any number is kept";
	/* There is an end to it; what is kept then goes with the broker. */
	request.count = 1;
	fds[0] = ends[0];
	for (int i = 0; i < 100; i++)
		request_make(REQUEST_KEEP_PROBES, &request.answer);
	return request.answer.result == -EBUSY ? NULL : "there is no end to what is kept";
}

UNIT_TEST(probes_that_go_are_kept)
{
	without_privileges(keep_probes);
}

/* Of a record that is read there is no target: even what the user has named is open by then. */
static const char *publish_only(struct process *process)
{
	static const char text[] = "all of it";
	struct request_publish request = { .bytes = (uint64_t)(uintptr_t)text,
					   .length = sizeof(text) - 1 };
	struct perf_event_attr attr =
		breakpoint_event_attr((struct address){ (uint64_t)(uintptr_t)word }, true);

	(void)process;
	/* A sanitizer asks for files of its own: they come to the broker, as with a target. */
	if (!BROKER_SANITIZED && (!refuses(open(named, O_RDONLY), EPERM) ||
				  !refuses(open("/etc/passwd", O_RDONLY), EPERM)))
		return "a file is opened";
	if (!refuses((int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC),
		     EPERM))
		return "it probes itself";
	if (request_make(REQUEST_TRY_MULTI, &request.answer))
		return "uprobes are tried";
	if (!request_make(REQUEST_PUBLISH, &request.answer) || request.answer.result)
		return "what is finished is not written";
	return NULL;
}

UNIT_TEST(without_a_target_output_is_written)
{
	char text[32] = "";
	int fd;

	has_target = false;
	without_privileges(publish_only);
	has_target = true;
	fd = open(named, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 9);
	close(fd);
	assert_string_equal(text, "all of it");
}

/* How it ends ---------------------------------------------------------------------------------- */

/* Both write there, and it ends with the last of them. */
UNIT_TEST(the_broker_says_so_and_ends)
{
	char said[1024] = "";
	size_t used = 0;
	int ends[2], status;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct target target = TARGET_NONE;
		struct broker_hold *hold = NULL;

		dup2(ends[1], STDERR_FILENO);
		if (!give_up(&target, &hold))
			raise(SIGKILL);
		_exit(1);
	}
	close(ends[1]);
	while ((got = read(ends[0], said + used, sizeof(said) - 1 - used)) > 0)
		used += (size_t)got;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_non_null(strstr(said, "has ended by a signal or a crash"));
}

UNIT_MAIN(set_up, tear_down)
