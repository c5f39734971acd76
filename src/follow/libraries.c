// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Before the follower's thread, and in a program that is being started at each stop of its loader:
 * which libraries of the target the probes (probes.c) hang on, and from when on they are there.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "follow/follow_internal.h"
#include "image/elf.h"
#include "method/pattern.h"
#include "runtime/runtime.h"
#include "target/target.h"

static bool is_c_library(const char *name)
{
	static const char *const starts[] = { "libc.so", "libc-2", "libc.musl", "ld-musl" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

static int attach_mmap(struct follow *follow, const struct target_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct target_file *file = &files->files[i];

		if (is_c_library(file->name) &&
		    probes_attach_mmap(&follow->probes, PROBES_MMAP, file->fd, file->bytes, NULL) ==
			    0)
			return 0;
	}
	return -ENOENT;
}

/*
 * By what the dynamic loader maps libraries; the C library's mmap() is another's. A program without
 * a loader has all of its code from the start.
 */
static void attach_loader_mmap(struct follow *follow, int fd, struct span bytes)
{
	if (probes_attach_mmap(&follow->probes, PROBES_LOADER_MMAP, fd, bytes, NULL))
		follow->libraries_unseen = true;
}

static void watch_loader(struct follow *follow, const struct target_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct target_file *file = &files->files[i];
		struct elf elf;

		if (strncmp(file->name, "ld-", 3) == 0 && elf_init(&elf, file->bytes) &&
		    elf_export(&elf, "_dl_debug_state"))
			attach_loader_mmap(follow, file->fd, file->bytes);
	}
}

static void note_library(struct dispatch_code *dispatch, const struct target_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct mapping *code = &files->files[i].mapping;

		if (!is_c_library(files->files[i].name) || !mapping_is_file_code(code))
			continue;
		dispatch->library_begin = code->start;
		dispatch->library_end = code->end;
		return;
	}
}

/*
 * Threads find out in the runtime where to go, and the runtime calls the C library. In a
 * single-file executable they are held there as well.
 */
static void note_runtime(struct follow *follow, const struct runtime_code *code,
			 const struct target_files *files)
{
	const struct mapping *runtime = &code->runtime->mapping;
	struct dispatch_code dispatch = { .begin = runtime->start, .end = runtime->end };

	if (!mapping_is_file_code(runtime))
		return;
	mapping_address(&code->compiler->mapping, code->exit, &dispatch.held_at);
	note_library(&dispatch, files);
	follow->jit->scheduler.dispatch = dispatch;
}

static int attach_compiler(struct follow *follow, const struct runtime_code *code,
			   const struct target_files *files, struct error *err)
{
	note_runtime(follow, code, files);
	return probes_attach_compiler(&follow->probes, code->compiler->fd, code->entry, code->exit,
				      err);
}

/* @runtime is there; NULL: it is just being started. As find_code() has it. */
static int find_code(struct follow *follow, struct runtime_code *code,
		     const struct target_files *files, const struct runtime *runtime,
		     struct error *err)
{
	int result = watch_images(follow->watch)
			     ->ops->find_code(code, files, runtime, follow->shared, err);

	if (code->holds_images && code->runtime)
		loads_add_bundle(follow->loads, code->runtime->fd, code->runtime->name);
	return result;
}

static void meet_runtime(struct follow *follow, const struct target_files *files)
{
	struct error why = { .text = "" };
	struct runtime_code code = { 0 };
	int result = find_code(follow, &code, files, NULL, &why);

	if (!code.runtime)
		return;
	follow->met_runtime = true;
	if (result == 0)
		result = attach_compiler(follow, &code, files, &why);
	runtime_code_close(&code);
	/* It may be loaded when it is first needed. */
	if (result && result != -ENOENT && why.text[0])
		follow->problem = why;
}

/* The target is being started: by and by what is needed comes up. Nothing of it runs yet. */
void libraries_look(struct follow *follow)
{
	struct target_files files = { .numbers = follow->config.numbers };
	_cleanup_(maps_deinit) struct maps maps = { 0 };
	bool methods = follow_has_methods(follow);

	if ((follow->probes.of[PROBES_COMPILE_BEGIN] || !methods) && follow->probes.of[PROBES_MMAP])
		return;
	if (maps_read(&maps, &follow->process, NULL))
		return;
	if (target_files_add(&files, &follow->process, &maps, mapping_is_file_code, NULL) == 0) {
		attach_mmap(follow, &files);
		if (methods)
			meet_runtime(follow, &files);
	}
	target_files_close(&files);
}

/* Without these, what is loaded later is not seen; the end will tell. */
static void attach_loading(struct follow *follow)
{
	const struct target_files *files = &follow->config.target->files;
	bool natives = natives_wanted(follow->loads);
	_cleanup_(maps_deinit) struct maps maps = { 0 };

	if (natives)
		watch_loader(follow, files);
	if ((attach_mmap(follow, files) == 0 || natives) &&
	    maps_read(&maps, &follow->process, NULL) == 0)
		loads_look(follow->loads, &maps);
}

int libraries_attach_running(struct follow *follow, struct error *err)
{
	const struct target_files *files = &follow->config.target->files;
	struct runtime_code code = { 0 };
	int result = 0;

	if (follow_has_methods(follow))
		result = find_code(follow, &code, files, runtimes_followed(follow->config.runtimes),
				   err);
	if (result == 0) {
		attach_loading(follow);
		if (code.compiler)
			result = attach_compiler(follow, &code, files, err);
	}
	runtime_code_close(&code);
	return result;
}

/* Where it stops, and by what it maps. Only methods cannot be followed without its stops. */
static int attach_loader(struct follow *follow, int fd, struct span bytes, struct error *err)
{
	bool methods = follow_has_methods(follow);
	int result = 0;

	if (natives_wanted(follow->loads))
		attach_loader_mmap(follow, fd, bytes);
	if (methods || follow->config.kernel.loader_fd >= 0)
		result = probes_attach_loader(&follow->probes, fd, bytes, methods ? err : NULL);
	return methods ? result : 0;
}

int libraries_attach_starting(struct follow *follow, struct error *err)
{
	const char *loader = follow->config.loader;
	struct span bytes = { 0 };
	struct stat status;
	_cleanup_close_ int fd = -1;
	int result;

	if (follow->config.program)
		loads_take_path(follow->loads, follow->config.program);
	if (!loader)
		return 0;
	loads_take_path(follow->loads, loader);
	fd = open(loader, O_RDONLY | O_CLOEXEC);
	result = fd < 0 || fstat(fd, &status) != 0 ?
			 -errno :
			 target_bytes_map(fd, (size_t)status.st_size, &bytes);
	if (result)
		error_set(
			err, result,
			"cannot read the dynamic loader %s: %s (start the program, and give its PID)",
			loader, strerror(-result));
	else
		result = attach_loader(follow, fd, bytes, err);
	target_bytes_unmap(bytes);
	return result;
}

/* What others ask ------------------------------------------------------------------------- */

bool follow_has_methods(const struct follow *follow)
{
	return follow->config.methods->count > 0;
}

bool follow_misses_libraries(const struct follow *follow)
{
	return follow->libraries_unseen;
}
