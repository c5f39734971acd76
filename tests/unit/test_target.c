// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a process maps and unmaps while it is looked at: files are opened when they come, once, and
 * stay; nothing that was given out moves; code that has gone is still found.
 */
#include "unit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "target/memory.h"
#include "target/numbers.h"
#include "target/target.h"

enum {
	FILES = 40,
	PAGE = 4096,
	PATH_BYTES = 64,
};

struct world {
	struct target target;
	pid_t pid;
	int orders, answers;
	char directory[PATH_BYTES];
};

/* The target ------------------------------------------------------------------------------ */

enum order { MAP = 'm', MAP_AGAIN = 'a', UNMAP = 'u', MAP_NOTHING = 'n', EXEC = 'x' };

static int make_file(const char *directory, int number)
{
	char path[2 * PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", directory, number);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, PAGE))
		_exit(1);
	unlink(path);
	return fd;
}

static void target(const char *directory, int orders, int answers)
{
	int number = 0, fd = -1;
	void *last = NULL;
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders, &order, 1) == 1) {
		if (order == MAP)
			fd = make_file(directory, number++);
		if (order == MAP || order == MAP_AGAIN)
			last = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (order == UNMAP)
			munmap(last, PAGE);
		if (order == EXEC)
			execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		if (write(answers, &last, sizeof(last)) != sizeof(last))
			break;
	}
	_exit(0);
}

static struct address tell(const struct world *world, enum order order)
{
	char letter = (char)order;
	void *answer;

	assert_int_equal(write(world->orders, &letter, 1), 1);
	assert_int_equal(read(world->answers, &answer, sizeof(answer)), sizeof(answer));
	assert_ptr_not_equal(answer, MAP_FAILED);
	return (struct address){ (uint64_t)(uintptr_t)answer };
}

/* The tests ------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct error err = { .text = "" };
	int orders[2], answers[2];

	assert_non_null(world);
	strcpy(world->directory, "/tmp/place-probe-later-XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	world->pid = fork();
	if (world->pid == 0) {
		close(orders[1]);
		close(answers[0]);
		target(world->directory, orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	world->orders = orders[1];
	world->answers = answers[0];
	tell(world, MAP_NOTHING);
	if (target_init(&world->target, world->pid, &err) || target_look(&world->target, &err) != 1)
		fail_msg("%s", err.text);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	kill(world->pid, SIGKILL);
	waitpid(world->pid, NULL, 0);
	close(world->orders);
	close(world->answers);
	target_deinit(&world->target);
	rmdir(world->directory);
	free(world);
	return 0;
}

static size_t count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static const struct target_file *file_at(const struct world *world, struct address address)
{
	const struct mapping *row = target_find_mapping(&world->target, address);

	return row ? target_find_file(&world->target, row) : NULL;
}

UNIT_TEST_WITHIN(nothing_new, set_up, tear_down)
{
	struct world *world = *state;
	struct target *target = &world->target;
	size_t before = count_descriptors(), files = target->files.count;

	assert_int_equal(target_look(target, NULL), 0);
	assert_int_equal(target_look(target, NULL), 0);
	assert_int_equal(target->files.count, files);
	assert_int_equal(count_descriptors(), before);
}

UNIT_TEST_WITHIN(new_files_are_opened_once, set_up, tear_down)
{
	struct world *world = *state;
	struct target *target = &world->target;
	const struct target_file *files[FILES];
	struct address at[FILES], again;
	size_t first = target->files.count, before;

	for (size_t i = 0; i < FILES; i++) {
		at[i] = tell(world, MAP);
		assert_null(file_at(world, at[i]));
		assert_int_equal(target_look(target, NULL), 1);
		files[i] = file_at(world, at[i]);
		assert_non_null(files[i]);
		assert_int_equal(files[i]->number, first + i);
		assert_int_equal(files[i]->bytes.size, PAGE);
	}
	before = count_descriptors();
	/* Another mapping of the same file is new code, but no new file. */
	again = tell(world, MAP_AGAIN);
	assert_int_equal(target_look(target, NULL), 1);
	assert_ptr_equal(file_at(world, again), files[FILES - 1]);
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(target->files.count, first + FILES);
	for (size_t i = 0; i < FILES; i++) {
		assert_ptr_equal(file_at(world, at[i]), files[i]);
		assert_ptr_equal(target_file(target, first + i), files[i]);
	}
}

/* A file that somebody else has seen first, and others came after. */
UNIT_TEST_WITHIN(one_number_for_ever, set_up, tear_down)
{
	struct world *world = *state;
	struct target *target = &world->target;
	struct address early = tell(world, MAP), late;
	const struct target_file *file;
	struct stat status;
	long number;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", world->pid,
		 (unsigned long)early.value, (unsigned long)early.value + PAGE);
	assert_int_equal(stat(path, &status), 0);
	number = file_numbers_take(target->files.numbers, status.st_dev, status.st_ino);
	assert_int_equal(number, target->files.count);
	assert_null(target_file(target, (size_t)number));
	assert_int_equal(file_numbers_take(target->files.numbers, 0, 1), number + 1);
	late = tell(world, MAP);
	assert_int_equal(target_look(target, NULL), 1);
	file = file_at(world, early);
	assert_int_equal(file->number, number);
	assert_ptr_equal(target_file(target, file->number), file);
	assert_null(target_file(target, file->number + 1));
	file = file_at(world, late);
	assert_int_equal(file->number, number + 2);
	assert_ptr_equal(target_file(target, file->number), file);
	assert_null(target_file(target, file->number + 1));
	assert_null(target_file(target, SIZE_MAX));
}

UNIT_TEST_WITHIN(gone_and_still_known, set_up, tear_down)
{
	struct world *world = *state;
	struct target *target = &world->target;
	struct address at = tell(world, MAP), other = { (uint64_t)(uintptr_t)tear_down };
	const struct target_file *file;

	assert_int_equal(target_look(target, NULL), 1);
	file = file_at(world, at);
	assert_non_null(file);
	tell(world, UNMAP);
	assert_int_equal(target_look(target, NULL), 1);
	assert_null(maps_find(target_maps(target), at));
	assert_ptr_equal(file_at(world, at), file);
	assert_int_equal(target_look(target, NULL), 0);
	/* Also when all of it has. */
	kill(world->pid, SIGKILL);
	waitpid(world->pid, NULL, 0);
	assert_true(target_look(target, NULL) < 0);
	assert_ptr_equal(file_at(world, at), file);
	assert_int_equal(file->bytes.start[PAGE - 1], 0);
	assert_non_null(file_at(world, other));
	assert_ptr_equal(target_find_file(target, maps_find(&target->first, other)),
			 file_at(world, other));
}

/* Another thread's hold of the process outlives the first, and ends with the process. */
UNIT_TEST_WITHIN(held_once_more, set_up, tear_down)
{
	struct world *world = *state;
	struct process copy;
	size_t before = count_descriptors();
	struct maps maps;

	assert_int_equal(process_copy(&copy, &world->target.process, NULL), 0);
	assert_int_equal(count_descriptors(), before + 3);
	process_deinit(&world->target.process);
	assert_true(process_is_alive(&copy));
	assert_int_equal(maps_read(&maps, &copy, NULL), 0);
	assert_int_equal(maps.count, target_maps(&world->target)->count);
	maps_deinit(&maps);
	kill(world->pid, SIGKILL);
	waitpid(world->pid, NULL, 0);
	assert_false(process_is_alive(&copy));
	assert_true(maps_read(&maps, &copy, NULL) < 0 || maps.count == 0);
	process_deinit(&copy);
	assert_int_equal(count_descriptors(), before - 3);
}

/* Can what it has mapped be read? */
static bool is_readable(struct target *target)
{
	struct look look = look_into(target->memory);

	assert_true(target_look(target, NULL) >= 0);
	(void)look_u64(&look, target_maps(target)->rows[0].start.value);
	return !look.bad;
}

UNIT_TEST_WITHIN(memory_after_exec, set_up, tear_down)
{
	struct world *world = *state;
	struct target *target = &world->target;
	char order = EXEC, answer;

	assert_int_equal(target_open_memory(target, NULL), 0);
	assert_true(is_readable(target));
	assert_int_equal(write(world->orders, &order, 1), 1);
	assert_int_equal(read(world->answers, &answer, 1), 0);
	assert_int_equal(target_open_memory(target, NULL), 0);
	assert_false(is_readable(target));
	target_close_memory(target);
	assert_int_equal(target_open_memory(target, NULL), 0);
	assert_true(is_readable(target));
}

UNIT_MAIN(NULL, NULL)
