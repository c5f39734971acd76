// SPDX-License-Identifier: GPL-2.0-or-later
/* What each format for other programs' readers writes, to the letter, of names that are odd. */
#include "tests/unit/output_fixture.h"

/* Hits ---------------------------------------------------------------------------------------- */

static const struct frame frames[] = {
	{ .kind = FRAME_DOTNET,
	  .address = { 0x1000 },
	  .name = "A::b(int32)",
	  .module = "a (1).dll",
	  .offset = 0x1f,
	  .in_file = true,
	  .file_offset = 0x2f },
	{ .kind = FRAME_NATIVE, .address = { 0x2000 }, .module = "lib\x1b\".so", .offset = 0x20 },
	{ .kind = FRAME_STUB, .address = { 0x3000 }, .name = "[stub]" },
	{ .kind = FRAME_V8,
	  .address = { 0x3800 },
	  .name = "Shop.\"o\\r\xff\xc3\xa4",
	  .source = "my shop\n.js",
	  .line = 12,
	  .column = 5,
	  .tier = "maglev",
	  .inlined = true },
	{ .kind = FRAME_V8, .address = { 0x3900 }, .name = "JSON.parse", .tier = "builtin" },
	{ .kind = FRAME_NATIVE,
	  .address = { 0x3a00 },
	  .name = "operator new(unsigned long)",
	  .module = "libc.so.6",
	  .offset = 1,
	  .inlined = true },
	{ .kind = FRAME_UNKNOWN, .address = { 0x7fffffff4000 } },
};

static const struct stack broken = {
	.frames = (struct frame *)frames,
	.count = sizeof(frames) / sizeof(frames[0]),
	.end = STACK_BROKEN,
};
static const struct stack whole = { .frames = (struct frame *)frames, .count = 1 };
static const struct stack busy = { .end = STACK_BUSY };

static const struct hit odd_hit = {
	.time_ns = 1500001999,
	.pid = 7,
	.tid = 123456,
	.comm = "w\x01rk 3;",
	.method = "A::b(int32)",
	.tier = "tier1",
	.stack = &broken,
};

static const struct output_loss losses[] = { { "ring-buffer-full", 3 },
					     { "v8-moved", 1 },
					     { NULL, 0 } };

/* Threads and stacks that differ, a call that has ended, and the end of a run. */
static void write_hits(struct output *output)
{
	struct hit hit = odd_hit;

	output_hit(output, &hit);
	hit.comm = "m";
	hit.tid = 7;
	hit.stack = &whole;
	hit.duration_ns = 2500001;
	output_hit(output, &hit);
	hit.comm = "";
	hit.stack = &busy;
	hit.duration_ns = 0;
	hit.time_ns = 12345678901234;
	output_hit(output, &hit);
	output_summary(output, &(struct output_summary){ .hits = 3, .losses = losses });
}

/* A run that has failed half way: there is no summary. */
static void write_one_hit(struct output *output)
{
	struct hit hit = odd_hit;

	hit.stack = &whole;
	output_hit(output, &hit);
}

static void write_nothing(struct output *output)
{
	(void)output;
}

static void write_end(struct output *output)
{
	output_summary(output, &(struct output_summary){ .losses = &losses[2] });
}

static const struct options perf_script = { .mode = MODE_HITS, .format = FORMAT_PERF_SCRIPT };

UNIT_TEST(as_perf_script)
{
	struct options wall = perf_script;

	check(&perf_script, write_hits,
	      "w?rk_3;     7/123456     1.500001:          1 place_probe:hit: \n"
	      "\t            1000 A::b(int32)+0x1f (a__1_.dll)\n"
	      "\t            2000 [unknown] (lib?\".so)\n"
	      "\t            3000 [stub] ([unknown])\n"
	      "\t            3800 Shop.\"o\\r\xff\xc3\xa4 (my_shop?.js:12)\n"
	      "\t            3900 JSON.parse ([unknown])\n"
	      "\t            3a00 operator new(unsigned long) (inlined)\n"
	      "\t    7fffffff4000 [unknown] ([unknown])\n"
	      "\t               0 [broken] ([unknown])\n"
	      "\n"
	      "m      7/7         1.500001:    2500001 place_probe:call: \n"
	      "\t            1000 A::b(int32)+0x1f (a__1_.dll)\n"
	      "\n"
	      "?      7/7     12345.678901:          1 place_probe:hit: \n"
	      "\t               0 A::b(int32)+0x0 ([unknown])\n"
	      "\t               0 [busy] ([unknown])\n"
	      "\n"
	      "# 3 hits; lost: ring-buffer-full 3, v8-moved 1\n");
	check(&perf_script, write_nothing, "");
	check(&perf_script, write_end, "# 0 hits; lost: nothing\n");
	wall.wall_clock = true;
	check(&wall, write_one_hit,
	      "w?rk_3;     7/123456     1.500006:          1 place_probe:hit: \n"
	      "\t            1000 A::b(int32)+0x1f (a__1_.dll)\n"
	      "\n");
}

UNIT_MAIN(NULL, NULL)
