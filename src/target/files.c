// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From mappings to open files, for target.c; the follower has files of its own, with the same
 * numbers.
 */
#include "target/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "target/numbers.h"
#include "target/process.h"
#include "target/sigbus.h"

int target_file_open_mapped(struct process *process, const struct mapping *row)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%lx-%lx", (unsigned long)row->start.value,
		 (unsigned long)row->end.value);
	return process_open(process, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* For users who may not use map_files: by name, if that still leads to the same inode. */
static int open_by_path(struct process *process, const struct mapping *row)
{
	char *name;
	struct stat st;
	int fd;

	if (row->deleted || row->path[0] != '/')
		return -ENOENT;
	if (asprintf(&name, "root%s", row->path) < 0)
		return -ENOMEM;
	fd = process_open(process, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	free(name);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0 || st.st_ino != row->inode || major(st.st_dev) != row->major ||
	    minor(st.st_dev) != row->minor) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static bool leads_to(const char *path, const struct stat *file)
{
	struct stat named;

	return stat(path, &named) == 0 && named.st_ino == file->st_ino &&
	       named.st_dev == file->st_dev;
}

/* By which perf can open the file: the plain path, or one beneath the target's root. */
static char *find_user_path(const struct process *process, const struct mapping *row, int fd)
{
	struct stat opened;
	char *path;

	if (row->deleted || fstat(fd, &opened) != 0)
		return NULL;
	if (leads_to(row->path, &opened))
		return strdup(row->path);
	if (asprintf(&path, "/proc/%d/root%s", process->view_tid, row->path) < 0)
		return NULL;
	if (leads_to(path, &opened))
		return path;
	free(path);
	return NULL;
}

/*
 * A page of zeros follows the file: a string that someone unterminates in the file while it
 * is read still ends.
 */
static size_t with_guard(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page + page;
}

int target_bytes_map(int fd, size_t size, struct span *bytes)
{
	void *room = mmap(NULL, with_guard(size), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int result = -EMFILE;

	if (room == MAP_FAILED)
		return -errno;
	if (mmap(room, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
		result = -errno;
	} else if (sigbus_guard(room, size)) {
		*bytes = (struct span){ .start = room, .size = size };
		return 0;
	}
	munmap(room, with_guard(size));
	return result;
}

void target_bytes_unmap(struct span bytes)
{
	if (!bytes.start)
		return;
	sigbus_unguard(bytes.start);
	munmap((void *)(uintptr_t)bytes.start, with_guard(bytes.size));
}

uint64_t target_file_place(dev_t device, ino_t inode)
{
	return hash_number(hash_number(HASH_START, device), inode);
}

static int refuse(const struct mapping *row, struct error *err)
{
	return error_set(
		err, -EMFILE,
		"too many files are mapped to read %s too: raise the limit of open files (ulimit -n)",
		row->path);
}

static int map_file(struct target_file *file, const struct mapping *row, struct error *err)
{
	struct stat st;
	int result;

	if (fstat(file->fd, &st) != 0)
		return error_set(err, -errno, "cannot stat %s: %s", row->path, strerror(errno));
	file->device = st.st_dev;
	file->inode = st.st_ino;
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s is no regular file", row->path);
	if (st.st_size == 0)
		return error_set(err, -EBADMSG, "%s is empty", row->path);
	result = target_bytes_map(file->fd, (size_t)st.st_size, &file->bytes);
	if (result == -EMFILE)
		return refuse(row, err);
	/* -ENOMEM would seem to be our own lack, and end it all. */
	return result ? error_set(err, -EFBIG, "cannot map %s: %s", row->path, strerror(-result)) :
			0;
}

static void file_close(struct target_file *file)
{
	target_bytes_unmap(file->bytes);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->user_path);
}

static int file_open(struct target_file *file, struct process *process, const struct mapping *row,
		     struct error *err)
{
	int fd = target_file_open_mapped(process, row);
	int result;

	if (fd == -EPERM || fd == -EACCES || fd == -ENOENT)
		fd = open_by_path(process, row);
	if (fd < 0)
		return error_set(err, fd, "cannot open %s of process %d: %s", row->path,
				 process->pid, strerror(-fd));
	*file = (struct target_file){ .fd = fd, .mapping = *row, .path = strdup(row->path) };
	result = file->path ? map_file(file, row, err) :
			      error_set(err, -ENOMEM, "no memory for a file's path");
	if (result) {
		file_close(file);
		return result;
	}
	/* The list of mappings may go, the file stays. */
	file->mapping.path = file->path;
	file->name = mapping_file_name(&file->mapping);
	file->user_path = find_user_path(process, row, fd);
	return 0;
}

static int compare_inodes(const struct mapping *a, const struct mapping *b)
{
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	if (a->minor != b->minor)
		return a->minor < b->minor ? -1 : 1;
	return 0;
}

/* By inode, executable rows first, so that each file's best row is met first. */
static int by_file(const void *left, const void *right)
{
	const struct mapping *a = *(const struct mapping *const *)left;
	const struct mapping *b = *(const struct mapping *const *)right;
	int order = compare_inodes(a, b);

	if (order)
		return order;
	if (mapping_is_file_code(a) != mapping_is_file_code(b))
		return mapping_is_file_code(a) ? -1 : 1;
	return a->start.value < b->start.value ? -1 : a->start.value > b->start.value;
}

static void note_unreadable(struct target_files *files, const struct error *why)
{
	files->unreadable++;
	if (files->first_error)
		return;
	files->first_error = malloc(sizeof(*files->first_error));
	if (files->first_error)
		*files->first_error = *why;
}

/*
 * @bytes of zeros in pages of their own, of which only those that are touched cost anything: for
 * what may become much and rarely does. calloc() clears all of what was in use before. NULL: there
 * is no memory.
 */
static void *take_room(size_t bytes)
{
	void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		room = NULL;
	return room;
}

static void return_room(void *room, size_t bytes)
{
	if (room)
		munmap(room, bytes);
}

/* Room for all that there may ever be, so that nothing moves; what is not used costs nothing. */
static int make_room(struct target_files *files, struct error *err)
{
	if (!files->files)
		files->files = take_room(TARGET_FILES_MAX * sizeof(*files->files));
	if (!files->by_inode)
		files->by_inode = take_room(TARGET_FILES_MAX * sizeof(*files->by_inode));
	if (files->files && files->by_inode)
		return 0;
	return error_set(err, -ENOMEM, "no memory for the target's files");
}

/* Where in the order of inodes the file that @row maps is, or would be. */
static size_t find_place(const struct target_files *files, const struct mapping *row)
{
	return sorted_first(files->count, i, compare_inodes(&files->by_inode[i]->mapping, row) < 0);
}

static long number_of(const struct target_files *files, const struct target_file *file)
{
	long number = (long)files->count;

	if (files->numbers)
		number = file_numbers_take(files->numbers, file->device, file->inode);
	/* Of an overlay's file that was written to, two mappings may say what stat() does not. */
	if (number >= 0 && target_files_get(files, (size_t)number))
		number = file_numbers_take_alone(files->numbers);
	return number;
}

static bool note_number(struct target_files *files, struct target_file *file)
{
	size_t known = files->number_capacity;

	if (!vector_reserve(&files->by_number, &files->number_capacity, file->number + 1))
		return false;
	for (; known < files->number_capacity; known++)
		files->by_number[known] = NULL;
	files->by_number[file->number] = file;
	return true;
}

static int add_file(struct target_files *files, struct process *process, const struct mapping *row,
		    struct error *err)
{
	struct target_file *file = &files->files[files->count];
	long number;
	size_t place;
	int result;

	if (files->count == TARGET_FILES_MAX)
		return refuse(row, err);
	result = file_open(file, process, row, err);
	if (result)
		return result;
	number = number_of(files, file);
	file->number = (size_t)number;
	if (number < 0 || !note_number(files, file)) {
		file_close(file);
		return refuse(row, err);
	}
	place = find_place(files, row);
	memmove(&files->by_inode[place + 1], &files->by_inode[place],
		(files->count - place) * sizeof(struct target_file *));
	files->by_inode[place] = file;
	files->count++;
	return 0;
}

int target_files_add(struct target_files *files, struct process *process, const struct maps *maps,
		     bool (*wanted)(const struct mapping *row), struct error *err)
{
	const struct mapping **rows = calloc(maps->count + 1, sizeof(*rows));
	size_t row_count = 0;
	int result = rows ? make_room(files, err) :
			    error_set(err, -ENOMEM, "no memory for the target's files");

	for (size_t i = 0; result == 0 && i < maps->count; i++) {
		if (maps->rows[i].inode && wanted(&maps->rows[i]))
			rows[row_count++] = &maps->rows[i];
	}
	if (row_count)
		qsort(rows, row_count, sizeof(*rows), by_file);
	for (size_t i = 0; i < row_count && result == 0; i++) {
		struct error why = { .text = "" };

		if ((i && mapping_same_file(rows[i - 1], rows[i])) ||
		    target_files_find(files, rows[i]))
			continue;
		result = add_file(files, process, rows[i], &why);
		if (result == -ESRCH || result == -ENOMEM) {
			error_set(err, result, "%s", why.text);
		} else if (result) {
			note_unreadable(files, &why);
			result = 0;
		}
	}
	free(rows);
	return result;
}

void target_files_close(struct target_files *files)
{
	for (size_t i = 0; files->files && i < files->count; i++)
		file_close(&files->files[i]);
	return_room(files->files, TARGET_FILES_MAX * sizeof(*files->files));
	return_room(files->by_inode, TARGET_FILES_MAX * sizeof(*files->by_inode));
	free(files->by_number);
	free(files->first_error);
	*files = (struct target_files){ .numbers = files->numbers };
}

const struct target_file *target_files_get(const struct target_files *files, size_t number)
{
	return number < files->number_capacity ? files->by_number[number] : NULL;
}

const struct target_file *target_files_find(const struct target_files *files,
					    const struct mapping *row)
{
	size_t place = find_place(files, row);

	if (place == files->count || compare_inodes(&files->by_inode[place]->mapping, row) != 0)
		return NULL;
	return files->by_inode[place];
}

/* What the target has not mapped ------------------------------------------------------------ */

enum { BESIDE_MAX_BYTES = 256 << 20 };

static int map_whole(struct target_file *beside, struct error *err)
{
	struct stat status;
	int result = -EBADMSG;

	if (fstat(beside->fd, &status) != 0)
		result = -errno;
	else if (status.st_size > 0)
		result = target_bytes_map(beside->fd, (size_t)status.st_size, &beside->bytes);
	if (result)
		error_set(err, result, "%s cannot be read: %s", beside->path, strerror(-result));
	return result;
}

int target_beside_open(struct target_file *beside, struct process *process,
		       const struct target_file *file, const char *name, struct error *err)
{
	const char *slash = strrchr(file->path, '/');
	int fd, result;
	char *path;

	if (file->path[0] != '/' || file->mapping.deleted)
		return error_set(err, -ENOENT, "%s was deleted", file->path);
	if (asprintf(&path, "%.*s/%s", (int)(slash - file->path), file->path, name) < 0)
		return error_set(err, -ENOMEM, "no memory for a file's path");
	error_set(err, -ENOENT, "there is no %s", path);
	fd = process_open_owned(process, path + 1, BESIDE_MAX_BYTES, err);
	if (fd < 0) {
		free(path);
		return fd;
	}
	*beside = (struct target_file){ .fd = fd, .path = path };
	result = map_whole(beside, err);
	if (result)
		target_beside_close(beside);
	return result;
}

void target_beside_close(struct target_file *beside)
{
	target_bytes_unmap(beside->bytes);
	close(beside->fd);
	free(beside->path);
}
