// SPDX-License-Identifier: GPL-2.0-or-later
/* The same in C++: templates, members and functions within functions. */
#include <cstdio>
#include <unistd.h>

#define INLINED inline __attribute__((always_inline))
#define CALLED __attribute__((noinline))

static volatile int sink;

namespace shop
{
template <typename T> struct counter {
	T count;

	INLINED T add(T n)
	{
		count += n + getppid();
		return count;
	}

	CALLED T add_twice(T n)
	{
		add(n);
		sink = (int)count;
		return add(n);
	}
};

namespace
{
CALLED int hidden(int n)
{
	struct local {
		static CALLED int inside(int m)
		{
			counter<long> c = { m };

			sink = (int)c.add_twice(m);
			return sink + 1;
		}
	};
	auto twice = [](int m) CALLED { sink = local::inside(m); return sink * 2; };

	sink = twice(n);
	return sink + 1;
}
} // namespace
} // namespace shop

int main()
{
	std::printf("ready %d\n", getpid());
	std::fflush(stdout);
	for (;;) {
		sink = shop::hidden(3);
		usleep(5000);
	}
}
