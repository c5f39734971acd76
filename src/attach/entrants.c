// SPDX-License-Identifier: GPL-2.0-or-later
#include "attach/entrants.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/entrants.h"

#include "bpf/entrants.skel.h"
#include "error.h"
#include "target/process.h"

enum { TRIES_MAX = 3 };

struct entrants {
	struct process *process;
	struct entrants_bpf *bpf;
	struct bpf_link *link; /* by it a look can begin */
};

static int attach(struct entrants *entrants)
{
	union bpf_iter_link_info target = {
		.task.pid_fd = (uint32_t)entrants->process->pidfd,
	};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &target,
		    .link_info_len = sizeof(target));

	entrants->link = bpf_program__attach_iter(entrants->bpf->progs.find_entrants, &options);
	return entrants->link ? 0 : -errno;
}

int entrants_create(struct entrants **out, struct process *process, struct error *err)
{
	struct entrants *entrants = calloc(1, sizeof(*entrants));
	int result;

	if (!entrants)
		return error_set(err, -ENOMEM, "no memory to follow methods");
	entrants->process = process;
	entrants->bpf = entrants_bpf__open_and_load();
	result = entrants->bpf ? attach(entrants) : -errno;
	if (result) {
		entrants_destroy(entrants);
		return error_set(
			err, -ENOTSUP,
			"this kernel does not tell where threads are (%s), so it cannot be known when a body is left: Linux 6.1 or later is needed",
			strerror(-result));
	}
	*out = entrants;
	return 0;
}

/* Every read runs the program for some of the threads. */
static int run(struct entrants *entrants)
{
	int fd = bpf_iter_create(bpf_link__fd(entrants->link));
	char nothing;
	ssize_t got;

	if (fd < 0)
		return fd;
	do {
		got = read(fd, &nothing, sizeof(nothing));
	} while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
	if (got < 0)
		got = -errno;
	close(fd);
	return (int)got;
}

int entrants_look(struct entrants *entrants, struct address entry)
{
	struct entrants_shared *shared = &entrants->bpf->bss->entrants;
	long count;

	for (int i = 0; i < TRIES_MAX; i++) {
		int result;

		*shared = (struct entrants_shared){ .entry = entry.value };
		result = run(entrants);
		if (result)
			return result;
		if (shared->on_their_way)
			return 1;
		/* On some kernels (before 6.7) the list ends where a thread ends just then. */
		count = process_thread_count(entrants->process);
		if (count >= 0 && shared->seen >= (uint64_t)count)
			return 0;
	}
	return -EAGAIN;
}

void entrants_destroy(struct entrants *entrants)
{
	if (!entrants)
		return;
	bpf_link__destroy(entrants->link);
	entrants_bpf__destroy(entrants->bpf);
	free(entrants);
}
