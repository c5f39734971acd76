// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How fast are maps read? Each format at two sizes, ten times apart, names included. Fails if
 * the smaller takes longer than what is promised, or the larger much more than ten times that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mapparse/mapparse.h"

enum { REPEATS = 5, LINEAR_PERCENT = 150 };

static double now_ms(void)
{
	struct timespec t;

	/* Of this process alone: a busy machine must not fail the benchmark. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Names like those of real maps: mixed, and none like the one before. */
static void perf_row(FILE *out, unsigned int i)
{
	static const char *const names[] = {
		"instance void [System.Private.CoreLib] System.Collections.Generic.Dictionary`2"
		"[System.__Canon,System.Int32]::TryInsert%u(!0,!1,uint8)[OptimizedTier1]",
		"int32 [app] Demo.App.Program::Over%u(int32,int64)[QuickJitted]",
		"valuetype System.Buffers.OperationStatus [System.Private.CoreLib] "
		"System.Text.Unicode.Utf8Utility::Transcode%u(uint8*,int32,char*,int32,uint8*&,char*&)"
		"[InstrumentedTierOptimized]",
		"instance class [System.Runtime]System.Collections.Generic.IEnumerator`1<int32> [app] "
		"Demo.App.Program+<Iter>d__%u::MoveNext()[QuickJitted]",
	};

	fprintf(out, "0x%" PRIx64 " %x ", UINT64_C(0x7f3830480000) + (uint64_t)i * 64,
		16 + i % 4000);
	fprintf(out, names[i % 4], i);
	fputc('\n', out);
}

static void crossgen_row(FILE *out, unsigned int i)
{
	static const char *const names[] = {
		"instance void [app] app.Employee%u::Work()",
		"instance class [System.Runtime]System.Collections.Generic.IEnumerator`1<int32> [app] "
		"Demo.App.Program+<Iter>d__%u::MoveNext(int32&,string)",
	};

	fprintf(out, "%016X %x ", 0x11000 + i * 16, 16u);
	fprintf(out, names[i % 2], i);
	fputc('\n', out);
}

static void crossgen2_row(FILE *out, unsigned int i)
{
	static const char *const names[] = {
		"System.Int32 Demo.App.Program::Over%u(System.Int32, System.Int64)",
		"System.Collections.Generic.IEnumerator`1[System.Int32] Demo.App.Program+<Iter>d__%u::"
		"System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator()",
		"Demo.App.Box`1[System.__Canon]::set_Value%u(System.__Canon)",
		"System.Int32 Demo.App.Program+Nested+Deep::Go%u(System.Int32&, System.String&, "
		"System.Int32[], System.Int32[,], System.Collections.Generic.List`1[System.String])",
	};

	fprintf(out, "%08X %02X ", 0x11000 + i * 16, 16u);
	fprintf(out, names[i % 4], i);
	fputc('\n', out);
}

static const char *mangled(unsigned int i)
{
	static const char *const names[] = {
		"app_Demo_App_Program__Over_%u",
		"app_Demo_App_Program__Iter_d__%u__MoveNext",
		"app_Demo_App_Box_1<System___Canon>__set_Value%u",
		"app_Demo_App_Program_Nested_Deep__Go%u",
	};

	return names[i % 4];
}

static void map_row(FILE *out, unsigned int i)
{
	if (i == 0)
		fputs("Node & Symbol Map\n\nRVA        | LENGTH   | RELOCS | SECTION | SYMBOL\n",
		      out);
	fprintf(out, "0x%08X | 0x%06X |      0 | .text   | ", 0x11000 + i * 16, 16u);
	fprintf(out, mangled(i), i);
	fputs("  (MethodWithGCInfo)\n", out);
}

static void csv_row(FILE *out, unsigned int i)
{
	if (i == 0)
		fputs("Rva,Length,Relocs,Section,Symbol,Node Type\n", out);
	fprintf(out, "0x%08X,%u,0,.text,", 0x11000 + i * 16, 16u);
	fprintf(out, mangled(i), i);
	fputs(",MethodWithGCInfo\n", out);
}

static int count_row(void *user, const struct mapparse_row *row)
{
	*(uint64_t *)user += row->name != NULL;
	return 0;
}

/* The best of some runs, in ms. */
static double measure(void (*write_row)(FILE *, unsigned int), unsigned int rows)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	double best = 1e9;

	if (!out)
		exit(1);
	for (unsigned int i = 0; i < rows; i++)
		write_row(out, i);
	fclose(out);
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		uint64_t named = 0;
		double began = now_ms(), took;
		struct mapparse_reader *r = mapparse_reader_create(
			&(struct mapparse_options){ .row = count_row, .user = &named });

		if (!r || mapparse_reader_push(r, text, length) != 0 ||
		    mapparse_reader_finish(r) != 0 || named != rows) {
			fprintf(stderr,
				"bench_mapparse: only %" PRIu64 " of %u rows were read: %s\n",
				named, rows, r ? mapparse_reader_error(r) : "no memory");
			exit(1);
		}
		mapparse_reader_destroy(r);
		took = now_ms() - began;
		if (took < best)
			best = took;
	}
	free(text);
	return best;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*write_row)(FILE *, unsigned int);
		unsigned int rows;
		double limit_ms;
	} cases[] = {
		{ "perf map", perf_row, 100000, 50 },
		{ "perf map", perf_row, 1000000, 0 },
		{ "crossgen 2018", crossgen_row, 100000, 0 },
		{ "crossgen2 perfmap", crossgen2_row, 100000, 0 },
		{ "crossgen2 perfmap", crossgen2_row, 1000000, 1000 },
		{ "crossgen2 map", map_row, 100000, 0 },
		{ "crossgen2 map", map_row, 1000000, 1000 },
		{ "crossgen2 mapcsv", csv_row, 100000, 0 },
		{ "crossgen2 mapcsv", csv_row, 1000000, 1000 },
	};
	double before = 0;
	int failed = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double took = measure(cases[i].write_row, cases[i].rows);
		bool again = i > 0 && cases[i].write_row == cases[i - 1].write_row;
		bool slow = cases[i].limit_ms > 0 && took > cases[i].limit_ms;
		bool bent = again && took > before * 10 * LINEAR_PERCENT / 100;

		printf("%-18s %8u rows %8.1f ms %6.0f ns a row%s%s\n", cases[i].name, cases[i].rows,
		       took, took * 1e6 / cases[i].rows, slow ? "  TOO SLOW" : "",
		       bent ? "  NOT LINEAR" : "");
		failed |= slow || bent;
		before = took;
	}
	return failed;
}
