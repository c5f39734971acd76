// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The machine that captures values (bpf/watch.bpf.h), in the kernel: programs made by hand, at the
 * entry and the exit of functions of this process, whose arguments and memory the test knows. Needs
 * root; without it everything is skipped.
 */
#include "tests/unit/unit.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "bpf/event.h"
#include "bpf/follow.h"
#include "bpf/place_probe.skel.h"
#include "capture/fuse.h"
#include "tests/unit/file_offset.h"

/* Its result is its first two arguments; or it calls what its argument says, and gives back 7. */
uint64_t victim(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g);
uint64_t victim_around(void (*function)(void *ctx), void *ctx);
extern const char victim_exit[], victim_around_exit[];

__asm__(".text\n.globl victim, victim_exit, victim_around, victim_around_exit\n"
	".type victim, @function\nvictim:\n"
	"push %rbp\npop %rbp\nmov %rdi, %rax\nmov %rsi, %rdx\nvictim_exit:\nret\n"
	".size victim, . - victim\n"
	".type victim_around, @function\nvictim_around:\n"
	"push %rbp\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\npop %rbp\nmov $7, %eax\n"
	"victim_around_exit:\nret\n.size victim_around, . - victim_around\n");

enum {
	RING_BYTES = 1 << 20,
	OPS = 4 * WATCH_OPS,
	EVENTS_MAX = 512,
	SITE_VICTIM = 0,
	SITE_AROUND = 1,
	SITES = 2,
	LINKS = 4,
	SLOT = 21,
};

struct bench {
	struct place_probe_bpf *bpf;
	struct bpf_link *links[LINKS];
	struct ring_buffer *ring;
	struct watch_op *ops;
	struct watch_program *programs;
	struct timed_site *timed;
	size_t op_count;
	struct seen {
		struct hit_event event; /* without frames */
		struct watch_values values;
		uint8_t items[2 * WATCH_BYTES];
	} * seen;
	size_t count;
};

static int on_event(void *ctx, void *data, size_t size)
{
	struct bench *bench = ctx;
	struct seen *seen = &bench->seen[bench->count];
	const struct hit_event *event = data;
	const struct watch_values *values = hit_event_values(event);
	size_t bytes = (size_t)values->entry_bytes + values->exit_bytes;

	assert_true(bench->count < EVENTS_MAX);
	assert_int_equal(event->frame_count, 0);
	assert_int_equal(size, HIT_EVENT_HEADER_BYTES + event->watched);
	assert_int_equal(event->watched, sizeof(*values) + bytes);
	memcpy(&seen->event, event, HIT_EVENT_HEADER_BYTES);
	seen->values = *values;
	memcpy(seen->items, values + 1, bytes);
	bench->count++;
	return 0;
}

static void *map_of(const struct bpf_map *map)
{
	size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void attach(struct bench *bench, size_t link, const void *at, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie);
	struct file_offset offset;
	struct process self;
	struct error err;

	if (process_init(&self, getpid(), &err))
		fail_msg("%s", err.text);
	offset = offset_of(&self, (struct address){ (uintptr_t)at });
	process_deinit(&self);
	bench->links[link] = bpf_program__attach_uprobe_opts(
		bench->bpf->progs.time_hit, getpid(), "/proc/self/exe", offset.value, &options);
	assert_non_null(bench->links[link]);
}

static void load(struct bench *bench)
{
	struct place_probe_bpf *bpf = place_probe_bpf__open();
	struct bpf_program *program;

	assert_non_null(bpf);
	bench->bpf = bpf;
	bpf->rodata->target_tgid = (uint32_t)getpid();
	bpf->rodata->watch_values = true;
	bpf_object__for_each_program(program, bpf->obj)
	{
		bpf_program__set_autoload(program, program == bpf->progs.time_hit);
	}
	bpf_map__set_max_entries(bpf->maps.events, RING_BYTES);
	bpf_map__set_max_entries(bpf->maps.follow_events, 4096);
	bpf_map__set_max_entries(bpf->maps.counters, SITES);
	bpf_map__set_max_entries(bpf->maps.timed_sites, SITES);
	bpf_map__set_max_entries(bpf->maps.timed_threads, 8);
	bpf_map__set_max_entries(bpf->maps.watch_programs, SITES);
	bpf_map__set_max_entries(bpf->maps.watch_ops, OPS);
	bpf_map__set_max_entries(bpf->maps.watch_slots, WATCH_CALLS + WATCH_SPARE);
	bpf_map__set_max_entries(bpf->maps.watch_free, WATCH_CALLS + WATCH_SPARE);
	assert_return_code(place_probe_bpf__load(bpf), 0);
	bench->ring = ring_buffer__new(bpf_map__fd(bpf->maps.events), on_event, bench, NULL);
	assert_non_null(bench->ring);
	bench->ops = map_of(bpf->maps.watch_ops);
	bench->programs = map_of(bpf->maps.watch_programs);
	bench->timed = map_of(bpf->maps.timed_sites);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->seen = calloc(EVENTS_MAX, sizeof(*bench->seen));
	assert_non_null(bench->seen);
	load(bench);
	for (uint32_t i = 0; i < SITES; i++)
		bench->timed[i] = (struct timed_site){ .method = i, .ready = 1 };
	attach(bench, 0, victim_exit, SITE_VICTIM | LATENCY_EXIT);
	attach(bench, 1, victim_around_exit, SITE_AROUND | LATENCY_EXIT);
	attach(bench, 2, (const void *)victim, SITE_VICTIM);
	attach(bench, 3, (const void *)victim_around, SITE_AROUND);
	bench->bpf->bss->active = 1;
	bench->op_count = 1;
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	for (size_t i = 0; i < LINKS; i++)
		bpf_link__destroy(bench->links[i]);
	ring_buffer__free(bench->ring);
	place_probe_bpf__destroy(bench->bpf);
	free(bench->seen);
	free(bench);
	return 0;
}

static void use_programs(struct bench *bench, uint32_t site, const struct watch_op *entry,
			 size_t entry_count, const struct watch_op *exit, size_t exit_count)
{
	assert_true(bench->op_count + entry_count + exit_count <= OPS);
	memcpy(&bench->ops[bench->op_count], entry, entry_count * sizeof(*entry));
	if (exit_count)
		memcpy(&bench->ops[bench->op_count + entry_count], exit,
		       exit_count * sizeof(*exit));
	bench->programs[site] = (struct watch_program){
		.first = (uint32_t)bench->op_count,
		.entry_count = (uint8_t)entry_count,
		.exit_count = (uint8_t)exit_count,
	};
	bench->op_count += entry_count + exit_count;
}

#define USE(bench, site, entry) \
	use_programs(bench, site, entry, sizeof(entry) / sizeof((entry)[0]), NULL, 0)
#define USE_BOTH(bench, site, entry, exit)                                         \
	use_programs(bench, site, entry, sizeof(entry) / sizeof((entry)[0]), exit, \
		     sizeof(exit) / sizeof((exit)[0]))

static const struct seen *take(struct bench *bench, size_t expected)
{
	bench->count = 0;
	ring_buffer__consume(bench->ring);
	assert_int_equal(bench->count, expected);
	return bench->seen;
}

/* The @index-th item, checked to lie within the @bytes that there are. */
static const struct watch_item *item_at(const uint8_t *items, size_t bytes, size_t index)
{
	size_t at = 0;

	for (size_t i = 0;; i++) {
		const struct watch_item *item = (const void *)(items + at);

		assert_true(at + sizeof(*item) <= bytes);
		at += sizeof(*item) + (item->bytes + 7U) / 8 * 8;
		assert_true(at <= bytes);
		if (i == index)
			return item;
	}
}

static void expect(const struct seen *seen, size_t index, uint16_t slot, const void *bytes,
		   size_t size, uint64_t whole)
{
	const struct watch_item *item = item_at(seen->items, seen->values.entry_bytes, index);

	assert_int_equal(item->slot, slot);
	assert_int_equal(item->status, WATCH_OK);
	assert_int_equal(item->bytes, size);
	assert_int_equal(item->whole, whole);
	assert_memory_equal(item + 1, bytes, size);
}

static void expect_status(const struct seen *seen, size_t index, uint16_t slot,
			  enum watch_status status)
{
	const struct watch_item *item = item_at(seen->items, seen->values.entry_bytes, index);

	assert_int_equal(item->slot, slot);
	assert_int_equal(item->status, status);
	assert_int_equal(item->bytes, 0);
}

static size_t count_items(const struct seen *seen)
{
	size_t at = 0, count = 0;

	for (; at < seen->values.entry_bytes; count++) {
		const struct watch_item *item = (const void *)(seen->items + at);

		at += sizeof(*item) + (item->bytes + 7U) / 8 * 8;
	}
	assert_int_equal(at, seen->values.entry_bytes);
	return count;
}

#define TAKE(cell, from)                                             \
	{                                                            \
		.code = WATCH_TAKE, .dst = (cell), .source = (from), \
	}
#define PUT(cell, bytes, number)                                                     \
	{                                                                            \
		.code = WATCH_PUT, .src = (cell), .size = (bytes), .slot = (number), \
	}

/* Arguments and arithmetic ---------------------------------------------------------------- */

UNIT_TEST_WITHIN(arguments, set_up, tear_down)
{
	struct bench *bench = *state;
	struct watch_op ops[12];
	const struct seen *seen;

	for (uint8_t i = 0; i < 6; i++) {
		ops[i] = (struct watch_op)TAKE(i, WATCH_ARGUMENT_0 + i);
		ops[6 + i] = (struct watch_op)PUT(i, 8, SLOT + i);
	}
	USE(bench, SITE_VICTIM, ops);
	victim(11, 22, 33, 44, 55, UINT64_MAX, 77);
	seen = take(bench, 1);
	assert_int_equal(count_items(seen), 6);
	for (uint64_t i = 0; i < 6; i++)
		expect(seen, i, (uint16_t)(SLOT + i),
		       &(const uint64_t){ i < 5 ? 11 * (i + 1) : UINT64_MAX }, 8, 8);
	assert_int_equal(seen->values.fate, WATCH_RETURNED);
	assert_int_equal(seen->event.tid, gettid());
	assert_true(seen->event.duration_ns > 0);
}

UNIT_TEST_WITHIN(arithmetic, set_up, tear_down)
{
	struct bench *bench = *state;
	const struct watch_op ops[] = {
		TAKE(0, WATCH_ARGUMENT_0),
		TAKE(1, WATCH_ARGUMENT_0 + 1),
		{ .code = WATCH_MASK, .dst = 2, .src = 0, .immediate = 0xff00 },
		{ .code = WATCH_ADD, .dst = 3, .src = 0, .immediate = (uint64_t)-1 },
		{ .code = WATCH_SHIFT, .dst = 4, .src = 0, .immediate = 56 },
		{ .code = WATCH_SUBTRACT, .dst = 1, .src = 0 },
		PUT(2, 2, 1),
		PUT(3, 1, 2),
		PUT(4, 4, 3),
		PUT(1, 8, 4),
		PUT(7, 8, 5),
	};
	const uint64_t value = 0x8877665544332211;
	const struct seen *seen;

	USE(bench, SITE_VICTIM, ops);
	victim(value, value + 5, 0, 0, 0, 0, 0);
	seen = take(bench, 1);
	expect(seen, 0, 1, &(const uint16_t){ 0x2200 }, 2, 2);
	expect(seen, 1, 2, &(const uint8_t){ 0x10 }, 1, 1);
	expect(seen, 2, 3, &(const uint32_t){ 0x88 }, 4, 4);
	expect(seen, 3, 4, &(const uint64_t){ 5 }, 8, 8);
	expect(seen, 4, 5, &(const uint64_t){ 0 }, 8, 8);
}

UNIT_TEST_WITHIN(jumps, set_up, tear_down)
{
	struct bench *bench = *state;
	const struct watch_op ops[] = {
		TAKE(0, WATCH_ARGUMENT_0),
		TAKE(1, WATCH_ARGUMENT_0 + 1),
		{ .code = WATCH_IF_ZERO, .src = 0, .otherwise = 4 },
		PUT(0, 1, 1), /* its cell is not 0 */
		{ .code = WATCH_IF_EQUAL, .src = 0, .immediate = 3, .otherwise = 6 },
		PUT(0, 1, 2),
		{ .code = WATCH_IF_BELOW, .src = 1, .immediate = 5, .otherwise = 8 },
		PUT(1, 1, 3),
		{ .code = WATCH_IF_BELOW_SIGNED, .src = 1, .immediate = 5, .otherwise = 10 },
		PUT(1, 1, 4),
		/* Never back: it would not end. */
		{ .code = WATCH_IF_ZERO, .src = 7, .otherwise = 0 },
		{ .code = WATCH_IF_ZERO, .src = 7, .otherwise = WATCH_END },
		PUT(0, 1, 5),
	};
	const struct {
		uint64_t a, b;
		uint16_t slots[5];
	} cases[] = {
		{ 0, 4, { 3, 4 } },
		{ 3, 5, { 1, 2 } },
		{ 9, UINT64_MAX, { 1, 4 } },
		{ 3, 0, { 1, 2, 3, 4 } },
	};

	USE(bench, SITE_VICTIM, ops);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct seen *seen;
		size_t count = 0;

		victim(cases[i].a, cases[i].b, 0, 0, 0, 0, 0);
		seen = take(bench, 1);
		for (; cases[i].slots[count]; count++)
			assert_int_equal(
				item_at(seen->items, seen->values.entry_bytes, count)->slot,
				cases[i].slots[count]);
		assert_int_equal(count_items(seen), count);
	}
}

/* One op for several ----------------------------------------------------------------------- */

/* What the program makes of a call, as it is and fused, with one op @at, which is the same. */
static void expect_the_same(struct bench *bench, const struct watch_op *ops, size_t count,
			    size_t at, enum watch_code fused, const uint64_t words[6])
{
	size_t first = bench->op_count;
	struct seen plain;

	use_programs(bench, SITE_VICTIM, ops, count, NULL, 0);
	victim(words[0], words[1], words[2], words[3], words[4], words[5], 0);
	plain = *take(bench, 1);
	fuse_ops(&bench->ops[first], count);
	assert_int_equal(bench->ops[first + at].code, fused);
	assert_true(bench->ops[first + at].more > 0);
	victim(words[0], words[1], words[2], words[3], words[4], words[5], 0);
	assert_int_equal(take(bench, 1)->values.entry_bytes, plain.values.entry_bytes);
	assert_memory_equal(bench->seen->items, plain.items, plain.values.entry_bytes);
	assert_true(plain.values.entry_bytes > 0);
	bench->op_count = first;
}

UNIT_TEST_WITHIN(words_that_are_put, set_up, tear_down)
{
	static const uint16_t sizes[] = { 1, 2, 4, 8, 3, 7 };
	const uint64_t words[] = { 0x8877665544332211, UINT64_MAX,	  0, 1,
				   0x123456789a,       0xf0f0f0f0f0f0f0f0 };
	struct watch_op ops[13];

	for (uint8_t i = 0; i < 6; i++) {
		ops[2 * i] = (struct watch_op)TAKE(3, WATCH_ARGUMENT_0 + i);
		ops[2 * i + 1] = (struct watch_op)PUT(3, sizes[i], (uint16_t)(SLOT + i));
	}
	/* The last one is in the cell. */
	ops[12] = (struct watch_op)PUT(3, 8, SLOT + 9);
	expect_the_same(*state, ops, 13, 0, WATCH_PUT_WORDS, words);
	assert_int_equal(count_items(((struct bench *)*state)->seen), 7);
	/* One that has another slot is on its own. */
	ops[3].slot = SLOT + 3;
	expect_the_same(*state, ops, 13, 0, WATCH_PUT_WORDS, words);
	assert_int_equal(count_items(((struct bench *)*state)->seen), 7);
}

/* Words around those that decide. */
struct tried {
	uint64_t words[12];
};

static struct tried words_around(uint64_t immediate, uint32_t size)
{
	const uint64_t half = 1ULL << (8 * size - 1), mask = UINT64_MAX >> (64 - 8 * size);

	return (struct tried){ { 0, 1, immediate - 1, immediate, ~immediate, immediate + 1,
				 UINT64_MAX, half - 1, half, half + 1, mask, immediate ^ half } };
}

/* Of the test all else is said by what is put behind it, and where it leads. */
static void test_words(struct bench *bench, enum watch_code code, uint32_t size, bool is_signed,
		       uint64_t immediate)
{
	const uint64_t half = 1ULL << (8 * size - 1), mask = UINT64_MAX >> (64 - 8 * size);
	const struct tried tried = words_around(immediate, size);
	const struct watch_op ops[] = {
		TAKE(0, WATCH_ARGUMENT_0 + 2),
		{ .code = WATCH_ADD, .dst = 0, .src = 0, .immediate = half },
		{ .code = WATCH_MASK, .dst = 0, .src = 0, .immediate = mask },
		{ .code = code, .src = 0, .immediate = immediate & mask, .otherwise = 5 },
		{ .code = WATCH_IF_ZERO, .src = 7, .otherwise = 6 },
		PUT(0, 8, 1),
		PUT(0, 8, 2),
		PUT(0, 8, 3),
	};
	struct watch_op unsigned_ops[sizeof(ops) / sizeof(ops[0]) - 1];

	unsigned_ops[0] = ops[0];
	memcpy(unsigned_ops + 1, ops + 2, sizeof(ops) - 2 * sizeof(ops[0]));
	unsigned_ops[2].otherwise = 4;
	unsigned_ops[3].otherwise = 5;
	for (size_t i = 0; i < sizeof(tried.words) / sizeof(tried.words[0]); i++) {
		const uint64_t words[6] = { 0, 0, tried.words[i] };

		if (is_signed)
			expect_the_same(bench, ops, 8, 0, WATCH_TEST_WORD, words);
		else
			expect_the_same(bench, unsigned_ops, 7, 0, WATCH_TEST_WORD, words);
	}
}

/* Likewise of what is loaded; what cannot be read ends the program. */
static void test_loaded(struct bench *bench, enum watch_code code, uint16_t size, bool is_signed,
			bool is_masked, uint64_t immediate)
{
	const uint64_t half = 1ULL << (8 * size - 1), mask = UINT64_MAX >> (64 - 8 * size);
	const struct tried tried = words_around(immediate, size);
	struct watch_op ops[12] = { TAKE(2, WATCH_ARGUMENT_0 + 1), PUT(2, 8, 1) };
	size_t count = 2, at = count;

	ops[count++] = (struct watch_op){
		.code = WATCH_LOAD, .src = 2, .size = size, .offset = -8, .slot = WATCH_NO_SLOT
	};
	if (is_signed)
		ops[count++] = (struct watch_op){ .code = WATCH_ADD, .immediate = half };
	if (is_masked)
		ops[count++] = (struct watch_op){ .code = WATCH_MASK, .immediate = mask };
	ops[count] = (struct watch_op){ .code = code,
					.immediate = immediate & mask,
					.otherwise = (uint16_t)(count + 2) };
	count++;
	ops[count] = (struct watch_op){ .code = WATCH_IF_ZERO,
					.src = 7,
					.otherwise = (uint16_t)(count + 2) };
	count++;
	ops[count++] = (struct watch_op)PUT(0, 8, 2);
	ops[count++] = (struct watch_op)PUT(0, 8, 3);
	ops[at].otherwise = (uint16_t)count;
	ops[count++] = (struct watch_op){ .code = WATCH_UNDECIDED };
	ops[count++] = (struct watch_op)PUT(0, 8, 4);
	for (size_t i = 0; i < sizeof(tried.words) / sizeof(tried.words[0]); i++) {
		const uint64_t word = tried.words[i];
		const uint64_t words[6] = { 0, (uintptr_t)(&word + 1) };

		expect_the_same(bench, ops, count, at, WATCH_TEST_LOADED, words);
		assert_true(count_items(bench->seen) > 1);
	}
	expect_the_same(bench, ops, count, at, WATCH_TEST_LOADED, (const uint64_t[6]){ 0, 4096 });
	assert_int_equal(count_items(bench->seen), 1);
}

UNIT_TEST_WITHIN(words_that_are_tested, set_up, tear_down)
{
	for (enum watch_code code = WATCH_IF_ZERO; code <= WATCH_IF_BELOW_SIGNED; code++) {
		for (uint32_t size = 1; size <= 8; size++) {
			test_words(*state, code, size, false, 0x8081828384858687);
			test_words(*state, code, size, true, 0x8081828384858687);
			test_words(*state, code, size, true, 5);
		}
	}
}

UNIT_TEST_WITHIN(what_is_loaded_and_tested, set_up, tear_down)
{
	for (enum watch_code code = WATCH_IF_ZERO; code <= WATCH_IF_BELOW_SIGNED; code++) {
		for (uint16_t size = 1; size <= 8; size *= 2) {
			test_loaded(*state, code, size, false, false, 0x8081828384858687);
			test_loaded(*state, code, size, false, true, 0x8081828384858687);
			test_loaded(*state, code, size, true, true, 0x8081828384858687);
			test_loaded(*state, code, size, true, true, 5);
		}
	}
}

/* Memory ---------------------------------------------------------------------------------- */

UNIT_TEST_WITHIN(memory, set_up, tear_down)
{
	struct bench *bench = *state;
	static const char text[] = "0123456789abcdef0123456789abcdef";
	const struct watch_op ops[] = {
		TAKE(0, WATCH_ARGUMENT_0),
		{ .code = WATCH_LOAD, .dst = 1, .src = 0, .size = 2, .offset = 4 },
		PUT(1, 8, 1),
		{ .code = WATCH_LOAD, .dst = 1, .src = 0, .size = 8, .offset = 8 },
		PUT(1, 8, 2),
		{ .code = WATCH_COPY_FIXED, .src = 0, .size = 3, .offset = 1, .slot = 3 },
		TAKE(2, WATCH_ARGUMENT_0 + 1),
		{ .code = WATCH_COPY_TIMES,
		  .dst = 2,
		  .src = 0,
		  .size = 16,
		  .immediate = 1,
		  .slot = 4 },
		{ .code = WATCH_COPY_TIMES,
		  .dst = 2,
		  .src = 0,
		  .size = 6,
		  .immediate = 1,
		  .slot = 5 },
		{ .code = WATCH_COPY_TIMES, .dst = 7, .src = 0, .size = 6, .slot = 6 },
		{ .code = WATCH_COPY_CSTRING, .src = 0, .size = 64, .slot = 7 },
		{ .code = WATCH_COPY_CSTRING, .src = 0, .size = 32, .slot = 8 },
		{ .code = WATCH_COPY_CSTRING, .src = 0, .size = 31, .slot = 9 },
	};
	const struct seen *seen;
	uint64_t word = 0;

	USE(bench, SITE_VICTIM, ops);
	victim((uint64_t)(uintptr_t)text, 0xffffffff00000004, 0, 0, 0, 0, 0);
	seen = take(bench, 1);
	memcpy(&word, text + 4, 2);
	expect(seen, 0, 1, &word, 8, 8);
	expect(seen, 1, 2, text + 8, 8, 8);
	expect(seen, 2, 3, text + 1, 3, 3);
	expect(seen, 3, 4, text, 8, 8);
	expect(seen, 4, 5, text, 6, 8);
	expect(seen, 5, 6, text, 0, 0);
	expect(seen, 6, 7, text, 32, 32);
	expect(seen, 7, 8, text, 32, 32);
	expect(seen, 8, 9, text, 31, 32);
	assert_int_equal(count_items(seen), 9);
}

UNIT_TEST_WITHIN(faults, set_up, tear_down)
{
	struct bench *bench = *state;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct watch_op ops[] = {
		TAKE(0, WATCH_ARGUMENT_0),
		{ .code = WATCH_LOAD, .dst = 1, .src = 0, .size = 8, .slot = 1, .otherwise = 4 },
		PUT(1, 8, 2),
		PUT(0, 8, 2),
		/* Half of it is there. */
		{ .code = WATCH_COPY_FIXED, .src = 0, .size = 16, .offset = -8, .slot = 3 },
		{ .code = WATCH_COPY_CSTRING, .src = 0, .size = 16, .offset = -8, .slot = 4 },
		{ .code = WATCH_LOAD, .dst = 1, .src = 7, .size = 8, .slot = WATCH_NO_SLOT },
		{ .code = WATCH_LOAD, .dst = 1, .src = 0, .size = 8, .slot = 5, .offset = -8 },
		PUT(1, 8, 6),
	};
	const struct seen *seen;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_return_code(munmap(page + 4096, 4096), 0);
	memset(page, 'z', 4096);
	USE(bench, SITE_VICTIM, ops);
	victim((uint64_t)(uintptr_t)(page + 4096), 0, 0, 0, 0, 0, 0);
	seen = take(bench, 1);
	expect_status(seen, 0, 1, WATCH_FAULT);
	expect_status(seen, 1, 3, WATCH_FAULT);
	expect_status(seen, 2, 4, WATCH_FAULT);
	expect(seen, 3, 6, "zzzzzzzz", 8, 8);
	assert_int_equal(count_items(seen), 4);
	munmap(page, 4096);
}

/* What has no room is told as long as that has some; and nothing is written behind it. */
UNIT_TEST_WITHIN(budget, set_up, tear_down)
{
	struct bench *bench = *state;
	static char bytes[WATCH_COPY];
	struct watch_op ops[WATCH_OPS] = { TAKE(0, WATCH_ARGUMENT_0) };
	const struct seen *seen;

	memset(bytes, 'b', sizeof(bytes));
	for (int i = 1; i < WATCH_OPS; i++)
		ops[i] = (struct watch_op){
			.code = WATCH_COPY_FIXED, .src = 0, .size = UINT16_MAX, .slot = (uint16_t)i
		};
	USE(bench, SITE_VICTIM, ops);
	victim((uint64_t)(uintptr_t)bytes, 0, 0, 0, 0, 0, 0);
	seen = take(bench, 1);
	expect(seen, 0, 1, bytes, WATCH_COPY, UINT16_MAX);
	for (size_t i = 1; i < count_items(seen); i++)
		expect_status(seen, i, (uint16_t)(i + 1), WATCH_NO_ROOM);
	assert_int_equal(count_items(seen),
			 1 + (WATCH_BYTES - sizeof(struct watch_item) - WATCH_COPY) /
					 sizeof(struct watch_item));
	assert_in_range(seen->values.entry_bytes, WATCH_BYTES - sizeof(struct watch_item) + 1,
			WATCH_BYTES);
	assert_int_equal(seen->values.exit_bytes, 0);
}

/* A program cannot be longer than WATCH_OPS, whatever is said. */
UNIT_TEST_WITHIN(endless, set_up, tear_down)
{
	struct bench *bench = *state;
	struct watch_op ops[WATCH_OPS + 8];
	const struct seen *seen;

	for (size_t i = 0; i < WATCH_OPS + 8; i++)
		ops[i] = (struct watch_op){ .code = WATCH_ADD, .dst = 0, .src = 0, .immediate = 1 };
	ops[WATCH_OPS - 1] = (struct watch_op)PUT(0, 8, 1);
	ops[WATCH_OPS + 7] = (struct watch_op)PUT(0, 8, 2);
	USE(bench, SITE_VICTIM, ops);
	victim(0, 0, 0, 0, 0, 0, 0);
	seen = take(bench, 1);
	expect(seen, 0, 1, &(const uint64_t){ WATCH_OPS - 1 }, 8, 8);
	assert_int_equal(count_items(seen), 1);
}

/* Calls ----------------------------------------------------------------------------------- */

static const struct watch_op keep_ops[] = {
	TAKE(0, WATCH_ARGUMENT_0 + 1),
	TAKE(1, WATCH_STACK),
	{ .code = WATCH_LOAD, .dst = 2, .src = 1, .size = 8, .offset = 8 },
	PUT(0, 8, 1),
};

static const struct watch_op show_ops[] = {
	TAKE(0, WATCH_RESULT_0),
	TAKE(1, WATCH_RESULT_1),
	TAKE(2, WATCH_ENTRY_CELL),
	TAKE(3, WATCH_ENTRY_CELL + 1),
	TAKE(4, WATCH_STACK),
	{ .code = WATCH_SUBTRACT, .dst = 3, .src = 4 },
	TAKE(5, WATCH_ENTRY_CELL + 2),
	PUT(0, 8, 1),
	PUT(1, 8, 2),
	PUT(2, 8, 3),
	PUT(3, 8, 4),
	PUT(5, 8, 5),
};

static uint64_t exit_word(const struct seen *seen, size_t index)
{
	const struct watch_item *item =
		item_at(seen->items + seen->values.entry_bytes, seen->values.exit_bytes, index);
	uint64_t word;

	assert_int_equal(item->bytes, sizeof(word));
	memcpy(&word, item + 1, sizeof(word));
	return word;
}

/* Results, what the entry has left in its cells, and an argument on the stack. */
UNIT_TEST_WITHIN(at_the_exit, set_up, tear_down)
{
	struct bench *bench = *state;
	const uint64_t expected[] = { 5, 6, 6, 0, 12 };
	const struct seen *seen;

	USE_BOTH(bench, SITE_VICTIM, keep_ops, show_ops);
	victim(5, 6, 7, 8, 9, 10, 12);
	seen = take(bench, 1);
	expect(seen, 0, 1, &(const uint64_t){ 6 }, 8, 8);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(exit_word(seen, i), expected[i]);
}

struct nest {
	size_t depth;
	jmp_buf *jump; /* from the innermost */
};

static void go_deeper(void *ctx)
{
	struct nest *nest = ctx;

	if (nest->depth == 0) {
		if (nest->jump)
			longjmp(*nest->jump, 1);
		return;
	}
	nest->depth--;
	victim_around(go_deeper, ctx);
}

UNIT_TEST_WITHIN(nested_calls, set_up, tear_down)
{
	enum { DEPTH = 100 };
	struct bench *bench = *state;
	struct nest nest = { DEPTH, NULL };
	const struct seen *seen;
	uint64_t last_ns = 0;

	USE_BOTH(bench, SITE_AROUND, keep_ops, show_ops);
	go_deeper(&nest);
	seen = take(bench, DEPTH);
	for (size_t i = 0; i < DEPTH; i++) {
		assert_int_equal(seen[i].values.fate, WATCH_RETURNED);
		assert_int_equal((uint32_t)exit_word(&seen[i], 0), 7);
		assert_int_equal(exit_word(&seen[i], 2), (uintptr_t)&nest);
		assert_int_equal(exit_word(&seen[i], 3), 0);
		assert_true(seen[i].event.time_ns > last_ns);
		last_ns = seen[i].event.time_ns;
	}
	assert_int_equal(bench->bpf->bss->watch_kept, 0);
	assert_int_equal(bench->bpf->bss->watch_losses.not_kept, 0);
}

/* More within each other than are followed: those are shown at their entry. */
UNIT_TEST_WITHIN(too_deep, set_up, tear_down)
{
	enum { DEEPER = 5 };
	struct bench *bench = *state;
	struct nest nest = { LATENCY_DEPTH + DEEPER, NULL };
	const struct seen *seen;

	USE_BOTH(bench, SITE_AROUND, keep_ops, show_ops);
	go_deeper(&nest);
	seen = take(bench, LATENCY_DEPTH + DEEPER);
	for (size_t i = 0; i < LATENCY_DEPTH + DEEPER; i++) {
		assert_int_equal(seen[i].values.fate, i < DEEPER ? WATCH_NOT_KEPT : WATCH_RETURNED);
		expect(&seen[i], 0, 1, &(const uint64_t){ (uintptr_t)&nest }, 8, 8);
	}
	assert_int_equal(bench->bpf->bss->watch_losses.not_kept, DEEPER);
	assert_int_equal(bench->bpf->bss->watch_kept, 0);
}

UNIT_TEST_WITHIN(left_by_longjmp, set_up, tear_down)
{
	enum { DEPTH = 10 };
	struct bench *bench = *state;
	jmp_buf here;
	struct nest nest = { DEPTH, &here }, stay = { 0, NULL };
	const struct seen *seen;

	USE_BOTH(bench, SITE_AROUND, keep_ops, show_ops);
	if (setjmp(here) == 0)
		go_deeper(&nest);
	take(bench, 0);
	/* The next call tells, from where the stack is as it was. */
	victim_around(go_deeper, &stay);
	seen = take(bench, DEPTH + 1);
	for (size_t i = 0; i < DEPTH; i++) {
		assert_int_equal(seen[i].values.fate, WATCH_UNWOUND);
		assert_int_equal(seen[i].event.site, SITE_AROUND);
		assert_int_equal(seen[i].values.exit_bytes, 0);
		assert_true(seen[i].event.duration_ns > 0);
	}
	assert_int_equal(seen[DEPTH].values.fate, WATCH_RETURNED);
	assert_int_equal(bench->bpf->bss->watch_kept, 0);
}

/* As many are under way elsewhere as are kept; and as if each slot was taken. */
UNIT_TEST_WITHIN(no_room_for_calls, set_up, tear_down)
{
	struct bench *bench = *state;
	const struct seen *seen;

	USE(bench, SITE_VICTIM, keep_ops);
	bench->bpf->bss->watch_kept = WATCH_CALLS;
	victim(1, 2, 3, 4, 5, 6, 7);
	seen = take(bench, 1);
	assert_int_equal(seen->values.fate, WATCH_NOT_KEPT);
	assert_int_equal(seen->event.duration_ns, 0);
	expect(seen, 0, 1, &(const uint64_t){ 2 }, 8, 8);
	assert_int_equal(bench->bpf->bss->watch_losses.not_kept, 1);
	bench->bpf->bss->watch_kept = 0;
	/* The slot of that one is free again. */
	for (size_t i = 0; i < 3; i++)
		victim(1, 2, 3, 4, 5, 6, 7);
	take(bench, 3);
	assert_int_equal(bench->bpf->bss->watch_slots_used, 1);
	assert_int_equal(bench->bpf->bss->watch_losses.slots, 0);
}

UNIT_TEST_WITHIN(all_slots_taken, set_up, tear_down)
{
	struct bench *bench = *state;

	USE(bench, SITE_VICTIM, keep_ops);
	bench->bpf->bss->watch_slots_used = WATCH_CALLS + WATCH_SPARE;
	victim(1, 2, 3, 4, 5, 6, 7);
	take(bench, 0);
	assert_int_equal(bench->bpf->bss->watch_losses.slots, 1);
}

/* Where its calls end is not known. */
UNIT_TEST_WITHIN(entries_only, set_up, tear_down)
{
	struct bench *bench = *state;
	const struct seen *seen;

	USE(bench, SITE_VICTIM, keep_ops);
	bench->timed[SITE_VICTIM].ready = 0;
	victim(1, 2, 3, 4, 5, 6, 7);
	seen = take(bench, 1);
	assert_int_equal(seen->values.fate, WATCH_ENTERED);
	expect(seen, 0, 1, &(const uint64_t){ 2 }, 8, 8);
	/* Its exits have their probes only now. */
	bench->timed[SITE_AROUND].ready = 1;
}

/* What is full is counted, and slots come back all the same. */
UNIT_TEST_WITHIN(full_ring, set_up, tear_down)
{
	enum { CALLS = RING_BYTES / 64 };
	struct bench *bench = *state;
	struct site_counters counters = { 0 };

	for (size_t i = 0; i < CALLS; i++)
		victim(1, 2, 3, 4, 5, 6, 7);
	assert_return_code(bpf_map_lookup_elem(bpf_map__fd(bench->bpf->maps.counters),
					       &(uint32_t){ SITE_VICTIM }, &counters),
			   0);
	assert_int_equal(counters.hits, CALLS);
	assert_true(counters.lost > 0 && counters.lost < CALLS);
	assert_int_equal(bench->bpf->bss->watch_slots_used, 1);
}

int main(void)
{
	unit_needs_root("load BPF programs");
	libbpf_set_print(NULL);
	return unit_run(NULL, NULL);
}
