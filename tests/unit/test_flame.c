// SPDX-License-Identifier: GPL-2.0-or-later
/* The data in the page of --flame: names that are odd, stacks as they are packed, runs, room. */
#include "tests/unit/output_fixture.h"

#include <zlib.h>

#include "latency/latency.h"

static const struct frame frames[] = {
	{ .kind = FRAME_DOTNET,
	  .name = "A::b(</script><!--\"\\\n)",
	  .module = "a.dll",
	  .source = "a.cs",
	  .line = 3,
	  .column = 9,
	  .tier = "tier1" },
	{ .kind = FRAME_V8,
	  .name = "f\xff\xe2\x80\xa8",
	  .source = "s.js",
	  .line = 5,
	  .inlined = true,
	  .guessed = true },
	{ .kind = FRAME_NATIVE, .module = "libc.so.6" },
};

static const struct stack whole = { .frames = (struct frame *)frames, .count = 3 };
static const struct stack broken = { .frames = (struct frame *)frames + 2,
				     .count = 1,
				     .end = STACK_BROKEN };
static const struct hit call = { .time_ns = 5000, .tid = 7, .comm = "<w>", .method = "A::b" };

static const struct output_loss none[] = { { NULL, 0 } };
static const struct output_loss lost[] = { { "ring-buffer-full", 3 }, { NULL, 0 } };
static const char *const no_bounds[] = { NULL };
static const char *const bounds[] = { "tier-moved", NULL };

static const struct options page = { .mode = MODE_FOLDED,
				     .format = FORMAT_FLAME,
				     .memory_bytes = 1 << 20 };

static void count(struct output *output, const struct stack *stack, uint64_t hits)
{
	struct hit hit = call;
	struct output_kind *kind;

	hit.stack = stack;
	kind = output_kind(output, &hit);
	output_kind_count(output, kind, hits);
	if (kind)
		output_kind_release(output, kind);
}

/* Where it is inlined, gcc takes what it returns for an address on the stack. */
static __attribute__((noinline)) char *write_page(const struct options *options,
						  void (*write)(struct output *output))
{
	return write_out(options, write);
}

/* What is in the page behind @key, up to where @end begins; the caller frees it. */
static char *part(const struct options *options, void (*write)(struct output *output),
		  const char *key, const char *end)
{
	char *written = write_page(options, write), *data, *from, *to, *found;

	data = strstr(written, "<script type=\"application/json\" id=\"data\">\n{");
	assert_non_null(data);
	assert_string_equal(strstr(data, "</script"), "</script>\n</body>\n</html>\n");
	from = strstr(data, key);
	assert_non_null(from);
	to = strstr(from, end);
	assert_non_null(to);
	found = strndup(from + strlen(key), (size_t)(to - from) - strlen(key));
	free(written);
	return found;
}

static void check_part(const struct options *options, void (*write)(struct output *output),
		       const char *key, const char *end, const char *expected)
{
	_cleanup_free_ char *found = part(options, write, key, end);

	assert_string_equal(found, expected);
}

static void write_stacks(struct output *output)
{
	count(output, &whole, 2);
	count(output, &broken, 300);
	count(output, &whole, 1);
	output_summary(output, &(struct output_summary){
				       .hits = 303, .losses = lost, .lower_bound = bounds });
}

UNIT_TEST(names_begin_no_element)
{
	check_part(
		&page, write_stacks, "\"frames\":[\n", "],\n\"nodes\"",
		"[\"note\",\"all\",null,null,0,0,null,0],\n"
		"[\"note\",\"other stacks\",null,null,0,0,null,0],\n"
		"[\"thread\",\"\\u003cw>\",null,null,0,0,null,0],\n"
		"[\"native\",null,\"libc.so.6\",null,0,0,null,0],\n"
		"[\"v8\",\"f?\xe2\x80\xa8\",null,\"s.js\",5,0,null,7],\n"
		"[\"dotnet\",\"A::b(\\u003c/script>\\u003c!--\\\"\\\\\\n)\",\"a.dll\",\"a.cs\",3,9,"
		"\"tier1\",0],\n"
		"[\"note\",\"broken\",null,null,0,0,null,0]");
}

/* Undoes Base64 of whole groups, in place; how many bytes those are. */
static size_t bytes_of(char *base64)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t count = 0;
	uint32_t bits = 0;

	for (size_t i = 0; base64[i] && base64[i] != '='; i++) {
		const char *letter = strchr(letters, base64[i]);

		assert_non_null(letter);
		bits = bits << 6 | (uint32_t)(letter - letters);
		if (i % 4)
			base64[count++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	return count;
}

/* How many calls end before it, its frame, its count; 172, 2 are 300. */
UNIT_TEST(stacks_are_packed)
{
	static const unsigned char expected[] = {
		0, 0, 0,     /* all */
		0, 1, 0,     /* other stacks */
		1, 2, 0,     /* the thread */
		0, 3, 0,     /* outermost */
		0, 4, 0,     /* */
		0, 5, 3,     /* innermost */
		3, 6, 0,     /* the note */
		0, 3, 172, 2 /* what is in it */
	};
	_cleanup_free_ char *packed = part(&page, write_stacks, "\"packed\":\"", "\"}}\n</script>");
	unsigned char plain[64];
	unsigned long length = sizeof(plain);

	assert_int_equal(strlen(packed) % 4, 0);
	assert_int_equal(uncompress(plain, &length, (unsigned char *)packed, bytes_of(packed)),
			 Z_OK);
	assert_int_equal(length, sizeof(expected));
	assert_memory_equal(plain, expected, sizeof(expected));
}

UNIT_TEST(run_is_told)
{
	check_part(&page, write_stacks, "\"run\":{", "},\n\"latency\"",
		   "\"hits\":303,\"losses\":[{\"reason\":\"ring-buffer-full\",\"count\":3}],"
		   "\"lower_bound\":[\"tier-moved\"],\"shed\":[]");
}

/* It ends before what it counts is released. */
static void write_half(struct output *output)
{
	struct hit hit = call;
	static char pattern[] = "A::*", other[] = "<B>", program[] = "a", option[] = "-b";
	char *const patterns[] = { pattern, other }, *const command[] = { program, option, NULL };

	output_run(output, &(struct output_run){ .pid = 7,
						 .name = "<x>",
						 .patterns = patterns,
						 .pattern_count = 2,
						 .command = command });
	hit.stack = &whole;
	output_kind_count(output, output_kind(output, &hit), 1);
}

UNIT_TEST(run_has_failed)
{
	check_part(&page, write_half, "\"run\":{", "},\n\"latency\"",
		   "\"pid\":7,\"name\":\"\\u003cx>\",\"patterns\":[\"A::*\",\"\\u003cB>\"],"
		   "\"command\":[\"a\",\"-b\"],\"began_ms\":0,\"duration_ns\":0,\"tiers\":[],\n"
		   "\"failed\":true");
}

static void write_two_runs(struct output *output)
{
	output->base = true;
	count(output, &whole, 5);
	output_summary(output, &(struct output_summary){
				       .hits = 5, .losses = none, .lower_bound = no_bounds });
	output->base = false;
	count(output, &whole, 2);
	output_summary(output, &(struct output_summary){
				       .hits = 2, .losses = none, .lower_bound = no_bounds });
}

/* Stacks that both have are the same nodes. */
UNIT_TEST(two_runs_are_one_tree)
{
	check_part(&page, write_two_runs, "\"nodes\":{", "\"packed\"",
		   "\"count\":6,\"columns\":[\"count\",\"base_count\"],\n");
	check_part(&page, write_two_runs, "\"base\":{\"hits\":", ",", "5");
}

static void write_calls(struct output *output)
{
	struct hit hit = call;

	hit.stack = &whole;
	hit.duration_ns = 2000;
	output_hit(output, &hit);
	hit.duration_ns = 30;
	hit.time_ns = 1000000000;
	output_hit(output, &hit);
}

/* 30 ns are in the fourth bucket; a slice has 100 ms; both calls have the same stack. */
UNIT_TEST(calls_have_times)
{
	struct options options = page;

	options.mode = MODE_HIST;
	options.slow_ns = 1;
	check_part(&options, write_calls, "\"nodes\":{", "\"packed\"",
		   "\"count\":6,\"columns\":[\"count\",\"time\"],\n");
	check_part(&options, write_calls, "\"ends_ns\":[", "\"frames\"",
		   "],\n\"base_ends_ns\":[],\n\"dropped\":0,\n\"rows\":[\n"
		   "{\"run\":0,\"method\":\"A::b\",\"returned\":2,\"unwound\":0,\"not_timed\":0,"
		   "\"unfinished\":0,\"sum_ns\":2030,\"min_ns\":30,\"max_ns\":2000,"
		   "\"watched\":1.0000,\"lower_bound\":[]}],\n\"cells\":[0,0,27,1,0,9,3,1]},\n");
}

static void write_intervals(struct output *output)
{
	struct histogram histogram = { .returned = 2, .sum_ns = 130, .min_ns = 60, .max_ns = 70 };
	struct output_hist hist = { .method = "A::b", .histogram = &histogram, .watched = 0.5 };

	histogram.buckets[60] = 1;
	histogram.buckets[63] = 1;
	output_hist(output, &hist);
	output_kept(output);
	histogram.buckets[60] = 0;
	histogram.returned = 1;
	histogram.unfinished = 4;
	hist.lower_bound = bounds;
	output_hist(output, &hist);
	output_kept(output);
}

UNIT_TEST(intervals_are_added_up)
{
	struct options options = page;

	options.mode = MODE_HIST;
	check_part(&options, write_intervals, "\"rows\":[\n", "},\n\"frames\"",
		   "{\"run\":0,\"method\":\"A::b\",\"returned\":3,\"unwound\":0,\"not_timed\":0,"
		   "\"unfinished\":4,\"sum_ns\":260,\"min_ns\":60,\"max_ns\":70,"
		   "\"watched\":0.5000,\"lower_bound\":[\"tier-moved\"]}],\n"
		   "\"cells\":[0,0,7,2,0,1,7,1]");
}

static void write_linear(struct output *output)
{
	uint64_t linear[] = { 1, 0, 5, 2 };
	struct histogram histogram = { .returned = 8, .linear = linear, .linear_count = 2 };
	const struct output_hist hist = {
		.method = "A::b", .by = LATENCY_BY_CALLER, .caller = "<c>", .histogram = &histogram
	};

	output_hist(output, &hist);
	output_kept(output);
}

UNIT_TEST(linear_buckets)
{
	struct options options = page;

	options.mode = MODE_HIST;
	options.linear = (struct hist_range){ .min_ns = 10, .max_ns = 30, .step_ns = 10 };
	check_part(&options, write_linear, "\"bounds\":", ",\n", "[0,10,20,30,null]");
	check_part(&options, write_linear, "\"cells\":", "}", "[0,0,0,1,0,0,2,5,0,0,3,2]");
	check_part(&options, write_linear, "\"rows\":[\n{", ",\"returned\"",
		   "\"run\":0,\"method\":\"A::b\",\"of\":\"\\u003cc>\"");
}

static void write_too_many(struct output *output)
{
	struct frame frame = { .kind = FRAME_NATIVE };
	const struct stack stack = { .frames = &frame, .count = 1 };
	char name[32];

	frame.name = name;
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		count(output, &stack, 1);
	}
	assert_true(output->left_out > 9000 && output->left_out < 10000);
}

/* What is kept is within --memory; what there is no room for is one stack. */
UNIT_TEST(room_is_bounded)
{
	struct options options = page;
	char *nodes;

	options.memory_bytes = 100000;
	nodes = part(&options, write_too_many, "\"nodes\":{\"count\":", ",");
	assert_true(atoi(nodes) > 50 && atoi(nodes) < 1000);
	free(nodes);
}

static void write_without_room(struct output *output)
{
	struct histogram histogram = { .returned = 3 };
	const struct output_hist hist = { .method = "A::b", .histogram = &histogram };

	output_hist(output, &hist);
	assert_int_equal(output->left_out, 3);
}

UNIT_TEST(latencies_without_room_are_told)
{
	struct options options = page;

	options.mode = MODE_HIST;
	options.memory_bytes = 0;
	check_part(&options, write_without_room, "\"dropped\":", ",", "3");
}

static void write_nothing(struct output *output)
{
	(void)output;
}

UNIT_TEST(nothing_is_no_page)
{
	check(&page, write_nothing, "");
}

UNIT_MAIN(NULL, NULL)
