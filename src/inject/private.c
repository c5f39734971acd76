// SPDX-License-Identifier: GPL-2.0-or-later
/* private.h: which rows are to be mapped anew, and whether the copies in them stay true. */
#include "inject/private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "inject/inject.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/process.h"

enum {
	PAGE_BYTES = 4096,
	READ_TRIES = 5,
};

struct private_code {
	struct process *process;
	struct injector *injector;
	struct memory *memory;
	int fd;
	int their_fd;
	dev_t device;
	ino_t inode;
	struct private_place *places; /* with probes, by address, each once */
	size_t count;
	size_t capacity;
	struct inject_row *rows; /* private by us */
	size_t row_count;
	size_t row_capacity;
};

/* Finding rows ------------------------------------------------------------------------------- */

static int refuse_place(const struct private_code *code, const struct private_place *place,
			struct error *err)
{
	return error_set(
		err, -ESTALE,
		"cannot map the code of process %d at 0x%llx anew: it is not there any more; run again",
		code->process->pid, (unsigned long long)place->address);
}

static bool is_ours(const struct private_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->row_count; i++) {
		if (address - code->rows[i].address < code->rows[i].length)
			return true;
	}
	return false;
}

static bool is_file(const struct private_code *code, const struct mapping *row)
{
	return !code->inode ||
	       (row->inode == code->inode && makedev(row->major, row->minor) == code->device);
}

/* The target's own descriptor of the file, and one of ours. -errno. */
static int open_file(struct private_code *code)
{
	int fd = process_open(code->process, "fd", O_RDONLY | O_DIRECTORY), theirs = -ENOENT;
	DIR *descriptors = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;
	char name[32];

	if (!descriptors) {
		cleanup_close(&fd);
		return -EACCES;
	}
	while (theirs < 0 && (entry = readdir(descriptors))) {
		if (fstatat(dirfd(descriptors), entry->d_name, &st, 0) == 0 &&
		    st.st_ino == code->inode && st.st_dev == code->device && S_ISREG(st.st_mode))
			theirs = (int)strtol(entry->d_name, NULL, 10);
	}
	closedir(descriptors);
	if (theirs < 0)
		return theirs;
	code->their_fd = theirs;
	snprintf(name, sizeof(name), "fd/%d", theirs);
	code->fd = process_open(code->process, name, O_RDONLY);
	return code->fd < 0 ? code->fd : 0;
}

static int open_once(struct private_code *code, struct error *err)
{
	int result = code->fd < 0 ? open_file(code) : 0;

	if (result)
		return error_set(
			err, result,
			"cannot open the file in memory that process %d has its code in: %s (give --no-remap)",
			code->process->pid, strerror(-result));
	return code->memory ? 0 : memory_open(&code->memory, code->process, err);
}

static bool is_as_file(const struct private_code *code, uint64_t address, uint64_t offset)
{
	struct look look = look_into(code->memory);
	uint8_t file[PAGE_BYTES], copy[PAGE_BYTES];

	look_copy_once(&look, address, copy, sizeof(copy));
	return !look.bad &&
	       pread(code->fd, file, sizeof(file), (off_t)offset) == (ssize_t)sizeof(file) &&
	       memcmp(file, copy, sizeof(file)) == 0;
}

/*
 * Where it is private there are probes, of whomever, if it is not as the file is. The target may
 * write between two reads.
 */
static bool has_probes(const struct private_code *code, const struct inject_row *row)
{
	for (uint64_t done = 0; done < row->length; done += PAGE_BYTES) {
		bool same = false;

		for (int i = 0; i < READ_TRIES && !same; i++)
			same = is_as_file(code, row->address + done, row->offset + done);
		if (!same)
			return true;
	}
	return false;
}

/* One that is private, and has no probes, was left by somebody: it is taken over, and undone. */
static int add_row(struct private_code *code, const struct mapping *row, struct error *err)
{
	struct inject_row ours = {
		.address = row->start.value,
		.length = row->end.value - row->start.value,
		.offset = row->offset.value,
	};
	int result;

	code->inode = row->inode;
	code->device = makedev(row->major, row->minor);
	result = open_once(code, err);
	if (result)
		return result;
	ours.fd = code->their_fd;
	if (!row->shared && has_probes(code, &ours))
		return inject_refuse_taken(code->process, err);
	if (!vector_add(&code->rows, &code->row_count, &code->row_capacity, ours))
		return error_set(err, -ENOMEM, "no memory for the target's code");
	return 0;
}

/* Whole rows: a part of one would split it. */
static int find_rows(struct private_code *code, const struct private_place *places, size_t count,
		     struct error *err)
{
	_cleanup_(maps_deinit) struct maps maps = { 0 };
	int result = maps_read(&maps, code->process, err);

	for (size_t i = 0; i < count && result == 0; i++) {
		struct address at = { places[i].address };
		const struct mapping *row = maps_find(&maps, at);

		if (!row || !row->executable || !row->readable || row->writable || !row->inode ||
		    !is_file(code, row) || mapping_offset(row, at).value != places[i].offset)
			return refuse_place(code, &places[i], err);
		if (!is_ours(code, at.value))
			result = add_row(code, row, err);
	}
	return result;
}

/* From private to shared ---------------------------------------------------------------------- */

/*
 * Have rows that are private by now probes that are not ours? The kernel takes a while to remove
 * those of a place-probe that was killed, and until then puts them into each private mapping.
 */
static int refuse_probed(struct private_code *code, size_t before, struct error *err)
{
	for (size_t i = before; i < code->row_count; i++) {
		if (!has_probes(code, &code->rows[i]))
			continue;
		(void)injector_make_shared(code->injector, code->rows + before,
					   code->row_count - before, NULL, NULL);
		return inject_refuse_taken(code->process, err);
	}
	return 0;
}

int private_code_widen(struct private_code *code, const struct private_place *places, size_t count,
		       struct inject_outcome *outcome, struct error *err)
{
	size_t before = code->row_count;
	int result = find_rows(code, places, count, err);

	if (result == 0 && !code->injector)
		result = injector_create(&code->injector, code->process, err);
	if (result == 0 && code->row_count > before)
		result = injector_make_private(code->injector, code->rows + before,
					       code->row_count - before, outcome, err);
	if (result == 0)
		result = refuse_probed(code, before, err);
	/* Some may be private: without probes that is as good as shared, and undone at the end. */
	if (result)
		code->row_count = before;
	return result;
}

int private_code_watch(struct private_code *code, const struct private_place *places, size_t count,
		       struct error *err)
{
	size_t kept = 0, all = code->count + count;

	if (count == 0)
		return 0;
	if (!vector_reserve(&code->places, &code->capacity, all))
		return error_set(err, -ENOMEM, "no memory for %zu probes", count);
	memcpy(code->places + code->count, places, count * sizeof(*places));
	qsort(code->places, all, sizeof(*code->places), by_leading_number);
	for (size_t i = 0; i < all; i++) {
		if (kept == 0 || code->places[kept - 1].address != code->places[i].address)
			code->places[kept++] = code->places[i];
	}
	code->count = kept;
	return 0;
}

int private_code_create(struct private_code **out, struct process *process,
			const struct private_place *places, size_t count,
			struct inject_outcome *outcome, struct error *err)
{
	struct private_code *code = calloc(1, sizeof(*code));
	int result;

	if (!code)
		return error_set(err, -ENOMEM, "no memory for %zu probes", count);
	code->process = process;
	code->fd = -1;
	result = private_code_widen(code, places, count, outcome, err);
	if (result == 0)
		result = private_code_watch(code, places, count, err);
	if (result) {
		private_code_destroy(code);
		return result;
	}
	*out = code;
	return 0;
}

int private_code_fd(const struct private_code *code)
{
	return code->fd;
}

bool private_code_is_gone(const struct private_code *code)
{
	return !process_is_alive(code->process) || memory_is_gone(code->memory);
}

static int refuse_page(const struct private_code *code, uint64_t page, bool lacks_probe,
		       struct error *err)
{
	if (private_code_is_gone(code))
		return 0;
	return error_set(
		err, -ESTALE,
		"the probes of process %d were removed: %s at 0x%llx%s; run again, with --no-remap if it comes back",
		code->process->pid, lacks_probe ? "one" : "code that was thought to be final",
		(unsigned long long)page, lacks_probe ? " was not in its place" : " was changed");
}

/*
 * Compare the page of the @first-th place and those behind it; *@next: the first of another, or
 * none if there is no process any more.
 */
static int check_page(const struct private_code *code, size_t first, size_t *next,
		      struct error *err)
{
	uint8_t file[PAGE_BYTES], copy[PAGE_BYTES];
	uint64_t page = code->places[first].address & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t offset = code->places[first].offset & ~(uint64_t)(PAGE_BYTES - 1);
	struct look look = look_into(code->memory);
	bool lacks = false;

	*next = code->count;
	look_copy_once(&look, page, copy, sizeof(copy));
	if (look.bad || pread(code->fd, file, sizeof(file), (off_t)offset) != (ssize_t)sizeof(file))
		return refuse_page(code, page, false, err);
	for (*next = first; *next < code->count; ++*next) {
		uint64_t at = code->places[*next].address - page;

		if (at + arch.uprobe_bytes > PAGE_BYTES)
			break;
		lacks |= memcmp(copy + at, arch.uprobe, arch.uprobe_bytes) != 0;
		memcpy(file + at, arch.uprobe, arch.uprobe_bytes);
	}
	return memcmp(file, copy, sizeof(file)) == 0 ? 0 : refuse_page(code, page, lacks, err);
}

int private_code_check(const struct private_code *code, struct error *err)
{
	int result = 0;

	for (size_t i = 0, next = 0; i < code->count && result == 0; i = next)
		result = check_page(code, i, &next, err);
	return result;
}

/* Where all is shared no page can be a copy. */
static int see_shared(struct private_code *code, struct error *err)
{
	_cleanup_(maps_deinit) struct maps maps = { 0 };
	int result = maps_read(&maps, code->process, err);

	for (size_t i = 0; result == 0 && i < code->count; i++) {
		struct address address = { code->places[i].address };
		const struct mapping *row = maps_find(&maps, address);

		if (row && row->executable && !row->shared)
			result = error_set(
				err, -EIO,
				"the code of process %d at 0x%llx is still private: it runs on as it is; start it anew where that matters (docs/safety.md)",
				code->process->pid, (unsigned long long)address.value);
	}
	return result;
}

int private_code_share(struct private_code *code, struct error *err)
{
	int result = injector_restore(code->injector, NULL, err);

	if (result == 0)
		result = see_shared(code, err);
	return result && !private_code_is_gone(code) ? result : 0;
}

void private_code_destroy(struct private_code *code)
{
	if (!code)
		return;
	injector_destroy(code->injector);
	memory_destroy(code->memory);
	if (code->fd >= 0)
		close(code->fd);
	free(code->places);
	free(code->rows);
	free(code);
}
