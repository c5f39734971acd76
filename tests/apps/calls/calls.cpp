// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A native program that makes calls when it is told to, and counts them itself. It speaks the protocol of
 * tests/apps/counter: "KIND NUMBER THREADS" makes NUMBER calls on each of THREADS threads, and is answered by
 * "done KIND CALLS RETURNS NANOSECONDS", by the counts of all threads.
 */
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

#define KEEP __attribute__((noinline, noclone))

static std::atomic<uint64_t> calls, returns, nanoseconds, outside;

static void *later_library;
static int (*later_function)(int);
static uint64_t (*later_calls)();

static uint64_t now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

extern "C" {
KEEP int calls_plain(int value) noexcept
{
	calls++;
	return value + 1;
}

int calls_alias(int value) noexcept __attribute__((alias("calls_plain"), copy(calls_plain)));

/* Which of both calls_chosen() is, the loader asks calls_choose(). */
KEEP static int calls_first(int value)
{
	calls++;
	return value;
}

typedef int (*chosen_function)(int);

chosen_function calls_choose()
{
	return calls_first;
}

int calls_chosen(int value) __attribute__((ifunc("calls_choose")));

/* Begins with a VEX instruction. */
int calls_vex(void);
__asm__(".text\n.globl calls_vex\n.type calls_vex, @function\ncalls_vex:\n.cfi_startproc\n"
	"vzeroupper\nxorl %eax, %eax\nret\n.cfi_endproc\n.size calls_vex, . - calls_vex\n");

/* A symbol that lies: it is in the middle of calls_whole's instruction. */
int calls_whole(void);
__asm__(".text\n.globl calls_whole, calls_inside\n.type calls_whole, @function\n"
	".type calls_inside, @function\ncalls_whole:\n.cfi_startproc\n.byte 0xb8\n"
	"calls_inside:\n.byte 0x90, 0x90, 0x90, 0x90\nret\n.cfi_endproc\n"
	".size calls_whole, . - calls_whole\n.size calls_inside, . - calls_inside\n");

KEEP void calls_sleep(void)
{
	uint64_t begin = now_ns();

	calls++;
	usleep(5000);
	nanoseconds += now_ns() - begin;
}

KEEP int calls_recursive(int depth)
{
	volatile int result;

	calls++;
	returns++;
	result = depth > 0 ? calls_recursive(depth - 1) : 0;
	return result + 1;
}

KEEP void calls_jump(jmp_buf to, int depth)
{
	volatile int stay = depth;

	calls++;
	if (stay == 0)
		longjmp(to, 1);
	if (stay < 0)
		return;
	calls_jump(to, stay - 1);
	stay = 0;
}
}

namespace shop
{
struct order {
	int number;
};

struct till {
	KEEP int add(int value);
	KEEP int add(const order &order);
};

int till::add(int value)
{
	calls++;
	return value + 1;
}

int till::add(const order &order)
{
	calls++;
	return order.number;
}

template <typename T> KEEP T twice(T value)
{
	calls++;
	return value + value;
}

/* Every second call is left by an exception, which its caller's caller catches. */
KEEP int risky(int number)
{
	volatile int room = number;

	calls++;
	if (room % 2)
		throw std::runtime_error("odd");
	returns++;
	return room;
}

KEEP int between(int number)
{
	volatile int result = risky(number);

	return result + 1;
}
}

static void call(const char *kind, int number)
{
	volatile int sum = 0;

	if (strcmp(kind, "plain") == 0) {
		sum = calls_plain(number);
	} else if (strcmp(kind, "chosen") == 0) {
		sum = calls_chosen(number) + calls_vex() + calls_whole();
	} else if (strcmp(kind, "sleep") == 0) {
		uint64_t before = now_ns();

		calls_sleep();
		outside += now_ns() - before;
	} else if (strcmp(kind, "recursive") == 0) {
		sum = calls_recursive(9);
	} else if (strcmp(kind, "jump") == 0) {
		jmp_buf here;

		if (setjmp(here) == 0)
			calls_jump(here, 4);
	} else if (strcmp(kind, "add") == 0) {
		shop::till till;

		sum = till.add(number) + till.add(shop::order{ number });
	} else if (strcmp(kind, "template") == 0) {
		sum = shop::twice(number) + static_cast<int>(shop::twice(1.5));
	} else if (strcmp(kind, "parent") == 0) {
		calls++;
		sum = static_cast<int>(getppid());
	} else if (strcmp(kind, "later") == 0 && later_function) {
		calls++;
		sum = later_function(number);
	} else if (strcmp(kind, "risky") == 0) {
		try {
			sum = shop::between(number);
		} catch (const std::runtime_error &) {
			sum = 1;
		}
	}
	(void)sum;
}

static void call_all(const char *kind, int number, int threads)
{
	std::vector<std::thread> all;

	calls = returns = nanoseconds = outside = 0;
	for (int i = 0; i < threads; i++)
		all.emplace_back([=] {
			for (int j = 0; j < number; j++)
				call(kind, j);
		});
	for (auto &thread : all)
		thread.join();
}

static void *symbol_of(void *library, const char *name)
{
	void *symbol = library ? dlsym(library, name) : nullptr;

	if (!symbol)
		printf("error %s\n", dlerror());
	return symbol;
}

/* tests/apps/calls/later.cpp: a library that comes later. */
static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *function = symbol_of(library, "later_function");
	void *count = function ? symbol_of(library, "later_calls") : nullptr;

	if (!count)
		return;
	memcpy(&later_function, &function, sizeof(later_function));
	memcpy(&later_calls, &count, sizeof(later_calls));
	later_library = library;
	printf("loaded %ju\n", static_cast<uintmax_t>(later_calls()));
}

/* How many calls it has counted from its first to its last. */
static void unload()
{
	uintmax_t made = later_calls();

	later_calls = nullptr;
	later_function = nullptr;
	dlclose(later_library);
	printf("unloaded %ju\n", made);
}

int main()
{
	char line[512], kind[32], path[512];
	int number, threads;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	printf("ready %d\n", static_cast<int>(getpid()));
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "load %511s", path) == 1) {
			load(path);
		} else if (strncmp(line, "unload", 6) == 0 && later_calls) {
			unload();
		} else if (sscanf(line, "open %511s", path) == 1) {
			printf("opened %d\n", open(path, O_RDONLY));
		} else if (sscanf(line, "%31s %d %d", kind, &number, &threads) == 3) {
			call_all(kind, number, threads);
			printf("done %s %ju %ju %ju %ju\n", kind, static_cast<uintmax_t>(calls.load()),
			       static_cast<uintmax_t>(returns.load()),
			       static_cast<uintmax_t>(nanoseconds.load()),
			       static_cast<uintmax_t>(outside.load()));
		} else if (strncmp(line, "quit", 4) == 0) {
			break;
		}
	}
	return 0;
}
