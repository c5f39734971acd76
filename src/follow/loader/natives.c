// SPDX-License-Identifier: GPL-2.0-or-later
/* From a file that loads_files.c hands in to native functions in a plan, by what runtimes find. */
#include "follow/loader/natives.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "follow/jit/watch.h"
#include "method/pattern.h"
#include "runtime/runtime.h"

struct natives {
	struct natives_config config;
	struct pattern **patterns; /* our own: matching changes them */
	struct pattern **meant;	   /* those of a file */
	bool *matched;
};

int natives_create(struct natives **out, const struct natives_config *config, struct error *err)
{
	struct natives *natives = calloc(1, sizeof(*natives));
	size_t count = config->request->count;
	int result;

	if (natives) {
		natives->config = *config;
		natives->meant = calloc(count + 1, sizeof(*natives->meant));
		natives->matched = calloc(count + 1, sizeof(*natives->matched));
	}
	if (!natives || !natives->meant || !natives->matched) {
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
	free(natives->meant);
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

static bool means(const struct natives *natives, const struct pattern *pattern,
		  const struct native_file *file)
{
	const struct runtime_images *images = watch_images(natives->config.watch);

	if (!pattern_wants_native_image(pattern, file->name))
		return false;
	return pattern_native_only(pattern) ||
	       (!file->is_host && !images->ops->have_named(images, file->name));
}

static int add_to_plan(const struct method_body *body, void *ctx)
{
	return plan_add(ctx, body, NULL);
}

int natives_plan(struct natives *natives, const struct native_file *file, struct plan *plan)
{
	const struct runtime_ops *const *ops = natives->config.offered;
	const struct file_query query = {
		.name = file->name,
		.path = file->path,
		.number = file->number,
		.bytes = file->bytes,
		.process = natives->config.process,
		.patterns = natives->meant,
		.count = natives->config.request->count,
		.matched = natives->matched,
		.timed = plan->timed,
	};
	int result = 0;

	for (size_t i = 0; i < query.count; i++)
		natives->meant[i] =
			means(natives, natives->patterns[i], file) ? natives->patterns[i] : NULL;
	for (; *ops && result == 0; ops++)
		result = (*ops)->find_in_file ? (*ops)->find_in_file(&query, add_to_plan, plan) : 0;
	return result;
}

bool natives_matched(const struct natives *natives, size_t pattern)
{
	return natives->matched[pattern];
}
