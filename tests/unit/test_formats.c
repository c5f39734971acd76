// SPDX-License-Identifier: GPL-2.0-or-later
/* What each format for other programs' readers writes, to the letter, of names that are odd. */
#include "tests/unit/output_fixture.h"

#include <zlib.h>

#include "latency/latency.h"
#include "src/output/profile.pb-c.h"

/* Hits ---------------------------------------------------------------------------------------- */

static const struct frame frames[] = {
	{ .kind = FRAME_DOTNET,
	  .address = { 0x1000 },
	  .name = "A::b(int32)",
	  .module = "a (1).dll",
	  .offset = 0x1f,
	  .in_file = true,
	  .file_offset = 0x2f },
	{ .kind = FRAME_NATIVE,
	  .address = { 0x2000 },
	  .module = "lib\x1b\".so",
	  .offset = 0x20,
	  .guessed = true },
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
	static const char *const none[] = { NULL };

	output_summary(output,
		       &(struct output_summary){ .losses = &losses[2], .lower_bound = none });
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

static const struct options speedscope = { .mode = MODE_HITS,
					   .format = FORMAT_SPEEDSCOPE,
					   .memory_bytes = 1 << 20 };

#define SPEEDSCOPE_HEAD                                                      \
	"{'$schema':'https://www.speedscope.app/file-format-schema.json',\n" \
	"'exporter':'place-probe " PLACE_PROBE_VERSION "',\n"

/* Equal ones in a row are one sample; the second thread has its own. */
static void write_in_a_row(struct output *output)
{
	struct rendering of_stack = { 0 };
	struct stack stack = whole;
	struct hit hit = odd_hit;

	stack.rendering = &of_stack;
	hit.stack = &stack;
	output_hit(output, &hit);
	output_hit(output, &hit);
	hit.tid = 1;
	hit.comm = "other";
	output_hit(output, &hit);
	hit.tid = odd_hit.tid;
	hit.stack = &busy;
	output_hit(output, &hit);
	hit.stack = &stack;
	output_hit(output, &hit);
	assert_int_equal(output->left_out, 0);
	free(of_stack.text);
}

/* Without room each hit is counted all the same. */
static void write_without_room(struct output *output)
{
	struct hit hit = odd_hit;

	output_hit(output, &hit);
	hit.tid = 1;
	output_hit(output, &hit);
	assert_int_equal(output->left_out, 2);
}

UNIT_TEST(as_speedscope)
{
	struct options no_room = speedscope;

	check_json(&speedscope, write_hits,
		   SPEEDSCOPE_HEAD
		   "'name':'3 calls; lost: ring-buffer-full 3, v8-moved 1',\n"
		   "'activeProfileIndex':0,\n"
		   "'shared':{'frames':[\n"
		   "{'name':'[other stacks]'},\n"
		   "{'name':'[broken]'},\n"
		   "{'name':'[unknown]'},\n"
		   "{'name':'operator new(unsigned long)','file':'libc.so.6'},\n"
		   "{'name':'JSON.parse'},\n"
		   "{'name':'Shop.\\'o\\\\r?\xc3\xa4','file':'my shop\\n.js','line':12,'col':5},\n"
		   "{'name':'[stub]'},\n"
		   "{'name':'[lib?\\'.so] [guessed]','file':'lib\\u001b\\'.so'},\n"
		   "{'name':'A::b(int32)','file':'a (1).dll'},\n"
		   "{'name':'[busy]'},\n"
		   "{'name':'A::b(int32)'}]},\n"
		   "'profiles':[\n"
		   "{'type':'sampled','name':'w\\u0001rk 3; (123456)','unit':'nanoseconds',"
		   "'startValue':0,'endValue':1,'samples':[\n"
		   "[1,2,3,4,5,6,7,8]],\n"
		   "'weights':[1]},\n"
		   "{'type':'sampled','name':'m (7)','unit':'nanoseconds',"
		   "'startValue':0,'endValue':2500002,'samples':[\n"
		   "[8],\n"
		   "[9,10]],\n"
		   "'weights':[2500001,1]}]}\n");
	check_json(&speedscope, write_in_a_row,
		   SPEEDSCOPE_HEAD
		   "'name':'the run has failed',\n"
		   "'activeProfileIndex':0,\n"
		   "'shared':{'frames':[\n"
		   "{'name':'[other stacks]'},\n"
		   "{'name':'A::b(int32)','file':'a (1).dll'},\n"
		   "{'name':'[busy]'},\n"
		   "{'name':'A::b(int32)'}]},\n"
		   "'profiles':[\n"
		   "{'type':'sampled','name':'w\\u0001rk 3; (123456)','unit':'none',"
		   "'startValue':0,'endValue':4,'samples':[\n"
		   "[1],\n"
		   "[2,3],\n"
		   "[1]],\n"
		   "'weights':[2,1,1]},\n"
		   "{'type':'sampled','name':'other (1)','unit':'none',"
		   "'startValue':0,'endValue':1,'samples':[\n"
		   "[1]],\n"
		   "'weights':[1]}]}\n");
	check(&speedscope, write_nothing, "");
	check_json(&speedscope, write_end,
		   SPEEDSCOPE_HEAD "'name':'0 hits; lost: nothing',\n"
				   "'activeProfileIndex':0,\n"
				   "'shared':{'frames':[\n"
				   "{'name':'[other stacks]'}]},\n"
				   "'profiles':[\n"
				   "{'type':'sampled','name':'no hits','unit':'none',"
				   "'startValue':0,'endValue':0,'samples':[],\n"
				   "'weights':[]}]}\n");
	no_room.memory_bytes = 0;
	check_json(&no_room, write_without_room,
		   SPEEDSCOPE_HEAD "'name':'the run has failed',\n"
				   "'activeProfileIndex':0,\n"
				   "'shared':{'frames':[\n"
				   "{'name':'[other stacks]'}]},\n"
				   "'profiles':[\n"
				   "{'type':'sampled','name':'[other threads]','unit':'none',"
				   "'startValue':0,'endValue':2,'samples':[\n"
				   "[0]],\n"
				   "'weights':[2]}]}\n");
}

static const struct options trace_event = { .mode = MODE_HITS,
					    .format = FORMAT_TRACE_EVENT,
					    .memory_bytes = 1 << 20 };

UNIT_TEST(as_trace_event)
{
	struct options wall = trace_event;

	check_json(
		&trace_event, write_hits,
		"[\n{'ph':'M','name':'thread_name','pid':7,'tid':123456,"
		"'args':{'name':'w\\u0001rk 3;'}},\n"
		"{'ph':'i','name':'A::b(int32)','cat':'hit','s':'t','pid':7,'tid':123456,"
		"'ts':1500001.999,'args':{'tier':'tier1','stack':['A::b(int32) (a (1).dll)',"
		"'[lib?\\'.so] [guessed]','[stub]','Shop.\\'o\\\\r?\xc3\xa4 (my shop\\n.js:12)',"
		"'JSON.parse','operator new(unsigned long) (libc.so.6)','[unknown]'],"
		"'stack_end':'broken'}},\n"
		"{'ph':'M','name':'thread_name','pid':7,'tid':7,'args':{'name':'m'}},\n"
		"{'ph':'b','name':'A::b(int32)','cat':'call','id':'1','pid':7,'tid':7,"
		"'ts':1497501.998,'args':{'tier':'tier1','duration_ns':2500001,'tid':7,"
		"'comm':'m','stack':['A::b(int32) (a (1).dll)'],'stack_end':'whole'}},\n"
		"{'ph':'e','name':'A::b(int32)','cat':'call','id':'1','pid':7,'tid':7,"
		"'ts':1500001.999},\n"
		"{'ph':'M','name':'thread_name','pid':7,'tid':7,'args':{'name':''}},\n"
		"{'ph':'i','name':'A::b(int32)','cat':'hit','s':'t','pid':7,'tid':7,"
		"'ts':12345678901.234,'args':{'tier':'tier1','stack':[],'stack_end':'busy'}},\n"
		"{'ph':'i','name':'place-probe: the end','cat':'summary','s':'g','pid':0,'tid':0,"
		"'ts':12345678901.234,'args':{'hits':3,'lost':{'ring-buffer-full':3,"
		"'v8-moved':1}}}\n]\n");
	check(&trace_event, write_nothing, "");
	wall.wall_clock = true;
	wall.memory_bytes = 0;
	check_json(&wall, write_one_hit,
		   "[\n{'ph':'i','name':'A::b(int32)','cat':'hit','s':'t','pid':7,'tid':123456,"
		   "'ts':1500006.999,'args':{'tier':'tier1','stack':['A::b(int32) (a (1).dll)'],"
		   "'stack_end':'whole'}}\n]\n");
}

/* pprof: binary, so it is read back ----------------------------------------------------------- */

static const struct options as_profile = { .mode = MODE_HITS,
					   .format = FORMAT_PPROF,
					   .memory_bytes = 1 << 20 };

enum { PROFILE_MAX = 1 << 20 };

/* What was compressed, of at most PROFILE_MAX bytes; the caller frees it. */
static Pprof__Profile *unpack(char *packed, size_t size)
{
	_cleanup_free_ uint8_t *bytes = malloc(PROFILE_MAX);
	z_stream stream = { .next_in = (uint8_t *)packed, .avail_in = (uInt)size };
	Pprof__Profile *profile;

	assert_non_null(bytes);
	stream.next_out = bytes;
	stream.avail_out = PROFILE_MAX;
	assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	profile = pprof__profile__unpack(NULL, stream.total_out, bytes);
	assert_non_null(profile);
	inflateEnd(&stream);
	return profile;
}

/* "\n  NAME|FILE:LINE:COLUMN < ... (MODULE @ADDRESS)" */
static void describe_location(FILE *to, const Pprof__Profile *profile, uint64_t id)
{
	const Pprof__Location *location = profile->location[id - 1];
	const char *separator = "\n  ";

	assert_int_equal(location->id, id);
	for (size_t i = 0; i < location->n_line; i++) {
		const Pprof__Line *line = location->line[i];
		const Pprof__Function *function = profile->function[line->function_id - 1];

		assert_int_equal(function->name, function->system_name);
		fprintf(to, "%s%s|%s:%d:%d", separator, profile->string_table[function->name],
			profile->string_table[function->filename], (int)line->line,
			(int)line->column);
		separator = " < ";
	}
	fprintf(to, " (%s @%#lx)",
		location->mapping_id ?
			profile->string_table[profile->mapping[location->mapping_id - 1]
						      ->filename] :
			"",
		location->address);
}

static void describe_sample(FILE *to, const Pprof__Profile *profile, const Pprof__Sample *sample)
{
	char **strings = profile->string_table;

	for (size_t i = 0; i < sample->n_value; i++)
		fprintf(to, "%ld ", sample->value[i]);
	for (size_t i = 0; i < sample->n_label; i++)
		fprintf(to, "%s=%s/%ld ", strings[sample->label[i]->key],
			strings[sample->label[i]->str], sample->label[i]->num);
	for (size_t i = 0; i < sample->n_location_id; i++)
		describe_location(to, profile, sample->location_id[i]);
	fputc('\n', to);
}

static void check_profile(const struct options *options, void (*write)(struct output *output),
			  const char *expected)
{
	size_t packed_size, size;
	char *packed = write_bytes(options, write, &packed_size), *told = NULL;
	Pprof__Profile *profile = unpack(packed, packed_size);
	FILE *to = open_memstream(&told, &size);

	fprintf(to, "%s\n", profile->string_table[profile->comment[0]]);
	for (size_t i = 0; i < profile->n_sample_type; i++)
		fprintf(to, "%s/%s ", profile->string_table[profile->sample_type[i]->type],
			profile->string_table[profile->sample_type[i]->unit]);
	fprintf(to, "%s\n", profile->string_table[profile->default_sample_type]);
	for (size_t i = 0; i < profile->n_sample; i++)
		describe_sample(to, profile, profile->sample[i]);
	fclose(to);
	assert_string_equal(profile->string_table[0], "");
	assert_int_equal(profile->time_nanos, 6000);
	assert_string_equal(told, expected);
	free(told);
	free(packed);
	pprof__profile__free_unpacked(profile, NULL);
}

UNIT_TEST(as_pprof)
{
	struct options no_room = as_profile;

	check_profile(&as_profile, write_hits,
		      "3 calls; lost: ring-buffer-full 3, v8-moved 1\n"
		      "calls/count time/nanoseconds time\n"
		      "1 0 thread=w?rk 3;/0 tid=/123456 \n"
		      "  A::b(int32)|:0:0 (a (1).dll @0x1000)\n"
		      "  [lib?\".so] [guessed]|:0:0 (lib?\".so @0x2000)\n"
		      "  [stub]|:0:0 ( @0x3000)\n"
		      "  Shop.\"o\\r?\xc3\xa4|my shop?.js:12:5 < JSON.parse|:0:0 ( @0x3900)\n"
		      "  operator new(unsigned long)|:0:0 < [unknown]|:0:0 ( @0x7fffffff4000)\n"
		      "  [broken]|:0:0 ( @0)\n"
		      "1 2500001 thread=m/0 tid=/7 \n"
		      "  A::b(int32)|:0:0 (a (1).dll @0x1000)\n"
		      "1 0 thread=/0 tid=/7 \n"
		      "  A::b(int32)|:0:0 ( @0)\n"
		      "  [busy]|:0:0 ( @0)\n");
	check_profile(&as_profile, write_in_a_row,
		      "the run has failed\n"
		      "hits/count \n"
		      "2 thread=w?rk 3;/0 tid=/123456 \n"
		      "  A::b(int32)|:0:0 (a (1).dll @0x1000)\n"
		      "1 thread=other/0 tid=/1 \n"
		      "  A::b(int32)|:0:0 (a (1).dll @0x1000)\n"
		      "1 thread=other/0 tid=/123456 \n"
		      "  A::b(int32)|:0:0 ( @0)\n"
		      "  [busy]|:0:0 ( @0)\n"
		      "1 thread=other/0 tid=/123456 \n"
		      "  A::b(int32)|:0:0 (a (1).dll @0x1000)\n");
	check(&as_profile, write_nothing, "");
	check_profile(&as_profile, write_end, "0 hits; lost: nothing\nhits/count \n");
	no_room.memory_bytes = 0;
	check_profile(&no_room, write_without_room,
		      "the run has failed\nhits/count \n2 \n  [other stacks]|:0:0 ( @0)\n");
}

static void write_long_name(struct output *output);

UNIT_TEST(long_names_as_pprof)
{
	size_t size;
	_cleanup_free_ char *packed = write_bytes(&as_profile, write_long_name, &size);
	Pprof__Profile *profile = unpack(packed, size);

	assert_int_equal(
		strlen(profile->string_table[profile->function[profile->n_function - 1]->name]),
		100000);
	pprof__profile__free_unpacked(profile, NULL);
}

/* Totals -------------------------------------------------------------------------------------- */

static const struct options counts_as_metrics = { .mode = MODE_COUNT,
						  .format = FORMAT_OPENMETRICS,
						  .memory_bytes = 1 << 20 };

static const char *const codes[] = { "not-probed", NULL };

/* Two intervals; only the last knows how much of it was seen. */
static void write_counts(struct output *output)
{
	static const struct output_body bodies[] = { { "r2r", 12 }, { "tier1", 30 }, { "r2r", 1 } };
	struct output_count counts[] = {
		{ .method = "A::b(\"\\\n\xff\xc3\xa4)", .bodies = bodies, .body_count = 3 },
		{ .method = "C::d()", .bodies = &bodies[1], .body_count = 1 },
	};

	output_counts(output, counts, 2);
	output_kept(output);
	counts[1].lower_bound = codes;
	counts[1].watched = 0.25;
	output_counts(output, &counts[1], 1);
	output_kept(output);
	output_summary(output, &(struct output_summary){ .losses = losses });
}

static void write_count_without_room(struct output *output)
{
	static const struct output_body body = { "r2r", 12 };
	const struct output_count count = { .method = "A::b()", .bodies = &body, .body_count = 1 };

	output_counts(output, &count, 1);
	assert_int_equal(output->left_out, 12);
}

UNIT_TEST(counts_as_openmetrics)
{
	struct options no_room = counts_as_metrics;

	check(&counts_as_metrics, write_counts,
	      "# TYPE place_probe_calls counter\n"
	      "# HELP place_probe_calls Calls that were counted.\n"
	      "place_probe_calls_total{method=\"A::b(\\\"\\\\??\xc3\xa4)\",tier=\"r2r\"} 13\n"
	      "place_probe_calls_total{method=\"A::b(\\\"\\\\??\xc3\xa4)\",tier=\"tier1\"} 30\n"
	      "place_probe_calls_total{method=\"C::d()\",tier=\"tier1\"} 60\n"
	      "# TYPE place_probe_watched_ratio gauge\n"
	      "# UNIT place_probe_watched_ratio ratio\n"
	      "# HELP place_probe_watched_ratio For which part of the run the method was probed.\n"
	      "place_probe_watched_ratio{method=\"C::d()\"} 0.250000\n"
	      "# TYPE place_probe_lower_bound gauge\n"
	      "# HELP place_probe_lower_bound There may be more calls than were counted, for this "
	      "reason.\n"
	      "place_probe_lower_bound{method=\"C::d()\",reason=\"not-probed\"} 1\n"
	      "# TYPE place_probe_lost counter\n"
	      "# HELP place_probe_lost What was lost, by its reason.\n"
	      "place_probe_lost_total{reason=\"ring-buffer-full\"} 3\n"
	      "place_probe_lost_total{reason=\"v8-moved\"} 1\n"
	      "# EOF\n");
	check(&counts_as_metrics, write_nothing, "");
	check(&counts_as_metrics, write_end, "# EOF\n");
	no_room.memory_bytes = 0;
	check(&no_room, write_count_without_room,
	      "# TYPE place_probe_lost counter\n"
	      "# HELP place_probe_lost What was lost, by its reason.\n"
	      "place_probe_lost_total{reason=\"no-room-in-format\"} 12\n"
	      "# EOF\n");
}

/* One duration that is the longest in its bucket, one beyond, one beyond all; twice. */
static void write_hists(struct output *output)
{
	static const uint64_t longest[] = { 1007, 1024, UINT64_C(1) << 40 };
	static struct histogram histogram;
	const struct output_hist hist = { .method = "A::b()",
					  .by = LATENCY_BY_CALLER,
					  .caller = "C::\"d\"()",
					  .histogram = &histogram };
	uint64_t low, high;

	histogram = (struct histogram){ .returned = 3, .unwound = 1, .sum_ns = 1500000002 };
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		latency_bucket_bounds(i, &low, &high);
		for (size_t j = 0; j < 3; j++)
			histogram.buckets[i] += low <= longest[j] && longest[j] < high;
	}
	output_hist(output, &hist);
	output_hist(output, &hist);
}

static void write_linear_hist(struct output *output)
{
	static uint64_t linear[] = { 0, 2, 3, 1 };
	static struct histogram histogram;
	const struct output_hist hist = { .method = "m", .histogram = &histogram };

	histogram = (struct histogram){ .returned = 6,
					.unfinished = 5,
					.untimed = 7,
					.sum_ns = 12000,
					.linear = linear,
					.linear_count = 2 };
	output_hist(output, &hist);
}

/* @line is one of @written. */
static void assert_line(const char *written, const char *line)
{
	const char *at = strstr(written, line);

	if (!at || (at != written && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("'%s' is not in\n%s", line, written);
}

UNIT_TEST(durations_as_openmetrics)
{
	struct options hist = counts_as_metrics;
	char *written;

#define SERIES "{method=\"A::b()\",caller=\"C::\\\"d\\\"()\""
	hist.mode = MODE_HIST;
	written = write_out(&hist, write_hists);
	assert_line(written, "# TYPE place_probe_call_duration_seconds histogram");
	assert_line(written,
		    "place_probe_call_duration_seconds_bucket" SERIES ",le=\"0.000001023\"} 2");
	assert_line(written,
		    "place_probe_call_duration_seconds_bucket" SERIES ",le=\"0.000002047\"} 4");
	assert_line(written,
		    "place_probe_call_duration_seconds_bucket" SERIES ",le=\"68.719476735\"} 4");
	assert_line(written, "place_probe_call_duration_seconds_bucket" SERIES ",le=\"+Inf\"} 6");
	assert_line(written, "place_probe_call_duration_seconds_count" SERIES "} 6");
	assert_line(written, "place_probe_call_duration_seconds_sum" SERIES "} 3.000000004");
	assert_line(written, "place_probe_unwound_calls_total" SERIES "} 2");
	assert_null(strstr(written, "unfinished"));
	free(written);

	hist.linear = (struct hist_range){ 0, 4000, 2000 };
	check(&hist, write_linear_hist,
	      "# TYPE place_probe_call_duration_seconds histogram\n"
	      "# UNIT place_probe_call_duration_seconds seconds\n"
	      "# HELP place_probe_call_duration_seconds How long calls took that have returned.\n"
	      "place_probe_call_duration_seconds_bucket{method=\"m\",le=\"0.000001999\"} 2\n"
	      "place_probe_call_duration_seconds_bucket{method=\"m\",le=\"0.000003999\"} 5\n"
	      "place_probe_call_duration_seconds_bucket{method=\"m\",le=\"+Inf\"} 6\n"
	      "place_probe_call_duration_seconds_count{method=\"m\"} 6\n"
	      "place_probe_call_duration_seconds_sum{method=\"m\"} 0.000012000\n"
	      "# TYPE place_probe_unwound_calls counter\n"
	      "# HELP place_probe_unwound_calls Calls that an exception or the like has left.\n"
	      "place_probe_unwound_calls_total{method=\"m\"} 0\n"
	      "# TYPE place_probe_untimed_calls counter\n"
	      "# HELP place_probe_untimed_calls Calls whose end could not be told.\n"
	      "place_probe_untimed_calls_total{method=\"m\"} 7\n"
	      "# TYPE place_probe_unfinished_calls gauge\n"
	      "# HELP place_probe_unfinished_calls Calls that have begun and not ended.\n"
	      "place_probe_unfinished_calls{method=\"m\"} 5\n"
	      "# EOF\n");
}

/* A name of any length, in each format. */
static void write_long_name(struct output *output)
{
	static char name[100001];
	const struct frame frame = { .kind = FRAME_DOTNET, .name = name, .module = name };
	const struct stack stack = { .frames = (struct frame *)&frame, .count = 1 };
	struct hit hit = odd_hit;

	memset(name, 'x', sizeof(name) - 1);
	hit.method = name;
	hit.stack = &stack;
	output_hit(output, &hit);
	write_end(output);
}

UNIT_TEST(long_names)
{
	char *written;

	for (enum format format = FORMAT_TEXT; format < FORMAT_COUNT; format++) {
		const struct options options = { .format = format, .memory_bytes = 1 << 20 };

		if (format == FORMAT_OPENMETRICS || format == FORMAT_PPROF)
			continue;
		written = write_out(&options, write_long_name);
		assert_true(strlen(written) > 200000);
		free(written);
	}
}

UNIT_MAIN(NULL, NULL)
