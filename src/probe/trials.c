// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel has of uprobes (uprobes.h): tried out on code of our own, before the plan says
 * what gets which probe.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/request.h"
#include "probe/uprobes.h"

enum {
	TRIAL_CALLS = 10,
	TRIALS = 2,
};

/* Tried out by whoever may load a program. */
static bool try_multi(void)
{
	const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	uint64_t offset = 0;
	struct link_create_uprobe_multi attr = {
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uint64_t)(uintptr_t) "/",
		.offsets = (uint64_t)(uintptr_t)&offset,
		.count = 1,
	};
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", return_0,
					       sizeof(return_0) / sizeof(return_0[0]), &options);

	if (fd < 0)
		return false;
	/* A directory cannot be probed: EBADF says that the kernel knew what was asked for. */
	attr.program_fd = (uint32_t)fd;
	if (uprobe_multi_link(&attr) != -EBADF)
		return false;
	/* The kernels that filter by process check the pid first, and this is none. */
	attr.pid = (uint32_t)-1;
	return uprobe_multi_link(&attr) == -EINVAL;
}

bool uprobe_multi_works(void)
{
	struct request_answer request = { 0 };

	if (request_make(REQUEST_TRY_MULTI, &request))
		return request.result == 1;
	return try_multi();
}

int uprobe_perf_type(uint32_t *type, struct error *err)
{
	static const char path[] = "/sys/bus/event_source/devices/uprobe/type";
	FILE *file = fopen(path, "re");
	int fields;

	if (!file)
		return error_set(
			err, -errno,
			"this kernel has no uprobes for perf (%s: %s): leave --uprobe-by=perf out, or take a kernel with CONFIG_UPROBE_EVENTS",
			path, strerror(errno));
	fields = fscanf(file, "%u", type);
	fclose(file);
	return fields == 1 ?
		       0 :
		       error_set(err, -EPROTO,
				 "%s holds no number: --self-test says what this kernel offers",
				 path);
}

/* Call @code TRIAL_CALLS times: how often has the event fired by then, in all? */
static int64_t count_trial_hits(const void *code, int event_fd)
{
	uint64_t hits = 0;
	void (*call)(void);

	memcpy(&call, &code, sizeof(call));
	for (int i = 0; i < TRIAL_CALLS; i++)
		call();
	return read(event_fd, &hits, sizeof(hits)) == sizeof(hits) ? (int64_t)hits : -EIO;
}

static void *close_trial(void *argument)
{
	close((int)(intptr_t)argument);
	return NULL;
}

/* That takes the kernel 80 ms, which nobody needs to wait for. */
static void close_aside(int fd)
{
	sigset_t all, before;
	pthread_t thread;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&thread, NULL, close_trial, (void *)(intptr_t)fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result)
		close(fd);
	else
		pthread_detach(thread);
}

/* Map and call the function in @fd with one @flags after the other: how often did a uprobe fire? */
static int try_mappings(int fd, uint32_t perf_type, const int flags[TRIALS], int64_t hits[TRIALS])
{
	int event_fd = uprobe_perf_open(perf_type, fd, (struct file_offset){ 0 }, 0),
	    result = event_fd < 0 ? event_fd : 0;
	int64_t before = 0;

	for (int i = 0; i < TRIALS && result == 0; i++) {
		void *code = mmap(NULL, arch.empty_function_bytes, PROT_READ | PROT_EXEC, flags[i],
				  fd, 0);

		if (code == MAP_FAILED) {
			result = -errno;
			break;
		}
		hits[i] = count_trial_hits(code, event_fd);
		result = hits[i] < 0 ? (int)hits[i] : 0;
		hits[i] -= before;
		before += hits[i];
		munmap(code, arch.empty_function_bytes);
	}
	if (event_fd >= 0)
		close_aside(event_fd);
	return result;
}

static int try_on_code(uint32_t perf_type, const int flags[TRIALS], int64_t hits[TRIALS])
{
	_cleanup_close_ int fd = memfd_create("place-probe-trial", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* The rest of the page is zeros. */
	if (write(fd, arch.empty_function, arch.empty_function_bytes) !=
	    (ssize_t)arch.empty_function_bytes)
		return -EIO;
	return try_mappings(fd, perf_type, flags, hits);
}

int uprobe_shared_works(struct error *err)
{
	static const int flags[TRIALS] = { MAP_PRIVATE, MAP_SHARED };
	int64_t hits[TRIALS] = { 0 };
	uint32_t perf_type;
	int result = uprobe_perf_type(&perf_type, err);

	if (result)
		return result;
	result = try_on_code(perf_type, flags, hits);
	if (result)
		return error_set(err, result, "cannot try a uprobe on code of our own: %s",
				 strerror(-result));
	/* Where it does not work as it must, what the other says means nothing. */
	if (hits[0] != TRIAL_CALLS)
		return error_set(
			err, -EIO,
			"a uprobe on code of our own fired %d times for %d calls (--self-test says what this kernel offers)",
			(int)hits[0], TRIAL_CALLS);
	return hits[1] == TRIAL_CALLS;
}
