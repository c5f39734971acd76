// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks at each thread of a process, once: who is about to enter a body? It is an object of its own, since
 * only those who follow methods need it. No kernel types are used: of the iterator's context only where the task is.
 */
#include <stdbool.h>

#include <linux/ptrace.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/entrants.h"
#include "bpf/entrants_x86.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct entrants_shared entrants;

/* struct bpf_iter__task, kernel/bpf/task_iter.c. */
struct task_iteration {
	void *meta;
	struct task_struct *task; /* NULL: there are no more */
};

SEC("iter/task")
int find_entrants(struct task_iteration *ctx)
{
	struct task_struct *task = ctx->task;
	const struct pt_regs *regs;

	if (!task)
		return 0;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	entrants.seen++;
	if (is_on_its_way(regs, entrants.entry))
		entrants.on_their_way++;
	return 0;
}
