/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches on the zoo. What the BPF programs would be told is written down here, in maps of our own:
 * a test that includes this is linked with these.
 */
#ifndef TESTS_UNIT_WATCH_FIXTURE_H
#define TESTS_UNIT_WATCH_FIXTURE_H

#include "tests/unit/golden.h"
#include "tests/unit/mapped.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "bpf/follow.h"
#include "base/error.h"
#include "follow/jit/watch.h"
#include "method/pattern.h"
#include "plan/plan.h"
#include "runtime/dotnet/dotnet.h"
#include "base/text.h"

/* Rows of tests/golden/tiny-bodies.dll: a method of a type. */
enum { TINY_ADD = 2 };

enum {
	PATTERNS_MAX = 4,
	MAP_MAX = 8192,
	WATCHED_FD = 1000,
	MODULES_FD,

	ALLOCATOR = 0xa110c,	   /* of all that stays */
	OTHER_ALLOCATOR = 0xa110d, /* of what can be unloaded */
	MODULE = 0x7000,
	OTHER_MODULE = 0x8000,
};

/* Maps --------------------------------------------------------------------------------------- */

static struct {
	size_t updates;
	size_t room; /* for watched methods */
	size_t watched_count;
	struct {
		struct watched_method key;
		uint32_t row;
	} watched[MAP_MAX];
	size_t module_count;
	struct {
		uint64_t at;
		uint32_t state;
	} modules[MAP_MAX];
} maps;

static inline int note_watched(const struct watched_method *key, uint32_t row)
{
	size_t i = 0;

	assert_int_equal(key->zero, 0);
	while (i < maps.watched_count && memcmp(&maps.watched[i].key, key, sizeof(*key)) != 0)
		i++;
	if (i == maps.room)
		return -E2BIG;
	maps.watched[i].key = *key;
	maps.watched[i].row = row;
	maps.watched_count += i == maps.watched_count;
	return 0;
}

static inline void note_module(uint64_t at, uint32_t state)
{
	size_t i = 0;

	while (i < maps.module_count && maps.modules[i].at != at)
		i++;
	assert_true(i < MAP_MAX);
	maps.modules[i].at = at;
	maps.modules[i].state = state;
	maps.module_count += i == maps.module_count;
}

/* In place of libbpf's. */
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	maps.updates++;
	assert_int_equal(flags, BPF_ANY);
	if (fd == WATCHED_FD)
		return note_watched(key, *(const uint32_t *)value);
	assert_int_equal(fd, MODULES_FD);
	note_module(*(const uint64_t *)key, *(const uint32_t *)value);
	return 0;
}

/* enum module_state, 0 if nothing is known of it. */
static inline uint32_t module_state(uint64_t at)
{
	for (size_t i = 0; i < maps.module_count; i++) {
		if (maps.modules[i].at == at)
			return maps.modules[i].state;
	}
	return 0;
}

/* What the programs send: the row's number + 1, 0 if they know of none. */
static inline uint32_t watch_word(uint64_t module, uint32_t rid)
{
	for (size_t i = 0; i < maps.watched_count; i++) {
		if (maps.watched[i].key.module == module && maps.watched[i].key.rid == rid)
			return maps.watched[i].row + 1;
	}
	return 0;
}

/* Watches ------------------------------------------------------------------------------------ */

struct golden_files {
	struct golden zoo;
	struct golden tiny;
};

static struct golden_files files;

struct watching {
	char *patterns[PATTERNS_MAX];
	struct request request;
	struct dotnet dotnet;
	struct runtime_follow runtime;
	struct watch *watch;
};

static inline void add_pattern(struct watching *w, const char *pattern)
{
	assert_true(w->request.count < PATTERNS_MAX);
	w->patterns[w->request.count++] = (char *)pattern;
}

static inline void start(struct watching *w, bool with_images)
{
	const struct watch_maps fds = { .watched_fd = WATCHED_FD, .modules_fd = MODULES_FD };
	struct error err = { .text = "" };

	assert_int_equal(dotnet_ops.follow->begin(&w->runtime,
						  with_images ? &w->dotnet.runtime : NULL, &err),
			 0);
	memset(&maps, 0, sizeof(maps));
	maps.room = MAP_MAX;
	w->request.patterns = w->patterns;
	if (watch_create(&w->watch, &w->request, &w->runtime, &fds, &err))
		fail_msg("%s", err.text);
}

static inline void add_image(struct dotnet_images *images, const char *name, struct span bytes)
{
	const struct dotnet_source source = {
		.file = images->count,
		.place = images->count,
		.name = name,
		.bytes = bytes,
		.is_mapped = mapped_everywhere,
	};

	assert_int_equal(dotnet_images_add(images, &source, NULL), 0);
}

/* Watch for up to three patterns (NULL: no more) in the zoo, which is there from the start. */
static inline void open_zoo(struct watching *w, const char *first, const char *second,
			    const char *third)
{
	const char *const patterns[] = { first, second, third };

	*w = (struct watching){ 0 };
	for (size_t i = 0; i < 3 && patterns[i]; i++)
		add_pattern(w, patterns[i]);
	add_image(&w->dotnet.images, "zoo.dll", golden_span(&files.zoo));
	assert_int_equal(w->dotnet.images.count, 1);
	dotnet_images_link_from(&w->dotnet.images, 0);
	start(w, true);
}

/* Nothing is known yet: the target is just being started. */
static inline void open_empty(struct watching *w, const char *first, const char *second)
{
	*w = (struct watching){ 0 };
	add_pattern(w, first);
	if (second)
		add_pattern(w, second);
	start(w, false);
}

static inline void stop(struct watching *w)
{
	watch_destroy(w->watch);
	runtime_follow_end(&w->runtime);
}

static inline void end(struct watching *w)
{
	stop(w);
	dotnet_images_deinit(&w->dotnet.images);
}

static inline size_t image_count(const struct watching *w)
{
	return w->runtime.images->ops->count(w->runtime.images);
}

static inline struct runtime_image image_at(const struct watching *w, size_t number)
{
	return w->runtime.images->ops->at(w->runtime.images, number);
}

static inline const struct dotnet_image *zoo_of(const struct watching *w)
{
	return w->dotnet.images.images[0];
}

/* The @nth method of that name, from 0; 0 if there is none. */
static inline uint32_t rid_of(const struct dotnet_image *image, const char *type,
			      const char *method, unsigned int nth)
{
	uint32_t count = metadata_rows(image->metadata, TABLE_METHOD_DEF), found = 0;
	_cleanup_(text_deinit) struct text name = { 0 };

	for (uint32_t rid = 1; rid <= count && !found; rid++) {
		text_clear(&name);
		metadata_type_name(image->metadata, metadata_method_type(image->metadata, rid),
				   &name);
		if (strcmp(text_chars(&name), type) == 0 &&
		    strcmp(metadata_method_name(image->metadata, rid), method) == 0 && nth-- == 0)
			found = rid;
	}
	return found;
}

static inline struct compile_event event_of(uint64_t module, uint64_t allocator, struct span image)
{
	return (struct compile_event){
		.module = module,
		.loader_allocator = allocator,
		.layout_base = 0x10000,
		.layout_size = (uint32_t)image.size,
		.kind = COMPILE_UNKNOWN,
	};
}

/* @module is found out to be of @image. */
static inline void must_learn(struct watching *w, uint64_t module, uint64_t allocator,
			      struct span image)
{
	const struct compile_event event = event_of(module, allocator, image);

	assert_int_equal(watch_learn(w->watch, &event, image.start), WATCH_KNOWN);
}

/* What a compilation of row @rid of @module is found to be, as the programs tell of it. */
static inline const struct watch_row *find(struct watching *w, uint64_t module, uint32_t rid)
{
	const struct compile_event event = {
		.module = module,
		.rid = rid,
		.watch = watch_word(module, rid),
	};

	return watch_find(w->watch, &event);
}

static inline const struct watch_row *find_in_zoo(struct watching *w, const char *type,
						  const char *method)
{
	uint32_t rid = rid_of(zoo_of(w), type, method, 0);

	assert_int_not_equal(rid, 0);
	return find(w, MODULE, rid);
}

static inline void assert_row(const struct watch_row *row, const char *method, bool generic,
			      bool sure)
{
	if (!row) {
		fail_msg("%s is not watched for", method);
		return;
	}
	assert_string_equal(row->is.method, method);
	assert_int_equal(row->is.generic, generic);
	assert_int_equal(row->is.sure, sure);
}

static inline int read_files(void **state)
{
	(void)state;
	files.zoo = golden_read("zoo-r2r.dll");
	files.tiny = golden_read("tiny-bodies.dll");
	return 0;
}

static inline int free_files(void **state)
{
	(void)state;
	golden_free(&files.zoo);
	golden_free(&files.tiny);
	return 0;
}

#endif
