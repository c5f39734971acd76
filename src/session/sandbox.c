// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Giving up privileges: once the target is held, and before anything of it is read. What the run
 * has been asked for tells the broker what it may do later. For fetching.c and complete.c.
 */
#include <linux/capability.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "broker/broker.h"
#include "debuginfod/debuginfod.h"
#include "session/session_internal.h"
#include "target/launch.h"
#include "target/privileges.h"

enum { COMMAND_PATHS = 2 };

/* What the user has named: nobody else may be able to read it. */
static size_t list_paths(const struct session *session, const char **paths)
{
	const struct options *options = session->options;
	size_t count = 0;

	for (size_t i = 0; i < options->map_count; i++)
		paths[count++] = options->maps[i];
	for (size_t i = 0; i < options->symbol_count; i++)
		paths[count++] = options->symbols[i];
	if (session->command.program)
		paths[count++] = session->command.program;
	if (session->command.loader)
		paths[count++] = session->command.loader;
	return count;
}

int session_check_sandbox(struct session *session)
{
	if (!session->broker || !broker_has_ended(session->broker))
		return 0;
	return error_set(
		&session->problem, -ESRCH,
		"the process that keeps privileges for this one has ended, as somebody has killed it: nothing new can be probed, so the run ends with what it has; run again");
}

int session_enter_sandbox(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	const struct session_command *command = &session->command;
	_cleanup_free_ const char **paths =
		calloc(options->map_count + options->symbol_count + COMMAND_PATHS, sizeof(*paths));
	struct broker_config config = {
		.process = &session->target.process,
		.children = { command->launch ? launch_pid(command->launch) : 0,
			      session->fetching.debuginfod ?
				      debuginfod_pid(session->fetching.debuginfod) :
				      0 },
		.paths = paths,
		.memory_bytes = options->memory_bytes,
		.publish_path = session->output.whole_path,
		.publish = output_replace,
	};

	if (options->no_sandbox) {
		log_print(
			"--no-sandbox: the target is read with root's privileges; only for targets that are trusted");
		return 0;
	}
	/* A broker could not look into us. Whoever is anybody has nothing to give up. */
	if (!privileges_have(CAP_DAC_READ_SEARCH))
		return 0;
	if (!paths)
		return error_set(err, -ENOMEM, "no memory for paths");
	config.path_count = list_paths(session, paths);
	return broker_start(&session->broker, &config, err);
}
