// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Constants of the BPF programs, set between opening and loading them, and loading; see programs.h.
 * Without privileges libbpf only opens an object, to know its parts: the broker loads one of its
 * own, and what it hands over takes the place of what libbpf would have made.
 */
#include "probe/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/request.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "probe/uprobes.h"
#include "target/process.h"

struct programs {
	bool owned; /* else libbpf closes them */
	size_t count;
	struct {
		const struct bpf_program *program;
		int fd;
	} list[REQUEST_PROGRAMS];
};

void programs_set_target(struct place_probe_bpf *bpf, const struct process *process)
{
	bpf->rodata->target_tgid =
		(uint32_t)(process->initial_pid_ns ? process->pid : process->ns_pid);
	if (!process->initial_pid_ns) {
		bpf->rodata->target_pid_ns_dev = process->pid_ns_dev;
		bpf->rodata->target_pid_ns_inode = process->pid_ns_inode;
	}
}

void programs_set_latency(struct place_probe_bpf *bpf, const struct programs_latency *latency)
{
	bpf->rodata->latency_by = latency->by;
	bpf->rodata->slow_ns = latency->slow_ns;
	bpf->rodata->linear_min_ns = latency->linear_min_ns;
	bpf->rodata->linear_step_ns = latency->linear_step_ns;
	bpf->rodata->linear_count = latency->linear_count;
}

int programs_size_maps(const struct programs_map *maps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int result = bpf_map__set_max_entries(maps[i].map, (uint32_t)maps[i].entries);

		if (result)
			return result;
	}
	return 0;
}

/* Asking the broker ------------------------------------------------------------------------- */

static struct bpf_map_skeleton *map_of(const struct bpf_object_skeleton *skeleton, int i)
{
	return (struct bpf_map_skeleton *)(void *)((char *)skeleton->maps +
						   (size_t)i * (size_t)skeleton->map_skel_sz);
}

static bool is_constants(const struct bpf_map *map)
{
	return bpf_map__map_flags(map) & BPF_F_RDONLY_PROG;
}

/* Of the constants: where we have them, and how many bytes there are. */
static void *constants_of(const struct bpf_object_skeleton *skeleton, size_t *bytes)
{
	*bytes = 0;
	for (int i = 0; i < skeleton->map_cnt; i++) {
		const struct bpf_map_skeleton *map = map_of(skeleton, i);

		if (!map->mmaped || !*map->mmaped || !is_constants(*map->map))
			continue;
		*bytes = bpf_map__value_size(*map->map);
		return *map->mmaped;
	}
	return NULL;
}

static int describe(const struct bpf_object_skeleton *skeleton, struct request_load *request)
{
	const struct bpf_object *object = *skeleton->obj;
	struct bpf_program *program;
	size_t bytes;
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		if (request->map_count == REQUEST_MAPS)
			return -E2BIG;
		request->maps[request->map_count++] = (struct request_map){
			.key_bytes = bpf_map__key_size(map),
			.entries = bpf_map__max_entries(map),
			.fd = -1,
		};
	}
	bpf_object__for_each_program(program, object)
	{
		if (request->program_count == REQUEST_PROGRAMS)
			return -E2BIG;
		request->programs[request->program_count++] = (struct request_program){
			.wanted = bpf_program__autoload(program),
			.multi = (int)bpf_program__expected_attach_type(program) ==
				 UPROBE_MULTI_ATTACH_TYPE,
			.fd = -1,
		};
	}
	request->constants = (uint64_t)(uintptr_t)constants_of(skeleton, &bytes);
	request->constants_bytes = (uint32_t)bytes;
	return 0;
}

/* What libbpf has variables in gives way to the map that the programs have them in. */
static int share_variables(const struct bpf_map_skeleton *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (bpf_map__value_size(*map->map) + page - 1) / page * page;
	int rights = is_constants(*map->map) ? PROT_READ : PROT_READ | PROT_WRITE;
	const void *shared = mmap(*map->mmaped, bytes, rights, MAP_SHARED | MAP_FIXED,
				  bpf_map__fd(*map->map), 0);

	/* libbpf unmaps it. */
	return shared == MAP_FAILED ? -errno : 0; // cppcheck-suppress memleak
}

static int take_maps(const struct bpf_object_skeleton *skeleton, const struct request_load *request)
{
	struct bpf_map *map;
	size_t i = 0;
	int result = 0;

	bpf_object__for_each_map(map, *skeleton->obj)
	{
		int fd = request->maps[i++].fd;

		if (fd >= 0 && result == 0)
			result = bpf_map__reuse_fd(map, fd);
		cleanup_close(&fd);
	}
	for (int at = 0; at < skeleton->map_cnt && result == 0; at++) {
		const struct bpf_map_skeleton *shared = map_of(skeleton, at);

		if (shared->mmaped && *shared->mmaped)
			result = share_variables(shared);
	}
	return result;
}

/* Loading ------------------------------------------------------------------------------------ */

/* Their descriptors are those of @request, which are ours then; NULL: libbpf has them. */
static int note_programs(struct programs *programs, const struct bpf_object_skeleton *skeleton,
			 const struct request_load *request)
{
	struct bpf_program *program;

	programs->owned = request;
	bpf_object__for_each_program(program, *skeleton->obj)
	{
		size_t i = programs->count;

		if (i == REQUEST_PROGRAMS)
			return -E2BIG;
		programs->list[i].program = program;
		if (request)
			programs->list[i].fd = request->programs[i].fd;
		else
			programs->list[i].fd =
				bpf_program__autoload(program) ? bpf_program__fd(program) : -1;
		programs->count++;
	}
	return 0;
}

static int tell_warnings(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

void programs_tell(bool tell)
{
	libbpf_set_print(tell ? tell_warnings : NULL);
}

/* libbpf goes on without them where it has found that the kernel does not map arrays. */
static bool has_variables(const struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->map_cnt; i++) {
		const struct bpf_map_skeleton *map = map_of(skeleton, i);

		if (map->mmaped && !*map->mmaped)
			return false;
	}
	return true;
}

static int load_here(struct programs *programs, struct bpf_object_skeleton *skeleton,
		     const struct programs_how *how)
{
	int result;

	programs_tell(how->verbose && !how->quiet);
	result = bpf_object__load_skeleton(skeleton);
	programs_tell(how->verbose);
	if (result == 0 && !has_variables(skeleton))
		result = -ENOMEM;
	return result ? result : note_programs(programs, skeleton, NULL);
}

int programs_load(struct programs **out, struct bpf_object_skeleton *skeleton,
		  const struct programs_how *how)
{
	_cleanup_free_ struct request_load *request = calloc(1, sizeof(*request));
	struct programs *programs = calloc(1, sizeof(*programs));
	int result = request && programs ? describe(skeleton, request) : -ENOMEM;

	if (result == 0) {
		request->object = how->object;
		request->ourselves = how->ourselves;
		request->verbose = how->verbose && !how->quiet;
		if (!request_make(REQUEST_LOAD, &request->answer)) {
			result = load_here(programs, skeleton, how);
		} else {
			result = request->answer.result;
			if (result == 0)
				result = note_programs(programs, skeleton, request);
			if (result == 0)
				result = take_maps(skeleton, request);
		}
	}
	if (result) {
		programs_destroy(programs);
		return result;
	}
	*out = programs;
	return 0;
}

void programs_destroy(struct programs *programs)
{
	if (!programs)
		return;
	for (size_t i = 0; programs->owned && i < programs->count; i++)
		cleanup_close(&programs->list[i].fd);
	free(programs);
}

int programs_fd(const struct programs *programs, const struct bpf_program *program)
{
	for (size_t i = 0; programs && i < programs->count; i++) {
		if (programs->list[i].program == program)
			return programs->list[i].fd;
	}
	return -1;
}
