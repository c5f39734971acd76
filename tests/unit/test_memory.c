// SPDX-License-Identifier: GPL-2.0-or-later
/* memory.h: what is read of a target, when, and what is not there. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "target/memory.h"
#include "target/process.h"

enum { PAGE = 4096, PAGES = 8 };

#define BASE 0x7f0000000000ull

/* Some pages, of which one may be missing. */
struct pages {
	uint8_t bytes[PAGES * PAGE];
	unsigned int missing;
	unsigned int reads;
};

static ssize_t read_pages(void *ctx, void *to, size_t size, uint64_t at)
{
	struct pages *pages = ctx;
	uint64_t offset = at - BASE;
	size_t part = sizeof(pages->bytes) - (size_t)offset;

	pages->reads++;
	if (at < BASE || offset >= sizeof(pages->bytes) || offset / PAGE == pages->missing)
		return 0;
	if (pages->missing < PAGES && offset / PAGE < pages->missing)
		part = (size_t)(pages->missing * PAGE - offset);
	if (part > size)
		part = size;
	memcpy(to, pages->bytes + offset, part);
	return (ssize_t)part;
}

static struct memory *open_pages(struct pages *pages)
{
	struct memory *memory;

	*pages = (struct pages){ .missing = PAGES };
	for (size_t i = 0; i < sizeof(pages->bytes); i++)
		pages->bytes[i] = (uint8_t)(i * 7 + i / PAGE);
	assert_int_equal(memory_create(&memory, read_pages, pages, NULL), 0);
	return memory;
}

static uint64_t expect_u64(const struct pages *pages, size_t offset)
{
	uint64_t value;

	memcpy(&value, pages->bytes + offset, sizeof(value));
	return value;
}

UNIT_TEST(keeps_pages)
{
	struct pages pages;
	struct memory *memory = open_pages(&pages);
	struct look look = look_into(memory);

	assert_int_equal(memory_source_reads(memory), 0);
	for (size_t offset = 0; offset + 8 <= PAGE; offset += 8)
		assert_int_equal(look_u64(&look, BASE + offset), expect_u64(&pages, offset));
	assert_int_equal(pages.reads, 1);
	assert_int_equal(look_u8(&look, BASE + PAGE), pages.bytes[PAGE]);
	assert_int_equal(look_u16(&look, BASE + 2), pages.bytes[2] | pages.bytes[3] << 8);
	assert_int_equal(look_u32(&look, BASE + 8), (uint32_t)expect_u64(&pages, 8));
	assert_int_equal(pages.reads, 2);
	assert_int_equal(memory_source_reads(memory), 2);
	assert_false(look.bad);
	memory_destroy(memory);
}

UNIT_TEST(forgets_pages)
{
	struct pages pages;
	struct memory *memory = open_pages(&pages);
	struct look look = look_into(memory);

	assert_int_equal(look_u8(&look, BASE), 0);
	pages.bytes[0] = 0x77;
	assert_int_equal(look_u8(&look, BASE), 0);
	memory_forget(memory);
	assert_int_equal(look_u8(&look, BASE), 0x77);
	memory_destroy(memory);
}

UNIT_TEST(reads_across_pages)
{
	struct pages pages;
	struct memory *memory = open_pages(&pages);
	struct look look = look_into(memory);
	uint8_t all[PAGES * PAGE];

	for (size_t offset = PAGE - 8; offset <= PAGE; offset++)
		assert_int_equal(look_u64(&look, BASE + offset), expect_u64(&pages, offset));
	look_copy(&look, BASE, all, sizeof(all));
	assert_memory_equal(all, pages.bytes, sizeof(all));
	assert_false(look.bad);
	memory_destroy(memory);
}

UNIT_TEST(holes_are_zeros_and_stick)
{
	struct pages pages;
	struct memory *memory = open_pages(&pages);
	struct look look = look_into(memory);
	uint8_t bytes[16];

	pages.missing = 1;
	/* Half of it is there. */
	memset(bytes, 0xff, sizeof(bytes));
	look_copy(&look, BASE + PAGE - 8, bytes, sizeof(bytes));
	assert_true(look.bad);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0);
	/* What is there is no longer believed either. */
	assert_int_equal(look_u64(&look, BASE + 8), 0);
	look = look_into(memory);
	assert_int_equal(look_u64(&look, BASE + 8), expect_u64(&pages, 8));
	assert_false(look.bad);
	memory_destroy(memory);
}

/* A hole is kept as well, and forgotten. */
UNIT_TEST(holes_are_read_once)
{
	struct pages pages;
	struct memory *memory = open_pages(&pages);

	pages.missing = 2;
	for (int i = 0; i < 100; i++) {
		struct look look = look_into(memory);

		assert_int_equal(look_u8(&look, BASE + 2 * PAGE + 5), 0);
		assert_true(look.bad);
	}
	assert_int_equal(pages.reads, 1);
	pages.missing = PAGES;
	memory_forget(memory);
	for (int i = 0; i < 2; i++) {
		struct look look = look_into(memory);

		assert_int_equal(look_u8(&look, BASE + 2 * PAGE + 5), pages.bytes[2 * PAGE + 5]);
		assert_false(look.bad);
	}
	memory_destroy(memory);
}

UNIT_TEST(addresses_that_cannot_be)
{
	static const uint64_t addresses[] = {
		0, 1, BASE - 1, BASE + PAGES * PAGE, INT64_MAX, UINT64_MAX - 7, UINT64_MAX
	};
	struct pages pages;
	struct memory *memory = open_pages(&pages);

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct look look = look_into(memory), once = look;
		uint64_t value = 1;

		assert_int_equal(look_u64(&look, addresses[i]), 0);
		assert_true(look.bad);
		look_copy_once(&once, addresses[i], &value, sizeof(value));
		assert_true(once.bad);
		assert_int_equal(value, 0);
	}
	memory_destroy(memory);
}

UNIT_TEST(copies_around_the_pages)
{
	struct pages pages;
	struct memory *memory = open_pages(&pages);
	struct look look = look_into(memory);
	uint8_t bytes[3 * PAGE];

	assert_int_equal(look_u8(&look, BASE), 0);
	pages.bytes[0] = 0x77;
	look_copy_once(&look, BASE, bytes, sizeof(bytes));
	assert_memory_equal(bytes, pages.bytes, sizeof(bytes));
	assert_int_equal(look_u8(&look, BASE), 0); /* that page is kept still */
	look_copy_once(&look, BASE + 2 * PAGE, bytes, 0);
	assert_false(look.bad);
	/* It ends in a hole: then there is nothing at all. */
	pages.missing = 2;
	look_copy_once(&look, BASE, bytes, sizeof(bytes));
	assert_true(look.bad);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0);
	memory_destroy(memory);
}

/* More pages than are kept: all are right, before and after they are dropped. */
static ssize_t read_number(void *ctx, void *to, size_t size, uint64_t at)
{
	(void)ctx;
	memset(to, 0, size);
	memcpy(to, &at, sizeof(at));
	return (ssize_t)size;
}

UNIT_TEST(more_pages_than_are_kept)
{
	enum { MANY = 70000 };
	struct memory *memory;
	struct look look;

	assert_int_equal(memory_create(&memory, read_number, NULL, NULL), 0);
	look = look_into(memory);
	for (uint64_t pass = 0; pass < 2; pass++) {
		for (uint64_t i = 0; i < MANY; i++) {
			uint64_t at = BASE + i * 3 * PAGE;

			assert_int_equal(look_u64(&look, at), at);
		}
	}
	assert_false(look.bad);
	assert_true(memory_source_reads(memory) >= MANY);
	memory_destroy(memory);
}

/* Strings ---------------------------------------------------------------------------------- */

static void assert_string(struct memory *memory, uint64_t at, size_t limit, bool bad,
			  const char *expected)
{
	struct look look = look_into(memory);
	_cleanup_(text_deinit) struct text text = { 0 };

	memory_forget(memory);
	look_string(&look, at, limit, &text);
	assert_int_equal(look.bad, bad);
	if (!bad)
		assert_string_equal(text_chars(&text), expected);
	assert_true(text.length <= limit);
}

UNIT_TEST(strings)
{
	struct pages pages;
	struct memory *memory = open_pages(&pages);

	memcpy(pages.bytes + PAGE - 3, "abcdef", 7);
	assert_string(memory, BASE + PAGE - 3, 100, false, "abcdef");
	assert_string(memory, BASE + PAGE + 3, 100, false, "");
	assert_string(memory, BASE + PAGE - 3, 7, false, "abcdef");
	assert_string(memory, BASE + PAGE - 3, 6, true, "");
	pages.missing = 1; /* it ends in a hole */
	assert_string(memory, BASE + PAGE - 3, 100, true, "");
	pages.bytes[PAGE - 1] = 0; /* and now right before it */
	assert_string(memory, BASE + PAGE - 3, 100, false, "ab");
	memory_destroy(memory);
}

/* A real process: this one. */
UNIT_TEST(a_process)
{
	static const char here[] = "as it is";
	_cleanup_(process_deinit) struct process process;
	struct memory *memory;
	_cleanup_(text_deinit) struct text text = { 0 };
	struct look look;

	assert_int_equal(process_init(&process, getpid(), NULL), 0);
	assert_int_equal(memory_open(&memory, &process, NULL), 0);
	look = look_into(memory);
	look_string(&look, (uint64_t)(uintptr_t)here, 100, &text);
	assert_false(look.bad);
	assert_string_equal(text_chars(&text), here);
	(void)look_u8(&look, 0);
	assert_true(look.bad);
	look = look_into(memory);
	(void)look_u8(&look, UINT64_MAX);
	assert_true(look.bad);
	memory_destroy(memory);
}

UNIT_TEST(a_process_that_ends)
{
	_cleanup_(process_deinit) struct process process;
	struct memory *memory;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(process_init(&process, child, NULL), 0);
	assert_int_equal(memory_open(&memory, &process, NULL), 0);
	assert_false(memory_is_gone(memory));
	assert_int_equal(kill(child, SIGKILL), 0);
	/* It is still there then, as a zombie is. */
	assert_int_equal(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
	assert_true(memory_is_gone(memory));
	assert_int_equal(waitpid(child, NULL, 0), child);
	memory_destroy(memory);
}

UNIT_MAIN(NULL, NULL)
