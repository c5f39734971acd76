// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that is served: its memory and descriptors, which threads are its own and which the
 * target's, and as whom files are opened for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "broker/broker_internal.h"
#include "target/proc.h"

int served_read(const struct broker *broker, uint64_t from, void *to, size_t bytes)
{
	ssize_t got = from > INT64_MAX ? -1 : pread(broker->memory_fd, to, bytes, (off_t)from);

	return got == (ssize_t)bytes ? 0 : -EFAULT;
}

int served_write(const struct broker *broker, uint64_t to, const void *from, size_t bytes)
{
	const struct iovec ours = { (void *)(uintptr_t)from, bytes };
	const struct iovec theirs = { (void *)(uintptr_t)to, bytes };
	ssize_t put = -1;

	if (broker->memory_by_call)
		put = process_vm_writev(broker->served.pid, &ours, 1, &theirs, 1, 0);
	else if (to <= INT64_MAX)
		put = pwrite(broker->memory_fd, from, bytes, (off_t)to);
	return put == (ssize_t)bytes ? 0 : -EFAULT;
}

/* The memory behind it may not be there. */
int served_string(const struct broker *broker, uint64_t from, char *text, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t used = 0;

	while (used < size) {
		size_t part = page - (size_t)((from + used) % page);

		if (part > size - used)
			part = size - used;
		if (served_read(broker, from + used, text + used, part))
			return -EFAULT;
		if (memchr(text + used, '\0', part))
			return 0;
		used += part;
	}
	return -ENAMETOOLONG;
}

int served_descriptor(const struct broker *broker, int fd)
{
	long copy = syscall(SYS_pidfd_getfd, broker->served.pidfd, fd, 0);

	return copy < 0 ? -errno : (int)copy;
}

int served_give(const struct broker *broker, const struct seccomp_notif *call, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = call->id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
	};
	int given = ioctl(broker->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return given < 0 ? -errno : given;
}

/* While the process lives, a number is of none of its threads that is not. */
bool broker_has_thread(const struct process *process, pid_t tid)
{
	char path[32];
	struct proc_stat stat;

	snprintf(path, sizeof(path), "task/%d/stat", tid);
	return tid > 0 && proc_read_stat(process->proc_fd, path, &stat) == 0;
}

/* As whom ------------------------------------------------------------------------------------- */

/* Of the calling thread alone, as the kernel has it. */
static void set_effective(bool all, bool reads_all)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) != 0)
		return;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective = all ? data[i].permitted : 0;
	if (reads_all)
		data[0].effective |= data[0].permitted & 1U << CAP_DAC_READ_SEARCH;
	syscall(SYS_capset, &header, data);
}

/* Who is no other user can read what the target's user can by the capability only. */
void reading_begin(const struct broker *broker, enum reading as)
{
	if (broker->changes_user) {
		setfsgid(as == READING_TARGET ? broker->reader_group : (gid_t)broker->nobody);
		setfsuid(as == READING_TARGET ? broker->reader : broker->nobody);
	}
	set_effective(false, !broker->changes_user && as == READING_TARGET);
}

void reading_end(const struct broker *broker)
{
	set_effective(true, false);
	if (broker->changes_user) {
		setfsuid(geteuid());
		setfsgid(getegid());
	}
}
