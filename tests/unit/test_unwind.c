// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks as the BPF unwinder has walked them, against libgcc's, taken in the same call: through
 * callbacks of the C library, frames of variable size, realigned ones, signal handlers, threads. Needs root.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "attach/uprobes.h"
#include "capture.h"
#include "clock.h"
#include "error.h"
#include "target/files.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/process.h"
#include "unwind/tables.h"

enum {
	STACKS_MAX = 1024,
	DEPTH_MAX = 128,
	THREADS = 4,
	ROUNDS = 10,
};

struct stack {
	void *frames[DEPTH_MAX];
	int count;
	int tid;
};

/* What both processes see. */
struct shared {
	atomic_int count;
	struct stack stacks[STACKS_MAX];
};

static struct shared *shared;

/* The target ------------------------------------------------------------------------------ */

/* Where the probe is. */
__attribute__((noinline, noclone)) static void probed(void)
{
	__asm__ volatile("" ::: "memory");
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *ctx)
{
	struct stack *stack = ctx;
	uintptr_t address = _Unwind_GetIP(context);

	if (address && stack->count < DEPTH_MAX)
		stack->frames[stack->count++] = (void *)address;
	return _URC_NO_REASON;
}

/* Both stacks are of this call; what comes before it differs in the last return address only. */
__attribute__((noinline, noclone)) static void take_stack(void)
{
	struct stack *stack = &shared->stacks[atomic_fetch_add(&shared->count, 1)];

	_Unwind_Backtrace(note_frame, stack);
	stack->tid = gettid();
	probed();
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static int compare(const void *left, const void *right)
{
	static atomic_int calls;

	if (atomic_fetch_add(&calls, 1) % 8 == 0)
		take_stack();
	return *(const int *)left - *(const int *)right;
}

static void visit(const void *node, VISIT which, int depth)
{
	(void)node;
	(void)depth;
	if (which == leaf)
		take_stack();
}

__attribute__((noinline, noclone)) static void variable(size_t size)
{
	/* The point is a frame whose size is not known beforehand. */
	volatile char *room = __builtin_alloca(size); /* cppcheck-suppress allocaCalled */

	room[0] = room[size - 1] = 1;
	take_stack();
	room[1] = 2;
}

__attribute__((noinline, noclone)) static void realigned(int n)
{
	volatile char room[256] __attribute__((aligned(128))) = { 0 };

	take_stack();
	assert_int_equal(room[n], 0);
}

__attribute__((noinline, noclone)) static void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		take_stack();
	__asm__ volatile("" ::: "memory");
}

static void on_signal(int number)
{
	(void)number;
	take_stack();
}

static void scenario(int round)
{
	int numbers[16];
	void *root = NULL;

	for (int i = 0; i < 16; i++)
		numbers[i] = (i * 7 + round) % 16;
	qsort(numbers, 16, sizeof(*numbers), compare);
	for (int i = 0; i < 4; i++)
		tsearch(&numbers[i], &root, compare);
	twalk(root, visit);
	variable(100 + (size_t)round * 1000);
	realigned(round);
	recurse(round);
	recurse(60);
	raise(SIGUSR1);
}

static void *thread(void *unused)
{
	for (int round = 0; round < ROUNDS; round++)
		scenario(round);
	return unused;
}

static void target(int go)
{
	pthread_t threads[THREADS];
	struct sigaction action = { .sa_handler = on_signal };
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &action, NULL);
	if (read(go, &byte, 1) != 1)
		_exit(1);
	thread(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* The test -------------------------------------------------------------------------------- */

struct bench {
	struct options options;
	struct process process;
	struct maps maps;
	struct target_files files;
	struct memory *memory;
	struct unwind_tables *tables;
	struct site site;
	struct plan plan;
	struct capture *capture;
	struct hit_event *hits;
	size_t hit_count;
};

static void on_hit(const struct hit_event *event, void *ctx)
{
	struct bench *bench = ctx;

	assert_true(bench->hit_count < STACKS_MAX);
	memcpy(&bench->hits[bench->hit_count++], event,
	       HIT_EVENT_HEADER_BYTES + event->frame_count * sizeof(event->frames[0]));
}

static int on_tick(bool interval_over, void *ctx)
{
	(void)interval_over;
	(void)ctx;
	return 0;
}

static void attach(struct bench *bench, pid_t pid)
{
	struct address address = { (uint64_t)(uintptr_t)probed };
	struct error err = { .text = "" };
	struct unwind_sources sources;
	const struct mapping *row;
	int fd;

	if (process_init(&bench->process, pid, &err) ||
	    maps_read(&bench->maps, &bench->process, &err) ||
	    target_files_open(&bench->files, &bench->process, &bench->maps, mapping_is_file_code,
			      &err) ||
	    memory_open(&bench->memory, &bench->process, &err) ||
	    unwind_tables_create(&bench->tables, &err))
		fail_msg("%s", err.text);
	sources = (struct unwind_sources){
		.maps = &bench->maps,
		.files = &bench->files,
		.memory = bench->memory,
	};
	if (unwind_tables_read(bench->tables, &sources, &err))
		fail_msg("%s", err.text);
	row = maps_find(&bench->maps, address);
	assert_non_null(row);
	fd = target_files_find(&bench->files, row)->fd;
	bench->site = (struct site){
		.mechanism = MECHANISM_UPROBE,
		.address = address,
		.offset = mapping_offset(row, address),
	};
	bench->plan = (struct plan){ .sites = &bench->site, .count = 1 };
	bench->options = (struct options){
		.mode = MODE_HITS,
		.stack = STACK_MODE_FULL,
		.max_frames = EVENT_MAX_FRAMES,
		.buffer_bytes = 8 << 20,
	};
	if (capture_create(&bench->capture, &bench->options, &bench->process, &bench->plan, &fd,
			   bench->tables, &err))
		fail_msg("%s", err.text);
}

static void print_difference(const struct hit_event *ours, const struct stack *theirs)
{
	for (int i = 0; i < ours->frame_count || i < theirs->count + 1; i++)
		printf("  %3d %16llx %16lx\n", i, i < ours->frame_count ? ours->frames[i].pc : 0,
		       i && i <= theirs->count ? (unsigned long)theirs->frames[i - 1] : 0);
	printf("  end %u\n", ours->stack_end);
}

/* Ours begins with the probed function, and then in take_stack(), a call further on than theirs. */
static bool is_same(const struct hit_event *ours, const struct stack *theirs)
{
	if (ours->stack_end != STACK_WHOLE || ours->frame_count != theirs->count + 1)
		return false;
	for (int i = 2; i < ours->frame_count; i++) {
		if (ours->frames[i].pc != (uint64_t)(uintptr_t)theirs->frames[i - 1])
			return false;
	}
	return true;
}

/* Hits of one thread come in the order of its calls. */
static size_t compare_stacks(const struct bench *bench)
{
	static bool taken[STACKS_MAX];
	size_t same = 0, shown = 0;

	for (size_t i = 0; i < bench->hit_count; i++) {
		const struct hit_event *ours = &bench->hits[i];
		int found = 0;

		while (found < shared->count &&
		       (taken[found] || shared->stacks[found].tid != (int)ours->tid))
			found++;
		assert_true(found < shared->count);
		taken[found] = true;
		if (is_same(ours, &shared->stacks[found]))
			same++;
		else if (shown++ < 3)
			print_difference(ours, &shared->stacks[found]);
	}
	return same;
}

static void equal_to_libgcc(void **state)
{
	struct bench bench = { 0 };
	const struct capture_handlers handlers = { .hit = on_hit, .tick = on_tick, .ctx = &bench };
	struct error err = { .text = "" };
	struct unwind_tables_counts counts;
	enum capture_end end;
	uint64_t deepest = 0;
	int go[2];
	size_t same;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	bench.hits = calloc(STACKS_MAX, sizeof(*bench.hits));
	assert_non_null(bench.hits);
	pid = fork();
	if (pid == 0)
		target(go[0]);
	/* It is there once it waits. */
	usleep(100000);
	attach(&bench, pid);
	counts = unwind_tables_counts(bench.tables);
	capture_start(bench.capture);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(capture_run(bench.capture, &handlers, &end, &err), 0);
	assert_int_equal(end, CAPTURE_TARGET_EXITED);
	capture_detach(bench.capture, &handlers);
	same = compare_stacks(&bench);
	for (size_t i = 0; i < bench.hit_count; i++)
		deepest = bench.hits[i].frame_count > deepest ? bench.hits[i].frame_count : deepest;
	printf("%zu of %zu stacks equal, the deepest of %lu frames; %zu rows of %zu images, %zu without\n",
	       same, bench.hit_count, (unsigned long)deepest, counts.rows, counts.images,
	       counts.without);
	assert_true(bench.hit_count > 500);
	assert_int_equal(bench.hit_count, shared->count);
	assert_int_equal(same, bench.hit_count);
	assert_true(deepest > 60);
	capture_destroy(bench.capture);
	unwind_tables_destroy(bench.tables);
	memory_destroy(bench.memory);
	target_files_close(&bench.files);
	maps_deinit(&bench.maps);
	process_deinit(&bench.process);
	free(bench.hits);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_to_libgcc),
	};

	if (geteuid() != 0) {
		print_message("only root can put probes on a process: skipped\n");
		return 0;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
