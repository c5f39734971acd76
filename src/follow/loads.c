// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow/loads.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/uprobes.h"
#include "error.h"
#include "resolve.h"
#include "target/files.h"
#include "target/maps.h"
#include "target/process.h"

enum {
	FILES_MAX = 16384,
	FILE_MAX_BYTES = 1 << 30,
	NAME_BYTES = 64, /* "fd/" and a number, "map_files/" and two */
	PATH_BYTES = 4096,
};

struct loaded_file {
	dev_t device;
	ino_t inode;
	size_t number;	   /* as sites and images have it */
	int fd;		   /* -1: it is kept elsewhere */
	struct span bytes; /* likewise none */
	bool is_bundle;
	/* Of its code, once it was mapped. */
	uint64_t code_address;
	uint64_t code_offset;
	uint64_t code_length;
};

struct loads {
	struct loads_config config;
	struct uprobes *uprobes; /* NULL: there was nothing to probe yet */
	struct loaded_file *files;
	size_t count;
	size_t capacity;
	size_t next_number;
	bool *planned; /* by number of image: its bodies are probed, or were there before */
	size_t planned_count;
	void *places; /* of struct place: code that has a site, <search.h> */
	uint64_t no_room;
};

/* Where code is. */
struct place {
	size_t file;
	uint64_t offset;
};

/* Files ----------------------------------------------------------------------------------- */

static struct loaded_file *find_file(const struct loads *loads, const struct stat *status)
{
	for (size_t i = 0; i < loads->count; i++) {
		if (loads->files[i].device == status->st_dev &&
		    loads->files[i].inode == status->st_ino)
			return &loads->files[i];
	}
	return NULL;
}

static struct loaded_file *find_number(const struct loads *loads, size_t number)
{
	for (size_t i = 0; i < loads->count; i++) {
		if (loads->files[i].number == number)
			return &loads->files[i];
	}
	return NULL;
}

static struct loaded_file *add_file(struct loads *loads, const struct stat *status, size_t number)
{
	struct loaded_file *file;

	if (loads->count == FILES_MAX)
		return NULL;
	if (loads->count == loads->capacity) {
		size_t capacity = loads->capacity ? 2 * loads->capacity : 64;
		struct loaded_file *files = realloc(loads->files, capacity * sizeof(*files));

		if (!files)
			return NULL;
		loads->files = files;
		loads->capacity = capacity;
	}
	file = &loads->files[loads->count++];
	*file = (struct loaded_file){
		.device = status->st_dev,
		.inode = status->st_ino,
		.number = number,
		.fd = -1,
	};
	return file;
}

/* All images up to now need no more planning. */
static int mark_planned(struct loads *loads)
{
	size_t count = watch_images(loads->config.watch)->count;
	bool *planned = realloc(loads->planned, (count + 1) * sizeof(*planned));

	if (!planned)
		return -ENOMEM;
	loads->planned = planned;
	for (size_t i = loads->planned_count; i < count; i++)
		planned[i] = true;
	loads->planned_count = count;
	return 0;
}

static int add_known_files(struct loads *loads)
{
	const struct resolution *resolution = loads->config.resolution;

	for (size_t i = 0; resolution && i < resolution->files.count; i++) {
		struct stat status;

		if (fstat(resolution->files.files[i].fd, &status) == 0 &&
		    !add_file(loads, &status, i))
			return -ENOMEM;
	}
	loads->next_number = resolution ? resolution_file_count(resolution) : 0;
	return mark_planned(loads);
}

int loads_create(struct loads **out, const struct loads_config *config, struct error *err)
{
	struct loads *loads = calloc(1, sizeof(*loads));

	if (!loads)
		return error_set(err, -ENOMEM, "no memory to follow what the target loads");
	loads->config = *config;
	if (add_known_files(loads)) {
		loads_destroy(loads);
		return error_set(err, -ENOMEM, "no memory to follow what the target loads");
	}
	*out = loads;
	return 0;
}

void loads_destroy(struct loads *loads)
{
	if (!loads)
		return;
	uprobes_destroy(loads->uprobes);
	for (size_t i = 0; i < loads->count; i++) {
		if (loads->files[i].bytes.start)
			target_bytes_unmap(loads->files[i].bytes);
		if (loads->files[i].fd >= 0)
			close(loads->files[i].fd);
	}
	tdestroy(loads->places, free);
	free(loads->files);
	free(loads->planned);
	free(loads);
}

/* Images ---------------------------------------------------------------------------------- */

/* Images have been added; they are to be planned when their code is mapped. */
static void note_images(struct loads *loads)
{
	size_t total = watch_images(loads->config.watch)->count;
	bool *planned = realloc(loads->planned, (total + 1) * sizeof(*planned));

	if (!planned)
		return;
	loads->planned = planned;
	for (size_t i = loads->planned_count; i < total; i++)
		planned[i] = false;
	loads->planned_count = total;
}

static bool is_known_slice(const struct loads *loads, size_t first,
			   const struct dotnet_image *image)
{
	const struct dotnet_images *images = watch_images(loads->config.watch);

	for (size_t i = 0; i < first; i++) {
		if (images->images[i]->file == image->file &&
		    images->images[i]->slice.value == image->slice.value)
			return true;
	}
	return false;
}

static struct span map_file(int fd, const struct stat *status)
{
	struct span bytes = { 0 };

	if (S_ISREG(status->st_mode) && status->st_size > 0 && status->st_size <= FILE_MAX_BYTES)
		(void)target_bytes_map(fd, (size_t)status->st_size, &bytes);
	return bytes;
}

void loads_add_bundle(struct loads *loads, int fd, const char *name)
{
	const struct dotnet_images *images = watch_images(loads->config.watch);
	size_t first = images->count;
	struct loaded_file *file;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return;
	file = find_file(loads, &status);
	if (!file)
		file = add_file(loads, &status, loads->next_number++);
	if (!file || file->is_bundle)
		return;
	file->is_bundle = true;
	file->bytes = map_file(fd, &status);
	if (file->fd < 0)
		file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (watch_add_file(loads->config.watch, file->number, name, file->bytes) <= 0)
		return;
	note_images(loads);
	for (size_t i = first; i < images->count && i < loads->planned_count; i++)
		loads->planned[i] = is_known_slice(loads, first, images->images[i]);
}

static bool looks_managed(struct span bytes)
{
	return bytes.size >= 2 && bytes.start[0] == 'M' && bytes.start[1] == 'Z';
}

/*
 * Keep the file, and the images that are in it. Of other files nothing is kept: while we have it
 * open, no other file can get its inode's number.
 */
static struct loaded_file *read_file(struct loads *loads, int fd, const struct stat *status,
				     const char *name)
{
	struct loaded_file *file;
	struct span bytes = map_file(fd, status);

	if (!bytes.start)
		return NULL;
	file = looks_managed(bytes) ? add_file(loads, status, loads->next_number) : NULL;
	if (!file) {
		target_bytes_unmap(bytes);
		return NULL;
	}
	loads->next_number++;
	file->bytes = bytes;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (watch_add_file(loads->config.watch, file->number, name, bytes) > 0)
		note_images(loads);
	return file;
}

/* Probing --------------------------------------------------------------------------------- */

static int file_fd(const struct loads *loads, const struct loaded_file *file)
{
	const struct resolution *resolution = loads->config.resolution;

	if (file->fd >= 0 || !resolution || file->number >= resolution->files.count)
		return file->fd;
	return resolution->files.files[file->number].fd;
}

static struct address address_in(const struct loaded_file *file, struct file_offset offset)
{
	struct address address = { 0 };

	if (offset.value - file->code_offset < file->code_length && file->code_address)
		address.value = file->code_address + (offset.value - file->code_offset);
	return address;
}

static int by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* A composite's code comes by with the composite, and again with each of its components. */
static bool is_new_place(struct loads *loads, const struct site *site)
{
	const struct place key = { .file = site->file, .offset = site->offset.value };
	struct place *place;

	if (tfind(&key, &loads->places, by_place))
		return false;
	place = malloc(sizeof(*place));
	if (!place)
		return true;
	*place = key;
	if (!tsearch(place, &loads->places, by_place))
		free(place);
	return true;
}

/* Give each body of @plan a site, and attach to those that can be probed. Returns how many were. */
static size_t probe_plan(struct loads *loads, const struct plan *plan, uint32_t *first)
{
	struct uprobe_site *sites = calloc(plan->count + 1, sizeof(*sites));
	size_t count = 0, attached = 0;

	for (size_t i = 0; sites && i < plan->count; i++) {
		struct site site = plan->sites[i];
		const struct loaded_file *file = find_number(loads, site.file);
		uint32_t number;

		if (!file || !is_new_place(loads, &site))
			continue;
		site.address = address_in(file, site.offset);
		if (!bodies_new_site(loads->config.bodies, &site, false, &number)) {
			loads->no_room++;
			continue;
		}
		if (site.mechanism != MECHANISM_UPROBE)
			continue;
		if (count == 0)
			*first = number;
		sites[count++] = (struct uprobe_site){
			.file_fd = file_fd(loads, file),
			.offset = site.offset,
			.cookie = number,
		};
	}
	bodies_publish(loads->config.bodies);
	if (count && !loads->uprobes &&
	    uprobes_create(&loads->uprobes, loads->config.kernel->means,
			   loads->config.kernel->hit_fd, loads->config.process, NULL))
		loads->uprobes = NULL;
	if (count && loads->uprobes)
		uprobes_attach(loads->uprobes, sites, count, NULL);
	for (size_t i = 0; i < count; i++) {
		if (loads->uprobes && sites[i].error == 0)
			attached++;
		else
			bodies_add_trouble(loads->config.bodies, sites[i].cookie, TROUBLE_REFUSED);
	}
	free(sites);
	return attached;
}

static size_t probe_image(struct loads *loads, size_t image, uint32_t *first)
{
	struct plan plan = { 0 };
	size_t attached = 0;

	loads->planned[image] = true;
	if (watch_plan_image(loads->config.watch, image, &plan, NULL) == 0 &&
	    plan_finish(&plan, 0, NULL) == 0)
		attached = probe_plan(loads, &plan, first);
	plan_deinit(&plan);
	return attached;
}

static size_t probe_mapped(struct loads *loads, const struct loaded_file *file, uint32_t *first)
{
	const struct dotnet_images *images = watch_images(loads->config.watch);
	uint64_t start = file->code_offset, end = start + file->code_length;
	size_t attached = 0;

	for (size_t i = 0; i < loads->planned_count; i++) {
		const struct dotnet_image *image = images->images[i];

		if (loads->planned[i] || image->file != file->number || image->slice.value >= end ||
		    image->slice.value + image->pe.file.size <= start)
			continue;
		attached += probe_image(loads, i, first);
	}
	return attached;
}

/* Where code of a file is, or is about to be. */
struct code_place {
	uint64_t address;
	uint64_t offset;
	uint64_t length;
};

/* The file @fd is mapped; with @code if that is executable. Keeps no hold of @fd. */
static size_t take_file(struct loads *loads, int fd, const char *name,
			const struct code_place *code, uint32_t *first)
{
	struct loaded_file *file;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return 0;
	file = find_file(loads, &status);
	if (!file)
		file = read_file(loads, fd, &status, name);
	if (!file || !code)
		return 0;
	file->code_address = code->address;
	file->code_offset = code->offset;
	file->code_length = code->length;
	return probe_mapped(loads, file, first);
}

/* Of what the target has open as @number, if that is a file: anything else is not even opened. */
static int open_file(struct loads *loads, int number, char target[PATH_BYTES])
{
	char link[NAME_BYTES], again[NAME_BYTES];
	struct stat status;
	ssize_t length;
	int fd = -1, found;

	snprintf(link, sizeof(link), "fd/%d", number);
	found = process_open(loads->config.process, link, O_PATH);
	if (found < 0)
		return found;
	length = readlinkat(loads->config.process->view_fd, link, target, PATH_BYTES - 1);
	target[length < 0 ? 0 : length] = '\0';
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	if (fstat(found, &status) == 0 && S_ISREG(status.st_mode))
		fd = open(again, O_RDONLY | O_CLOEXEC);
	else
		fd = -ENOTSUP;
	close(found);
	return fd < 0 ? (fd == -1 ? -errno : fd) : fd;
}

int loads_mapped(struct loads *loads, const struct mapped_event *event, size_t *attached,
		 uint32_t *first)
{
	const struct code_place code = { event->address, event->offset, event->length };
	char path[PATH_BYTES];
	int fd = open_file(loads, event->fd, path);

	*attached = 0;
	if (fd < 0)
		return fd == -ENOTSUP ? 0 : fd;
	*attached = take_file(loads, fd, basename(path), event->executable ? &code : NULL, first);
	close(fd);
	return 0;
}

static bool was_known(const struct loads *loads, const struct mapping *row)
{
	const struct maps *maps = &loads->config.resolution->maps;

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
		char name[NAME_BYTES];
		uint32_t first;
		int fd;

		if (!mapping_is_file_code(row) || was_known(loads, row))
			continue;
		snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, row->start.value,
			 row->end.value);
		fd = process_open(loads->config.process, name, O_RDONLY);
		if (fd < 0)
			continue;
		take_file(loads, fd, mapping_file_name(row), &code, &first);
		close(fd);
	}
}

int loads_keep(struct loads *loads)
{
	return loads->uprobes ? uprobes_keep(loads->uprobes, NULL) : 0;
}

unsigned int loads_detach_ms(const struct loads *loads)
{
	return loads->uprobes ? uprobes_detach_ms(loads->uprobes) : 0;
}

uint64_t loads_no_room(const struct loads *loads)
{
	return loads->no_room;
}

bool loads_blind(const struct loads *loads)
{
	const struct resolution *resolution = loads->config.resolution;

	return watch_images(loads->config.watch)->compressed ||
	       (resolution && resolution->images.compressed);
}
