// SPDX-License-Identifier: GPL-2.0-or-later
#include "registers/entrants.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/entrants.h"

#include "bpf/entrants.skel.h"
#include "base/clock.h"
#include "base/error.h"
#include "target/process.h"

enum {
	TRIES_MAX = 3,
	ENTRIES_MAX = 8, /* twice as many as there are debug registers */
};

/* For so long who runs on may still be in the runtime's code; it takes a tenth of that. */
#define PASSING_NS (1 * NS_PER_MS)

/* An entry that was looked for, and who may be on the way there: less from look to look. */
struct looked_for {
	uint64_t entry; /* 0: none */
	uint64_t since_ns;
	uint64_t first_look_ns;
	size_t count;
	struct entrants_suspect suspects[ENTRANTS_SUSPECTS_MAX];
};

struct entrants {
	struct process *process;
	struct entrants_bpf *bpf;
	struct bpf_link *link; /* by it a look can begin */
	struct looked_for looked_for[ENTRIES_MAX];
	size_t next;
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

/* Look at all threads: 0, or -EAGAIN if that was not to be had. */
static int look_at_all(struct entrants *entrants, struct address entry,
		       const struct entrants_runtime *runtime)
{
	struct entrants_shared *shared = &entrants->bpf->bss->entrants;
	long count;

	for (int i = 0; i < TRIES_MAX; i++) {
		int result;

		shared->entry = entry.value;
		shared->runtime_begin = runtime->begin.value;
		shared->runtime_end = runtime->end.value;
		shared->held_at = runtime->held_at.value;
		shared->seen = shared->on_their_way = shared->suspect_count = 0;
		result = run(entrants);
		if (result)
			return result;
		/* On some kernels (before 6.7) the list ends where a thread ends just then. */
		count = process_thread_count(entrants->process);
		if (count >= 0 && shared->seen >= (uint64_t)count)
			return shared->suspect_count <= ENTRANTS_SUSPECTS_MAX ? 0 : -EAGAIN;
	}
	return -EAGAIN;
}

static struct looked_for *find(struct entrants *entrants, uint64_t entry, uint64_t since_ns)
{
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		struct looked_for *looked_for = &entrants->looked_for[i];

		if (looked_for->entry == entry && looked_for->since_ns == since_ns)
			return looked_for;
	}
	return NULL;
}

static struct looked_for *remember(struct entrants *entrants, uint64_t entry, uint64_t since_ns)
{
	const struct entrants_shared *shared = &entrants->bpf->bss->entrants;
	struct looked_for *looked_for = &entrants->looked_for[entrants->next++ % ENTRIES_MAX];

	looked_for->entry = entry;
	looked_for->since_ns = since_ns;
	looked_for->first_look_ns = clock_now_ns();
	looked_for->count = shared->suspect_count;
	memcpy(looked_for->suspects, shared->suspects,
	       looked_for->count * sizeof(*looked_for->suspects));
	return looked_for;
}

static bool may_come(const struct entrants_shared *shared, const struct entrants_suspect *suspect,
		     bool passing)
{
	for (size_t i = 0; i < shared->suspect_count; i++) {
		if (shared->suspects[i].tid == suspect->tid)
			return passing || shared->suspects[i].state == suspect->state;
	}
	return false;
}

/* Those who are still where they were. Who is there only now has come later, and knows where calls go. */
static void sift(const struct entrants_shared *shared, struct looked_for *looked_for)
{
	bool passing = clock_now_ns() - looked_for->first_look_ns < PASSING_NS;
	size_t kept = 0;

	for (size_t i = 0; i < looked_for->count; i++) {
		if (may_come(shared, &looked_for->suspects[i], passing))
			looked_for->suspects[kept++] = looked_for->suspects[i];
	}
	looked_for->count = kept;
}

int entrants_look(struct entrants *entrants, struct address entry, uint64_t since_ns,
		  const struct entrants_runtime *runtime)
{
	const struct entrants_shared *shared = &entrants->bpf->bss->entrants;
	struct looked_for *looked_for;
	int result = look_at_all(entrants, entry, runtime);

	if (result)
		return result;
	looked_for = find(entrants, entry.value, since_ns);
	if (looked_for)
		sift(shared, looked_for);
	else
		looked_for = remember(entrants, entry.value, since_ns);
	return shared->on_their_way || looked_for->count;
}

void entrants_destroy(struct entrants *entrants)
{
	if (!entrants)
		return;
	bpf_link__destroy(entrants->link);
	entrants_bpf__destroy(entrants->bpf);
	free(entrants);
}
