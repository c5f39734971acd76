// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks at each thread of a process, once: who is about to enter a body? It is an object of its
 * own, since only those who follow methods need it.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/in_flight.h"
#include "bpf/arch/arch.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct in_flight_shared in_flight;

/* include/linux/sched.h, as far as it is needed; libbpf finds where this kernel has the members. */
struct sched_entity {
	__u64 sum_exec_runtime;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int __state;
	int pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct sched_entity se;
} __attribute__((preserve_access_index));

/* TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE. */
enum { TASK_SLEEPS = 1 | 2 };

/* struct bpf_iter__task, kernel/bpf/task_iter.c. */
struct task_iteration {
	void *meta;
	struct task_struct *task; /* NULL: there are no more */
};

/*
 * Who is in the runtime's code, or in the library that it calls, may have found out there where to
 * go. In a system call, likewise, if it did not fall asleep there: it has lost its CPU, on its way
 * to or from whoever it has woken, say.
 */
static bool is_suspect(const struct task_struct *task, const bpf_user_pt_regs_t *regs)
{
	__u64 at = instruction_pointer_of(regs);

	if (is_in_system_call(regs))
		return !(task->__state & TASK_SLEEPS);
	if (at >= in_flight.library_begin && at < in_flight.library_end)
		return true;
	return at >= in_flight.dispatch_begin && at < in_flight.dispatch_end &&
	       at != in_flight.held_at;
}

static void suspect(const struct task_struct *task, const bpf_user_pt_regs_t *regs)
{
	__u64 i = in_flight.suspect_count++;

	if (i >= IN_FLIGHT_SUSPECTS_MAX)
		return;
	in_flight.suspects[i].tid = (__u32)task->pid;
	in_flight.suspects[i].ran_ns = task->se.sum_exec_runtime;
	in_flight.suspects[i].state = (hash_registers(regs) + task->nvcsw + task->nivcsw) * 31 +
				      in_flight.suspects[i].ran_ns;
}

SEC("iter/task")
int find_in_flight(struct task_iteration *ctx)
{
	struct task_struct *task = ctx->task;
	const bpf_user_pt_regs_t *regs;

	if (!task)
		return 0;
	regs = (const bpf_user_pt_regs_t *)bpf_task_pt_regs(task);
	in_flight.seen++;
	if (is_in_flight(regs, in_flight.entry))
		in_flight.found++;
	if (is_suspect(task, regs))
		suspect(task, regs);
	return 0;
}
