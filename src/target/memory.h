/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target's memory, read through /proc/PID/mem. The descriptor is bound to the address
 * space it was opened on: neither a reused PID nor an exec can make it show another one.
 *
 * Runtime structures are read field by field, thousands of them from few pages, so whole pages
 * are kept until memory_forget(). What is read is of no single moment: the target runs on.
 */
#ifndef TARGET_MEMORY_H
#define TARGET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/text.h"

struct error;
struct memory;
struct process;

/* Where bytes come from: as pread(), but @at may be anything. */
typedef ssize_t (*memory_source)(void *ctx, void *to, size_t size, uint64_t at);

/* -errno with @err set. Ends with memory_destroy(). */
int memory_open(struct memory **memory, struct process *process, struct error *err);

/* Memory that @read gives (tests and fuzzers bring their own). -ENOMEM. */
int memory_create(struct memory **memory, memory_source read, void *ctx, struct error *err);
void memory_destroy(struct memory *memory);

/*
 * Of memory_open(): is there no such memory any more? A process that exits has lost it a moment
 * before it is gone, and one that executes a program has another.
 */
bool memory_is_gone(const struct memory *memory);

/* Drop what was read: what is read from now on is as the target has it then. */
void memory_forget(struct memory *memory);

/* How often the source was asked so far. */
uint64_t memory_source_reads(const struct memory *memory);

/*
 * A look at some records. Reading what is not mapped gives zeros and turns the look bad, which
 * sticks: as with a cursor, the caller checks once, at the end of a record.
 */
struct look {
	struct memory *memory;
	bool bad;
};

static inline struct look look_into(struct memory *memory)
{
	return (struct look){ .memory = memory };
}

void look_copy(struct look *look, uint64_t at, void *to, size_t size);

/* The same around the pages that are kept, for long runs of bytes that are read once. */
void look_copy_once(struct look *look, uint64_t at, void *to, size_t size);

/* The @size bytes at @at, read so, which the caller frees. NULL if they cannot be read. */
uint8_t *memory_read_once(struct memory *memory, uint64_t at, size_t size);

/* Pages that were asked for a moment ago, by the low bits of their number. */
enum {
	MEMORY_PAGE_BITS = 12,
	MEMORY_PAGE_BYTES = 1 << MEMORY_PAGE_BITS,
	MEMORY_RECENT = 64,
};

struct memory_page {
	uint64_t number;      /* + 1, so that 0 is none */
	const uint8_t *bytes; /* NULL: the target has none there */
};

/* Numbers are read by the hundred thousand: so without a call where the page is at hand. */
static inline void look_small(struct look *look, uint64_t at, void *to, size_t size)
{
	/* Every struct memory begins with them. */
	const struct memory_page *recent = (const struct memory_page *)look->memory;
	uint64_t number = at >> MEMORY_PAGE_BITS;
	const struct memory_page *page = &recent[number % MEMORY_RECENT];
	size_t in_page = (size_t)(at % MEMORY_PAGE_BYTES);

	if (!look->bad && page->number == number + 1 && page->bytes &&
	    in_page + size <= MEMORY_PAGE_BYTES)
		memcpy(to, page->bytes + in_page, size);
	else
		look_copy(look, at, to, size);
}

/* look_u8(), look_u16(), look_u32(), look_u64(): the number at @at. */
#define LOOK_NUMBER(bits)                                                         \
	static inline uint##bits##_t look_u##bits(struct look *look, uint64_t at) \
	{                                                                         \
		uint##bits##_t value;                                             \
                                                                                  \
		look_small(look, at, &value, sizeof(value));                      \
		return value;                                                     \
	}
LOOK_NUMBER(8)
LOOK_NUMBER(16)
LOOK_NUMBER(32)
LOOK_NUMBER(64)

/* Append the UTF-8 string at @at; one that does not end within @limit turns the look bad. */
void look_string(struct look *look, uint64_t at, size_t limit, struct text *out);

#endif
