// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the counter app needs and .NET does not offer: children of every kind, many mappings, and functions
 * for its P/Invokes, which count their calls.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum how { HERE, FORK, VFORK, CLONE_MEMORY };

int run_in_child(int how, int (*function)(void *), void *argument);
int make_mappings(int count);

/* A function that a P/Invoke calls, and how often it was called. */
#define COUNTED(name, ...)                                              \
	long name##_calls;                                              \
	int name(__VA_ARGS__);                                          \
	int name(__VA_ARGS__)                                           \
	{                                                               \
		__atomic_fetch_add(&name##_calls, 1, __ATOMIC_RELAXED); \
		return 1;                                               \
	}

/* Whether SetLastError is said, or a string is passed, is the caller's matter. */
COUNTED(counted_direct, int x __attribute__((unused)))
COUNTED(counted_delegate, int x __attribute__((unused)))
COUNTED(counted_pointer, int x __attribute__((unused)))
COUNTED(counted_guarded, int x __attribute__((unused)))
COUNTED(counted_suppressed, int x __attribute__((unused)))
COUNTED(counted_error, long x __attribute__((unused)))
COUNTED(counted_text, const char *text __attribute__((unused)))
COUNTED(counted_one, int x __attribute__((unused)), int y __attribute__((unused)))
COUNTED(counted_other, int x __attribute__((unused)), int y __attribute__((unused)))

/*
 * Run FUNCTION in a child and return the child's wait status. A child of VFORK or CLONE_MEMORY
 * runs in the caller's memory, thread-local storage included: the caller only waits meanwhile,
 * so to the .NET runtime it is the calling thread that has called FUNCTION.
 */
int run_in_child(int how, int (*function)(void *), void *argument)
{
	/* Part of the caller's own stack, or the runtime would not take it for that thread's. */
	char stack[256 << 10] __attribute__((aligned(16)));
	int flags = CLONE_VM | SIGCHLD | (how == VFORK ? CLONE_VFORK : 0);
	int status = -1;
	pid_t child;

	if (how == HERE)
		return function(argument);
	if (how == FORK) {
		child = fork();
		if (child == 0)
			_exit(function(argument));
	} else {
		child = clone(function, stack + sizeof(stack), flags, argument);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return status;
}

/* Neighbouring pages with different protection cannot be one mapping. */
int make_mappings(int count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (size_t)count * page;
	char *pages = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return -1;
	for (size_t offset = 0; offset < size; offset += 2 * page) {
		if (mprotect(pages + offset, page, PROT_READ) != 0)
			return -1;
	}
	return count;
}
