// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks through the mappings of all processes, by the names of what is mapped: see candidates.h. */
#include "target/candidates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "target/proc.h"

/* The memory is that of .NET's run-time compiled code, which a single-file executable has too. */
static const char *const known_by[] = { "/libcoreclr.so\n", "/memfd:doublemapper", "/libnode.so",
					"/node\n" };

static bool has_runtime(int proc_fd, pid_t pid)
{
	_cleanup_free_ char *line = NULL;
	char path[32];
	size_t size = 0;
	bool found = false;
	FILE *maps;
	int fd;

	snprintf(path, sizeof(path), "%d/maps", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	maps = fd < 0 ? NULL : fdopen(fd, "r");
	if (!maps) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && getline(&line, &size, maps) > 0) {
		for (size_t i = 0; i < sizeof(known_by) / sizeof(known_by[0]); i++)
			found |= strstr(line, known_by[i]) != NULL;
	}
	fclose(maps);
	return found;
}

int candidates_list(candidate_fn fn, void *ctx)
{
	DIR *proc = opendir("/proc");

	if (!proc)
		return -errno;
	for (pid_t pid; (pid = proc_next(proc));) {
		char path[32], comm[17];

		snprintf(path, sizeof(path), "%d/comm", pid);
		if (!has_runtime(dirfd(proc), pid) ||
		    proc_read(dirfd(proc), path, comm, sizeof(comm)) < 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		text_make_printable(comm, strlen(comm));
		fn(ctx, pid, comm);
	}
	closedir(proc);
	return 0;
}
