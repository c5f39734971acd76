// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit_compiler library|linked FILE    where the JIT's compileMethod lies in FILE
 * jit_compiler PID                    and in a process, by each way that there is for it; then
 *                                     count what goes in and out there, until standard input ends
 *
 * A way is a line: its name, and the offsets of the entry and the exit. For tests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/dotnet/compiler.h"
#include "base/error.h"
#include "target/memory.h"
#include "tests/helpers/hit_counter.h"
#include "tests/tools/dotnet_of.h"

enum { ENTRIES, EXITS, COUNTERS };

static int print_found(const char *way, int result, const struct jit_compiler *compiler,
		       const struct error *err)
{
	if (result)
		fprintf(stderr, "jit_compiler: %s: %s\n", way, err->text);
	else
		printf("%s 0x%" PRIx64 " 0x%" PRIx64 "\n", way, compiler->entry.value,
		       compiler->exit.value);
	return result ? 1 : 0;
}

static int find_in_file(const char *way, const char *path)
{
	bool is_library = strcmp(way, "library") == 0;
	struct jit_compiler compiler;
	struct error err = { .text = "" };
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	struct span whole = { 0 };
	int result;

	if (file && fseek(file, 0, SEEK_END) == 0) {
		long size = ftell(file);

		rewind(file);
		bytes = malloc(size > 0 ? (size_t)size : 1);
		if (bytes)
			whole = (struct span){ bytes, fread(bytes, 1, (size_t)size, file) };
	}
	if (file)
		fclose(file);
	result = is_library ? jit_compiler_find(&compiler, whole, &err) :
			      jit_compiler_find_linked(&compiler, whole, &err);
	result = print_found(way, result, &compiler, &err);
	free(bytes);
	return result;
}

/* In a process ------------------------------------------------------------------------------ */

static int find_running(struct resolution *resolution, struct jit_compiler *compiler)
{
	const struct dotnet_runtime *runtime = &dotnet_of(resolution)->about;
	struct span file = target_file(resolution->target, runtime->file)->bytes;
	struct error err = { .text = "" };
	struct clr clr;
	int result;

	result = print_found("linked", jit_compiler_find_linked(compiler, file, &err), compiler,
			     &err);
	if (result)
		return result;
	result = clr_init(&clr, resolution->target->memory, runtime->major,
			  runtime->contract_at ? runtime->contract_at + runtime->bias : 0,
			  runtime->dac_table_at ? runtime->dac_table_at + runtime->bias : 0, &err);
	if (result == 0)
		result = jit_compiler_find_running(compiler, &clr, file, runtime->bias, &err);
	return print_found("running", result, compiler, &err);
}

static const struct target_file *find_library(const struct resolution *resolution)
{
	for (size_t i = 0; i < resolution->target->files.count; i++) {
		if (strcmp(resolution->target->files.files[i].name, "libclrjit.so") == 0)
			return &resolution->target->files.files[i];
	}
	return NULL;
}

/* What is opened here is closed by exiting. */
static int count(struct process *process, int fd, const struct jit_compiler *compiler)
{
	struct uprobe_site sites[] = {
		{ .file_fd = fd, .offset = compiler->exit, .cookie = EXITS },
		{ .file_fd = fd, .offset = compiler->entry, .cookie = ENTRIES },
	};
	struct uprobes *uprobes;
	struct error err = { .text = "" };
	int map = hit_counter_map(COUNTERS), program = hit_counter_load(map, UPROBE_PERF);

	if (program < 0) {
		perror("jit_compiler: cannot count");
		return 1;
	}
	if (uprobes_create(&uprobes, UPROBE_PERF, program, process, &err) ||
	    uprobes_attach(uprobes, sites, COUNTERS, &err) || sites[0].error || sites[1].error) {
		fprintf(stderr, "jit_compiler: cannot count: %s\n", err.text);
		return 1;
	}
	printf("counting\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	printf("counted %" PRIu64 " %" PRIu64 "\n", hit_counter_read(map, ENTRIES),
	       hit_counter_read(map, EXITS));
	return 0;
}

static int look_at_process(pid_t pid)
{
	struct target target = TARGET_NONE;
	struct resolution resolution;
	struct error err = { .text = "" };
	const struct target_file *file;
	struct jit_compiler compiler;
	int result;

	if (target_init(&target, pid, &err) || resolution_init(&resolution, &target, &err)) {
		fprintf(stderr, "jit_compiler: %s\n", err.text);
		return 1;
	}
	file = find_library(&resolution);
	if (file) {
		result = print_found("library", jit_compiler_find(&compiler, file->bytes, &err),
				     &compiler, &err);
	} else {
		file = target_file(resolution.target, dotnet_of(&resolution)->about.file);
		result = find_running(&resolution, &compiler);
	}
	if (result == 0)
		result = count(&target.process, file->fd, &compiler);
	resolution_deinit(&resolution);
	target_deinit(&target);
	return result;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return find_in_file(argv[1], argv[2]);
	if (argc == 2)
		return look_at_process(atoi(argv[1]));
	fprintf(stderr, "usage: jit_compiler library|linked FILE, or jit_compiler PID\n");
	return 2;
}
