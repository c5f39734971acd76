// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the verifier says of the BPF programs. From Linux 6.13 on a frame of 64 bytes and more of a
 * uprobe's program lies in memory of the CPU, which runs that yield or are preempted share (seen on
 * 6.18: a hold that began at 0). So every frame must be smaller, with whatever the programs are set
 * to. Needs root; without it everything is skipped.
 */
#include "tests/unit/unit.h"

#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "bpf/by.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"

/* What calls are followed for. */
enum what { PLAIN, WATCH, TRACE };

enum {
	SHARED_FRAME_BYTES = 64, /* BPF_PRIV_STACK_MIN_SIZE, kernel/bpf/verifier.c */
	LOG_STATS = 4,		 /* BPF_LOG_STATS */
	LOG_BYTES = 1 << 18,	 /* meanwhile it has a line for each call */
	PROGRAMS_MAX = 16,
	RING_BYTES = 4096,
	/* Of a million that the kernel goes through at most. */
	VERIFIED_MAX = 250000,
};

static const char *const expected[] = {
	"time_hit",    "count_hit",	   "report_hit",  "compile_begin",
	"compile_end", "compile_end_held", "map_begin",	  "map_begin_held",
	"loader_held", "note_moves",	   "note_thrown", "note_collected",
};

struct loaded {
	struct place_probe_bpf *bpf;
	char logs[PROGRAMS_MAX][LOG_BYTES];
	const char *names[PROGRAMS_MAX];
	size_t count;
};

/* What has the verifier look at the least, and at everything. */
static void set_constants(struct place_probe_bpf *bpf, bool everything, enum what what)
{
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf->rodata->watch_values = what == WATCH;
	bpf->rodata->watch_filters = what == WATCH;
	bpf->rodata->filters_at_end = what == WATCH;
	bpf->rodata->filter_types = what == WATCH ? FILTER_TYPES : 0;
	bpf->rodata->by_when = what == WATCH ? BY_END : BY_NOTHING;
	bpf->rodata->by_words = BY_VALUE_BYTES / 8;
	bpf->rodata->trace_calls = what == TRACE;
	if (!everything)
		return;
	bpf->rodata->target_tid = 1;
	bpf->rodata->target_pid_ns_dev = 1;
	bpf->rodata->target_pid_ns_inode = 1;
	bpf->rodata->max_frames = EVENT_MAX_FRAMES;
	bpf->rodata->max_hits = 1;
	bpf->rodata->slow_ns = 1;
	bpf->rodata->linear_step_ns = 1;
	bpf->rodata->latency_by = LATENCY_BY_CALLER;
	bpf->rodata->wakeup_bytes = 1;
	bpf->rodata->thread_pointer_at = 8;
	bpf->rodata->merge_stacks = true;
	bpf->rodata->sample_hits = 2;
	bpf->rodata->max_rate = 1;
	bpf->rodata->merge_by_tid = true;
	bpf->rodata->merge_frame_pointers = true;
	bpf->rodata->note_codes = true;
}

static void load(struct loaded *loaded, bool everything, enum what what)
{
	struct bpf_program *program;

	memset(loaded, 0, sizeof(*loaded));
	loaded->bpf = place_probe_bpf__open();
	assert_non_null(loaded->bpf);
	set_constants(loaded->bpf, everything, what);
	assert_return_code(bpf_map__set_max_entries(loaded->bpf->maps.events, RING_BYTES), 0);
	assert_return_code(bpf_map__set_max_entries(loaded->bpf->maps.follow_events, RING_BYTES),
			   0);
	bpf_object__for_each_program(program, loaded->bpf->obj)
	{
		bool ours = bpf_program__type(program) == BPF_PROG_TYPE_KPROBE;

		bpf_program__set_autoload(program, ours);
		if (!ours)
			continue;
		assert_true(loaded->count < PROGRAMS_MAX);
		loaded->names[loaded->count] = bpf_program__name(program);
		assert_return_code(bpf_program__set_log_level(program, LOG_STATS), 0);
		assert_return_code(
			bpf_program__set_log_buf(program, loaded->logs[loaded->count++], LOG_BYTES),
			0);
	}
	assert_return_code(place_probe_bpf__load(loaded->bpf), 0);
}

/* "stack depth 56+0+16": of the program and of each function that it has. Returns how many. */
static size_t check_frames(const char *name, const char *log)
{
	const char *text = strstr(log, "stack depth ");
	size_t frames = 0;
	char *end;

	if (!text)
		fail_msg("the verifier says nothing of %s: %s", name, log);
	for (text = text ? text + strlen("stack depth ") : ""; *text; text = end + 1) {
		unsigned long bytes = strtoul(text, &end, 10);

		assert_ptr_not_equal(end, text);
		frames++;
		if (bytes >= SHARED_FRAME_BYTES)
			fail_msg("%s: frame %zu takes %lu bytes: %s", name, frames, bytes, log);
		if (*end != '+')
			break;
	}
	return frames;
}

/* What a program costs the verifier is what attaching takes, most of all. */
static void check_verified(const char *name, const char *log)
{
	const char *depth = strstr(log, "stack depth "), *insns = strstr(log, "processed ");

	assert_non_null(depth);
	assert_non_null(insns);
	if (!depth || !insns)
		return;
	print_message("%-17s %.*s; %.*s\n", name, (int)strcspn(depth, "\n"), depth,
		      (int)strcspn(insns, "("), insns);
	assert_in_range(strtoul(insns + strlen("processed "), NULL, 10), 1, VERIFIED_MAX);
}

static void check_programs(bool everything, enum what what)
{
	static struct loaded loaded;
	size_t frames = 0;

	load(&loaded, everything, what);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		bool found = false;

		for (size_t j = 0; j < loaded.count; j++)
			found |= strcmp(loaded.names[j], expected[i]) == 0;
		if (!found)
			fail_msg("%s is not loaded", expected[i]);
	}
	assert_int_equal(loaded.count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < loaded.count; i++)
		check_verified(loaded.names[i], loaded.logs[i]);
	for (size_t i = 0; i < loaded.count; i++)
		frames += check_frames(loaded.names[i], loaded.logs[i]);
	/* Some have functions of their own. */
	assert_true(frames > loaded.count);
	place_probe_bpf__destroy(loaded.bpf);
}

UNIT_TEST(frames_of_plain_programs)
{
	check_programs(false, PLAIN);
}

UNIT_TEST(frames_with_all_that_can_be_asked_for)
{
	check_programs(true, PLAIN);
}

UNIT_TEST(frames_of_what_captures_values)
{
	check_programs(false, WATCH);
	check_programs(true, WATCH);
}

UNIT_TEST(frames_of_what_traces_calls)
{
	check_programs(false, TRACE);
	check_programs(true, TRACE);
}

int main(void)
{
	unit_needs_root("load BPF programs");
	libbpf_set_print(NULL);
	return unit_run(NULL, NULL);
}
