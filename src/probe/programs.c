// SPDX-License-Identifier: GPL-2.0-or-later
/* Constants of the BPF programs, set between opening and loading them; see programs.h. */
#include "probe/programs.h"

#include <bpf/libbpf.h>

#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "target/process.h"

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
