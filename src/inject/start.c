// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The injector's program lies in this one as bytes and is executed from memory: place-probe is one
 * file, and what is executed is what was built with it.
 */
#include "inject/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "inject/message.h"

#ifndef INJECTOR_PROGRAM /* the Makefile says where it is */
#define INJECTOR_PROGRAM "build/place-probe-inject"
#endif

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

/* clang-format off */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"injector_program:\n"
	".incbin \"" INJECTOR_PROGRAM "\"\n"
	"injector_program_end:\n"
	".balign 8\n"
	"injector_program_bytes:\n"
	".quad injector_program_end - injector_program\n"
	".popsection\n");
/* clang-format on */

extern const uint8_t injector_program[];
extern const uint64_t injector_program_bytes;

enum {
	ABOVE_ALL = 16, /* descriptors from here on are in nobody's way */
	NOT_EXECUTED = 127,
};

/* A file in memory with the program in it. */
static int open_program(void)
{
	size_t done = 0;
	int fd = memfd_create("place-probe-inject", MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("place-probe-inject", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (done < injector_program_bytes) {
		ssize_t put = write(fd, injector_program + done, injector_program_bytes - done);

		if (put <= 0) {
			int code = error_code(-errno);

			close(fd);
			return code;
		}
		done += (size_t)put;
	}
	return fd;
}

/* Between fork and exec, as other threads of ours may have held any lock. */
static void __attribute__((noreturn)) run_child(int program_fd, const int fds[3])
{
	/* As it calls itself: pkill -f has no part in who ends place-probe by its name. */
	char name[] = "probe-injector", *argv[] = { name, NULL }, *environment[] = { NULL };
	int copies[3];

	/* First out of the way of each other. */
	for (int i = 0; i < 3; i++)
		copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
	program_fd = fcntl(program_fd, F_DUPFD_CLOEXEC, ABOVE_ALL);
	for (int i = 0; i < 3; i++) {
		if (copies[i] < 0 || dup2(copies[i], INJECT_CHANNEL_FD + i) < 0)
			_exit(NOT_EXECUTED);
	}
	syscall(SYS_close_range, INJECT_PARENT_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	syscall(SYS_execveat, program_fd, "", argv, environment, AT_EMPTY_PATH);
	_exit(NOT_EXECUTED);
}

pid_t injector_start(int process_fd, int parent_fd, int *channel_fd, struct error *err)
{
	_cleanup_close_ int program_fd = open_program();
	_cleanup_close_ int theirs = -1;
	int ends[2], fds[3];
	pid_t pid;

	if (program_fd == -EACCES)
		return error_set(
			err, program_fd,
			"cannot start the injector: vm.memfd_noexec forbids to execute what is in memory only; set it to 0 or 1, or give --no-remap");
	if (program_fd < 0)
		return error_set(err, program_fd,
				 "cannot start the injector: %s (give --no-remap to do without)",
				 strerror(-program_fd));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return error_set(err, -errno,
				 "cannot start the injector: %s (give --no-remap to do without)",
				 strerror(errno));
	theirs = ends[1];
	fds[0] = theirs;
	fds[INJECT_PROCESS_FD - INJECT_CHANNEL_FD] = process_fd;
	fds[INJECT_PARENT_FD - INJECT_CHANNEL_FD] = parent_fd;
	pid = fork();
	if (pid == 0)
		run_child(program_fd, fds);
	if (pid < 0) {
		int code = -errno;

		close(ends[0]);
		return error_set(err, code,
				 "cannot start the injector: %s (give --no-remap to do without)",
				 strerror(-code));
	}
	*channel_fd = ends[0];
	return pid;
}
