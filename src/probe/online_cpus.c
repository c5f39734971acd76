// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's list of CPUs that are switched on, for breakpoints.c. */
#include "probe/online_cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/error.h"

void online_cpus_open(struct online_cpus *cpus)
{
	cpus->fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	cpus->list[0] = '\0';
	online_cpus_changed(cpus);
}

bool online_cpus_changed(struct online_cpus *cpus)
{
	char list[ONLINE_CPUS_BYTES];
	ssize_t got = pread(cpus->fd, list, sizeof(list) - 1, 0);

	list[got < 0 ? 0 : got] = '\0';
	if (got <= 0 || strcmp(list, cpus->list) == 0)
		return false;
	memcpy(cpus->list, list, sizeof(list));
	return true;
}

bool online_cpus_has(const struct online_cpus *cpus, int cpu)
{
	const char *list = cpus->list;
	char *end;

	while (*list) {
		long first = strtol(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		list = *end == ',' ? end + 1 : end;
	}
	return false;
}

int possible_cpus(struct error *err)
{
	int count = libbpf_num_possible_cpus();

	if (count == 0)
		count = -EINVAL;
	return count > 0 ? count :
			   error_set(err, count, "cannot tell how many CPUs there are: %s",
				     strerror(-count));
}
