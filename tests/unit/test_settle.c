// SPDX-License-Identifier: GPL-2.0-or-later
/* target/settle.h, of children that sleep, run, are stopped, or have ended. */
#include "target/settle.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "target/proc.h"
#include "target/process.h"
#include "tests/unit/unit.h"

enum {
	LONG_MS = 60000, /* nothing here takes that long, whatever else runs */
	SHORT_MS = 300,
	ROUNDS = 1000,
};

/* Both processes have it. */
static volatile uint64_t *rounds;

static void *run(void *unused)
{
	for (;;)
		++*rounds;
	return unused;
}

/* As for a lock that another has. */
static void *want_lock(void *unused)
{
	static const uint32_t taken = 2;

	*rounds = ROUNDS;
	for (;;)
		syscall(SYS_futex, &taken, FUTEX_WAIT_PRIVATE, taken, NULL, NULL, 0);
	return unused;
}

static bool is_in_futex(const struct process *process)
{
	DIR *tasks = proc_open_list(process->proc_fd, "task");
	char path[64], text[256];
	bool found = false;
	pid_t tid;

	assert_non_null(tasks);
	while ((tid = proc_next(tasks))) {
		snprintf(path, sizeof(path), "task/%d/syscall", tid);
		if (proc_read(process->proc_fd, path, text, sizeof(text)) > 0)
			found |= strtol(text, NULL, 10) == SYS_futex;
	}
	closedir(tasks);
	return found;
}

/* A child with a thread that sleeps and, if there is @work, one that does it. */
static pid_t start(struct process *process, void *(*work)(void *))
{
	int ready[2];
	char byte;
	pid_t pid;

	rounds = mmap(NULL, sizeof(*rounds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(rounds != MAP_FAILED);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		close(ready[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (work && pthread_create(&thread, NULL, work, NULL))
			_exit(1);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	while (work && *rounds < ROUNDS)
		sched_yield();
	assert_int_equal(process_init(process, pid, NULL), 0);
	return pid;
}

static void end(struct process *process, pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	process_deinit(process);
	munmap((void *)rounds, sizeof(*rounds));
}

UNIT_TEST(asleep)
{
	struct process process;
	pid_t pid = start(&process, NULL);

	assert_int_equal(process_settle(&process, LONG_MS, NULL), 0);
	end(&process, pid);
}

UNIT_TEST(running)
{
	struct process process;
	pid_t pid = start(&process, run);

	assert_int_equal(process_settle(&process, LONG_MS, NULL), 0);
	end(&process, pid);
}

/* A lock may be wanted in the middle of something; who waits for so long waits for work. */
UNIT_TEST(wants_lock)
{
	struct process process;
	pid_t pid = start(&process, want_lock);
	uint64_t began;

	while (!is_in_futex(&process))
		sched_yield();
	assert_int_equal(process_settle(&process, SHORT_MS, NULL), -EAGAIN);
	began = clock_now_ns();
	assert_int_equal(process_settle(&process, LONG_MS, NULL), 0);
	assert_true(clock_now_ns() - began >= (uint64_t)SHORT_MS * NS_PER_MS);
	end(&process, pid);
}

/* In the middle of what it does, for any time. */
UNIT_TEST(stopped)
{
	struct process process;
	struct error err = { .text = "" };
	pid_t pid = start(&process, run);
	int status;

	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(process_settle(&process, SHORT_MS, &err), -EAGAIN);
	assert_non_null(strstr(err.text, "neither slept nor run"));
	kill(pid, SIGCONT);
	assert_int_equal(process_settle(&process, LONG_MS, NULL), 0);
	end(&process, pid);
}

UNIT_TEST(gone)
{
	struct process process;
	struct error err = { .text = "" };
	pid_t pid = start(&process, run);

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_not_equal(process_settle(&process, LONG_MS, &err), 0);
	assert_non_null(strstr(err.text, "cannot look at the threads"));
	process_deinit(&process);
}

UNIT_MAIN(NULL, NULL)
