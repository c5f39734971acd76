// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A native target that is hostile. It speaks the protocol of tests/apps/counter: "begin WAY [NUMBER]" is answered by
 * "begun WAY NUMBER" once it has done it for the first time, and is done on a thread until "end", which is answered by
 * "ended TURNS". "hits NUMBER" makes calls, and is answered by "hits ALL", the count of all calls of hostile_hit() in
 * this process.
 *
 *	hostile DIRECTORY             files are written in there
 *	hostile DIRECTORY exec LEFT   the same, after it has executed itself: LEFT more are to come (way_exec())
 */
#include "hostile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

atomic_ulong hits, turns;
atomic_bool goes_on;
unsigned long number;
const char *directory;
const char *program;

KEEP int hostile_hit(int value)
{
	volatile int result = value + 1;

	return result;
}

uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static const struct {
	const char *name;
	way_fn *way;
} ways[] = {
	{ "rows", way_rows },	    { "threads", way_threads },	  { "forks", way_forks },
	{ "exec", way_exec },	    { "unshare", way_unshare },	  { "files", way_files },
	{ "ring", way_ring },	    { "traps", way_traps },	  { "memory", way_memory },
	{ "symbols", way_symbols }, { "truncate", way_truncate }, { "thread-exec", way_exec },
};

static void *go(void *argument)
{
	way_fn *way;

	memcpy(&way, argument, sizeof(way));
	way();
	return NULL;
}

static bool begin(const char *name, pthread_t *thread)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(name, ways[i].name) != 0)
			continue;
		turns = 0;
		goes_on = true;
		if (pthread_create(thread, NULL, go, (void *)&ways[i].way) != 0)
			return false;
		while (turns == 0)
			usleep(1000);
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	char line[256], name[32];
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return 1;
	directory = argv[1];
	program = argv[0];
	if (argc > 3) {
		number = strtoul(argv[3], NULL, 0);
		way_exec();
	}
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long made;

		if (sscanf(line, "begin %31s %lu", name, &number) >= 1) {
			/* "thread-exec" is by another than the main thread. */
			if (strcmp(name, "exec") == 0)
				way_exec();
			if (!begin(name, &thread))
				return 2;
			printf("begun %s %lu\n", name, number);
		} else if (strncmp(line, "end", 3) == 0) {
			goes_on = false;
			pthread_join(thread, NULL);
			printf("ended %lu\n", turns);
		} else if (sscanf(line, "hits %lu", &made) == 1) {
			for (unsigned long i = 0; i < made; i++)
				make_hit((int)i);
			printf("hits %lu\n", hits);
		} else if (strncmp(line, "quit", 4) == 0) {
			break;
		}
	}
	_exit(0);
}
