// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * churn        threads, children and signals that come and go all the time, until a line comes on standard input; then
 *              what was counted, as JSON
 * churn again  executes itself anew, from a thread that is not the main one, until its standard input ends, and says so
 */
#include "blocked.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MAKERS = 2,
	LIFE_NS = 2000000,
	PAUSE_NS = 300000,
	EXEC_NS = 3000000,
};

static volatile int ending;
static volatile long made, finished, wrong, sent, handled, children, backwards, interrupted;

static void count(volatile long *counter, long by)
{
	__atomic_add_fetch(counter, by, __ATOMIC_SEQ_CST);
}

static void sleep_ns(long ns)
{
	struct timespec time = { .tv_nsec = ns };

	/* Who is interrupted by a signal sleeps on. */
	while (nanosleep(&time, &time) < 0)
		count(&interrupted, 1);
}

static void *live(void *argument)
{
	unsigned int seed = (unsigned int)(uintptr_t)argument;

	sleep_ns(rand_r(&seed) % LIFE_NS);
	count(&wrong, code_check());
	count(&finished, 1);
	return NULL;
}

static void *make(void *argument)
{
	pthread_t thread;

	(void)argument;
	while (!ending) {
		if (pthread_create(&thread, NULL, live, (void *)(uintptr_t)made) == 0) {
			pthread_detach(thread);
			count(&made, 1);
		}
		sleep_ns(PAUSE_NS);
	}
	return NULL;
}

/* Time in the kernel's own code, which no stop may turn back. */
static void *watch_clock(void *argument)
{
	struct timespec before, now;

	(void)argument;
	clock_gettime(CLOCK_MONOTONIC, &before);
	while (!ending) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec < before.tv_sec ||
		    (now.tv_sec == before.tv_sec && now.tv_nsec < before.tv_nsec))
			count(&backwards, 1);
		before = now;
	}
	return NULL;
}

static void *send_signals(void *argument)
{
	(void)argument;
	while (!ending) {
		if (kill(getpid(), SIGRTMIN + 1) == 0)
			sent++;
		sleep_ns(PAUSE_NS);
	}
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	count(&handled, 1);
}

static void reap(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	count(&children, 1);
	count(&wrong, status != 0);
}

static void *fork_children(void *argument)
{
	(void)argument;
	while (!ending) {
		pid_t child = fork();

		if (child == 0)
			_exit(code_check());
		reap(child);
		child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		reap(child);
	}
	return NULL;
}

static void churn(void)
{
	static void *(*const parts[])(void *) = { make, make, watch_clock, send_signals,
						  fork_children };
	enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
	pthread_t threads[PARTS];
	char line[16];

	for (int i = 0; i < PARTS; i++) {
		if (pthread_create(&threads[i], NULL, parts[i], NULL))
			abort();
	}
	printf("{\"pid\": %d}\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		abort();
	ending = 1;
	for (int i = 0; i < PARTS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 10000 && (finished < made || handled < sent); i++)
		sleep_ns(1000000);
	printf("{\"made\": %ld, \"finished\": %ld, \"wrong\": %ld, \"sent\": %ld, \"handled\": %ld, \"children\": %ld, \"backwards\": %ld}\n",
	       made, finished, wrong, sent, handled, children, backwards);
}

static void *execute(void *program)
{
	char *argv[] = { program, "again", NULL };

	sleep_ns(EXEC_NS);
	execv(program, argv);
	abort();
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct pollfd input = { .fd = STDIN_FILENO };
	pthread_t thread;

	sigaction(SIGRTMIN + 1, &action, NULL);
	code_map();
	if (argc == 1) {
		churn();
		return 0;
	}
	if (poll(&input, 1, 0) == 1) {
		printf("{\"wrong\": %d}\n", code_check());
		return 0;
	}
	if (pthread_create(&thread, NULL, execute, argv[0]))
		return 1;
	pthread_join(thread, NULL);
	return 1;
}
