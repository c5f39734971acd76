// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls that name a file: to open it, to read, or to look what it is. paths.c finds it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/broker_internal.h"

/* A call's directory, path and the rest, however old the call is. */
struct named {
	int directory;
	uint64_t path;
	uint64_t second, third; /* arguments after the path */
};

static struct named name_of(const struct seccomp_notif *call)
{
	const uint64_t *args = (const uint64_t *)call->data.args;

	switch (call->data.nr) {
#ifdef SYS_open /* older ones name no directory */
	case SYS_open:
	case SYS_stat:
	case SYS_lstat:
	case SYS_readlink:
	case SYS_access:
		return (struct named){ AT_FDCWD, args[0], args[1], args[2] };
#endif
	default:
		return (struct named){ (int)args[0], args[1], args[2], args[3] };
	}
}

/* Open what is named, with O_PATH unless it is to be read. */
static int find(const struct broker *broker, const struct named *named, int flags, uint64_t resolve)
{
	char path[PATH_MAX];
	int result = served_string(broker, named->path, path, sizeof(path));

	return result ? result : path_open(broker, named->directory, path, flags, resolve);
}

/* Opening ----------------------------------------------------------------------------------- */

/* A sanitizer's report, where the environment says that it goes: such builds only. */
static int open_report(const struct broker *broker, const struct named *named, int flags)
{
	const char *options = BROKER_SANITIZED ? getenv(BROKER_REPORT_OPTIONS) : NULL;
	const char *at = options ? strstr(options, "log_path=") : NULL;
	char path[PATH_MAX];
	size_t length;
	long fd;

	if (!at || served_string(broker, named->path, path, sizeof(path)))
		return -EACCES;
	at += strlen("log_path=");
	length = strcspn(at, ":");
	if (length == 0 || strncmp(path, at, length) != 0)
		return -EACCES;
	fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, S_IRUSR | S_IWUSR);
	return fd < 0 ? -errno : (int)fd;
}

static int open_named(const struct broker *broker, const struct named *named, int flags,
		      uint64_t resolve)
{
	const int known =
		O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_PATH | O_LARGEFILE;

	/* Nothing is written, made or emptied. */
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & ~(known | O_ACCMODE)))
		return open_report(broker, named, flags);
	/* One without rights cannot be handed over, and would be a way to others' files. */
	return find(broker, named, flags & ~O_PATH, resolve);
}

void answer_open(const struct broker *broker, const struct seccomp_notif *call, struct reply *reply)
{
	const struct named named = name_of(call);
	struct open_how how = { 0 };

	if (call->data.nr == SYS_openat2) {
		if (named.third < sizeof(how) ||
		    served_read(broker, named.second, &how, sizeof(how))) {
			reply->error = -EINVAL;
			return;
		}
	} else {
		how.flags = named.second;
	}
	reply->close_on_exec = how.flags & O_CLOEXEC;
	reply->fd = open_named(broker, &named, (int)how.flags, how.resolve);
	reply->error = reply->fd < 0 ? reply->fd : 0;
}

/* Looking ----------------------------------------------------------------------------------- */

static void answer_statx(const struct broker *broker, const struct seccomp_notif *call,
			 struct reply *reply)
{
	const struct named named = name_of(call);
	int flags = (int)named.second;
	char first = '\1';
	struct statx status;
	_cleanup_close_ int fd = -1;

	(void)served_read(broker, named.path, &first, 1);
	fd = first == '\0' && flags & AT_EMPTY_PATH ?
		     served_descriptor(broker, named.directory) :
		     find(broker, &named, O_PATH | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0),
			  0);
	reply->error = fd;
	if (fd < 0)
		return;
	reply->error =
		statx(fd, "", AT_EMPTY_PATH, (unsigned int)named.third, &status) ? -errno : 0;
	if (reply->error == 0)
		reply->error = served_write(broker, call->data.args[4], &status, sizeof(status));
}

static bool stays_at_link(const struct seccomp_notif *call)
{
#ifdef SYS_lstat
	if (call->data.nr == SYS_lstat)
		return true;
	if (call->data.nr == SYS_stat)
		return false;
#endif
	return call->data.args[3] & AT_SYMLINK_NOFOLLOW;
}

void answer_status(const struct broker *broker, const struct seccomp_notif *call,
		   struct reply *reply)
{
	const struct named named = name_of(call);
	struct stat status;
	_cleanup_close_ int fd = -1;

	if (call->data.nr == SYS_statx) {
		answer_statx(broker, call, reply);
		return;
	}
	fd = find(broker, &named, O_PATH | (stays_at_link(call) ? O_NOFOLLOW : 0), 0);
	reply->error = fd;
	if (fd < 0)
		return;
	reply->error = fstat(fd, &status) ? -errno : 0;
	if (reply->error == 0)
		reply->error = served_write(broker, named.second, &status, sizeof(status));
}

void answer_link(const struct broker *broker, const struct seccomp_notif *call, struct reply *reply)
{
	const struct named named = name_of(call);
	size_t room = named.third < PATH_MAX ? named.third : PATH_MAX;
	char text[PATH_MAX];
	_cleanup_close_ int fd = find(broker, &named, O_PATH | O_NOFOLLOW, 0);
	ssize_t length;

	reply->error = fd;
	if (fd < 0)
		return;
	length = readlinkat(fd, "", text, room);
	/* What is no link is found by this call, and refused by the other name for that. */
	reply->error = length < 0 ? (errno == ENOENT ? -EINVAL : -errno) : 0;
	if (length >= 0)
		reply->error = served_write(broker, named.second, text, (size_t)length);
	reply->value = length;
}

/* Is it there? What may be done with it is not told by this. */
void answer_access(const struct broker *broker, const struct seccomp_notif *call,
		   struct reply *reply)
{
	const struct named named = name_of(call);
	_cleanup_close_ int fd = find(broker, &named, O_PATH, 0);

	reply->error = fd < 0 ? fd : named.second & (W_OK | X_OK) ? -EACCES : 0;
}
