// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a path leads that the process without privileges has named. Four kinds, by what it begins
 * with: what the kernel says of the target and of the process itself (/proc/PID), by a list of
 * names; what lies in the target's own root, read as the target's user; what the user has named on
 * the command line, read as he could; and all else, read as everybody could. Links never lead from
 * one kind to another: those of /proc are not followed in the latter three, and nothing that lies
 * in /proc is handed out there.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/broker_internal.h"

/* What may be asked of a process, in its /proc directory; '#': a number, '*': any name. */
static const char *const of_target[] = {
	"",
	"stat",
	"status",
	"maps",
	"mem",
	"exe",
	"root",
	"root/",
	"fd",
	"fd/#",
	"map_files/*",
	"task",
	"task/#/stat",
	"task/#/status",
	"comm",
	"cmdline",
	"uid_map",
	"ns/*",
	"task/#/syscall",
	"task/#/comm",
};

static const char *const of_served[] = {
	"",	   "stat", "status",	   "maps",	  "exe",	   "fd",
	"fd/#",	   "task", "comm",	   "task/#/stat", "task/#/status", "cmdline",
	"uid_map", "ns/*", "attr/current",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Is @path of the shape that @shape is? What is beneath the root is looked at elsewhere. */
static bool has_shape(const char *path, const char *shape)
{
	for (; *shape; shape++) {
		size_t length = *shape == '#' ? strspn(path, "0123456789") : strcspn(path, "/");

		if (*shape != '#' && *shape != '*')
			length = *path == *shape;
		if (length == 0)
			return false;
		path += length;
		if (strcmp(shape, "/") == 0)
			return true;
	}
	return !*path;
}

static bool is_listed(const char *const *shapes, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (has_shape(path, shapes[i]))
			return true;
	}
	return false;
}

/* Does a part of it lead back? */
static bool goes_up(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += strspn(part, "/");
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
			return true;
		if (!*part)
			break;
	}
	return false;
}

static int open_how(int directory, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve };
	long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static bool is_in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) != 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* What is neither file nor directory might do something when it is opened. */
static int check_plain(int fd)
{
	const dev_t nothing = makedev(1, 3); /* /dev/null */
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && st.st_rdev == nothing))
		return 0;
	return S_ISLNK(st.st_mode) ? -ELOOP : -ENOTSUP;
}

/* The same once more, to be read. */
static int open_again(int found, int flags)
{
	int result = check_plain(found);
	char path[32];

	if (result)
		return result;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	/* Nor is waited for who has a lease on it. */
	return open_how(AT_FDCWD, path, (flags & O_DIRECTORY) | O_RDONLY | O_NONBLOCK | O_NOCTTY,
			0);
}

/* In two steps, as what it is must be known before it is opened to be read. */
static int open_plain(int directory, const char *path, int flags, uint64_t resolve, bool in_proc)
{
	int found =
		open_how(directory, path, O_PATH | (flags & (O_NOFOLLOW | O_DIRECTORY)), resolve);
	int fd;

	if (found < 0 || (flags & O_PATH && (in_proc || !is_in_proc(found))))
		return found;
	fd = in_proc || !is_in_proc(found) ? open_again(found, flags) : -EACCES;
	close(found);
	return fd;
}

/* As somebody else ---------------------------------------------------------------------------- */

static int open_as(const struct broker *broker, enum reading as, int directory, const char *path,
		   int flags, uint64_t resolve)
{
	int fd;

	reading_begin(broker, as);
	fd = open_plain(directory, path, flags, resolve | RESOLVE_NO_MAGICLINKS, false);
	reading_end(broker);
	return fd;
}

/* Links of the target's lead where they lead the target. */
static int open_in_root(const struct broker *broker, int root_fd, const char *path, int flags,
			uint64_t resolve)
{
	return open_as(broker, READING_TARGET, root_fd, path, flags, resolve | RESOLVE_IN_ROOT);
}

/* What the user has named that @path is, or is in; @rest: what follows, or "". NULL: nothing. */
static const char *find_named(const struct broker *broker, const char *path, const char **rest)
{
	for (size_t i = 0; i < broker->config.path_count; i++) {
		const char *named = broker->paths[i];
		size_t length = strlen(named);

		while (length > 1 && named[length - 1] == '/')
			length--;
		if (!length || strncmp(path, named, length) != 0 ||
		    (path[length] && path[length] != '/'))
			continue;
		*rest = path + length + strspn(path + length, "/");
		return named;
	}
	return NULL;
}

/* As the user could, but where a link leads out of it: others may have put that there. */
static int open_named(const char *named, const char *rest, int flags, uint64_t resolve)
{
	_cleanup_close_ int directory = -1;

	if (!*rest)
		return open_plain(AT_FDCWD, named, flags, resolve | RESOLVE_NO_MAGICLINKS, false);
	directory = open_how(AT_FDCWD, named, O_PATH | O_DIRECTORY, RESOLVE_NO_MAGICLINKS);
	return directory < 0 ? directory :
			       open_plain(directory, rest, flags,
					  resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, false);
}

/* As everybody could; where the target sees what we see, as it might by itself. */
static int open_for_all(const struct broker *broker, int directory, const char *path, int flags,
			uint64_t resolve)
{
	int fd = open_as(broker, READING_NOBODY, directory, path, flags, resolve);

	if (fd == -EACCES && broker->same_root)
		fd = open_as(broker, READING_TARGET, directory, path, flags, resolve);
	return fd;
}

static int open_elsewhere(const struct broker *broker, const char *path, int flags,
			  uint64_t resolve)
{
	const char *rest, *named = goes_up(path) ? NULL : find_named(broker, path, &rest);
	int fd = named ? open_named(named, rest, flags, resolve) : -EXDEV;

	return fd == -EXDEV ? open_for_all(broker, AT_FDCWD, path, flags, resolve) : fd;
}

/* /proc/sys and the like, as everybody. */
static int open_of_kernel(const struct broker *broker, const char *path, int flags)
{
	int fd;

	reading_begin(broker, READING_NOBODY);
	fd = open_plain(AT_FDCWD, path, flags, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, true);
	reading_end(broker);
	return fd;
}

/* The target's, and ours ---------------------------------------------------------------------- */

/* In memory. */
static int make_file(const char *text, size_t length)
{
	int fd = (int)syscall(SYS_memfd_create, "copy", 1U /* MFD_CLOEXEC */);

	if (fd < 0)
		return -errno;
	if (write(fd, text, length) == (ssize_t)length && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close(fd);
	return -ENOMEM;
}

/* What may be read by those only who may look at the process, at each time. A copy. */
static int copy_small(int directory, const char *path)
{
	_cleanup_close_ int from = open_how(directory, path, O_RDONLY, 0);
	char text[1024];
	ssize_t got = from < 0 ? -1 : read(from, text, sizeof(text));

	return got < 0 ? -errno : make_file(text, (size_t)got);
}

static bool has_end(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	return length >= size && memcmp(text + length - size, end, size) == 0;
}

static int open_of_process(const struct broker *broker, int directory, const char *rest, int flags,
			   uint64_t resolve)
{
	_cleanup_close_ int root_fd = -1;

	if (!*rest)
		return open_how(directory, ".", flags, 0);
	if (!(flags & O_PATH) && has_end(rest, "/syscall"))
		return copy_small(directory, rest);
	if (strncmp(rest, "root/", 5) != 0)
		return open_plain(directory, rest, flags, resolve, true);
	root_fd = openat(directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0 ? -errno : open_in_root(broker, root_fd, rest + 5, flags, resolve);
}

/* What it has it may read once more, but for directories, which it may not be able to read. */
static int open_of_served(const struct broker *broker, int directory, const char *rest, int flags,
			  uint64_t resolve)
{
	int fd = open_of_process(broker, directory, rest, flags, resolve);
	struct stat st;

	if (fd < 0 || flags & O_PATH || strncmp(rest, "fd/", 3) != 0)
		return fd;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EACCES;
}

/* The directory of thread @tid, if it is one of @process. */
static int open_thread(const struct process *process, pid_t tid)
{
	char path[32];
	int fd;

	if (tid == process->pid)
		return open_how(process->proc_fd, ".", O_RDONLY | O_DIRECTORY, 0);
	snprintf(path, sizeof(path), "/proc/%d", tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* In this order: the number was that thread's when it was opened. */
	if (fd >= 0 && broker_has_thread(process, tid))
		return fd;
	if (fd >= 0)
		close(fd);
	return -ESRCH;
}

/* @path: after "/proc/". */
static int open_in_proc(const struct broker *broker, const char *path, int flags, uint64_t resolve)
{
	char *rest;
	pid_t tid = (pid_t)strtol(path, &rest, 10);
	_cleanup_close_ int directory = -1;

	if ((*rest && *rest != '/') || goes_up(rest))
		return -EACCES;
	rest += strspn(rest, "/");
	directory = open_thread(&broker->target, tid);
	if (directory >= 0)
		return is_listed(of_target, COUNT(of_target), rest) ?
			       open_of_process(broker, directory, rest, flags, resolve) :
			       -EACCES;
	directory = open_thread(&broker->served, tid);
	if (directory < 0)
		return directory;
	return is_listed(of_served, COUNT(of_served), rest) ?
		       open_of_served(broker, directory, rest, flags, resolve) :
		       -EACCES;
}

/* All --------------------------------------------------------------------------------------- */

/* As if it was the broker's own: from the root, and without "self". -errno. */
static int make_whole(const struct broker *broker, const char *path, char whole[PATH_MAX])
{
	static const char self[] = "/proc/self";
	const size_t length = sizeof(self) - 1;
	int used;

	if (strncmp(path, self, length) == 0 && (!path[length] || path[length] == '/'))
		used = snprintf(whole, PATH_MAX, "/proc/%d%s", broker->served.pid, path + length);
	else if (path[0] == '/')
		used = snprintf(whole, PATH_MAX, "%s", path);
	else
		used = snprintf(whole, PATH_MAX, "%s/%s", broker->directory, path);
	if (used >= PATH_MAX)
		return -ENAMETOOLONG;
	while (used > 1 && whole[used - 1] == '/')
		whole[--used] = '\0';
	return 0;
}

static int open_whole(const struct broker *broker, const char *path, int flags, uint64_t resolve)
{
	static const char proc[] = "/proc/";
	const size_t length = sizeof(proc) - 1;

	if (strncmp(path, proc, length) != 0)
		return open_elsewhere(broker, path, flags, resolve);
	if (isdigit((unsigned char)path[length]))
		return open_in_proc(broker, path + length, flags, resolve);
	return goes_up(path) ? -EACCES : open_of_kernel(broker, path, flags);
}

static bool is_root_of_target(const struct broker *broker, int fd)
{
	struct stat root, this;

	return fstatat(broker->target.proc_fd, "root", &root, 0) == 0 && fstat(fd, &this) == 0 &&
	       root.st_ino == this.st_ino && root.st_dev == this.st_dev;
}

/* From a directory that the process has: one of /proc has a name, all else is the target's. */
static int open_from(const struct broker *broker, int directory, const char *path, int flags,
		     uint64_t resolve)
{
	_cleanup_close_ int fd = served_descriptor(broker, directory);
	char link[32], name[PATH_MAX], whole[PATH_MAX];
	ssize_t length;

	if (fd < 0)
		return fd;
	if (!is_in_proc(fd))
		return is_root_of_target(broker, fd) ?
			       open_in_root(broker, fd, path, flags, resolve) :
			       open_for_all(broker, fd, path, flags, resolve | RESOLVE_IN_ROOT);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, name, sizeof(name) - 1);
	if (length < 0)
		return -errno;
	name[length] = '\0';
	if (snprintf(whole, sizeof(whole), "%s/%s", name, path) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	return open_whole(broker, whole, flags, resolve);
}

int path_open(const struct broker *broker, int directory, const char *path, int flags,
	      uint64_t resolve)
{
	char whole[PATH_MAX];
	int result;

	if (!*path)
		return -ENOENT;
	if (path[0] != '/' && directory != AT_FDCWD)
		return open_from(broker, directory, path, flags, resolve);
	/* From the root of the directory that is named, and not from ours. */
	if (resolve & RESOLVE_IN_ROOT)
		return open_from(broker, directory, path, flags, resolve);
	result = make_whole(broker, path, whole);
	return result ? result : open_whole(broker, whole, flags, resolve);
}
