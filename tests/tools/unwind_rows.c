// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long it takes to make the unwind rows of a process, and how much memory: everything that it has
 * mapped is opened and read anew each round. The best round counts, and of memory the first, when there is
 * none left from before.
 *
 *   unwind_rows PID [ROUNDS]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/helpers/native_target.h"

enum { ROUNDS = 10 };

/* Memory --------------------------------------------------------------------------------- */

enum { LARGE_BYTES = 128 << 10 };

/* The most that was in use; linked with --wrap, so that we know whenever there may be less than before. */
static double memory_most_mb;

void *__real_reallocarray(void *memory, size_t count, size_t size);
void __real_free(void *memory);

void *__wrap_reallocarray(void *memory, size_t count, size_t size);
void __wrap_free(void *memory);

/* Anonymous memory that is in use. */
static double memory_mb(void)
{
	unsigned long all, resident, shared;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%lu %lu %lu", &all, &resident, &shared) != 3)
		abort();
	fclose(file);
	return (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void note_memory(void)
{
	double now = memory_mb();

	memory_most_mb = now > memory_most_mb ? now : memory_most_mb;
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
	if (malloc_usable_size(memory) >= LARGE_BYTES)
		note_memory();
	return __real_reallocarray(memory, count, size);
}

void __wrap_free(void *memory)
{
	if (malloc_usable_size(memory) >= LARGE_BYTES)
		note_memory();
	__real_free(memory);
}

struct figures {
	struct unwind_tables_counts counts;
	double open_ms; /* to know and open what is mapped, which is needed anyway */
	double read_ms; /* to make rows of it */
	double cpu_ms; /* of that the CPU's time, for which it matters less what else the machine does */
	double memory_mb;
	double rows_mb;
};

static int measure(struct native_target *target, pid_t pid, struct figures *figures,
		   struct error *err)
{
	uint64_t start = clock_now_ns(), opened, cpu;
	double before;
	int result = native_target_open(target, pid, err);

	if (result)
		return result;
	opened = clock_now_ns();
	cpu = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	before = memory_most_mb = memory_mb();
	result = native_target_read_unwind(target, err);
	if (result)
		return result;
	figures->open_ms = (double)(opened - start) / NS_PER_MS;
	figures->read_ms = (double)(clock_now_ns() - opened) / NS_PER_MS;
	figures->cpu_ms = (double)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / NS_PER_MS;
	note_memory();
	figures->memory_mb = memory_most_mb - before;
	figures->counts = target->tables->counts;
	figures->rows_mb = (double)(figures->counts.rows * sizeof(struct unwind_row)) / 1e6;
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	struct figures now, best = { 0 };
	struct figures first = { 0 };

	for (int i = 0; i < rounds; i++) {
		struct native_target target = { 0 };
		struct error err = { .text = "" };

		if (argc < 2 || measure(&target, atoi(argv[1]), &now, &err)) {
			fprintf(stderr, "unwind_rows: %s\n", argc < 2 ? "which PID?" : err.text);
			return 1;
		}
		if (i == 0)
			first = now;
		if (i == 0 || now.read_ms < best.read_ms)
			best = now;
		native_target_close(&target);
	}
	printf("%zu rows of %zu images, %zu without: %.1f ms, %.1f of CPU time; the first time %.1f and %.1f ms; opening them %.1f ms; %.1f MB at the most, %.1f of rows\n",
	       best.counts.rows, best.counts.images, best.counts.without, best.read_ms, best.cpu_ms,
	       first.read_ms, first.cpu_ms, best.open_ms, first.memory_mb, best.rows_mb);
	return 0;
}
