// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the injector makes of what it reads: texts of /proc, seccomp filters (the kernel's own
 * verdict is the oracle), registers, requests. It is on targets in tests/system/test_inject.py.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "arch/injection.h"
#include "base/error.h"
#include "inject/message.h"
#include "inject/program/filters.h"
#include "inject/program/proc_text.h"
#include "inject/inject.h"

/* Texts ------------------------------------------------------------------------------------ */

UNIT_TEST(reads_calls)
{
	struct thread_call call;

	thread_call_parse(&call, "running\n");
	assert_int_equal(call.where, THREAD_RUNNING);
	thread_call_parse(&call, "-1 0x7ffd0 0x7f00\n");
	assert_int_equal(call.where, THREAD_OUT_OF_CALL);
	thread_call_parse(&call, "202 0x1 0x80 0x0 0xffffffffffffffff 0x5 0x6 0x7ffd0 0x7f00\n");
	assert_int_equal(call.where, THREAD_IN_CALL);
	assert_int_equal(call.number, 202);
	assert_int_equal(call.arguments[1], 0x80);
	assert_true(call.arguments[3] == UINT64_MAX);
	assert_int_equal(call.arguments[5], 6);
}

UNIT_TEST(doubts_calls)
{
	static const char *const texts[] = {
		"",
		"running",
		"running \n",
		"-1\n",
		"202\n",
		"202 0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0\n",
		"202 0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00 0x1\n",
		"202 0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00",
		"-2 0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00\n",
		"+202 0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00\n",
		"202 0x1 0x80 0x0 -1 0x5 0x6 0x7ffd0 0x7f00\n",
		"202 0x1 0x10000000000000000 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00\n",
		"4294967498 0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00\n",
		"202  0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00\n",
		"202 0x0x1 0x80 0x0 0x0 0x5 0x6 0x7ffd0 0x7f00\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct thread_call call = { .where = THREAD_RUNNING };

		thread_call_parse(&call, texts[i]);
		if (call.where != THREAD_UNKNOWN)
			fail_msg("'%s' was taken", texts[i]);
	}
}

static struct lines *open_lines(struct lines *lines, const char *text, size_t size)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	lines_start(lines, fd);
	return lines;
}

UNIT_TEST(reads_lines)
{
	static char text[3 * LINES_BYTES];
	struct lines lines;

	memset(text, 'a', sizeof(text));
	/* A line that is too long, with others around it, and an end without a newline. */
	stpcpy(text, "first\n");
	text[6] = 'a';
	text[sizeof(text) - 20] = '\n';
	text[sizeof(text) - 10] = '\n';
	open_lines(&lines, text, sizeof(text));
	assert_string_equal(lines_next(&lines), "first");
	assert_int_equal(strlen(lines_next(&lines)), LINES_BYTES);
	assert_string_equal(lines_next(&lines), "aaaaaaaaa");
	assert_string_equal(lines_next(&lines), "aaaaaaaaa");
	assert_null(lines_next(&lines));
	assert_null(lines_next(&lines));
	close(lines.fd);
	assert_null(lines_next(open_lines(&lines, "", 0)));
	close(lines.fd);
	assert_string_equal(lines_next(open_lines(&lines, "\n", 1)), "");
	assert_null(lines_next(&lines));
	close(lines.fd);
}

UNIT_TEST(reads_status)
{
	struct thread_status status = { 0 };

	/* The name is the program's to choose; the kernel writes a newline in it as "\n". */
	thread_status_add(&status, "Name:\tTracerPid:\t7");
	thread_status_add(&status, "Name:\tx\\nTracerPid:\t7");
	assert_int_equal(status.tracer, 0);
	thread_status_add(&status, "State:\tS (sleeping)");
	thread_status_add(&status, "TracerPid:\t12");
	thread_status_add(&status, "Seccomp:\t2");
	thread_status_add(&status, "Seccomp_filters:\t9");
	thread_status_add(&status, "SigIgn:\t0000000000000010");
	assert_int_equal(status.state, 'S');
	assert_int_equal(status.tracer, 12);
	assert_int_equal(status.seccomp, 2);
	assert_int_equal(status.ignored, 0x10);
}

/* System calls and registers --------------------------------------------------------------- */

UNIT_TEST(ranks_calls)
{
	uint64_t arguments[INJECTION_ARGUMENTS] = { 0 };

	arguments[1] = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
	assert_int_equal(call_restart(SYS_futex, arguments), RESTART_LOCK);
	arguments[1] = FUTEX_LOCK_PI;
	assert_int_equal(call_restart(SYS_futex, arguments), RESTART_NEVER);
	arguments[1] = FUTEX_WAIT_REQUEUE_PI;
	assert_int_equal(call_restart(SYS_futex, arguments), RESTART_NEVER);
	assert_int_equal(call_restart(SYS_restart_syscall, arguments), RESTART_SLEEP);
	assert_int_equal(call_restart(SYS_epoll_wait, arguments), RESTART_NEVER);
	assert_int_equal(call_restart(SYS_rt_sigtimedwait, arguments), RESTART_NEVER);
	assert_int_equal(call_restart(-1, arguments), RESTART_NEVER);
}

UNIT_TEST(knows_its_machine)
{
	struct user_regs_struct registers = { .cs = 0x33 };

	assert_true(registers_are_native(&registers, sizeof(registers)));
	registers.cs = 0x23; /* 32-bit code */
	assert_false(registers_are_native(&registers, sizeof(registers)));
	registers.cs = 0x33;
	assert_false(registers_are_native(&registers, 68)); /* what a 32-bit process gives */
}

UNIT_TEST(makes_calls_again)
{
	struct user_regs_struct registers = { .rip = 0x1002, .orig_rax = SYS_epoll_wait };

	registers.rax = (unsigned long long)-EINTR;
	assert_true(registers_show_eintr(&registers));
	registers_rewind(&registers);
	assert_int_equal(registers.rip, 0x1000);
	assert_int_equal(registers.rax, SYS_epoll_wait);
	assert_false(registers_show_eintr(&registers));
	/* That has closed the descriptor all the same. */
	registers.rax = (unsigned long long)-EINTR;
	registers.orig_rax = SYS_close;
	assert_false(registers_show_eintr(&registers));
}

/* Filters ---------------------------------------------------------------------------------- */

enum {
	ANSWER_BITS = 0xff, /* of an errno, which an exit code has room for */
	ARGUMENT = 0x1234567,
};

/* What the kernel makes of a filter that is only asked for getpriority(ARGUMENT, 0): the errno. */
static int ask_kernel(struct sock_filter *filter, size_t count)
{
	struct sock_fprog program = { (unsigned short)count, filter };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
			_exit(1);
		errno = 0;
		syscall(SYS_getpriority, ARGUMENT, 0);
		_exit(errno & ANSWER_BITS);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void check_operation(uint16_t code, uint32_t k)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LDX | BPF_IMM, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_STMT(BPF_ST, 2),
		BPF_JUMP(code, k, 0, 1), /* what is tried; a jump may pass over the next one */
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 0x55),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ANSWER_BITS - 1),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const size_t count = sizeof(filter) / sizeof(filter[0]);
	struct seccomp_data data = { .nr = SYS_getpriority,
				     .arch = AUDIT_ARCH_X86_64,
				     .args = { ARGUMENT } };
	uint32_t verdict = 0;

	assert_true(filter_run(filter, count, &data, &verdict));
	assert_int_equal(verdict & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
	if (ask_kernel(filter, count) != (int)(verdict & SECCOMP_RET_DATA & ANSWER_BITS))
		fail_msg("code %x with %x gives %x", code, k, verdict);
}

UNIT_TEST(runs_filters)
{
	static const uint16_t arithmetic[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
					       BPF_OR,	BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	static const uint16_t jumps[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };

	for (size_t i = 0; i < sizeof(arithmetic) / sizeof(arithmetic[0]); i++) {
		check_operation(BPF_ALU | BPF_K | arithmetic[i], 5);
		if (arithmetic[i] != BPF_NEG)
			check_operation(BPF_ALU | BPF_X | arithmetic[i], 0);
	}
	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		check_operation(BPF_JMP | BPF_K | jumps[i], ARGUMENT);
		check_operation(BPF_JMP | BPF_K | jumps[i], ARGUMENT + 1);
		check_operation(BPF_JMP | BPF_X | jumps[i], 0);
	}
	check_operation(BPF_LD | BPF_MEM, 2);
	check_operation(BPF_LD | BPF_IMM, 99);
	check_operation(BPF_LD | BPF_W | BPF_LEN, 0);
	check_operation(BPF_MISC | BPF_TXA, 0);
	check_operation(BPF_MISC | BPF_TAX, 0);
	check_operation(BPF_STX, 3);
}

UNIT_TEST(doubts_filters)
{
	static const struct sock_filter bad[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct seccomp_data) - 3),
		BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS),
		BPF_STMT(BPF_ST, BPF_MEMWORDS),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
		BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX),
		BPF_STMT(0xffff, 0),
	};
	struct seccomp_data data = { 0 };
	uint32_t verdict;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(filter_run(&bad[i], 1, &data, &verdict));
	assert_false(filter_run(NULL, 0, &data, &verdict));
}

/* Requests --------------------------------------------------------------------------------- */

static void send_bad(int channel, const void *message, size_t size)
{
	struct inject_answer answer;

	assert_int_equal(send(channel, message, size, 0), size);
	assert_int_equal(recv(channel, &answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(answer.magic, INJECT_MAGIC);
	assert_int_equal(answer.result, INJECT_BAD_REQUEST);
}

/* It says no to what makes no sense, goes on, and ends with its channel. */
UNIT_TEST(refuses_bad_requests)
{
	static const struct inject_row bad[] = {
		{ .address = 0x1000, .length = 0 },
		{ .address = 0x1000, .length = 0x1001 },
		{ .address = 0x1001, .length = 0x1000 },
		{ .address = 0x1000, .length = 0x1000, .offset = 1 },
		{ .address = 0x1000, .length = 0x1000, .fd = -1 },
		{ .address = UINT64_MAX - 0xfff, .length = 0x2000 },
		{ .address = 0x7ffffffff000, .length = 0x2000 },
		{ .address = 0x1000, .length = UINT64_MAX - 0xfff },
	};
	int process_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC), channel, status;
	struct error err = { .text = "" };
	pid_t injector = injector_start(process_fd, (int)syscall(SYS_pidfd_open, getpid(), 0),
					&channel, &err);
	struct inject_request request = { .magic = INJECT_MAGIC, .kind = INJECT_PRIVATE };

	if (injector < 0)
		fail_msg("%s", err.text);
	send_bad(channel, "x", 1);
	send_bad(channel, &request, sizeof(request) - 1);
	request.count = INJECT_ROWS_MAX + 1;
	send_bad(channel, &request, sizeof(request));
	request.count = 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		request.rows[0] = bad[i];
		send_bad(channel, &request, sizeof(request));
	}
	request.magic++;
	request.count = 0;
	send_bad(channel, &request, sizeof(request));
	close(channel);
	assert_int_equal(waitpid(injector, &status, 0), injector);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(process_fd);
}

UNIT_MAIN(NULL, NULL)
