// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A socket pair holds the child: it reads a byte before it execs, and writes the errno of an exec
 * that failed. Both ends are close-on-exec, so the end of the stream is, for place-probe, an exec
 * that went well, and, for the child, the death of place-probe.
 */
#include "target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

enum {
	/* As a shell has it. Nobody but an exec that failed sees them. */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

struct launch {
	pid_t pid;
	int fd; /* our end of the socket pair; -1 once it is released */
	char *program;
	const char *name; /* as the user wrote it, borrowed */
	bool reaped;
	int status; /* once it is reaped */
};

/* Finding the program ------------------------------------------------------------------- */

/* Would execve() find a file to execute? */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : -errno;
}

/* As execvp(): what cannot be looked at is passed over, what may not be executed is remembered. */
static int search_path(const char *name, const char *dirs, char **program)
{
	int refused = -ENOENT;

	for (const char *dir = dirs;; dir++) {
		size_t length = strcspn(dir, ":");
		int result;

		/* "" in PATH is the current directory. */
		if (asprintf(program, "%.*s%s%s", (int)length, dir, length ? "/" : "", name) < 0) {
			*program = NULL;
			return -ENOMEM;
		}
		result = check_executable(*program);
		if (result == 0)
			return 0;
		if (result == -EACCES)
			refused = result;
		free(*program);
		*program = NULL;
		dir += length;
		if (!*dir)
			return refused;
	}
}

static int refuse_program(const char *name, int code, struct error *err)
{
	struct stat st;

	if (code == -ENOENT && !strchr(name, '/'))
		return error_set(
			err, code,
			"cannot start '%s': there is no such program in PATH; give its path", name);
	if (code == -EACCES && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return error_set(err, code, "cannot start '%s': it is a directory; give a program",
				 name);
	return error_set(err, code, "cannot start '%s': %s", name, strerror(-code));
}

static int find_program(const char *name, char **program, struct error *err)
{
	char usual[256] = ""; /* "/bin:/usr/bin" */
	const char *dirs = getenv("PATH");
	int result;

	*program = NULL;
	if (!*name)
		return refuse_program(name, -ENOENT, err);
	if (strchr(name, '/')) {
		*program = strdup(name);
		result = *program ? check_executable(*program) : -ENOMEM;
	} else {
		confstr(_CS_PATH, usual, sizeof(usual));
		result = search_path(name, dirs ? dirs : usual, program);
	}
	return result ? refuse_program(name, result, err) : 0;
}

/* The child ----------------------------------------------------------------------------- */

static void __attribute__((noreturn))
run_child(int fd, const char *program, char *const *command, const struct sigaction *child_ended)
{
	sigset_t none;
	uint8_t go;
	ssize_t got;
	int code;

	/*
	 * What is caught becomes the default by exec; what is ignored stays so. place-probe ignores
	 * SIGPIPE and no other signal: the rest was ignored by whoever started it, for the command
	 * as well.
	 */
	signal(SIGPIPE, SIG_DFL);
	sigaction(SIGCHLD, child_ended, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	do {
		got = recv(fd, &go, sizeof(go), 0);
	} while (got < 0 && errno == EINTR);
	if (got != sizeof(go))
		_exit(EXIT_NOT_FOUND);
	execve(program, command, environ);
	code = errno;
	(void)!send(fd, &code, sizeof(code), MSG_NOSIGNAL);
	_exit(code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* place-probe's side -------------------------------------------------------------------- */

static int hold_child(struct launch *launch, char *const *command, struct error *err)
{
	/* Where it is ignored children vanish unseen, and their ids with them. */
	const struct sigaction seen = { .sa_handler = SIG_DFL };
	struct sigaction inherited;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return error_set(err, -errno, "cannot start '%s': %s", launch->name,
				 strerror(errno));
	sigaction(SIGCHLD, &seen, &inherited);
	launch->pid = fork();
	if (launch->pid == 0) {
		/* With a copy of our end it would never see us die. */
		close(ends[0]);
		run_child(ends[1], launch->program, command, &inherited);
	}
	launch->fd = ends[0];
	close(ends[1]);
	if (launch->pid < 0)
		return error_set(err, -errno, "cannot start '%s': %s", launch->name,
				 strerror(errno));
	return 0;
}

int launch_create(struct launch **out, char *const *command, struct error *err)
{
	struct launch *launch = calloc(1, sizeof(*launch));
	int result;

	if (!launch)
		return error_set(err, -ENOMEM, "no memory to start a command");
	launch->pid = launch->fd = -1;
	launch->name = command[0];
	result = find_program(launch->name, &launch->program, err);
	if (result == 0)
		result = hold_child(launch, command, err);
	if (result) {
		launch_destroy(launch);
		return result;
	}
	*out = launch;
	return 0;
}

pid_t launch_pid(const struct launch *launch)
{
	return launch->pid;
}

const char *launch_program(const struct launch *launch)
{
	return launch->program;
}

static int refuse_exec(const struct launch *launch, int code, struct error *err)
{
	/* The file was there a moment ago. */
	if (code == -ENOENT)
		return error_set(
			err, code,
			"cannot execute %s: the interpreter that it names does not exist; give that and the script, or install it",
			launch->program);
	if (code == -ENOEXEC)
		return error_set(
			err, code,
			"cannot execute %s: it is no program, and no script with a #! line; give its interpreter first",
			launch->program);
	return error_set(err, code, "cannot execute %s: %s (start it by hand, and give its PID)",
			 launch->program, strerror(-code));
}

/* What came of the exec: 0, its errno, or -ESRCH of a child that is no more. */
static int await_exec(int fd)
{
	const uint8_t go = 1;
	int code = 0;
	ssize_t got;

	if (send(fd, &go, sizeof(go), MSG_NOSIGNAL) < 0)
		return -ESRCH;
	do {
		got = recv(fd, &code, sizeof(code), MSG_WAITALL);
	} while (got < 0 && errno == EINTR);
	/* The kernel resets a connection whose other end is closed with something still to read. */
	if (got < 0)
		return -ESRCH;
	return got == sizeof(code) ? error_code(-code) : 0;
}

int launch_release(struct launch *launch, struct error *err)
{
	int result = await_exec(launch->fd), status;

	if (result == 0) {
		close(launch->fd);
		launch->fd = -1;
		return 0;
	}
	/* One that was ended by a signal may not have got as far as being waited for. */
	launch_wait(launch, &status);
	if (result == -ESRCH)
		return error_set(err, result, "'%s' was ended before it began; run again",
				 launch->name);
	return refuse_exec(launch, result, err);
}

int launch_wait(struct launch *launch, int *status)
{
	while (!launch->reaped) {
		if (waitpid(launch->pid, &launch->status, 0) == launch->pid)
			launch->reaped = true;
		else if (errno != EINTR)
			return -errno;
	}
	*status = launch->status;
	return 0;
}

bool launch_ending(const struct launch *launch, int status, char *text, size_t size)
{
	if (WIFSIGNALED(status)) {
		const char *description = sigdescr_np(WTERMSIG(status));

		snprintf(text, size, "%s was ended by signal %d (%s)%s", launch->name,
			 WTERMSIG(status), description ? description : "?",
			 WCOREDUMP(status) ? ", and has left a core" : "");
		return true;
	}
	snprintf(text, size, "%s exited with status %d", launch->name, WEXITSTATUS(status));
	return WEXITSTATUS(status) != 0;
}

void launch_destroy(struct launch *launch)
{
	int status;

	if (!launch)
		return;
	/* It has not been released, or could not be executed. By SIGKILL, lest it be stopped. */
	if (launch->fd >= 0) {
		if (launch->pid > 0 && !launch->reaped) {
			kill(launch->pid, SIGKILL);
			launch_wait(launch, &status);
		}
		close(launch->fd);
	}
	free(launch->program);
	free(launch);
}
