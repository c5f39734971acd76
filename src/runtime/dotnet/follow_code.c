// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the follower's probes go in .NET, and what the programs at them read of the runtime and its
 * compiler: follow.c has the rest of the table.
 */
#include <string.h>

#include "base/error.h"
#include "bpf/follow.h"
#include "runtime/dotnet/compiler.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "runtime/follow.h"
#include "target/target.h"

#define JIT_NAME "libclrjit.so"

enum {
	/*
	 * CORJIT_FLAGS, dotnet/runtime src/coreclr/inc/corjitflags.h; the same in .NET 8 to 11.
	 */
	JIT_FLAG_OSR = 7,
	JIT_FLAG_INSTRUMENTED = 18,
	JIT_FLAG_OPTIMIZED = 20,
	JIT_FLAG_TIER0 = 26,
	JIT_FLAG_TIER1 = 27,
};

static int tell_layout(const struct dotnet_runtime *about, const struct dotnet *dotnet,
		       struct follow_shared *shared, struct error *err)
{
	struct layout layout;
	int result;

	if (dotnet)
		return layout_for_programs(&dotnet->jit->clr.layout, shared, err);
	result = layout_init(&layout, about->major, NULL, err);
	if (result || shared->has_layout)
		return result;
	return layout_for_programs(&layout, shared, err);
}

static const struct target_file *find_jit(const struct target_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (strcmp(files->files[i].name, JIT_NAME) == 0)
			return &files->files[i];
	}
	return NULL;
}

/*
 * .NET 11 loads its JIT when it first needs it, from where it is itself; until then it has compiled
 * nothing.
 */
static int find_unloaded_jit(struct runtime_code *code, const struct dotnet *dotnet,
			     struct error *err)
{
	struct error why = { .text = "" };

	if (target_beside_open(&code->unloaded, &dotnet->target->process, code->runtime, JIT_NAME,
			       &why))
		return error_set(err, -ENOENT, "the target has not loaded %s, and %s", JIT_NAME,
				 why.text);
	code->compiler = &code->unloaded;
	return 0;
}

/* Nothing points to a JIT that has not been needed yet. */
static int find_running_compiler(struct jit_compiler *compiler, const struct dotnet *dotnet,
				 struct span file, uint64_t bias, struct error *err)
{
	int result = jit_compiler_find_running(compiler, &dotnet->jit->clr, file, bias, err);

	if (result == -ENOTSUP && jit_compiler_find_linked(compiler, file, NULL) == 0)
		return 0;
	return result;
}

/* See compiler.h. */
static int find_compiler(struct runtime_code *code, const struct dotnet_runtime *about,
			 const struct dotnet *dotnet, struct error *err)
{
	struct span bytes = code->compiler->bytes;
	struct jit_compiler compiler;
	int result;

	if (!about->single_file)
		result = jit_compiler_find(&compiler, bytes, err);
	else if (dotnet)
		result = find_running_compiler(&compiler, dotnet, bytes, about->bias, err);
	else
		result = jit_compiler_find_linked(&compiler, bytes, err);
	if (result)
		return result;
	code->entry = compiler.entry;
	code->exit = compiler.exit;
	return 0;
}

int dotnet_find_code(struct runtime_code *code, const struct target_files *files,
		     const struct runtime *runtime, struct follow_shared *shared, struct error *err)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;
	struct dotnet_runtime about;
	int result;

	if (dotnet && !dotnet->jit)
		return error_set(err, -ENOTSUP,
				 "code compiled at run time cannot be found (-v says why)");
	if (dotnet)
		about = dotnet->about;
	else if (!dotnet_find_runtime(files, &about))
		return -ENOENT;
	code->runtime = target_files_get(files, about.file);
	result = tell_layout(&about, dotnet, shared, err);
	if (result)
		return result;
	code->holds_images = about.single_file;
	code->compiler = about.single_file ? code->runtime : find_jit(files);
	if (!code->compiler)
		result = dotnet ? find_unloaded_jit(code, dotnet, err) :
				  error_set(err, -ENOENT, "the target has not loaded %s", JIT_NAME);
	return result ? result : find_compiler(code, &about, dotnet, err);
}

enum tier dotnet_tier_of(uint64_t flags, bool *final)
{
	*final = false;
	if (flags >> JIT_FLAG_OSR & 1)
		return TIER_OSR;
	if (flags >> JIT_FLAG_INSTRUMENTED & 1)
		return TIER_INSTRUMENTED;
	*final = flags >> JIT_FLAG_TIER1 & 1;
	if (*final)
		return TIER_TIER1;
	if (flags >> JIT_FLAG_TIER0 & 1)
		return TIER_TIER0;
	*final = true;
	return flags >> JIT_FLAG_OPTIMIZED & 1 ? TIER_OPTIMIZED : TIER_MINOPT;
}
