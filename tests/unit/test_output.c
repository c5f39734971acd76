// SPDX-License-Identifier: GPL-2.0-or-later
/* The same records through each format, and what each writes of them. */
#include "unit.h"

#include <string.h>

#include "latency/latency.h"
#include "tests/unit/output_fixture.h"

enum { PID = 4711 };

static const struct options text = { .mode = MODE_HITS };
static const struct options json = { .mode = MODE_HITS, .format = FORMAT_JSON };
static const struct options list = { .mode = MODE_LIST };
static const struct options dry_run = { .mode = MODE_DRY_RUN };
static const struct options folded = { .mode = MODE_FOLDED, .memory_bytes = 1 << 20 };
static const struct options folded_json = { .mode = MODE_FOLDED,
					    .format = FORMAT_JSON,
					    .memory_bytes = 1 << 20 };

/*
 * Hits ------------------------------------------------------------------------------------------
 */

static const struct frame frames[] = {
	{ .kind = FRAME_DOTNET,
	  .address = { 0x1000 },
	  .name = "A::b(int32)",
	  .module = "a.dll",
	  .offset = 0x1f,
	  .in_file = true,
	  .file_offset = 0x2f,
	  .inlined = true },
	{ .kind = FRAME_NATIVE,
	  .address = { 0x2000 },
	  .module = "lib\x1b.so",
	  .offset = 0x20,
	  .guessed = true },
	{ .kind = FRAME_STUB, .address = { 0x3000 }, .name = "a;b" },
	{ .kind = FRAME_V8,
	  .address = { 0x3800 },
	  .name = "Shop.order",
	  .source = "shop;\x1b\x7f\xc2\x9b\xc2\xa9.js",
	  .line = 12,
	  .column = 5,
	  .tier = "maglev" },
	{ .kind = FRAME_V8, .address = { 0x3900 }, .name = "JSON.parse", .tier = "builtin" },
	{ .kind = FRAME_UNKNOWN, .address = { 0x4000 } },
};

/* With lines, of code that others compile than V8. */
static const struct frame with_lines[] = {
	{ .kind = FRAME_NATIVE,
	  .name = "add(int)",
	  .module = "libshop.so",
	  .offset = 0x12,
	  .source = "/build/shop;/src/\x1b"
		    "add.c",
	  .line = 12,
	  .column = 7,
	  .inlined = true },
	{ .kind = FRAME_NATIVE,
	  .name = "sell",
	  .module = "libshop.so",
	  .offset = 0x12,
	  .source = "sell.c",
	  .line = 40 },
	{ .kind = FRAME_DOTNET,
	  .name = "Shop::Order(int32)",
	  .module = "shop.dll",
	  .offset = 0x29,
	  .source = "C:\\shop\\Orders.cs",
	  .made_from = "state machine of Shop::Sell()",
	  .line = 41,
	  .column = 9 },
	{ .kind = FRAME_DOTNET, .name = "Shop::Run()", .module = "shop.dll", .source = "/src/" },
	{ .kind = FRAME_STUB, .name = "x", .module = "m" },
};

static const struct stack of_lines = {
	.frames = (struct frame *)with_lines,
	.count = sizeof(with_lines) / sizeof(with_lines[0]),
};

static const struct stack broken = {
	.frames = (struct frame *)frames,
	.count = sizeof(frames) / sizeof(frames[0]),
	.end = STACK_BROKEN,
};

static const struct hit slow_hit = {
	.time_ns = 1500001000,
	.pid = 7,
	.tid = 8,
	.comm = "w\x01rker;",
	.method = "A::b(int32)",
	.tier = "tier1",
	.duration_ns = 2500000,
	.stack = &broken,
};

static void write_hit(struct output *output)
{
	output_hit(output, &slow_hit);
}

/* Twice with its stack, once without. */
static void write_hits(struct output *output)
{
	struct hit hit = slow_hit;

	output_hit(output, &hit);
	output_hit(output, &hit);
	hit.stack = NULL;
	output_hit(output, &hit);
	output_kept(output);
	/* What was kept is forgotten. */
	output_kept(output);
}

static void write_plain_hit(struct output *output)
{
	const struct hit hit = {
		.time_ns = 500, .comm = "main", .method = "A::b()", .tier = "r2r"
	};

	output_hit(output, &hit);
}

UNIT_TEST(hits)
{
	struct options wall = json;

	check(&text, write_hit,
	      "    1.500000  w?rker;         7/8  A::b(int32) [tier1] took 2.5 ms\n"
	      "        dotnet   A::b(int32) (a.dll) [inlined]\n"
	      "        native   lib?.so+0x20 [guessed]\n"
	      "        stub     a;b+0x0 (run-time code)\n"
	      "        js       Shop.order (shop;????\xc2\xa9.js:12:5)\n"
	      "        js       JSON.parse\n"
	      "        unknown  0x4000\n"
	      "        [callers unknown: no way up the stack]\n\n");
	check_json(
		&json, write_hit,
		"{'type':'hit','time_ns':1500001000,'pid':7,'tid':8,'comm':'w\\u0001rker;',"
		"'method':'A::b(int32)','tier':'tier1','duration_ns':2500000,'stack':["
		"{'kind':'dotnet','name':'A::b(int32)','module':'a.dll','offset':31,"
		"'file_offset':47,'file':null,'line':null,'column':null,'made_from':null,'tier':null,'inlined':true,'guessed':false},"
		"{'kind':'native','name':null,'module':'lib\\u001b.so','offset':32,"
		"'file_offset':null,'file':null,'line':null,'column':null,'made_from':null,'tier':null,'inlined':false,'guessed':true},"
		"{'kind':'stub','name':'a;b','module':null,'offset':0,"
		"'file_offset':null,'file':null,'line':null,'column':null,'made_from':null,'tier':null,'inlined':false,'guessed':false},"
		"{'kind':'v8','name':'Shop.order','module':null,'offset':14336,"
		"'file_offset':null,'file':'shop;\\u001b\\u007f\\u009b\xc2\xa9.js','line':12,'column':5,'made_from':null,"
		"'tier':'maglev','inlined':false,'guessed':false},"
		"{'kind':'v8','name':'JSON.parse','module':null,'offset':14592,"
		"'file_offset':null,'file':null,'line':null,'column':null,'made_from':null,'tier':'builtin',"
		"'inlined':false,'guessed':false},"
		"{'kind':'unknown','name':null,'module':null,'offset':16384,"
		"'file_offset':null,'file':null,'line':null,'column':null,'made_from':null,'tier':null,'inlined':false,'guessed':false}],"
		"'stack_end':'broken'}\n");
	check(&text, write_plain_hit, "    0.000000  main            0/0  A::b() [r2r]\n");
	wall.wall_clock = true;
	check_json(&wall, write_plain_hit,
		   "{'type':'hit','time_ns':5500,'pid':0,'tid':0,'comm':'main','method':'A::b()',"
		   "'tier':'r2r','duration_ns':null,'stack':[],'stack_end':null}\n");
}

static void write_trace(struct output *output)
{
	static const struct hit hit = {
		.time_ns = 1001000,
		.pid = 7,
		.tid = 8,
		.comm = "shop",
		.method = "A::root()",
		.tier = "r2r",
		.duration_ns = 12400000,
	};
	static const struct output_traced calls[] = {
		{ .method = "A::root()", .calls = 1, .took_ns = 12400000, .self_ns = 1100000 },
		{ .method = "A::b\"()",
		  .depth = 1,
		  .calls = 3,
		  .took_ns = 8000000,
		  .self_ns = 8000000 - 900,
		  .unwound = 2 },
		{ .method = "A::c()",
		  .depth = 2,
		  .calls = 1,
		  .took_ns = 900,
		  .self_ns = 900,
		  .thread_ended = 1 },
		{ .method = "d",
		  .native = true,
		  .depth = 1,
		  .calls = 1,
		  .took_ns = 3300000,
		  .self_ns = 3300000,
		  .unwound = 1 },
		{ .method = "e", .depth = 1, .calls = 2, .unseen = 2 },
	};
	const struct output_trace trace = {
		.hit = &hit,
		.calls = calls,
		.count = sizeof(calls) / sizeof(calls[0]),
		.missing = 1,
		.not_followed = 5,
		.left_out = 6,
	};

	output_trace(output, &trace);
}

static void write_lone_trace(struct output *output)
{
	const struct hit hit = { .comm = "c", .method = "m", .tier = "r2r" };
	const struct output_traced call = { .method = "m", .calls = 1 };
	const struct output_trace trace = { .hit = &hit, .calls = &call, .count = 1 };

	output_trace(output, &trace);
}

UNIT_TEST(traces)
{
	check(&text, write_trace,
	      "    0.001000  shop            7/8  A::root() took 12.40 ms, self 1.10 ms\n"
	      "     8.00 ms  A::b\"() x3, self 8.00 ms, 2 left by an exception\n"
	      "     0.90 us    A::c(), under way when the thread ended\n"
	      "     3.30 ms  d, left by an exception or a jump\n"
	      "     0.00 us  e x2, 2 not seen to end\n"
	      "        [1 call is missing: the ring buffer was full (--buffer makes it larger)]\n"
	      "        [5 calls are missing: too deep, or their exits had no probes when they began]\n"
	      "        [6 calls are missing: there was no room for more in one trace]\n\n");
	check_json(&json, write_trace,
		   "{'type':'trace','time_ns':1001000,'pid':7,'tid':8,'comm':'shop',"
		   "'method':'A::root()','tier':'r2r','duration_ns':12400000,"
		   "'missing':1,'not_followed':5,'left_out':6,'root':"
		   "{'method':'A::root()','calls':1,'took_ns':12400000,'self_ns':1100000,"
		   "'unwound':0,'not_seen':0,'thread_ended':0,'children':["
		   "{'method':'A::b\\'()','calls':3,'took_ns':8000000,'self_ns':7999100,"
		   "'unwound':2,'not_seen':0,'thread_ended':0,'children':["
		   "{'method':'A::c()','calls':1,'took_ns':900,'self_ns':900,"
		   "'unwound':0,'not_seen':0,'thread_ended':1,'children':[]}]},"
		   "{'method':'d','calls':1,'took_ns':3300000,'self_ns':3300000,"
		   "'unwound':1,'not_seen':0,'thread_ended':0,'children':[]},"
		   "{'method':'e','calls':2,'took_ns':0,'self_ns':0,"
		   "'unwound':0,'not_seen':2,'thread_ended':0,'children':[]}]}}\n");
	check(&text, write_lone_trace, "    0.000000  c               0/0  m took 0.00 us\n\n");
	check_json(
		&json, write_lone_trace,
		"{'type':'trace','time_ns':0,'pid':0,'tid':0,'comm':'c','method':'m','tier':'r2r',"
		"'duration_ns':null,'missing':0,'not_followed':0,'left_out':0,'root':"
		"{'method':'m','calls':1,'took_ns':0,'self_ns':0,"
		"'unwound':0,'not_seen':0,'thread_ended':0,'children':[]}}\n");
}

static void write_lines(struct output *output)
{
	const struct hit hit = { .comm = "c", .method = "m", .tier = "r2r", .stack = &of_lines };

	output_hit(output, &hit);
	output_kept(output);
}

UNIT_TEST(lines)
{
	check(&text, write_lines,
	      "    0.000000  c               0/0  m [r2r]\n"
	      "        native   add(int) (libshop.so) ?add.c:12 [inlined]\n"
	      "        native   sell+0x12 (libshop.so) sell.c:40\n"
	      "        dotnet   Shop::Order(int32) (Orders.cs:41) [state machine of Shop::Sell()]\n"
	      "        dotnet   Shop::Run() (/src/)\n"
	      "        stub     x+0x0 (m)\n\n");
	check_json(
		&json, write_lines,
		"{'type':'hit','time_ns':0,'pid':0,'tid':0,'comm':'c','method':'m','tier':'r2r',"
		"'duration_ns':null,'stack':["
		"{'kind':'native','name':'add(int)','module':'libshop.so','offset':18,'file_offset':null,"
		"'file':'/build/shop;/src/\\u001badd.c','line':12,'column':7,'made_from':null,'tier':null,'inlined':true,'guessed':false},"
		"{'kind':'native','name':'sell','module':'libshop.so','offset':18,'file_offset':null,"
		"'file':'sell.c','line':40,'column':null,'made_from':null,'tier':null,'inlined':false,'guessed':false},"
		"{'kind':'dotnet','name':'Shop::Order(int32)','module':'shop.dll','offset':41,'file_offset':null,"
		"'file':'C:\\\\shop\\\\Orders.cs','line':41,'column':9,'made_from':'state machine of Shop::Sell()',"
		"'tier':null,'inlined':false,'guessed':false},"
		"{'kind':'dotnet','name':'Shop::Run()','module':'shop.dll','offset':0,'file_offset':null,"
		"'file':'/src/','line':null,'column':null,'made_from':null,'tier':null,'inlined':false,'guessed':false},"
		"{'kind':'stub','name':'x','module':'m','offset':0,'file_offset':null,"
		"'file':null,'line':null,'column':null,'made_from':null,'tier':null,'inlined':false,'guessed':false}],"
		"'stack_end':'whole'}\n");
	check(&folded, write_lines, "c;x;Shop::Run();Shop::Order(int32);sell;add(int) 1\n");
}

/* The second time nothing is made anew: frames that are others by then do not show. */
static void write_known_hits(struct output *output)
{
	struct rendering of_frame = { 0 }, of_stack = { 0 };
	struct frame frame = frames[1];
	struct stack stack = { .frames = &frame, .count = 1, .rendering = &of_stack };
	struct hit hit = { .comm = "c", .method = "m", .tier = "r2r", .stack = &stack };

	frame.rendering = &of_frame;
	output_hit(output, &hit);
	frame.module = "other";
	frame.guessed = false;
	output_hit(output, &hit);
	/* The same frame in another stack: whether it is guessed is not the frame's own. */
	stack.rendering = NULL;
	output_hit(output, &hit);
	frame.rendering = NULL;
	output_hit(output, &hit);
	free(of_frame.text);
	free(of_stack.text);
}

UNIT_TEST(known_hits)
{
	static const char hit[] = "    0.000000  c               0/0  m [r2r]\n";
	char expected[512];

	snprintf(expected, sizeof(expected),
		 "%s        native   lib?.so+0x20 [guessed]\n\n"
		 "%s        native   lib?.so+0x20 [guessed]\n\n"
		 "%s        native   lib?.so+0x20\n\n"
		 "%s        native   other+0x20\n\n",
		 hit, hit, hit, hit);
	check(&text, write_known_hits, expected);
}

/* Hits that are counted elsewhere; and of a stack for which there is no room. */
static void write_kinds(struct output *output)
{
	struct frame frame = { .name = "f" };
	const struct stack stack = { .frames = &frame, .count = 1 };
	const struct hit hit = { .comm = "c", .stack = &stack };
	struct output_kind *kind = output_kind(output, &hit);

	output_kind_count(output, kind, 5);
	output_kept(output);
	/* Nothing new. */
	output_kept(output);
	output_kind_count(output, kind, 2);
	output_hit(output, &hit);
	output_kind_count(output, NULL, 4);
	output_kept(output);
	if (kind)
		output_kind_release(output, kind);
	output_kept(output);
}

UNIT_TEST(counted_kinds)
{
	struct options none = folded;

	check(&folded, write_kinds, "c;f 5\nc;f 3\n[other stacks] 4\n");
	none.memory_bytes = 0;
	check(&none, write_kinds, "[other stacks] 5\n[other stacks] 7\n");
}

/* What cannot stand in JSON as it is. */
static void write_odd_hit(struct output *output)
{
	const struct hit hit = { .comm = "\t\b\"\\/\x1f\x7f",
				 .method = "a\xff\xc3\xa4\xed\xa0\xc2\x80\xc2\x9f\xc2\xa0",
				 .tier = "" };

	output_hit(output, &hit);
}

UNIT_TEST(odd_names)
{
	check(&json, write_odd_hit,
	      "{\"type\":\"hit\",\"time_ns\":0,\"pid\":0,\"tid\":0,"
	      "\"comm\":\"\\t\\b\\\"\\\\/\\u001f\\u007f\",\"method\":\"a?\xc3\xa4??\\u0080\\u009f\xc2\xa0\","
	      "\"tier\":\"\",\"duration_ns\":null,\"stack\":[],\"stack_end\":null}\n");
}

UNIT_TEST(merged_hits)
{
	check(&folded, write_hits,
	      "w?rker: 1\n"
	      "w?rker:;[broken];[unknown];JSON.parse;Shop.order (shop:????\xc2\xa9.js:12);a:b;[lib?.so] [guessed];A::b(int32) 2\n");
	check_json(
		&folded_json, write_hits,
		"{'type':'folded','stack':['w?rker:'],'count':1}\n"
		"{'type':'folded','stack':['w?rker:','[broken]','[unknown]','JSON.parse','Shop.order (shop:????\xc2\xa9.js:12)','a:b',"
		"'[lib?.so] [guessed]','A::b(int32)'],'count':2}\n");
}

/*
 * Counts ----------------------------------------------------------------------------------------
 */

static const char *const codes[] = { "not-probed", "loaded-later", NULL };

static void write_counts(struct output *output)
{
	static const struct output_body bodies[] = { { "r2r", 12 }, { "tier1", 30 } };
	const struct output_count counts[] = {
		{ .method = "A::b()", .calls = 42, .bodies = bodies, .body_count = 2 },
		{ .method = "C::d()", .bodies = &bodies[1], .body_count = 1, .lower_bound = codes },
		{ .method = "E::f()",
		  .calls = 20,
		  .bodies = &bodies[1],
		  .body_count = 1,
		  .lower_bound = &codes[2],
		  .watched = 0.25,
		  .all_calls = 30 },
		{ .method = "G::h()",
		  .calls = 2,
		  .bodies = &bodies[1],
		  .body_count = 1,
		  .lower_bound = &codes[2],
		  .watched = 0.5,
		  .all_calls = 2 },
		{ .method = "I::j()",
		  .calls = 2,
		  .bodies = &bodies[1],
		  .body_count = 1,
		  .lower_bound = &codes[2],
		  .watched = 1,
		  .all_calls = 2 },
	};

	output_counts(output, counts, sizeof(counts) / sizeof(counts[0]));
}

/* With so many methods, those without a call are not written by name. */
static void write_many_counts(struct output *output)
{
	static const struct output_body body = { "r2r", 0 };
	struct output_count counts[60];

	for (size_t i = 0; i < 60; i++)
		counts[i] = (struct output_count){
			.method = "A::b()", .calls = i == 30, .bodies = &body, .body_count = 1
		};
	output_counts(output, counts, 60);
}

UNIT_TEST(calls)
{
	check(&text, write_counts,
	      "       CALLS  METHOD\n"
	      "          42  A::b() [r2r 12, tier1 30]\n"
	      "           0  C::d() [tier1]  watched 0 % of the time\n"
	      "          20  E::f() [tier1]  watched 25 % of the time: about 120 in all\n"
	      "           2  G::h() [tier1]  watched 50 % of the time\n"
	      "           2  I::j() [tier1]\n\n");
	check_json(&json, write_counts,
		   "{'type':'count','method':'A::b()','calls':42,'bodies':["
		   "{'tier':'r2r','calls':12},{'tier':'tier1','calls':30}]}\n"
		   "{'type':'count','method':'C::d()','calls':0,'bodies':["
		   "{'tier':'tier1','calls':30}],'lower_bound':['not-probed','loaded-later'],"
		   "'watched':0.000000,'estimate':null}\n"
		   "{'type':'count','method':'E::f()','calls':20,'bodies':["
		   "{'tier':'tier1','calls':30}],'lower_bound':[],"
		   "'watched':0.250000,'estimate':120}\n"
		   "{'type':'count','method':'G::h()','calls':2,'bodies':["
		   "{'tier':'tier1','calls':30}],'lower_bound':[],"
		   "'watched':0.500000,'estimate':4}\n"
		   "{'type':'count','method':'I::j()','calls':2,'bodies':["
		   "{'tier':'tier1','calls':30}],'lower_bound':[],"
		   "'watched':1.000000,'estimate':2}\n");
	check(&text, write_many_counts,
	      "       CALLS  METHOD\n"
	      "           1  A::b() [r2r]\n"
	      "           0  (59 more methods without a call)\n\n");
}

/*
 * Durations -------------------------------------------------------------------------------------
 */

static uint64_t linear_buckets[] = { 1, 2, 0, 3 };
static struct histogram durations = {
	.returned = 3,
	.unwound = 1,
	.untimed = 2,
	.unfinished = 4,
	.sum_ns = 9000,
	.min_ns = 1000,
	.max_ns = 5000,
};

static void fill_durations(bool linear)
{
	memset(durations.buckets, 0, sizeof(durations.buckets));
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		uint64_t low, high;

		latency_bucket_bounds(i, &low, &high);
		durations.buckets[i] = (low <= 1000 && 1000 < high) + (low <= 5000 && 5000 < high);
	}
	durations.linear = linear ? linear_buckets : NULL;
	durations.linear_count = linear ? 2 : 0;
}

static void write_hist(struct output *output)
{
	const struct output_hist hist = { .method = "A::b()", .histogram = &durations };

	output_hist(output, &hist);
}

static void write_hist_by_caller(struct output *output)
{
	const struct output_hist hist = { .method = "A::b()",
					  .by = LATENCY_BY_CALLER,
					  .caller = "C::d()",
					  .histogram = &durations,
					  .lower_bound = codes,
					  .watched = 0.5 };

	output_hist(output, &hist);
}

static void write_empty_hist(struct output *output)
{
	static const struct histogram empty;
	const struct output_hist hist = {
		.method = "A::b()", .by = LATENCY_BY_TID, .tid = 9, .histogram = &empty
	};

	output_hist(output, &hist);
}

UNIT_TEST(latencies)
{
	struct options in_ms = text;

	fill_durations(false);
	in_ms.unit = TIME_UNIT_MS;
	check(&in_ms, write_hist,
	      "A::b()\n"
	      "     msecs               : count    distribution\n"
	      "         0 -> 1          : 2        |****************************************|\n"
	      "     count 3, unwound 1, unfinished 4, not timed 2; total 0.009 ms, avg 0.003 ms, "
	      "min 0.001 ms, max 0.005 ms\n"
	      "     p50 0.001 ms, p90 0.005 ms, p99 0.005 ms, p99.9 0.005 ms\n\n");
	check_json(&json, write_hist,
		   "{'type':'hist','method':'A::b()','tid':null,'caller':null,'count':3,"
		   "'sum_ns':9000,'min_ns':1000,'max_ns':5000,'p50_ns':1000,'p90_ns':5000,"
		   "'p99_ns':5000,'p99_9_ns':5000,'unwound':1,'unfinished':4,'not_timed':2,"
		   "'buckets':[{'low_ns':992,'high_ns':1008,'count':1},"
		   "{'low_ns':4992,'high_ns':5120,'count':1}]}\n");
	check(&text, write_empty_hist, "A::b(), thread 9\n     count 0\n\n");
	check_json(&json, write_empty_hist,
		   "{'type':'hist','method':'A::b()','tid':9,'caller':null,'count':0,'sum_ns':0,"
		   "'min_ns':null,'max_ns':null,'p50_ns':null,'p90_ns':null,'p99_ns':null,"
		   "'p99_9_ns':null,'unwound':0,'unfinished':null,'not_timed':0,'buckets':[]}\n");
}

UNIT_TEST(linear_latencies)
{
	struct options in_us = text;

	fill_durations(true);
	in_us.unit = TIME_UNIT_US;
	in_us.linear = (struct hist_range){ 1000, 3000, 1000 };
	check(&in_us, write_hist_by_caller,
	      "A::b(), called by C::d()\n"
	      "     usecs               : count    distribution\n"
	      "         0 -> 0          : 1        |*************                           |\n"
	      "         1 -> 1          : 2        |***************************             |\n"
	      "         2 -> 2          : 0        |                                        |\n"
	      "         3 -> 5          : 3        |****************************************|\n"
	      "     count 3, unwound 1, unfinished 4, not timed 2; total 9 us, avg 3 us, "
	      "min 1 us, max 5 us\n"
	      "     p50 1 us, p90 5 us, p99 5 us, p99.9 5 us\n\n");
	check_json(&json, write_hist_by_caller,
		   "{'type':'hist','method':'A::b()','tid':null,'caller':'C::d()','count':3,"
		   "'sum_ns':9000,'min_ns':1000,'max_ns':5000,'p50_ns':1000,'p90_ns':5000,"
		   "'p99_ns':5000,'p99_9_ns':5000,'unwound':1,'unfinished':null,'not_timed':2,"
		   "'buckets':[{'low_ns':992,'high_ns':1008,'count':1},"
		   "{'low_ns':4992,'high_ns':5120,'count':1}],'linear':[1,2,0,3],"
		   "'lower_bound':['not-probed','loaded-later'],'watched':0.500000}\n");
}

/*
 * Sites -----------------------------------------------------------------------------------------
 */

static const char *const inliners[] = { "I::a()", "I::b()", "I::c()", "I::d()", NULL };
static const char *const sources[] = { "metadata", "a\x1b.map", NULL };

static const struct output_site in_file = {
	.pid = PID,
	.first = true,
	.method = "N.A::b(int32)",
	.image = "a.dll",
	.tier = "r2r",
	.state = "current",
	.placed = true,
	.mechanism = "uprobe",
	.cost = "cheap",
	.file = "/app/it's",
	.file_has_path = true,
	.file_offset = 0x1234,
	.address = 0x7f001234,
	.size = 77,
	.names_from = sources,
	.inlined_into = inliners,
	.inlined_count = 4,
	.inlined_whole = true,
};

static const struct output_site at_run_time = {
	.pid = PID,
	.method = "N.A::b(int32)",
	.made_from = "lambda in X",
	.image = "a.dll",
	.tier = "tier1",
	.placed = true,
	.mechanism = "breakpoint",
	.by_address = true,
	.address = 0x5678,
	.names_from = sources,
	.native_function = "libc.so.6!write",
};

static const struct output_site nowhere = {
	.pid = PID,
	.first = true,
	.method = "C::d()",
	.image = "a.dll",
	.tier = "unknown",
	.mechanism = "none",
	.reason = "no-il",
	.reason_text = "it has no code",
	.reason_next = "try -l",
	.names_from = &sources[1],
	.inlined_into = &inliners[3],
	.inlined_count = 1,
	.native_function = "libc.so.6!read",
};

static void write_sites(struct output *output)
{
	static const char *const first[] = { "I::a()", "I::b()", "I::c()", NULL };
	struct output_site site = in_file;

	/* A record names as many as are written. */
	if (output_inliners(output) == 3)
		site.inlined_into = first;
	output_site(output, &site);
	output_site(output, &at_run_time);
	output_site(output, &nowhere);
}

static void write_two_sites(struct output *output)
{
	output_site(output, &at_run_time);
	output_site(output, &nowhere);
}

static void write_whole_site(struct output *output)
{
	struct output_site site = in_file;

	site.file = "/app/its";
	output_site(output, &site);
}

static void write_inlined(struct output *output)
{
	struct output_site site = in_file;

	output_site(output, &site);
	site.inlined_into = &inliners[4];
	site.inlined_count = 0;
	output_site(output, &site);
	site.inlined_whole = false;
	output_site(output, &site);
}

UNIT_TEST(sites)
{
	struct options verbose = list, list_json = json;

	check(&list, write_sites,
	      "N.A::b(int32)\n"
	      "    inlined into 4 precompiled methods: I::a(), I::b(), I::c(), ... (-v shows all)\n"
	      "    r2r          current    uprobe     /app/it's+0x1234"
	      "  address 0x7f001234  77 bytes  cheap  (name: metadata, a?.map)\n"
	      "    tier1        -          breakpoint a.dll"
	      "  address 0x5678  0 bytes  (name: metadata, a?.map)\n"
	      "             lambda in X\n"
	      "C::d()\n"
	      "    it is not known in full which precompiled methods have inlined it;"
	      " inlined into 1 precompiled method: I::d()\n"
	      "    calls libc.so.6!read\n"
	      "    unknown      -          none       a.dll  no-il: it has no code; try -l"
	      "  (name: a?.map)\n");
	verbose.verbose = true;
	check(&verbose, write_inlined,
	      "N.A::b(int32)\n"
	      "    inlined into 4 precompiled methods: I::a(), I::b(), I::c(), I::d()\n"
	      "    r2r          current    uprobe     /app/it's+0x1234"
	      "  address 0x7f001234  77 bytes  cheap  (name: metadata, a?.map)\n"
	      "N.A::b(int32)\n"
	      "    r2r          current    uprobe     /app/it's+0x1234"
	      "  address 0x7f001234  77 bytes  cheap  (name: metadata, a?.map)\n"
	      "N.A::b(int32)\n"
	      "    it is not known in full which precompiled methods have inlined it\n"
	      "    r2r          current    uprobe     /app/it's+0x1234"
	      "  address 0x7f001234  77 bytes  cheap  (name: metadata, a?.map)\n");
	list_json.mode = MODE_LIST;
	check_json(&list_json, write_two_sites,
		   "{'type':'site','method':'N.A::b(int32)','made_from':'lambda in X',"
		   "'image':'a.dll','tier':'tier1','state':null,'mechanism':'breakpoint',"
		   "'reason':null,'file':null,'file_offset':null,'address':22136,'size':null,"
		   "'names_from':['metadata','a\\u001b.map'],'inlined_into':null,"
		   "'native_function':'libc.so.6!write'}\n"
		   "{'type':'site','method':'C::d()','made_from':null,'image':'a.dll',"
		   "'tier':'unknown','state':null,'mechanism':'none','reason':'no-il','file':null,"
		   "'file_offset':null,'address':null,'size':null,'names_from':['a\\u001b.map'],"
		   "'inlined_into':null,'native_function':'libc.so.6!read'}\n");
	check_json(&list_json, write_whole_site,
		   "{'type':'site','method':'N.A::b(int32)','made_from':null,'image':'a.dll',"
		   "'tier':'r2r','state':'current','mechanism':'uprobe','reason':null,"
		   "'file':'/app/its','file_offset':4660,'address':2130711092,'size':77,"
		   "'names_from':['metadata','a\\u001b.map'],"
		   "'inlined_into':['I::a()','I::b()','I::c()','I::d()'],"
		   "'native_function':null}\n");
}

static void write_refused(struct output *output)
{
	struct output_site site = in_file;

	site.file = "/with space";
	output_site(output, &site);
	site.file_has_path = false;
	output_site(output, &site);
	site.by_stub = true;
	output_site(output, &site);
	site.placed = false;
	site.reason_text = "because";
	site.reason_next = "try -l";
	output_site(output, &site);
}

UNIT_TEST(commands)
{
	check(&dry_run, write_sites,
	      "# N.A::b(int32) [r2r]\n"
	      "perf probe --target-ns 4711 -x '/app/it'\\''s'"
	      " --add 'place_probe_4711:A_b_int32_4711_0=0x1234'\n"
	      "# N.A::b(int32) [tier1]\n"
	      "perf record -e mem:0x5678:x -p 4711 -- sleep 10\n"
	      "# not placed: C::d(): it has no code; try -l\n"
	      "# record calls of process 4711 for 10 seconds and show them\n"
	      "perf record -g -e 'place_probe_4711:*' -p 4711 -- sleep 10\n"
	      "perf script\n"
	      "# remove the probes\n"
	      "perf probe --del 'place_probe_4711:*'\n");
	check(&dry_run, write_refused,
	      "# not placed: N.A::b(int32): perf takes no path such as /with space\n"
	      "# not placed: N.A::b(int32): no path leads any more to /with space\n"
	      "# not placed: N.A::b(int32): other methods may go by its stub, and perf does not "
	      "tell them apart\n"
	      "# not placed: N.A::b(int32): because; try -l\n");
}

/*
 * The end ---------------------------------------------------------------------------------------
 */

static void write_summary(struct output *output)
{
	static const struct output_loss losses[] = { { "ring-buffer-full", 3 }, { NULL, 0 } };
	static const struct output_stacks stacks = {
		.ends = { [STACK_WHOLE] = 5, [STACK_BROKEN] = 1 },
		.guessed = 2,
	};
	static const struct output_unshown shed[] = {
		{ .method = "A::b()", .sampled_out = 7, .shed = 8 }, { .method = NULL }
	};
	static const struct output_unshown filtered[] = {
		{ .method = "A::b()", .filtered = 9, .undecided = 4 }, { .method = NULL }
	};
	struct output_summary summary = {
		.hits = 42,
		.shed = shed,
		.filtered = filtered,
		.losses = losses,
		.lower_bound = codes,
		.stacks = &stacks,
	};

	output_summary(output, &summary);
	summary = (struct output_summary){ .losses = &losses[1], .lower_bound = &codes[2] };
	output_summary(output, &summary);
}

UNIT_TEST(summaries)
{
	static const char expected[] =
		"{'type':'summary','hits':42,'lost':{'ring-buffer-full':3},'not_shown':[{'method':'A::b()','sampled_out':7,'over_rate':8}],'filtered':[{'method':'A::b()','calls':9,'undecided':4}],"
		"'lower_bound':['not-probed','loaded-later'],"
		"'stack_ends':{'whole':5,'broken':1},'guessed_frames':2}\n"
		"{'type':'summary','hits':0,'lost':{},'not_shown':[],'filtered':[],'lower_bound':[],"
		"'stack_ends':null,'guessed_frames':null}\n";

	check_json(&json, write_summary, expected);
	check_json(&folded_json, write_summary, expected);
	/* People are told on standard error. */
	check(&text, write_summary, "");
	check(&list, write_summary, "");
}

UNIT_MAIN(NULL, NULL)
