// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inject PID NAME [BYTES]: the injector on the executable rows, of BYTES at least, of the files of process PID whose
 * names contain NAME. Says "ready" and what rows there are, then takes a command a line, and answers each by a line
 * of JSON: private, shared, restore; cycle N (private and shared, N times), forever (the same, until it is killed),
 * chase N (the same, but the rows are looked for in each turn, and failures do not count), look (rows again), probe N (a uprobe at the begin of each of the first N pages), unprobe. For tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "inject/inject.h"
#include "target/maps.h"
#include "target/process.h"

enum {
	ROWS_MAX = 512,
	FDS_MAX = 1024,
	CYCLES_MAX = 100000,
	PROBES_MAX = 16,
	PAGE_BYTES = 4096,
};

struct tool {
	struct process process;
	struct injector *injector;
	const char *name;
	uint64_t least_bytes;
	struct inject_row rows[ROWS_MAX];
	size_t count;
	int probes[PROBES_MAX];
	size_t probe_count;
	uint64_t stopped_ns[2 * CYCLES_MAX];
};

/* The target's own descriptor of what is mapped, or -1. */
static int find_descriptor(const struct tool *tool, const struct mapping *mapping)
{
	char path[64];
	struct stat st;

	for (int fd = 0; fd < FDS_MAX; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", tool->process.pid, fd);
		if (stat(path, &st) == 0 && st.st_ino == mapping->inode)
			return fd;
	}
	return -1;
}

static int find_rows(struct tool *tool, struct error *err)
{
	struct maps maps;
	int result = maps_read(&maps, &tool->process, err);

	tool->count = 0;
	for (size_t i = 0; i < maps.count && tool->count < ROWS_MAX; i++) {
		const struct mapping *row = &maps.rows[i];
		uint64_t length = row->end.value - row->start.value;

		if (!row->executable || row->writable || !strstr(row->path, tool->name) ||
		    length < tool->least_bytes)
			continue;
		tool->rows[tool->count++] = (struct inject_row){
			.address = row->start.value,
			.length = length,
			.offset = row->offset.value,
			.fd = find_descriptor(tool, row),
		};
	}
	maps_deinit(&maps);
	return result;
}

static void answer(int code, const struct error *err, const struct inject_outcome *outcome,
		   uint64_t begin_ns)
{
	printf("{\"code\": %d, \"error\": \"%s\", \"tid\": %d, \"stops\": %u, \"stopped_us\": %.1f, \"copies\": %" PRIu64
	       ", \"us\": %.1f}\n",
	       code, code ? err->text : "", outcome->tid, outcome->stops,
	       (double)outcome->stopped_ns / NS_PER_US, outcome->copies,
	       (double)(clock_now_ns() - begin_ns) / NS_PER_US);
	fflush(stdout);
}

static int map_rows(struct tool *tool, bool shared, struct inject_outcome *outcome,
		    struct error *err)
{
	return shared ?
		       injector_make_shared(tool->injector, tool->rows, tool->count, outcome, err) :
		       injector_make_private(tool->injector, tool->rows, tool->count, outcome, err);
}

static int by_number(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void tell_cycles(struct tool *tool, size_t stops, int code, const struct error *err)
{
	size_t late = stops * 99 / 100, middle = stops / 2;

	qsort(tool->stopped_ns, stops, sizeof(*tool->stopped_ns), by_number);
	printf("{\"code\": %d, \"error\": \"%s\", \"stops\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}\n",
	       code, code ? err->text : "", stops,
	       stops ? (double)tool->stopped_ns[middle] / NS_PER_US : 0,
	       stops ? (double)tool->stopped_ns[late] / NS_PER_US : 0,
	       stops ? (double)tool->stopped_ns[stops - 1] / NS_PER_US : 0);
	fflush(stdout);
}

/* Private and shared, again and again; a thread that cannot be had now may be had in the next turn. */
static void cycle(struct tool *tool, size_t number)
{
	struct error err = { .text = "" };
	size_t stops = 0;
	int code = 0;

	for (size_t i = 0; i < 2 * number && !code; i++) {
		struct inject_outcome outcome = { 0 };

		code = map_rows(tool, i % 2, &outcome, &err);
		if (outcome.stops && stops < 2 * CYCLES_MAX)
			tool->stopped_ns[stops++] = outcome.stopped_ns;
	}
	tell_cycles(tool, stops, code, &err);
}

/* Of a target that may be another program in the next moment. */
static void chase(struct tool *tool, size_t number)
{
	struct inject_outcome outcome = { 0 };
	struct error err = { .text = "" };
	size_t done = 0, i = 0;

	for (; i < number && find_rows(tool, &err) == 0; i++) {
		int code = map_rows(tool, false, &outcome, &err);

		if (map_rows(tool, true, &outcome, &err) == 0 && code == 0)
			done += tool->count > 0;
	}
	printf("{\"code\": 0, \"turns\": %zu, \"done\": %zu, \"error\": \"%s\"}\n", i, done,
	       err.text);
	fflush(stdout);
}

static int open_probe(const struct tool *tool, size_t page)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	char path[64];
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	unsigned int type = 0;

	if (file && fscanf(file, "%u", &type) != 1)
		type = 0;
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tool->process.pid, tool->rows[0].fd);
	attr.type = type;
	attr.config1 = (uint64_t)(uintptr_t)path;
	attr.config2 = tool->rows[0].offset + page * PAGE_BYTES;
	return (int)syscall(SYS_perf_event_open, &attr, tool->process.pid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static int probe(struct tool *tool, size_t number, struct error *err)
{
	for (size_t i = 0; i < number && i < PROBES_MAX; i++) {
		int fd = open_probe(tool, i);

		if (fd < 0)
			return error_set(err, -errno, "no probe: %s", strerror(errno));
		tool->probes[tool->probe_count++] = fd;
	}
	return 0;
}

static void unprobe(struct tool *tool)
{
	while (tool->probe_count)
		close(tool->probes[--tool->probe_count]);
}

static void run(struct tool *tool, const char *command)
{
	struct inject_outcome outcome = { 0 };
	struct error err = { .text = "" };
	uint64_t begin_ns = clock_now_ns();
	int code = 0;

	if (strncmp(command, "cycle ", 6) == 0) {
		cycle(tool, strtoul(command + 6, NULL, 10));
		return;
	}
	if (strncmp(command, "chase ", 6) == 0) {
		chase(tool, strtoul(command + 6, NULL, 10));
		return;
	}
	if (strcmp(command, "forever") == 0) {
		puts("{}");
		fflush(stdout);
		for (size_t i = 0;; i++)
			map_rows(tool, i % 2, &outcome, &err);
	}
	if (strcmp(command, "private") == 0 || strcmp(command, "shared") == 0)
		code = map_rows(tool, *command == 's', &outcome, &err);
	else if (strcmp(command, "restore") == 0)
		code = injector_restore(tool->injector, &outcome, &err);
	else if (strcmp(command, "look") == 0)
		code = find_rows(tool, &err);
	else if (strncmp(command, "probe ", 6) == 0)
		code = probe(tool, strtoul(command + 6, NULL, 10), &err);
	else if (strcmp(command, "unprobe") == 0)
		unprobe(tool);
	else
		code = error_set(&err, -EINVAL, "no command");
	answer(code, &err, &outcome, begin_ns);
}

int main(int argc, char **argv)
{
	static struct tool tool;
	struct error err = { .text = "" };
	char line[128];
	int code;

	if (argc < 3)
		return 2;
	tool.name = argv[2];
	tool.least_bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	code = process_init(&tool.process, (pid_t)strtol(argv[1], NULL, 10), &err);
	if (code == 0)
		code = injector_create(&tool.injector, &tool.process, &err);
	if (code == 0)
		code = find_rows(&tool, &err);
	printf("{\"ready\": %s, \"code\": %d, \"error\": \"%s\", \"rows\": %zu, \"injector\": %d}\n",
	       code ? "false" : "true", code, err.text, tool.count,
	       tool.injector ? injector_pid(tool.injector) : 0);
	fflush(stdout);
	while (code == 0 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		run(&tool, line);
	}
	unprobe(&tool);
	injector_destroy(tool.injector);
	process_deinit(&tool.process);
	return code ? 1 : 0;
}
