// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files that come, from answers.c by the target's descriptor or from a list of mappings: which
 * are kept, and for what. Images go to jit/watch.c, native functions into plans, by what runtimes
 * find, and sites to loads.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/vector.h"
#include "follow/loader/loads_internal.h"
#include "follow/messages/snapshot.h"
#include "method/pattern.h"
#include "runtime/runtime.h"
#include "target/files.h"
#include "target/maps.h"
#include "target/numbers.h"
#include "target/process.h"

enum {
	FILES_MAX = 16384,
	FILE_MAX_BYTES = 1 << 30,
	PATH_BYTES = 4096,
	NAME_BYTES = 64, /* "/proc/self/fd/" and a number, or the end of a name */
};

/* Files that are kept ------------------------------------------------------------------------ */

struct loaded_file *loads_add_file(struct loads *loads, dev_t device, ino_t inode, size_t number)
{
	const struct loaded_file file = {
		.device = device,
		.inode = inode,
		.number = number,
		.fd = -1,
		.known_fd = -1,
	};

	if (loads->file_count == FILES_MAX ||
	    !vector_add(&loads->files, &loads->file_count, &loads->file_capacity, file))
		return NULL;
	return &loads->files[loads->file_count - 1];
}

static struct loaded_file *find_file(const struct loads *loads, const struct stat *status)
{
	for (size_t i = 0; i < loads->file_count; i++) {
		struct loaded_file *file = &loads->files[i];

		if (file->device == status->st_dev && file->inode == status->st_ino)
			return file;
	}
	return NULL;
}

/* All of a regular file of reasonable size; none otherwise. */
static struct span map_file(int fd, const struct stat *status)
{
	struct span bytes = { 0 };

	if (S_ISREG(status->st_mode) && status->st_size > 0 && status->st_size <= FILE_MAX_BYTES)
		(void)target_bytes_map(fd, (size_t)status->st_size, &bytes);
	return bytes;
}

/* Keep the file, so that no other can get its inode's number. */
static struct loaded_file *keep_file(struct loads *loads, int fd, const struct stat *status)
{
	long number = file_numbers_take(loads->config.numbers, status->st_dev, status->st_ino);
	struct loaded_file *file =
		number < 0 ? NULL :
			     loads_add_file(loads, status->st_dev, status->st_ino, (size_t)number);

	if (file)
		file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return file;
}

/* Images ---------------------------------------------------------------------------------- */

static bool is_known_slice(const struct loads *loads, size_t first, size_t number)
{
	const struct runtime_images *images = watch_images(loads->config.watch);
	const struct runtime_image image = images->ops->at(images, number);

	for (size_t i = 0; i < first; i++) {
		const struct runtime_image known = images->ops->at(images, i);

		if (known.file == image.file && known.offset == image.offset)
			return true;
	}
	return false;
}

/* Those in @file; they are to be planned. True if there are any. */
static bool add_images(struct loads *loads, const struct loaded_file *file, const char *name)
{
	if (watch_add_file(loads->config.watch, file->number,
			   target_file_place(file->device, file->inode), name, file->bytes) <= 0)
		return false;
	(void)loads_note_images(loads, false);
	return true;
}

void loads_add_bundle(struct loads *loads, int fd, const char *name)
{
	const struct runtime_images *images = watch_images(loads->config.watch);
	size_t first = images->ops->count(images);
	struct loaded_file *file;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return;
	file = find_file(loads, &status);
	if (!file)
		file = keep_file(loads, fd, &status);
	if (!file || file->is_bundle)
		return;
	file->is_bundle = true;
	file->bytes = map_file(fd, &status);
	if (!add_images(loads, file, name))
		return;
	for (size_t i = first; i < images->ops->count(images) && i < loads->planned_count; i++)
		loads->planned[i] = is_known_slice(loads, first, i);
}

/*
 * If it is managed, keep the file, and the images that are in it. Of other files nothing is kept.
 */
static struct loaded_file *read_managed(struct loads *loads, int fd, const struct stat *status,
					const char *name)
{
	struct loaded_file *file = NULL;
	struct span bytes = map_file(fd, status);

	if (!bytes.start)
		return NULL;
	if (watch_images(loads->config.watch)->ops->may_be_image(bytes)) {
		file = keep_file(loads, fd, status);
		loads->no_room += !file;
	}
	if (!file) {
		target_bytes_unmap(bytes);
		return NULL;
	}
	file->bytes = bytes;
	(void)add_images(loads, file, name);
	return file;
}

/* Native functions --------------------------------------------------------------------------- */

int natives_create(struct loads *loads, struct error *err)
{
	size_t count = loads->config.natives->count;

	loads->meant = calloc(count + 1, sizeof(*loads->meant));
	loads->matched = calloc(count + 1, sizeof(*loads->matched));
	if (!loads->meant || !loads->matched)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	return patterns_create(&loads->patterns, loads->config.natives->patterns, count, err);
}

void natives_destroy(struct loads *loads)
{
	patterns_destroy(loads->patterns, loads->config.natives->count);
	free(loads->meant);
	free(loads->matched);
}

bool natives_wanted(const struct loads *loads)
{
	return patterns_have_image(loads->patterns, loads->config.natives->count);
}

/* Is there a pattern that may mean native functions of a file called @name? */
static bool natives_want(const struct loads *loads, const char *name)
{
	for (size_t i = 0; i < loads->config.natives->count; i++) {
		if (pattern_wants_native_image(loads->patterns[i], name))
			return true;
	}
	return false;
}

static bool means(const struct loads *loads, const struct pattern *pattern, const char *name,
		  bool is_host)
{
	const struct runtime_images *images = watch_images(loads->config.watch);

	return pattern_wants_native_image(pattern, name) &&
	       (pattern_native_only(pattern) ||
		(!is_host && !images->ops->have_named(images, name)));
}

/* Those of the patterns [first, end). */
static int plan_patterns(struct loads *loads, struct file_query *file, bool is_host, size_t first,
			 size_t end, struct plan_search *found)
{
	const struct runtime_ops *const *ops = loads->config.offered;
	int result = 0;

	for (size_t i = 0; i < file->count; i++)
		loads->meant[i] =
			i >= first && i < end &&
					means(loads, loads->patterns[i], file->name, is_host) ?
				loads->patterns[i] :
				NULL;
	for (; first < end && *ops && result == 0; ops++)
		result = (*ops)->find_in_file ? (*ops)->find_in_file(file, plan_add_found, found) :
						0;
	return result;
}

/*
 * Add the functions that match to @plan, of @file, whose patterns are filled in. @is_host: it
 * starts a program of its name, so names are those of methods. -ENOMEM; where a regex runs away
 * nothing more is added.
 */
static int natives_plan(struct loads *loads, struct file_query *file, bool is_host,
			struct plan *plan)
{
	size_t roots = loads->config.natives->roots;
	struct plan_search of_roots = { .plan = plan, .root = true }, others = { .plan = plan };
	int result;

	file->process = loads->config.process;
	file->patterns = loads->meant;
	file->count = loads->config.natives->count;
	file->matched = loads->matched;
	file->timed = plan->timed;
	result = plan_patterns(loads, file, is_host, 0, roots, &of_roots);
	return result ? result : plan_patterns(loads, file, is_host, roots, file->count, &others);
}

/* Files --------------------------------------------------------------------------------- */

/*
 * Keep the file if it has native functions that are asked for, and probe them. However it is
 * mapped, and however often, they stay probed.
 */
static void take_native(struct loads *loads, int fd, const struct stat *status, const char *path,
			const struct code_place *code, bool is_host)
{
	struct plan plan = {
		.timed = loads->config.timed != NULL,
		.open_ended = loads->config.open_ended,
	};
	struct file_query native = { .name = strdup(basename(path)), .path = path };
	struct loaded_file *file;

	if (native.name && natives_want(loads, native.name)) {
		native.place = target_file_place(status->st_dev, status->st_ino);
		native.bytes = map_file(fd, status);
	}
	if (native.bytes.start && natives_plan(loads, &native, is_host, &plan) == 0 && plan.count &&
	    plan_finish(&plan, 0, NULL) == 0) {
		file = keep_file(loads, fd, status);
		if (file) {
			for (size_t i = 0; i < plan.count; i++)
				plan.sites[i].file = file->number;
			file->code = *code;
			file->name = (char *)native.name;
			native.name = NULL;
			loads_probe_plan(loads, &plan);
		} else {
			loads->no_room += plan.count;
		}
	}
	target_bytes_unmap(native.bytes);
	free((char *)native.name);
	plan_deinit(&plan);
}

/* The file @fd is mapped; with @code if that is executable. Keeps no hold of @fd. */
static void take_file(struct loads *loads, int fd, const char *path, const struct code_place *code)
{
	struct loaded_file *file;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return;
	file = find_file(loads, &status);
	if (!file)
		file = read_managed(loads, fd, &status, basename(path));
	if (code && file) {
		file->code = *code;
		loads_probe_mapped(loads, file);
	} else if (code) {
		take_native(loads, fd, &status, path, code, false);
	}
}

/* As mappings have the path of a file that is no longer there. */
static void cut_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), cut = sizeof(deleted) - 1;

	if (length > cut && strcmp(path + length - cut, deleted) == 0)
		path[length - cut] = '\0';
}

/*
 * Open what the target has open as @number, if that is a file: anything else (-ENOTSUP) is not even
 * opened. @target is where it is, as the target sees it. A descriptor, or a negative errno.
 */
static int open_file(struct process *process, int number, char target[PATH_BYTES])
{
	char link[NAME_BYTES], again[NAME_BYTES];
	struct stat status;
	ssize_t length;
	int fd = -1, found;

	snprintf(link, sizeof(link), "fd/%d", number);
	found = process_open_descriptor(process, number, O_PATH);
	if (found < 0)
		return found;
	length = readlinkat(process->view_fd, link, target, PATH_BYTES - 1);
	target[length < 0 ? 0 : length] = '\0';
	cut_deleted(target);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	/* A broker gives one with the right to read. */
	if (fstat(found, &status) == 0 && S_ISREG(status.st_mode) &&
	    !(fcntl(found, F_GETFL) & O_PATH))
		return found;
	if (fstat(found, &status) == 0 && S_ISREG(status.st_mode))
		/* Nor wait for a process that has a lease on it. */
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	else
		fd = -ENOTSUP;
	close(found);
	return fd < 0 ? (fd == -1 ? -errno : fd) : fd;
}

int loads_mapped(struct loads *loads, const struct mapped_event *event)
{
	const struct code_place code = { event->address, event->offset, event->length };
	char path[PATH_BYTES];
	_cleanup_close_ int fd = open_file(loads->config.process, event->fd, path);

	loads->latest_count = 0;
	if (fd < 0)
		return fd == -ENOTSUP ? 0 : fd;
	take_file(loads, fd, path, event->executable ? &code : NULL);
	return 0;
}

/* A program that starts a managed one of its name, or holds it. */
static bool is_host(const struct loads *loads, const char *path, struct span bytes)
{
	const struct runtime_follow_ops *ops = watch_images(loads->config.watch)->ops;
	char managed[PATH_BYTES + NAME_BYTES];

	snprintf(managed, sizeof(managed), "%s%s", path, ops->program_end);
	return access(managed, F_OK) == 0 || ops->is_bundle(bytes);
}

void loads_take_path(struct loads *loads, const char *path)
{
	const struct code_place nowhere = { 0 };
	char link[NAME_BYTES], target[PATH_BYTES];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct span bytes = { 0 };
	struct stat status;
	ssize_t length;

	if (fd < 0)
		return;
	/* The name that its mappings will have. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	if (fstat(fd, &status) == 0 && !find_file(loads, &status))
		bytes = map_file(fd, &status);
	if (bytes.start)
		take_native(loads, fd, &status, target, &nowhere, is_host(loads, target, bytes));
	target_bytes_unmap(bytes);
}

static bool was_known(const struct loads *loads, const struct mapping *row)
{
	const struct maps *maps = loads->config.snapshot->maps;

	for (size_t i = 0; i < maps->count; i++) {
		if (mapping_is_file_code(&maps->rows[i]) && mapping_same_file(&maps->rows[i], row))
			return true;
	}
	return false;
}

void loads_look(struct loads *loads, const struct maps *now)
{
	for (size_t i = 0; i < now->count; i++) {
		const struct mapping *row = &now->rows[i];
		const struct code_place code = { row->start.value, row->offset.value,
						 row->end.value - row->start.value };
		_cleanup_close_ int fd = -1;

		if (!mapping_is_file_code(row) || was_known(loads, row))
			continue;
		fd = target_file_open_mapped(loads->config.process, row);
		if (fd >= 0)
			take_file(loads, fd, row->path, &code);
	}
}

void loads_missed(struct loads *loads)
{
	_cleanup_(maps_deinit) struct maps maps = { 0 };

	loads->latest_count = 0;
	/* In a program that is being started nothing is known to have been there before. */
	if (!loads->config.snapshot->maps || maps_read(&maps, loads->config.process, NULL))
		return;
	loads_look(loads, &maps);
}
