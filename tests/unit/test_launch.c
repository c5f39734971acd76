// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands held before exec: real children, and what they say of themselves. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "target/launch.h"
#include "tests/unit/scratch.h"

enum {
	OUTPUT_MAX_BYTES = 1 << 16,
	BEFORE_END_MS = 10000,
	WHILE_HELD_MS = 50,
};

/* As argv is, in which nothing is const. */
#define COMMAND(...) ((char *const *)(const char *const[]){ __VA_ARGS__, NULL })

static struct launch *create(char *const *command)
{
	struct error err = { .text = "" };
	struct launch *launch = NULL;

	if (launch_create(&launch, command, &err))
		fail_msg("%s", err.text);
	return launch;
}

static int release_and_wait(struct launch *launch)
{
	struct error err = { .text = "" };
	int status = -1;

	if (launch_release(launch, &err))
		fail_msg("%s", err.text);
	assert_int_equal(launch_wait(launch, &status), 0);
	return status;
}

static int run(char *const *command)
{
	struct launch *launch = create(command);
	int status = release_and_wait(launch);

	launch_destroy(launch);
	return status;
}

/* Have this test's own standard output go to a file, as the child's then does. */
static int divert_output(int *saved)
{
	int fd = memfd_create("output", MFD_CLOEXEC);

	assert_true(fd >= 0);
	fflush(stdout);
	*saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	return fd;
}

static void restore_output(int fd, int saved, char *text)
{
	ssize_t got = pread(fd, text, OUTPUT_MAX_BYTES - 1, 0);

	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
}

static void output_of(char *const *command, char *text)
{
	int saved, fd = divert_output(&saved);
	struct error err = { .text = "" };
	struct launch *launch = NULL;
	int result = launch_create(&launch, command, &err), status = -1;

	if (result == 0)
		result = launch_release(launch, &err);
	if (result == 0)
		result = launch_wait(launch, &status);
	restore_output(fd, saved, text);
	launch_destroy(launch);
	if (result || status)
		fail_msg("status %x: %s", (unsigned int)status, err.text);
}

UNIT_TEST(runs_a_program)
{
	struct launch *launch = create(COMMAND("true"));
	char said[128];

	assert_true(launch_pid(launch) > 0);
	assert_string_equal(strrchr(launch_program(launch), '/'), "/true");
	assert_int_equal(release_and_wait(launch), 0);
	assert_false(launch_ending(launch, 0, said, sizeof(said)));
	launch_destroy(launch);

	assert_int_equal(run(COMMAND("/bin/true")), 0);
	assert_int_equal(WEXITSTATUS(run(COMMAND("false"))), 1);
	assert_int_equal(run(COMMAND("sh", "-c", "test \"$0 $1\" = 'a b'", "a", "b")), 0);
}

UNIT_TEST(tells_how_it_ended)
{
	struct launch *launch = create(COMMAND("sh", "-c", "exit 3"));
	char said[128];
	int status;

	assert_true(launch_ending(launch, release_and_wait(launch), said, sizeof(said)));
	assert_string_equal(said, "sh exited with status 3");
	assert_int_equal(launch_wait(launch, &status), 0);
	assert_int_equal(WEXITSTATUS(status), 3);
	launch_destroy(launch);

	launch = create(COMMAND("sh", "-c", "kill -9 $$"));
	assert_true(launch_ending(launch, release_and_wait(launch), said, sizeof(said)));
	assert_string_equal(said, "sh was ended by signal 9 (Killed)");
	launch_destroy(launch);
}

UNIT_TEST(runs_a_script)
{
	const char *script = scratch_script("script", 0755, "#!/bin/sh\nexit 7\n");

	assert_int_equal(WEXITSTATUS(run(COMMAND(script))), 7);
}

/* The first that may be executed counts; "" is the current directory. */
UNIT_TEST(searches_path_as_execvp_does)
{
	const char *old_path = getenv("PATH");
	char path[PATH_MAX + 64], cwd[PATH_MAX], saved[4096];
	struct error err = { .text = "" };
	struct launch *launch = NULL;

	snprintf(saved, sizeof(saved), "%s", old_path ? old_path : "");
	scratch_script("only-here", 0755, "#!/bin/sh\nexit 5\n");
	scratch_script("refused", 0644, "#!/bin/sh\nexit 5\n");
	assert_non_null(getcwd(cwd, sizeof(cwd)));

	snprintf(path, sizeof(path), "/nowhere:/dev/null:%s:/bin", scratch_dir);
	setenv("PATH", path, 1);
	assert_int_equal(WEXITSTATUS(run(COMMAND("only-here"))), 5);
	assert_int_equal(run(COMMAND("true")), 0);
	assert_int_equal(launch_create(&launch, COMMAND("refused"), &err), -EACCES);
	assert_non_null(strstr(err.text, "refused"));

	assert_int_equal(chdir(scratch_dir), 0);
	setenv("PATH", "/nowhere:", 1);
	launch = create(COMMAND("only-here"));
	assert_string_equal(launch_program(launch), "only-here");
	assert_int_equal(WEXITSTATUS(release_and_wait(launch)), 5);
	launch_destroy(launch);
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(launch_create(&launch, COMMAND("only-here"), &err), -ENOENT);
	assert_int_equal(chdir(cwd), 0);

	unsetenv("PATH");
	assert_int_equal(run(COMMAND("true")), 0);
	setenv("PATH", saved, 1);
}

UNIT_TEST(refuses_what_cannot_be_started)
{
	const char *plain = scratch_script("plain", 0644, "#!/bin/sh\n");
	const struct {
		const char *name;
		int code;
		const char *said;
	} bad[] = {
		{ "no-such-program", -ENOENT, "no such program in PATH" },
		{ "", -ENOENT, "no such program" },
		{ "/nowhere/program", -ENOENT, "No such file" },
		{ "/dev/null/program", -ENOTDIR, "Not a directory" },
		{ plain, -EACCES, "Permission denied" },
		{ scratch_dir, -EACCES, "is a directory" },
		{ "/dev/null", -EACCES, "Permission denied" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = { .text = "" };
		struct launch *launch = NULL;
		int code = launch_create(&launch, COMMAND(bad[i].name), &err);

		if (code != bad[i].code || launch || !strstr(err.text, bad[i].said))
			fail_msg("'%s' gave %d: %s", bad[i].name, code, err.text);
	}
	/* And nothing was forked for them. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* What only exec can know. */
UNIT_TEST(tells_why_exec_failed)
{
	static const struct {
		const char *text;
		int code;
		const char *said;
	} bad[] = {
		{ "\1\2\3 no program\n", -ENOEXEC, "no script with a #! line" },
		{ "#!/nowhere/interpreter\n", -ENOENT, "interpreter that it names does not exist" },
		{ "#!/etc/passwd\n", -EACCES, "Permission denied" },
		{ "#!\n", -ENOEXEC, "no script with a #! line" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *path = scratch_script("bad", 0755, bad[i].text);
		struct error err = { .text = "" };
		struct launch *launch = create(COMMAND(path));
		int code = launch_release(launch, &err), status;

		if (code != bad[i].code || !strstr(err.text, bad[i].said))
			fail_msg("%s gave %d: %s", bad[i].text, code, err.text);
		assert_int_equal(launch_wait(launch, &status), 0);
		assert_int_equal(WEXITSTATUS(status), code == -ENOENT ? 127 : 126);
		launch_destroy(launch);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static bool ends_within(pid_t pid, int ms)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	bool result;

	assert_true(pidfd >= 0);
	result = poll(&ended, 1, ms) == 1;
	close(pidfd);
	return result;
}

/* A command whose only deed is to leave a file. */
static struct launch *create_toucher(const char *file)
{
	unlink(scratch_path(file));
	return create(COMMAND("touch", scratch_path(file)));
}

UNIT_TEST(holds_until_released)
{
	struct launch *launch = create_toucher("held");

	assert_false(ends_within(launch_pid(launch), WHILE_HELD_MS));
	assert_int_not_equal(access(scratch_path("held"), F_OK), 0);
	assert_int_equal(release_and_wait(launch), 0);
	assert_int_equal(access(scratch_path("held"), F_OK), 0);
	launch_destroy(launch);
}

UNIT_TEST(ended_while_it_was_held)
{
	struct launch *launch = create_toucher("never");
	struct error err = { .text = "" };
	int status;

	kill(launch_pid(launch), SIGTERM);
	assert_true(ends_within(launch_pid(launch), BEFORE_END_MS));
	assert_int_equal(launch_release(launch, &err), -ESRCH);
	assert_string_equal(err.text, "'touch' was ended before it began; run again");
	assert_int_equal(launch_wait(launch, &status), 0);
	assert_int_equal(WTERMSIG(status), SIGTERM);
	launch_destroy(launch);

	/* By a signal that comes after the release, but before the child has looked. */
	launch = create_toucher("never");
	kill(launch_pid(launch), SIGSTOP);
	assert_int_equal(waitpid(launch_pid(launch), &status, WUNTRACED), launch_pid(launch));
	if (fork() == 0) {
		usleep(1000 * WHILE_HELD_MS);
		kill(launch_pid(launch), SIGKILL);
		_exit(0);
	}
	assert_int_equal(launch_release(launch, &err), -ESRCH);
	launch_destroy(launch);
	assert_true(wait(&status) > 0);
	assert_int_not_equal(access(scratch_path("never"), F_OK), 0);
}

UNIT_TEST(destroy_ends_only_what_is_held)
{
	struct launch *launch = create_toucher("never");
	pid_t pid = launch_pid(launch);

	kill(pid, SIGSTOP);
	launch_destroy(launch);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_not_equal(access(scratch_path("never"), F_OK), 0);

	launch = create(COMMAND("sleep", "1000"));
	pid = launch_pid(launch);
	assert_int_equal(launch_release(launch, NULL), 0);
	launch_destroy(launch);
	assert_false(ends_within(pid, WHILE_HELD_MS));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	launch_destroy(NULL);
}

/* Whoever was to release the child is killed: it neither runs nor stays. */
UNIT_TEST(ends_with_its_keeper)
{
	int ends[2], status;
	pid_t keeper, child = -1;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	keeper = fork();
	if (keeper == 0) {
		pid_t pid = launch_pid(create_toucher("never"));

		if (write(ends[1], &pid, sizeof(pid)) == sizeof(pid))
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(waitpid(keeper, &status, 0), keeper);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_true(ends_within(child, BEFORE_END_MS));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(access(scratch_path("never"), F_OK), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(ends[0]);
	close(ends[1]);
}

UNIT_TEST(environment_and_directory_are_ours)
{
	static char got[OUTPUT_MAX_BYTES], wanted[OUTPUT_MAX_BYTES], cwd[PATH_MAX + 1];
	size_t used = 0;

	setenv("TEST_LAUNCH", "a b\tc", 1);
	for (char **word = environ; *word; word++)
		used += (size_t)snprintf(wanted + used, sizeof(wanted) - used, "%s\n", *word);
	assert_true(used < sizeof(wanted));
	output_of(COMMAND("env"), got);
	assert_string_equal(got, wanted);
	unsetenv("TEST_LAUNCH");

	assert_non_null(getcwd(cwd, sizeof(cwd) - 1));
	output_of(COMMAND("/bin/pwd", "-P"), got);
	got[strcspn(got, "\n")] = '\0';
	assert_string_equal(got, cwd);
}

/* Without the real-time signals: whoever runs the tests may ignore those of the C library's own. */
static unsigned long mask_in(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	assert_non_null(line);
	return strtoul(line + strlen(key), NULL, 16) & 0x7fffffff;
}

static unsigned long bit_of(int number)
{
	return 1UL << (number - 1);
}

static void on_signal(int number)
{
	(void)number;
}

/* place-probe's own doings with signals are not the command's; nohup's are. */
UNIT_TEST(signals_are_not_ours)
{
	static char got[OUTPUT_MAX_BYTES];
	sigset_t ours, before;

	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGBUS, on_signal);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigprocmask(SIG_BLOCK, &ours, &before);

	output_of(COMMAND("cat", "/proc/self/status"), got);
	assert_int_equal(mask_in(got, "\nSigBlk:"), 0);
	assert_int_equal(mask_in(got, "\nSigIgn:"), bit_of(SIGHUP) | bit_of(SIGCHLD));
	assert_int_equal(mask_in(got, "\nSigCgt:"), 0);

	sigprocmask(SIG_SETMASK, &before, NULL);
	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
}

/* Those that a shell gave us (3>file) are the command's too; those that hold it are not. */
UNIT_TEST(descriptors_are_those_we_were_given)
{
	enum { GIVEN = 50, OWN = 51 };
	static char got[OUTPUT_MAX_BYTES], wanted[OUTPUT_MAX_BYTES];
	int saved, fd;

	assert_int_equal(dup2(STDERR_FILENO, GIVEN), GIVEN);
	assert_int_equal(dup3(STDERR_FILENO, OWN, O_CLOEXEC), OWN);
	fd = divert_output(&saved);
	assert_int_equal(system("exec ls /proc/self/fd"), 0);
	restore_output(fd, saved, wanted);
	output_of(COMMAND("ls", "/proc/self/fd"), got);
	close(GIVEN);
	close(OWN);
	assert_non_null(strstr(got, "\n50\n"));
	assert_null(strstr(got, "\n51\n"));
	assert_string_equal(got, wanted);
}

UNIT_TEST(has_our_process_group)
{
	struct launch *launch = create(COMMAND("true"));

	assert_int_equal(getpgid(launch_pid(launch)), getpgrp());
	launch_destroy(launch);
}

UNIT_MAIN(scratch_make, scratch_remove)
