// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run looks at, opened first of all: the runtimes look for their code in it. */
#include "target/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/vector.h"
#include "target/memory.h"
#include "target/numbers.h"
#include "target/privileges.h"
#include "target/sigbus.h"

enum { GONE_MAX = 1 << 14 /* mappings that are remembered; the older half is forgotten then */ };

/* Every file stays open: raise our RLIMIT_NOFILE to its hard limit. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void target_prepare(unsigned int wanted)
{
	privileges_reduce(wanted);
	sigbus_install();
	raise_limit();
}

int target_init(struct target *target, pid_t pid, struct error *err)
{
	int result;

	*target = TARGET_NONE;
	result = process_init(&target->process, pid, err);
	return result ? result : file_numbers_create(&target->files.numbers, err);
}

void target_close_memory(struct target *target)
{
	memory_destroy(target->memory);
	target->memory = NULL;
}

void target_deinit(struct target *target)
{
	target_close_memory(target);
	target_files_close(&target->files);
	file_numbers_destroy(target->files.numbers);
	maps_deinit(&target->first);
	maps_deinit(&target->last);
	free(target->gone);
	process_deinit(&target->process);
	*target = (struct target){ .process = target->process };
}

int target_open_memory(struct target *target, struct error *err)
{
	return target->memory ? 0 : memory_open(&target->memory, &target->process, err);
}

const struct maps *target_maps(const struct target *target)
{
	return target->last.count ? &target->last : &target->first;
}

const struct mapping *target_find_mapping(const struct target *target, struct address address)
{
	const struct mapping *row = maps_find(target_maps(target), address);

	for (size_t i = target->gone_count; !row && i > 0; i--) {
		const struct mapping *gone = &target->gone[i - 1];

		if (address.value >= gone->start.value && address.value < gone->end.value)
			row = gone;
	}
	return row;
}

struct address target_address(const struct target *target, const struct target_file *file,
			      struct file_offset offset)
{
	const struct maps *maps = target_maps(target);
	const struct mapping *of_file = &file->mapping, *end = maps->rows + maps->count;
	const struct mapping *first = maps_find(maps, of_file->start);
	struct address address = { 0 };

	/* The file's own row is its first with code, if it has any: this is asked for each body. */
	if (!mapping_is_file_code(of_file))
		return address;
	for (const struct mapping *row = first ? first : maps->rows; row < end; row++) {
		if (mapping_is_file_code(row) && mapping_same_file(row, of_file) &&
		    mapping_address(row, offset, &address))
			return address;
	}
	return (struct address){ 0 };
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), suffix_length = strlen(suffix);

	return length > suffix_length && strcasecmp(path + length - suffix_length, suffix) == 0;
}

/*
 * May the row hold code: mapped executable from a file, or of a managed image? Precompiled images
 * are mapped executable; IL-only ones just to be read.
 */
static bool may_hold_code(const struct mapping *row)
{
	return mapping_is_file_code(row) ||
	       (row->inode && (has_suffix(row->path, ".dll") || has_suffix(row->path, ".exe")));
}

void target_forget_pages(const struct target *target)
{
	for (size_t i = 0; i < target->files.count; i++) {
		struct span bytes = target->files.files[i].bytes;

		madvise((void *)(uintptr_t)bytes.start, bytes.size, MADV_DONTNEED);
	}
}

/* What is mapped ------------------------------------------------------------------------------- */

static bool is_same_row(const struct mapping *a, const struct mapping *b)
{
	return a->start.value == b->start.value && a->end.value == b->end.value &&
	       a->offset.value == b->offset.value && a->executable == b->executable &&
	       mapping_same_file(a, b);
}

/* The next row from @i on that bears on code. */
static size_t next_wanted(const struct maps *maps, size_t i)
{
	while (i < maps->count && !may_hold_code(&maps->rows[i]))
		i++;
	return i;
}

static bool is_same_code(const struct maps *a, const struct maps *b)
{
	size_t i = next_wanted(a, 0), j = next_wanted(b, 0);

	for (; i < a->count && j < b->count; i = next_wanted(a, i + 1), j = next_wanted(b, j + 1)) {
		if (!is_same_row(&a->rows[i], &b->rows[j]))
			return false;
	}
	return i == a->count && j == b->count;
}

/* Hits in code may still be on their way to us when it is unmapped. */
static void note_gone(struct target *target, const struct mapping *row)
{
	const struct target_file *file = target_find_file(target, row);

	if (!file)
		return;
	if (target->gone_count == GONE_MAX) {
		target->gone_count /= 2;
		memmove(target->gone, target->gone + target->gone_count,
			target->gone_count * sizeof(*target->gone));
	}
	if (!vector_reserve(&target->gone, &target->gone_capacity, target->gone_count + 1))
		return;
	target->gone[target->gone_count] = *row;
	/* The list of mappings is not kept. */
	target->gone[target->gone_count++].path = file->path;
}

static void note_all_gone(struct target *target, const struct maps *now)
{
	const struct maps *before = target_maps(target);

	for (size_t i = 0; i < before->count; i++) {
		const struct mapping *row = &before->rows[i], *there;

		if (!mapping_is_file_code(row))
			continue;
		there = maps_find(now, row->start);
		if (!there || !is_same_row(row, there))
			note_gone(target, row);
	}
}

int target_look(struct target *target, struct error *err)
{
	struct maps maps;
	bool changed;
	int result = maps_read(&maps, &target->process, err);

	if (result)
		return result;
	if (maps.count == 0) {
		maps_deinit(&maps);
		return error_set(
			err, -ESRCH,
			"process %d (%s) has exited: see pgrep -l for the one that runs now",
			target->process.pid, target->process.comm);
	}
	changed = !is_same_code(target_maps(target), &maps);
	if (changed) {
		/* What is open stays open if not all can be opened. */
		result = target_files_add(&target->files, &target->process, &maps, may_hold_code,
					  err);
		note_all_gone(target, &maps);
	}
	if (target->first.count) {
		maps_deinit(&target->last);
		target->last = maps;
	} else {
		target->first = maps;
	}
	target->version += changed;
	return result ? result : changed;
}
