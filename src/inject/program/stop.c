// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All of ptrace is here. Whatever is waited for, events of other threads may come first: of such as
 * were given up for not stopping in time, and of one that has changed its id by exec.
 */
#include "inject/program/stop.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "arch/injection.h"
#include "base/clock.h"

enum {
	STOP_MS = 250,	  /* a thread that waits for a CPU; 227 ms were seen on a busy machine */
	STEP_MS = 1000,	  /* then it is interrupted, whatever it waits for */
	EVENT_SHIFT = 16, /* of a status: which PTRACE_EVENT_ it is */
};

/* The kernel's own idea of a set of signals. */
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))

/*
 * What a thread may raise by its own doing stays open: where such a signal is blocked the kernel
 * ends the program by it, and a blocked SIGTRAP, which ends a step, resets its handler. All others
 * would be taken for the end of a step, and be lost.
 */
static const uint64_t BLOCKED = ~(SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) |
				  SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGSYS));

/* ptrace() takes numbers as pointers. */
static long trace(int request, pid_t tid, uint64_t address, uint64_t data)
{
	return ptrace(request, tid, address, data) < 0 ? -errno : 0;
}

static bool is_event_stop(int status)
{
	return status >> EVENT_SHIFT == PTRACE_EVENT_STOP;
}

/* A thread that nobody waits for any more has stopped. */
static void release_late(pid_t tid, int status)
{
	if (WIFSTOPPED(status))
		trace(PTRACE_DETACH, tid, 0, is_event_stop(status) ? 0 : WSTOPSIG(status));
}

void threads_release_late(void)
{
	pid_t tid;
	int status;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		release_late(tid, status);
}

/* 0 with the status of @tid, -ESRCH, or -ETIMEDOUT after @limit_ms. */
static int await(pid_t tid, uint64_t limit_ms, int *status)
{
	uint64_t limit_ns = clock_now_ns() + limit_ms * NS_PER_MS, now_ns;
	struct timespec left;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		pid_t got = waitpid(-1, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		if (got > 0)
			release_late(got, *status);
		if (got)
			continue;
		now_ns = clock_now_ns();
		if (now_ns >= limit_ns)
			return -ETIMEDOUT;
		left.tv_sec = (time_t)((limit_ns - now_ns) / NS_PER_S);
		left.tv_nsec = (long)((limit_ns - now_ns) % NS_PER_S);
		/* Blocked as it is, it stays pending if it comes before this. */
		sigtimedwait(&child, NULL, &left);
	}
}

/* 0 with the registers of a thread of our kind. */
static int read_registers(pid_t tid, struct user_regs_struct *registers)
{
	struct iovec room = { .iov_base = registers, .iov_len = sizeof(*registers) };
	int result = (int)trace(PTRACE_GETREGSET, tid, NT_PRSTATUS, (uint64_t)(uintptr_t)&room);

	if (result)
		return result;
	return registers_are_native(registers, room.iov_len) ? 0 : -ENOEXEC;
}

static int write_registers(pid_t tid, const struct user_regs_struct *registers)
{
	struct user_regs_struct copy = *registers;
	struct iovec room = { .iov_base = &copy, .iov_len = sizeof(copy) };

	return (int)trace(PTRACE_SETREGSET, tid, NT_PRSTATUS, (uint64_t)(uintptr_t)&room);
}

/* From PTRACE_INTERRUPT to the stop that it causes. Signals that come first are passed on. */
static int await_stop(pid_t tid)
{
	int status, result = await(tid, STOP_MS, &status);

	while (result == 0 && !is_event_stop(status)) {
		result = (int)trace(PTRACE_CONT, tid, 0, (uint64_t)WSTOPSIG(status));
		if (result == 0)
			result = await(tid, STOP_MS, &status);
	}
	return result;
}

/* A word of the thread's memory; false if there is none. */
static bool read_word(pid_t tid, uint64_t address, uint64_t *word)
{
	errno = 0;
	*word = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, address, NULL);
	return errno == 0;
}

/*
 * In a restartable sequence (rseq(2)) the kernel has the thread begin anew, by where it is when it
 * is let go: it must not be moved from there.
 */
static bool is_in_sequence(const struct stopped *stopped)
{
	enum { SECTION = 8, START = 8, BYTES = 16 }; /* linux/rseq.h */
	struct __ptrace_rseq_configuration rseq = { 0 };
	uint64_t section, start, bytes;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, stopped->tid, sizeof(rseq), &rseq) < 0 ||
	    !rseq.rseq_abi_pointer ||
	    !read_word(stopped->tid, rseq.rseq_abi_pointer + SECTION, &section) || !section)
		return false;
	return !read_word(stopped->tid, section + START, &start) ||
	       !read_word(stopped->tid, section + BYTES, &bytes) ||
	       registers_code(&stopped->registers) - start < bytes;
}

/* Is a signal on its way that the thread does not block? */
static bool has_signal(pid_t tid, uint64_t mask)
{
	enum { ATTEMPTS = 64 };

	for (uint32_t flags = 0; flags <= PTRACE_PEEKSIGINFO_SHARED; flags++) {
		struct __ptrace_peeksiginfo_args peek = { .flags = flags, .nr = 1 };
		siginfo_t info;

		for (; peek.off < ATTEMPTS && ptrace(PTRACE_PEEKSIGINFO, tid, &peek, &info) == 1;
		     peek.off++) {
			if (!(mask & SIGNAL_BIT(info.si_signo)))
				return true;
		}
		if (peek.off == ATTEMPTS)
			return true;
	}
	return false;
}

/* What a thread is that has just stopped. */
static int take_over(struct stopped *stopped)
{
	pid_t tid = stopped->tid;
	int result = read_registers(tid, &stopped->registers);

	if (result == 0)
		result = (int)trace(PTRACE_GETSIGMASK, tid, sizeof(stopped->mask),
				    (uint64_t)(uintptr_t)&stopped->mask);
	if (result)
		return result;
	if (is_in_sequence(stopped))
		return -EBUSY;
	/* With a signal pending EINTR is right, and the program may count on it. */
	if (registers_show_eintr(&stopped->registers) && !has_signal(tid, stopped->mask))
		registers_rewind(&stopped->registers);
	return (int)trace(PTRACE_SETSIGMASK, tid, sizeof(BLOCKED), (uint64_t)(uintptr_t)&BLOCKED);
}

int thread_stop(struct stopped *stopped, pid_t tid)
{
	int result = (int)trace(PTRACE_SEIZE, tid, 0, 0);

	*stopped = (struct stopped){ .tid = tid, .begin_ns = clock_now_ns() };
	if (result)
		return result;
	result = (int)trace(PTRACE_INTERRUPT, tid, 0, 0);
	if (result == 0)
		result = await_stop(tid);
	if (result)
		return result;
	result = take_over(stopped);
	/* Nothing of it has been changed, but perhaps for what it did on its way out. */
	if (result && result != -ESRCH)
		trace(PTRACE_DETACH, tid, 0, 0);
	return result;
}

/* Did the kernel raise the signal at which @tid has stopped, for what it has just done? */
static bool is_own_doing(pid_t tid)
{
	siginfo_t info;

	return trace(PTRACE_GETSIGINFO, tid, 0, (uint64_t)(uintptr_t)&info) == 0 &&
	       info.si_code > 0;
}

/* One step, up to the next event, with the registers as they are then. 0 or -errno. */
static int step(pid_t tid, struct user_regs_struct *registers, int *status)
{
	int result = (int)trace(PTRACE_SINGLESTEP, tid, 0, 0);

	if (result == 0)
		result = await(tid, STEP_MS, status);
	while (result == -ETIMEDOUT) {
		trace(PTRACE_INTERRUPT, tid, 0, 0);
		result = await(tid, STEP_MS, status);
	}
	return result ? result : read_registers(tid, registers);
}

/*
 * A step ends with SIGTRAP, which the kernel raises on the way out of the system call: so it must
 * be seen and dropped, whatever else is reported first. Until then each further step executes
 * nothing.
 */
enum step_end thread_call(struct stopped *stopped, struct user_regs_struct *registers,
			  uint64_t instruction)
{
	uint64_t next = instruction + injection.instruction_bytes;
	enum step_end end = STEP_DONE;
	int status, result;

	if (write_registers(stopped->tid, registers))
		return STEP_GONE;
	for (;;) {
		result = step(stopped->tid, registers, &status);
		if (result)
			return result == -ENOEXEC ? STEP_LOST : STEP_GONE;
		/* Somebody stops or continues the process. */
		if (is_event_stop(status))
			continue;
		if (registers_code(registers) == next && WSTOPSIG(status) == SIGTRAP)
			return end;
		if (is_own_doing(stopped->tid)) {
			if (WSTOPSIG(status) == SIGSYS)
				end = STEP_FORBIDDEN;
			/* A trap without a cause, as virtual machines have them, is no step. */
			else if (WSTOPSIG(status) != SIGTRAP ||
				 registers_code(registers) != instruction)
				return STEP_LOST;
			continue;
		}
		stopped->signal = WSTOPSIG(status);
		if (registers_code(registers) == instruction)
			return STEP_DISTURBED;
		if (registers_code(registers) != next)
			return STEP_LOST;
	}
}

uint64_t thread_release(struct stopped *stopped)
{
	write_registers(stopped->tid, &stopped->registers);
	trace(PTRACE_SETSIGMASK, stopped->tid, sizeof(stopped->mask),
	      (uint64_t)(uintptr_t)&stopped->mask);
	trace(PTRACE_DETACH, stopped->tid, 0, (uint64_t)stopped->signal);
	return clock_now_ns() - stopped->begin_ns;
}
