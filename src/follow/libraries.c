// SPDX-License-Identifier: GPL-2.0-or-later
/* Which libraries of the target the probes hang on, and from when on they are there. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dotnet/jit.h"
#include "error.h"
#include "follow/follow_internal.h"
#include "resolve.h"

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
		    probes_attach_mmap(follow->probes, file->fd, file->bytes, NULL) == 0)
			return 0;
	}
	return -ENOENT;
}

static const struct target_file *find_jit(const struct target_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (strcmp(files->files[i].name, "libclrjit.so") == 0)
			return &files->files[i];
	}
	return NULL;
}

static int attach_compiler(struct follow *follow, const struct target_files *files,
			   const struct dotnet_runtime *runtime, struct error *err)
{
	const struct target_file *file =
		runtime->single_file ? &files->files[runtime->file] : find_jit(files);
	const struct resolution *resolution = follow->config.resolution;
	struct jit_compiler compiler;
	int result;

	if (!file)
		return error_set(err, -ENOENT, "the target has not loaded libclrjit.so");
	if (!runtime->single_file)
		result = jit_compiler_find(&compiler, file->bytes, err);
	else if (resolution)
		result = jit_compiler_find_running(&compiler, jit_clr(resolution->jit), file->bytes,
						   runtime->bias, err);
	else
		result = jit_compiler_find_linked(&compiler, file->bytes, err);
	if (result)
		return result;
	return probes_attach_compiler(follow->probes, file->fd, &compiler, err);
}

static void meet_runtime(struct follow *follow, const struct target_files *files)
{
	struct error why = { .text = "" };
	struct dotnet_runtime runtime;
	struct layout layout;

	if (!resolution_find_runtime(files, &runtime))
		return;
	follow->met_runtime = true;
	if (layout_init(&layout, runtime.major, NULL, &follow->problem))
		return;
	if (!follow->shared->has_layout &&
	    probes_set_layout(follow->probes, &layout, &follow->problem))
		return;
	if (runtime.single_file)
		loads_add_bundle(follow->loads, files->files[runtime.file].fd,
				 files->files[runtime.file].name);
	/* .NET loads its JIT when it first needs it. */
	if (attach_compiler(follow, files, &runtime, &why) != -ENOENT && why.text[0])
		follow->problem = why;
}

/* The target is being started: by and by what is needed comes up. Nothing of it runs yet. */
void libraries_look(struct follow *follow)
{
	struct target_files files;
	struct maps maps;

	if (probes_have_compiler(follow->probes) && probes_have_mmap(follow->probes))
		return;
	if (maps_read(&maps, &follow->process, NULL))
		return;
	if (target_files_open(&files, &follow->process, &maps, mapping_is_file_code, NULL) == 0) {
		attach_mmap(follow, &files);
		meet_runtime(follow, &files);
	}
	target_files_close(&files);
	maps_deinit(&maps);
}

int libraries_attach_running(struct follow *follow, struct error *err)
{
	const struct resolution *resolution = follow->config.resolution;
	const struct dotnet_runtime *runtime = &resolution->runtime;
	struct maps maps;
	int result;

	if (!resolution->jit)
		return error_set(err, -ENOTSUP, "code compiled at run time cannot be found");
	result = probes_set_layout(follow->probes, &jit_clr(resolution->jit)->layout, err);
	if (result)
		return result;
	if (runtime->single_file) {
		const struct target_file *file = &resolution->files.files[runtime->file];

		loads_add_bundle(follow->loads, file->fd, file->name);
	}
	/* Without this, images that are loaded later are not seen; the end will tell. */
	if (attach_mmap(follow, &resolution->files) == 0 &&
	    maps_read(&maps, &follow->process, NULL) == 0) {
		loads_look(follow->loads, &maps);
		maps_deinit(&maps);
	}
	return attach_compiler(follow, &resolution->files, runtime, err);
}

int libraries_attach_starting(struct follow *follow, struct error *err)
{
	const char *loader = follow->config.loader;
	struct span bytes = { 0 };
	struct stat status;
	int fd = open(loader, O_RDONLY | O_CLOEXEC);
	int result = fd < 0 || fstat(fd, &status) != 0 ?
			     -errno :
			     target_bytes_map(fd, (size_t)status.st_size, &bytes);

	if (result)
		error_set(err, result, "cannot read the dynamic loader %s: %s", loader,
			  strerror(-result));
	else
		result = probes_attach_loader(follow->probes, fd, bytes, err);
	if (bytes.start)
		target_bytes_unmap(bytes);
	if (fd >= 0)
		close(fd);
	return result;
}
