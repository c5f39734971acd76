// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow/loader/natives.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "follow/jit/watch.h"
#include "method/pattern.h"
#include "runtime/native/find.h"
#include "runtime/native/functions.h"

struct natives {
	struct natives_config config;
	struct pattern **patterns; /* our own: matching changes them */
	bool *matched;
};

int natives_create(struct natives **out, const struct natives_config *config, struct error *err)
{
	struct natives *natives = calloc(1, sizeof(*natives));
	size_t count = config->request->count;
	int result;

	if (natives) {
		natives->config = *config;
		natives->matched = calloc(count + 1, sizeof(*natives->matched));
	}
	if (!natives || !natives->matched) {
		natives_destroy(natives);
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	}
	result = patterns_create(&natives->patterns, config->request->patterns, count, err);
	if (result) {
		natives_destroy(natives);
		return result;
	}
	*out = natives;
	return 0;
}

void natives_destroy(struct natives *natives)
{
	if (!natives)
		return;
	patterns_destroy(natives->patterns, natives->config.request->count);
	free(natives->matched);
	free(natives);
}

bool natives_wanted(const struct natives *natives)
{
	return patterns_have_image(natives->patterns, natives->config.request->count);
}

bool natives_want(const struct natives *natives, const char *name)
{
	for (size_t i = 0; i < natives->config.request->count; i++) {
		if (pattern_wants_native_image(natives->patterns[i], name))
			return true;
	}
	return false;
}

/* Where it will be in memory is not known yet; that it will be in code is. */
static struct address somewhere(const void *ctx, size_t file, struct file_offset offset)
{
	(void)ctx;
	(void)file;
	(void)offset;
	return (struct address){ 1 };
}

static bool means(const struct natives *natives, const struct pattern *pattern,
		  const struct native_file *file)
{
	if (!pattern_wants_native_image(pattern, file->name))
		return false;
	return pattern_native_only(pattern) ||
	       (!file->is_host &&
		!runtime_images_have_named(watch_images(natives->config.watch), file->name));
}

static int add_to_plan(const struct method_body *body, void *ctx)
{
	return plan_add(ctx, body, NULL);
}

int natives_plan(struct natives *natives, const struct native_file *file, struct plan *plan)
{
	struct native_search search = {
		.image = file->name,
		.file = file->number,
		.address = somewhere,
		.timed = plan->timed,
		.fn = add_to_plan,
		.ctx = plan,
	};
	struct target_functions functions;
	int result = 0;

	if (!elf_init(&search.elf, file->bytes))
		return 0;
	target_functions_read(&functions, natives->config.process, file->path, file->bytes);
	search.symbols = functions.symbols;
	for (size_t i = 0; i < natives->config.request->count && result != -ENOMEM; i++) {
		size_t before = search.matched;

		if (!means(natives, natives->patterns[i], file))
			continue;
		search.pattern = natives->patterns[i];
		result = native_search_run(&search, NULL);
		natives->matched[i] |= search.matched > before;
	}
	native_search_deinit(&search);
	target_functions_deinit(&functions);
	return result == -ENOMEM ? result : 0;
}

bool natives_matched(const struct natives *natives, size_t pattern)
{
	return natives->matched[pattern];
}
