// SPDX-License-Identifier: GPL-2.0-or-later
/* The target's memory, for runtimes that read their own structures. The follower never does. */
#include "target/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shortage.h"
#include "base/vector.h"
#include "target/process.h"
#include "target/refusal.h"

enum {
	PAGE_BITS = MEMORY_PAGE_BITS,
	PAGE_BYTES = MEMORY_PAGE_BYTES,
	CHUNK_PAGES = 512,   /* 2 MiB, which the kernel may give in one piece */
	PAGES_MAX = 1 << 16, /* 256 MiB: then all are dropped */
	SLOTS_FIRST = 4096,
};

struct memory {
	struct memory_page recent[MEMORY_RECENT]; /* first: see look_small() */
	memory_source read;
	void *ctx;
	int fd; /* of memory_open(), else -1 */
	uint64_t source_reads;

	struct memory_page *slots; /* open addressing, at most half full */
	size_t slot_count;	   /* a power of two */
	size_t used;
	uint8_t **chunks;
	size_t chunk_count;
	size_t chunk_room;
	size_t chunks_used; /* the last of them in part */
	size_t pages_used;  /* of the last chunk in use */
};

static ssize_t read_fd(void *ctx, void *to, size_t size, uint64_t at)
{
	const struct memory *memory = ctx;
	ssize_t got;

	/* A file offset is signed; what is above it is the kernel's. */
	if (at > INT64_MAX)
		return 0;
	do {
		got = pread(memory->fd, to, size, (off_t)at);
	} while (got < 0 && errno == EINTR);
	return got;
}

int memory_create(struct memory **out, memory_source read, void *ctx, struct error *err)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (memory)
		memory->slots = calloc(SLOTS_FIRST, sizeof(*memory->slots));
	if (!memory || !memory->slots) {
		free(memory);
		return error_set(err, -ENOMEM, "no memory to read the target's");
	}
	memory->slot_count = SLOTS_FIRST;
	memory->read = read;
	memory->ctx = ctx;
	memory->fd = -1;
	*out = memory;
	return 0;
}

bool memory_is_gone(const struct memory *memory)
{
	uint8_t byte;

	/* What is not mapped in memory that is there cannot be read, and is no end. */
	return pread(memory->fd, &byte, 1, 0) == 0;
}

int memory_open(struct memory **out, struct process *process, struct error *err)
{
	struct memory *memory;
	int fd = process_open(process, "mem", O_RDONLY);
	int result;

	if (refusal_is(fd))
		return refusal_of_process(err, process->pid, process->comm, "mem", fd);
	if (fd < 0)
		return error_set(
			err, fd,
			"cannot open the memory of process %d (%s): %s (run as root, outside of any sandbox)",
			process->pid, process->comm, strerror(-fd));
	result = memory_create(&memory, read_fd, NULL, err);
	if (result) {
		close(fd);
		return result;
	}
	memory->ctx = memory;
	memory->fd = fd;
	*out = memory;
	return 0;
}

void memory_forget(struct memory *memory)
{
	memset(memory->slots, 0, memory->slot_count * sizeof(*memory->slots));
	/* A check of each body does this, so only what is in use is cleared. */
	memory->slot_count = SLOTS_FIRST;
	memset(memory->recent, 0, sizeof(memory->recent));
	memory->chunks_used = 0;
	memory->pages_used = 0;
	memory->used = 0;
}

void memory_destroy(struct memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->chunk_count; i++)
		free(memory->chunks[i]);
	if (memory->fd >= 0)
		close(memory->fd);
	free(memory->chunks);
	free(memory->slots);
	free(memory);
}

uint64_t memory_source_reads(const struct memory *memory)
{
	return memory->source_reads;
}

/* The slot that page @number has, or may have. */
static struct memory_page *slot_of(const struct memory *memory, uint64_t number)
{
	uint64_t hash = number * 0x9e3779b97f4a7c15;
	size_t mask = memory->slot_count - 1;
	size_t i = (size_t)(hash >> 40) & mask;

	while (memory->slots[i].number && memory->slots[i].number != number + 1)
		i = (i + 1) & mask;
	return &memory->slots[i];
}

static bool grow_slots(struct memory *memory)
{
	struct memory_page *old = memory->slots;
	size_t old_count = memory->slot_count;

	if (2 * memory->used < memory->slot_count)
		return true;
	memory->slots = calloc(2 * old_count, sizeof(*memory->slots));
	if (!memory->slots) {
		memory->slots = old;
		return false;
	}
	memory->slot_count = 2 * old_count;
	for (size_t i = 0; i < old_count; i++) {
		if (old[i].number)
			*slot_of(memory, old[i].number - 1) = old[i];
	}
	free(old);
	return true;
}

static bool add_chunk(struct memory *memory)
{
	const size_t bytes = (size_t)CHUNK_PAGES * PAGE_BYTES;
	uint8_t *chunk;

	if (!vector_reserve(&memory->chunks, &memory->chunk_room, memory->chunk_count + 1))
		return false;
	chunk = aligned_alloc(bytes, bytes);
	if (!chunk)
		return false;
	/* Else half of the time goes into having pages given one by one. */
	(void)madvise(chunk, bytes, MADV_HUGEPAGE);
	memory->chunks[memory->chunk_count++] = chunk;
	return true;
}

/* Room for a page; NULL without memory. */
static uint8_t *page_room(struct memory *memory)
{
	if (memory->chunks_used == 0 || memory->pages_used == CHUNK_PAGES) {
		if (memory->chunks_used == memory->chunk_count && !add_chunk(memory))
			return NULL;
		memory->chunks_used++;
		memory->pages_used = 0;
	}
	return memory->chunks[memory->chunks_used - 1] + memory->pages_used * PAGE_BYTES;
}

static bool read_page(struct memory *memory, uint64_t number, struct memory_page *page)
{
	uint8_t *room;
	ssize_t got;

	if (memory->used >= PAGES_MAX)
		memory_forget(memory);
	room = page_room(memory);
	if (!room || !grow_slots(memory)) {
		shortage_note();
		return false;
	}
	got = memory->read(memory->ctx, room, PAGE_BYTES, number << PAGE_BITS);
	memory->source_reads++;
	*page = (struct memory_page){ .number = number + 1 };
	if (got == PAGE_BYTES) {
		page->bytes = room;
		memory->pages_used++;
	}
	*slot_of(memory, number) = *page;
	memory->used++;
	return true;
}

static const uint8_t *page_bytes(struct memory *memory, uint64_t number)
{
	struct memory_page *recent = &memory->recent[number % MEMORY_RECENT];
	const struct memory_page *slot;

	if (recent->number == number + 1)
		return recent->bytes;
	slot = slot_of(memory, number);
	if (slot->number)
		*recent = *slot;
	else if (!read_page(memory, number, recent))
		return NULL;
	return recent->bytes;
}

void look_copy(struct look *look, uint64_t at, void *to, size_t size)
{
	uint8_t *out = to;

	while (size > 0) {
		size_t in_page = (size_t)(at & (PAGE_BYTES - 1));
		size_t part = PAGE_BYTES - in_page < size ? PAGE_BYTES - in_page : size;
		const uint8_t *bytes = look->bad ? NULL : page_bytes(look->memory, at >> PAGE_BITS);

		if (!bytes) {
			look->bad = true;
			memset(to, 0, (size_t)(out - (uint8_t *)to) + size);
			return;
		}
		memcpy(out, bytes + in_page, part);
		out += part;
		at += part;
		size -= part;
	}
}

void look_copy_once(struct look *look, uint64_t at, void *to, size_t size)
{
	uint8_t *out = to;
	size_t left = size;

	while (left > 0 && !look->bad) {
		ssize_t got = look->memory->read(look->memory->ctx, out, left, at);

		look->memory->source_reads++;
		if (got <= 0) {
			look->bad = true;
			break;
		}
		out += got;
		at += (uint64_t)got;
		left -= (size_t)got;
	}
	if (look->bad)
		memset(to, 0, size);
}

uint8_t *memory_read_once(struct memory *memory, uint64_t at, size_t size)
{
	struct look look = look_into(memory);
	uint8_t *bytes = malloc(size);

	if (!bytes) {
		shortage_note();
		return NULL;
	}
	look_copy_once(&look, at, bytes, size);
	if (!look.bad)
		return bytes;
	free(bytes);
	return NULL;
}

void look_string(struct look *look, uint64_t at, size_t limit, struct text *out)
{
	for (size_t i = 0; i < limit; i++) {
		char c = (char)look_u8(look, at + i);

		if (look->bad || c == '\0')
			return;
		text_add_char(out, c);
	}
	look->bad = true;
}
