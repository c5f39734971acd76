// SPDX-License-Identifier: GPL-2.0-or-later
/* The ways that C++ and the C library have of getting from one function to another. */
#ifndef WAYS_H
#define WAYS_H

#include <cstddef>
#include <functional>

#define APART __attribute__((noinline))
/* Before the end of a function whose last call must not become a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* What a way leads to: the stack is taken, or another way begins. */
using Leaf = std::function<void()>;

struct Way {
	const char *name;
	void (*run)(const Leaf &leaf); /* gets to the leaf once or twice */
	bool interruptible;	       /* libgcc can walk its stack at any instruction */
};

struct WayList {
	const Way *ways;
	size_t count;
};

extern const WayList ways_of_calls, ways_of_contexts;

/* What call_pending() calls, just once: for callbacks that get no argument, or that are called often. */
extern thread_local const Leaf *pending;
void call_pending();

/* Gets there when it goes out of scope. */
struct Guard {
	const Leaf &leaf;
	~Guard()
	{
		leaf();
		NO_TAIL_CALL();
	}
};

void handle_signal(int number, void (*handler)(int), int flags);

/* To be called before any way is taken. */
void handle_signals_of_ways();

#endif
