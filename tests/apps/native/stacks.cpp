// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gets to one function by every way there is (ways.h), each way from within each other, and has libgcc
 * walk the stack each time. Then it is interrupted anywhere, and at each instruction of its own on some of the
 * ways, and walked from the signal's handler.
 *
 *   stacks FD    memory for the stacks, see stacks.h
 *
 * Built without frame pointers. Driven by tests/unit/test_unwind.c.
 */
#include "tests/apps/native/stacks.h"
#include "tests/apps/native/ways.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include <vector>

namespace
{

enum {
	INTERRUPTIONS = 2000,
	INTERVAL_NS = 200000,
	TRAP_FLAG = 0x100,
	DEEP = 100, /* frames, and few enough to have all of them in an event */
};

std::vector<Way> ways;
struct taken_stacks *taken;
const char *outer_way = "", *inner_way = "";

/* Where the probe is. */
APART void probed()
{
	__asm__ volatile("" ::: "memory");
}

_Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *ctx)
{
	auto *stack = static_cast<struct taken_stack *>(ctx);
	uintptr_t address = _Unwind_GetIP(context);

	if (address && stack->count < TAKEN_FRAMES_MAX)
		stack->frames[stack->count++] = address;
	return _URC_NO_REASON;
}

/* Both stacks are of this call; what comes before it differs in the last return address only. */
APART void take_stack()
{
	int index = __atomic_fetch_add(&taken->count, 1, __ATOMIC_SEQ_CST);
	struct taken_stack *stack;

	if (index >= TAKEN_STACKS_MAX)
		abort();
	stack = &taken->stacks[index];
	snprintf(stack->way, sizeof(stack->way), "%s > %s", outer_way, inner_way);
	_Unwind_Backtrace(note_frame, stack);
	__atomic_store_n(&stack->tid, gettid(), __ATOMIC_SEQ_CST);
	probed();
	NO_TAIL_CALL();
}

void each_within_each()
{
	for (const Way &outer : ways) {
		outer_way = outer.name;
		inner_way = "";
		outer.run(take_stack);
		for (const Way &inner : ways) {
			inner_way = inner.name;
			outer.run([&] {
				inner.run(take_stack);
				NO_TAIL_CALL();
			});
		}
	}
}

APART void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		take_stack();
	NO_TAIL_CALL();
}

/* Interrupted anywhere ---------------------------------------------------------------------- */

volatile sig_atomic_t interruptions;

void on_timer(int)
{
	if (interruptions < INTERRUPTIONS) {
		interruptions = interruptions + 1;
		take_stack();
	}
	NO_TAIL_CALL();
}

APART double work(int n)
{
	std::map<std::string, int> names;
	char text[200], copy[200];
	struct timespec now;
	double total = 0;

	for (int i = 0; i < 20; i++)
		names[std::to_string((i * 37 + n) % 53)] = i;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof(text), "%d %f %s %ld", n, n * 1.5, "text", now.tv_nsec);
	memcpy(copy, text, sizeof(copy));
	for (const Way &way : ways) {
		if (way.interruptible)
			way.run([&] { total++; });
	}
	return total + std::sin(n) + strtod(copy, nullptr) + static_cast<double>(strlen(copy));
}

void interrupted()
{
	struct itimerspec often = {};
	struct sigevent event = {};
	volatile double sum = 0;
	timer_t timer;

	outer_way = "interrupted";
	inner_way = "";
	handle_signal(SIGALRM, on_timer, SA_RESTART);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGALRM;
	often.it_interval.tv_nsec = often.it_value.tv_nsec = INTERVAL_NS;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &often, nullptr))
		abort();
	for (int n = 0; interruptions < INTERRUPTIONS; n++)
		sum = sum + work(n);
	timer_delete(timer);
}

/* Interrupted at each instruction ------------------------------------------------------------ */

extern "C" const char __executable_start, etext;

volatile sig_atomic_t stepping;

void on_step(int, siginfo_t *, void *context)
{
	greg_t *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
	auto pc = static_cast<uintptr_t>(registers[REG_RIP]);

	if (!stepping)
		registers[REG_EFL] &= ~TRAP_FLAG;
	else if (pc >= reinterpret_cast<uintptr_t>(&__executable_start) &&
		 pc < reinterpret_cast<uintptr_t>(&etext))
		take_stack();
	NO_TAIL_CALL();
}

/* The first trap comes after the instruction that follows the one that sets the flag. */
APART void step(const Way &way)
{
	volatile int arrived = 0;

	stepping = 1;
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
	way.run([&] { arrived = arrived + 1; });
	stepping = 0;
	NO_TAIL_CALL();
}

void stepped()
{
	struct sigaction action = {};

	outer_way = "stepped";
	action.sa_sigaction = on_step;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, nullptr);
	for (const Way &way : ways) {
		inner_way = way.name;
		if (way.interruptible)
			step(way);
	}
}

/* Runs after main() has returned. */
struct AtExit {
	~AtExit()
	{
		outer_way = "static destructor";
		if (taken)
			take_stack();
	}
} at_exit;

} // namespace

int main(int argc, char **argv)
{
	void *memory = MAP_FAILED;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 2)
		memory = mmap(nullptr, sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED,
			      atoi(argv[1]), 0);
	if (memory == MAP_FAILED)
		return 2;
	taken = static_cast<struct taken_stacks *>(memory);
	handle_signals_of_ways();
	for (const WayList &list : { ways_of_calls, ways_of_contexts })
		ways.insert(ways.end(), list.ways, list.ways + list.count);
	__atomic_store_n(&taken->probed, reinterpret_cast<uint64_t>(probed), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&taken->go, __ATOMIC_SEQ_CST))
		usleep(1000);
	each_within_each();
	std::thread(each_within_each).join();
	outer_way = "deep";
	inner_way = "";
	recurse(DEEP);
	interrupted();
	stepped();
	return 0;
}
