// SPDX-License-Identifier: GPL-2.0-or-later
/* Ways by calls and callbacks, those of libraries too, and by exceptions. */
#include "tests/apps/native/ways.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ftw.h>
#include <link.h>
#include <memory_resource>
#include <mutex>
#include <ostream>
#include <search.h>
#include <stdexcept>
#include <string>
#include <unwind.h>
#include <vector>

thread_local const Leaf *pending;

void call_pending()
{
	const Leaf *leaf = pending;

	pending = nullptr;
	if (leaf)
		(*leaf)();
	NO_TAIL_CALL();
}

namespace
{

struct Animal {
	virtual ~Animal() = default;
	virtual void speak(const Leaf &leaf) = 0;
};

struct Machine {
	long serial = 7;
	virtual ~Machine() = default;
	virtual void start(const Leaf &leaf) = 0;
};

struct Robot : Animal, Machine {
	APART void speak(const Leaf &leaf) override
	{
		leaf();
		NO_TAIL_CALL();
	}
	/* Called by the second base, it comes through a thunk. */
	APART void start(const Leaf &leaf) override
	{
		leaf();
		serial++;
	}
};

APART void by_virtual(const Leaf &leaf)
{
	Robot robot;
	Animal *volatile animal = &robot;
	Machine *volatile machine = &robot;

	animal->speak(leaf);
	machine->start(leaf);
}

APART void by_sort(const Leaf &leaf)
{
	std::vector<int> numbers(40);

	for (int i = 0; i < 40; i++)
		numbers[i] = i * 31 % 97;
	pending = &leaf;
	std::sort(numbers.begin(), numbers.end(), [](int left, int right) {
		if (left > 80)
			call_pending();
		return left < right;
	});
	pending = &leaf;
	std::stable_sort(numbers.begin(), numbers.end(), [](int left, int right) {
		call_pending();
		return left > right;
	});
}

int compare(const void *left, const void *right)
{
	call_pending();
	return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}

APART void by_qsort(const Leaf &leaf)
{
	int numbers[16];

	for (int i = 0; i < 16; i++)
		numbers[i] = i * 7 % 16;
	pending = &leaf;
	qsort(numbers, 16, sizeof(*numbers), compare);
	pending = &leaf;
	bsearch(&numbers[3], numbers, 16, sizeof(*numbers), compare);
}

void visit(const void *, VISIT which, int)
{
	if (which == leaf)
		call_pending();
}

APART void by_tree(const Leaf &leaf)
{
	int numbers[4] = { 3, 1, 2, 0 };
	void *root = nullptr;

	for (int &number : numbers)
		tsearch(&number, &root, compare);
	pending = &leaf;
	twalk(root, visit);
	for (int &number : numbers)
		tdelete(&number, &root, compare);
}

APART void by_libraries(const Leaf &leaf)
{
	pending = &leaf;
	dl_iterate_phdr(
		[](struct dl_phdr_info *, size_t, void *) {
			call_pending();
			return 0;
		},
		nullptr);
}

APART void by_files(const Leaf &leaf)
{
	pending = &leaf;
	nftw(
		"/proc/self/attr",
		[](const char *, const struct stat *, int, struct FTW *) {
			call_pending();
			return 0;
		},
		4, FTW_PHYS);
}

APART void by_cookie(const Leaf &leaf)
{
	cookie_io_functions_t functions = {};
	FILE *stream;

	functions.write = [](void *, const char *, size_t size) {
		call_pending();
		return static_cast<ssize_t>(size);
	};
	stream = fopencookie(nullptr, "w", functions);
	setvbuf(stream, nullptr, _IONBF, 0);
	pending = &leaf;
	fprintf(stream, "%d %s %f\n", 1, "two", 3.0);
	fclose(stream);
}

struct Sink : std::streambuf {
	int overflow(int letter) override
	{
		call_pending();
		return letter;
	}
};

APART void by_stream(const Leaf &leaf)
{
	Sink sink;
	std::ostream stream(&sink);

	pending = &leaf;
	stream << 3.5 << std::string("text") << 42;
	pending = nullptr;
}

struct Upstream : std::pmr::memory_resource {
	void *do_allocate(size_t size, size_t) override
	{
		call_pending();
		return malloc(size);
	}
	void do_deallocate(void *memory, size_t, size_t) override
	{
		free(memory);
	}
	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}
};

APART void by_allocator(const Leaf &leaf)
{
	Upstream upstream;
	std::pmr::unsynchronized_pool_resource pool(&upstream);
	std::pmr::vector<long> numbers(&pool);

	pending = &leaf;
	for (long i = 0; i < 100; i++)
		numbers.push_back(i);
}

APART void by_once(const Leaf &leaf)
{
	std::once_flag flag;

	std::call_once(flag, [&] {
		leaf();
		NO_TAIL_CALL();
	});
}

/* As the dynamic loader where it binds a function: on a realigned stack that only rbx leads back from. */
extern "C" void call_realigned(void (*function)());
__asm__(".pushsection .text\n"
	".type call_realigned, @function\n"
	"call_realigned:\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset rbx, -16\n"
	"mov %rsp, %rbx\n"
	".cfi_def_cfa_register rbx\n"
	"and $-64, %rsp\n"
	"sub $192, %rsp\n"
	"call *%rdi\n"
	"mov %rbx, %rsp\n"
	".cfi_def_cfa_register rsp\n"
	"pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_restore rbx\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_realigned, . - call_realigned\n"
	".popsection\n");

APART void use_rbx()
{
	__asm__ volatile("xor %%ebx, %%ebx" ::: "rbx");
	call_pending();
	NO_TAIL_CALL();
}

APART void by_rbx(const Leaf &leaf)
{
	pending = &leaf;
	call_realigned(call_pending);
	pending = &leaf;
	call_realigned(use_rbx);
	NO_TAIL_CALL();
}

/* Exceptions ------------------------------------------------------------------------------- */

APART void thrower(int n)
{
	if (n >= 0)
		throw std::runtime_error("thrown " + std::to_string(n));
}

APART void by_catch(const Leaf &leaf)
{
	try {
		thrower(1);
	} catch (const std::exception &) {
		leaf();
	}
}

APART void by_rethrow(const Leaf &leaf)
{
	try {
		try {
			thrower(2);
		} catch (const std::logic_error &) {
			abort();
		} catch (...) {
			leaf();
			throw;
		}
	} catch (const std::runtime_error &) {
		leaf();
	}
}

APART void guarded(const Leaf &leaf, int depth)
{
	Guard guard = { leaf };

	if (depth)
		guarded(leaf, depth - 1);
	else
		thrower(depth);
	NO_TAIL_CALL();
}

APART void by_destructor(const Leaf &leaf)
{
	try {
		guarded(leaf, 1);
	} catch (...) {
	}
}

/* The exception crosses a frame of the C library's. */
APART void by_catch_across(const Leaf &leaf)
{
	int numbers[] = { 2, 1, 3 };

	try {
		qsort(numbers, 3, sizeof(*numbers), [](const void *, const void *) {
			thrower(3);
			return 0;
		});
	} catch (const std::runtime_error &) {
		leaf();
	}
}

/* libgcc's unwinder has called it, in the midst of unwinding. */
_Unwind_Reason_Code stop(int, _Unwind_Action, _Unwind_Exception_Class, struct _Unwind_Exception *,
			 struct _Unwind_Context *, void *ctx)
{
	call_pending();
	longjmp(*static_cast<jmp_buf *>(ctx), 1);
}

APART void by_stop(const Leaf &leaf)
{
	struct _Unwind_Exception exception = {};
	jmp_buf back;

	pending = &leaf;
	if (setjmp(back) == 0)
		_Unwind_ForcedUnwind(&exception, stop, &back);
	NO_TAIL_CALL();
}

APART void jump(jmp_buf back, int depth)
{
	if (depth > 5)
		return;
	if (depth == 5)
		longjmp(back, 1);
	jump(back, depth + 1);
	NO_TAIL_CALL();
}

APART void by_longjmp(const Leaf &leaf)
{
	jmp_buf back;

	if (setjmp(back) == 0)
		jump(back, 0);
	leaf();
	NO_TAIL_CALL();
}

const Way all[] = {
	{ "virtual", by_virtual, true },
	{ "rbx", by_rbx, true },
	{ "std::sort", by_sort, true },
	{ "qsort", by_qsort, true },
	{ "twalk", by_tree, true },
	{ "dl_iterate_phdr", by_libraries, true },
	{ "nftw", by_files, false },
	{ "fopencookie", by_cookie, true },
	{ "std::ostream", by_stream, true },
	{ "memory_resource", by_allocator, true },
	{ "std::call_once", by_once, true },
	{ "catch", by_catch, false },
	{ "rethrow", by_rethrow, false },
	{ "destructor", by_destructor, false },
	{ "catch across qsort", by_catch_across, false },
	{ "_Unwind_ForcedUnwind", by_stop, false },
	{ "longjmp", by_longjmp, false },
};

} // namespace

const WayList ways_of_calls = { all, sizeof(all) / sizeof(all[0]) };
