// SPDX-License-Identifier: GPL-2.0-or-later
/* From a file that loads_files.c hands in to native functions in a plan, by what runtimes find. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "follow/loader/loads_internal.h"
#include "method/pattern.h"
#include "runtime/runtime.h"

int natives_create(struct loads *loads, struct error *err)
{
	size_t count = loads->config.natives->count;

	loads->meant = calloc(count + 1, sizeof(*loads->meant));
	loads->matched = calloc(count + 1, sizeof(*loads->matched));
	if (!loads->meant || !loads->matched)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	return patterns_create(&loads->patterns, loads->config.natives->patterns, count, err);
}

void natives_destroy(struct loads *loads)
{
	patterns_destroy(loads->patterns, loads->config.natives->count);
	free(loads->meant);
	free(loads->matched);
}

bool natives_wanted(const struct loads *loads)
{
	return patterns_have_image(loads->patterns, loads->config.natives->count);
}

bool natives_want(const struct loads *loads, const char *name)
{
	for (size_t i = 0; i < loads->config.natives->count; i++) {
		if (pattern_wants_native_image(loads->patterns[i], name))
			return true;
	}
	return false;
}

static bool means(const struct loads *loads, const struct pattern *pattern, const char *name,
		  bool is_host)
{
	const struct runtime_images *images = watch_images(loads->config.watch);

	return pattern_wants_native_image(pattern, name) &&
	       (pattern_native_only(pattern) ||
		(!is_host && !images->ops->have_named(images, name)));
}

/* Those of the patterns [first, end). */
static int plan_patterns(struct loads *loads, struct file_query *file, bool is_host, size_t first,
			 size_t end, struct plan_search *found)
{
	const struct runtime_ops *const *ops = loads->config.offered;
	int result = 0;

	for (size_t i = 0; i < file->count; i++)
		loads->meant[i] =
			i >= first && i < end &&
					means(loads, loads->patterns[i], file->name, is_host) ?
				loads->patterns[i] :
				NULL;
	for (; first < end && *ops && result == 0; ops++)
		result = (*ops)->find_in_file ? (*ops)->find_in_file(file, plan_add_found, found) :
						0;
	return result;
}

int natives_plan(struct loads *loads, struct file_query *file, bool is_host, struct plan *plan)
{
	size_t roots = loads->config.natives->roots;
	struct plan_search of_roots = { .plan = plan, .root = true }, others = { .plan = plan };
	int result;

	file->process = loads->config.process;
	file->patterns = loads->meant;
	file->count = loads->config.natives->count;
	file->matched = loads->matched;
	file->timed = plan->timed;
	result = plan_patterns(loads, file, is_host, 0, roots, &of_roots);
	return result ? result : plan_patterns(loads, file, is_host, roots, file->count, &others);
}
