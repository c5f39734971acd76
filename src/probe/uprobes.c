// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaches uprobes, for capture/ to what the plan has and for follow/ to what comes up later.
 *
 * The file is given to the kernel as /proc/self/fd/N of a descriptor that was opened by the
 * target's mapping: that very file, whatever has become of its name, in whichever container.
 *
 * Perf uprobes are opened without `inherit`: when an event is inherited the kernel reads the path
 * in perf_event_attr again, in the process that forks, where that pointer means nothing, and
 * clone() in the target fails (seen on 6.18: EFAULT). They are found by the memory of the process,
 * so there is no need to inherit them.
 */
#include "probe/uprobes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vector.h"
#include "probe/closing.h"
#include "target/process.h"
#include "target/refusal.h"

enum {
	KERNEL_ENOTSUPP = 524, /* include/linux/errno.h: an instruction that cannot be probed */
	SPLIT_BUDGET = 512,    /* links tried while looking for refused sites */
	PATH_BYTES = 32,
};

struct perf_probe {
	int event_fd;
	int link_fd;
	struct uprobe_site site;
};

struct multi_link {
	int fd;
	size_t first_site, count; /* of `sites` */
};

/* A file that stays open, once, whoever has opened it. */
struct kept_file {
	int fd;
	dev_t device;
	ino_t inode;
};

struct uprobes {
	enum uprobe_means means;
	int program_fd;
	struct process *process;

	struct kept_file *files; /* probes may have to be put there again, when others closed it */
	size_t file_count;
	size_t file_capacity;

	struct multi_link *links; /* UPROBE_MULTI */
	size_t link_count;
	size_t link_capacity;
	struct uprobe_site *sites; /* those of the links */
	size_t site_count;
	size_t site_capacity;
	unsigned int split_budget;

	struct perf_probe *probes; /* UPROBE_PERF */
	size_t probe_count;
	size_t probe_capacity;
	uint32_t perf_type;
	pid_t anchor_tid; /* the thread whose memory the events are bound to */
	int anchor_fd;	  /* tells whether that lives */
	void *watched;	  /* a page of the first event, so that poll() tells of it */
};

/* The kernel resolves this to the open file itself, deleted or not. */
static void file_path(char path[PATH_BYTES], int fd)
{
	snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* The descriptor, until the end, of the file that is open as @fd; or -errno. */
static int keep_file(struct uprobes *uprobes, int fd)
{
	struct kept_file kept;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	for (size_t i = 0; i < uprobes->file_count; i++) {
		const struct kept_file *file = &uprobes->files[i];

		if (file->device == status.st_dev && file->inode == status.st_ino)
			return file->fd;
	}
	kept = (struct kept_file){ .device = status.st_dev, .inode = status.st_ino };
	kept.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (kept.fd < 0)
		return -errno;
	if (!vector_add(&uprobes->files, &uprobes->file_count, &uprobes->file_capacity, kept)) {
		close(kept.fd);
		return -ENOMEM;
	}
	return kept.fd;
}

/* uprobe_multi -------------------------------------------------------------------------- */

int uprobe_multi_link(const struct link_create_uprobe_multi *attr)
{
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : (int)fd;
}

/* A link on @sites, which are in one file; or -errno. */
static int link_open(const struct uprobes *uprobes, const struct uprobe_site *sites, size_t count)
{
	_cleanup_free_ uint64_t *numbers = calloc(2 * count, sizeof(*numbers));
	char path[PATH_BYTES];
	struct link_create_uprobe_multi attr = {
		.program_fd = (uint32_t)uprobes->program_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uint64_t)(uintptr_t)path,
		.count = (uint32_t)count,
		.pid = (uint32_t)uprobes->process->pid,
	};

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = sites[i].offset.value;
		numbers[count + i] = sites[i].cookie;
	}
	attr.offsets = (uint64_t)(uintptr_t)numbers;
	attr.cookies = (uint64_t)(uintptr_t)(numbers + count);
	file_path(path, sites[0].file_fd);
	return uprobe_multi_link(&attr);
}

static int link_sites(struct uprobes *uprobes, const struct uprobe_site *sites, size_t count)
{
	struct multi_link link = { .first_site = uprobes->site_count, .count = count };
	int file_fd = keep_file(uprobes, sites[0].file_fd);

	if (file_fd < 0)
		return file_fd;
	if (!vector_reserve(&uprobes->sites, &uprobes->site_capacity, link.first_site + count))
		return -ENOMEM;
	link.fd = link_open(uprobes, sites, count);
	if (link.fd < 0)
		return link.fd;
	if (!vector_add(&uprobes->links, &uprobes->link_count, &uprobes->link_capacity, link)) {
		closing_probes(&link.fd, 1);
		return -ENOMEM;
	}
	memcpy(&uprobes->sites[link.first_site], sites, count * sizeof(*sites));
	for (size_t i = 0; i < count; i++)
		uprobes->sites[link.first_site + i].file_fd = file_fd;
	uprobes->site_count += count;
	return 0;
}

/*
 * The kernel knows the process by the thread that led it then. Where another thread has executed a
 * program that is gone, the process goes on under its number, and the link never fires again.
 */
static bool link_leads_nowhere(int fd)
{
	struct link_info_uprobe_multi info = { .pid = 0 };
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)fd,
			  .info_len = sizeof(info),
			  .info = (uint64_t)(uintptr_t)&info },
	};

	/* Linux 6.8: others do not tell, and are too old for the filter. */
	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0 &&
	       attr.info.info_len == sizeof(info) && info.pid == 0;
}

/*
 * The old link goes first: what the new one stops at would be told to both, as its dead thread
 * counts as one of the process still.
 */
static int renew_multi(struct uprobes *uprobes)
{
	for (size_t i = 0; i < uprobes->link_count; i++) {
		struct multi_link *link = &uprobes->links[i];
		int fd;

		closing_probes(&link->fd, 1);
		link->fd = -1;
		fd = link_open(uprobes, &uprobes->sites[link->first_site], link->count);
		if (fd < 0)
			return fd;
		link->fd = fd;
	}
	return 0;
}

static bool has_lost_link(const struct uprobes *uprobes)
{
	for (size_t i = 0; i < uprobes->link_count; i++) {
		if (uprobes->links[i].fd < 0)
			return true;
	}
	return uprobes->link_count && link_leads_nowhere(uprobes->links[0].fd);
}

/* One bad site makes the whole link fail: halve until the bad ones stand alone. */
static void attach_range(struct uprobes *uprobes, struct uprobe_site *sites, size_t count)
{
	int result = link_sites(uprobes, sites, count);
	bool may_be_one_site = result == -KERNEL_ENOTSUPP || result == -EINVAL || result == -EIO ||
			       result == -EOPNOTSUPP || result == -EFAULT;

	if (result == 0)
		return;
	if (count == 1 || !may_be_one_site || uprobes->split_budget < 2) {
		for (size_t i = 0; i < count; i++)
			sites[i].error = result;
		return;
	}
	uprobes->split_budget -= 2;
	attach_range(uprobes, sites, count / 2);
	attach_range(uprobes, sites + count / 2, count - count / 2);
}

static void attach_multi(struct uprobes *uprobes, struct uprobe_site *sites, size_t count)
{
	uprobes->split_budget = SPLIT_BUDGET;
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && sites[end].file_fd == sites[first].file_fd;)
			end++;
		attach_range(uprobes, sites + first, end - first);
	}
}

/* perf events --------------------------------------------------------------------------- */

int uprobe_perf_open(uint32_t type, int fd, struct file_offset offset, pid_t tid)
{
	char path[PATH_BYTES];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = offset.value,
	};
	long event_fd;

	file_path(path, fd);
	event_fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return event_fd < 0 ? -errno : (int)event_fd;
}

static int probe_open(const struct uprobes *uprobes, const struct uprobe_site *site,
		      struct perf_probe *probe)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = site->cookie);

	*probe = (struct perf_probe){ .site = *site };
	probe->event_fd = uprobe_perf_open(uprobes->perf_type, site->file_fd, site->offset,
					   uprobes->anchor_tid);
	if (probe->event_fd < 0)
		return probe->event_fd;
	probe->link_fd =
		bpf_link_create(uprobes->program_fd, probe->event_fd, BPF_PERF_EVENT, &options);
	if (probe->link_fd < 0)
		closing_probes(&probe->event_fd, 1);
	return probe->link_fd < 0 ? probe->link_fd : 0;
}

static void probe_close(const struct perf_probe *probe)
{
	const int fds[] = { probe->link_fd, probe->event_fd };

	closing_probes(fds, sizeof(fds) / sizeof(fds[0]));
}

static void unwatch(struct uprobes *uprobes)
{
	if (uprobes->watched)
		munmap(uprobes->watched, (size_t)sysconf(_SC_PAGESIZE));
	uprobes->watched = NULL;
}

/* Where that is refused, an exec by a thread is not noticed. */
static void watch(struct uprobes *uprobes)
{
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
			  uprobes->probes[0].event_fd, 0);

	uprobes->watched = page == MAP_FAILED ? NULL : page;
	// cppcheck-suppress memleak
}

static int attach_perf(struct uprobes *uprobes, struct uprobe_site *sites, size_t count)
{
	int file_fd = -1;

	if (!vector_reserve(&uprobes->probes, &uprobes->probe_capacity,
			    uprobes->probe_count + count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct perf_probe *probe = &uprobes->probes[uprobes->probe_count];
		struct uprobe_site site = sites[i];

		if (i == 0 || sites[i].file_fd != sites[i - 1].file_fd)
			file_fd = keep_file(uprobes, sites[i].file_fd);
		site.file_fd = file_fd;
		sites[i].error = file_fd < 0 ? file_fd : probe_open(uprobes, &site, probe);
		if (sites[i].error == 0)
			uprobes->probe_count++;
	}
	if (uprobes->probe_count && !uprobes->watched)
		watch(uprobes);
	return 0;
}

/* The main thread if it lives: it is the one that mostly stays. */
static void choose_anchor(struct uprobes *uprobes)
{
	const pid_t tids[] = { uprobes->process->pid, uprobes->process->view_tid };

	for (int i = 0; i < 2 && !process_thread_lives(uprobes->anchor_fd); i++) {
		cleanup_close(&uprobes->anchor_fd);
		uprobes->anchor_tid = tids[i];
		uprobes->anchor_fd = process_open_thread(uprobes->process, tids[i]);
	}
}

/* Has the thread ended? If another one has executed a program it has that thread's number. */
static bool anchor_has_ended(const struct uprobes *uprobes)
{
	struct pollfd event = { .fd = uprobes->probes[0].event_fd };

	return !process_thread_lives(uprobes->anchor_fd) ||
	       (uprobes->watched && poll(&event, 1, 0) == 1 && event.revents & POLLHUP);
}

static int renew_perf(struct uprobes *uprobes)
{
	unwatch(uprobes);
	choose_anchor(uprobes);
	for (size_t i = 0; i < uprobes->probe_count; i++) {
		struct perf_probe renewed;
		int result = probe_open(uprobes, &uprobes->probes[i].site, &renewed);

		/* No thread has that number: the next look tries again. */
		if (result) {
			cleanup_close(&uprobes->anchor_fd);
			uprobes->anchor_fd = -1;
			return result;
		}
		probe_close(&uprobes->probes[i]);
		uprobes->probes[i] = renewed;
	}
	watch(uprobes);
	return 0;
}

/* Both ---------------------------------------------------------------------------------- */

bool uprobes_anchored(const struct uprobes *uprobes)
{
	if (uprobes->means == UPROBE_PERF)
		return uprobes->probe_count == 0 || !anchor_has_ended(uprobes);
	return !has_lost_link(uprobes) || !process_is_alive(uprobes->process);
}

int uprobes_keep(struct uprobes *uprobes, struct error *err)
{
	int fd, result;

	if (uprobes_anchored(uprobes))
		return 0;
	/* Looking for a live view also finds a live thread. */
	fd = process_open(uprobes->process, "stat", 0);
	if (fd == -ESRCH || fd == -ENOENT)
		return 0; /* the process is on its way out */
	if (fd < 0)
		return error_set(err, fd, "cannot look for the thread that probes hang on: %s",
				 strerror(-fd));
	close(fd);
	result = uprobes->means == UPROBE_PERF ? renew_perf(uprobes) : renew_multi(uprobes);
	/* That thread has gone as well: the next look finds another, or none. */
	if (result == -ESRCH)
		return 0;
	if (result)
		return error_set(
			err, result,
			"the thread that probes hang on has ended, and they cannot be put on another: %s (run again)",
			strerror(-result));
	return 1;
}

int uprobes_create(struct uprobes **out, enum uprobe_means means, int program_fd,
		   struct process *process, struct error *err)
{
	struct uprobes *uprobes = calloc(1, sizeof(*uprobes));
	int result = 0;

	if (!uprobes)
		return error_set(err, -ENOMEM, "no memory to attach probes");
	uprobes->means = means;
	uprobes->program_fd = program_fd;
	uprobes->process = process;
	uprobes->anchor_fd = -1;
	if (means == UPROBE_PERF) {
		choose_anchor(uprobes);
		result = uprobe_perf_type(&uprobes->perf_type, err);
	}
	if (result) {
		uprobes_destroy(uprobes);
		return result;
	}
	*out = uprobes;
	return 0;
}

int uprobes_attach(struct uprobes *uprobes, struct uprobe_site *sites, size_t count,
		   struct error *err)
{
	size_t attached = 0;
	int first_error = 0;

	for (size_t i = 0; i < count; i++)
		sites[i].error = 0;
	if (uprobes->means == UPROBE_MULTI)
		attach_multi(uprobes, sites, count);
	else if (attach_perf(uprobes, sites, count))
		return error_set(err, -ENOMEM, "no memory to attach %zu probes", count);

	for (size_t i = 0; i < count; i++) {
		if (sites[i].error == 0)
			attached++;
		else if (!first_error)
			first_error = sites[i].error;
	}
	if (attached || count == 0)
		return 0;
	return error_set(
		err, first_error,
		"the kernel refused all %zu probes: %s%s%s (--self-test says what it offers)",
		count,
		first_error == -KERNEL_ENOTSUPP ? "instructions that it cannot step over" :
						  strerror(-first_error),
		refusal_is(first_error) ? "; " : "",
		refusal_is(first_error) ? refusal_remedy() : "");
}

unsigned int uprobes_detach_ms(const struct uprobes *uprobes)
{
	return uprobes ? (unsigned int)uprobes->probe_count * UPROBE_PERF_CLOSE_MS : 0;
}

static void detach(const struct uprobes *uprobes)
{
	size_t count = uprobes->link_count;
	_cleanup_free_ int *fds = calloc(count + 1, sizeof(*fds));

	for (size_t i = 0; i < count; i++) {
		if (fds)
			fds[i] = uprobes->links[i].fd;
		else
			closing_probes(&uprobes->links[i].fd, 1);
	}
	if (fds)
		closing_probes(fds, count);
	for (size_t i = 0; i < uprobes->probe_count; i++)
		probe_close(&uprobes->probes[i]);
}

void uprobes_destroy(struct uprobes *uprobes)
{
	if (!uprobes)
		return;
	unwatch(uprobes);
	detach(uprobes);
	cleanup_close(&uprobes->anchor_fd);
	for (size_t i = 0; i < uprobes->file_count; i++)
		close(uprobes->files[i].fd);
	free(uprobes->files);
	free(uprobes->links);
	free(uprobes->sites);
	free(uprobes->probes);
	free(uprobes);
}
