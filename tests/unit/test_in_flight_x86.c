// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * in_flight.h: who is on the way into a body, of threads that stand still with any registers, and
 * of one that runs on. Needs root; without it everything is skipped.
 */
#include "base/cleanup.h"
#include "breakpoint_bench.h"

#include <limits.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "registers/in_flight.h"
#include "base/clock.h"

enum {
	RESUME = 1 << 16,
	ROUNDS = 300,
	THREADS = 200,
	MANY_ROUNDS = 60,  /* each takes until all threads have had a CPU */
	GUEST_ROUNDS = 10, /* an emulated machine takes its time */
	GUEST_THREADS = 40,
	LOOKS_MAX = 1000000,
	PASSING_US = 300, /* so much of a CPU who is in the runtime may have and still come */
	PIECES = 10,	  /* and gets it bit by bit */
};

static const uint64_t entry = 0x7f0012345670;

/* Where the threads that stand still have none of their code. */
static const struct dispatch_code runtime = {
	.begin = { 0x7e0000000000 },
	.end = { 0x7e0000001000 },
	.library_begin = { 0x7d0000000000 },
	.library_end = { 0x7d0000001000 },
	.held_at = { 0x7e0000000800 },
};

/* What the child and we both see. */
struct shared {
	atomic_ulong ordered; /* the value that the running thread is to have in a register, */
	atomic_ulong taken;   /* and has */
};

struct child {
	pid_t pid;
	struct shared *shared;
	struct process process;
	struct in_flight *in_flight;
	uint64_t since_ns;
};

static void open_child(struct child *child)
{
	struct error err;

	if (process_init(&child->process, child->pid, &err) ||
	    in_flight_create(&child->in_flight, &child->process, &err))
		fail_msg("%s", err.text);
}

static bool is_guest(void)
{
	return getenv("PLACE_PROBE_TEST_GUEST");
}

static int rounds(void)
{
	return is_guest() ? GUEST_ROUNDS : ROUNDS;
}

static void close_child(struct child *child)
{
	in_flight_destroy(child->in_flight);
	process_deinit(&child->process);
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	munmap(child->shared, sizeof(*child->shared));
}

/* Runs @body with what is shared. */
static void fork_child(struct child *child, void (*body)(struct shared *))
{
	child->shared = mmap(NULL, sizeof(*child->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(child->shared, MAP_FAILED);
	child->pid = fork();
	assert_return_code(child->pid, errno);
	if (child->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body(child->shared);
		_exit(0);
	}
}

/* Threads that stand still ------------------------------------------------------------------- */

static void be_traced(struct shared *shared)
{
	(void)shared;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
}

static void start_traced(struct child *child)
{
	int status;

	fork_child(child, be_traced);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_true(WIFSTOPPED(status));
	open_child(child);
}

static const size_t general[] = {
#define FIELD(name) offsetof(struct user_regs_struct, name)
	FIELD(rax), FIELD(rbx), FIELD(rcx), FIELD(rdx), FIELD(rsi),
	FIELD(rdi), FIELD(rbp), FIELD(r8),  FIELD(r9),	FIELD(r10),
	FIELD(r11), FIELD(r12), FIELD(r13), FIELD(r14), FIELD(r15),
#undef FIELD
};

static unsigned long long *register_of(struct user_regs_struct *regs, size_t i)
{
	return (void *)((char *)regs + general[i]);
}

/* Interrupted anywhere, with nothing of interest in its registers. */
static struct user_regs_struct other_registers(const struct child *child)
{
	struct user_regs_struct regs;

	assert_return_code(ptrace(PTRACE_GETREGS, child->pid, NULL, &regs), errno);
	/* A child has registers of its parent's. */
	for (size_t i = 0; i < sizeof(general) / sizeof(general[0]); i++)
		*register_of(&regs, i) = i;
	regs.orig_rax = ULONG_MAX;
	regs.eflags &= ~(unsigned long long)RESUME;
	return regs;
}

/* As at one more look since the time that calls have gone elsewhere. */
static int look_again(struct child *child, const struct user_regs_struct *regs)
{
	assert_return_code(ptrace(PTRACE_SETREGS, child->pid, NULL, regs), errno);
	return in_flight_look(child->in_flight, (struct address){ entry }, child->since_ns,
			      &runtime);
}

/* As at the first one. */
static int look_at(struct child *child, const struct user_regs_struct *regs)
{
	child->since_ns++;
	return look_again(child, regs);
}

UNIT_TEST(test_at_the_entry)
{
	_cleanup_(close_child) struct child child;
	struct user_regs_struct regs;

	start_traced(&child);
	regs = other_registers(&child);
	assert_int_equal(look_at(&child, &regs), 0);
	regs.rip = entry;
	assert_int_equal(look_at(&child, &regs), 1);
	/* Its breakpoint has fired. */
	regs.eflags |= RESUME;
	assert_int_equal(look_at(&child, &regs), 0);
	regs.eflags &= ~(unsigned long long)RESUME;
	regs.rip = entry + 1;
	assert_int_equal(look_at(&child, &regs), 0);
	regs.rip = entry - 1;
	assert_int_equal(look_at(&child, &regs), 0);
}

/* To jump or call there is what comes next, or may come soon. */
UNIT_TEST(test_in_a_register)
{
	_cleanup_(close_child) struct child child;

	start_traced(&child);
	for (size_t i = 0; i < sizeof(general) / sizeof(general[0]); i++) {
		struct user_regs_struct regs = other_registers(&child), before = regs;
		unsigned long long *value = register_of(&regs, i);

		*value = entry;
		assert_int_equal(look_at(&child, &regs), 1);
		/* Interrupted where a breakpoint has fired, but in another body. */
		regs.eflags |= RESUME;
		assert_int_equal(look_at(&child, &regs), 1);
		*value = entry + 1;
		assert_int_equal(look_at(&child, &regs), 0);
		assert_int_equal(look_at(&child, &before), 0);
	}
}

/* Whoever is in the runtime's code may have found out there where to go. */
UNIT_TEST(test_in_the_runtime)
{
	_cleanup_(close_child) struct child child;
	struct user_regs_struct regs, elsewhere;

	start_traced(&child);
	elsewhere = regs = other_registers(&child);
	assert_int_equal(look_at(&child, &elsewhere), 0);
	/* Who comes there only now knows where calls go now. */
	regs.rip = runtime.begin.value;
	assert_int_equal(look_again(&child, &regs), 0);
	assert_int_equal(look_at(&child, &regs), 1);
	/* It does not go on: for as long as that takes. */
	usleep(3 * PASSING_US);
	assert_int_equal(look_again(&child, &regs), 1);
	assert_int_equal(look_again(&child, &regs), 1);
	/* It does, a little, and is not out of it: nor is it in what the runtime calls. */
	regs.rip = runtime.end.value - 1;
	assert_int_equal(look_again(&child, &regs), 1);
	regs.rip = runtime.library_begin.value;
	assert_int_equal(look_again(&child, &regs), 1);
	regs.rip = runtime.library_end.value - 1;
	assert_int_equal(look_again(&child, &regs), 1);
	/* It goes elsewhere. */
	assert_int_equal(look_again(&child, &elsewhere), 0);
	assert_int_equal(look_again(&child, &regs), 0);
	regs.rip = runtime.end.value;
	assert_int_equal(look_at(&child, &regs), 0);
	regs.rip = runtime.begin.value - 1;
	assert_int_equal(look_at(&child, &regs), 0);
	regs.rip = runtime.library_begin.value;
	assert_int_equal(look_at(&child, &regs), 1);
	regs.rip = runtime.library_end.value;
	assert_int_equal(look_at(&child, &regs), 0);
	regs.rip = runtime.library_begin.value - 1;
	assert_int_equal(look_at(&child, &regs), 0);
	/* It is held there until we have an answer. */
	regs.rip = runtime.held_at.value;
	assert_int_equal(look_at(&child, &regs), 0);
}

static void stay(struct shared *shared)
{
	(void)shared;
	for (;;)
		__asm__ volatile("pause");
}

/* Of a child that stands still this is exact. */
static uint64_t ran_ns(const struct child *child)
{
	clockid_t clock;
	struct timespec time;

	assert_int_equal(clock_getcpuclockid(child->pid, &clock), 0);
	assert_return_code(clock_gettime(clock, &time), errno);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void stop(const struct child *child)
{
	int status;

	assert_return_code(kill(child->pid, SIGSTOP), errno);
	assert_int_equal(waitpid(child->pid, &status, WUNTRACED), child->pid);
	assert_true(WIFSTOPPED(status));
}

/* Let it run until it has had so much of a CPU, or more, and stop it. */
static void run_until(const struct child *child, uint64_t ns)
{
	assert_return_code(kill(child->pid, SIGCONT), errno);
	while (ran_ns(child) < ns)
		;
	stop(child);
}

/*
 * One that goes on is waited for while it may still be there: until it has run for as long as that
 * takes, which on a busy machine is any time.
 */
UNIT_TEST(test_passing)
{
	/* It is nowhere else, and has no register from its parent that says so. */
	const struct address nobodys = { entry - 0x1000 };
	const struct dispatch_code anywhere = { .end = { ULONG_MAX } };
	const uint64_t piece_ns = PASSING_US * NS_PER_US / PIECES;
	uint64_t ran, before;
	_cleanup_(close_child) struct child child;

	fork_child(&child, stay);
	open_child(&child);
	stop(&child);
	before = ran = ran_ns(&child);
	assert_int_equal(in_flight_look(child.in_flight, nobodys, 1, &anywhere), 1);
	do {
		usleep(2 * PASSING_US);
		run_until(&child, ran + piece_ns);
		ran = ran_ns(&child);
		assert_int_equal(in_flight_look(child.in_flight, nobodys, 1, &anywhere),
				 ran - before < PASSING_US * NS_PER_US);
	} while (ran - before < PASSING_US * NS_PER_US);
}

/* Has the entry in a register, for ever. */
static void sleep_with_it(struct shared *shared)
{
	(void)shared;
	for (;;)
		__asm__ volatile("syscall" : : "a"(SYS_pause), "D"(entry) : "rcx", "r11", "memory");
}

static bool sleeps(pid_t pid)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	(void)!fgets(text, sizeof(text), file);
	fclose(file);
	return strtol(text, NULL, 10) == SYS_pause;
}

/* A call that slept returns, once it was woken, to the runtime or to a library. */
UNIT_TEST(test_in_a_system_call)
{
	struct child child;
	struct user_regs_struct regs;

	start_traced(&child);
	regs = other_registers(&child);
	/* It did not fall asleep. */
	regs.orig_rax = SYS_futex;
	assert_int_equal(look_at(&child, &regs), 1);
	assert_int_equal(look_again(&child, &regs), 1);
	regs.orig_rax = ULONG_MAX;
	assert_int_equal(look_again(&child, &regs), 0);
	close_child(&child);

	fork_child(&child, sleep_with_it);
	open_child(&child);
	while (!sleeps(child.pid))
		usleep(1);
	assert_int_equal(in_flight_look(child.in_flight, (struct address){ entry }, 1, &runtime),
			 0);
	close_child(&child);
}

UNIT_TEST(test_process_has_ended)
{
	_cleanup_(close_child) struct child child;

	start_traced(&child);
	assert_int_equal(kill(child.pid, SIGKILL), 0);
	waitpid(child.pid, NULL, 0);
	assert_true(in_flight_look(child.in_flight, (struct address){ entry }, 1, &runtime) < 0);
}

/* Threads that run --------------------------------------------------------------------------- */

/* Keeps what is ordered in one register and, for any time, in no other; calls no kernel. */
static void spin(struct shared *shared)
{
	for (;;) {
		unsigned long ordered = atomic_load(&shared->ordered);

		__asm__ volatile("mov %[ordered], %%rbx\n"
				 "mov %%rbx, (%[taken])\n"
				 "xor %[ordered], %[ordered]\n"
				 "0: pause\n"
				 "cmp %%rbx, (%[where])\n"
				 "je 0b\n"
				 : [ordered] "+r"(ordered)
				 : [taken] "r"(&shared->taken), [where] "r"(&shared->ordered)
				 : "rbx", "memory", "cc");
	}
}

static void take(const struct child *child, unsigned long value)
{
	atomic_store(&child->shared->ordered, value);
	while (atomic_load(&child->shared->taken) != value)
		usleep(1);
}

/* Each time as at the first look. */
static int look_for(struct in_flight *in_flight, uint64_t address)
{
	static uint64_t since_ns;

	return in_flight_look(in_flight, (struct address){ address }, ++since_ns, &runtime);
}

/* What is known is of the moment of the interruption, or later. */
UNIT_TEST_WITHIN(test_running, set_up, tear_down)
{
	struct bench *bench = *state;
	struct child child;
	int slot;

	unit_skip_if_breakpoints_are_dead();
	begin(bench);
	slot = must_add(bench, 0);
	fork_child(&child, spin);
	open_child(&child);
	for (int i = 0; i < rounds(); i++) {
		take(&child, entry);
		breakpoints_interrupt(bench->breakpoints, slot);
		assert_int_equal(look_for(child.in_flight, entry), 1);
		assert_int_equal(look_for(child.in_flight, entry + (unsigned long)i + 1), 0);
		take(&child, entry + (unsigned long)i + 1);
		breakpoints_interrupt(bench->breakpoints, slot);
		assert_int_equal(look_for(child.in_flight, entry), 0);
		assert_int_equal(look_for(child.in_flight, entry + (unsigned long)i + 1), 1);
	}
	close_child(&child);
	end(bench, 0);
}

/*
 * All of them are looked at, however many there are; while some begin and end it is known or said
 * not to be. Some lose their CPU in system calls, and go on.
 */
UNIT_TEST_WITHIN(test_many, set_up, tear_down)
{
	struct bench *bench = *state;
	const int threads = is_guest() ? GUEST_THREADS : THREADS;
	const int many_rounds = is_guest() ? GUEST_ROUNDS : MANY_ROUNDS;
	struct in_flight *in_flight;
	int known = 0, looks = 0;

	unit_skip_if_breakpoints_are_dead();
	begin(bench);
	if (in_flight_create(&in_flight, &bench->process, &bench->err))
		fail_msg("%s", bench->err.text);
	order(bench, WORK, 0, threads, 1);
	assert_true(process_thread_count(&bench->process) > threads);
	for (int i = 0; i < many_rounds; i++) {
		int found;

		do {
			found = in_flight_look(in_flight, (struct address){ entry }, (uint64_t)i,
					       &runtime);
			assert_true(looks++ < LOOKS_MAX);
		} while (found == 1);
		assert_true(found == 0 || found == -EAGAIN);
		known += found == 0;
	}
	assert_true(known > many_rounds / 2);
	order(bench, REST, 0, 0, 0);
	in_flight_destroy(in_flight);
	end(bench, 0);
}

int main(void)
{
	unit_needs_root("look at other processes");
	caller_keep_perf_on();
	return unit_run(NULL, NULL);
}
