// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names and places of native frames of a process, held against what the loader says of the same
 * addresses: this test's own, since a child of it has everything where it has it.
 */
#include "unit.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/event.h"
#include "base/error.h"
#include "stack/symbols.h"
#include "session/resolve.h"
#include "target/memory.h"

enum { COMPARED_BYTES = 32 };

struct world {
	struct target target;
	struct resolution resolution;
	struct symbols *symbols;
	pid_t pid;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct resolution *resolution;
	struct error err = { .text = "" };

	assert_non_null(world);
	resolution = &world->resolution;
	world->pid = fork();
	if (world->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	if (target_init(&world->target, world->pid, &err) ||
	    resolution_init(resolution, &world->target, &err) ||
	    frame_names_create(&world->symbols, resolution, LINES_AS_COMPILED, NULL, &err))
		fail_msg("%s", err.text);
	*state = world;
	return 0;
}

static void end_target(struct world *world)
{
	if (world->pid) {
		kill(world->pid, SIGKILL);
		waitpid(world->pid, NULL, 0);
	}
	world->pid = 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	end_target(world);
	symbols_destroy(world->symbols);
	resolution_deinit(&world->resolution);
	target_deinit(&world->target);
	free(world);
	return 0;
}

static struct frame name(struct world *world, uint64_t address, bool return_address)
{
	const struct event_frame at = { .pc = address };
	struct symbols_answer *answer = symbols_name(world->symbols, &at, NULL, return_address);
	struct frame frame;

	assert_non_null(answer);
	assert_int_equal(answer->count, 1);
	frame = answer->frames[0];
	symbols_release(answer);
	return frame;
}

/* The bytes that the file has there are those that are in memory there. */
static void check_file_offset(struct world *world, const struct frame *frame)
{
	const struct target *target = &world->target;
	const struct target_file *file =
		target_find_file(target, target_find_mapping(target, frame->address));

	assert_non_null(file);
	assert_true(frame->in_file);
	assert_true(frame->file_offset + COMPARED_BYTES < file->bytes.size);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): code of our own */
	assert_memory_equal(file->bytes.start + frame->file_offset,
			    (const void *)(uintptr_t)frame->address.value, COMPARED_BYTES);
}

static void check_function(struct world *world, void *library, const char *function)
{
	uint64_t at = (uint64_t)(uintptr_t)dlsym(library, function);
	struct frame frame;

	assert_true(at != 0);
	frame = name(world, at, false);
	assert_int_equal(frame.kind, FRAME_NATIVE);
	assert_string_equal(frame.name, function);
	assert_string_equal(frame.module, "libc.so.6");
	assert_int_equal(frame.offset, 0);
	check_file_offset(world, &frame);
	frame = name(world, at + 5, true);
	assert_string_equal(frame.name, function);
	assert_int_equal(frame.offset, 5);
	check_file_offset(world, &frame);
}

UNIT_TEST_WITHIN(functions_of_a_file, set_up, tear_down)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	assert_non_null(libc);
	check_function(*state, libc, "qsort_r");
	check_function(*state, libc, "getopt_long");
	/* Also those that nobody has asked for while it lived. */
	end_target(*state);
	check_function(*state, libc, "hcreate_r");
	dlclose(libc);
}

UNIT_TEST_WITHIN(functions_of_the_vdso, set_up, tear_down)
{
	static const char *const functions[] = { "__vdso_clock_gettime", "__vdso_getcpu" };
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct frame frame;

	assert_non_null(vdso);
	/* It is read beforehand. */
	end_target(*state);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		uint64_t at = (uint64_t)(uintptr_t)dlsym(vdso, functions[i]);

		assert_true(at > start);
		frame = name(*state, at + 4, true);
		assert_int_equal(frame.kind, FRAME_NATIVE);
		assert_string_equal(frame.module, "[vdso]");
		assert_string_equal(frame.name, functions[i]);
		assert_int_equal(frame.offset, 4);
		assert_true(frame.in_file);
		assert_int_equal(frame.file_offset, at + 4 - start);
	}
	/* Its header is no function. */
	frame = name(*state, start, false);
	assert_string_equal(frame.module, "[vdso]");
	assert_null(frame.name);
	assert_int_equal(frame.offset, 0);
	dlclose(vdso);
}

UNIT_TEST_WITHIN(no_code, set_up, tear_down)
{
	int on_the_stack = 0;
	struct frame frame = name(*state, (uint64_t)(uintptr_t)&on_the_stack, false);

	assert_int_equal(frame.kind, FRAME_UNKNOWN);
	assert_null(frame.name);
	assert_false(frame.in_file);
	frame = name(*state, 8, true);
	assert_int_equal(frame.kind, FRAME_UNKNOWN);
	assert_false(frame.in_file);
}

UNIT_MAIN(NULL, NULL)
