// SPDX-License-Identifier: GPL-2.0-or-later
/* What a program may do that is hard to follow: rows, threads, processes, namespaces, files, hits and traps. */
#include "hostile.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlfcn.h>

enum {
	PAGE = 4096,
	STACK = 64 * 1024,
	AT_ONCE = 500,
	DEPTHS = 64,
	RING_THREADS = 4,
	OF_EACH_PROGRAM = 10,
};

static void turn(void)
{
	atomic_fetch_add(&turns, 1);
}

static bool map_page(char *at, int rights, int fd)
{
	void *mapped = mmap(at, PAGE, rights, MAP_PRIVATE | MAP_FIXED, fd, 0);

	return mapped != MAP_FAILED;
}

/* Each a row of its own, of code in a file: the same page, again and again. */
void way_rows(void)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	char *room = mmap(NULL, number * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long made = 0;

	if (fd < 0 || room == MAP_FAILED)
		_exit(3);
	while (made < number && map_page(room + made * PAGE, PROT_READ | PROT_EXEC, fd))
		made++;
	number = made;
	turn();
	while (goes_on) {
		/* They come and go while they are read. */
		for (unsigned long i = 0; i < made && i < 100; i++)
			(void)map_page(room + i * PAGE, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC,
				       fd);
		usleep(1000);
		turn();
	}
	munmap(room, number * PAGE);
	close(fd);
}

static void *short_life(void *argument)
{
	(void)argument;
	make_hit(1);
	return NULL;
}

/* So many come and go, AT_ONCE at a time, and then so many again. */
void way_threads(void)
{
	pthread_t threads[AT_ONCE];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	turn();
	for (unsigned long made = 0; goes_on || made < number;) {
		size_t count = 0;

		while (count < AT_ONCE &&
		       pthread_create(&threads[count], &small, short_life, NULL) == 0)
			count++;
		for (size_t i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
		made += count;
		turn();
	}
	pthread_attr_destroy(&small);
}

/* Children that run the same code: no hits of the target. */
void way_forks(void)
{
	turn();
	while (goes_on) {
		pid_t child = turns % 2 ? fork() : vfork();

		if (child == 0)
			_exit(turns % 2 ? make_hit(1) : 0);
		make_hit(1);
		waitpid(child, NULL, 0);
		turn();
	}
}

/* The same program again and again, in the same process, until `number` have been there. */
void way_exec(void)
{
	char left[32];
	char *const arguments[] = { (char *)program, (char *)directory, "exec", left, NULL };

	for (int i = 0; i < OF_EACH_PROGRAM; i++)
		make_hit(i);
	if (number == 0)
		return;
	snprintf(left, sizeof(left), "%lu", number - 1);
	execv("/proc/self/exe", arguments);
	_exit(4);
}

/* All that a thread may have for itself. */
static void *unshared_life(void *argument)
{
	(void)argument;
	if (unshare(CLONE_FILES | CLONE_FS) != 0 ||
	    unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET) != 0)
		_exit(5);
	make_hit(1);
	return NULL;
}

/* Threads in namespaces of their own, and now and then a root directory with nothing in it for the whole process. */
void way_unshare(void)
{
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char empty[512];

	snprintf(empty, sizeof(empty), "%s/empty", directory);
	mkdir(empty, 0700);
	while (goes_on || turns == 0) {
		pthread_t thread;

		if (chroot(empty) != 0 || pthread_create(&thread, NULL, unshared_life, NULL) != 0)
			_exit(6);
		pthread_join(thread, NULL);
		usleep(1000);
		if (fchdir(root) != 0 || chroot(".") != 0)
			_exit(7);
		turn();
	}
	close(root);
}

static void path_of(char *path, size_t size, const char *name, unsigned long which)
{
	snprintf(path, size, "%s/%s%lu.so", directory, name, which);
}

static bool copy_bytes(int from, int to)
{
	char bytes[PAGE];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0) {
		if (write(to, bytes, (size_t)got) != got)
			return false;
	}
	return got == 0;
}

bool copy_program(const char *to)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	bool is_open = from >= 0 && fd >= 0;

	if (is_open)
		(void)copy_bytes(from, fd);
	if (from >= 0)
		close(from);
	if (fd >= 0)
		close(fd);
	return is_open;
}

/* Files that are mapped as code, renamed, removed, and closed, whatever descriptor it is. */
void way_files(void)
{
	turn();
	while (goes_on) {
		char path[512], other[512];
		struct stat st;
		void *at;
		int fd;

		path_of(path, sizeof(path), "a", turns % 7);
		path_of(other, sizeof(other), "b", turns % 5);
		copy_program(path);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) != 0)
			_exit(8);
		at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		rename(path, other);
		make_hit(1);
		/* From the fourth on, whatever they are. */
		syscall(436 /* close_range */, 3, ~0U, 0);
		if (turns % 3 == 0)
			truncate(other, 0);
		if (turns % 3 == 1)
			unlink(other);
		if (at != MAP_FAILED && turns % 4)
			munmap(at, (size_t)st.st_size);
		turn();
	}
}

static __attribute__((noinline)) int descend(int depth, uint64_t path)
{
	volatile int at = depth;

	if (at == 0)
		return make_hit(depth);
	/* Two places that it is called from: as many stacks as there are numbers. */
	if (path & 1)
		return descend(at - 1, path >> 1) + 1;
	return descend(at - 1, path >> 1) + 2;
}

static void *fill_ring(void *argument)
{
	uint64_t seed = (uintptr_t)argument;

	for (unsigned long i = 0; i < number / RING_THREADS; i++)
		descend(DEPTHS, draw(&seed));
	return NULL;
}

/* `number` hits, each with another stack, as fast as they can be made; once. */
void way_ring(void)
{
	pthread_t threads[RING_THREADS];

	for (uintptr_t i = 0; i < RING_THREADS; i++)
		pthread_create(&threads[i], NULL, fill_ring, (void *)(i + 1));
	for (size_t i = 0; i < RING_THREADS; i++)
		pthread_join(threads[i], NULL);
	turn();
}

static atomic_ulong trapped;

static void on_trap(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&trapped, 1);
	make_hit(1);
}

/* Traps from all that may send some, each with a hit in its handler. */
void way_traps(void)
{
	struct sigaction action = { .sa_handler = on_trap, .sa_flags = SA_RESTART };
	unsigned long sent = 0;

	sigaction(SIGTRAP, &action, NULL);
	turn();
	while (goes_on) {
		raise(SIGTRAP);
		__asm__ volatile("int3");
		kill(getpid(), SIGTRAP);
		sent += 3;
		/* Any thread may get the last one, and of two that wait one is left. */
		while (trapped != sent)
			sched_yield();
		turn();
		if (turns % 100 == 0)
			usleep(1000);
	}
	signal(SIGTRAP, SIG_DFL);
	if (trapped != sent)
		_exit(9);
}
