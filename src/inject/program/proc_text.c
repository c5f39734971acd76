// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads /proc/PID/task/TID/syscall and status, for the choice of a thread and for refusals. */
#include "inject/program/proc_text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void lines_start(struct lines *lines, int fd)
{
	lines->fd = fd;
	lines->at = lines->end = 0;
	lines->cut = false;
}

/* More of the text behind what is still to be handed out. False at its end. */
static bool lines_fill(struct lines *lines)
{
	ssize_t got;

	memmove(lines->bytes, lines->bytes + lines->at, lines->end - lines->at);
	lines->end -= lines->at;
	lines->at = 0;
	got = read(lines->fd, lines->bytes + lines->end, LINES_BYTES - lines->end);
	if (got <= 0)
		return false;
	lines->end += (size_t)got;
	return true;
}

char *lines_next(struct lines *lines)
{
	for (;;) {
		char *line = lines->bytes + lines->at;
		char *newline = memchr(line, '\n', lines->end - lines->at);
		bool full = lines->at == 0 && lines->end == LINES_BYTES, rest = lines->cut;

		if (!newline && !full) {
			if (lines_fill(lines))
				continue;
			/* What is left has been moved. */
			line = lines->bytes;
			if (lines->end == 0)
				return NULL;
		}
		/* The room for this NUL is there, one byte more than is ever read. */
		lines->bytes[newline ? (size_t)(newline - lines->bytes) : lines->end] = '\0';
		lines->at = newline ? (size_t)(newline - lines->bytes) + 1 : lines->end;
		lines->cut = !newline;
		if (!rest)
			return line;
	}
}

/* A number as the kernel prints it, with "0x" in front if it is hexadecimal; @text is moved on. */
static bool take_number(const char **text, uint64_t *value)
{
	bool hexadecimal = strncmp(*text, "0x", 2) == 0;
	const char *digits = *text + (hexadecimal ? 2 : 0);
	char *end;

	/* strtoull would also take spaces, signs and a second "0x". */
	if (strspn(digits, hexadecimal ? "0123456789abcdef" : "0123456789") == 0 ||
	    (hexadecimal && digits[1] == 'x'))
		return false;
	errno = 0;
	*value = strtoull(digits, &end, hexadecimal ? 16 : 10);
	if (errno || (*end && *end != ' ' && *end != '\n'))
		return false;
	*text = *end == ' ' ? end + 1 : end;
	return true;
}

/* "running", "-1 SP PC", or "NUMBER ARGUMENTS... SP PC". */
void thread_call_parse(struct thread_call *call, const char *text)
{
	uint64_t number, stack_and_code;

	*call = (struct thread_call){ .where = THREAD_UNKNOWN };
	if (strcmp(text, "running\n") == 0) {
		call->where = THREAD_RUNNING;
		return;
	}
	if (strncmp(text, "-1 0x", 5) == 0) {
		call->where = THREAD_OUT_OF_CALL;
		return;
	}
	if (!take_number(&text, &number) || number > INT_MAX)
		return;
	for (size_t i = 0; i < INJECTION_ARGUMENTS; i++) {
		if (!take_number(&text, &call->arguments[i]))
			return;
	}
	for (int i = 0; i < 2; i++) {
		if (!take_number(&text, &stack_and_code))
			return;
	}
	if (strcmp(text, "\n") != 0)
		return;
	call->number = (long)number;
	call->where = THREAD_IN_CALL;
}

/* What follows @key and blanks in @line, or NULL. */
static const char *value_of(const char *line, const char *key)
{
	size_t length = strlen(key);

	if (strncmp(line, key, length) != 0)
		return NULL;
	return line + length + strspn(line + length, " \t");
}

void thread_status_add(struct thread_status *status, const char *line)
{
	const char *value;

	if ((value = value_of(line, "State:")))
		status->state = *value;
	else if ((value = value_of(line, "TracerPid:")))
		status->tracer = (int32_t)strtol(value, NULL, 10);
	else if ((value = value_of(line, "Seccomp:")))
		status->seccomp = (int)strtol(value, NULL, 10);
	else if ((value = value_of(line, "SigPnd:")) || (value = value_of(line, "ShdPnd:")))
		status->pending |= strtoull(value, NULL, 16);
	else if ((value = value_of(line, "SigIgn:")))
		status->ignored = strtoull(value, NULL, 16);
}
