/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target: one process, held so that a reused PID cannot be taken for it.
 *
 * Everything is read through a descriptor of its /proc directory, which is bound
 * to the process and not to the number: once the process is gone every read
 * fails with ESRCH, whoever has the number then. A pidfd tells when that happens.
 */
#ifndef TARGET_PROCESS_H
#define TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct process {
	pid_t pid;	/* thread group id in our PID namespace */
	int pidfd;	/* readable once the whole process has exited */
	int proc_fd;	/* /proc/PID */
	pid_t view_tid; /* the live thread that memory is seen through */
	int view_fd;	/* /proc/TID of it: the main thread may have exited */
	char comm[16];	/* of the main thread */

	/* How BPF programs tell the target: its id in its own PID namespace. */
	pid_t ns_pid;
	uint64_t pid_ns_dev;
	uint64_t pid_ns_inode;
	bool initial_pid_ns; /* we see the ids that the kernel itself uses */
};

/* None is held; process_deinit() may be called. */
#define PROCESS_NONE ((struct process){ .pidfd = -1, .proc_fd = -1, .view_fd = -1 })

/*
 * Take hold of process @pid. Refuses, with one sentence in @err: -ESRCH (no such
 * process, zombie), -EINVAL (kernel thread, a thread's id), -EACCES (not permitted),
 * -ENOTSUP (32-bit or another architecture). Ends with process_deinit().
 */
int process_init(struct process *process, pid_t pid, struct error *err);
/*
 * Hold the same process once more, for another thread: descriptors of our own, no second look at
 * the number. -errno with
 * @err set.
 */
int process_copy(struct process *copy, const struct process *process, struct error *err);
void process_deinit(struct process *process);

/* Has the process not exited yet? */
bool process_is_alive(const struct process *process);

/* How many threads the process has, those included that are just ending. -errno. */
long process_thread_count(const struct process *process);

/* Is thread @tid of the process alive (exists, and is neither zombie nor dead)? */
bool process_thread_alive(const struct process *process, pid_t tid);

/* To ask that often, for as long as the descriptor is open; to be closed by the caller. -errno. */
int process_open_thread(const struct process *process, pid_t tid);
bool process_thread_lives(int thread_fd);

/* The id that thread @tid of the process has in the target's PID namespace. */
pid_t process_thread_ns_id(const struct process *process, pid_t tid);

/*
 * Where the stack pointer of thread @tid is, as we see its id, if it waits in the kernel (proc(5),
 * /proc/PID/task/TID/syscall). 0 if that cannot be told, as of a thread that runs.
 */
uint64_t process_stack_pointer(const struct process *process, pid_t tid);

/*
 * Open /proc/PID/@name as seen by a live thread: "maps", "map_files/…", "root/…".
 * Returns a descriptor or a negative errno; -ESRCH once the process has exited.
 */
int process_open(struct process *process, const char *name, int flags);

/* The same for what the process has open, by its @number: in one call, if that thread is there. */
int process_open_descriptor(struct process *process, int number, int flags);

/*
 * Read all of /proc/PID/@name into memory that the caller frees: at most @limit
 * bytes, followed by a NUL that is not counted. -EFBIG if there is more.
 */
int process_read_file(struct process *process, const char *name, size_t limit_bytes, char **bytes,
		      size_t *length, struct error *err);

/*
 * Open a file that only names are read of: @name beneath the target's root, not through links, a
 * regular file of at most @most bytes that belongs to the target's user or root and that nobody
 * else may write. A descriptor, -ENOENT if there is none, or -errno with @err set if there is one
 * that cannot be trusted.
 */
int process_open_owned(struct process *process, const char *name, off_t most, struct error *err);

/* The same of /tmp/perf-PID.map, as the runtime may have written it. */
int process_open_perf_map(struct process *process, struct error *err);

#endif
