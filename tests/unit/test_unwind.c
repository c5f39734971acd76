// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks as the BPF unwinder has walked them, against libgcc's, taken in the same call: of
 * tests/apps/native/stacks.cpp, as gcc and as clang have compiled it. Needs root.
 */
#include "unit.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/apps/native/stacks.h"
#include "tests/helpers/native_target.h"

enum {
	WAIT_MS = 10000, /* until the program is there */
	BUFFER_BYTES = 32 << 20,
	STACKS_MIN = 15000,
	SHOWN_MAX = 3,
	DEEP_FRAMES = 100,
};

struct bench {
	struct taken_stacks *theirs;
	bool *compared;
	int first_left; /* of theirs: all before it have been compared */
	size_t hits;
	size_t same;
	size_t shown;
	size_t guessed; /* frames found by a frame pointer */
	size_t ends[STACK_ENDS];
	unsigned int deepest;
};

static void print_difference(const struct hit_event *ours, const struct taken_stack *theirs)
{
	printf("%s:\n", theirs->way);
	for (int i = 0; i < ours->frame_count || i < theirs->count + 1; i++)
		printf("  %3d %16llx %16lx\n", i, i < ours->frame_count ? ours->frames[i].pc : 0,
		       i && i <= theirs->count ? (unsigned long)theirs->frames[i - 1] : 0);
	printf("  end %u\n", ours->stack_end);
}

/* Ours begins with the probed function, and then in its caller, a call further on than theirs. */
static bool is_same(const struct hit_event *ours, const struct taken_stack *theirs)
{
	if (ours->frame_count != theirs->count + 1)
		return false;
	for (int i = 2; i < ours->frame_count; i++) {
		if (ours->frames[i].pc != theirs->frames[i - 1])
			return false;
	}
	return true;
}

/* Theirs of the same call: hits of one thread come in the order of its calls. */
static const struct taken_stack *find_taken(struct bench *bench, uint32_t tid)
{
	int count = __atomic_load_n(&bench->theirs->count, __ATOMIC_SEQ_CST);

	while (bench->first_left < count && bench->compared[bench->first_left])
		bench->first_left++;
	for (int i = bench->first_left; i < count && i < TAKEN_STACKS_MAX; i++) {
		struct taken_stack *stack = &bench->theirs->stacks[i];

		if (!bench->compared[i] &&
		    __atomic_load_n(&stack->tid, __ATOMIC_SEQ_CST) == (int32_t)tid) {
			bench->compared[i] = true;
			return stack;
		}
	}
	return NULL;
}

static bool on_hit(const struct hit_event *ours, void *ctx)
{
	struct bench *bench = ctx;
	const struct taken_stack *theirs = find_taken(bench, ours->tid);
	bool same;

	assert_non_null(theirs);
	same = is_same(ours, theirs);
	assert_true(ours->stack_end < STACK_ENDS);
	bench->hits++;
	bench->ends[ours->stack_end]++;
	for (int i = 0; i < ours->frame_count; i++)
		bench->guessed += (ours->frames[i].flags & EVENT_FRAME_GUESSED) != 0;
	bench->deepest = ours->frame_count > bench->deepest ? ours->frame_count : bench->deepest;
	bench->same += same;
	if ((!same || ours->stack_end != STACK_WHOLE) && bench->shown++ < SHOWN_MAX)
		print_difference(ours, theirs);
	return true;
}

/* It is built beside us, and gets the memory as descriptor @fd. */
static pid_t start(const char *name, int fd)
{
	char own[PATH_MAX] = "", path[PATH_MAX + 64], number[16];
	pid_t pid;

	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	snprintf(path, sizeof(path), "%s/../apps/%s", dirname(own), name);
	snprintf(number, sizeof(number), "%d", fd);
	pid = fork();
	if (pid == 0) {
		execl(path, name, number, NULL);
		_exit(127);
	}
	return pid;
}

static void wait_ready(const struct taken_stacks *theirs, pid_t pid)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (__atomic_load_n(&theirs->probed, __ATOMIC_SEQ_CST))
			return;
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		usleep(1000);
	}
	fail_msg("the program did not come up");
}

static void run(struct bench *bench, pid_t pid)
{
	const struct capture_handlers handlers = { .hit = on_hit,
						   .tick = capture_no_tick,
						   .ctx = bench };
	const struct options options = {
		.mode = MODE_HITS,
		.stack = STACK_MODE_FULL,
		.max_frames = EVENT_MAX_FRAMES,
		.buffer_bytes = BUFFER_BYTES,
	};
	struct native_target target = { 0 };
	struct unwind_tables_counts counts;
	struct error err = { .text = "" };
	struct capture *capture = NULL;
	enum capture_end end;

	if (native_target_open(&target, pid, &err) || native_target_read_unwind(&target, &err) ||
	    native_target_probe(&target, bench->theirs->probed, &options, &capture, &err))
		fail_msg("%s", err.text);
	counts = target.tables->counts;
	printf("%zu rows of %zu images, %zu without\n", counts.rows, counts.images, counts.without);
	capture_activate(capture);
	__atomic_store_n(&bench->theirs->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(capture_consume(capture, &handlers, &end, &err), 0);
	assert_int_equal(end, CAPTURE_TARGET_EXITED);
	capture_end(capture, &handlers);
	capture_destroy(capture);
	native_target_close(&target);
}

static void equal_to_libgcc(char *program)
{
	struct bench bench = { .compared = calloc(TAKEN_STACKS_MAX, sizeof(bool)) };
	int fd = memfd_create("stacks", 0), status;
	pid_t pid;

	assert_non_null(bench.compared);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(*bench.theirs)), 0);
	bench.theirs = mmap(NULL, sizeof(*bench.theirs), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(bench.theirs != MAP_FAILED);
	pid = start(program, fd);
	wait_ready(bench.theirs, pid);
	run(&bench, pid);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	printf("%s: %zu of %zu stacks equal, %zu not to the thread's start, %zu frames guessed, the deepest of %u frames\n",
	       program, bench.same, bench.hits, bench.hits - bench.ends[STACK_WHOLE], bench.guessed,
	       bench.deepest);
	assert_int_equal(status, 0);
	assert_true(bench.hits > STACKS_MIN);
	assert_int_equal(bench.hits, bench.theirs->count);
	assert_int_equal(bench.same, bench.hits);
	assert_int_equal(bench.ends[STACK_WHOLE], bench.hits);
	assert_int_equal(bench.guessed, 0);
	assert_true(bench.deepest > DEEP_FRAMES);
	munmap(bench.theirs, sizeof(*bench.theirs));
	close(fd);
	free(bench.compared);
}

UNIT_TEST(equal_to_libgcc_as_made_by_gcc)
{
	static char gcc[] = "stacks-gcc";

	equal_to_libgcc(gcc);
}

UNIT_TEST(equal_to_libgcc_as_made_by_clang)
{
	static char clang[] = "stacks-clang";

	equal_to_libgcc(clang);
}

int main(void)
{
	unit_needs_root("put probes on a process");
	return unit_run(NULL, NULL);
}
