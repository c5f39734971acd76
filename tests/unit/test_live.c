// SPDX-License-Identifier: GPL-2.0-or-later
/* The live view without a terminal: records and keys go in, lines come out. */
#include "tests/unit/output_fixture.h"

#include <locale.h>

#include "base/clock.h"
#include "latency/latency.h"
#include "output/live.h"
#include "screen/columns.h"

enum { PID = 4711, WIDE = 132, NARROW = 40, HEIGHT = 12 };

static const struct output_loss nothing_lost[] = { { NULL } };
static const struct output_tier no_tiers[] = { { NULL } };
static const struct output_tier tiers[] = { { "r2r", 2, 2, 0 }, { "tier1", 3, 1, 0 }, { NULL } };

static int with_utf8(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

/* Records ------------------------------------------------------------------------------------- */

static struct output_status status_at(uint64_t seconds, uint64_t hits)
{
	return (struct output_status){
		.elapsed_ns = seconds * NS_PER_S,
		.hits = hits,
		.losses = nothing_lost,
		.tiers = tiers,
		.registers = 3,
		.registers_max = 4,
		.pid = PID,
		.comm = "shop",
	};
}

/* Of two methods, as they are @seconds after the start. */
static void count_at(struct output *output, uint64_t seconds, uint64_t first, uint64_t second)
{
	const struct output_status status = status_at(seconds, first + second);
	const struct output_body bodies[] = { { "r2r", 1 },
					      { "tier1", first - 1 },
					      { "r2r", second } };
	const struct output_count counts[] = {
		{ .method = "Shop.Orders::Checkout(int32,int32)",
		  .calls = first,
		  .bodies = bodies,
		  .body_count = 2 },
		{ .method = "A.\x1b\xc3\xa4::b()",
		  .calls = second,
		  .bodies = bodies + 2,
		  .body_count = 1 },
	};

	output_status(output, &status);
	output_counts(output, counts, 2);
	output_kept(output);
}

/* @returned calls of @us microseconds. */
static struct histogram histogram_of(uint64_t returned, uint64_t us)
{
	uint64_t ns = us * NS_PER_US, low, high;
	struct histogram histogram = {
		.returned = returned,
		.sum_ns = returned * ns,
		.min_ns = ns,
		.max_ns = ns,
	};

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		latency_bucket_bounds(i, &low, &high);
		if (low <= ns && ns < high)
			histogram.buckets[i] = returned;
	}
	return histogram;
}

static void time_at(struct output *output, uint64_t seconds)
{
	const struct output_status status = status_at(seconds, 33);
	struct histogram often = histogram_of(30, 15), slow = histogram_of(2, 20000);
	const struct output_hist hists[] = {
		{ .method = "A::often()", .histogram = &often },
		{ .method = "B::slow()", .histogram = &slow },
	};

	slow.unwound = 1;
	output_status(output, &status);
	for (size_t i = 0; i < 2; i++)
		output_hist(output, &hists[i]);
	output_kept(output);
}

/* Lines --------------------------------------------------------------------------------------- */

struct bench {
	struct live live;
	struct output output;
	struct live_lines lines;
};

static void begin(struct bench *bench, const struct options *options, bool utf8)
{
	*bench = (struct bench){ 0 };
	live_init(&bench->live, options, utf8);
	bench->output = live_output(&bench->live, options);
}

static void end(struct bench *bench)
{
	live_lines_deinit(&bench->lines);
	live_deinit(&bench->live);
}

static void lay_out(struct bench *bench, size_t columns, size_t height, const char *note)
{
	assert_true(live_lay_out(&bench->live, columns, height, note, &bench->lines));
	assert_true(bench->lines.count <= height);
	for (size_t i = 0; i < bench->lines.count; i++)
		assert_true(columns_of(bench->lines.list[i].text, bench->live.utf8) <= columns);
}

/* Line @number is @expected, whatever blanks there are behind it. */
static void check_line(const struct bench *bench, size_t number, const char *expected)
{
	_cleanup_free_ char *line = strdup(bench->lines.list[number].text);
	size_t length;

	assert_non_null(line);
	for (length = strlen(line); length && line[length - 1] == ' ';)
		line[--length] = '\0';
	assert_string_equal(line, expected);
}

static const struct options counting = { .mode = MODE_COUNT };
static const struct options timing = { .mode = MODE_HIST, .timed = true };
static const struct options top = { .mode = MODE_HIST, .timed = true, .top = true };

UNIT_TEST(counts_are_a_table)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &counting, true);
	count_at(&bench.output, 1, 10, 2);
	count_at(&bench.output, 3, 110, 52);
	lay_out(&bench, 100, HEIGHT, "said last");
	assert_int_equal(bench.lines.count, HEIGHT);
	check_line(&bench, 0, "3 s   75 hits/s   lost: nothing   162 hits");
	check_line(&bench, 1, "bodies: r2r 2, tier1 1   registers: 3 of 4   4711 shop");
	check_line(&bench, 2, "  CALLS/S      >CALLS                    METHOD");
	check_line(
		&bench, 3,
		"       50         110  ████████████████  Shop.Orders::Checkout(int32,int32) [r2r 1, tier1 109]");
	check_line(&bench, 4, "       25          52  ███████▋          A.?ä::b() [r2r]");
	check_line(&bench, 5, "");
	check_line(&bench, HEIGHT - 2, "said last");
	assert_int_equal(bench.lines.list[3].bar_at, 23);
	assert_int_equal(bench.lines.list[3].bar_columns, 16);
}

UNIT_TEST(ascii_is_a_fallback)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &counting, false);
	count_at(&bench.output, 1, 110, 52);
	lay_out(&bench, 100, HEIGHT, NULL);
	check_line(
		&bench, 3,
		"      110         110  ****************  Shop.Orders::Checkout(int32,int32) [r2r 1, tier1 109]");
	check_line(&bench, 4, "       52          52  ********          A.??::b() [r2r]");
}

UNIT_TEST(names_are_shortened_and_their_ends_are_seen)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &counting, true);
	count_at(&bench.output, 1, 110, 52);
	lay_out(&bench, NARROW, HEIGHT, NULL);
	check_line(&bench, 2, "     >CALLS  METHOD");
	check_line(&bench, 3, "        110  Shop.Ord…ckout(int32,int32)");
	lay_out(&bench, 24, HEIGHT, NULL);
	check_line(&bench, 3, "        110  …t32,int32)");
	for (size_t columns = 1; columns < NARROW; columns++)
		lay_out(&bench, columns, HEIGHT, "a note that is longer than that");
	for (size_t height = 1; height < HEIGHT; height++)
		lay_out(&bench, WIDE, height, NULL);
}

UNIT_TEST(losses_stand_out)
{
	const struct output_loss losses[] = { { "ring-buffer-full", 3 }, { NULL, 0 } };
	struct output_status status = status_at(2, 10);
	_cleanup_(end) struct bench bench;

	status.losses = losses;
	status.tiers = no_tiers;
	begin(&bench, &counting, true);
	output_status(&bench.output, &status);
	lay_out(&bench, 100, HEIGHT, NULL);
	check_line(&bench, 0, "2 s   5 hits/s   lost: ring-buffer-full 3   10 hits");
	check_line(&bench, 1, "bodies: none   registers: 3 of 4   4711 shop");
	assert_int_equal(bench.lines.list[0].style, SCREEN_ALERT);
}

UNIT_TEST(top_has_times_and_what_was_unwound)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &top, true);
	time_at(&bench.output, 3);
	lay_out(&bench, 100, HEIGHT, NULL);
	check_line(
		&bench, 2,
		"  CALLS/S      >CALLS     TOTAL      MEAN       P99       MAX  UNWOUND  METHOD");
	check_line(
		&bench, 3,
		"       10          30    450 us     15 us     15 us     15 us        0  A::often()");
	check_line(
		&bench, 4,
		"        1           3     40 ms     20 ms     20 ms     20 ms        1  B::slow()");
	/* The most telling ones stay where there is no room. */
	lay_out(&bench, 60, HEIGHT, NULL);
	check_line(&bench, 2, "     >CALLS       P99  UNWOUND  METHOD");
	lay_out(&bench, 30, HEIGHT, NULL);
	check_line(&bench, 2, "     >CALLS       P99  METHOD");
}

UNIT_TEST(histograms_have_bars)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &timing, true);
	time_at(&bench.output, 3);
	lay_out(&bench, 60, 40, NULL);
	check_line(&bench, 2, "METHODS, by calls");
	check_line(&bench, 3, "A::often()");
	check_line(&bench, 4, "     usecs               : count    distribution");
	check_line(&bench, 7, "         4 -> 7          : 0        |");
	check_line(&bench, 8, "         8 -> 15         : 30       |███████████████████████");
	assert_int_equal(bench.lines.list[8].bar_at, 37);
	assert_int_equal(bench.lines.list[8].bar_columns, 23);
}

/* The same where nothing is drawn. */
static void write_top(struct output *output)
{
	struct output_status status = status_at(4, 99);

	time_at(output, 3);
	status.over = true;
	output_status(output, &status);
	output_kept(output);
}

UNIT_TEST(top_is_text_as_well)
{
	check(&top, write_top,
	      "3.0 s: 33 hits, 11 a second; lost: nothing\n"
	      "  CALLS/S       CALLS     TOTAL      MEAN       P99       MAX  UNWOUND  METHOD\n"
	      "       10          30    450 us     15 us     15 us     15 us        0  A::often()\n"
	      "        1           3     40 ms     20 ms     20 ms     20 ms        1  B::slow()\n\n"
	      "4.0 s: 99 hits, 25 a second; lost: nothing\n"
	      "  CALLS/S       CALLS     TOTAL      MEAN       P99       MAX  UNWOUND  METHOD\n\n");
}

/* Keys ---------------------------------------------------------------------------------------- */

UNIT_TEST(keys_sort)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &top, true);
	time_at(&bench.output, 3);
	assert_int_equal(live_key(&bench.live, 'p'), LIVE_DRAW);
	lay_out(&bench, 100, HEIGHT, NULL);
	assert_non_null(strstr(bench.lines.list[2].text, ">P99"));
	assert_non_null(strstr(bench.lines.list[3].text, "B::slow()"));
	live_key(&bench.live, 'n');
	lay_out(&bench, 100, HEIGHT, NULL);
	assert_non_null(strstr(bench.lines.list[3].text, "A::often()"));
	/* From the last column to the first, and back. */
	live_key(&bench.live, SCREEN_KEY_RIGHT);
	assert_int_equal(bench.live.key, ROWS_RATE);
	live_key(&bench.live, SCREEN_KEY_LEFT);
	assert_int_equal(bench.live.key, ROWS_NAME);
	/* What comes is in that order, too. */
	live_key(&bench.live, 'u');
	time_at(&bench.output, 4);
	lay_out(&bench, 100, HEIGHT, NULL);
	assert_non_null(strstr(bench.lines.list[3].text, "B::slow()"));
}

UNIT_TEST(keys_of_counts_are_fewer)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &counting, true);
	assert_int_equal(live_key(&bench.live, 'p'), LIVE_NOTHING);
	assert_int_equal(live_key(&bench.live, 'z'), LIVE_NOTHING);
	live_key(&bench.live, SCREEN_KEY_RIGHT);
	assert_int_equal(bench.live.key, ROWS_NAME);
	assert_int_equal(live_key(&bench.live, ' '), LIVE_DRAW);
	assert_true(bench.live.paused);
	lay_out(&bench, 100, HEIGHT, NULL);
	check_line(&bench, 0, "PAUSED");
	assert_int_equal(live_key(&bench.live, 'q'), LIVE_QUIT);
}

UNIT_TEST(what_has_no_room_is_scrolled_to)
{
	_cleanup_(end) struct bench bench;

	begin(&bench, &timing, true);
	time_at(&bench.output, 3);
	lay_out(&bench, 100, HEIGHT, NULL);
	check_line(&bench, 3, "A::often()");
	live_key(&bench.live, SCREEN_KEY_DOWN);
	lay_out(&bench, 100, HEIGHT, NULL);
	check_line(&bench, 3, "     usecs               : count    distribution");
	live_key(&bench.live, SCREEN_KEY_END);
	lay_out(&bench, 100, HEIGHT, NULL);
	assert_non_null(strstr(bench.lines.list[HEIGHT - 4].text, "p99"));
	live_key(&bench.live, SCREEN_KEY_HOME);
	lay_out(&bench, 100, HEIGHT, NULL);
	check_line(&bench, 3, "A::often()");
	/* Nor is anything lost where all of it has room again. */
	live_key(&bench.live, SCREEN_KEY_END);
	lay_out(&bench, 100, 60, NULL);
	check_line(&bench, 3, "A::often()");
}

/* Columns ------------------------------------------------------------------------------------- */

static void check_columns(const char *s, size_t columns, bool utf8, const char *expected)
{
	_cleanup_(text_deinit) struct text text = { 0 };
	size_t used = columns_add(&text, s, columns, utf8);

	assert_string_equal(text_chars(&text), expected);
	assert_int_equal(used, columns_of(expected, utf8));
	assert_true(used <= columns);
}

UNIT_TEST(characters_are_as_wide_as_they_are)
{
	assert_int_equal(columns_of("a\xe4\xb8\xad", true), 3);
	assert_int_equal(columns_of("e\xcc\x81", true), 1); /* an accent of its own */
	assert_int_equal(columns_of("a\xe4\xb8\xad", false), 2);
	check_columns("\xe4\xb8\xad\xe4\xb8\xad", 4, true, "\xe4\xb8\xad\xe4\xb8\xad");
	check_columns("\xe4\xb8\xad\xe4\xb8\xad", 3, true, "\xe2\x80\xa6\xe4\xb8\xad");
	check_columns("\xe4\xb8\xad\xe4\xb8\xad", 2, true, "\xe2\x80\xa6");
	check_columns("abcdef", 5, false, "...ef");
	check_columns("abcdef", 2, false, "ef");
	check_columns("a\xff\x1b", 3, true, "a??");
}

UNIT_MAIN(with_utf8, NULL)
