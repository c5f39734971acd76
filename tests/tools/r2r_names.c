// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints "RVA SIZE NAME" of every body in a ReadyToRun image, the rows that crossgen2
 * --perfmap writes for it, so that one can be compared with the other.
 *
 *   r2r_names [-c | -p | -b] IMAGE [COMPONENT]...
 *
 * -c spells names as place-probe does; -p prints "RVA PART-RVA PART-SIZE KIND" of every
 * part of every body; -b prints how long a walk takes. The components of a composite
 * are given as files, in any order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r.h"
#include "base/error.h"
#include "image/pe.h"
#include "method/method_name.h"
#include "tests/tools/files.h"

enum { MAX_PARTS = 1024, BENCH_ROUNDS = 20 };

struct printer {
	struct text text;
	struct method_name name;
	bool canonical;
	bool parts;
	struct rva last;
	uint64_t count;
};

static void check(int status, const char *path, const struct error *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "%s: %s\n", path, err->text);
	exit(1);
}

static struct metadata *open_metadata(const struct pe *pe, const char *path)
{
	struct span bytes = metadata_of_pe(pe);
	struct metadata *metadata;
	struct error err = { "" };

	if (!bytes.start)
		return NULL;
	check(metadata_create(&metadata, bytes, &err), path, &err);
	return metadata;
}

/* From the entry to the end of the last funclet, as crossgen2 counts; cold code by itself. */
static uint32_t hot_size(const struct r2r_part *parts, size_t count)
{
	uint32_t end = 0;

	for (size_t i = 0; i < count && !parts[i].cold; i++)
		end = parts[i].rva.value + parts[i].size;
	return end - parts[0].rva.value;
}

static void print_parts(const struct r2r_body *body, const struct r2r_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *kind = i == 0 ? "entry" : parts[i].cold ? "cold" : "funclet";

		printf("%08" PRIX32 " %08" PRIX32 " %02" PRIX32 " %s\n", body->rva.value,
		       parts[i].rva.value, parts[i].size, kind);
	}
}

static int print_body(const struct r2r_body *body, void *ctx)
{
	static struct r2r_part parts[MAX_PARTS];
	struct printer *printer = ctx;
	size_t count = r2r_body_parts(body, parts, MAX_PARTS);

	if (printer->parts) {
		print_parts(body, parts, count < MAX_PARTS ? count : MAX_PARTS);
		return 0;
	}
	text_clear(&printer->text);
	if (printer->canonical) {
		r2r_body_name(body, &printer->name);
		method_name_spell(&printer->name, &printer->text);
	} else {
		r2r_body_map_name(body, &printer->text);
	}
	printf("%08" PRIX32 " %02" PRIX32 " %s\n", body->rva.value, hot_size(parts, count),
	       text_chars(&printer->text));
	return 0;
}

static int short_name(const struct r2r_body *body, void *ctx)
{
	struct printer *printer = ctx;

	r2r_body_short_name(body, &printer->name);
	printer->last = body->rva;
	printer->count++;
	return 0;
}

static int full_name(const struct r2r_body *body, void *ctx)
{
	struct printer *printer = ctx;

	r2r_body_name(body, &printer->name);
	printer->last = body->rva;
	printer->count++;
	return 0;
}

/* The best of some rounds: open, walk over everything, close. */
static void bench(const struct pe *pe, const char *what,
		  int (*fn)(const struct r2r_body *body, void *ctx))
{
	struct printer printer = { .count = 0 };
	double best = 1e9, open_best = 1e9;
	struct r2r_body body;
	double index_ms = 0;

	for (int i = 0; i < BENCH_ROUNDS; i++) {
		double start = now_ms(), opened;
		struct metadata *metadata = open_metadata(pe, what);
		struct r2r *r2r;

		if (r2r_create(&r2r, pe, NULL) < 0)
			exit(1);
		r2r_set_metadata(r2r, 0, metadata);
		opened = now_ms() - start;
		printer.count = 0;
		(void)r2r_each_body(r2r, fn, &printer);
		best = now_ms() - start < best ? now_ms() - start : best;
		open_best = opened < open_best ? opened : open_best;
		start = now_ms();
		(void)r2r_find_rva(r2r, printer.last, &body);
		index_ms = now_ms() - start;
		r2r_destroy(r2r);
		metadata_destroy(metadata);
	}
	printf("%s: %" PRIu64 " bodies, %.2f ms, opened in %.3f ms, index %.2f ms\n", what,
	       printer.count, best, open_best, index_ms);
	method_name_deinit(&printer.name);
}

static void set_component(struct r2r *r2r, const char *path)
{
	struct pe *pe = calloc(1, sizeof(*pe));
	struct error err = { "" };
	struct metadata *metadata;

	if (!pe)
		exit(1);
	check(pe_init(pe, map_file(path), &err), path, &err);
	metadata = open_metadata(pe, path);
	for (uint32_t i = 0; i < r2r_component_count(r2r); i++) {
		const char *name = r2r_component_name(r2r, i);

		if (metadata && name && strcmp(name, metadata_assembly_name(metadata)) == 0)
			r2r_set_metadata(r2r, i, metadata);
	}
}

static int open_and_print(const struct pe *pe, const char *mode, char **files)
{
	struct printer printer = {
		.canonical = strcmp(mode, "-c") == 0,
		.parts = strcmp(mode, "-p") == 0,
	};
	struct error err = { "" };
	struct r2r *r2r;

	check(r2r_create(&r2r, pe, &err), files[0], &err);
	if (r2r_kind_of(pe) == R2R_IMAGE)
		r2r_set_metadata(r2r, 0, open_metadata(pe, files[0]));
	for (char **file = files + 1; *file; file++)
		set_component(r2r, *file);
	(void)r2r_each_body(r2r, print_body, &printer);
	fprintf(stderr, "damaged %" PRIu64 " unnamed %" PRIu64 "\n", r2r_damaged(r2r),
		r2r_unnamed(r2r));
	method_name_deinit(&printer.name);
	text_deinit(&printer.text);
	r2r_destroy(r2r);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
	char **files = argv + (*mode ? 2 : 1);
	struct error err = { "" };
	struct pe pe;

	if (argc < 2 || !*files) {
		fprintf(stderr, "usage: r2r_names [-c | -p | -b] IMAGE [COMPONENT]...\n");
		return 2;
	}
	check(pe_init(&pe, map_file(*files), &err), *files, &err);
	if (strcmp(mode, "-b") == 0) {
		bench(&pe, "short names", short_name);
		bench(&pe, "full names", full_name);
		return 0;
	}
	return open_and_print(&pe, mode, files);
}
