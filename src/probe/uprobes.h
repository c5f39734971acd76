/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes on the target: one uprobe_multi link per file where the kernel has it, else
 * one perf event per site. Both are limited to the target's memory by the kernel, and
 * the BPF program checks the process once more. Every probe lives in a descriptor of
 * this process: however it ends, the probes end with it.
 */
#ifndef PROBE_UPROBES_H
#define PROBE_UPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image/space.h"

struct error;
struct process;
struct uprobes;

enum uprobe_means {
	UPROBE_MULTI,
	UPROBE_PERF,
};

enum {
	/*
	 * Closing a perf uprobe waits for an RCU grace period under one kernel-wide lock (80 ms
	 * each was measured, however many threads close), also when this process is killed.
	 */
	UPROBE_PERF_CLOSE_MS = 80,
	UPROBE_PERF_MAX_SITES = 100,
};

struct uprobe_site {
	int file_fd;
	int error; /* set by uprobes_attach(): 0, or why the kernel refused it */
	struct file_offset offset;
	uint64_t cookie; /* bpf_get_attach_cookie() in the program */
};

/* uprobe_multi's part of union bpf_attr, which the libbpf of Debian 12 does not have yet. */
struct link_create_uprobe_multi {
	uint32_t program_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t unused;
};

/* What the kernel tells of such a link, of struct bpf_link_info, from Linux 6.8 on. */
struct link_info_uprobe_multi {
	uint32_t type;
	uint32_t id;
	uint32_t program_id;
	uint32_t padding;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t path_size;
	uint32_t count;
	uint32_t flags;
	uint32_t pid;
};

/* The value that a program for UPROBE_MULTI must be loaded with, BPF_TRACE_UPROBE_MULTI. */
enum { UPROBE_MULTI_ATTACH_TYPE = 48 };

/* Make such a link; -errno. */
int uprobe_multi_link(const struct link_create_uprobe_multi *attr);

/*
 * Does the kernel have uprobe_multi with a filter by process? (6.6 has it, but filters by
 * thread until 6.10.) Tried out, not derived from the version.
 */
bool uprobe_multi_works(void);

/*
 * Does a uprobe on code in a shared mapping (run-time-compiled code is in one) fire on this kernel?
 * The kernels known so far take it and never fire it. Tried out on code of our own, by a perf event
 * without BPF: 1 if so, 0 if not, -errno with @err set if that cannot be told.
 */
int uprobe_shared_works(struct error *err);

/* The kernel's number for perf events that are uprobes. -errno with @err set. */
int uprobe_perf_type(uint32_t *type, struct error *err);

/* Open such an event at @offset of file @fd, for the memory of thread @tid; 0: ours. -errno. */
int uprobe_perf_open(uint32_t type, int fd, struct file_offset offset, pid_t tid);

/* @process must outlive the result. -ENOMEM, or -errno with @err set. */
int uprobes_create(struct uprobes **uprobes, enum uprobe_means means, int program_fd,
		   struct process *process, struct error *err);

/*
 * Attach @sites, which the caller has sorted by file, and whose descriptors it may close then. A
 * site that the kernel refuses gets its errno and does not keep the others from being attached.
 * Fails, attaching nothing, only where nothing could be attached at all.
 */
int uprobes_attach(struct uprobes *uprobes, struct uprobe_site *sites, size_t count,
		   struct error *err);

/*
 * Is the thread that they hang on still there? Perf uprobes have one, links of uprobe_multi the one
 * that led the process when they were made.
 */
bool uprobes_anchored(const struct uprobes *uprobes);

/*
 * Without that thread they do not fire: perf uprobes if it exits, both if another has executed a
 * program: put them on another. Call now and then. 1 if that was necessary (calls may have been
 * missed), 0 if not, or a negative errno with @err set.
 */
int uprobes_keep(struct uprobes *uprobes, struct error *err);

/* About how long uprobes_destroy() will take; both also of NULL. */
unsigned int uprobes_detach_ms(const struct uprobes *uprobes);

/* Detach everything; returns when the target's code is as it was. */
void uprobes_destroy(struct uprobes *uprobes);

#endif
