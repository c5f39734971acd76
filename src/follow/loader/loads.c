// SPDX-License-Identifier: GPL-2.0-or-later
/* From a file that loads_files.c has taken to sites (messages/) with uprobes on their code. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/vector.h"
#include "follow/loader/loads_internal.h"
#include "follow/messages/snapshot.h"
#include "plan/timed.h"
#include "target/files.h"

/* Where code is. */
struct place {
	size_t file;
	uint64_t offset;
};

bool loads_note_images(struct loads *loads, bool planned)
{
	const struct runtime_images *images = watch_images(loads->config.watch);
	size_t count = images->ops->count(images);

	if (!vector_reserve(&loads->planned, &loads->planned_capacity, count))
		return false;
	for (size_t i = loads->planned_count; i < count; i++)
		loads->planned[i] = planned;
	loads->planned_count = count;
	return true;
}

static int add_known_files(struct loads *loads)
{
	const struct follow_snapshot *snapshot = loads->config.snapshot;

	for (size_t i = 0; i < snapshot->file_count; i++) {
		const struct target_file *known = &snapshot->files[i];
		struct loaded_file *file =
			loads_add_file(loads, known->device, known->inode, known->number);

		if (!file)
			return -ENOMEM;
		file->known_fd = known->fd;
	}
	/* They need no more planning. */
	return loads_note_images(loads, true) ? 0 : -ENOMEM;
}

int loads_create(struct loads **out, const struct loads_config *config, struct error *err)
{
	struct loads *loads = calloc(1, sizeof(*loads));
	int result;

	if (!loads)
		return error_set(err, -ENOMEM, "no memory to follow what the target loads");
	loads->config = *config;
	result = natives_create(loads, err);
	if (result == 0 && add_known_files(loads))
		result = error_set(err, -ENOMEM, "no memory to follow what the target loads");
	if (result) {
		loads_destroy(loads);
		return result;
	}
	*out = loads;
	return 0;
}

void loads_detach(struct loads *loads)
{
	uprobes_destroy(loads->uprobes);
	loads->uprobes = NULL;
}

void loads_destroy(struct loads *loads)
{
	if (!loads)
		return;
	loads_detach(loads);
	for (size_t i = 0; i < loads->file_count; i++) {
		target_bytes_unmap(loads->files[i].bytes);
		cleanup_close(&loads->files[i].fd);
		free(loads->files[i].name);
	}
	free(loads->files);
	tdestroy(loads->places, free);
	natives_destroy(loads);
	free(loads->planned);
	free(loads);
}

/* Probing --------------------------------------------------------------------------------- */

static const struct loaded_file *find_number(const struct loads *loads, size_t number)
{
	for (size_t i = 0; i < loads->file_count; i++) {
		if (loads->files[i].number == number)
			return &loads->files[i];
	}
	return NULL;
}

static struct address address_in(const struct loaded_file *file, struct file_offset offset)
{
	struct address address = { 0 };

	if (offset.value - file->code.offset < file->code.length && file->code.address)
		address.value = file->code.address + (offset.value - file->code.offset);
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

/* A site on its way to its probes. */
struct placed {
	const struct site *site;
	uint32_t number;
	int fd;
	bool refused; /* not all of those it was given so far */
};

/*
 * Give each body of @plan a site. Those that can be probed come into @placed; returns how many they
 * are.
 */
static size_t place_sites(struct loads *loads, const struct plan *plan, struct placed *placed)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct site site = plan->sites[i];
		const struct loaded_file *file = find_number(loads, site.file);
		struct placed *to = &placed[count];

		if (!file || !is_new_place(loads, &site))
			continue;
		for (uint32_t j = 0; j < site.exit_count; j++)
			site.exits[j].address = address_in(file, site.exits[j].offset);
		site.address = address_in(file, site.offset);
		*to = (struct placed){ .fd = file->fd >= 0 ? file->fd : file->known_fd };
		to->site = sites_add(loads->config.messages->sites, &site, false, &to->number);
		if (!to->site)
			loads->no_room++;
		else if (site.mechanism == MECHANISM_UPROBE)
			count++;
	}
	sites_publish(loads->config.messages->sites);
	return count;
}

/* Attach the exits of all sites, or the entries. Who lacks one then is refused. */
static void attach_probes(struct loads *loads, struct placed *placed, size_t count, bool entries)
{
	_cleanup_free_ struct uprobe_site *sites = NULL;
	size_t total = 0, next = 0;
	bool failed;

	for (size_t i = 0; i < count; i++)
		total += entries ? 1 : placed[i].site->exit_count;
	if (total == 0)
		return;
	sites = calloc(total, sizeof(*sites));
	for (size_t i = 0; sites && i < count; i++) {
		size_t exits = placed[i].site->exit_count;

		for (size_t j = entries ? exits : 0; j < (entries ? exits + 1 : exits); j++) {
			struct site_probe probe = site_probe(placed[i].site, placed[i].number, j);

			sites[next++] = (struct uprobe_site){
				.file_fd = placed[i].fd,
				.offset = probe.offset,
				.cookie = probe.cookie,
			};
		}
	}
	failed = !sites || !loads->uprobes ||
		 uprobes_attach(loads->uprobes, sites, total, NULL) == -ENOMEM;
	next = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < (entries ? 1 : placed[i].site->exit_count); j++, next++)
			placed[i].refused |= failed || sites[next].error;
	}
}

/* Exits first: a call that is seen to begin is seen to end. */
static void probe_sites(struct loads *loads, struct placed *placed, size_t count)
{
	struct timed_site *timed = loads->config.timed;

	if (count && !loads->uprobes &&
	    uprobes_create(&loads->uprobes, loads->config.means, loads->config.hit_fd,
			   loads->config.process, NULL))
		loads->uprobes = NULL;
	for (size_t i = 0; timed && i < count; i++)
		timed[placed[i].number] =
			timed_describe(placed[i].site, placed[i].number, loads->config.costs);
	attach_probes(loads, placed, count, false);
	for (size_t i = 0; i < count; i++) {
		/* Who enters from now on leaves by a probe. */
		if (timed && placed[i].site->exits && !placed[i].refused)
			timed[placed[i].number].ready = 1;
		placed[i].refused = false;
	}
	attach_probes(loads, placed, count, true);
	for (size_t i = 0; i < count; i++) {
		if (placed[i].refused)
			sites_add_trouble(loads->config.messages->sites, placed[i].number,
					  TROUBLE_REFUSED);
		else if (loads->latest_count < FOLLOW_SITES_MAX)
			loads->latest[loads->latest_count++] = placed[i].number;
	}
}

void loads_probe_plan(struct loads *loads, const struct plan *plan)
{
	_cleanup_free_ struct placed *placed = calloc(plan->count + 1, sizeof(*placed));

	if (placed)
		probe_sites(loads, placed, place_sites(loads, plan, placed));
	else
		loads->no_room += plan->count;
}

static void probe_image(struct loads *loads, size_t image)
{
	struct plan plan = {
		.timed = loads->config.timed != NULL,
		.open_ended = loads->config.open_ended,
	};

	loads->planned[image] = true;
	if (watch_plan_image(loads->config.watch, image, &plan, NULL) == 0 &&
	    plan_finish(&plan, 0, NULL) == 0)
		loads_probe_plan(loads, &plan);
	plan_deinit(&plan);
}

void loads_probe_mapped(struct loads *loads, const struct loaded_file *file)
{
	const struct runtime_images *images = watch_images(loads->config.watch);
	uint64_t start = file->code.offset, end = start + file->code.length;

	for (size_t i = 0; i < loads->planned_count; i++) {
		const struct runtime_image image = images->ops->at(images, i);

		if (!loads->planned[i] && image.file == file->number && image.offset < end &&
		    image.offset + image.size > start)
			probe_image(loads, i);
	}
}
