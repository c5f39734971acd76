// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of --flame, written by the library of stacks that are made up, for tests/system/test_flame.py:
 *
 * flame_page many COUNT    so many stacks, all different, of a tree as deep as real ones are
 * flame_page odd           few, of each kind of frame, whose names try to be HTML; with tiers and lines
 * flame_page two           the same held against a base, which has other ones too
 * flame_page times         calls over a minute, a histogram each second
 * flame_page shop          calls of a shop, whose payments get slower, with their stacks: for docs/flame.png
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "latency/latency.h"
#include "output/output.h"

enum {
	MEMORY_BYTES = 2000 << 20,
	DEPTH = 40,
	NAMES = 3000,
	SECONDS = 60,
};

static const char *const patterns[] = { "App.*::Work", "<b>libc.so.6!write</b>" };

static const struct output_loss losses[] = { { "ring-buffer-full", 3 }, { NULL, 0 } };
static const char *const bounds[] = { "tier-moved", NULL };
static const struct output_tier tiers[] = { { "tier0", 2, 1, 10 }, { "tier1", 1, 1, 990 }, { 0 } };

static void put(struct output *output, struct frame *frames, size_t count, uint64_t hits)
{
	struct stack stack = { .frames = frames, .count = count, .end = STACK_WHOLE };
	const struct hit hit = { .tid = 7, .comm = "worker", .method = "x", .stack = &stack };
	struct output_kind *kind = output_kind(output, &hit);

	output_kind_count(output, kind, hits);
	if (kind)
		output_kind_release(output, kind);
}

static void end_run(struct output *output, uint64_t hits)
{
	char *const words[] = { (char *)patterns[0], (char *)patterns[1] };

	output_run(output, &(struct output_run){ .pid = 4321,
						 .name = "</script><b>shop",
						 .patterns = words,
						 .pattern_count = 2,
						 .duration_ns = 2500000000,
						 .tiers = tiers });
	output_summary(output, &(struct output_summary){
				       .hits = hits, .losses = losses, .lower_bound = bounds });
}

/* Many ---------------------------------------------------------------------------------------- */

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t bound)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)random_state * bound) >> 32);
}

/* As of frames that have come before. */
struct known {
	char name[64];
	struct rendering rendering;
};

/*
 * Another one than that which @frames was: most often its innermost frames are. Some callees are
 * called often, most rarely.
 */
static void make_stack(struct frame *frames, struct known *known, uint32_t number)
{
	static const enum frame_kind kinds[] = { FRAME_DOTNET, FRAME_NATIVE, FRAME_V8 };
	size_t one = random_below(DEPTH), other = random_below(DEPTH);
	size_t same = number == 0 ? 0 : one > other ? one : other;

	for (size_t i = same < DEPTH - 2 ? same : DEPTH - 2; i < DEPTH; i++) {
		uint32_t spread = (uint32_t)(1 + i * i / 8);
		uint32_t which = random_below(random_below(spread) + 1);
		/* Of each a frame of its own. */
		uint32_t name = i + 1 == DEPTH ? number % NAMES :
				i + 2 == DEPTH ? number / NAMES :
						 (uint32_t)(which * 37 + i) % NAMES;

		frames[DEPTH - 1 - i] = (struct frame){
			.kind = kinds[name % 3],
			.name = known[name].name,
			.module = "Shop.Core.dll",
			.source = "src/Shop/Work.cs",
			.line = name + 1,
			.tier = name % 2 ? "tier1" : "r2r",
			.rendering = &known[name].rendering,
		};
	}
}

static void write_many(struct output *output, uint32_t count)
{
	struct frame *frames = calloc(DEPTH, sizeof(*frames));
	struct known *known = calloc(NAMES, sizeof(*known));
	uint64_t hits = 0;

	for (size_t i = 0; known && i < NAMES; i++)
		snprintf(known[i].name, sizeof(known[i].name),
			 "Shop.Module%zu.Type%zu::Method%zu(int32)", i / 100, i / 10, i);
	for (uint32_t i = 0; known && frames && i < count; i++) {
		make_stack(frames, known, i);
		put(output, frames, DEPTH, 1 + i % 7);
		hits += 1 + i % 7;
	}
	end_run(output, hits);
	for (size_t i = 0; known && i < NAMES; i++)
		free(known[i].rendering.text);
	free(known);
	free(frames);
}

/* Few ----------------------------------------------------------------------------------------- */

static struct frame odd_frames[] = {
	{ .kind = FRAME_NATIVE, .name = "write", .module = "libc.so.6", .inlined = true },
	{ .kind = FRAME_STUB, .name = "stub" },
	{ .kind = FRAME_DOTNET,
	  .name = "App.Orders::Work(</script><script>alert(1)</script>)",
	  .module = "app.dll",
	  .source = "/src/Orders.cs",
	  .line = 12,
	  .tier = "tier0" },
	{ .kind = FRAME_V8,
	  .name = "render<img src=x onerror=alert(1)>\xe2\x80\xa8&amp;",
	  .source = "shop.js",
	  .line = 7,
	  .column = 3,
	  .tier = "maglev" },
	{ .kind = FRAME_NATIVE, .name = "main", .module = "shop" },
};

enum { ODD = sizeof(odd_frames) / sizeof(odd_frames[0]), METHOD = 2, SCRIPT = 3 };

/* 70 hits through .NET, 60 of them in tier1 at another line, and 30 that end in JavaScript. */
static void write_odd(struct output *output)
{
	struct frame *method = &odd_frames[METHOD];

	put(output, odd_frames, ODD, 10);
	method->tier = "tier1";
	method->line = 15;
	put(output, odd_frames, ODD, 60);
	put(output, &odd_frames[SCRIPT], ODD - SCRIPT, 30);
	end_run(output, 100);
}

/* 50 that end in JavaScript, 50 in a function that is in no other run. */
static void write_base(struct output *output)
{
	struct frame gone[] = { { .kind = FRAME_NATIVE, .name = "gone", .module = "shop" },
				odd_frames[ODD - 1] };

	output->base = true;
	put(output, &odd_frames[SCRIPT], ODD - SCRIPT, 50);
	put(output, gone, 2, 50);
	end_run(output, 100);
	output->base = false;
}

static void write_times(struct output *output)
{
	struct histogram *histogram = calloc(1, sizeof(*histogram));
	static const char *const none[] = { NULL };

	for (size_t i = 0; histogram && i < SECONDS; i++) {
		struct output_hist hist = { .method = "App.Orders::Work(<i>)",
					    .histogram = histogram };

		*histogram = (struct histogram){
			.returned = 3, .sum_ns = 2100000, .min_ns = 1000, .max_ns = 1100000
		};
		/* Some get slower from second to second. */
		histogram->buckets[100] = 1;
		histogram->buckets[400 + 4 * i] = 2;
		hist.lower_bound = i + 1 == SECONDS ? none : NULL;
		hist.watched = 1;
		output_hist(output, &hist);
		output_kept(output);
	}
	free(histogram);
	end_run(output, 3ULL * SECONDS);
}

/* A shop ---------------------------------------------------------------------------------------- */

/* What differs in its calls; names begin with the letter of their kind. */
static const struct {
	const char *inner; /* from the outside in */
	uint32_t weight;
	uint32_t longest_us;
} calls[] = {
	{ "dShop.Orders::Checkout(int32);dShop.Payment::Charge(decimal);dShop.Bank::Transfer(string);"
	  "dSystem.Net.Http.HttpClient::Send(Request);sPInvoke stub;nSSL_write;nsend",
	  18, 90000 },
	{ "dShop.Orders::Checkout(int32);dShop.Payment::Charge(decimal);dShop.Audit::Log(string);"
	  "dSystem.IO.FileStream::Write(byte[]);nwrite",
	  9, 20000 },
	{ "dShop.Orders::Checkout(int32);dShop.Stock::Reserve(int32);dNpgsql.Command::Execute();nsend",
	  14, 30000 },
	{ "dShop.Orders::Checkout(int32);dShop.Stock::Reserve(int32);dShop.Stock::Find(int32)", 6,
	  9000 },
	{ "dShop.Pages::Render(Cart);nnapi_call_function;vrenderCart;vtemplate;vJSON.stringify", 15,
	  22000 },
	{ "dShop.Pages::Render(Cart);nnapi_call_function;vrenderCart;vprice;vformat", 8, 16000 },
	{ "dShop.Pages::Render(Cart);nnapi_call_function;vrenderCart;vrequire", 3, 12000 },
	{ "dShop.Search::Query(string);dSystem.Linq.Enumerable::ToList();dShop.Search::Match(Item)",
	  12, 15000 },
	{ "dShop.Search::Query(string);dShop.Cache::Get(string);nmemcpy", 5, 6000 },
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]), SHOP_CALLS = 6000, SHOP_DEPTH = 16 };

static struct frame shop_frame(char *word, uint32_t number)
{
	static const char *const of_dotnet[] = { "tier1", "r2r" }, *const of_v8[] = { "maglev",
										      "turbofan" };
	struct frame frame = { .name = word + 1, .line = 20 + number % 7 };

	switch (word[0]) {
	case 'd':
		frame.kind = FRAME_DOTNET;
		frame.module = "Shop.dll";
		frame.source = "Shop.cs";
		frame.tier = of_dotnet[number % 2];
		break;
	case 'v':
		frame.kind = FRAME_V8;
		frame.source = "cart.ts";
		frame.line = 12;
		frame.tier = of_v8[number % 2];
		break;
	case 's':
		frame.kind = FRAME_STUB;
		frame.line = 0;
		break;
	default:
		frame.kind = FRAME_NATIVE;
		frame.line = 0;
	}
	return frame;
}

static void write_call(struct output *output, uint32_t number)
{
	static const char outer[] =
		"n_start;nmain;dShop.Program::Main();dShop.Server::Handle(Request);";
	uint32_t which = 0, left = random_below(90);
	struct frame frames[SHOP_DEPTH];
	struct stack stack = { .frames = frames, .end = STACK_WHOLE };
	struct hit hit = { .tid = 7, .comm = "worker", .stack = &stack };
	char path[512], *rest = path, *word;

	while (left >= calls[which].weight)
		left -= calls[which++].weight;
	snprintf(path, sizeof(path), "%s%s", outer, calls[which].inner);
	while ((word = strsep(&rest, ";")) && stack.count < SHOP_DEPTH) {
		memmove(&frames[1], frames, stack.count * sizeof(*frames));
		frames[0] = shop_frame(word, number);
		stack.count++;
	}
	hit.method = which < 4 ? "Shop.Orders::Checkout(int32)" :
		     which < 7 ? "Shop.Pages::Render(Cart)" :
				 "Shop.Search::Query(string)";
	hit.time_ns = output->start_ns + number * 1000000ULL * 10;
	hit.duration_ns = 1000ULL * calls[which].longest_us / (1 + random_below(12)) *
			  (which ? 3 : 1 + 5 * number / SHOP_CALLS) / 3;
	output_hit(output, &hit);
}

static void write_shop(struct output *output)
{
	static char one[] = "Shop.Orders::Checkout", two[] = "Shop.Pages::Render",
		    three[] = "Shop.Search::*";
	static const struct output_tier of_shop[] = { { "r2r", 3, 3, 210 },
						      { "tier1", 3, 3, 5790 },
						      { 0 } };
	static const char *const none[] = { NULL };
	char *const asked[] = { one, two, three };

	for (uint32_t i = 0; i < SHOP_CALLS; i++)
		write_call(output, i);
	output_run(output, &(struct output_run){ .pid = 10670,
						 .name = "shop",
						 .patterns = asked,
						 .pattern_count = 3,
						 .duration_ns = 60000000000,
						 .tiers = of_shop });
	output_summary(output, &(struct output_summary){ .hits = SHOP_CALLS,
							 .losses = &losses[1],
							 .lower_bound = none });
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool timed = strcmp(what, "times") == 0 || strcmp(what, "shop") == 0;
	const struct options options = { .mode = timed ? MODE_HIST : MODE_FOLDED,
					 .format = FORMAT_FLAME,
					 .memory_bytes = MEMORY_BYTES };
	struct error err = { .text = "" };
	struct output output;

	if (output_open(&output, &options, &err)) {
		fprintf(stderr, "flame_page: %s\n", err.text);
		return 1;
	}
	if (strcmp(what, "many") == 0 && argc == 3)
		write_many(&output, (uint32_t)strtoul(argv[2], NULL, 10));
	else if (strcmp(what, "two") == 0)
		write_base(&output);
	if (strcmp(what, "odd") == 0 || strcmp(what, "two") == 0)
		write_odd(&output);
	else if (strcmp(what, "times") == 0)
		write_times(&output);
	else if (strcmp(what, "shop") == 0)
		write_shop(&output);
	if (output_close(&output, &err)) {
		fprintf(stderr, "flame_page: %s\n", err.text);
		return 1;
	}
	return 0;
}
