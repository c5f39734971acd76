// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as what the injector reads of its target: system calls, status, rows of a table,
 * seccomp filters. The first byte says which; texts come line by line through a file, as they do in
 * /proc.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "inject/program/filters.h"
#include "inject/program/proc_text.h"
#include "target/maps.h"

enum { CALL_BYTES = 256, FILTER_MAX = 512 };

static void check_call(const char *text)
{
	struct thread_call call;

	thread_call_parse(&call, text);
	check(call.where != THREAD_IN_CALL || (call.number >= 0 && call.number <= INT32_MAX));
	if (call.where == THREAD_IN_CALL)
		(void)call_restart(call.number, call.arguments);
}

static void check_lines(const uint8_t *data, size_t size)
{
	struct thread_status status = { 0 };
	struct lines lines;
	struct mapping row;
	size_t handed_out = 0;
	char *line;
	int fd = memfd_create("lines", MFD_CLOEXEC);

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	lines_start(&lines, fd);
	while ((line = lines_next(&lines))) {
		check(line >= lines.bytes && line <= lines.bytes + LINES_BYTES);
		handed_out += strlen(line);
		thread_status_add(&status, line);
		check(!mapping_parse(&row, line) || row.start.value < row.end.value);
	}
	check(handed_out <= size);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sock_filter filter[FILTER_MAX] = { 0 };
	struct seccomp_data call = { .nr = 9 };
	char text[CALL_BYTES] = "";
	uint32_t verdict;

	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		memcpy(text, data + 1, size - 1 < sizeof(text) - 1 ? size - 1 : sizeof(text) - 1);
		check_call(text);
		break;
	case 1:
		check_lines(data + 1, size - 1);
		break;
	default:
		size = size - 1 < sizeof(filter) ? size - 1 : sizeof(filter);
		memcpy(filter, data + 1, size);
		(void)filter_run(filter, size / sizeof(filter[0]), &call, &verdict);
		break;
	}
	return 0;
}
