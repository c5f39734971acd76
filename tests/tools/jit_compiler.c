// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit_compiler library|linked FILE    where the JIT's compileMethod lies in FILE
 * jit_compiler PID                    and in a process, by each way that there is for it; then
 *                                     count what goes in and out there, until standard input ends
 *
 * A way is a line: its name, and the offsets of the entry and the exit. For tests.
 */
#include <bpf/bpf.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/dotnet/compiler.h"
#include "base/error.h"
#include "target/memory.h"
#include "tests/tools/dotnet_of.h"

enum { ENTRIES, EXITS, COUNTERS };

static const char UPROBE_TYPE[] = "/sys/bus/event_source/devices/uprobe/type";

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

static uint32_t uprobe_type(void)
{
	FILE *file = fopen(UPROBE_TYPE, "re");
	char text[16] = "";

	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
	}
	return (uint32_t)strtoul(text, NULL, 10);
}

/* A program that adds 1 to the number @key of array @map. */
static int load_counter(int map, int key)
{
	const struct bpf_insn code[] = {
		/* *(u32 *)(r10 - 4) = key; r2 = r10 - 4; r1 = map */
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = key },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_DW, .dst_reg = 1, .src_reg = 1, .imm = map },
		{ .code = 0 },
		/* r0 = bpf_map_lookup_elem(r1, r2); if (r0) atomically *r0 += 1 */
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .src_reg = 1, .imm = BPF_ADD },
		/* return 0 */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count", "GPL", code,
			     sizeof(code) / sizeof(code[0]), NULL);
}

/* With a program, a uprobe on one thread sees the whole process. */
static bool attach(pid_t pid, const char *path, uint64_t offset, int map, int key)
{
	struct perf_event_attr attr = {
		.type = uprobe_type(),
		.size = sizeof(attr),
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = offset,
	};
	int program = load_counter(map, key);
	int event = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (program < 0 || event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program)) {
		perror("jit_compiler: cannot count");
		return false;
	}
	return true;
}

static uint64_t read_counter(int map, int key)
{
	uint64_t count = 0;

	return bpf_map_lookup_elem(map, &key, &count) ? 0 : count;
}

/* What is opened here is closed by exiting. */
static int count(pid_t pid, int fd, const struct jit_compiler *compiler)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "counts", sizeof(uint32_t), sizeof(uint64_t),
				 COUNTERS, NULL);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!attach(pid, path, compiler->exit.value, map, EXITS) ||
	    !attach(pid, path, compiler->entry.value, map, ENTRIES))
		return 1;
	printf("counting\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	printf("counted %" PRIu64 " %" PRIu64 "\n", read_counter(map, ENTRIES),
	       read_counter(map, EXITS));
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
		result = count(pid, file->fd, &compiler);
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
