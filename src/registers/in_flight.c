// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A BPF iterator looks at the registers with which each thread of the target has entered the kernel
 * last. drained.c has interrupted every CPU since the newer body was published, so these are of a
 * later moment. A look takes 15 us with one thread. To load the iterator takes 15 to 20 ms, for the
 * kernel's types: that passes while the start of following waits anyway.
 *
 * Measured with four breakpoints that are hit all the time: of 13,346 times that a thread lost its
 * CPU, 13,205 were at a body's first instruction just after its breakpoint had fired (the resume
 * flag is set), and 7 there before it could. The rule for system calls and the runtime's code is
 * for a thread that has made the last call that is counted, woken the thread that compiles the
 * newer body, and lost its CPU to that: it goes to the old body then, though none of its registers
 * says so. Seen once, as one missed call of 40,240; a test stops a thread there. On a busy machine
 * such a thread may have run for a moment only when much time has passed, so what counts is how
 * long it has had a CPU.
 */
#include "registers/in_flight.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/in_flight.h"

#include "bpf/in_flight.skel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "probe/programs.h"
#include "target/process.h"

enum {
	TRIES_MAX = 3,
	ENTRIES_MAX = 8, /* twice as many as there are debug registers */
};

/*
 * So much of a CPU a thread may have and still be on its way out of the dispatch code, which takes
 * a third of that.
 */
#define PASSING_NS (300 * NS_PER_US)

/* An entry that was looked for, and threads that may be on the way there: fewer each time. */
struct looked_for {
	uint64_t entry; /* 0: none */
	uint64_t since_ns;
	size_t count;
	struct in_flight_suspect suspects[IN_FLIGHT_SUSPECTS_MAX];
};

struct in_flight {
	struct process *process;
	struct in_flight_bpf *bpf;
	struct programs *loaded;
	int link_fd; /* by it a look can begin */
	struct looked_for looked_for[ENTRIES_MAX];
	size_t next;
};

static int attach(struct in_flight *in_flight)
{
	union bpf_iter_link_info target = {
		.task.pid_fd = (uint32_t)in_flight->process->pidfd,
	};
	LIBBPF_OPTS(bpf_link_create_opts, options, .iter_info = &target,
		    .iter_info_len = sizeof(target));
	int program_fd = programs_fd(in_flight->loaded, in_flight->bpf->progs.find_in_flight);

	in_flight->link_fd = bpf_link_create(program_fd, 0, BPF_TRACE_ITER, &options);
	return in_flight->link_fd < 0 ? in_flight->link_fd : 0;
}

int in_flight_create(struct in_flight **out, struct process *process, struct error *err)
{
	const struct programs_how how = { .object = PROGRAMS_IN_FLIGHT };
	struct in_flight *in_flight = calloc(1, sizeof(*in_flight));
	int result;

	if (!in_flight)
		return error_set(err, -ENOMEM, "no memory to follow methods");
	in_flight->process = process;
	in_flight->link_fd = -1;
	in_flight->bpf = in_flight_bpf__open();
	result = in_flight->bpf ?
			 programs_load(&in_flight->loaded, in_flight->bpf->skeleton, &how) :
			 -errno;
	if (result == 0)
		result = attach(in_flight);
	if (result) {
		in_flight_destroy(in_flight);
		return error_set(
			err, -ENOTSUP,
			"this kernel does not tell where threads are (%s), so it cannot be known when a body is drained: run Linux 6.1 or later",
			strerror(-result));
	}
	*out = in_flight;
	return 0;
}

/* Every read runs the program for some of the threads. */
static int run(struct in_flight *in_flight)
{
	_cleanup_close_ int fd = bpf_iter_create(in_flight->link_fd);
	char nothing;
	ssize_t got;

	if (fd < 0)
		return fd;
	do {
		got = read(fd, &nothing, sizeof(nothing));
	} while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
	return got < 0 ? -errno : 0;
}

/* Look at all threads: 0, or -EAGAIN if that was not to be had. */
static int look_at_all(struct in_flight *in_flight, struct address entry,
		       const struct dispatch_code *dispatch)
{
	struct in_flight_shared *shared = &in_flight->bpf->bss->in_flight;
	long count;

	for (int i = 0; i < TRIES_MAX; i++) {
		int result;

		shared->entry = entry.value;
		shared->dispatch_begin = dispatch->begin.value;
		shared->dispatch_end = dispatch->end.value;
		shared->library_begin = dispatch->library_begin.value;
		shared->library_end = dispatch->library_end.value;
		shared->held_at = dispatch->held_at.value;
		shared->seen = shared->found = shared->suspect_count = 0;
		result = run(in_flight);
		if (result)
			return result;
		/* On some kernels (before 6.7) the list ends where a thread ends just then. */
		count = process_thread_count(in_flight->process);
		if (count >= 0 && shared->seen >= (uint64_t)count)
			return shared->suspect_count <= IN_FLIGHT_SUSPECTS_MAX ? 0 : -EAGAIN;
	}
	return -EAGAIN;
}

static struct looked_for *find(struct in_flight *in_flight, uint64_t entry, uint64_t since_ns)
{
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		struct looked_for *looked_for = &in_flight->looked_for[i];

		if (looked_for->entry == entry && looked_for->since_ns == since_ns)
			return looked_for;
	}
	return NULL;
}

static struct looked_for *remember(struct in_flight *in_flight, uint64_t entry, uint64_t since_ns)
{
	const struct in_flight_shared *shared = &in_flight->bpf->bss->in_flight;
	struct looked_for *looked_for = &in_flight->looked_for[in_flight->next++ % ENTRIES_MAX];

	looked_for->entry = entry;
	looked_for->since_ns = since_ns;
	looked_for->count = shared->suspect_count;
	memcpy(looked_for->suspects, shared->suspects,
	       looked_for->count * sizeof(*looked_for->suspects));
	return looked_for;
}

/* @first: as it was at the first look. */
static bool may_come(const struct in_flight_shared *shared, const struct in_flight_suspect *first)
{
	for (size_t i = 0; i < shared->suspect_count; i++) {
		const struct in_flight_suspect *now = &shared->suspects[i];

		if (now->tid == first->tid)
			return now->state == first->state ||
			       now->ran_ns - first->ran_ns < PASSING_NS;
	}
	return false;
}

/*
 * Those still where they were. One that is there only now has come later, and knows where calls
 * go.
 */
static void sift(const struct in_flight_shared *shared, struct looked_for *looked_for)
{
	size_t kept = 0;

	for (size_t i = 0; i < looked_for->count; i++) {
		if (may_come(shared, &looked_for->suspects[i]))
			looked_for->suspects[kept++] = looked_for->suspects[i];
	}
	looked_for->count = kept;
}

int in_flight_look(struct in_flight *in_flight, struct address entry, uint64_t since_ns,
		   const struct dispatch_code *dispatch)
{
	const struct in_flight_shared *shared = &in_flight->bpf->bss->in_flight;
	struct looked_for *looked_for;
	int result = look_at_all(in_flight, entry, dispatch);

	if (result)
		return result;
	looked_for = find(in_flight, entry.value, since_ns);
	if (looked_for)
		sift(shared, looked_for);
	else
		looked_for = remember(in_flight, entry.value, since_ns);
	return shared->found || looked_for->count;
}

void in_flight_destroy(struct in_flight *in_flight)
{
	if (!in_flight)
		return;
	cleanup_close(&in_flight->link_fd);
	programs_destroy(in_flight->loaded);
	in_flight_bpf__destroy(in_flight->bpf);
	free(in_flight);
}
