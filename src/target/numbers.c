// SPDX-License-Identifier: GPL-2.0-or-later
/* The number of a file, for files.c and for the follower, whichever comes by it first. */
#include "target/numbers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/error.h"
#include "target/files.h"

enum { SLOTS = 2 * FILE_NUMBERS_MAX /* so there is always a free one */ };

struct file_numbers {
	/* How many were drawn. Who loses a race has drawn one for nothing. */
	_Atomic uint64_t drawn;
	/* Number + 1 of a file, from the slot on that its place hashes to; 0: free. */
	_Atomic uint32_t slots[SLOTS];
	/* By number: written by who has drawn it, before it is in a slot. */
	struct {
		dev_t device;
		ino_t inode;
	} files[FILE_NUMBERS_MAX];
};

int file_numbers_create(struct file_numbers **numbers, struct error *err)
{
	/* All of its pages are there from the beginning: threads may be held while it is asked. */
	void *room = mmap(NULL, sizeof(**numbers), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (room == MAP_FAILED)
		return error_set(err, -errno, "no memory for the target's files");
	*numbers = room;
	return 0;
}

void file_numbers_destroy(struct file_numbers *numbers)
{
	if (numbers)
		munmap(numbers, sizeof(*numbers));
}

static long draw(struct file_numbers *numbers, dev_t device, ino_t inode)
{
	uint64_t number = atomic_fetch_add(&numbers->drawn, 1);

	if (number >= FILE_NUMBERS_MAX)
		return -EMFILE;
	numbers->files[number].device = device;
	numbers->files[number].inode = inode;
	return (long)number;
}

long file_numbers_take_alone(struct file_numbers *numbers)
{
	return draw(numbers, 0, 0);
}

long file_numbers_take(struct file_numbers *numbers, dev_t device, ino_t inode)
{
	uint64_t place = target_file_place(device, inode);
	long ours = -1;

	for (uint64_t i = 0;; i++) {
		_Atomic uint32_t *slot = &numbers->slots[(place + i) % SLOTS];
		uint32_t there = atomic_load(slot);

		if (!there && ours < 0)
			ours = draw(numbers, device, inode);
		if (!there && ours < 0)
			return ours;
		if (!there && atomic_compare_exchange_strong(slot, &there, (uint32_t)ours + 1))
			return ours;
		/* It may be that of another thread, which was faster by a moment. */
		if (numbers->files[there - 1].device == device &&
		    numbers->files[there - 1].inode == inode)
			return there - 1;
	}
}
