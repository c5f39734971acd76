// SPDX-License-Identifier: GPL-2.0-or-later
/* target/settle.h, of children that sleep, run, are stopped, or have ended. */
#include "target/settle.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "target/process.h"
#include "tests/unit/unit.h"

enum {
	LONG_MS = 60000, /* nothing here takes that long, whatever else runs */
	SHORT_MS = 300,
};

/* Both processes have it. */
static volatile uint64_t *rounds;

static void *run(void *unused)
{
	for (;;)
		++*rounds;
	return unused;
}

/* A child with a thread that sleeps and, if it @runs, one that never does. */
static pid_t start(struct process *process, bool runs)
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
		if (runs && pthread_create(&thread, NULL, run, NULL))
			_exit(1);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	while (runs && *rounds < 1000)
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
	pid_t pid = start(&process, false);

	assert_int_equal(process_settle(&process, LONG_MS, NULL), 0);
	end(&process, pid);
}

UNIT_TEST(running)
{
	struct process process;
	pid_t pid = start(&process, true);

	assert_int_equal(process_settle(&process, LONG_MS, NULL), 0);
	end(&process, pid);
}

/* In the middle of what it does, for any time. */
UNIT_TEST(stopped)
{
	struct process process;
	struct error err = { .text = "" };
	pid_t pid = start(&process, true);
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
	pid_t pid = start(&process, true);

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_not_equal(process_settle(&process, LONG_MS, &err), 0);
	assert_non_null(strstr(err.text, "cannot look at the threads"));
	process_deinit(&process);
}

UNIT_MAIN(NULL, NULL)
