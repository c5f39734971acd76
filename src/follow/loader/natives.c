// SPDX-License-Identifier: GPL-2.0-or-later
/* From a file that loads_files.c hands in to native functions in a plan, by what runtimes find. */
#include "follow/loader/natives.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "follow/jit/watch.h"
#include "method/pattern.h"
#include "runtime/runtime.h"

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

static bool means(const struct natives *natives, const struct pattern *pattern, const char *name,
		  bool is_host)
{
	const struct runtime_images *images = watch_images(natives->config.watch);

	return pattern_wants_native_image(pattern, name) &&
	       (pattern_native_only(pattern) ||
		(!is_host && !images->ops->have_named(images, name)));
}

/* Those of the patterns [first, end). */
static int plan_patterns(struct natives *natives, struct file_query *file, bool is_host,
			 size_t first, size_t end, struct plan_search *found)
{
	const struct runtime_ops *const *ops = natives->config.offered;
	int result = 0;

	for (size_t i = 0; i < file->count; i++)
		natives->meant[i] =
			i >= first && i < end &&
					means(natives, natives->patterns[i], file->name, is_host) ?
				natives->patterns[i] :
				NULL;
	for (; first < end && *ops && result == 0; ops++)
		result = (*ops)->find_in_file ? (*ops)->find_in_file(file, plan_add_found, found) :
						0;
	return result;
}

int natives_plan(struct natives *natives, struct file_query *file, bool is_host, struct plan *plan)
{
	size_t roots = natives->config.request->roots;
	struct plan_search of_roots = { .plan = plan, .root = true }, others = { .plan = plan };
	int result;

	file->process = natives->config.process;
	file->patterns = natives->meant;
	file->count = natives->config.request->count;
	file->matched = natives->matched;
	file->timed = plan->timed;
	result = plan_patterns(natives, file, is_host, 0, roots, &of_roots);
	return result ? result : plan_patterns(natives, file, is_host, roots, file->count, &others);
}
