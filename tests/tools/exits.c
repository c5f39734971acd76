// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exits of every body of an image, or of what a process has compiled.
 *
 *   exits [-v] IMAGE...	a ReadyToRun image: all methods; an ELF file: all its functions
 *   exits [-v] -p PID
 *
 * For each: "IMAGE: N bodies, N known, ..." and a line "refused REASON N" for each reason. With -v
 * before that, all in hex:
 *   body BEGIN
 *   part BEGIN SIZE KIND
 *   exit AT KIND LENGTH TARGET DEPTH TAKEN-DOWN POINTER
 *   refused REASON AT TARGET
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "code/exits.h"
#include "runtime/dotnet/clr.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r.h"
#include "base/error.h"
#include "image/elf.h"
#include "image/pe.h"
#include "runtime/native/symbols.h"
#include "runtime/dotnet/exit_parts.h"
#include "runtime/native/find.h"
#include "target/memory.h"
#include "tests/tools/dotnet_of.h"
#include "tests/tools/files.h"

enum { FEW = 8, KINDS = EXIT_BRANCH + 1, COSTS = INSN_UNDECODABLE + 1 };

struct tally {
	const char *name;
	bool verbose;
	struct exits exits;
	size_t bodies, known, instructions, tables, unknown_depth;
	size_t kinds[KINDS], refusals[EXITS_REFUSALS], costs[COSTS];
	size_t with[FEW + 1]; /* so many exits; the last: or more */
	size_t branching;     /* bodies with an exit that need not be taken */
	double ms;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "exits: %s: %s\n", what, why);
	exit(1);
}

static void print_found(const struct exits *exits)
{
	for (size_t i = 0; i < exits->count; i++) {
		const struct exit_site *site = &exits->sites[i];

		printf("exit %" PRIx64 " %s %u %" PRIx64 " ", site->at, exit_kind_name(site->kind),
		       site->length, site->target);
		if (site->depth == EXIT_DEPTH_UNKNOWN)
			printf("?");
		else
			printf("%" PRId32, site->depth);
		printf(" %" PRIu32 " %s\n", site->taken_down, site->from_frame ? "frame" : "stack");
	}
	if (exits->refusal)
		printf("refused %s %" PRIx64 " %" PRIx64 "\n", exits_refusal_code(exits->refusal),
		       exits->refused_at, exits->refused_target);
}

static void print_parts(const struct exit_part *parts, size_t count)
{
	static const char *const kinds[] = { "hot", "cold", "handler" };

	printf("body %" PRIx64 "\n", parts[0].begin);
	for (size_t i = 0; i < count && i < EXITS_PARTS_MAX; i++)
		printf("part %" PRIx64 " %zx %s\n", parts[i].begin, parts[i].code.size,
		       kinds[parts[i].kind]);
}

static void count_found(struct tally *tally)
{
	const struct exits *exits = &tally->exits;
	bool branches = false;

	tally->bodies++;
	tally->refusals[exits->refusal]++;
	tally->instructions += exits->instructions;
	if (tally->verbose)
		print_found(exits);
	if (exits->refusal)
		return;
	tally->known++;
	tally->tables += exits->tables;
	tally->with[exits->count < FEW ? exits->count : FEW]++;
	for (size_t i = 0; i < exits->count; i++) {
		const struct exit_site *site = &exits->sites[i];

		tally->kinds[site->kind]++;
		tally->costs[site->cost]++;
		tally->unknown_depth += site->depth == EXIT_DEPTH_UNKNOWN;
		branches = branches || site->kind == EXIT_BRANCH;
	}
	tally->branching += branches;
}

static void look_for(struct tally *tally, const struct exit_body *body)
{
	struct error err = { .text = "" };
	double begin = now_ms();

	if (exits_find(&tally->exits, body, &err))
		fail(tally->name, err.text);
	tally->ms += now_ms() - begin;
	if (tally->verbose)
		print_parts(body->parts, body->part_count);
	count_found(tally);
}

static bool print_tally(struct tally *tally)
{
	printf("%s: %zu bodies, %zu known, %zu instructions, %zu tables, "
	       "%zu exits of unknown depth, %zu bodies that may branch away, %.0f ms\n",
	       tally->name, tally->bodies, tally->known, tally->instructions, tally->tables,
	       tally->unknown_depth, tally->branching, tally->ms);
	printf("exits");
	for (unsigned int i = 0; i < KINDS; i++)
		printf(" %s %zu", exit_kind_name(i), tally->kinds[i]);
	printf("\nplaceable emulated %zu stepped %zu refused %zu corrupted %zu\nbodies with",
	       tally->costs[INSN_EMULATED], tally->costs[INSN_SINGLE_STEPPED],
	       tally->costs[INSN_REFUSED], tally->costs[INSN_CORRUPTED]);
	for (unsigned int i = 0; i <= FEW; i++)
		printf(" %u%s: %zu", i, i == FEW ? "+" : "", tally->with[i]);
	printf("\n");
	for (unsigned int i = 1; i < EXITS_REFUSALS; i++) {
		if (tally->refusals[i])
			printf("refused %s %zu\n", exits_refusal_code(i), tally->refusals[i]);
	}
	exits_deinit(&tally->exits);
	return tally->bodies > 0;
}

/* Images ------------------------------------------------------------------------------------------ */

struct precompiled {
	struct pe pe;
	struct tally *tally;
};

static int visit_precompiled(const struct r2r_body *r2r_body, void *ctx)
{
	static struct exit_part parts[EXITS_PARTS_MAX];
	struct precompiled *image = ctx;
	const struct exit_body body = {
		.parts = parts,
		.part_count = exit_parts_precompiled(&image->pe, r2r_body, parts),
		.unwound_by_code = true,
		.read = exit_read_pe,
		.ctx = &image->pe,
	};

	look_for(image->tally, &body);
	return 0;
}

/* The metadata of a composite's component: its own, or that of the file beside it. */
static struct metadata *component_metadata(const struct r2r *r2r, uint32_t component,
					   const char *composite)
{
	struct span bytes = r2r_component_metadata(r2r, component);
	const char *slash = strrchr(composite, '/');
	const char *name = r2r_component_name(r2r, component);
	struct metadata *metadata = NULL;
	struct error err = { .text = "" };
	struct pe pe;
	char *path;

	if (!bytes.start && name &&
	    asprintf(&path, "%.*s%s.dll", slash ? (int)(slash - composite) + 1 : 0, composite,
		     name) > 0) {
		if (pe_init(&pe, map_file(path), &err))
			fail(path, err.text);
		bytes = metadata_of_pe(&pe);
		free(path);
	}
	if (!bytes.start || metadata_create(&metadata, bytes, &err))
		fail(composite, "a component has no metadata");
	return metadata;
}

/* The metadata of components is needed to the end of the program. */
static bool all_precompiled(struct span file, struct tally *tally)
{
	struct precompiled image = { .tally = tally };
	struct metadata *metadata = NULL;
	struct error err = { .text = "" };
	struct r2r *r2r;

	if (pe_init(&image.pe, file, &err))
		fail(tally->name, err.text);
	if (r2r_kind_of(&image.pe) != R2R_IMAGE && r2r_kind_of(&image.pe) != R2R_COMPOSITE) {
		printf("%s: no precompiled code\n", tally->name);
		return true;
	}
	if (r2r_create(&r2r, &image.pe, &err) ||
	    (r2r_kind_of(&image.pe) == R2R_IMAGE &&
	     metadata_create(&metadata, metadata_of_pe(&image.pe), &err)))
		fail(tally->name, err.text);
	for (uint32_t i = 0; i < r2r_component_count(r2r); i++)
		r2r_set_metadata(r2r, i,
				 metadata ? metadata : component_metadata(r2r, i, tally->name));
	(void)r2r_each_body(r2r, visit_precompiled, &image);
	r2r_destroy(r2r);
	metadata_destroy(metadata);
	return print_tally(tally);
}

static void visit_native(struct tally *tally, const struct elf *elf, struct native_symbols *symbols,
			 const struct native_symbol *symbol)
{
	struct exit_part part = { elf_bytes(elf, symbol->begin, symbol->size), symbol->begin, 0 };
	struct error err = { .text = "" };
	double begin = now_ms();

	if (native_find_exits(&tally->exits, elf, symbols, symbol, &err))
		fail(tally->name, err.text);
	tally->ms += now_ms() - begin;
	if (tally->verbose) {
		print_parts(&part, 1);
		printf("name %s\n", symbol->name);
	}
	count_found(tally);
}

static bool all_native(struct span file, struct tally *tally)
{
	const struct native_symbol *symbol;
	struct native_symbols *symbols;
	struct error err = { .text = "" };
	struct elf elf;
	uint64_t last = 0;

	if (!elf_init(&elf, file) || native_symbols_create(&symbols, file, 0, &err))
		fail(tally->name, "it is no ELF file that can be read");
	/* There is no walk over them: ask for each address of code. */
	for (unsigned int i = 0; i < elf.segment_count; i++) {
		const struct elf_segment *segment = &elf.segments[i];

		for (uint64_t at = segment->address;
		     segment->executable && at < segment->address + segment->bytes.size; at++) {
			symbol = native_symbols_find(symbols, at);
			if (!symbol || symbol->begin != at || symbol->begin == last ||
			    strstr(symbol->name, ".cold"))
				continue;
			last = symbol->begin;
			visit_native(tally, &elf, symbols, symbol);
		}
	}
	native_symbols_destroy(symbols);
	return print_tally(tally);
}

static bool all_of_image(const char *path, bool verbose)
{
	struct tally tally = { .name = path, .verbose = verbose };
	struct span file = map_file(path);

	if (file.size > 4 && memcmp(file.start, "\177ELF", 4) == 0)
		return all_native(file, &tally);
	return all_precompiled(file, &tally);
}

/* A process ------------------------------------------------------------------------------------- */

static void visit_compiled(struct tally *tally, struct resolution *resolution,
			   const struct jit_body *jit_body)
{
	static struct exit_part parts[EXITS_PARTS_MAX];
	struct look look = look_into(resolution->target->memory);
	_cleanup_free_ uint8_t *bytes = malloc(jit_body->size);
	struct exit_body body = {
		.parts = parts,
		.entered_midway = jit_body->tier == TIER_OSR,
		.left_midway = tier_may_be_left(jit_body->tier),
		.unwound_by_code = true,
		.read = exit_read_memory,
		.ctx = resolution->target->memory,
	};

	if (!bytes)
		fail(tally->name, "no memory");
	look_copy_once(&look, jit_body->start.value, bytes, jit_body->size);
	if (!look.bad)
		body.part_count =
			exit_parts_compiled(&dotnet_of(resolution)->jit->clr, jit_body->start,
					    (struct span){ bytes, jit_body->size }, parts);
	parts[0].begin = jit_body->start.value;
	look_for(tally, &body);
	if (tally->verbose) {
		printf("tier %s\ncode ", tier_name(jit_body->tier));
		for (uint32_t i = 0; i < jit_body->size; i++)
			printf("%02x", bytes[i]);
		printf("\n");
	}
}

static bool all_compiled(const char *pid, bool verbose)
{
	struct tally tally = { .name = pid, .verbose = verbose };
	struct error err = { .text = "" };
	_cleanup_(target_deinit) struct target target = TARGET_NONE;
	_cleanup_(resolution_deinit) struct resolution resolution;

	if (target_init(&target, atoi(pid), &err) || resolution_init(&resolution, &target, &err))
		fail(pid, err.text);
	if (!dotnet_of(&resolution)->jit)
		fail(pid, dotnet_of(&resolution)->jit_problem->text);
	for (size_t i = 0; i < dotnet_of(&resolution)->jit->body_count; i++)
		visit_compiled(&tally, &resolution, &dotnet_of(&resolution)->jit->bodies[i]);
	return print_tally(&tally);
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	char **files = argv + 1 + verbose;
	bool good = *files != NULL;

	if (good && strcmp(*files, "-p") == 0)
		return !(files[1] && all_compiled(files[1], verbose));
	for (; *files; files++)
		good = all_of_image(*files, verbose) && good;
	return !good;
}
