/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A real process for breakpoint tests: it calls functions in any kind of thread and child when
 * it is told to, and counts what it calls. It is a fork of the test, so its functions are where
 * the test's own are.
 */
#ifndef CALLER_H
#define CALLER_H

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BODIES = 8,
	WORKERS_MAX = 200,
	CALLER_STACK_BYTES = 128 << 10,
};

enum order {
	CALL,	      /* in the serving thread */
	CALL_THREADS, /* in new threads */
	CALL_NESTED,  /* in new threads, and in theirs, four deep */
	CALL_FORK,    /* in children of three kinds; these are not counted */
	CALL_VFORK,
	CALL_CLONE,
	CALL_STRAY, /* caller_stray_body(), each time after a trap whose cause seems lost */
	EXIT_MAIN,  /* have the main thread exit */
	WORK,	    /* start threads that call whatever is published, and go on serving */
	REST,	    /* end them */
};

struct caller_order {
	enum order order;
	int body;
	int threads;
	int calls; /* of each thread */
};

/* What both processes see. */
struct caller_shared {
	atomic_ulong calls[BODIES]; /* those that ought to be counted */
	atomic_int serving_tid;
	atomic_bool main_may_exit;
	atomic_ulong published;		/* the body that WORK calls: this modulo BODIES */
	atomic_ulong seen[WORKERS_MAX]; /* by worker: what it is done with calling */
	atomic_bool resting;
	atomic_ulong traps; /* SIGTRAPs that it got */
};

struct caller {
	pid_t pid;
	int orders; /* pipe ends */
	int answers;
	struct caller_shared *shared;
};

/* Eight functions of one kind, each at an address of its own. */
#define CALLER_BODY(n)                                                              \
	__attribute__((noinline, noclone, aligned(64))) static void body_##n(void)  \
	{                                                                           \
		__asm__ volatile("push %%rbp; pop %%rbp; nop; # " #n ::: "memory"); \
	}

CALLER_BODY(0)
CALLER_BODY(1)
CALLER_BODY(2)
CALLER_BODY(3)
CALLER_BODY(4)
CALLER_BODY(5)
CALLER_BODY(6)
CALLER_BODY(7)

static void (*const caller_bodies[BODIES])(void) = {
	body_0, body_1, body_2, body_3, body_4, body_5, body_6, body_7,
};

/*
 * caller_stray(PROCESS, THREAD, SIGNAL, INFO) sends its own thread what the kernel sends who hit a
 * breakpoint whose cause was lost, and the kernel finds the thread behind the instruction that did
 * it: at the function. Just so it looks when a hypervisor has lost DR6 of a breakpoint there. (INT1
 * would do, but some never get past it.)
 */
long caller_stray(long process, long thread, long signal, siginfo_t *info);
void caller_stray_body(void);
_Static_assert(SYS_rt_tgsigqueueinfo == 297, "as below");
__asm__(".pushsection .text\n"
	".balign 64\n"
	"caller_stray: mov %rcx, %r10; mov $297, %eax; syscall\n"
	"caller_stray_body: push %rbp; pop %rbp; ret\n"
	".popsection");

/* By its name tests/helpers/strays.py knows that no hypervisor is to blame. */
static inline void caller_provoke(void)
{
	siginfo_t info = { .si_signo = SIGTRAP, .si_code = TRAP_BRKPT };

	prctl(PR_SET_NAME, "provoker");
	if (caller_stray(getpid(), gettid(), SIGTRAP, &info))
		abort();
}

/* One thread's part of an order; a worker's has its number as the depth. */
struct caller_part {
	struct caller_shared *shared;
	struct caller_order order;
	int depth;
};

static inline void caller_call(struct caller_shared *shared, int body)
{
	caller_bodies[body]();
	atomic_fetch_add(&shared->calls[body], 1);
}

static inline void caller_start(pthread_t *thread, void *(*function)(void *),
				struct caller_part *part)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, CALLER_STACK_BYTES);
	if (pthread_create(thread, &attr, function, part) != 0)
		_exit(90);
	pthread_attr_destroy(&attr);
}

static inline void *caller_thread(void *argument)
{
	struct caller_part *part = argument, inner = *part;
	pthread_t thread;

	inner.depth--;
	for (int i = 0; i < part->order.calls; i++) {
		caller_call(part->shared, part->order.body);
		/* Born in the middle of it. */
		if (part->depth > 0 && i == part->order.calls / 2)
			caller_start(&thread, caller_thread, &inner);
	}
	if (part->depth > 0 && part->order.calls > 0)
		pthread_join(thread, NULL);
	return NULL;
}

/* Only the body is called: a child of clone() has no thread of its own, as libc knows them. */
static inline int caller_child(void *argument)
{
	const struct caller_part *part = argument;

	for (int i = 0; i < part->order.calls; i++)
		caller_bodies[part->order.body]();
	_exit(0);
}

static inline void caller_run_child(struct caller_part *part)
{
	int flags = CLONE_VM | SIGCHLD | (part->order.order == CALL_VFORK ? CLONE_VFORK : 0);
	char *stack = mmap(NULL, CALLER_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (part->order.order == CALL_FORK) {
		child = fork();
		if (child == 0)
			caller_child(part);
	} else {
		child = clone(caller_child, stack + CALLER_STACK_BYTES, flags, part);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		_exit(91);
	munmap(stack, CALLER_STACK_BYTES);
}

/* Calls what is published, now and then in a thread that is born for it. */
static inline void *caller_worker(void *argument)
{
	const struct caller_part *worker = argument;
	struct caller_shared *shared = worker->shared;

	for (unsigned int turn = 0; !atomic_load(&shared->resting); turn++) {
		unsigned long published = atomic_load(&shared->published);
		struct caller_part part = {
			.shared = shared,
			.order = { .body = (int)(published % BODIES), .calls = 1 },
		};
		pthread_t thread;

		if (turn % 16 == 15) {
			caller_start(&thread, caller_thread, &part);
			pthread_join(thread, NULL);
		} else {
			caller_call(shared, part.order.body);
		}
		atomic_store(&shared->seen[worker->depth], published);
		if (worker->order.calls)
			usleep((useconds_t)worker->order.calls);
	}
	return NULL;
}

static struct caller_shared *caller_shared;

/* Go on where it was. On some virtual machines that happens unasked, too. */
static inline void caller_on_trap(int number)
{
	(void)number;
	atomic_fetch_add(&caller_shared->traps, 1);
}

static inline void caller_serve(struct caller *caller)
{
	static pthread_t workers[WORKERS_MAX];
	static struct caller_part parts[WORKERS_MAX];
	struct caller_part part = { .shared = caller->shared };
	int worker_count = 0;

	while (read(caller->orders, &part.order, sizeof(part.order)) == sizeof(part.order)) {
		int threads = part.order.threads;

		part.depth = part.order.order == CALL_NESTED ? 4 : 0;
		switch (part.order.order) {
		case CALL:
			caller_thread(&part);
			break;
		case CALL_THREADS:
		case CALL_NESTED: {
			pthread_t started[WORKERS_MAX];

			for (int i = 0; i < threads; i++)
				caller_start(&started[i], caller_thread, &part);
			for (int i = 0; i < threads; i++)
				pthread_join(started[i], NULL);
			break;
		}
		case CALL_FORK:
		case CALL_VFORK:
		case CALL_CLONE:
			caller_run_child(&part);
			break;
		case CALL_STRAY:
			for (int i = 0; i < part.order.calls; i++)
				caller_provoke();
			break;
		case EXIT_MAIN:
			atomic_store(&caller->shared->main_may_exit, true);
			break;
		case WORK:
			atomic_store(&caller->shared->resting, false);
			for (worker_count = 0; worker_count < threads; worker_count++) {
				parts[worker_count] = part;
				parts[worker_count].depth = worker_count;
				caller_start(&workers[worker_count], caller_worker,
					     &parts[worker_count]);
			}
			break;
		case REST:
			atomic_store(&caller->shared->resting, true);
			while (worker_count > 0)
				pthread_join(workers[--worker_count], NULL);
			break;
		}
		if (write(caller->answers, "", 1) != 1)
			break;
	}
	_exit(0);
}

static inline void *caller_serving_thread(void *argument)
{
	struct caller *caller = argument;

	atomic_store(&caller->shared->serving_tid, (int)syscall(SYS_gettid));
	caller_serve(caller);
	return NULL;
}

static inline void caller_run(struct caller *caller)
{
	pthread_t serving;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	caller_shared = caller->shared;
	signal(SIGTRAP, caller_on_trap);
	if (pthread_create(&serving, NULL, caller_serving_thread, caller) != 0)
		_exit(92);
	while (!atomic_load(&caller->shared->main_may_exit))
		usleep(1000);
	/* Not by pthread_exit(), which may load a library first. */
	syscall(SYS_exit, 0);
}

/*
 * The kernel patches its scheduler when the first event of a thread is opened and again when the
 * last has been closed for a second. In qemu's emulation a CPU sometimes runs into the int3 of that
 * patching when it is over, and the guest panics ("Oops: int3" in __schedule). One event that stays
 * until we exit: patched once.
 */
static inline void caller_keep_perf_on(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};

	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0)
		perror("caller_keep_perf_on");
}

/* Start one; it is ended by caller_end(). */
static inline bool caller_begin(struct caller *caller)
{
	int orders[2], answers[2];

	*caller = (struct caller){ 0 };
	caller->shared = mmap(NULL, sizeof(*caller->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (caller->shared == MAP_FAILED || pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		return false;
	caller->pid = fork();
	if (caller->pid == 0) {
		close(orders[1]);
		close(answers[0]);
		caller->orders = orders[0];
		caller->answers = answers[1];
		caller_run(caller);
	}
	close(orders[0]);
	close(answers[1]);
	caller->orders = orders[1];
	caller->answers = answers[0];
	while (caller->pid > 0 && !atomic_load(&caller->shared->serving_tid))
		usleep(1000);
	return caller->pid > 0;
}

/* Have it carried out; false if the process is gone. */
static inline bool caller_do(struct caller *caller, struct caller_order order)
{
	char answer;

	return write(caller->orders, &order, sizeof(order)) == sizeof(order) &&
	       read(caller->answers, &answer, 1) == 1;
}

static inline unsigned long caller_calls(const struct caller *caller)
{
	unsigned long calls = 0;

	for (int i = 0; i < BODIES; i++)
		calls += atomic_load(&caller->shared->calls[i]);
	return calls;
}

/* Ends it, and returns how it would have ended: 0 if it was alive and well. */
static inline int caller_end(struct caller *caller)
{
	int status = 0;
	bool gone = waitpid(caller->pid, &status, WNOHANG) == caller->pid;

	if (!gone) {
		kill(caller->pid, SIGKILL);
		waitpid(caller->pid, NULL, 0);
	}
	close(caller->orders);
	close(caller->answers);
	munmap(caller->shared, sizeof(*caller->shared));
	return gone ? status : 0;
}

#endif
