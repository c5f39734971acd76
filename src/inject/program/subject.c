// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks at the target before and after a thread of it is stopped, never meanwhile. */
#include "inject/program/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "target/maps.h"
#include "target/proc.h"
#include "target/refusal.h"

enum {
	PAGE_BYTES = 4096,
	CODE_ROWS_MAX = 8,	  /* of files, that are looked through for an instruction */
	CODE_BYTES_MAX = 1 << 20, /* of each */
	CODE_BLOCK_BYTES = 1 << 14,
	PAGEMAP_ENTRIES = 256,
};

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_FILE  (UINT64_C(1) << 61)
#define PAGEMAP_THERE (UINT64_C(3) << 62) /* in memory, or swapped out */

int subject_open(const struct subject *subject, pid_t tid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	fd = openat(subject->process_fd, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool subject_status(struct subject *subject, pid_t tid, struct thread_status *status)
{
	_cleanup_close_ int fd = subject_open(subject, tid, "status", O_RDONLY);
	const char *line;

	*status = (struct thread_status){ 0 };
	if (fd < 0)
		return false;
	lines_start(&subject->lines, fd);
	while ((line = lines_next(&subject->lines)))
		thread_status_add(status, line);
	return status->state != 0;
}

static bool find_view(struct subject *subject, struct thread_status *status)
{
	DIR *tasks = proc_open_list(subject->process_fd, "task");
	bool found = false;
	pid_t tid;

	if (!tasks)
		return false;
	while (!found && (tid = proc_next(tasks))) {
		subject->view = tid;
		found = subject_status(subject, tid, status) && thread_lives(status);
	}
	closedir(tasks);
	return found;
}

/* Look for an instruction in the code at @start. */
static bool find_instruction(struct subject *subject, uint64_t start, uint64_t end)
{
	static uint8_t code[CODE_BLOCK_BYTES];

	if (end - start > CODE_BYTES_MAX)
		end = start + CODE_BYTES_MAX;
	for (uint64_t at = start; at < end; at += sizeof(code)) {
		ssize_t got = pread(subject->memory_fd, code, sizeof(code), (off_t)at);
		const uint8_t *found = got > 0 ? memmem(code, (size_t)got, injection.instruction,
							injection.instruction_bytes) :
						 NULL;

		if (found) {
			subject->instruction = at + (uint64_t)(found - code);
			return true;
		}
	}
	return false;
}

/* The kernel's own code is taken first: it is in no file, so nobody has a probe there. */
static bool look_for_instruction(struct subject *subject)
{
	_cleanup_close_ int fd = subject_open(subject, subject->view, "maps", O_RDONLY);
	struct mapping code[CODE_ROWS_MAX], row;
	size_t count = 0;
	char *line;

	if (fd < 0)
		return false;
	lines_start(&subject->lines, fd);
	while ((line = lines_next(&subject->lines))) {
		if (!mapping_parse(&row, line) || !row.executable || !row.readable)
			continue;
		if (strcmp(row.path, "[vdso]") == 0 &&
		    find_instruction(subject, row.start.value, row.end.value))
			return true;
		if (mapping_is_file_code(&row) && count < CODE_ROWS_MAX)
			code[count++] = row;
	}
	for (size_t i = 0; i < count; i++) {
		if (find_instruction(subject, code[i].start.value, code[i].end.value))
			return true;
	}
	return false;
}

enum inject_result subject_look(struct subject *subject, int *detail)
{
	struct thread_status status;

	if (subject->memory_fd >= 0)
		close(subject->memory_fd);
	subject->memory_fd = -1;
	if (!find_view(subject, &status))
		return INJECT_GONE;
	*detail = status.tracer;
	if (status.tracer && status.tracer != getpid())
		return INJECT_TRACED;
	if (status.ignored & UINT64_C(1) << (SIGTRAP - 1))
		return INJECT_IGNORES_TRAP;
	subject->memory_fd = subject_open(subject, subject->view, "mem", O_RDONLY);
	if (subject->memory_fd < 0)
		return refusal_is(subject->memory_fd) ? INJECT_NOT_PERMITTED : INJECT_GONE;
	return look_for_instruction(subject) ? INJECT_DONE : INJECT_NO_INSTRUCTION;
}

bool subject_has_instruction(const struct subject *subject)
{
	uint8_t code[sizeof(injection.instruction)];
	size_t size = injection.instruction_bytes;

	return pread(subject->memory_fd, code, size, (off_t)subject->instruction) ==
		       (ssize_t)size &&
	       memcmp(code, injection.instruction, size) == 0;
}

/* Take note of what @mapping has of @row, which is looked at in order of addresses. */
static void add_mapping(struct row_state *state, uint64_t *next, const struct inject_row *row,
			const struct stat *file, const struct mapping *mapping)
{
	uint64_t end = row->address + row->length;

	if (mapping->start.value >= end || mapping->end.value <= row->address)
		return;
	/* A gap, or another file, leaves `next` behind for good. */
	if (mapping->start.value > *next || !mapping->executable || !mapping->readable ||
	    mapping->writable || mapping->inode != file->st_ino ||
	    makedev(mapping->major, mapping->minor) != file->st_dev ||
	    mapping_offset(mapping, (struct address){ *next }).value !=
		    row->offset + (*next - row->address)) {
		*next = UINT64_MAX;
		return;
	}
	state->has_private |= !mapping->shared;
	state->has_shared |= mapping->shared;
	*next = mapping->end.value;
	state->expected = *next >= end;
}

bool subject_rows(struct subject *subject, const struct inject_row *rows, size_t count,
		  struct row_state *states)
{
	_cleanup_close_ int fd = subject_open(subject, subject->view, "maps", O_RDONLY);
	struct stat files[INJECT_ROWS_MAX];
	uint64_t next[INJECT_ROWS_MAX];
	struct mapping mapping;
	char name[32], *line;
	bool read = false;

	if (fd < 0 || count > INJECT_ROWS_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "task/%d/fd/%d", subject->view, rows[i].fd);
		states[i] = (struct row_state){ 0 };
		next[i] = rows[i].address;
		if (fstatat(subject->process_fd, name, &files[i], 0) != 0)
			next[i] = UINT64_MAX;
	}
	lines_start(&subject->lines, fd);
	while ((line = lines_next(&subject->lines))) {
		if (!mapping_parse(&mapping, line))
			continue;
		read = true;
		for (size_t i = 0; i < count; i++) {
			if (next[i] != UINT64_MAX)
				add_mapping(&states[i], &next[i], &rows[i], &files[i], &mapping);
		}
	}
	return read;
}

/* The file of the target's descriptor @their_fd, if it is one that opening does nothing to. */
static int open_their_file(const struct subject *subject, int their_fd)
{
	_cleanup_close_ int path_fd = -1;
	struct stat file;
	char name[32];

	snprintf(name, sizeof(name), "fd/%d", their_fd);
	path_fd = subject_open(subject, subject->view, name, O_PATH);
	if (path_fd < 0 || fstat(path_fd, &file) != 0 || !S_ISREG(file.st_mode))
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	return open(name, O_RDONLY | O_CLOEXEC);
}

bool subject_lock(struct subject *subject, int fd)
{
	if (subject->lock_fd >= 0)
		return true;
	subject->lock_fd = open_their_file(subject, fd);
	if (subject->lock_fd < 0 || flock(subject->lock_fd, LOCK_EX | LOCK_NB) == 0 ||
	    errno != EWOULDBLOCK)
		return true;
	close(subject->lock_fd);
	subject->lock_fd = -1;
	return false;
}

/* Is the page at @address as that at @offset of the file? */
static bool page_is_as_file(const struct subject *subject, uint64_t address, int file_fd,
			    uint64_t offset)
{
	static uint8_t copy[PAGE_BYTES], page[PAGE_BYTES];

	return pread(subject->memory_fd, copy, sizeof(copy), (off_t)address) == PAGE_BYTES &&
	       pread(file_fd, page, sizeof(page), (off_t)offset) == PAGE_BYTES &&
	       memcmp(copy, page, sizeof(page)) == 0;
}

uint64_t subject_copies(const struct subject *subject, const struct inject_row *row,
			const int *differing)
{
	_cleanup_close_ int fd = subject_open(subject, subject->view, "pagemap", O_RDONLY);
	uint64_t entries[PAGEMAP_ENTRIES], copies = 0, pages = row->length / PAGE_BYTES;
	uint64_t first = row->address / PAGE_BYTES;

	for (uint64_t done = 0; fd >= 0 && done < pages;) {
		size_t wanted = pages - done < PAGEMAP_ENTRIES ? pages - done : PAGEMAP_ENTRIES;
		ssize_t got = pread(fd, entries, wanted * sizeof(*entries),
				    (off_t)((first + done) * sizeof(*entries)));

		if (got < (ssize_t)sizeof(*entries))
			break;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++, done++) {
			if (!(entries[i] & PAGEMAP_THERE) || entries[i] & PAGEMAP_FILE)
				continue;
			copies += !differing ||
				  !page_is_as_file(subject, row->address + done * PAGE_BYTES,
						   *differing, row->offset + done * PAGE_BYTES);
		}
	}
	return copies;
}
