// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For what bash and zsh complete (packaging/): processes, and names of methods of one. It has to be
 * there before who pressed the key is impatient, so nothing is looked for but names.
 */
#include "session/session.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/vector.h"
#include "broker/broker.h"
#include "session/resolve.h"
#include "target/candidates.h"
#include "target/privileges.h"
#include "target/target.h"

struct names {
	char **list;
	size_t count;
	size_t capacity;
};

static void write_process(void *ctx, pid_t pid, const char *comm)
{
	fprintf(ctx, "%d %s\n", pid, comm);
}

/* Types of a namespace come one after the other, and all are the same up to its dot. */
static int take_name(void *ctx, const char *name)
{
	struct names *names = ctx;

	if (names->count && strcmp(names->list[names->count - 1], name) == 0)
		return 0;
	if (!vector_add(&names->list, &names->count, &names->capacity, strdup(name)))
		return -ENOMEM;
	if (names->list[names->count - 1])
		return 0;
	names->count--;
	return -ENOMEM;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void write_names(struct names *names, FILE *to)
{
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), by_name);
	for (size_t i = 0; i < names->count; i++) {
		if (i && strcmp(names->list[i - 1], names->list[i]) == 0)
			continue;
		text_make_printable(names->list[i], strlen(names->list[i]));
		fprintf(to, "%s\n", names->list[i]);
	}
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static int complete_method(const struct options *options, FILE *to, struct error *err)
{
	const char *word = options->request.count ? options->request.patterns[0] : "";
	struct resolution resolution = { 0 };
	struct target target = TARGET_NONE;
	struct broker_config config = { .process = &target.process };
	struct broker_hold *broker = NULL;
	struct names names = { 0 };
	int result;

	target_prepare(options->no_sandbox ? 0 : PRIVILEGES_SPLIT);
	result = target_init(&target, options->pid, err);
	if (result == 0 && !options->no_sandbox && privileges_have(CAP_DAC_READ_SEARCH))
		result = broker_start(&broker, &config, err);
	if (result == 0)
		result = resolution_init(&resolution, &target, err);
	if (result == 0)
		result = runtimes_names(&resolution.runtimes, word, take_name, &names);
	if (result == -ENOMEM)
		error_fill(err, "no memory for the names of methods");
	write_names(&names, to);
	resolution_deinit(&resolution);
	target_deinit(&target);
	broker_end(broker);
	return result;
}

int complete(const struct options *options, FILE *to, struct error *err)
{
	int result;

	if (options->pid)
		return complete_method(options, to, err);
	result = candidates_list(write_process, to);
	if (result)
		return error_set(err, result, "cannot list the processes in /proc: %s",
				 strerror(-result));
	return 0;
}
