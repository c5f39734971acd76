// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug files as gcc and objcopy make them: found in each place where they may lie beneath a
 * process's root, taken only if they belong to the file, and their names are those that were
 * stripped. Needs root, for a root directory of its own.
 */
#include "unit.h"

#include <elf.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "image/elf.h"
#include "runtime/native/debug_file.h"
#include "runtime/native/symbols.h"
#include "target/files.h"
#include "target/process.h"
#include "tests/unit/golden.h"
#include "tests/unit/scratch.h"

enum { COMMAND_BYTES = 4096 };

#define PATH "/lib/thing.so" /* as the target sees it */

struct world {
	pid_t pid;
	struct process process;
	struct span stripped, debug;
	char build_id[2 * BUILD_ID_MAX_BYTES + 1];
};

__attribute__((format(printf, 1, 2))) static void run(const char *fmt, ...)
{
	char command[COMMAND_BYTES], line[2 * COMMAND_BYTES];
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(command, sizeof(command), fmt, arguments);
	va_end(arguments);
	snprintf(line, sizeof(line), "cd %s && ( %s ) >/dev/null", scratch_dir, command);
	if (system(line) != 0)
		fail_msg("%s", line);
}

static struct span map(const char *name)
{
	int fd = open(scratch_path(name), O_RDONLY | O_CLOEXEC);
	struct span bytes;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(target_bytes_map(fd, (size_t)st.st_size, &bytes), 0);
	close(fd);
	return bytes;
}

static void make_files(void)
{
	scratch_script("thing.c", 0600,
		       "__attribute__((noinline)) static int hidden(int x) { return x * 3 + 1; }\n"
		       "int shown(int x) { return hidden(x) * 2; }\n");
	run("gcc -O1 -g -shared -fPIC -Wl,--build-id=sha1 thing.c -o whole.so");
	run("objcopy --only-keep-debug whole.so thing.debug");
	run("mkdir lib && cp whole.so lib/thing.so && strip lib/thing.so");
	run("objcopy --add-gnu-debuglink=thing.debug lib/thing.so");
	/* Another build of it, and one without a build ID. */
	run("gcc -O2 -g -shared -fPIC -Wl,--build-id=sha1 thing.c -o other.so");
	run("objcopy --only-keep-debug other.so other.debug");
	run("gcc -O1 -g -shared -fPIC -Wl,--build-id=none thing.c -o nameless.so");
	run("objcopy --only-keep-debug nameless.so nameless.debug");
	run("cp nameless.so linked.so && strip linked.so && cp nameless.debug linked.debug");
	run("objcopy --add-gnu-debuglink=linked.debug linked.so");
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct error err = { .text = "" };
	struct debug_link link;
	int ready[2];
	char byte;

	assert_non_null(world);
	assert_int_equal(scratch_make(NULL), 0);
	make_files();
	assert_int_equal(pipe(ready), 0);
	world->pid = fork();
	if (world->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chroot(scratch_dir) || chdir("/") || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (process_init(&world->process, world->pid, &err))
		fail_msg("%s", err.text);
	world->stripped = map("lib/thing.so");
	world->debug = map("thing.debug");
	assert_true(debug_link_read(&link, world->stripped));
	for (size_t i = 0; i < link.build_id.size; i++)
		snprintf(world->build_id + 2 * i, 3, "%02x", link.build_id.start[i]);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	kill(world->pid, SIGKILL);
	waitpid(world->pid, NULL, 0);
	process_deinit(&world->process);
	target_bytes_unmap(world->stripped);
	target_bytes_unmap(world->debug);
	free(world);
	return scratch_remove(NULL);
}

UNIT_TEST(what_the_file_says)
{
	struct world *world = *state;
	struct debug_link link;

	assert_true(debug_link_read(&link, world->stripped));
	assert_string_equal(link.name, "thing.debug");
	assert_int_equal(link.build_id.size, 20);
	/* A debug file has an ID, and leads nowhere. */
	assert_true(debug_link_read(&link, world->debug));
	assert_null(link.name);
	assert_int_equal(link.build_id.size, 20);
	assert_false(debug_link_read(&link, (struct span){ 0 }));
	assert_null(link.build_id.start);
}

UNIT_TEST(only_what_belongs_to_it)
{
	struct world *world = *state;
	struct span other = map("other.debug"), nameless = map("nameless.debug");
	struct span linked = map("linked.so");
	struct golden changed = golden_copy(world->debug.start, world->debug.size);
	struct debug_link link;

	assert_true(debug_link_read(&link, world->stripped));
	assert_true(debug_file_matches(&link, world->debug, DEBUG_MATCH_BUILD_ID));
	assert_true(debug_file_matches(&link, world->debug, DEBUG_MATCH_CRC));
	assert_false(debug_file_matches(&link, other, DEBUG_MATCH_BUILD_ID));
	assert_false(debug_file_matches(&link, other, DEBUG_MATCH_CRC));
	assert_false(debug_file_matches(&link, nameless, DEBUG_MATCH_BUILD_ID));
	assert_false(debug_file_matches(&link, (struct span){ 0 }, DEBUG_MATCH_CRC));
	changed.bytes[changed.size - 1] ^= 1;
	assert_false(debug_file_matches(&link, golden_span(&changed), DEBUG_MATCH_CRC));
	/* Where the checksum alone decides; no ID is not the same as no ID. */
	assert_true(debug_link_read(&link, linked));
	assert_null(link.build_id.start);
	assert_true(debug_file_matches(&link, nameless, DEBUG_MATCH_CRC));
	assert_false(debug_file_matches(&link, nameless, DEBUG_MATCH_BUILD_ID));
	assert_false(debug_file_matches(&link, world->debug, DEBUG_MATCH_CRC));
	/* The checksum is right, and the ID another's. */
	assert_true(debug_link_read(&link, world->stripped));
	link.build_id.size--;
	assert_false(debug_file_matches(&link, world->debug, DEBUG_MATCH_CRC));
	golden_free(&changed);
	target_bytes_unmap(other);
	target_bytes_unmap(nameless);
	target_bytes_unmap(linked);
}

static bool is_found(struct world *world)
{
	struct span found;

	if (!target_debug_file_open(&world->process, PATH, world->stripped, &found))
		return false;
	assert_int_equal(found.size, world->debug.size);
	assert_memory_equal(found.start, world->debug.start, found.size);
	target_bytes_unmap(found);
	return true;
}

/* In each place alone: as it is, and as a link that is absolute in the target's root. */
UNIT_TEST(found_in_each_place)
{
	struct world *world = *state;
	char by_id[COMMAND_BYTES];
	const char *const places[] = {
		"lib/thing.debug",
		"lib/.debug/thing.debug",
		"usr/lib/debug/lib/thing.debug",
		"usr/lib/debug/lib/thing.so.debug",
		by_id,
	};

	snprintf(by_id, sizeof(by_id), "usr/lib/debug/.build-id/%.2s/%s.debug", world->build_id,
		 world->build_id + 2);
	assert_false(is_found(world));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		run("mkdir -p $(dirname %s) && cp thing.debug %s", places[i], places[i]);
		assert_true(is_found(world));
		run("ln -sf /thing.debug %s", places[i]);
		assert_true(is_found(world));
		run("cp --remove-destination other.debug %s", places[i]);
		assert_false(is_found(world));
		run("rm %s && mkfifo %s", places[i], places[i]);
		assert_false(is_found(world));
		run("rm %s && mkdir %s", places[i], places[i]);
		assert_false(is_found(world));
		run("rmdir %s", places[i]);
		assert_false(is_found(world));
	}
}

/* What the target does not have may be in our own file system. */
UNIT_TEST(found_as_we_see_it)
{
	struct world *world = *state;
	struct span found;
	char path[COMMAND_BYTES];

	snprintf(path, sizeof(path), "%s" PATH, scratch_dir);
	assert_false(target_debug_file_open(&world->process, path, world->stripped, &found));
	run("mkdir -p lib/.debug && cp thing.debug lib/.debug");
	assert_true(target_debug_file_open(&world->process, path, world->stripped, &found));
	assert_int_equal(found.size, world->debug.size);
	target_bytes_unmap(found);
	/* And no name that is relative to something else. */
	assert_false(target_debug_file_open(&world->process, path + 1, world->stripped, &found));
	run("rm -r lib/.debug");
}

static uint64_t address_by_nm(const char *name)
{
	char command[COMMAND_BYTES];
	unsigned long address = 0;
	FILE *nm;

	snprintf(command, sizeof(command), "nm %s/whole.so | grep ' %s$'", scratch_dir, name);
	nm = popen(command, "re");
	assert_non_null(nm);
	assert_int_equal(fscanf(nm, "%lx", &address), 1);
	pclose(nm);
	return address;
}

UNIT_TEST(names_that_were_stripped)
{
	struct world *world = *state;
	uint64_t hidden = address_by_nm("hidden"), shown = address_by_nm("shown"), shift = 1;
	struct native_symbols *own, *debug;

	assert_int_equal(native_symbols_create(&own, world->stripped, 0, NULL), 0);
	assert_false(native_symbols_complete(own));
	assert_null(native_symbols_find(own, hidden));
	assert_string_equal(native_symbols_find(own, shown)->name, "shown");
	assert_true(debug_file_shift(world->stripped, world->debug, &shift));
	assert_int_equal(shift, 0);
	assert_int_equal(native_symbols_create(&debug, world->debug, shift, NULL), 0);
	assert_true(native_symbols_complete(debug));
	assert_string_equal(native_symbols_find(debug, hidden)->name, "hidden");
	assert_string_equal(native_symbols_find(debug, hidden + 1)->name, "hidden");
	assert_string_equal(native_symbols_find(debug, shown)->name, "shown");
	native_symbols_destroy(debug);
	native_symbols_destroy(own);
}

/* As prelink did: the file has been linked to another address since. */
UNIT_TEST(a_file_that_was_moved)
{
	static const uint64_t moved = 0x30000000;
	struct world *world = *state;
	struct golden copy = golden_copy(world->stripped.start, world->stripped.size);
	uint64_t hidden = address_by_nm("hidden"), shift = 0;
	struct native_symbols *symbols;
	Elf64_Phdr *headers = (void *)(copy.bytes + ((Elf64_Ehdr *)(void *)copy.bytes)->e_phoff);
	unsigned int count = ((Elf64_Ehdr *)(void *)copy.bytes)->e_phnum;

	for (unsigned int i = 0; i < count; i++)
		headers[i].p_vaddr += moved;
	assert_true(debug_file_shift(golden_span(&copy), world->debug, &shift));
	assert_int_equal(shift, moved);
	assert_int_equal(native_symbols_create(&symbols, world->debug, shift, NULL), 0);
	assert_string_equal(native_symbols_find(symbols, hidden + moved)->name, "hidden");
	assert_null(native_symbols_find(symbols, hidden));
	native_symbols_destroy(symbols);
	golden_free(&copy);
}

int main(void)
{
	unit_needs_root("give a process another root directory");
	return unit_run(set_up, tear_down);
}
