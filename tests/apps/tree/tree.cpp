// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A native program whose functions call each other in known ways, and that writes down itself what was called within each
 * call of tree_root(): "run KIND TIMES THREADS" is answered by "done run", and FILE, its argument, then has a JSON tree a
 * call, as tests/apps/traced has them. Kinds: loop, diveN (N deep), jump, throw, inner, spinN (N ms), none. With more
 * arguments, KIND TIMES THREADS, it does that and ends.
 */
#include <chrono>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define KEEP extern "C" __attribute__((noinline, noclone))

struct node {
	const char *name;
	node *parent;
	int calls = 0, unwound = 0;
	std::list<node> children;

	node(const char *called, node *by)
		: name(called)
		, parent(by)
	{
	}

	node *call(const char *called)
	{
		for (node &child : children) {
			if (!strcmp(child.name, called))
				return child.calls++, &child;
		}
		children.emplace_back(called, this);
		return children.back().calls++, &children.back();
	}

	std::string spell() const
	{
		std::string text = "{\"method\":\"" + std::string(name) + "\",\"calls\":" + std::to_string(calls) +
				   ",\"unwound\":" + std::to_string(unwound) + ",\"children\":[";

		for (const node &child : children)
			text += (&child == &children.front() ? "" : ",") + child.spell();
		return text + "]}";
	}
};

static thread_local node *here;
static thread_local std::string *trees;
static std::mutex lock;
static FILE *record;
static volatile int work;

static node *enter(const char *name)
{
	node *before = here;

	if (here)
		here = here->call(name);
	return before;
}

static void leave(node *before)
{
	here = before;
	work = work + 1;
}

/* What is further in than @mine has been left. */
static void unwind(node *mine)
{
	for (; here != mine && here; here = here->parent)
		here->unwound++;
}

KEEP int tree_leaf(int x)
{
	node *before = enter("tree_leaf");

	leave(before);
	return x + work;
}

KEEP int tree_branch(int x)
{
	node *before = enter("tree_branch");
	int result = tree_leaf(x) + tree_leaf(x + 1);

	leave(before);
	return result;
}

KEEP int tree_loop(int times)
{
	node *before = enter("tree_loop");
	int result = 0;

	for (int i = 0; i < times; i++)
		result += tree_leaf(i) + tree_branch(i);
	leave(before);
	return result;
}

KEEP int tree_dive(int depth)
{
	node *before = enter("tree_dive");
	int result = depth > 1 ? tree_dive(depth - 1) : 0;

	leave(before);
	return result + work;
}

KEEP int tree_leaves(int depth, jmp_buf *to)
{
	node *before = enter("tree_leaves");
	int result;

	if (depth <= 1 && to)
		longjmp(*to, 1);
	if (depth <= 1)
		throw depth;
	result = tree_leaf(depth) + tree_leaves(depth - 1, to);
	leave(before);
	return result + work;
}

KEEP int tree_jump(int depth)
{
	node *volatile before = enter("tree_jump");
	node *volatile mine = here;
	jmp_buf to;
	int result;

	if (setjmp(to) == 0)
		tree_leaves(depth, &to);
	unwind(mine);
	result = tree_leaf(depth);
	leave(before);
	return result + work;
}

KEEP int tree_catch(int depth)
{
	node *before = enter("tree_catch"), *mine = here;
	int result = 0;

	try {
		result = tree_leaves(depth, nullptr);
	} catch (int) {
		unwind(mine);
	}
	result += tree_leaf(depth);
	leave(before);
	return result + work;
}

KEEP int tree_spin(int ms)
{
	node *before = enter("tree_spin");
	auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);

	while (std::chrono::steady_clock::now() < until)
		work = work + 1;
	leave(before);
	return work;
}

KEEP int tree_root(const char *kind);

KEEP int tree_inner(const char *kind)
{
	node *before = enter("tree_inner");
	int result = tree_root(kind);

	leave(before);
	return result + work;
}

static int below(const char *kind)
{
	if (!strcmp(kind, "loop"))
		return tree_loop(5);
	if (!strncmp(kind, "dive", 4))
		return tree_dive(atoi(kind + 4));
	if (!strcmp(kind, "jump"))
		return tree_jump(4) + tree_leaf(1);
	if (!strcmp(kind, "throw"))
		return tree_catch(4) + tree_leaf(1);
	if (!strcmp(kind, "inner"))
		return tree_inner("loop") + tree_inner("none");
	if (!strncmp(kind, "spin", 4))
		return tree_leaf(1) + tree_spin(atoi(kind + 4));
	return 1;
}

KEEP int tree_root(const char *kind)
{
	node outside("", nullptr);
	node *before = here;
	int result;

	here = here ? here : &outside;
	here = here->call("tree_root");
	result = below(kind);
	here = before;
	if (!before)
		*trees += outside.children.front().spell() + "\n";
	return result + work;
}

/* What is called outside of roots is in no tree. */
static void run(const char *kind, int times)
{
	std::string mine;

	trees = &mine;
	for (int i = 0; i < times; i++) {
		tree_leaf(1);
		tree_root(kind);
		tree_dive(3);
		tree_jump(2);
	}
	std::lock_guard<std::mutex> held(lock);
	fputs(mine.c_str(), record);
	fflush(record);
}

static void run_all(const char *kind, int times, int count)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < count; i++)
		threads.emplace_back(run, kind, times);
	for (std::thread &thread : threads)
		thread.join();
}

int main(int argc, char **argv)
{
	char line[64], kind[32];
	int times, count;

	record = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
	if (!record)
		return 1;
	if (argc > 4) {
		run_all(argv[2], atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "run %31s %d %d", kind, &times, &count) != 3)
			break;
		run_all(kind, times, count);
		puts("done run");
		fflush(stdout);
	}
	return 0;
}
