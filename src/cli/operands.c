// SPDX-License-Identifier: GPL-2.0-or-later
/* From the words that options.c has left over to a PID or a COMMAND, and the patterns. */
#include "cli/operands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/options.h"

static int parse_pid(struct options *options, const char *word, struct error *err)
{
	uint64_t pid;
	char *end;

	errno = 0;
	pid = strtoull(word, &end, 10);
	if (word[0] < '0' || word[0] > '9' || *end || errno || pid == 0 || pid > INT32_MAX)
		return error_set(
			err, -EINVAL,
			"'%s' is no process id: give a PID, or a COMMAND to start after --", word);
	options->pid = (pid_t)pid;
	return 0;
}

/* PID PATTERN...; "--" anywhere between them only says that no option follows. */
static int take_process(struct options *options, const struct operands *operands, struct error *err)
{
	char **words = operands->before;
	size_t count = operands->before_count + operands->after_count;

	/* The words after "--" follow at some distance: close up. */
	memmove(words + operands->before_count, operands->after,
		operands->after_count * sizeof(*words));
	if (options->mode == MODE_COMPLETE && count == 0)
		return 0;
	if (count == 0)
		return error_set(err, -EINVAL, "give a PID and a PATTERN; --help tells more");
	if (parse_pid(options, words[0], err))
		return -EINVAL;
	if (count == 1 && options->mode != MODE_COMPLETE)
		return error_set(
			err, -EINVAL,
			"give a PATTERN after the PID, such as 'System.Threading.Thread::Sleep'");
	options->request.patterns = words + 1;
	options->request.count = count - 1;
	return 0;
}

/* PATTERN... -- COMMAND [ARG]... */
static int take_command(struct options *options, const struct operands *operands, struct error *err)
{
	if (operands->after_count == 0)
		return error_set(err, -EINVAL, "give a COMMAND after --");
	if (operands->before_count == 0)
		return error_set(err, -EINVAL,
				 "give a PATTERN before --, and the COMMAND after it");
	if (options->tid)
		return error_set(
			err, -EINVAL,
			"-t goes with a PID: a COMMAND that is yet to start has no threads");
	if (options->mode == MODE_LIST || options->mode == MODE_DRY_RUN)
		return error_set(err, -EINVAL,
				 "%s goes with a PID: a COMMAND that is yet to start has no code",
				 options->mode == MODE_LIST ? "--list" : "--dry-run");
	if (options->hold_ns == 0)
		return error_set(
			err, -EINVAL,
			"--no-hold goes with a PID: the start of a COMMAND that nobody holds is missed");
	if (options->map_count)
		return error_set(err, -EINVAL,
				 "--maps goes with a PID: no image of the COMMAND is there yet");
	options->wait = true;
	options->request.patterns = operands->before;
	options->request.count = operands->before_count;
	options->command = operands->after;
	return 0;
}

/* With --trace: those that were given are the roots, and --calls come behind them. */
static int add_calls(struct options *options, struct error *err)
{
	struct request *request = &options->request;
	size_t count = request->count + options->call_count;

	options->patterns = calloc(count, sizeof(*options->patterns));
	if (!options->patterns)
		return error_set(err, -ENOMEM, "no memory for %zu patterns", count);
	memcpy(options->patterns, request->patterns, request->count * sizeof(char *));
	memcpy(options->patterns + request->count, options->calls,
	       options->call_count * sizeof(char *));
	request->roots = request->count;
	request->patterns = options->patterns;
	request->count = count;
	return 0;
}

static bool is_number(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0';
}

/*
 * "--" has long ended the options of `place-probe PID -- PATTERN`, and no pattern is a bare
 * number: so after a number it still does, and after anything else a command follows.
 */
int operands_take(const struct operands *operands, struct options *options, struct error *err)
{
	const char *first = operands->before_count ? operands->before[0] :
			    operands->after_count  ? operands->after[0] :
						     NULL;
	int result;

	if (options->replay_path)
		return first ? error_set(err, -EINVAL,
					 "--replay takes no PID, PATTERN or COMMAND: '%s'", first) :
			       0;
	if (operands->separated && !(first && is_number(first)))
		result = take_command(options, operands, err);
	else
		result = take_process(options, operands, err);
	return result || !options->traced ? result : add_calls(options, err);
}
