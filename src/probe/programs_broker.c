// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The broker's part of programs.h. Who asks chooses which of our own programs are loaded, their
 * constants and how large their maps are; the code is what was built in, and which process it looks
 * at is written over what was asked for.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/request.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/in_flight.h"
#include "bpf/in_flight.skel.h"
#include "bpf/place_probe.skel.h"
#include "probe/programs.h"
#include "probe/uprobes.h"

enum { MEMORY_PART = 2 /* of the machine's, for all maps of a load */ };

static int open_object(struct programs_loaded *loaded, enum programs_object object)
{
	struct place_probe_bpf *bpf;
	struct in_flight_bpf *in_flight;

	loaded->object = object;
	if (object == PROGRAMS_PLACE_PROBE) {
		loaded->opened = bpf = place_probe_bpf__open();
		loaded->skeleton = bpf ? bpf->skeleton : NULL;
	} else if (object == PROGRAMS_IN_FLIGHT) {
		loaded->opened = in_flight = in_flight_bpf__open();
		loaded->skeleton = in_flight ? in_flight->skeleton : NULL;
	} else {
		return -EINVAL;
	}
	return loaded->opened ? 0 : -errno;
}

void programs_unload(struct programs_loaded *loaded)
{
	if (loaded->opened && loaded->object == PROGRAMS_PLACE_PROBE)
		place_probe_bpf__destroy(loaded->opened);
	else if (loaded->opened)
		in_flight_bpf__destroy(loaded->opened);
	loaded->opened = NULL;
}

/* Variables are as large as they are. */
static int size_map(struct bpf_map *map, const struct request_map *asked, uint64_t *bytes)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t entry_bytes = (uint64_t)asked->key_bytes + bpf_map__value_size(map);
	int result = 0;

	if (bpf_map__is_internal(map))
		return 0;
	/* A ring buffer's are bytes. */
	*bytes += asked->entries * (entry_bytes ? entry_bytes : 1);
	if (*bytes > memory / MEMORY_PART)
		return -E2BIG;
	if (asked->key_bytes != bpf_map__key_size(map))
		result = bpf_map__set_key_size(map, asked->key_bytes);
	if (result == 0 && asked->entries != bpf_map__max_entries(map))
		result = bpf_map__set_max_entries(map, asked->entries);
	return result;
}

static int size_maps(const struct bpf_object *object, const struct request_load *request)
{
	struct bpf_map *map;
	uint64_t bytes = 0;
	uint32_t i = 0;
	int result = 0;

	bpf_object__for_each_map(map, object)
	{
		if (result == 0)
			result = i < request->map_count ? size_map(map, &request->maps[i], &bytes) :
							  -EINVAL;
		i++;
	}
	return result;
}

static int choose_programs(const struct bpf_object *object, const struct request_load *request)
{
	struct bpf_program *program;
	uint32_t i = 0;

	bpf_object__for_each_program(program, object)
	{
		if (i >= request->program_count)
			return -EINVAL;
		bpf_program__set_autoload(program, request->programs[i].wanted);
		if (request->programs[i++].multi &&
		    bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
			bpf_program__set_expected_attach_type(
				program, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	}
	return 0;
}

static int set_constants(const struct programs_loaded *loaded, const struct request_load *request,
			 const void *constants, const struct process *process)
{
	struct place_probe_bpf *bpf = loaded->opened;

	/* The other has none that matter. */
	if (loaded->object != PROGRAMS_PLACE_PROBE)
		return 0;
	if (request->constants_bytes != bpf_map__value_size(bpf->maps.rodata))
		return -EINVAL;
	memcpy(bpf->rodata, constants, request->constants_bytes);
	bpf->rodata->target_pid_ns_dev = bpf->rodata->target_pid_ns_inode = 0;
	programs_set_target(bpf, process);
	/* What is read there is the kernel's. */
	if (bpf->rodata->thread_pointer_at)
		bpf->rodata->thread_pointer_at = programs_thread_pointer_at();
	return 0;
}

int programs_load_for(struct programs_loaded *loaded, const struct request_load *request,
		      const void *constants, const struct process *process)
{
	int result;

	programs_tell(request->verbose);
	result = open_object(loaded, request->object);
	if (result == 0)
		result = size_maps(*loaded->skeleton->obj, request);
	if (result == 0)
		result = choose_programs(*loaded->skeleton->obj, request);
	if (result == 0)
		result = set_constants(loaded, request, constants, process);
	if (result == 0)
		result = bpf_object__load_skeleton(loaded->skeleton);
	if (result)
		programs_unload(loaded);
	return result;
}
