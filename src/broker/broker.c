// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Splitting the broker off: a fork before anything of the target was read, in which one side gets
 * ready to serve and the other gives up what it has. See broker.h.
 */
#include "broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rights.h"
#include "broker/broker_internal.h"
#include "probe/uprobes.h"
#include "target/privileges.h"
#include "target/proc.h"

enum {
	NOBODY = 65534,
	OWN_USER = 0x70000000, /* and the process's number: no user has such a one */
	THREADS_MAX = 256,
	FIRST_FREE = 3,
	STATUS_BYTES = 65536,
	BUSY_MAX_US = 10000000, /* before all that is ordinary, without ever waiting */
};

/* What a target takes that has as much of all as we go along with, and then what is asked for. */
#define DATA_MAX_BYTES (4ULL << 30)

struct broker_hold {
	pid_t pid;
	int channel_fd;
};

/* The broker's side ---------------------------------------------------------------------------- */

/* Nothing of what others have open: who waits for the end of a pipe waits for us else. */
static void close_others(const int *kept, size_t count)
{
	int first = FIRST_FREE;

	for (;;) {
		int next = INT_MAX;

		for (size_t i = 0; i < count; i++)
			next = kept[i] >= first && kept[i] < next ? kept[i] : next;
		if (next > first)
			syscall(SYS_close_range, first, next == INT_MAX ? ~0U : (unsigned)next - 1,
				0);
		if (next == INT_MAX)
			return;
		first = next + 1;
	}
}

static void leave_terminal(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "probe-broker");
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	if (nothing > STDERR_FILENO)
		close(nothing);
}

/* Of "Groups:", as many as there is room for. */
static size_t read_groups(const char *status, gid_t groups[BROKER_GROUPS])
{
	const char *at = strstr(status, "\nGroups:");
	size_t count = 0;
	char *end;

	if (!at)
		return 0;
	for (at += strlen("\nGroups:"); *at != '\n' && count < BROKER_GROUPS; at = end) {
		unsigned long group = strtoul(at, &end, 10);

		if (end == at)
			break;
		groups[count++] = (gid_t)group;
		end += strspn(end, " \t");
	}
	return count;
}

/* Who the target is, by what the kernel says of it. */
static void know_reader(struct broker *broker)
{
	_cleanup_free_ char *status = calloc(1, STATUS_BYTES);
	gid_t groups[BROKER_GROUPS];
	const char *uid, *gid;

	broker->nobody = NOBODY;
	broker->reader = NOBODY;
	broker->reader_group = NOBODY;
	broker->changes_user =
		geteuid() == 0 && privileges_have(CAP_SETUID) && privileges_have(CAP_SETGID);
	if (!status || proc_read(broker->target.proc_fd, "status", status, STATUS_BYTES) < 0)
		return;
	uid = strstr(status, "\nUid:");
	gid = strstr(status, "\nGid:");
	if (!uid || sscanf(uid, "\nUid: %*u %u", &broker->reader) != 1)
		broker->reader = NOBODY;
	if (!gid || sscanf(gid, "\nGid: %*u %u", &broker->reader_group) != 1)
		broker->reader_group = NOBODY;
	if (broker->changes_user)
		(void)setgroups(read_groups(status, groups), groups);
}

/* What the user has named, from the root. */
static bool know_paths(struct broker *broker)
{
	size_t count = broker->config.path_count;

	broker->paths = calloc(count + 1, sizeof(*broker->paths));
	for (size_t i = 0; broker->paths && i < count; i++) {
		const char *path = broker->config.paths[i];
		bool whole = path[0] == '/';

		if (asprintf(&broker->paths[i], "%s%s%s", whole ? "" : broker->directory,
			     whole ? "" : "/", path) < 0)
			return false;
	}
	return broker->paths;
}

/* Has the target the root directory that we have? */
static void know_root(struct broker *broker)
{
	struct stat ours, theirs, our_ns, their_ns;

	broker->same_root = stat("/", &ours) == 0 && stat("/proc/self/ns/mnt", &our_ns) == 0 &&
			    fstatat(broker->target.proc_fd, "root", &theirs, 0) == 0 &&
			    fstatat(broker->target.proc_fd, "ns/mnt", &their_ns, 0) == 0 &&
			    ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev &&
			    our_ns.st_ino == their_ns.st_ino;
}

static void __attribute__((noreturn))
be_broker(const struct broker_config *config, int channel_fd, pid_t served)
{
	struct broker broker = {
		.config = *config,
		.target = config->process ? *config->process : PROCESS_NONE,
		.channel_fd = channel_fd,
	};
	const int kept[] = { channel_fd, broker.target.proc_fd, broker.target.view_fd,
			     broker.target.pidfd };
	char path[32], word;

	leave_terminal();
	close_others(kept, sizeof(kept) / sizeof(kept[0]));
	broker.directory = getcwd(NULL, 0);
	broker.kept = kept_probes_create();
	if (!broker.directory || !know_paths(&broker) || !broker.kept)
		_exit(1);
	know_reader(&broker);
	know_root(&broker);
	if (uprobe_perf_type(&broker.uprobe_type, NULL))
		broker.uprobe_type = 0;
	/* If it comes it waits for us, so the number is its own. */
	if (rights_receive(channel_fd, &word, 1, 0, &broker.listener_fd) != 1 ||
	    broker.listener_fd < 0 || process_init(&broker.served, served, NULL))
		_exit(1);
	snprintf(path, sizeof(path), "/proc/%d/mem", served);
	/* Who is not root may not open it to write, as it is root's, though he may write there. */
	broker.memory_fd = open(path, O_RDWR | O_CLOEXEC);
	broker.memory_by_call = broker.memory_fd < 0;
	if (broker.memory_by_call)
		broker.memory_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (broker.memory_fd < 0)
		_exit(1);
	broker_serve(&broker);
}

/* The other side ------------------------------------------------------------------------------ */

static void set_limit(int which, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) != 0 || limit.rlim_max <= most)
		return;
	limit = (struct rlimit){ most, most };
	setrlimit(which, &limit);
}

/*
 * Nobody else's, where we may choose: nobody can stop us then, nor can we stop others. A user
 * namespace may have few users, or only the one that we are, who it is then.
 */
static int change_user(void)
{
	uid_t uid = OWN_USER + (uid_t)getpid();

	if (geteuid() != 0 || !privileges_have(CAP_SETUID) || !privileges_have(CAP_SETGID))
		return 0;
	/* privileges_drop() says which. */
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	if (setgroups(0, NULL) != 0)
		return errno == EPERM ? 0 : -errno;
	if (setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0) {
		set_limit(RLIMIT_NPROC, THREADS_MAX);
		return 0;
	}
	if (errno == EINVAL && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	    setresuid(NOBODY, NOBODY, NOBODY) == 0)
		return 0;
	return errno == EINVAL ? 0 : -errno;
}

static int give_up_all(const struct broker_config *config)
{
	int result = change_user();

	if (result == 0)
		result = privileges_drop();
	if (result)
		return result;
	set_limit(RLIMIT_CORE, 0);
	/* Not all of the machine's memory, nor a CPU that nobody else gets. */
	if (!BROKER_SANITIZED)
		set_limit(RLIMIT_DATA, (rlim_t)(DATA_MAX_BYTES + 2 * config->memory_bytes));
	set_limit(RLIMIT_RTTIME, (rlim_t)BUSY_MAX_US);
	prctl(PR_SET_DUMPABLE, BROKER_SANITIZED, 0, 0, 0);
	return filter_install();
}

static int hand_over(const struct broker_config *config, int channel_fd)
{
	int listener_fd = give_up_all(config), result;
	char word;

	if (listener_fd < 0)
		return listener_fd;
	result = rights_send(channel_fd, "", 1, listener_fd);
	close(listener_fd);
	if (result == 0 && recv(channel_fd, &word, 1, 0) != 1)
		result = -ECHILD;
	return result;
}

static const char *why_not(int code)
{
	switch (code) {
	case -ECHILD:
		return "the process that keeps them has not started";
	/* The kernel lets one listen only. */
	case -EBUSY:
		return "somebody listens to our system calls already, as some containers do (seccomp)";
	default:
		return strerror(-code);
	}
}

static int refuse(struct error *err, int code)
{
	return error_set(
		err, code,
		"cannot give up privileges before the target is read: %s (--no-sandbox does without, if the target is trusted)",
		why_not(code));
}

int broker_start(struct broker_hold **out, const struct broker_config *config, struct error *err)
{
	struct broker_hold *hold = calloc(1, sizeof(*hold));
	pid_t own = getpid();
	int ends[2], result;

	if (!hold || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		result = hold ? -errno : -ENOMEM;
		free(hold);
		return refuse(err, result);
	}
	hold->channel_fd = ends[0];
	hold->pid = fork();
	if (hold->pid == 0)
		be_broker(config, ends[1], own);
	result = hold->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (result == 0)
		result = hand_over(config, hold->channel_fd);
	if (result) {
		broker_end(hold);
		return refuse(err, result);
	}
	*out = hold;
	return 0;
}

bool broker_has_ended(const struct broker_hold *hold)
{
	struct pollfd channel = { .fd = hold->channel_fd };

	/* It says nothing more over the channel. */
	return poll(&channel, 1, 0) == 1;
}

void broker_end(struct broker_hold *hold)
{
	if (!hold)
		return;
	(void)!send(hold->channel_fd, "", 1, MSG_NOSIGNAL);
	if (!BROKER_SANITIZED)
		close(hold->channel_fd);
	while (!BROKER_SANITIZED && hold->pid > 0 && waitpid(hold->pid, NULL, 0) < 0 &&
	       errno == EINTR)
		;
	free(hold);
}
