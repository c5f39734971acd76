// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks through the mappings of all processes, by the names of what is mapped: see candidates.h. */
#include "target/candidates.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "target/proc.h"

/* The memory is that of .NET's run-time compiled code, which a single-file executable has too. */
static const char *const known_by[] = { "/libcoreclr.so\n", "/memfd:doublemapper", "/libnode.so",
					"/node\n" };

static bool has_runtime(pid_t pid)
{
	_cleanup_free_ char *line = NULL;
	char path[32];
	size_t size = 0;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	while (!found && getline(&line, &size, maps) > 0) {
		for (size_t i = 0; i < sizeof(known_by) / sizeof(known_by[0]); i++)
			found |= strstr(line, known_by[i]) != NULL;
	}
	fclose(maps);
	return found;
}

int candidates_list(candidate_fn fn, void *ctx)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");

	if (!proc)
		return -errno;
	for (pid_t pid; (pid = proc_next(proc));) {
		char path[32], comm[17];

		snprintf(path, sizeof(path), "%d/comm", pid);
		if (!has_runtime(pid) || proc_read(dirfd(proc), path, comm, sizeof(comm)) < 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		text_make_printable(comm, strlen(comm));
		fn(ctx, pid, comm);
	}
	return 0;
}
