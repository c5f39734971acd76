// SPDX-License-Identifier: GPL-2.0-or-later
/* What /proc says of processes and threads, for process.c and all who look at others than it. */
#include "target/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STAT_MAX_BYTES = 4096,
	STATUS_MAX_BYTES = 65536,
};

ssize_t proc_read(int dir_fd, const char *path, char *text, size_t size)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (got < 0)
		got = -errno;
	if (fd >= 0)
		close(fd);
	text[got < 0 ? 0 : got] = '\0';
	return got;
}

long proc_read_status(int dir_fd, const char *path, const char *key)
{
	char text[STATUS_MAX_BYTES];
	char *line, *end;

	if (proc_read(dir_fd, path, text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, key);
	if (!line)
		return -1;
	line += strlen(key);
	end = line + strcspn(line, "\n");
	while (end > line && !isspace((unsigned char)end[-1]))
		end--;
	return strtol(end, NULL, 10);
}

/* comm stands in parentheses and may hold any character, so fields count from the last one. */
static int parse_stat(char *text, struct proc_stat *stat)
{
	enum {
		FIELD_STATE = 3,
		FIELD_FLAGS = 9,
		FIELD_USER_TICKS = 14,
		FIELD_SYSTEM_TICKS = 15,
		FIELD_THREADS = 20,
	};
	char *open_paren = strchr(text, '('), *close_paren = strrchr(text, ')');
	char *save = NULL;
	int field = FIELD_STATE;

	if (!open_paren || !close_paren || close_paren < open_paren)
		return -EPROTO;
	*stat = (struct proc_stat){ 0 };
	snprintf(stat->comm, sizeof(stat->comm), "%.*s", (int)(close_paren - open_paren - 1),
		 open_paren + 1);
	for (char *word = strtok_r(close_paren + 1, " ", &save); word;
	     word = strtok_r(NULL, " ", &save), field++) {
		if (field == FIELD_STATE)
			stat->state = word[0];
		else if (field == FIELD_FLAGS)
			stat->flags = strtoull(word, NULL, 10);
		else if (field == FIELD_USER_TICKS || field == FIELD_SYSTEM_TICKS)
			stat->cpu_ticks += strtoull(word, NULL, 10);
		else if (field == FIELD_THREADS)
			stat->threads = strtol(word, NULL, 10);
	}
	return field > FIELD_THREADS ? 0 : -EPROTO;
}

int proc_read_stat(int dir_fd, const char *path, struct proc_stat *stat)
{
	char text[STAT_MAX_BYTES];
	ssize_t got = proc_read(dir_fd, path, text, sizeof(text));

	return got < 0 ? (int)got : parse_stat(text, stat);
}

int proc_reread_stat(int fd, struct proc_stat *stat)
{
	char text[STAT_MAX_BYTES];
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	if (got < 0)
		return -errno;
	text[got] = '\0';
	return parse_stat(text, stat);
}

DIR *proc_open_list(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	int why = errno;

	if (!list && fd >= 0)
		close(fd);
	errno = why;
	return list;
}

pid_t proc_next(DIR *list)
{
	const struct dirent *entry;
	pid_t number = 0;

	while (number <= 0 && (entry = readdir(list)))
		number = (pid_t)strtol(entry->d_name, NULL, 10);
	return number > 0 ? number : 0;
}
