// SPDX-License-Identifier: GPL-2.0-or-later
/* Ways by signals, through frames of all kinds, and on stacks of their own. */
#include "tests/apps/native/ways.h"

#include <alloca.h>
#include <coroutine>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <ucontext.h>

namespace
{

/* It may be read or written, for all that the compiler knows. */
void touch(volatile void *memory)
{
	__asm__ volatile("" ::"r"(memory) : "memory");
}

/* Signals ---------------------------------------------------------------------------------- */

void on_signal(int)
{
	call_pending();
}

/* Goes on after the instruction that is none. */
void on_illegal(int, siginfo_t *, void *context)
{
	call_pending();
	static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP] += 2;
}

APART void by_raise(const Leaf &leaf)
{
	pending = &leaf;
	raise(SIGUSR1);
	NO_TAIL_CALL();
}

APART void by_signal_stack(const Leaf &leaf)
{
	const size_t size = 2 << 20;
	std::unique_ptr<char[]> memory(new char[size]);
	stack_t before, own = {};

	own.ss_sp = memory.get();
	own.ss_size = size;
	/* Not while on one already: then the handler is called on that. */
	bool is_first = sigaltstack(&own, &before) == 0;
	pending = &leaf;
	raise(SIGUSR2);
	if (is_first)
		sigaltstack(&before, nullptr);
}

/* At an instruction that is no call, in a function without a frame. */
APART void by_fault(const Leaf &leaf)
{
	pending = &leaf;
	__asm__ volatile("ud2" ::: "memory");
}

thread_local sigjmp_buf *signal_back;

void on_leaving_signal(int)
{
	siglongjmp(*signal_back, 1);
}

APART void by_siglongjmp(const Leaf &leaf)
{
	sigjmp_buf back;

	signal_back = &back;
	if (sigsetjmp(back, 1) == 0)
		raise(SIGHUP);
	leaf();
	NO_TAIL_CALL();
}

/* Frames ----------------------------------------------------------------------------------- */

APART void by_alloca(const Leaf &leaf)
{
	volatile size_t size = 5000;
	void *room = alloca(size);

	touch(room);
	leaf();
	touch(room);
}

APART void by_realigned(const Leaf &leaf)
{
	alignas(128) char room[256];

	touch(room);
	leaf();
	touch(room);
}

/* Realigned, and of variable size. */
APART void by_realigned_alloca(const Leaf &leaf)
{
	volatile size_t size = 300;
	alignas(64) char room[128];
	void *more = alloca(size);

	touch(room);
	touch(more);
	leaf();
	touch(room);
	touch(more);
}

APART void by_large_frame(const Leaf &leaf)
{
	char room[200000];

	touch(room);
	leaf();
	touch(room);
}

/* The compiler pushes what does not fit into registers. */
APART long sum(const Leaf &leaf, long a, long b, long c, long d, long e, long f, long g, long h,
	       long i)
{
	leaf();
	return a + b + c + d + e + f + g + h + i;
}

APART void by_many_arguments(const Leaf &leaf)
{
	volatile long n = 1;

	n = sum(leaf, n, 2, n, 4, n, 6, n, 8, n) + sum(leaf, 1, n, 3, n, 5, n, 7, n, 9);
}

/* The frame pointer is a register like any other, and points nowhere. */
APART void by_lost_frame_pointer(const Leaf &leaf)
{
	__asm__ volatile("mov $0x123456789, %%rbp; xor %%r12, %%r12" ::
				 : "rbx", "rbp", "r12", "r13", "r14", "r15", "memory");
	leaf();
	__asm__ volatile("xor %%rbp, %%rbp" ::: "rbx", "rbp", "memory");
}

APART void recurse(const Leaf &leaf, int depth)
{
	if (depth)
		recurse(leaf, depth - 1);
	else
		leaf();
	NO_TAIL_CALL();
}

APART void by_recursion(const Leaf &leaf)
{
	recurse(leaf, 30);
}

APART bool is_odd(const Leaf &leaf, int n);

APART bool is_even(const Leaf &leaf, int n)
{
	long room[3];

	touch(room);
	return n == 0 ? (leaf(), true) : is_odd(leaf, n - 1);
}

APART bool is_odd(const Leaf &leaf, int n)
{
	std::string text(static_cast<size_t>(n), 'x');

	return n != 0 && is_even(leaf, n - 1) && !text.empty();
}

APART void by_mutual_recursion(const Leaf &leaf)
{
	is_even(leaf, 10);
	NO_TAIL_CALL();
}

APART void last(const Leaf &leaf)
{
	leaf(); /* a jump as well */
}

APART void by_tail_call(const Leaf &leaf)
{
	last(leaf);
}

/* Stacks of their own ----------------------------------------------------------------------- */

struct Task {
	struct promise_type {
		Task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			abort();
		}
	};
	std::coroutine_handle<promise_type> handle;
};

Task in_turns(const Leaf &leaf)
{
	leaf();
	co_await std::suspend_always{};
	leaf();
}

APART void by_coroutine(const Leaf &leaf)
{
	Task task = in_turns(leaf);

	task.handle.resume();
	task.handle.resume();
	task.handle.destroy();
}

APART void by_context(const Leaf &leaf)
{
	const size_t size = 1 << 20;
	std::unique_ptr<char[]> memory(new char[size]);
	ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_sp = memory.get();
	there.uc_stack.ss_size = size;
	there.uc_link = &here;
	makecontext(&there, call_pending, 0);
	pending = &leaf;
	swapcontext(&here, &there);
}

void *run_leaf(void *leaf)
{
	(*static_cast<const Leaf *>(leaf))();
	NO_TAIL_CALL();
	return nullptr;
}

void in_thread(void *(*function)(void *), const Leaf &leaf)
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, function, const_cast<Leaf *>(&leaf)))
		abort();
	pthread_join(thread, nullptr);
}

APART void by_pthread(const Leaf &leaf)
{
	in_thread(run_leaf, leaf);
}

/* Ends the thread as an exception would, by destructors. */
APART void by_pthread_exit(const Leaf &leaf)
{
	in_thread(
		[](void *argument) -> void * {
			Guard guard = { *static_cast<const Leaf *>(argument) };

			pthread_exit(nullptr);
		},
		leaf);
}

APART void by_thread_local(const Leaf &leaf)
{
	in_thread(
		[](void *argument) -> void * {
			thread_local Guard guard = { *static_cast<const Leaf *>(argument) };

			(void)guard;
			return nullptr;
		},
		leaf);
}

APART void by_std_thread(const Leaf &leaf)
{
	std::thread thread([&] {
		leaf();
		NO_TAIL_CALL();
	});

	thread.join();
}

APART void by_async(const Leaf &leaf)
{
	std::async(std::launch::async, [&] {
		leaf();
		return 1;
	}).get();
}

const Way all[] = {
	{ "raise", by_raise, true },
	{ "sigaltstack", by_signal_stack, false },
	{ "fault", by_fault, true },
	{ "siglongjmp", by_siglongjmp, false },
	{ "alloca", by_alloca, true },
	{ "realigned", by_realigned, true },
	{ "realigned alloca", by_realigned_alloca, true },
	{ "large frame", by_large_frame, true },
	{ "many arguments", by_many_arguments, true },
	{ "lost frame pointer", by_lost_frame_pointer, true },
	{ "recursion", by_recursion, true },
	{ "mutual recursion", by_mutual_recursion, true },
	{ "tail call", by_tail_call, true },
	{ "coroutine", by_coroutine, true },
	{ "makecontext", by_context, false },
	{ "pthread", by_pthread, false },
	{ "pthread_exit", by_pthread_exit, false },
	{ "thread_local", by_thread_local, false },
	{ "std::thread", by_std_thread, false },
	{ "std::async", by_async, false },
};

} // namespace

const WayList ways_of_contexts = { all, sizeof(all) / sizeof(all[0]) };

void handle_signal(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {};

	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(number, &action, nullptr);
}

void handle_signals_of_ways()
{
	struct sigaction illegal = {};

	handle_signal(SIGUSR1, on_signal, SA_NODEFER);
	handle_signal(SIGUSR2, on_signal, SA_NODEFER | SA_ONSTACK);
	handle_signal(SIGHUP, on_leaving_signal, SA_ONSTACK);
	illegal.sa_sigaction = on_illegal;
	illegal.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigaction(SIGILL, &illegal, nullptr);
}
